"""Solutions of linear equations, and inverses: solve, inv, pinv, lstsq, matrix_power …"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from frit import lax
from frit.api.custom import custom_jvp
from frit.lax import linalg as lax_linalg
from frit.numpy.contraction import matmul
from frit.numpy.creation import asarray, empty, zeros
from frit.numpy.dtype_info import finfo
from frit.numpy.grids import eye
from frit.numpy.linalg.batches import jitted, solve_over_batches
from frit.numpy.linalg.decompositions import adjoint, inexact_array, svd
from frit.numpy.linalg.norms import norm
from frit.numpy.operands import ensure_array, ensure_arrays
from frit.numpy.promotion import broadcast_to, default_int, promote_dtypes_inexact
from frit.numpy.reductions import sum as sum_
from frit.numpy.selection import where
from frit.numpy.shapes import matrix_transpose, moveaxis
from frit.numpy.ufuncs import conj

_HIGHEST = lax.Precision.HIGHEST


@jitted
def solve(a: Any, b: Any) -> Any:
    """x with a x = b.

    a: (…, n, n); b: (n,) or (…, n, k).  Batches broadcast.  A singular matrix gives inf or nan.
    """
    a, b = promote_dtypes_inexact(*ensure_arrays("jnp.linalg.solve", a, b))
    if a.ndim < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape={a.shape}")
    if (
        b.ndim > 1
        and a.ndim == b.ndim + 1
        and a.shape[-1] == b.shape[-1]
        and a.shape[-1] != b.shape[-2]
    ):
        raise ValueError(
            f"Invalid shapes for solve: {a.shape}, {b.shape}. Prior to JAX v0.5.0, this would have "
            "been treated as a batched 1-dimensional solve. To recover this behavior, use "
            "solve(a, b[..., None]).squeeze(-1)."
        )
    if b.ndim != 1:
        _check_right_side(a, b)
        return solve_over_batches(lax_linalg.solve, [a], [2], b)
    if a.ndim > 2 and a.shape[-1] == b.shape[0]:
        b = broadcast_to(b, a.shape[:-1])
    return lax_linalg.solve(a, b)


def _check_right_side(a: Any, b: Any) -> None:
    if b.ndim == 0 or not a.shape[-1] == a.shape[-2] == b.shape[-2]:
        raise ValueError(
            "The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or b=[..., m];"
            f" got a={a.shape} and b={b.shape}"
        )


@jitted
def inv(a: Any) -> Any:
    """The inverse of matrices (…, n, n)."""
    a = ensure_array("jnp.linalg.inv", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {a.shape}.")
    return solve(a, lax.broadcast(eye(a.shape[-1], dtype=a.dtype), a.shape[:-2]))


@jitted(static_argnames=("n",))
def matrix_power(a: Any, n: int) -> Any:
    """The product of n factors `a`; of -n inverses where n < 0."""
    a = ensure_array("jnp.linalg.matrix_power", a)
    if a.ndim < 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-2] != a.shape[-1]:
        raise TypeError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError(f"exponent must be an integer, got {n}") from error
    if n == 0:
        return broadcast_to(eye(a.shape[-2], dtype=a.dtype), a.shape)
    if n < 0:
        a, n = inv(a), -n
    if n == 3:
        return a @ a @ a
    square, result = a, None
    while True:
        n, odd = divmod(n, 2)
        if odd:
            result = square if result is None else result @ square
        if not n:
            return result
        square = square @ square


# --------------------------------------------------------------------------- pseudo-inverse, lstsq


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The pseudo-inverse of matrices (…, m, n): of singular values up to rtol * the largest, 0.

    rtol: by default 10 * max(m, n) * eps; rcond is its older name.  hermitian: `a` is.
    """
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: only one of rtol and rcond may be specified.")
        rtol = rcond
    return _pinv(a, rtol, hermitian)


def _pseudo_inverse(a: Any, rtol: Any = None, hermitian: bool = False) -> Any:
    a = inexact_array("jnp.linalg.pinv", a)
    m, n = a.shape[-2:]
    if m == 0 or n == 0:
        return empty((*a.shape[:-2], n, m), a.dtype)
    a = conj(a)
    if rtol is None:
        rtol = 10.0 * max(m, n) * np.array(finfo(a.dtype).eps)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    rtol = asarray(rtol)[..., None]
    rtol = lax.expand_dims(rtol, range(s.ndim - rtol.ndim))
    inverse_s = where(s > rtol * s[..., :1], s, np.inf).astype(u.dtype)
    scaled = matrix_transpose(u) / inverse_s[..., None]
    return matmul(matrix_transpose(vh), scaled, precision=_HIGHEST).astype(a.dtype)


_pseudo_inverse.__name__ = "_pinv"
_pinv = custom_jvp(jitted(_pseudo_inverse, static_argnames="hermitian"), nondiff_argnums=(1, 2))


@_pinv.defjvp
def _pinv_jvp(rtol: Any, hermitian: bool, primals: Any, tangents: Any) -> Any:
    """-p a' p + p p^H a'^H (1 - a p) + (1 - p a) a'^H p^H p: Golub, Pereyra, 1973."""
    (a,), (t,) = primals, tangents
    p = pinv(a, rtol=rtol, hermitian=hermitian)
    if hermitian:
        a, t = (a + adjoint(a)) / 2, (t + adjoint(t)) / 2

    def times(*factors: Any) -> Any:
        result = factors[0]
        for factor in factors[1:]:
            result = matmul(result, factor, precision=_HIGHEST)
        return result

    if a.shape[-2] < a.shape[-1]:  # multiply from the right: no matrix is larger than p
        rows = times(p, times(adjoint(p), adjoint(t)))
        columns = times(adjoint(t), times(adjoint(p), p))
        outside = rows - times(rows, times(a, p)) + columns - times(p, times(a, columns))
        return p, outside - times(p, times(t, p))
    rows, columns = times(p, adjoint(p), adjoint(t)), times(adjoint(t), adjoint(p), p)
    outside = rows - times(rows, a, p) + columns - times(p, a, columns)
    return p, outside - times(p, t, p)


def _lstsq(a: Any, b: Any, rcond: Any, *, numpy_resid: bool = False) -> Any:
    a, b = promote_dtypes_inexact(a, b)
    if a.shape[0] != b.shape[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    is_vector = b.ndim == 1
    if is_vector:
        b = b[:, None]
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim != 2:
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    m, n = a.shape
    if a.size == 0:
        s, rank = empty(0, a.dtype), zeros((), default_int())
        x = zeros((n, *b.shape[1:]), a.dtype)
    else:
        x, rank, s = _smallest_solution(a, b, rcond)
    if numpy_resid and (rank < n or m <= n):
        residuals = zeros(0)
    else:
        residuals = norm(b - matmul(a, x, precision=_HIGHEST), axis=0) ** 2
    return x.ravel() if is_vector else x, residuals, rank, s


def _smallest_solution(a: Any, b: Any, rcond: Any) -> tuple[Any, Any, Any]:
    """(x, rank, singular values): x without the directions whose singular values are small."""
    eps = float(finfo(a.dtype).eps)
    u, s, vh = svd(a, full_matrices=False)
    rcond = eps * max(a.shape) if rcond is None else where(asarray(rcond) < 0, eps, rcond)
    kept = (s > 0) & (s >= asarray(rcond).astype(s.dtype) * s[0])
    inverse_s = where(kept, 1 / where(kept, s, 1), 0).astype(a.dtype)
    along = matmul(adjoint(u), b, precision=_HIGHEST)
    x = matmul(adjoint(vh), inverse_s[:, None] * along, precision=_HIGHEST)
    return x, sum_(kept), s


_jitted_lstsq = jitted(_lstsq, static_argnames="numpy_resid")


def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Any, Any, Any, Any]:
    """(x of least |a x - b|^2, and of least norm among these; residuals; rank; singular values).

    a: (m, n); b: (m,) or (m, k).  rcond: singular values below it, relative to the largest, are 0.
    numpy_resid: residuals are empty where NumPy's are, which needs concrete arrays.
    """
    a, b = ensure_arrays("jnp.linalg.lstsq", a, b)
    if numpy_resid:
        return _lstsq(a, b, rcond, numpy_resid=True)
    return _jitted_lstsq(a, b, rcond)


# ------------------------------------------------------------------------------------------ tensors


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of `a` as a map from its last axes to its first `ind` axes."""
    a = ensure_array("tensorinv", a)
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    first, rest = a.shape[:ind], a.shape[ind:]
    sizes = math.prod(first), math.prod(rest)
    if sizes[0] != sizes[1]:
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions equals that "
            f"of the remaining dimensions. got arr.shape={a.shape} with ind={ind}."
        )
    return inv(a.reshape(sizes)).reshape(*rest, *first)


def tensorsolve(a: Any, b: Any, axes: tuple[int, ...] | None = None) -> Any:
    """x with tensordot(a, x, x.ndim) = b; `axes` of a are moved to its end before."""
    a, b = ensure_arrays("tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. got "
            f"a.shape={a.shape}, b.shape={b.shape}"
        )
    if b.size != math.prod(shape):
        raise ValueError(
            "Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got "
            f"a.shape={a.shape}, b.ndim={b.ndim}."
        )
    return solve(a.reshape(b.size, math.prod(shape)), b.ravel()).reshape(shape)
