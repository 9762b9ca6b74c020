"""The gather, or scatter, that does an index which slices alone cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.ir.dims import Dim
from frit.numpy.creation import array
from frit.numpy.index_entries import Entry
from frit.numpy.operands import as_array, dtype_of, is_array, shape_of
from frit.numpy.promotion import broadcast_arrays, constant_like
from frit.numpy.slices import window_of


def index_dtype(shape: tuple[Any, ...]) -> np.dtype:
    """int32, or int64 where an axis is too long for it."""
    long = any(isinstance(s, int) and s >= 2**31 for s in shape)
    return np.dtype(np.int64 if long else np.int32)


def index_value(i: Any, dtype: Any) -> Any:
    if isinstance(i, (int, np.integer)):
        return np.asarray(i).astype(dtype)[()]
    if isinstance(i, Dim):
        return lax.convert_element_type(lax.dimension_as_value(i), dtype)
    return lax.convert_element_type(i, dtype)


def _is_zero(start: Any) -> bool:
    return isinstance(start, int) and start == 0


def _with_arrays(entry: Entry) -> Entry:
    if entry.kind == "array" and isinstance(entry.value, (list, tuple)):
        return replace(entry, value=_as_index_array(entry.value))
    return entry


@dataclass(frozen=True, slots=True)
class Plan:
    """A gather (or scatter) that does an index.

    Around it: axes `flags` are inserted into the operand before; axes `reverse` of the result are
    reversed, then axes `new` inserted, which gives `result_shape`.
    """

    numbers: Any
    indices: Any
    window: tuple[Any, ...]
    result_shape: tuple[Any, ...]
    reverse: tuple[int, ...]
    new: tuple[int, ...]
    flags: tuple[int, ...]
    distinct: bool


def _expand_flags(
    entries: Sequence[Entry], shape: tuple[Any, ...]
) -> tuple[list[Entry], tuple[Any, ...], tuple[int, ...]]:
    """Booleans as an index of a new axis of size 1: [0] for True, [] for False."""
    flags = tuple(i for i, e in enumerate(entries) if e.kind == "flag")
    if not flags:
        return list(entries), shape, ()
    new_shape, result, axis = list(shape), [], 0
    for entry in entries:
        if entry.kind == "flag":
            new_shape.insert(axis, 1)
            positions = np.arange(int(entry.value), dtype=np.int32)
            result.append(replace(entry, kind="array", value=positions, axis=axis))
        else:
            result.append(replace(entry, axis=axis))
        axis += entry.kind != "newaxis"
    inserted = tuple(e.axis for e, old in zip(result, entries, strict=True) if old.kind == "flag")
    return result, tuple(new_shape), inserted


def _wrapped(value: Any, size: Any) -> Any:
    """Negative indices counted from the end."""
    if isinstance(value, (int, np.integer)):
        return value + size if value < 0 else value
    if isinstance(value, Dim):
        return value
    dtype = dtype_of(value)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return value
    value = value if is_array(value) else as_array(value)
    length = (
        constant_like(value, size)
        if isinstance(size, int)
        else lax.convert_element_type(lax.dimension_as_value(size), dtype)
    )
    return lax.select(lax.lt(value, constant_like(value, 0)), lax.add(value, length), value)


class _Planner:
    """Collects, entry by entry, what a gather needs."""

    def __init__(self, shape: tuple[Any, ...]) -> None:
        self.shape = shape
        self.dtype = index_dtype(shape)
        self.columns: list[tuple[Any, int]] = []  # index arrays, and their first batch axis
        self.batch: list[Any] = []  # the shape that they broadcast to
        self.offsets: list[int] = []
        self.collapsed: list[int] = []
        self.indexed: list[int] = []
        self.window: list[Any] = []
        self.result: list[Any] = []
        self.new: list[int] = []
        self.reverse: list[int] = []

    @property
    def next_axis(self) -> int:
        """The next axis of the gather's result, to which `new` ones are added later."""
        return len(self.result) - len(self.new)

    def add_arrays(self, arrays: Sequence[Any], axes: Sequence[int]) -> None:
        arrays = broadcast_arrays(*arrays)
        start = len(self.batch)
        self.columns += [(lax.convert_element_type(a, self.dtype), start) for a in arrays]
        self.batch += shape_of(arrays[0])
        self.indexed += axes
        self.collapsed += axes
        self.result += shape_of(arrays[0])

    def add_scalar(self, entry: Entry) -> None:
        if self.shape[entry.axis] == 0:
            raise IndexError(f"index is out of bounds for axis {entry.axis} with size 0")
        self.columns.append((index_value(entry.value, self.dtype), len(self.batch)))
        self.collapsed.append(entry.axis)
        self.indexed.append(entry.axis)
        self.window.append(1)

    def add_newaxis(self) -> None:
        self.new.append(len(self.result))
        self.result.append(1)

    def add_slice(self, entry: Entry) -> None:
        window = window_of(entry.value, self.shape[entry.axis])
        at = self.next_axis
        if window.stride == 1 and not window.reverse:
            self._add_run(entry.axis, window.start, window.size)
            return
        steps = lax.iota(self.dtype, window.size)
        self._add_steps(entry.axis, window.start, window.stride, steps, window.size)
        if window.reverse:
            self.reverse.append(at)

    def add_window(self, entry: Entry) -> None:
        chosen = entry.value
        if chosen.stride == 1:
            self._add_run(entry.axis, chosen.start, chosen.size)
        else:
            steps = lax.iota(self.dtype, chosen.size)
            self._add_steps(entry.axis, chosen.start, chosen.stride, steps, chosen.size)

    def _add_run(self, axis: int, start: Any, size: Any) -> None:
        """Neighbours: a window of the gather."""
        self.offsets.append(self.next_axis)
        if size is not self.shape[axis] and size != self.shape[axis] or not _is_zero(start):
            self.columns.append((index_value(start, self.dtype), len(self.batch)))
            self.indexed.append(axis)
        self.window.append(size)
        self.result.append(size)

    def _add_steps(self, axis: int, start: Any, stride: int, steps: Any, size: Any) -> None:
        """Elements at a distance: each an index of its own."""
        stride = index_value(stride, self.dtype)
        places = lax.add(index_value(start, self.dtype), lax.mul(stride, steps))
        self.window.append(1)
        self.columns.append((places, len(self.batch)))
        self.indexed.append(axis)
        self.batch.append(size)
        self.collapsed.append(axis)
        self.result.append(size)

    def indices(self) -> Any:
        """All columns, broadcast to the batch shape and stacked along a last axis."""
        if not self.columns:
            return np.zeros((0,), self.dtype)
        if len(self.columns) == 1:
            column = self.columns[0][0]
            return lax.expand_dims(column, (len(shape_of(column)),))
        shape = (*self.batch, 1)
        return lax.concatenate(
            [
                lax.broadcast_in_dim(c, shape, range(i, i + len(shape_of(c))))
                for c, i in self.columns
            ],
            len(self.batch),
        )


def plan_gather(entries: Sequence[Entry], shape: tuple[Any, ...], wrap: bool) -> Plan:
    """The gather that selects `entries` of an array of `shape`.

    Arrays of indices broadcast together; the axes of their result stand where the arrays stood when
    these were next to each other, else in front (NumPy's rule).
    """
    entries = [_with_arrays(e) for e in entries]
    positions = [e.position for e in entries if e.kind in ("array", "integer")]
    contiguous = all(b - a == 1 for a, b in zip(positions, positions[1:], strict=False))
    entries, shape, flags = _expand_flags(entries, shape)
    if wrap:
        entries = [
            replace(e, value=_wrapped(e.value, shape[e.axis]))
            if e.kind in ("array", "integer")
            else e
            for e in entries
        ]
    advanced: list[int] = []
    if any(e.kind == "array" and len(shape_of(e.value)) > 0 for e in entries):
        advanced = [i for i, e in enumerate(entries) if e.kind in ("array", "integer")]
    planner = _Planner(shape)
    place = None if not advanced else advanced[0] if contiguous else 0
    for number, entry in enumerate(entries):
        if number == place:
            chosen = [entries[i] for i in advanced]
            planner.add_arrays([_as_index_array(e.value) for e in chosen], [e.axis for e in chosen])
        if number in advanced:
            planner.window.append(1)
        elif entry.kind == "newaxis":
            planner.add_newaxis()
        elif entry.kind == "slice":
            planner.add_slice(entry)
        elif entry.kind == "window":
            planner.add_window(entry)
        else:
            planner.add_scalar(entry)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(planner.offsets),
        collapsed_slice_dims=tuple(sorted(planner.collapsed)),
        start_index_map=tuple(planner.indexed),
    )
    return Plan(
        numbers=numbers, indices=planner.indices(), window=tuple(planner.window),
        result_shape=tuple(planner.result), reverse=tuple(planner.reverse),
        new=tuple(planner.new), flags=flags, distinct=not advanced,
    )  # fmt: skip


def _as_index_array(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return np.asarray(value, np.int32) if not value else array(value)
    if isinstance(value, Dim):
        return lax.dimension_as_value(value)
    return value if is_array(value) else np.asarray(value)
