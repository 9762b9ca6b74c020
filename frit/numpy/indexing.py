"""x[index]: the lax operations that do it.

all entries known               ->  slice, rev, squeeze, expand_dims
scalars and slices of step 1    ->  dynamic_slice, ...
anything else                   ->  gather, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import errors, lax
from frit.ir.dims import Dim, is_symbolic
from frit.ir.primitive import Tracer
from frit.lax.bounds import check_bounds, checks_bounds
from frit.numpy.index_entries import Entry, parse
from frit.numpy.index_plan import index_dtype, index_value, plan_gather
from frit.numpy.operands import as_operand, shape_of
from frit.numpy.slices import Window, window_of

# ---- slices and integers known while tracing ----------------------------------------------------


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
    kept = [e.kind for e in entries if e.kind in ("newaxis", "slice", "window")]
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
    if entry.kind == "window":
        return entry.value.stride == 1
    return entry.kind == "newaxis" or _is_scalar_entry(entry)


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
        if entry.kind == "window":
            starts.append(entry.value.start)
            sizes.append(entry.value.size)
            continue
        if x.shape[entry.axis] == 0:
            raise IndexError(f"index is out of bounds for axis {entry.axis} with size 0")
        starts.append(entry.value)
        sizes.append(1)
        squeeze.append(entry.axis)
    if len(starts) > 1:
        dtype = index_dtype(x.shape)
        starts = [index_value(i, dtype) for i in starts]
    x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=wrap)
    return _finish(x, reverse, squeeze, _new_axes(entries))


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


def _static_fill(value: Any) -> Any:
    if isinstance(value, Tracer) and value.concrete() is None:
        raise errors.ConcretizationTypeError(value, "fill_value argument to indexed get()")
    if np.ndim(value) != 0:
        raise ValueError("fill_value argument to indexed get() must be a scalar")
    return value.item() if isinstance(value, np.ndarray) else value


def check_entries(entries: Sequence[Entry], shape: tuple[Any, ...], wrap: bool) -> None:
    """Under bounds="raise": each integer, known or traced, is an index of its axis."""
    if not checks_bounds():
        return
    for entry in entries:
        if entry.kind in ("integer", "array"):
            check_bounds(as_operand(entry.value), entry.axis, shape[entry.axis], wraps=wrap)
        elif entry.kind == "window":
            window = (entry.value.size - 1) * entry.value.stride + 1
            size = shape[entry.axis]
            check_bounds(entry.value.start, entry.axis, size, window=window, wraps=wrap)


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
    if mode is None:
        check_entries(entries, x.shape, wrap_negative_indices)
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
