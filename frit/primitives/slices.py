"""dynamic_slice and dynamic_update_slice: a window whose start is data, moved inside if need be."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.ir import dtypes
from frit.ir.primitive import Primitive
from frit.ir.types import ShapedArray, typeof
from frit.primitives.index_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from frit.primitives.indexing import gather, scatter
from frit.primitives.padding import slice, surely_negative
from frit.primitives.shapes import concatenate
from frit.transforms.linear import (
    InPlace,
    add_at,
    axis_to_front,
    insert_axis,
    instantiate,
    is_linear,
    is_zero,
    move_axis,
    zeros,
)
from frit.transforms.rules import zero_tangent

__all__ = ["dynamic_slice", "dynamic_update_slice", "slice"]


def _check_starts(name: str, x: ShapedArray, starts: tuple[Any, ...]) -> None:
    if len(starts) != x.ndim:
        raise TypeError(
            f"{name} start_indices must have length equal to the rank of operand, got indices "
            f"{starts} for operand shape {x.shape}."
        )
    if any(s.shape for s in starts):
        raise TypeError(f"start_indices arguments to {name} must be scalars, got indices {starts}")
    if any(s.dtype != starts[0].dtype or not dtypes.is_integer(s.dtype) for s in starts):
        names = ", ".join(str(s.dtype) for s in starts)
        raise TypeError(
            f"index arguments to {name} must be integers of the same type, got: {names}"
        )


def _begin(shape: Any, sizes: Any, starts: Any) -> tuple[Any, ...]:
    """The window of `sizes` at `starts`, moved inside `shape`, as slices."""
    begins = [
        min(max(int(start), 0), extent - size)
        for start, extent, size in zip(starts, shape, sizes, strict=True)
    ]
    return tuple(np.s_[b : b + size] for b, size in zip(begins, sizes, strict=True))


# ---------------------------------------------------------------------------------- dynamic_slice


def _slice_types(x: ShapedArray, *starts: Any, slice_sizes: Any) -> ShapedArray:
    if len(slice_sizes) != x.ndim:
        raise TypeError(
            "slice slice_sizes must have length equal to the number of dimensions of the operand, "
            f"got slice_sizes {slice_sizes} for operand shape {x.shape}."
        )
    if any(surely_negative(e - s) for e, s in zip(x.shape, slice_sizes, strict=True)):
        raise TypeError(
            "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
            f"{slice_sizes} for operand shape {x.shape}."
        )
    if any(map(surely_negative, slice_sizes)):
        raise TypeError(
            "slice slice_sizes must be greater than or equal to zero, got slice_sizes of "
            f"{slice_sizes}."
        )
    _check_starts("dynamic_slice", x, starts)
    return x.update(shape=tuple(slice_sizes))


def _slice_evaluate(x: Any, *starts: Any, slice_sizes: Any) -> np.ndarray:
    x = np.asarray(x)
    return x[_begin(x.shape, slice_sizes, starts)]


def _slice_jvp(primals: Any, tangents: Any, *, slice_sizes: Any) -> tuple[Any, Any]:
    x, *starts = primals
    result = dynamic_slice(x, *starts, slice_sizes=slice_sizes)
    if is_zero(tangents[0]):
        return result, zero_tangent(result)
    return result, dynamic_slice(tangents[0], *starts, slice_sizes=slice_sizes)


def _slice_transpose(ct: Any, x: Any, *starts: Any, slice_sizes: Any) -> list[Any]:
    def add_to(accumulator: Any) -> Any:
        return add_at(accumulator, ct, *starts, strides=(1,) * len(slice_sizes))

    def alone() -> Any:
        return dynamic_update_slice(zeros(x.aval), ct, *starts)

    return [InPlace(add_to, alone), *(None for _ in starts)]


def _zero_like(starts: Any) -> Any:
    """The start 0 of the type of other starts."""
    dtype = typeof(starts[0]).storage_dtype if starts else np.dtype(np.int32)
    return np.zeros((), dtype)[()]


def _index_vectors(axis: Any, starts: Any, mapped: Any) -> Any:
    """Starts with a mapped axis, as one array of index vectors: lanes × components."""
    parts = [
        insert_axis(axis_to_front(s, d, axis.size), 1, 1)
        for s, d in zip(starts, mapped, strict=True)
    ]
    return parts[0] if len(parts) == 1 else concatenate(*parts, dimension=1)


def _slice_batch(axis: Any, operands: Any, mapped: Any, *, slice_sizes: Any) -> tuple[Any, int]:
    (x, *starts), (d, *of_starts) = operands, mapped
    if all(s is None for s in of_starts):
        starts.insert(d, _zero_like(starts))
        sizes = (*slice_sizes[:d], axis.size, *slice_sizes[d:])
        return dynamic_slice(x, *starts, slice_sizes=sizes), d
    indices = _index_vectors(axis, starts, of_starts)
    rank = len(slice_sizes)
    if d is None:
        numbers = GatherDimensionNumbers(tuple(range(1, rank + 1)), (), tuple(range(rank)))
        sizes = slice_sizes
    else:
        window = tuple(range(1, rank + 1))
        numbers = GatherDimensionNumbers(window, (), window, (0,), (0,))
        x, sizes = move_axis(x, d, 0), (1, *slice_sizes)
    return gather(
        x,
        indices,
        dimension_numbers=numbers,
        slice_sizes=tuple(sizes),
        unique_indices=d is not None,
        indices_are_sorted=d is not None,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    ), 0


dynamic_slice = Primitive(
    "dynamic_slice",
    result_types=_slice_types,
    evaluate=_slice_evaluate,
    jvp=_slice_jvp,
    transpose=_slice_transpose,
    batch=_slice_batch,
)


# --------------------------------------------------------------------------- dynamic_update_slice


def _update_types(x: ShapedArray, update: ShapedArray, *starts: Any) -> ShapedArray:
    if x.ndim != update.ndim:
        raise TypeError(
            "dynamic_update_slice update must have the same rank as operand, got update shape "
            f"{update.shape} for operand shape {x.shape}."
        )
    _check_starts("dynamic_update_slice", x, starts)
    if any(surely_negative(e - s) for e, s in zip(x.shape, update.shape, strict=True)):
        raise TypeError(
            "dynamic_update_slice update shape must be smaller than operand shape, got update "
            f"shape {update.shape} for operand shape {x.shape}."
        )
    if x.dtype != update.dtype:
        raise TypeError(
            "lax.dynamic_update_slice requires arguments to have the same dtypes, got "
            f"{x.dtype}, {update.dtype}. (Tip: jnp.dynamic_update_slice is a similar function that "
            "does automatic type promotion on inputs)."
        )
    return x.update(weak_type=x.weak_type and update.weak_type)


def _update_evaluate(x: Any, update: Any, *starts: Any) -> np.ndarray:
    result, update = np.array(x), np.asarray(update)
    result[_begin(result.shape, update.shape, starts)] = update
    return result


def _update_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, update, *starts = primals
    result = dynamic_update_slice(x, update, *starts)
    if is_zero(tangents[0]) and is_zero(tangents[1]):
        return result, zero_tangent(result)
    tx, tu = instantiate(tangents[0]), instantiate(tangents[1])
    return result, dynamic_update_slice(tx, tu, *starts)


def _update_transpose(ct: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
    shape = update.shape if is_linear(update) else typeof(update).shape  # type: ignore[attr-defined]
    for_x = for_update = None
    if is_linear(x):
        nothing = zeros(ShapedArray(shape, typeof(ct).dtype))  # type: ignore[attr-defined]
        for_x = dynamic_update_slice(ct, nothing, *starts)
    if is_linear(update):
        for_update = dynamic_slice(ct, *starts, slice_sizes=tuple(shape))
    return [for_x, for_update, *(None for _ in starts)]


def _update_batch(axis: Any, operands: Any, mapped: Any) -> tuple[Any, int]:
    (x, update, *starts), (dx, du, *of_starts) = operands, mapped
    x, update = axis_to_front(x, dx, axis.size), axis_to_front(update, du, axis.size)
    if all(s is None for s in of_starts):
        return dynamic_update_slice(x, update, _zero_like(starts), *starts), 0
    window = tuple(range(1, len(starts) + 1))
    return scatter(
        x,
        _index_vectors(axis, starts, of_starts),
        update,
        dimension_numbers=ScatterDimensionNumbers(window, (), window, (0,), (0,)),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        update_jaxpr=None,
        update_consts=(),
    ), 0


dynamic_update_slice = Primitive(
    "dynamic_update_slice",
    result_types=_update_types,
    evaluate=_update_evaluate,
    jvp=_update_jvp,
    transpose=_update_transpose,
    batch=_update_batch,
)
