"""Parts of an axis: what a slice selects, and dslice(start, size), whose start may be traced."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from frit.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Slice:
    """`size` elements of an axis from `start`, which may be traced, at distances `stride`."""

    start: Any
    size: Any
    stride: int = 1

    def __post_init__(self) -> None:
        if self.stride < 0:
            raise ValueError("`stride` must be >= 0.")


def dslice(start: Any, size: Any = None, stride: int | None = None) -> slice | Slice:
    """An index like a slice: dslice(i, n) is i:i+n, dslice(n) is :n, dslice(None) is `:`.

    Unlike in a slice, `start` may be traced.
    """
    if start is None:
        return slice(None)
    stride = 1 if stride is None else stride
    if not isinstance(stride, int):
        raise ValueError("Non-static stride in `dslice`")
    if size is None:
        start, size = 0, start
    return Slice(start, size, stride)


ds = dslice


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
    known = slice(*(b if b is None else operator.index(b) for b in bounds))
    start, stop, step = known.indices(size)
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
