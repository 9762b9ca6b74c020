"""x[index]: what an index asks for, and the lax operations that do it.

An index is parsed into entries, one for each item, `...` expanded and boolean masks replaced by the
positions of their True:

    Entry = newaxis | slice | integer (known) | array (of integers, or one traced) | flag (a bool)

    all known                       ->  slice, rev, squeeze, expand_dims
    scalars and slices of step 1    ->  dynamic_slice, ...
    anything else                   ->  gather, ...
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from frit import errors, lax
from frit.ir import dtypes
from frit.ir.dims import Dim, is_symbolic
from frit.ir.primitive import Tracer
from frit.numpy.creation import array
from frit.numpy.operands import as_array, as_operand, dtype_of, is_array, shape_of
from frit.numpy.promotion import broadcast_arrays, constant_like


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of an index; `position` among the items, the first `axis` that it consumes."""

    kind: str
    value: Any
    axis: int
    position: int


# ---- parsing ------------------------------------------------------------------------------------


def parse(index: Any, shape: tuple[Any, ...]) -> list[Entry]:
    """The entries of `index` into an array of `shape`.

    TypeError for strings, floats and lists; IndexError for too many items, a second `...`, or a
    mask of another shape; NonConcreteBooleanIndexError for a traced mask.
    """
    items = _as_items(index)
    kinds = [_kind_of(item) for item in items]
    if kinds.count("ellipsis") > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    consumed = [_axes_consumed(k, i) for k, i in zip(kinds, items, strict=True)]
    total = sum(consumed)
    if total > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {total} were indexed"
        )
    entries: list[Entry] = []
    axis = position = 0
    for number, (kind, item, width) in enumerate(zip(kinds, items, consumed, strict=True)):
        if kind == "ellipsis":
            width = len(shape) - total
            entries += [Entry("slice", slice(None), axis + i, position) for i in range(width)]
        elif kind == "mask":
            found = _mask_positions(item, shape[axis : axis + width], number)
            for i, where in enumerate(found):
                entries.append(Entry("array", where, axis + i, position + i))
            position += len(found) - 1
        else:
            value = bool(_concrete_flag(item)) if kind == "flag" else as_operand(item)
            entries.append(Entry(kind, value, axis, position))
        axis += width
        position += 1
    entries += [Entry("slice", slice(None), i, position) for i in range(axis, len(shape))]
    return entries


def _as_items(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, (list, range)):
        kind = "tuple" if any(_is_item_of_tuple(i) for i in index) else "array"
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[{kind}(seq)]` instead of `arr[seq]`. See "
            "https://github.com/jax-ml/jax/issues/4564 for more information."
        )
    return (index,)


def _is_item_of_tuple(item: Any) -> bool:
    if is_array(item) or isinstance(item, np.ndarray):
        return item.ndim > 0
    return item is None or item is Ellipsis or isinstance(item, (slice, list, tuple))


def _kind_of(item: Any) -> str:
    if item is None:
        return "newaxis"
    if item is Ellipsis:
        return "ellipsis"
    if isinstance(item, slice):
        _check_static_slice(item)
        return "slice"
    if isinstance(item, (bool, np.bool_)):
        return "flag"
    if isinstance(item, (int, np.integer)):
        return "integer"
    if isinstance(item, str):
        raise TypeError(f"JAX does not support string indexing; got idx={item!r}")
    if isinstance(item, (list, tuple)):
        item = np.asarray(item) if item else np.zeros(0, np.int32)
        if item.dtype == object:
            item = array(item.tolist())
    if isinstance(item, Dim):
        return "integer"
    if hasattr(item, "__jax_array__") and not is_array(item):
        item = item.__jax_array__()
    if is_array(item) or isinstance(item, np.ndarray):
        if dtypes.is_bool(item.dtype):
            return "mask" if item.ndim else "flag"
        if dtypes.is_integer(item.dtype):
            return "array"
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {item.dtype}"
        )
    if isinstance(item, (float, complex, np.generic)):
        raise TypeError(
            "Indexer must have integer or boolean type, got indexer with type "
            f"{np.dtype(type(item))}"
        )
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean "
        f"arrays are valid indices. Got {item}"
    )


def _check_static_slice(item: slice) -> None:
    for bound in (item.start, item.stop, item.step):
        if bound is None or isinstance(bound, Dim):
            continue
        if isinstance(bound, Tracer) and bound.concrete() is None:
            raise IndexError(
                "Array slice indices must have static start/stop/step to be used with NumPy "
                f"indexing syntax: Slice entries must be static integers. Got {item}. To index a "
                "statically sized array at a dynamic position, try lax.dynamic_slice/"
                "dynamic_update_slice (JAX does not support dynamically sized arrays within JIT "
                "compiled functions)."
            )
        try:
            operator.index(bound)
        except TypeError:
            raise IndexError(f"Slice entries must be static integers. Got {item}") from None


def _axes_consumed(kind: str, item: Any) -> int:
    if kind == "mask":
        return len(np.shape(item))
    return 0 if kind in ("newaxis", "ellipsis", "flag") else 1


def _concrete_flag(item: Any) -> Any:
    if isinstance(item, Tracer):
        value = item.concrete()
        if value is None:
            raise errors.NonConcreteBooleanIndexError(item)
        return value
    return item


def _mask_positions(mask: Any, shape: tuple[Any, ...], number: int) -> list[np.ndarray]:
    mask = np.asarray(_concrete_flag(mask))
    if not all(m in (0, s) for m, s in zip(mask.shape, shape, strict=True)):
        raise IndexError(
            f"boolean index did not match shape of indexed array in index {number}: got "
            f"{mask.shape}, expected {list(shape)}"
        )
    return [w.astype(np.int32) for w in np.nonzero(mask)]


# ---- slices and integers known while tracing ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Window:
    """A regular part of an axis: start, limit and stride as of lax.slice; then reversed."""

    start: Any
    limit: Any
    stride: int
    reverse: bool

    @property
    def size(self) -> Any:
        return -(-(self.limit - self.start) // self.stride)


def window_of(item: slice, size: Any) -> Window:
    """The part of an axis of `size` that a slice selects."""
    if item == slice(None):
        return Window(0, size, 1, False)
    bounds = (item.start, item.stop, item.step)
    if isinstance(size, Dim) or any(isinstance(b, Dim) for b in bounds):
        return _symbolic_window(item, size)
    start, stop, step = slice(*(b if b is None else operator.index(b) for b in bounds)).indices(
        size
    )
    if step > 0:
        return Window(start, max(start, stop), step, False)
    first = min(size, stop + 1 + abs(start - stop - 1) % -step)
    return Window(first, max(first, start + 1), -step, True)


def _symbolic_window(item: slice, size: Any) -> Window:
    step = 1 if item.step is None else operator.index(item.step)
    if step == -1 and item.start is None and item.stop is None:
        return Window(0, size, 1, True)
    if step < 1:
        raise IndexError(f"a slice of a symbolic size takes a positive step, got {item}")

    def bound(value: Any, default: Any) -> Any:
        if value is None:
            return default
        return value + size if isinstance(value, int) and value < 0 else value

    return Window(bound(item.start, 0), bound(item.stop, size), step, False)


def _static_start(entry: Entry, size: Any, wrap: bool) -> Any:
    """A known integer index, wrapped and clamped into the axis."""
    i = entry.value if isinstance(entry.value, Dim) else int(entry.value)
    if isinstance(size, Dim) or isinstance(i, Dim):
        return i + size if isinstance(i, int) and i < 0 and wrap else i
    if size == 0:
        raise IndexError(f"index is out of bounds for axis {entry.axis} with size 0")
    return min(max(i + size if i < 0 and wrap else i, 0), size - 1)


def _finish(x: Any, reverse: list[int], squeeze: list[int], new: list[int]) -> Any:
    if reverse:
        x = lax.rev(x, reverse)
    if squeeze:
        x = lax.squeeze(x, squeeze)
    return lax.expand_dims(x, new) if new else x


def _new_axes(entries: Sequence[Entry]) -> list[int]:
    """Where the newaxis entries stand in the result, integers taking no axis."""
    kept = [e.kind for e in entries if e.kind in ("newaxis", "slice")]
    return [i for i, kind in enumerate(kept) if kind == "newaxis"]


def _take_static(x: Any, entries: Sequence[Entry], wrap: bool) -> Any:
    windows: list[Window] = []
    for entry in entries:
        if entry.kind == "slice":
            windows.append(window_of(entry.value, x.shape[entry.axis]))
        elif entry.kind == "integer":
            start = _static_start(entry, x.shape[entry.axis], wrap)
            windows.append(Window(start, start + 1, 1, False))
    squeeze = [e.axis for e in entries if e.kind == "integer"]
    reverse = [i for i, w in enumerate(windows) if w.reverse]
    strides = None if all(w.stride == 1 for w in windows) else [w.stride for w in windows]
    whole = all(w.start == 0 and w.limit == s for w, s in zip(windows, x.shape, strict=True))
    if not (whole and strides is None):
        x = lax.slice(x, [w.start for w in windows], [w.limit for w in windows], strides)
    return _finish(x, reverse, squeeze, _new_axes(entries))


# ---- traced scalars -----------------------------------------------------------------------------


def _is_scalar_entry(entry: Entry) -> bool:
    return entry.kind == "integer" or (entry.kind == "array" and shape_of(entry.value) == ())


def _fits_dynamic_slice(entry: Entry) -> bool:
    if entry.kind == "slice":
        return entry.value.step in (None, 1, -1)
    return entry.kind == "newaxis" or _is_scalar_entry(entry)


def index_dtype(shape: tuple[Any, ...]) -> np.dtype:
    """int32, or int64 where an axis is too long for it."""
    long = any(isinstance(s, int) and s >= 2**31 for s in shape)
    return np.dtype(np.int64 if long else np.int32)


def _take_dynamic(x: Any, entries: Sequence[Entry], wrap: bool) -> Any:
    starts: list[Any] = []
    sizes: list[Any] = []
    reverse: list[int] = []
    squeeze: list[int] = []
    for entry in entries:
        if entry.kind == "newaxis":
            continue
        if entry.kind == "slice":
            window = window_of(entry.value, x.shape[entry.axis])
            starts.append(window.start)
            sizes.append(window.limit - window.start)
            if window.reverse:
                reverse.append(entry.axis)
            continue
        if x.shape[entry.axis] == 0:
            raise IndexError(f"index is out of bounds for axis {entry.axis} with size 0")
        starts.append(entry.value)
        sizes.append(1)
        squeeze.append(entry.axis)
    if len(starts) > 1:
        dtype = index_dtype(x.shape)
        starts = [_index_value(i, dtype) for i in starts]
    x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=wrap)
    return _finish(x, reverse, squeeze, _new_axes(entries))


def _index_value(i: Any, dtype: Any) -> Any:
    if isinstance(i, (int, np.integer)):
        return np.asarray(i).astype(dtype)[()]
    if isinstance(i, Dim):
        return lax.convert_element_type(lax.dimension_as_value(i), dtype)
    return lax.convert_element_type(i, dtype)


# ---- gather -------------------------------------------------------------------------------------


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
        self.columns.append((_index_value(entry.value, self.dtype), len(self.batch)))
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
            if window.size != self.shape[entry.axis]:
                self.columns.append((_index_value(window.start, self.dtype), len(self.batch)))
                self.indexed.append(entry.axis)
            self.window.append(window.size)
            self.offsets.append(at)
        else:
            steps = lax.iota(self.dtype, window.size)
            steps = lax.add(
                _index_value(window.start, self.dtype),
                lax.mul(_index_value(window.stride, self.dtype), steps),
            )
            if window.reverse:
                self.reverse.append(at)
            self.window.append(1)
            self.columns.append((steps, len(self.batch)))
            self.indexed.append(entry.axis)
            self.batch.append(window.size)
            self.collapsed.append(entry.axis)
        self.result.append(window.size)

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


def _take_gather(
    x: Any,
    entries: Sequence[Entry],
    wrap: bool,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    fill_value: Any,
) -> Any:
    plan = plan_gather(entries, x.shape, wrap)
    if fill_value is not None:
        fill_value = _static_fill(fill_value)
    if plan.flags:
        x = lax.expand_dims(x, plan.flags)
    if 0 in plan.result_shape:
        return lax.full_like(x, 0, shape=plan.result_shape)
    if 0 not in shape_of(plan.indices):
        x = lax.gather(
            x, plan.indices, plan.numbers, plan.window,
            unique_indices=unique_indices or plan.distinct,
            indices_are_sorted=indices_are_sorted or plan.distinct,
            mode=mode, fill_value=fill_value,
        )  # fmt: skip
    return _finish(x, list(plan.reverse), [], list(plan.new))


def _with_arrays(entry: Entry) -> Entry:
    if entry.kind == "array" and isinstance(entry.value, (list, tuple)):
        return replace(entry, value=_as_index_array(entry.value))
    return entry


def _static_fill(value: Any) -> Any:
    if isinstance(value, Tracer) and value.concrete() is None:
        raise errors.ConcretizationTypeError(value, "fill_value argument to indexed get()")
    if np.ndim(value) != 0:
        raise ValueError("fill_value argument to indexed get() must be a scalar")
    return value.item() if isinstance(value, np.ndarray) else value


# ---- the whole ----------------------------------------------------------------------------------


def _gather_mode(mode: Any) -> Any:
    return lax.GatherScatterMode.from_any(mode)


def take_index(
    x: Any,
    index: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    fill_value: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """x[index].

    mode: what indices out of bounds give: "clip" (the default for known indices), "fill" (the
    default for arrays under `.at[].get()`), "promise_in_bounds".
    """
    entries = parse(index, x.shape)
    clamps = lax.GatherScatterMode.PROMISE_IN_BOUNDS, lax.GatherScatterMode.CLIP
    if mode is None or _gather_mode(mode) in clamps:
        kinds = {e.kind for e in entries}
        if kinds <= {"slice", "integer", "newaxis"}:
            return _take_static(x, entries, wrap_negative_indices)
        if all(map(_fits_dynamic_slice, entries)) and not is_symbolic(x.shape):
            return _take_dynamic(x, entries, wrap_negative_indices)
    return _take_gather(
        x, entries, wrap_negative_indices, indices_are_sorted, unique_indices, mode, fill_value
    )
