"""Singular values: svd(x) = (s, u, v^H) with x = u diag(s) v^H, s descending."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from frit.primitives.arithmetic import div
from frit.primitives.comparison_and_bits import eq
from frit.primitives.conversion import convert
from frit.primitives.elementwise import add, constant, sub, times
from frit.primitives.linalg import lapack
from frit.primitives.linalg.matrices import (
    Failed,
    adjoint,
    columns,
    diagonal_of,
    dtype_of,
    identity_like,
    matrix_primitive,
    product,
    real_part_of,
    real_parts,
    shape_of,
    smaller,
    transposed,
)
from frit.transforms.linear import is_zero
from frit.transforms.rules import zero_tangent


class SvdAlgorithm(enum.Enum):
    """How svd is computed: by LAPACK's gesvd (QR), else by its gesdd."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _shapes(
    shape: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Any,
    algorithm: Any = None,
) -> Any:
    m, n = shape
    rank = smaller(m, n)
    if subset_by_index not in (None, (0, rank)):
        if full_matrices:
            raise ValueError("full_matrices and subset_by_index cannot both be set")
        raise NotImplementedError("subset_by_index not implemented for CPU and GPU")
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise NotImplementedError("The SVD Jacobi and Polar algorithms are not implemented on CPU.")
    if not compute_uv:
        return ((rank,),)
    return (rank,), (m, m if full_matrices else rank), (n if full_matrices else rank, n)


def _dtypes(dtype: Any, *, compute_uv: bool, **_: Any) -> Any:
    return (real_part_of(dtype), dtype, dtype)[: 3 if compute_uv else 1]


def _evaluate(
    x: Any, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any, algorithm: Any = None
) -> Any:
    m, n = x.shape
    if not x.size:
        k = max(m, n) if full_matrices else 0
        bases = np.eye(m, k if m else 0, dtype=x.dtype), np.eye(k if n else 0, n, dtype=x.dtype)
        return (np.zeros(0), *bases)[: 3 if compute_uv else 1]
    name = "gesvd" if algorithm == SvdAlgorithm.QR else "gesdd"
    low, high = min(m, n), max(m, n)
    size = 4 * low * low + 7 * low + (high + 2 * low) * lapack.BLOCK
    u, s, vh, info = lapack.routine(x.dtype, name)(
        x, compute_uv=bool(compute_uv), full_matrices=bool(full_matrices), lwork=size
    )
    if info:
        raise Failed
    return (s, u, vh)[: 3 if compute_uv else 1]


def _jvp(
    primals: Any, tangents: Any, *, full_matrices: bool, compute_uv: bool, **params: Any
) -> Any:
    """s' = re diag(p), for p = u^H x' v; u' and v' from the gaps of the squares of s.

    Townsend, "Differentiating the singular value decomposition", 2016.
    """
    (x,), (t,) = primals, tangents
    if is_zero(t):
        results = svd(x, full_matrices=full_matrices, compute_uv=compute_uv, **params)
        return results, [zero_tangent(y) for y in results]
    m, n = shape_of(x)[-2:]
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(
            "Singular value decomposition JVP not implemented for full matrices: of a matrix that "
            "is not square, the columns beyond its singular values are not unique. Ask for "
            "full_matrices=False."
        )
    s, u, vh = svd(x, full_matrices=False, compute_uv=True, **params)
    rotated = product(product(adjoint(u), t), adjoint(vh))
    of_s = diagonal_of(real_parts(rotated))
    if not compute_uv:
        return [s], [of_s]
    return [s, u, vh], [of_s, *_of_bases(s, u, vh, t, rotated)]


def _of_bases(s: Any, u: Any, vh: Any, t: Any, rotated: Any) -> tuple[Any, Any]:
    dtype = dtype_of(u)
    rank = shape_of(s)[-1]
    across = columns(s, rank)
    down = transposed(across)
    ones = identity_like(across)
    squares = times(add(across, down), sub(across, down))  # s_j^2 - s_i^2, without cancellation
    inverse = sub(div(constant(s, 1), add(squares, ones)), ones)
    inverse = convert(inverse, dtype)
    zero = convert(eq(s, constant(s, 0)), dtype_of(s))
    inverse_s = sub(div(constant(s, 1), add(s, zero)), zero)
    by_column, by_row = times(convert(across, dtype), rotated), times(convert(down, dtype), rotated)
    # The imaginary part of p's diagonal turns u against v; JAX leaves it all to u.
    turn = times(constant(rotated, 0.5), sub(rotated, adjoint(rotated)))
    turn = times(turn, convert(times(ones, columns(inverse_s, rank)), dtype))
    of_u = add(times(inverse, add(by_column, adjoint(by_column))), turn)
    of_u = product(u, of_u)
    v = adjoint(vh)
    of_v = product(v, times(inverse, add(by_row, adjoint(by_row))))
    m, n = shape_of(t)[-2:]
    if m > n:
        of_u = add(of_u, _outside(u, product(t, v), s))
    if n > m:
        of_v = add(of_v, _outside(v, product(adjoint(t), u), s))
    return of_u, adjoint(of_v)


def _outside(basis: Any, moved: Any, s: Any) -> Any:
    """What of `moved` the basis does not span, its columns divided by s."""
    rest = sub(moved, product(basis, product(adjoint(basis), moved)))
    return div(rest, columns(convert(s, dtype_of(basis)), shape_of(rest)[-2]))


svd = matrix_primitive(
    "svd",
    ranks=(2,),
    shapes=_shapes,
    element_types=_dtypes,
    evaluate=_evaluate,
    multiple_results=True,
    jvp=_jvp,
)
