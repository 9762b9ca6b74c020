"""Windows of arrays: slices at static and dynamic positions, gather and scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from frit import errors
from frit.ir import dims, dtypes
from frit.ir.types import ShapedArray
from frit.lax.bounds import check_bounds, checks_bounds
from frit.lax.operands import (
    as_array,
    as_shape,
    as_size,
    as_sizes,
    dtype_of,
    rank_of,
    scalar_constant,
    shape_of,
    traced_without_tracers,
)
from frit.lax.shapes import concatenate, converted_scalar, expand_dims, full, squeeze
from frit.primitives.arithmetic import max_ as _max
from frit.primitives.arithmetic import min_ as _min
from frit.primitives.arithmetic import rem
from frit.primitives.comparison_and_bits import lt, select_n
from frit.primitives.elementwise import add as _add
from frit.primitives.elementwise import sub as _sub
from frit.primitives.elementwise import times as _times
from frit.primitives.index_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from frit.primitives.indexing import gather as gather_p
from frit.primitives.indexing import scatter as scatter_p
from frit.primitives.indexing import scatter_add as scatter_add_p
from frit.primitives.indexing import scatter_max as scatter_max_p
from frit.primitives.indexing import scatter_min as scatter_min_p
from frit.primitives.indexing import scatter_mul as scatter_mul_p
from frit.primitives.indexing import scatter_sub as scatter_sub_p
from frit.primitives.indexing import update_by
from frit.primitives.padding import slice as slice_p
from frit.primitives.shapes import dim_as_value
from frit.primitives.slices import dynamic_slice as dynamic_slice_p
from frit.primitives.slices import dynamic_update_slice as dynamic_update_slice_p

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_slice_p",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "dynamic_update_slice_p",
    "gather",
    "gather_p",
    "index_in_dim",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_add_p",
    "scatter_apply",
    "scatter_max",
    "scatter_max_p",
    "scatter_min",
    "scatter_min_p",
    "scatter_mul",
    "scatter_mul_p",
    "scatter_p",
    "scatter_sub",
    "scatter_sub_p",
    "slice",
    "slice_in_dim",
    "slice_p",
]


# --------------------------------------------------------------------------------- static slices


def slice(operand: Any, start_indices: Any, limit_indices: Any, strides: Any = None) -> Any:
    """Elements from start_indices up to limit_indices, every strides-th; bounds are not clipped."""
    return slice_p(
        operand,
        start_indices=as_sizes(start_indices),
        limit_indices=as_sizes(limit_indices),
        strides=None if strides is None else as_sizes(strides),
    )


def slice_in_dim(
    operand: Any, start_index: Any, limit_index: Any, stride: Any = 1, axis: int = 0
) -> Any:
    """`slice` along one axis; None is the end there, negative indices count from it."""
    axis, shape = int(axis), list(shape_of(operand))
    extent = shape[axis]

    def position(index: Any, default: Any) -> Any:
        if index is None:
            return default
        index = as_size(index)
        return index + extent if not isinstance(index, dims.Dim) and index < 0 else index

    starts, strides = [0] * len(shape), [1] * len(shape)
    starts[axis] = position(start_index, 0)
    shape[axis] = position(limit_index, extent)
    strides[axis] = as_size(stride)
    return slice(operand, starts, shape, strides)


def index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """The slice at one static index of an axis.  IndexError where there is none."""
    index, axis = as_size(index), int(axis)
    extent = shape_of(operand)[axis]
    wrapped = index + extent if index < 0 else index
    if not (wrapped >= 0 and wrapped < extent):
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    found = slice_in_dim(operand, wrapped, wrapped + 1, 1, axis)
    return found if keepdims else squeeze(found, (axis,))


# -------------------------------------------------------------------------------- dynamic slices


def _normalized_starts(operand: Any, start_indices: Any, allow_negative: Any) -> list[Any]:
    """The start along each axis as a scalar; those below zero count from the end if allowed."""
    shape = shape_of(operand)
    count = shape_of(start_indices)[0] if hasattr(start_indices, "shape") else len(start_indices)
    if count != len(shape):
        raise ValueError(
            f"Length of slice indices must match number of operand dimensions ({count} vs {shape})"
        )
    if not isinstance(start_indices, (list, tuple)):
        if rank_of(start_indices) != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {shape_of(start_indices)}")
        start_indices = [index_in_dim(start_indices, i, 0, keepdims=False) for i in range(count)]
    allowed = [allow_negative] * count if isinstance(allow_negative, bool) else allow_negative
    return [
        _normalized_start(s, e, bool(a))
        for s, e, a in zip(start_indices, shape, allowed, strict=True)
    ]


def _normalized_start(start: Any, extent: Any, allow_negative: bool) -> Any:
    dtype = dtype_of(start)
    if dtype in dtypes.UNSIGNED:
        return start
    is_static = isinstance(start, (int, np.integer)) and not isinstance(start, bool)
    if is_static and start < 0 and not allow_negative:
        raise ValueError(
            f"Index {start} is out of bounds for dimension {extent} if allow_negative_indices=False"
        )
    if is_static and (start >= 0 or not isinstance(extent, dims.Dim)):
        return np.asarray(start + extent if start < 0 else start).astype(dtype)[()]
    if not allow_negative or not dtypes.is_integer(dtype):
        return start
    size = dim_as_value(dim=extent) if isinstance(extent, dims.Dim) else extent
    size = converted_scalar(size, dtype, weak=False)
    if is_static:
        return _add(np.asarray(start).astype(dtype)[()], size)
    is_negative = lt(start, np.zeros((), dtype)[()])
    strong = converted_scalar(start, dtype, weak=False)
    return select_n(is_negative, start, _add(strong, size))


def _check_windows(operand: Any, starts: Sequence[Any], sizes: Sequence[Any]) -> None:
    """Under bounds="raise": each window is within its axis."""
    if not checks_bounds():
        return
    shape = shape_of(operand)
    if len(sizes) == len(starts):
        for axis, (start, extent, size) in enumerate(zip(starts, shape, sizes, strict=True)):
            check_bounds(start, axis, extent, window=size, wraps=False)


def dynamic_slice(
    operand: Any, start_indices: Any, slice_sizes: Any, *, allow_negative_indices: Any = True
) -> Any:
    """The window of `slice_sizes` that begins at `start_indices`, moved inside the operand.

    start_indices: a scalar for each axis, or an array of them; negative ones count from the end
    unless allow_negative_indices is False.
    """
    starts = _normalized_starts(operand, start_indices, allow_negative_indices)
    sizes = as_shape(slice_sizes)
    _check_windows(operand, starts, sizes)
    return dynamic_slice_p(operand, *starts, slice_sizes=sizes)


def dynamic_update_slice(
    operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: Any = True
) -> Any:
    """`operand` with `update` in the window that begins at `start_indices`, moved inside."""
    starts = _normalized_starts(operand, start_indices, allow_negative_indices)
    _check_windows(operand, starts, shape_of(update))
    return dynamic_update_slice_p(operand, update, *starts)


def _starts_along(axis: int, start: Any, rank: int) -> list[Any]:
    starts = [scalar_constant(start, 0)] * rank
    starts[axis] = start
    return starts


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: Any,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_slice` along one axis."""
    axis, sizes = int(axis), list(shape_of(operand))
    sizes[axis] = as_size(slice_size)
    return dynamic_slice(
        operand,
        _starts_along(axis, start_index, len(sizes)),
        sizes,
        allow_negative_indices=_only_at(axis, allow_negative_indices, len(sizes)),
    )


def _only_at(axis: int, flag: bool, rank: int) -> list[bool]:
    flags = [False] * rank
    flags[axis] = flag
    return flags


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The slice at one dynamic index of an axis."""
    found = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return found if keepdims else squeeze(found, (axis,))


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_update_slice` along one axis."""
    axis, rank = int(axis), rank_of(operand)
    return dynamic_update_slice(
        operand,
        update,
        _starts_along(axis, start_index, rank),
        allow_negative_indices=_only_at(axis, allow_negative_indices, rank),
    )


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`operand` with `update` as the slice at one dynamic index of an axis."""
    axis = int(axis)
    if rank_of(update) != rank_of(operand):
        if rank_of(update) + 1 != rank_of(operand):
            raise ValueError(
                f"dynamic_update_index_in_dim: the update, of shape {shape_of(update)}, must have "
                f"the rank of the operand, of shape {shape_of(operand)}, or one less."
            )
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


# ----------------------------------------------------------------------------------------- gather


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """A window of `slice_sizes` of `operand` for each vector along the last axis of start_indices.

    mode: what to do with windows that are not inside: 'clip' moves them, 'fill' gives fill_value
    (NaN, the least signed or the largest unsigned integer, True by default); by default the caller
    promises that there are none, and they are clipped.
    """
    parsed = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else mode
    parsed = GatherScatterMode.from_any(parsed)
    fill = None
    if parsed == GatherScatterMode.FILL_OR_DROP:
        fill = _default_fill(dtype_of(operand)) if fill_value is None else fill_value
    return gather_p(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=as_shape(slice_sizes),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed,
        fill_value=fill,
    )


def _default_fill(dtype: Any) -> Any:
    if dtypes.is_inexact(dtype):
        return np.nan
    if dtypes.is_bool(dtype):
        return True
    if isinstance(dtype, dtypes.ExtendedDType):
        return np.iinfo(np.uint32).max
    limits = ml_dtypes.iinfo(dtype)
    return limits.max if dtype in dtypes.UNSIGNED else limits.min


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """src[…] at the positions idxs[k] of the axes[k], wrapped around, as leading elements."""
    shape = shape_of(src)
    indices = concatenate([expand_dims(i, (1,)) for i in idxs], 1)
    extents = np.asarray([[shape[a] for a in axes]]).astype(dtype_of(indices))
    indices = _modulo(indices, extents)
    sizes = tuple(1 if i in axes else s for i, s in enumerate(shape))
    numbers = GatherDimensionNumbers(
        tuple(range(1, len(shape) - len(axes) + 1)), tuple(axes), tuple(axes)
    )
    return gather(src, indices, numbers, sizes)


def _modulo(x: Any, size: Any) -> Any:
    """x modulo a positive size, in 0 … size - 1."""
    rest = rem(x, size)
    return select_n(lt(rest, scalar_constant(x, 0)), rest, _add(rest, size))


# ---------------------------------------------------------------------------------------- scatter


def _bind_scatter(
    primitive: Any,
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    update: dict[str, Any],
) -> Any:
    return primitive(
        operand,
        scatter_indices,
        updates,
        dimension_numbers=dimension_numbers,
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        **update,
    )


def _scatter_by(primitive: Any, combine: Any, name: str, meaning: str) -> Callable[..., Any]:
    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Any:
        update: dict[str, Any] = {"update_jaxpr": None, "update_consts": ()}
        if combine is not None:
            update = update_by(combine, dtype_of(operand))
        return _bind_scatter(
            primitive,
            operand,
            scatter_indices,
            updates,
            dimension_numbers,
            indices_are_sorted,
            unique_indices,
            mode,
            update,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""`operand` with {meaning} at windows that begin at scatter_indices.

    Each vector along the last axis of scatter_indices is the start of a window.  Windows that are
    not inside are dropped, or moved with mode='clip'.
    """
    return function


scatter = _scatter_by(scatter_p, None, "scatter", "`updates` put")
scatter_add = _scatter_by(scatter_add_p, _add, "scatter_add", "`updates` added")
scatter_sub = _scatter_by(scatter_sub_p, _sub, "scatter_sub", "`updates` subtracted")
scatter_mul = _scatter_by(scatter_mul_p, _times, "scatter_mul", "elements multiplied by `updates`")
scatter_min = _scatter_by(scatter_min_p, _min, "scatter_min", "the lesser of element and update")
scatter_max = _scatter_by(scatter_max_p, _max, "scatter_max", "the greater of element and update")


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Any = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with `func` applied to the elements of the windows at scatter_indices.

    update_shape: the shape that updates would have.  An element in several windows is mapped once
    for each.
    """
    errors.check_function(func, "the function of scatter_apply")
    operand = as_array(operand)
    scalar = ShapedArray((), dtype_of(operand))
    jaxpr, consts = traced_without_tracers(lambda x, _: [func(x)], [scalar, scalar])
    unused = full(update_shape, 0, dtype_of(operand))
    update = {"update_jaxpr": jaxpr, "update_consts": tuple(consts)}
    return _bind_scatter(
        scatter_p,
        operand,
        scatter_indices,
        unused,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
        update,
    )
