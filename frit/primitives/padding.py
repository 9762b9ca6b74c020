"""pad and slice: each is what the other's transpose is made of.

pad    places an operand in a larger array, `low` from the start and with `interior` gaps
       between its elements; negative amounts cut elements off
slice  takes the elements start, start + stride, … before limit
"""

from __future__ import annotations

from builtins import slice as slice_of  # Python's own; `slice` is the primitive here
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.errors import InconclusiveDimensionOperation
from frit.ir import dims
from frit.ir.primitive import Primitive
from frit.ir.types import ShapedArray, typeof
from frit.primitives.comparison_and_bits import select_n
from frit.primitives.elementwise import sub
from frit.transforms.linear import (
    InPlace,
    add_at,
    axis_to_front,
    full,
    insert_axis,
    instantiate,
    is_linear,
    is_zero,
    reduce_sum,
    zeros,
)
from frit.transforms.rules import linear_jvp, zero_tangent


def surely_negative(size: Any) -> bool:
    """Whether a size is negative for all values of its symbols."""
    try:
        return not size >= 0
    except InconclusiveDimensionOperation:
        return False


def dilated(size: Any, dilation: Any) -> Any:
    """The extent of `size` elements that stand `dilation` apart: 0 for none."""
    if dims.same(size, 0) or dims.same(dilation, 1):
        return size
    return 1 + dilation * (size - 1)


# -------------------------------------------------------------------------------------------- pad


def _pad_types(x: ShapedArray, value: ShapedArray, *, padding_config: Any) -> ShapedArray:
    if x.dtype != value.dtype:
        raise TypeError(
            f"pad operand and padding_value must be same dtype: got {x.dtype} and {value.dtype}."
        )
    if value.ndim:
        raise ValueError(f"padding_value must be a scalar; got shape {value.shape}")
    if len(padding_config) != x.ndim:
        raise ValueError(
            "length of padding_config must equal the number of axes of operand, got "
            f"padding_config {padding_config} for operand shape {x.shape}"
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(
            f"interior padding in padding_config must be nonnegative, got padding_config "
            f"{padding_config}"
        )
    shape = tuple(
        low + high + dilated(size, interior + 1)
        for (low, high, interior), size in zip(padding_config, x.shape, strict=True)
    )
    if any(map(surely_negative, shape)):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, for "
            f"padding_config {padding_config} and operand shape {x.shape}"
        )
    return ShapedArray(shape, x.dtype, x.weak_type and value.weak_type)


def _pad_evaluate(x: Any, value: Any, *, padding_config: Any) -> np.ndarray:
    x = np.asarray(x)
    shape, source, target = [], [], []
    for size, (low, high, interior) in zip(x.shape, padding_config, strict=True):
        step = int(interior) + 1
        extent = int(low + high) + dilated(size, step)
        first = max(0, -(int(low) // step))
        count = max(0, min(size, -((low - extent) // step)) - first)
        begin = low + first * step
        shape.append(extent)
        source.append(slice_of(first, first + count, 1))
        target.append(slice_of(begin, begin + (count - 1) * step + 1 if count else begin, step))
    result = np.empty(shape, x.dtype)
    result[...] = value
    result[tuple(target)] = x[tuple(source)]
    return result


def _pad_jvp(primals: Any, tangents: Any, *, padding_config: Any) -> Any:
    result = pad(*primals, padding_config=padding_config)
    if all(map(is_zero, tangents)):
        return result, zero_tangent(result)
    return result, pad(*map(instantiate, tangents), padding_config=padding_config)


def _pad_transpose(ct: Any, x: Any, value: Any, *, padding_config: Any) -> list[Any]:
    for_x = _unpad(ct, x.shape, padding_config)
    if not is_linear(value):
        return [for_x, None]
    everywhere = _sum_all(ct)
    within = _sum_all(for_x)
    return [for_x if is_linear(x) else None, sub(everywhere, within)]


def _unpad(ct: Any, shape: Any, padding_config: Any) -> Any:
    """The elements of `ct` that come from the padded operand; zeros where that was cut off."""
    cut = tuple((-low, -high, 0) for low, high, _ in padding_config)
    zero = np.zeros((), typeof(ct).storage_dtype)[()]
    framed = pad(ct, zero, padding_config=cut) if any(map(any, cut)) else ct
    if not any(interior for _, _, interior in padding_config):
        return framed
    extents = typeof(framed).shape  # type: ignore[attr-defined]
    return slice(
        framed,
        start_indices=(0,) * len(shape),
        limit_indices=extents,
        strides=tuple(interior + 1 for _, _, interior in padding_config),
    )


def _sum_all(x: Any) -> Any:
    rank = len(typeof(x).shape)  # type: ignore[attr-defined]
    return reduce_sum(x, axes=tuple(range(rank)), out_sharding=None) if rank else x


def _pad_batch(axis: Any, operands: Any, mapped: Any, *, padding_config: Any) -> Any:
    (x, value), (dx, dv) = operands, mapped
    if dv is None:
        config = (*padding_config[:dx], (0, 0, 0), *padding_config[dx:])
        return pad(x, value, padding_config=config), dx
    # A padding value of its own in each lane: pad by zero, then put the values where `x` is not.
    config = ((0, 0, 0), *padding_config)
    x, value = axis_to_front(x, dx, axis.size), axis_to_front(value, dv, axis.size)
    aval = typeof(x)
    assert isinstance(aval, ShapedArray)
    padded = pad(x, np.zeros((), aval.storage_dtype)[()], padding_config=config)
    inside = full(ShapedArray(aval.shape, np.bool_), np.True_)
    inside = pad(inside, np.False_, padding_config=config)
    shape = typeof(padded).shape  # type: ignore[attr-defined]
    for position, size in enumerate(shape[1:], 1):
        value = insert_axis(value, position, size)
    return select_n(inside, value, padded), 0


pad = Primitive(
    "pad",
    result_types=_pad_types,
    evaluate=_pad_evaluate,
    jvp=_pad_jvp,
    transpose=_pad_transpose,
    batch=_pad_batch,
)


# ------------------------------------------------------------------------------------------ slice


def _slice_types(
    x: ShapedArray, *, start_indices: Any, limit_indices: Any, strides: Any
) -> ShapedArray:
    steps = (1,) * x.ndim if strides is None else strides
    _check_slice(x, start_indices, limit_indices, steps)
    return x.update(
        shape=tuple(
            (limit - start + step - 1) // step
            for start, limit, step in zip(start_indices, limit_indices, steps, strict=True)
        )
    )


def _check_slice(x: ShapedArray, starts: Sequence[Any], limits: Sequence[Any], steps: Any) -> None:
    if len(starts) != x.ndim:
        raise TypeError(
            "slice start_indices must have length equal to the number of dimensions of the "
            f"operand, got indices {starts} for operand shape {x.shape}."
        )
    if len(starts) != len(limits):
        raise TypeError(
            "slice limit_indices must have the same length as start_indices, got start_indices "
            f"{starts} and limit_indices {limits}."
        )
    if len(steps) != x.ndim:
        raise TypeError(
            "slice strides must have length equal to the number of dimensions of the operand, got "
            f"strides {steps} for operand shape {x.shape}."
        )
    if any(surely_negative(size - limit) for size, limit in zip(x.shape, limits, strict=True)):
        raise TypeError(
            "slice limit_indices must be less than or equal to operand shape, got limit_indices "
            f"{limits} for operand shape {x.shape}."
        )
    if any(map(surely_negative, starts)):
        raise TypeError(
            "slice start_indices must be greater than or equal to zero, got start_indices of "
            f"{starts}."
        )
    if any(surely_negative(limit - start) for start, limit in zip(starts, limits, strict=True)):
        raise TypeError(
            "slice limit_indices must be greater than or equal to start_indices, got "
            f"start_indices {starts} and limit_indices {limits}."
        )
    if any(surely_negative(step - 1) for step in steps):
        raise TypeError(f"slice strides must be positive, got {steps}")


def _slice_evaluate(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    x = np.asarray(x)
    steps = (1,) * x.ndim if strides is None else strides
    return x[tuple(map(slice_of, start_indices, limit_indices, steps))]


def _slice_transpose(
    ct: Any, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any
) -> list[Any]:
    steps = (1,) * len(x.shape) if strides is None else strides

    def add_to(accumulator: Any) -> Any:
        starts = [np.int32(start) for start in start_indices]
        return add_at(accumulator, ct, *starts, strides=tuple(steps))

    def alone() -> Any:
        taken = typeof(ct).shape  # type: ignore[attr-defined]
        config = tuple(
            (start, size - start - dilated(count, step), step - 1)
            for start, size, count, step in zip(start_indices, x.shape, taken, steps, strict=True)
        )
        return pad(ct, np.zeros((), typeof(ct).storage_dtype)[()], padding_config=config)

    if dims.is_symbolic(start_indices):
        return [alone()]  # add_at takes its starts as numbers
    return [InPlace(add_to, alone)]


def _slice_batch(
    axis: Any, operands: Any, mapped: Any, *, start_indices: Any, limit_indices: Any, strides: Any
) -> Any:
    (x,), (d,) = operands, mapped

    def making_room(entries: Any, entry: Any) -> tuple[Any, ...]:
        return (*entries[:d], entry, *entries[d:])

    return slice(
        x,
        start_indices=making_room(start_indices, 0),
        limit_indices=making_room(limit_indices, axis.size),
        strides=None if strides is None else making_room(strides, 1),
    ), d


slice = Primitive(
    "slice",
    result_types=_slice_types,
    evaluate=_slice_evaluate,
    jvp=linear_jvp(lambda: slice),
    transpose=_slice_transpose,
    batch=_slice_batch,
)


def padded_with_zeros(x: Any, padding_config: Any) -> Any:
    """`pad` with the zero of x's own type."""
    return pad(x, zeros(ShapedArray((), typeof(x).dtype)), padding_config=padding_config)  # type: ignore[attr-defined]


def slice_axis(x: Any, axis: int, start: Any, limit: Any, stride: int = 1) -> Any:
    """Elements start, start + stride, … before limit along one axis, all of the others."""
    shape = typeof(x).shape  # type: ignore[attr-defined]
    return slice(
        x,
        start_indices=tuple(start if i == axis else 0 for i in range(len(shape))),
        limit_indices=tuple(limit if i == axis else size for i, size in enumerate(shape)),
        strides=tuple(stride if i == axis else 1 for i in range(len(shape))),
    )
