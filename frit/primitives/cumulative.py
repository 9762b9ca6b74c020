"""Running totals along an axis: element i of the result combines the elements up to i.

cumsum is linear.  The derivative of the others is that of their scan by pairs, which has
logarithmic depth and needs no inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.primitive import Primitive, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.arithmetic import abs_, max_, min_
from frit.primitives.comparison_and_bits import ne, select_n
from frit.primitives.elementwise import add, constant_array, neg, sub, times
from frit.primitives.padding import slice_axis
from frit.primitives.reductions import dtype_name, is_narrow
from frit.primitives.shapes import concatenate, reshape, rev, stack
from frit.primitives.transcendental import exp, log1p, logistic
from frit.transforms.jvp import jvp
from frit.transforms.linear import add_tangents, is_zero
from frit.transforms.rules import linear_jvp, zero_tangent

Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def scan_by_pairs(combine: Combine, operands: Sequence[Any], axis: int) -> list[Any]:
    """Running totals of `operands`, arrays of one extent along `axis`.

    `combine(firsts, seconds)` combines whole arrays, element by element, and must be associative.
    Pairs are combined and scanned; odd places are those totals, even ones need one step more.
    """
    count = typeof(operands[0]).shape[axis]  # type: ignore[attr-defined]
    if isinstance(count, dims.Dim):
        raise NotImplementedError(
            f"an associative scan over an axis of the symbolic size {count}: trace with concrete "
            "shapes, or use lax.scan."
        )
    if count < 2:
        return list(operands)

    def part(start: int, limit: int, stride: int) -> list[Any]:
        return [slice_axis(x, axis, start, limit, stride) for x in operands]

    odd = scan_by_pairs(combine, combine(part(0, count - 1, 2), part(1, count, 2)), axis)
    before = odd if count % 2 else [slice_axis(x, axis, 0, count // 2 - 1) for x in odd]
    even = part(0, 1, 1)
    if count > 2:
        rest = combine(before, part(2, count, 2))
        even = [concatenate(e, r, dimension=axis) for e, r in zip(even, rest, strict=True)]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], … along `axis`; `even` may have one element more."""
    shape = typeof(odd).shape  # type: ignore[attr-defined]
    count, total = shape[axis], typeof(even).shape[axis]  # type: ignore[attr-defined]
    pairs = stack(slice_axis(even, axis, 0, count), odd, axis=axis + 1)
    merged = (*shape[:axis], 2 * count, *shape[axis + 1 :])
    result = reshape(pairs, new_sizes=merged, dimensions=None, sharding=None)
    if total == count:
        return result
    return concatenate(result, slice_axis(even, axis, count, total), dimension=axis)


def scan_from_either_end(
    combine: Combine, operands: Sequence[Any], axis: int, reverse: bool
) -> list[Any]:
    """`scan_by_pairs` from the front, or from the end."""
    if not reverse:
        return scan_by_pairs(combine, operands, axis)
    flipped = [rev(x, dimensions=(axis,)) for x in operands]
    return [rev(x, dimensions=(axis,)) for x in scan_by_pairs(combine, flipped, axis)]


# --------------------------------------------------------------------------------- what they share


def _types_of(name: str, *, floating: bool = False) -> Callable[..., Any]:
    def result_types(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if axis < 0:
            raise ValueError(
                f"{name}: XLA operations do not allow negative axes, got axis={axis}; count the "
                "axis from the front."
            )
        if axis >= x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        is_number = dtypes.is_inexact(x.dtype) or dtypes.is_integer(x.dtype)
        if not (dtypes.is_floating(x.dtype) if floating else is_number):
            raise TypeError(
                f"{name} does not accept dtype {dtype_name(x.dtype)}. Accepted dtypes are "
                f"subtypes of {'floating' if floating else 'number'}."
            )
        return x

    return result_types


def _evaluate_by(accumulate: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(x: Any, *, axis: int, reverse: bool) -> np.ndarray:
        x = np.asarray(x)
        wide = x.astype(np.float32) if is_narrow(x.dtype) else x
        if reverse:
            wide = np.flip(wide, axis)
        result = np.asarray(accumulate(wide, axis=axis))
        return (np.flip(result, axis) if reverse else result).astype(x.dtype)

    return evaluate


def _running_extreme(ufunc: np.ufunc) -> Callable[..., Any]:
    def accumulate(x: np.ndarray, axis: int) -> np.ndarray:
        result = ufunc.accumulate(x, axis)
        if x.dtype.kind != "f":
            return result
        wanted = np.signbit(x) if ufunc is np.minimum else ~np.signbit(x)
        seen = np.logical_or.accumulate((x == 0) & wanted, axis)  # +0 is greater than -0
        negative = seen if ufunc is np.minimum else ~seen
        return np.where(result == 0, np.where(negative, -0.0, 0.0).astype(x.dtype), result)

    return accumulate


def _running_log_sum(x: np.ndarray, axis: int) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.logaddexp.accumulate(x, axis=axis)


def _jvp_of_scan(combine: Combine) -> Callable[..., Any]:
    def rule(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
        results, moved = jvp(
            lambda x: scan_from_either_end(combine, [x], axis, reverse), primals, tangents
        )
        return results[0], moved[0]

    return rule


def _log_sum_jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    if is_zero(tangents[0]):
        result = cumlogsumexp(*primals, axis=axis, reverse=reverse)
        return result, zero_tangent(result)
    operands = (primals[0], tangents[0])
    result, tangent = scan_from_either_end(_add_logs, operands, axis, reverse)
    return result, tangent


def _add_logs(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """log(exp a + exp b) and its tangent, finite where both are infinite."""
    (a, da), (b, db) = first, second
    difference = sub(a, b)
    is_nan = ne(difference, difference)
    distance = neg(abs_(difference))
    total = add(max_(a, b), log1p(exp(distance, accuracy=None), accuracy=None))
    total = select_n(is_nan, total, add(a, b))
    apart = select_n(is_nan, difference, constant_array(difference, 0))
    of_a = times(da, logistic(apart, accuracy=None))
    of_b = times(db, logistic(neg(apart), accuracy=None))
    return [total, add_tangents(of_a, of_b)]


def _cumulative(name: str, accumulate: Callable[..., Any], **rules: Any) -> Primitive:
    types = _types_of(name, floating=name == "cumlogsumexp")
    primitive = Primitive(name, result_types=types, evaluate=_evaluate_by(accumulate), **rules)

    def batch(lanes: Any, operands: Any, mapped: Any, *, axis: int, reverse: bool) -> Any:
        (x,), (d,) = operands, mapped
        return primitive(x, axis=axis if axis < d else axis + 1, reverse=reverse), d

    primitive.batch = batch
    return primitive


# ---------------------------------------------------------------------------------- the primitives

cumsum = _cumulative(
    "cumsum",
    lambda x, axis: np.cumsum(x, axis, dtype=x.dtype),
    jvp=linear_jvp(lambda: cumsum),
    transpose=lambda ct, x, *, axis, reverse: [cumsum(ct, axis=axis, reverse=not reverse)],
    accuracy=order,
)
cumprod = _cumulative(
    "cumprod",
    lambda x, axis: np.cumprod(x, axis, dtype=x.dtype),
    jvp=_jvp_of_scan(lambda a, b: [times(a[0], b[0])]),
    accuracy=order,
)
cummax = _cumulative(
    "cummax",
    _running_extreme(np.maximum),
    jvp=_jvp_of_scan(lambda a, b: [max_(a[0], b[0])]),
)
cummin = _cumulative(
    "cummin",
    _running_extreme(np.minimum),
    jvp=_jvp_of_scan(lambda a, b: [min_(a[0], b[0])]),
)
cumlogsumexp = _cumulative("cumlogsumexp", _running_log_sum, jvp=_log_sum_jvp, accuracy=order)
