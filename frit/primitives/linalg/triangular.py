"""Solves with triangular and tridiagonal matrices: linear in the right side.

triangular_solve(a, b) = x with op(a) x = b, or x op(a) = b where not `left_side`; op transposes
and conjugates.  The other triangle of a is not read.
tridiagonal_solve(dl, d, du, b) = x with T x = b; dl[0] and du[-1] are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.ir import dims
from frit.primitives.conversion import conjugate
from frit.primitives.elementwise import add, constant_array, neg, times
from frit.primitives.linalg import lapack
from frit.primitives.linalg.matrices import (
    Failed,
    check_square,
    lower_triangle,
    matrix_primitive,
    product,
    shape_of,
    transposed,
    upper_triangle,
)
from frit.primitives.linalg.recurrences import smallest_pivot, solve_tridiagonal
from frit.primitives.padding import padded_with_zeros, slice_axis
from frit.primitives.shapes import concatenate, reshaped
from frit.transforms.linear import (
    Zero,
    add_tangents,
    axis_to_front,
    broadcast_in_dim,
    instantiate,
    is_linear,
    is_zero,
    move_axis,
)
from frit.transforms.rules import zero_tangent

# --------------------------------------------------------------------------------- triangular_solve


def _triangular_shape(a_shape: Any, b_shape: Any, *, left_side: bool, **_: Any) -> Any:
    check_square(
        a_shape,
        f"The first input to triangular_solve must be a square matrix. Got shape {a_shape}.",
    )
    if not dims.same(a_shape[-1], b_shape[-2 if left_side else -1]):
        raise ValueError(
            f"Incompatible shapes for arguments to triangular_solve: {a_shape} and {b_shape}."
        )
    return b_shape


def _triangular_evaluate(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    if not b.size:
        return b
    if conjugate_a and not transpose_a:
        a = a.conj()
    return lapack.routine(a.dtype, "trsm")(
        1,
        a.T,  # in memory, a matrix of ours is the transpose of LAPACK's
        b.T,
        side=left_side,
        lower=not lower,
        trans_a=0 if not transpose_a else 2 if conjugate_a else 1,
        diag=unit_diagonal,
    ).T


def solve_triangular(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """x with op(a) x = b, or x op(a) = b."""
    return triangular_solve(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a and np.issubdtype(a.dtype, np.complexfloating),
        unit_diagonal=unit_diagonal,
    )


def _triangular_jvp(
    primals: Any, tangents: Any, *, left_side: bool, unit_diagonal: bool, **params: Any
) -> Any:
    (a, b), (ta, tb) = primals, tangents
    params |= {"left_side": left_side, "unit_diagonal": unit_diagonal}
    x = triangular_solve(a, b, **params)
    tangent: Any = zero_tangent(x)
    if not is_zero(ta):
        tangent = _tangent_of_matrix(ta, x, a, **params)
    if not is_zero(tb):
        tangent = add_tangents(tangent, triangular_solve(a, tb, **params))
    return x, tangent


def _tangent_of_matrix(ta: Any, x: Any, a: Any, **params: Any) -> Any:
    """-op(a)^-1 op(a') x, multiplied in the cheaper order."""
    k = 1 if params["unit_diagonal"] else 0
    ta = neg(lower_triangle(ta, -k) if params["lower"] else upper_triangle(ta, k))
    ta = transposed(ta) if params["transpose_a"] else ta
    ta = conjugate(ta) if params["conjugate_a"] else ta
    rows, columns = shape_of(x)[-2:]

    def inverse(right: Any) -> Any:
        return triangular_solve(a, right, **params)

    if params["left_side"]:
        return inverse(product(ta, x)) if rows > columns else product(inverse(ta), x)
    return inverse(product(x, ta)) if rows < columns else product(x, inverse(ta))


def _triangular_transpose(ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> Any:
    if is_linear(a):
        raise NotImplementedError("triangular_solve is linear in its right side only")
    if is_zero(ct):
        return [None, Zero(b.aval.tangent_type())]
    return [None, triangular_solve(a, ct, transpose_a=not transpose_a, **params)]


def _triangular_batch(
    axis: Any, operands: Any, mapped: Any, *, left_side: bool, **params: Any
) -> Any:
    """With one matrix for all lanes, the lanes are further columns of b (rows, on the right)."""
    (a, b), (da, db) = operands, mapped
    params |= {"left_side": left_side}
    if da is not None:
        a, b = axis_to_front(a, da, axis.size), axis_to_front(b, db, axis.size)
        return triangular_solve(a, b, **params), 0
    rank = len(shape_of(b))
    at = rank - 1 if left_side else rank - 2
    b = move_axis(b, db, at)
    shape = shape_of(b)
    first = rank - 2 if left_side else rank - 3
    joined = (*shape[:first], shape[first] * shape[first + 1], *shape[first + 2 :])
    return reshaped(triangular_solve(a, reshaped(b, joined), **params), shape), at


triangular_solve = matrix_primitive(
    "triangular_solve",
    ranks=(2, 2),
    shapes=_triangular_shape,
    evaluate=_triangular_evaluate,
    jvp=_triangular_jvp,
    transpose=_triangular_transpose,
    batch=_triangular_batch,
)


# -------------------------------------------------------------------------------- tridiagonal_solve


def _tridiagonal_shape(dl: Any, d: Any, du: Any, b: Any, **_: Any) -> Any:
    if not all(map(dims.same, dl + d, d + du)):
        raise TypeError(
            "tridiagonal_solve requires that all diagonal arguments have the same shape."
        )
    if not dims.same(dl[0], b[0]):
        raise TypeError(
            "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the "
            "dimensions of the diagonal arguments."
        )
    return b


def _tridiagonal_evaluate(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    if not b.size:
        return b
    if perturb_singular:
        return _solve_perturbed(dl, d, du, b)
    if len(d) == 1:  # SciPy's wrapper asks for something beside the diagonal
        x, info = b / np.where(d, d, 1), not d[0]
    else:
        *_, x, info = lapack.routine(d.dtype, "gtsv")(dl[1:], d, du[:-1], b)
    if info:
        raise Failed
    return x


def _solve_perturbed(dl: Any, d: Any, du: Any, b: Any) -> Any:
    """x with (T + E) x = b, where E replaces pivots that are nearly zero.

    Gaussian elimination with row interchanges, which fills one further diagonal above.
    """
    n = len(d)
    smallest = smallest_pivot((dl[1:], d, du[:-1]))
    d, du, x = np.array(d), np.array(du), np.array(b)
    du[-1:] = 0
    above = np.zeros_like(d)
    for i in range(n):
        other = dl[i + 1] if i + 1 < n else 0
        next_d, next_u = (d[i + 1], du[i + 1]) if i + 1 < n else (0, 0)
        if np.abs(d[i]) < np.abs(other):
            kept, rest = (other, next_d, next_u), (d[i], du[i], 0)
            x[[i, i + 1]] = x[[i + 1, i]]
        else:
            kept, rest = (d[i], du[i], 0), (other, next_d, next_u)
        d[i], du[i], above[i] = kept
        if np.abs(d[i]) < smallest:
            d[i] = -smallest if d[i].real < 0 else smallest
        if i + 1 < n:
            factor = rest[0] / d[i]
            d[i + 1], du[i + 1] = rest[1] - factor * du[i], rest[2] - factor * above[i]
            x[i + 1] -= factor * x[i]
    for i in reversed(range(n)):
        if i + 1 < n:
            x[i] -= du[i] * x[i + 1]
        if i + 2 < n:
            x[i] -= above[i] * x[i + 2]
        x[i] /= d[i]
    return x


def _as_column(d: Any, size: Any) -> Any:
    """A diagonal, repeated for `size` columns."""
    shape = shape_of(d)
    return broadcast_in_dim(
        d, shape=(*shape, size), broadcast_dimensions=tuple(range(len(shape))), sharding=None
    )


def _times_tridiagonal(dl: Any, d: Any, du: Any, x: Any) -> Any:
    """T x."""
    rank = len(shape_of(x))
    rows, size = shape_of(x)[-2:]
    none = ((0, 0, 0),)

    def shifted(diagonal: Any, skipped: int) -> Any:
        """The products of an off-diagonal: element i with row i - 1, or with i + 1."""
        first, last = (1, 0) if skipped == 0 else (0, 1)
        near = slice_axis(diagonal, rank - 2, first, rows - last)
        far = slice_axis(x, rank - 2, last, rows - first)
        padding = (*none * (rank - 2), (first, last, 0), *none)
        return padded_with_zeros(times(_as_column(near, size), far), padding)

    own = times(_as_column(d, size), x)
    return add(add(own, shifted(dl, 0)), shifted(du, rows - 1))


def _tridiagonal_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    *diagonals, _ = primals
    *moved, tb = tangents
    x = tridiagonal_solve(*primals, **params)
    right = tb
    if not all(map(is_zero, moved)):
        dl, d, du = map(instantiate, moved)
        change = neg(_times_tridiagonal(dl, d, du, x))
        right = change if is_zero(tb) else add_tangents(tb, change)
    if is_zero(right):
        return x, zero_tangent(x)
    return x, tridiagonal_solve(*diagonals, right, **params)


def _rotated(diagonal: Any, by: int) -> Any:
    """An off-diagonal of T as that of the transposed T: its elements moved by one place."""
    axis = len(shape_of(diagonal)) - 1
    size = shape_of(diagonal)[-1]
    if by > 0:
        kept = slice_axis(diagonal, axis, 0, size - 1)
        return concatenate(
            constant_array(slice_axis(diagonal, axis, 0, 1), 0), kept, dimension=axis
        )
    kept = slice_axis(diagonal, axis, 1, size)
    return concatenate(kept, constant_array(slice_axis(diagonal, axis, 0, 1), 0), dimension=axis)


def _tridiagonal_transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> Any:
    if is_zero(ct):
        return [None, None, None, Zero(b.aval.tangent_type())]
    back = tridiagonal_solve(_rotated(du, 1), d, _rotated(dl, -1), ct, **params)
    return [None, None, None, back]


def _tridiagonal_batch(
    axis: Any, operands: Sequence[Any], mapped: Sequence[Any], **params: Any
) -> Any:
    """With one matrix for all lanes, the lanes are further columns of b."""
    if any(d is not None for d in mapped[:3]):
        front = [axis_to_front(x, d, axis.size) for x, d in zip(operands, mapped, strict=True)]
        return tridiagonal_solve(*front, **params), 0
    *diagonals, b = operands
    rank = len(shape_of(b))
    b = move_axis(b, mapped[3], rank - 2)
    shape = shape_of(b)
    joined = (*shape[: rank - 2], shape[rank - 2] * shape[rank - 1])
    solved = tridiagonal_solve(*diagonals, reshaped(b, joined), **params)
    return reshaped(solved, shape), rank - 2


tridiagonal_solve = matrix_primitive(
    "tridiagonal_solve",
    ranks=(1, 1, 1, 2),
    shapes=_tridiagonal_shape,
    evaluate=_tridiagonal_evaluate,
    decompose=solve_tridiagonal,
    jvp=_tridiagonal_jvp,
    transpose=_tridiagonal_transpose,
    batch=_tridiagonal_batch,
)
