"""Solutions of linear equations: by factors, by the kind of matrix, and of Sylvester's equation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from frit import lax
from frit.api.jitting import jit
from frit.lax import linalg as lax_linalg
from frit.numpy import linalg as numpy_linalg
from frit.numpy.creation import asarray
from frit.numpy.linalg.batches import jitted, solve_over_batches
from frit.numpy.linalg.decompositions import adjoint
from frit.numpy.promotion import promote_dtypes_inexact
from frit.numpy.reductions import any as any_
from frit.numpy.selection import where
from frit.numpy.ufuncs import abs as abs_
from frit.numpy.vectorize import vectorize
from frit.scipy.linalg.decompositions import _product, cho_factor, schur


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant of square matrices."""
    return numpy_linalg.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse of square matrices."""
    return numpy_linalg.inv(a)


def _with_columns(
    name: str, solve_one: Callable[..., Any], matrices: Any, ranks: Any, b: Any
) -> Any:
    """`solve_one(*matrices, b)` for vectors and matrices b, over batches."""
    a = matrices[0]
    is_vectors = b.ndim == 1
    if b.ndim > 1 and a.ndim == b.ndim + 1 and a.shape[-1] == b.shape[-1]:
        warnings.warn(
            f"jax.scipy.linalg.{name}: batched 1D solves with b.ndim > 1 are deprecated, and in "
            f"the future will be treated as a batched 2D solve. Use {name}(…, b[..., None])"
            ".squeeze(-1) to avoid this warning.",
            category=FutureWarning,
            stacklevel=5,
        )
        is_vectors = True
    x = solve_over_batches(solve_one, matrices, ranks, b[..., None] if is_vectors else b)
    return x[..., 0] if is_vectors else x


@jitted(static_argnames=("lower",))
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    c, b = promote_dtypes_inexact(asarray(c), asarray(b))

    def both(factor: Any, right: Any) -> Any:
        for is_adjoint in (not lower, lower):
            right = lax_linalg.triangular_solve(
                factor,
                right,
                left_side=True,
                lower=lower,
                transpose_a=is_adjoint,
                conjugate_a=is_adjoint,
            )
        return right

    return _with_columns("cho_solve", both, [c], [2], b)


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with a x = b, for (c, lower) = cho_factor(a)."""
    c, lower = c_and_lower
    return _cho_solve(c, b, lower)


@jitted(static_argnames=("trans", "overwrite_b", "check_finite"))
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """x with a x = b (trans = 0), a^T x = b (1) or a^H x = b (2), from lu_factor(a)."""
    factors, pivots = lu_and_piv
    factors, b = promote_dtypes_inexact(asarray(factors), asarray(b))
    permutation = lax_linalg.lu_pivots_to_permutation(pivots, factors.shape[-1])
    solve_one = partial(lax_linalg.lu_solve, trans=trans)
    return _with_columns("lu_solve", solve_one, [factors, permutation], [2, 1], b)


@jitted(static_argnames=("assume_a", "lower"))
def _solve(a: Any, b: Any, assume_a: str, lower: bool) -> Any:
    if assume_a != "pos":
        return numpy_linalg.solve(a, b)
    a, b = promote_dtypes_inexact(asarray(a), asarray(b))
    lax_linalg.check_solve_shapes(a, b)
    factors = cho_factor(lax.stop_gradient(a), lower=lower)
    b = lax_linalg.broadcast_right_side(a, b)
    is_batch_of_vectors = b.ndim > 1 and a.ndim == b.ndim + 1

    def solve_one(right: Any) -> Any:
        if not is_batch_of_vectors:
            return cho_solve(factors, right)
        return cho_solve(factors, right[..., None])[..., 0]

    return lax_linalg.solve_implicitly(a, b, solve_one, None)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """x with a x = b; assume_a="pos" takes the Cholesky factor of the triangle `lower` tells."""
    kinds = ["gen", "sym", "her", "pos"]
    if assume_a not in kinds:
        raise ValueError(f"Expected assume_a to be one of {kinds}; got {assume_a!r}")
    return _solve(a, b, assume_a, lower)


_OPERATIONS = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}


@jitted(static_argnames=("trans", "lower", "unit_diagonal"))
def _solve_triangular(a: Any, b: Any, trans: int | str, lower: bool, unit_diagonal: bool) -> Any:
    operation = _OPERATIONS.get(trans)
    if operation is None:
        raise ValueError(f"Invalid 'trans' value {trans}")
    a, b = promote_dtypes_inexact(asarray(a), asarray(b))
    solve_one = partial(
        lax_linalg.triangular_solve,
        left_side=True,
        lower=lower,
        transpose_a=operation != "N",
        conjugate_a=operation == "C",
        unit_diagonal=unit_diagonal,
    )
    return _with_columns("solve_triangular", solve_one, [a], [2], b)


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """x with a x = b (trans 0 or "N"), a^T x = b (1, "T") or a^H x = b (2, "C"), a triangular."""
    return _solve_triangular(a, b, trans, lower, unit_diagonal)


# ----------------------------------------------------------------------------- Sylvester's equation


def _columns_in_turn(r: Any, s: Any, f: Any) -> Any:
    """Y with R Y + Y S = F for upper triangular R and S.

    Column j needs those before it: (R + s_jj) y_j = f_j - (Y S)_j.
    """
    m, n = f.shape
    diagonal = lax.broadcasted_iota("int32", (m, m), 0) == lax.broadcasted_iota("int32", (m, m), 1)

    def step(y: Any, column: Any) -> Any:
        j, s_column, right = column
        own = lax.dynamic_index_in_dim(s_column, j, keepdims=False)
        right = right - _product(y, where(lax.iota("int32", n) < j, s_column, 0))
        shifted = where(diagonal, r + own, r)
        found = lax_linalg.triangular_solve(shifted, right, left_side=True, lower=False)
        return lax.dynamic_update_index_in_dim(y, found, j, 1), None

    y, _ = lax.scan(step, lax.full_like(f, 0), (lax.iota("int32", n), s.mT, f.mT))
    return y


def _sylvester_of_one(a: Any, b: Any, c: Any, tol: Any, method: str) -> Any:
    if method == "schur":
        (r, u), (s, v) = schur(a, output="complex"), schur(b, output="complex")
        of_a, of_b = numpy_linalg.diagonal(r), numpy_linalg.diagonal(s)
        y = _columns_in_turn(r, s, _product(adjoint(u), c.astype(r.dtype), v))
        x = _product(u, y, adjoint(v))
    elif method == "eigen":
        (of_a, u), (of_b, v) = numpy_linalg.eig(a), numpy_linalg.eig(b)
        y = numpy_linalg.solve(u, _product(c.astype(u.dtype), v)) / (of_a[:, None] + of_b[None, :])
        x = _product(u, y, numpy_linalg.inv(v))
    else:
        raise ValueError(
            f'Unrecognized method {method}. The two valid methods are either "schur" or "eigen".'
        )
    if c.dtype.kind != "c":
        x = x.real
    singular = any_(abs_(of_a[:, None] + of_b[None, :]) < tol)
    return where(singular, lax.full_like(x, float("nan")), x)


@partial(jit, static_argnames=("method",))
def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """X with A X + X B = C; nan where an eigenvalue of A is, up to `tol`, minus one of B.

    method: "schur" or "eigen".
    """
    A, B, C = promote_dtypes_inexact(asarray(A), asarray(B), asarray(C))
    m, n = C.shape[-2:]
    if A.shape[-2:] != (m, m) or B.shape[-2:] != (n, n):
        raise ValueError(
            f"Incompatible shapes for Sylvester equation:\nA: {A.shape}\nB: {B.shape}\nC: {C.shape}"
        )
    one = partial(_sylvester_of_one, method=method)
    return vectorize(one, signature="(m,m),(n,n),(m,n),()->(m,n)")(A, B, C, tol)
