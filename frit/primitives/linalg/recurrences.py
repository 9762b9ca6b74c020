"""What LAPACK lacks, row by row: tridiagonal elimination with safe pivots, rotations of factors.

step : (*carry, *row) -> (*carry, *results of the row)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.types import typeof
from frit.primitives.arithmetic import abs_, div, max_
from frit.primitives.comparison_and_bits import eq, gt, lt, select_n
from frit.primitives.conversion import convert
from frit.primitives.elementwise import add, constant, constant_array, neg, sub, times
from frit.primitives.linalg.matrices import dtype_of, real_part_of, real_parts, shape_of
from frit.primitives.padding import slice_axis
from frit.primitives.reductions import reduce_max
from frit.primitives.scans import scan
from frit.primitives.shapes import concatenate, iota, reshaped
from frit.primitives.transcendental import sqrt
from frit.transforms.linear import broadcast_in_dim, move_axis, reduce_sum
from frit.transforms.trace import trace_to_jaxpr


def over_rows(
    step: Callable[..., Sequence[Any]],
    carry: Sequence[Any],
    rows: Sequence[Any],
    *,
    reverse: bool = False,
) -> list[Any]:
    """The last carry and the results of each row, stacked, of a step over the first axis of `rows`.

    The step must capture nothing.
    """
    types = [typeof(x) for x in carry]
    slices = [typeof(x).without_axis(0) for x in rows]  # type: ignore[attr-defined]
    jaxpr, consts = trace_to_jaxpr(step, [*types, *slices])
    return scan(
        *carry,
        *rows,
        jaxpr=ClosedJaxpr(jaxpr, consts),
        length=shape_of(rows[0])[0],
        num_consts=0,
        num_carry=len(carry),
        reverse=reverse,
        linear=(False,) * (len(carry) + len(rows)),
        unroll=1,
    )


# ------------------------------------------------------------------------- tridiagonal elimination


def _eliminate(smallest, d, u, r, below, next_d, next_u, next_r):  # type: ignore[no-untyped-def]
    """One step: of the pending row (d, u, 0 | r) and the next (below, next_d, next_u | next_r), the
    one with the larger pivot is kept and removes x_i from the other, which is pending then."""
    swap = lt(abs_(d), abs_(below))

    def chosen(a: Any, b: Any) -> tuple[Any, Any]:
        """The kept row's and the other row's."""
        flags = swap if shape_of(a) == shape_of(swap) else _for_columns(swap, shape_of(a)[-1])
        return select_n(flags, a, b), select_n(flags, b, a)

    pivot, other = chosen(d, below)
    pivot = _safe(pivot, smallest)
    first, other_first = chosen(u, next_d)
    second, other_second = chosen(constant_array(next_u, 0), next_u)
    right, other_right = chosen(r, next_r)
    factor = div(other, pivot)
    pending = (
        sub(other_first, times(factor, first)),
        sub(other_second, times(factor, second)),
        sub(other_right, times(_for_columns(factor, shape_of(r)[-1]), right)),
    )
    return [smallest, *pending, pivot, first, second, right]


def _substitute(after, beyond, pivot, first, second, right):  # type: ignore[no-untyped-def]
    count = shape_of(right)[-1]
    known = add(
        times(_for_columns(first, count), after), times(_for_columns(second, count), beyond)
    )
    x = div(sub(right, known), _for_columns(pivot, count))
    return [x, after, x]


def _for_columns(x: Any, count: Any) -> Any:
    shape = shape_of(x)
    return broadcast_in_dim(
        x, shape=(*shape, count), broadcast_dimensions=tuple(range(len(shape))), sharding=None
    )


def _safe(pivot: Any, smallest: Any) -> Any:
    """The pivot, or `smallest` with its sign where it is closer to 0 than that."""
    small = convert(smallest, dtype_of(pivot))
    parts = real_parts(pivot)
    signed = select_n(lt(parts, constant_array(parts, 0)), small, neg(small))
    return select_n(lt(abs_(pivot), smallest), pivot, signed)


def smallest_pivot(diagonals: Sequence[np.ndarray]) -> Any:
    """Below it, a pivot counts as zero: the precision times the largest element."""
    limits = np.finfo(diagonals[1].dtype)
    scale = max(np.abs(v).max(initial=0) for v in diagonals)
    return max(scale * limits.eps, limits.tiny)


def solve_tridiagonal(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    """X with T X = b, or (T + E) X = b where E replaces pivots near zero."""
    axis = len(shape_of(d)) - 1
    n = shape_of(d)[-1]
    limits = np.finfo(real_part_of(typeof(d).dtype))  # type: ignore[attr-defined]
    if perturb_singular:
        inner = slice_axis(abs_(dl), axis, 1, n), abs_(d), slice_axis(abs_(du), axis, 0, n - 1)
        sizes = concatenate(*inner, dimension=axis)
        scale = reduce_max(sizes, axes=(axis,))
        smallest = max_(
            times(scale, constant(scale, limits.eps)), constant_array(scale, limits.tiny)
        )
    else:
        largest = reduce_max(abs_(d), axes=(axis,))
        smallest = constant_array(largest, 0)
    below, middle, above = (move_axis(v, axis, 0) for v in (dl, d, du))
    right = move_axis(b, axis, 0)
    top = [_row(v, 0) for v in (middle, above, right)]
    rest = [slice_axis(v, 0, 1, n) for v in (below, middle, _last_zero(above), right)]
    top[1] = top[1] if n > 1 else constant_array(top[1], 0)
    _, last_d, last_u, last_r, *rows = over_rows(_eliminate, [smallest, *top], rest)
    none = constant_array(last_u, 0)
    ends = [_safe(last_d, smallest), none, none, last_r]
    whole = [
        concatenate(stack, _as_row(end), dimension=0) for stack, end in zip(rows, ends, strict=True)
    ]
    zero = constant_array(last_r, 0)
    *_, x = over_rows(_substitute, [zero, zero], whole, reverse=True)
    return move_axis(x, 0, axis)


def _row(x: Any, i: int) -> Any:
    return reshaped(slice_axis(x, 0, i, i + 1), shape_of(x)[1:])


def _as_row(x: Any) -> Any:
    return reshaped(x, (1, *shape_of(x)))


def _last_zero(above: Any) -> Any:
    n = shape_of(above)[0]
    last = constant_array(slice_axis(above, 0, n - 1, n), 0)
    return concatenate(slice_axis(above, 0, 0, n - 1), last, dimension=0)


# ---------------------------------------------------------------------------------------- rotations


def _rotate(k, w, row):  # type: ignore[no-untyped-def]
    """The rotation of `row` and w that makes w[k] zero."""
    places = iota(dtype=np.dtype("i4"), shape=shape_of(w), dimension=0, sharding=None)
    here = eq(
        places, broadcast_in_dim(k, shape=shape_of(w), broadcast_dimensions=(), sharding=None)
    )

    def at_k(v: Any) -> Any:
        return reduce_sum(select_n(here, constant_array(v, 0), v), axes=(0,), out_sharding=None)

    x, y = at_k(row), at_k(w)
    size = max_(abs_(x), abs_(y))
    is_zero = eq(y, constant(y, 0))
    size = select_n(gt(size, constant(size, 0)), constant_array(size, 1), size)
    x, y = div(x, size), div(y, size)
    length = sqrt(add(times(x, x), times(y, y)), accuracy=None)
    cosine = select_n(is_zero, div(x, length), constant_array(x, 1))
    sine = select_n(is_zero, div(y, length), constant_array(x, 0))
    cosine, sine = (
        broadcast_in_dim(v, shape=shape_of(w), broadcast_dimensions=(), sharding=None)
        for v in (cosine, sine)
    )
    return [
        add(k, np.int32(1)),
        sub(times(cosine, w), times(sine, row)),
        add(times(cosine, row), times(sine, w)),
    ]


def update_factor(r: Any, w: Any) -> Any:
    """The upper triangular factor of R^T R + w w^T."""
    *_, rows = over_rows(_rotate, [np.int32(0), w], [r])
    return rows
