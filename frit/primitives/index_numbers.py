"""What gather and scatter say of their axes, and where in the operand their windows are.

Each vector along the last axis of `indices` is the start of one window of the operand:

    gather:   result[batch…, offsets…] = operand[start of batch… + offsets…]
    scatter:  operand[start of batch… + offsets…] op= updates[batch…, offsets…]

Axes in `operand_batching_dims` go along with axes of `indices`; collapsed (inserted) axes of the
window have size 1 and are absent from the result (updates).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.types import ShapedArray
from frit.primitives.padding import surely_negative

Ints = tuple[int, ...]


class GatherDimensionNumbers(NamedTuple):
    """The axes of a gather: which of the result are offsets in a window, which of the operand are
    collapsed, which operand axis each component of an index vector positions."""

    offset_dims: Ints
    collapsed_slice_dims: Ints
    start_index_map: Ints
    operand_batching_dims: Ints = ()
    start_indices_batching_dims: Ints = ()


class ScatterDimensionNumbers(NamedTuple):
    """The axes of a scatter: which of the updates are offsets in a window, which of the operand
    the updates lack, which operand axis each component of an index vector positions."""

    update_window_dims: Ints
    inserted_window_dims: Ints
    scatter_dims_to_operand_dims: Ints
    operand_batching_dims: Ints = ()
    scatter_indices_batching_dims: Ints = ()

    def as_gather(self) -> GatherDimensionNumbers:
        """The axes of the gather that reads what this scatter writes."""
        return GatherDimensionNumbers(*self)


def as_scatter(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """The axes of the scatter that writes where this gather reads."""
    return ScatterDimensionNumbers(*numbers)


class GatherScatterMode(enum.Enum):
    """What happens to a window that is not within the operand.

    CLIP moves it inside.  FILL_OR_DROP reads fill values, and writes nothing.  PROMISE_IN_BOUNDS
    and ONE_HOT: the caller says that there is none; reads are clipped and writes dropped.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode that a `mode` argument names.  ValueError for unknown names."""
        if isinstance(s, GatherScatterMode):
            return s
        if not isinstance(s, (str, type(None))) or s not in _MODES:
            raise ValueError(f'Unknown gather mode "{s}"')
        return _MODES[s]


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


# ----------------------------------------------------------------------------------------- checks


def _check_sorted(axes: Sequence[int], op: str, name: str) -> None:
    if any(b < a for a, b in zip(axes, axes[1:], strict=False)):
        raise TypeError(f"{name} in {op} op must be sorted; got {axes}")


def _check_range(axes: Sequence[int], rank: int, op: str, name: str) -> None:
    for axis in axes:
        if not 0 <= axis < rank:
            raise TypeError(
                f"Invalid {name} set in {op} op; valid range is [0, {rank}); got: {axis}."
            )


def _check_distinct(axes: Sequence[int], op: str, name: str) -> None:
    if len(set(axes)) != len(axes):
        raise TypeError(f"{name} in {op} op must not repeat; got: {axes}.")


def _check_disjoint(a: Sequence[int], b: Sequence[int], op: str, name_a: str, name_b: str) -> None:
    if set(a) & set(b):
        raise TypeError(f"{name_a} and {name_b} in {op} op must be disjoint; got: {a} and {b}.")


def _check_batching(
    op: str, x: ShapedArray, indices: ShapedArray, of_operand: Ints, of_indices: Ints, name: str
) -> None:
    _check_distinct(of_indices, op, name)
    _check_range(of_indices, indices.ndim, op, name)
    title = op.capitalize()
    if indices.ndim - 1 in of_indices:
        raise TypeError(
            f"{title} op cannot have the index vector dimension as a batching dimension; got "
            f"{of_indices}."
        )
    if len(of_operand) != len(of_indices):
        raise TypeError(
            f"{title} op requires equal numbers of operand_batching_dims and {name}, got "
            f"{of_operand} and {of_indices}."
        )
    left = tuple(x.shape[i] for i in of_operand)
    right = tuple(indices.shape[i] for i in of_indices)
    if not all(map(dims.same, left, right)):
        raise TypeError(
            f"{title} op requires operand batching dimensions and indices batching dimensions to "
            f"have the same shape, got {left} and {right}."
        )


def _check_indices(op: str, indices: ShapedArray) -> None:
    if not dtypes.is_integer(indices.dtype):
        raise ValueError(f"indices must have an integer type, got {indices.dtype}")
    if not indices.ndim:
        raise TypeError(
            f"{op.capitalize()} index leaf dimension must be within [0, rank(indices) + 1). "
            "rank(indices) is 0 and gather index leaf dimension is -1."
        )


def check_gather(
    x: ShapedArray, indices: ShapedArray, numbers: GatherDimensionNumbers, slice_sizes: Any
) -> tuple[Any, ...]:
    """The shape of the result of a gather.  TypeError where the numbers do not fit."""
    _check_indices("gather", indices)
    offset, collapsed, index_map, batching, indices_batching = numbers
    _check_sorted(offset, "gather", "offset_dims")
    _check_distinct(offset, "gather", "offset_dims")
    rank = len(offset) + indices.ndim - 1
    for i, axis in enumerate(offset):
        if not 0 <= axis < rank:
            raise TypeError(
                f"Offset dimension {i} in gather op is out of bounds; got {axis}, but should have "
                f"been in [0, {rank})"
            )
    if not dims.same(len(index_map), indices.shape[-1]):
        raise TypeError(
            f"Gather op has {len(index_map)} elements in start_index_map and the bound of "
            f"dimension index_vector_dim={indices.ndim - 1} of indices is {indices.shape[-1]}. "
            "These two numbers must be equal."
        )
    for i, axis in enumerate(index_map):
        if not 0 <= axis < x.ndim:
            raise TypeError(f"Invalid start_index_map; domain is [0, {x.ndim}), got: {i}->{axis}.")
    _check_distinct(index_map, "gather", "start_index_map")
    _check_sorted(collapsed, "gather", "collapsed_slice_dims")
    _check_range(collapsed, x.ndim, "gather", "collapsed_slice_dims")
    _check_distinct(collapsed, "gather", "collapsed_slice_dims")
    _check_distinct(batching, "gather", "operand_batching_dims")
    _check_sorted(batching, "gather", "operand_batching_dims")
    _check_range(batching, x.ndim, "gather", "operand_batching_dims")
    for name, axes in (("collapsed_slice_dims", collapsed), ("start_index_map", index_map)):
        _check_disjoint(axes, batching, "gather", name, "operand_batching_dims")
    _check_batching("gather", x, indices, batching, indices_batching, "start_indices_batching_dims")
    _check_slice_sizes(x, indices, numbers, slice_sizes)
    return gathered_shape(indices.shape, numbers, slice_sizes)


def _check_slice_sizes(
    x: ShapedArray, indices: ShapedArray, numbers: GatherDimensionNumbers, sizes: Any
) -> None:
    offset, collapsed, _, batching, _ = numbers
    if len(sizes) != x.ndim:
        raise TypeError(
            "Gather op must have one slice size for every input dimension; got: "
            f"len(slice_sizes)={len(sizes)}, input_shape.rank={x.ndim}"
        )
    if len(sizes) != len(offset) + len(collapsed) + len(batching):
        raise TypeError(
            "All components of the offset index in a gather op must either be a offset dimension "
            f"or explicitly collapsed/batching; got len(slice_sizes)={len(sizes)}, "
            f"output_slice_sizes={offset}, collapsed_slice_dims={collapsed}, "
            f"operand_batching_dims={batching}."
        )
    is_empty = any(dims.same(s, 0) for s in indices.shape)
    for i, (size, extent) in enumerate(zip(sizes, x.shape, strict=True)):
        if not is_empty and (surely_negative(size) or surely_negative(extent - size)):
            raise TypeError(
                f"Slice size at index {i} in gather op is out of range, must be within "
                f"[0, {extent} + 1), got {size}."
            )
    for i, axis in enumerate(collapsed):
        if not dims.same(sizes[axis], 1):
            raise TypeError(
                f"Gather op can only collapse slice dims with bound 1, but bound is {sizes[axis]} "
                f"for index {axis} at position {i}."
            )
    for i, axis in enumerate(batching):
        if sizes[axis] not in (0, 1):
            raise TypeError(
                "Gather op can only have operand batching dims with bound 0/1, but bound is "
                f"{sizes[axis]} for index {axis} at position {i}."
            )


def gathered_shape(
    indices_shape: Any, numbers: GatherDimensionNumbers, slice_sizes: Any
) -> tuple[Any, ...]:
    """The result's shape: window sizes at `offset_dims`, the sizes of the indices elsewhere."""
    absent_axes = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = iter([s for i, s in enumerate(slice_sizes) if i not in absent_axes])
    batches = iter(indices_shape[:-1])
    rank = len(numbers.offset_dims) + len(indices_shape) - 1
    return tuple(next(windows if i in numbers.offset_dims else batches) for i in range(rank))


def window_sizes(
    numbers: ScatterDimensionNumbers, operand_rank: int, updates_shape: Any
) -> tuple[Any, ...]:
    """The size of the window of a scatter along each axis of the operand."""
    absent_axes = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    sizes = iter([updates_shape[i] for i in numbers.update_window_dims])
    return tuple(1 if i in absent_axes else next(sizes) for i in range(operand_rank))


def check_scatter(
    x: ShapedArray, indices: ShapedArray, updates: ShapedArray, numbers: ScatterDimensionNumbers
) -> None:
    """TypeError where the numbers of a scatter do not fit its operands."""
    _check_indices("scatter", indices)
    window, inserted, index_map, batching, indices_batching = numbers
    rank = indices.ndim - 1 + len(window)
    if updates.ndim != rank:
        raise TypeError(f"Updates tensor must be of rank {rank}; got {updates.ndim}.")
    for name, axes, limit in (
        ("update_window_dims", window, updates.ndim),
        ("inserted_window_dims", inserted, x.ndim),
        ("operand_batching_dims", batching, x.ndim),
    ):
        _check_sorted(axes, "scatter", name)
        _check_distinct(axes, "scatter", name)
        _check_range(axes, limit, "scatter", name)
    for name, axes in (
        ("inserted_window_dims", inserted),
        ("scatter_dims_to_operand_dims", index_map),
    ):
        _check_disjoint(axes, batching, "scatter", name, "operand_batching_dims")
    _check_batching(
        "scatter", x, indices, batching, indices_batching, "scatter_indices_batching_dims"
    )
    if x.ndim != len(window) + len(inserted) + len(batching):
        raise TypeError(
            f"Scatter op has window of size {len(window) + len(inserted) + len(batching)}; "
            f"doesn't match operand of rank {x.ndim}."
        )
    if not dims.same(len(index_map), indices.shape[-1]):
        raise TypeError(
            f"Scatter op has {len(index_map)} elements in scatter_dims_to_operand_dims and the "
            f"bound of dimension index_vector_dim={indices.ndim - 1} of indices is "
            f"{indices.shape[-1]}. These two numbers must be equal"
        )
    for i, axis in enumerate(index_map):
        if not 0 <= axis < x.ndim:
            raise TypeError(
                f"Invalid scatter_dims_to_operand_dims mapping; domain is [0, {x.ndim}), got: "
                f"{i}->{axis}."
            )
    _check_distinct(index_map, "scatter", "scatter_dims_to_operand_dims")
    _check_updates(x, indices, updates, numbers)


def _check_updates(
    x: ShapedArray, indices: ShapedArray, updates: ShapedArray, numbers: ScatterDimensionNumbers
) -> None:
    window = numbers.update_window_dims
    absent_axes = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    extents = [s for i, s in enumerate(x.shape) if i not in absent_axes]
    for axis, extent in zip(window, extents, strict=True):
        if surely_negative(extent - updates.shape[axis]):
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {axis}, updates bound is "
                f"{updates.shape[axis]}, operand bound is {extent}."
            )
    batch = [i for i in range(updates.ndim) if i not in window]
    for axis, size in zip(batch, indices.shape[:-1], strict=True):
        if not dims.same(updates.shape[axis], size):
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of "
                f"the corresponding dimensions of scatter indices. For scatter dimension {axis}, "
                f"updates bound is {updates.shape[axis]}, indices bound is {size}."
            )


# -------------------------------------------------------------------------------------- positions


def window_positions(
    shape: tuple[int, ...],
    indices: np.ndarray,
    numbers: GatherDimensionNumbers,
    sizes: tuple[int, ...],
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The index of each element of each window along each axis, and which windows are inside.

    The first have the shape (batch…, *sizes) after broadcasting, moved inside the operand; the
    second has the shape (batch…).
    """
    batch = indices.shape[:-1]
    starts = [np.zeros(batch, np.int64) for _ in shape]
    if indices.dtype == np.uint64:  # beyond int64 is beyond every array
        indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
    wide = indices.astype(np.int64)
    for component, axis in enumerate(numbers.start_index_map):
        starts[axis] = wide[..., component]
    pairs = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    for axis, along in pairs:
        lane = np.arange(batch[along]).reshape([-1 if i == along else 1 for i in range(len(batch))])
        starts[axis] = np.broadcast_to(lane, batch)
    inside = np.ones(batch, bool)
    positions = []
    for axis, (start, extent, size) in enumerate(zip(starts, shape, sizes, strict=True)):
        inside &= (start >= 0) & (start <= extent - size)
        clipped = np.clip(start, 0, max(extent - size, 0)).reshape(*batch, *(1,) * len(shape))
        offsets = np.arange(size).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        positions.append(clipped + offsets)
    return tuple(positions), inside
