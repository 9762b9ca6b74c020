"""jax.scipy.sparse.linalg: Krylov methods for A x = b, where A is a function or a matrix.

b and x may be pytrees: inside, they are one vector each.  Derivatives are those of the exact
solution (`lax.custom_linear_solve`), found by solving again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import frit.numpy as jnp
from frit import lax, tree_util
from frit.flatten_util import ravel_pytree
from frit.numpy.dtype_info import finfo
from frit.numpy.promotion import convert
from frit.scipy.linalg import solve_triangular

__all__ = ["bicgstab", "cg", "gmres"]

Operator = Callable[[Any], Any]


def _as_function(operator: Any) -> Operator:
    if operator is None:
        return lambda x: x
    if callable(operator):
        return operator
    if not hasattr(operator, "__matmul__"):
        raise TypeError(f"linear operator must be either a function or ndarray: {operator}")
    shape = operator.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {shape}")
    return lambda x: operator @ x


def _flat(operator: Operator, unravel: Operator) -> Operator:
    """`operator` on vectors instead of trees."""
    return lambda v: ravel_pytree(operator(unravel(v)))[0]


def _check_start(x0: Any, b: Any) -> None:
    if tree_util.tree_structure(x0) != tree_util.tree_structure(b):
        raise ValueError(
            "x0 and b must have matching tree structure: "
            f"{tree_util.tree_structure(x0)} vs {tree_util.tree_structure(b)}"
        )
    shapes = [[jnp.shape(leaf) for leaf in tree_util.tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}"
        )


def _solve(
    method: Callable[..., Any], A: Any, b: Any, x0: Any, maxiter: Any, M: Any, symmetric: bool
) -> Any:
    """x by `method(A, b, x0, maxiter, M)` on vectors."""
    b = tree_util.tree_map(jnp.asarray, b)
    x0 = tree_util.tree_map(jnp.zeros_like if x0 is None else jnp.asarray, b if x0 is None else x0)
    _check_start(x0, b)
    vector, unravel = ravel_pytree(b)
    if not jnp.issubdtype(vector.dtype, jnp.inexact):
        raise TypeError(
            f"b must be of floating or complex type, got {vector.dtype}: write b.astype(float)"
        )
    start = ravel_pytree(x0)[0].astype(vector.dtype)
    if maxiter is None:
        maxiter = 10 * vector.size
    matvec, precondition = _flat(_as_function(A), unravel), _flat(_as_function(M), unravel)
    solve = partial(method, x0=start, maxiter=maxiter, precondition=precondition)
    is_real = not jnp.issubdtype(vector.dtype, jnp.complexfloating)
    x = lax.custom_linear_solve(
        matvec, vector, solve=solve, transpose_solve=solve, symmetric=symmetric and is_real
    )
    return tree_util.tree_map(_typed_as, unravel(x), b)


def _typed_as(x: Any, like: Any) -> Any:
    """x, weakly typed where `like` is: flattening forgets that."""
    return convert(x, like.dtype, like.weak_type)


def _square(x: Any) -> Any:
    """The squared norm, real."""
    return jnp.sum(jnp.square(x.real) + jnp.square(x.imag)) if jnp.iscomplexobj(x) else x @ x


def _target(b: Any, tol: Any, atol: Any) -> Any:
    """The squared norm of the residual that ends the iteration."""
    return jnp.maximum(jnp.square(tol) * _square(b), jnp.square(atol))


def _conjugate_gradients(
    matvec: Operator, b: Any, *, x0: Any, maxiter: Any, precondition: Operator, tol: Any, atol: Any
) -> Any:
    """Source: Hestenes & Stiefel 1952."""
    target = _target(b, tol, atol)

    def unfinished(state: Any) -> Any:
        _, r, _, _, k = state
        return (_square(r) > target) & (k < maxiter)

    def advance(state: Any) -> Any:
        x, r, p, gamma, k = state
        image = matvec(p)
        alpha = gamma / jnp.vdot(p, image)
        x, r = x + alpha * p, r - alpha * image
        z = precondition(r)
        following = jnp.vdot(r, z)
        return x, r, z + following / gamma * p, following, k + 1

    r = b - matvec(x0)
    z = precondition(r)
    return lax.while_loop(unfinished, advance, (x0, r, z, jnp.vdot(r, z), 0))[0]


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, None]:
    """The solution of A x = b for hermitian positive definite A, and None.

    A: a function of trees like b, or a square matrix; M: an approximate inverse of A.  The
    iteration ends when norm(residual) <= max(tol * norm(b), atol), or after `maxiter` steps.
    """
    method = partial(_conjugate_gradients, tol=tol, atol=atol)
    return _solve(method, A, b, x0, maxiter, M, symmetric=True), None


def _stabilized(
    matvec: Operator, b: Any, *, x0: Any, maxiter: Any, precondition: Operator, tol: Any, atol: Any
) -> Any:
    """Source: van der Vorst 1992."""
    target = _target(b, tol, atol)

    def unfinished(state: Any) -> Any:
        r, k = state[1], state[-1]
        return (_square(r) > target) & (k < maxiter) & (k >= 0)

    def advance(state: Any) -> Any:
        x, r, shadow, alpha, omega, rho, p, q, k = state
        following = jnp.vdot(shadow, r)
        beta = following / rho * alpha / omega
        p = r + beta * (p - omega * q)
        p_hat = precondition(p)
        q = matvec(p_hat)
        alpha = following / jnp.vdot(shadow, q)
        s = r - alpha * q
        halfway = _square(s) < target
        s_hat = precondition(s)
        t = matvec(s_hat)
        omega = jnp.vdot(t, s) / jnp.vdot(t, t)
        x = x + alpha * p_hat + jnp.where(halfway, 0, omega * s_hat)
        r = jnp.where(halfway, s, s - omega * t)
        broken = (omega == 0) | (alpha == 0) | (following == 0)
        return x, r, shadow, alpha, omega, following, p, q, jnp.where(broken, -1, k + 1)

    r = b - matvec(x0)
    one = jnp.ones((), b.dtype)
    return lax.while_loop(unfinished, advance, (x0, r, r, one, one, one, r, r, 0))[0]


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, None]:
    """The solution of A x = b for any regular A, by stabilized biconjugate gradients, and None.

    Arguments and end as `cg`.
    """
    method = partial(_stabilized, tol=tol, atol=atol)
    return _solve(method, A, b, x0, maxiter, M, symmetric=False), None


# ---- GMRES --------------------------------------------------------------------------------------


def _norm(x: Any) -> Any:
    return jnp.sqrt(_square(x))


def _unit(x: Any, least: Any) -> tuple[Any, Any]:
    """x / norm(x) and the norm; zeros where the norm is not above `least`."""
    norm = _norm(x)
    significant = norm > least
    unit = jnp.where(significant, x / jnp.where(significant, norm, 1), 0).astype(x.dtype)
    return unit, jnp.where(significant, norm, 0)


def _cycle(operator: Operator, residual: Any, restart: int) -> Any:
    """The best correction of x within the Krylov space of `restart` steps from `residual`.

    Arnoldi: operator(V[:, k]) = V @ H[:, k], V orthonormal, by Gram and Schmidt twice.  Columns
    not reached keep a 1 on the diagonal, so that the small problem stays regular.
    """
    dtype = residual.dtype
    precision = float(finfo(dtype).eps)
    unit, size = _unit(residual, 0)
    basis = jnp.zeros((residual.size, restart + 1), dtype).at[:, 0].set(unit)
    columns = jnp.eye(restart + 1, restart, dtype=dtype)

    def unfinished(state: Any) -> Any:
        _, _, broken, k = state
        return (k < restart) & ~broken

    def advance(state: Any) -> Any:
        basis, columns, _, k = state
        v = operator(basis[:, k])
        least = precision * _norm(v)
        share = basis.conj().T @ v
        v = v - basis @ share
        rest = basis.conj().T @ v
        unit, norm = _unit(v - basis @ rest, least)
        basis = basis.at[:, k + 1].set(unit)
        column = (share + rest).at[k + 1].set(norm.astype(dtype))
        return basis, columns.at[:, k].set(column), norm == 0, k + 1

    basis, columns, _, _ = lax.while_loop(
        unfinished, advance, (basis, columns, jnp.array(False), 0)
    )
    q, r = jnp.linalg.qr(columns)
    y = solve_triangular(r, q.conj().T[:, 0] * size)
    return basis[:, :-1] @ y


def _restarted(
    matvec: Operator, b: Any, *, x0: Any, maxiter: Any, precondition: Operator, tol: Any,
    atol: Any, restart: int,
) -> Any:  # fmt: skip
    """Source: Saad & Schultz 1986, preconditioned from the left."""
    target = jnp.maximum(tol * _norm(b), atol)
    restart = min(restart, b.size)

    def residual(x: Any) -> Any:
        return precondition(b - matvec(x))

    def unfinished(state: Any) -> Any:
        _, r, k = state
        return (_norm(r) > target) & (k < maxiter)

    def advance(state: Any) -> Any:
        x, r, k = state
        x = x + _cycle(lambda v: precondition(matvec(v)), r, restart)
        return x, residual(x), k + 1

    return lax.while_loop(unfinished, advance, (x0, residual(x0), 0))[0]


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: Any = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """The solution of A x = b for any regular A, by minimal residuals, and 0 (-1 if nan).

    Arguments as `cg`; `maxiter` counts cycles of `restart` steps.  `solve_method` "batched" and
    "incremental" both solve the small problem once in a cycle.
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    method = partial(_restarted, tol=tol, atol=atol, restart=restart)
    x = _solve(method, A, b, x0, maxiter, M, symmetric=False)
    return x, jnp.where(jnp.isnan(_norm(ravel_pytree(x)[0])), -1, 0)
