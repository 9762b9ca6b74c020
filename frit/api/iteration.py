"""What a `for` loop of the program runs over: ranges with traced bounds, rows of traced arrays.

    range(n)   enumerate(x)   zip(x, y)   reversed(x)          n, x, y traced

Items have a length, traced or known, and are picked by a traced number; rows of arrays are also
stacks, over which a scan runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from frit import errors
from frit.ir import dtypes
from frit.ir.primitive import Tracer
from frit.ir.types import ShapedArray, typeof
from frit.primitives.arithmetic import div, max_, min_
from frit.primitives.conversion import convert_element_type
from frit.primitives.slices import dynamic_slice
from frit.runtime.array import Array
from frit.syntax import Counted


def _here() -> str:
    frame = errors.user_frame()
    return f"\nThis is at {frame.f_code.co_filename}:{frame.f_lineno}." if frame else ""


def is_traced(value: Any) -> bool:
    """Whether a value's numbers are known only to the running program."""
    return isinstance(value, Tracer) and value.concrete() is None


class Items:
    """Something to iterate in the program.  length: an int, or a traced integer."""

    length: Any
    stacks: tuple[Any, ...] = ()
    needs_index = False

    def pick(self, index: Any, rows: Iterator[Any] | None) -> Any:
        """The item number `index`; rows: the current row of each stack, in order, if known."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise errors.ControlFlowConversionError(
            f"{self!r} has a length that only the running program knows, so that it can stand in a "
            "`for` statement, but not be made a list, be taken apart or run through a "
            "comprehension. Write `for i in range(n):` and `total = total + …` or "
            f"`result = result.at[i].set(…)`.{_here()}"
        )

    def __len__(self) -> int:
        if isinstance(self.length, int):
            return self.length
        raise errors.TracerIntegerConversionError(self.length)


class RangeItems(Items):
    """start, start + step, …, before stop.  The numbers are weakly typed, as Python's are."""

    needs_index = True

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        self.start, self.stop, self.step = start, stop, step
        given = [typeof(x) for x in (start, stop) if is_traced(x)]
        dtype = dtypes.python_scalar_dtype(int)
        if given:
            strong = [(t.dtype, t.weak_type) for t in given if isinstance(t, ShapedArray)]
            dtype = dtypes.promote(strong)[0]
        self.dtype = dtype
        self.length = self._count() if given else len(range(start, stop, step))

    def _count(self) -> Any:
        """How many numbers there are; less than none counts as none."""
        first, last = (self.start, self.stop) if self.step > 0 else (self.stop, self.start)
        first, last = _as(first, self.dtype), _as(last, self.dtype)
        span = last if isinstance(first, np.generic) and first == 0 else last - first
        if abs(self.step) == 1:
            return span
        rounded = span + _as(abs(self.step) - 1, self.dtype)
        return max_(div(rounded, _as(abs(self.step), self.dtype)), _as(0, self.dtype))

    def pick(self, index: Any, rows: Iterator[Any] | None) -> Any:
        number = index
        if self.step != 1:
            number = number * _as(self.step, self.dtype)
        if not (isinstance(self.start, int) and self.start == 0):
            number = number + _as(self.start, self.dtype)
        return _weakly(number)

    def __repr__(self) -> str:
        return f"range({self.start}, {self.stop}, {self.step})"


class Rows(Items):
    """The rows of an array, along its first axis."""

    def __init__(self, array: Any, reverse: bool = False) -> None:
        if not np.ndim(array):
            raise TypeError("iteration over a 0-d array")
        self.array = array[::-1] if reverse else array
        self.length = array.shape[0]
        self.stacks = (self.array,)

    def pick(self, index: Any, rows: Iterator[Any] | None) -> Any:
        return _row(self.array, index) if rows is None else next(rows)

    def __repr__(self) -> str:
        return f"an array of shape {tuple(self.array.shape)}"


class Enumerated(Items):
    """(start, item 0), (start + 1, item 1), …"""

    needs_index = True

    def __init__(self, items: Items, start: Any) -> None:
        self.items, self.start = items, start
        self.length, self.stacks = items.length, items.stacks

    def pick(self, index: Any, rows: Iterator[Any] | None) -> Any:
        number = _weakly(index)
        if not (isinstance(self.start, int) and self.start == 0):
            number = number + self.start
        return number, self.items.pick(index, rows)

    def __repr__(self) -> str:
        return f"enumerate({self.items!r})"


class Zipped(Items):
    """Tuples of one item of each."""

    def __init__(self, parts: Sequence[Items]) -> None:
        self.parts = parts
        known = [p.length for p in parts if isinstance(p.length, int)]
        self.length = min(known) if known else None
        for part in parts:
            if not isinstance(part.length, int):
                least = self.length
                self.length = part.length if least is None else _least(least, part.length)
        self.stacks = tuple(s for p in parts for s in p.stacks)
        self.needs_index = any(p.needs_index for p in parts)

    def pick(self, index: Any, rows: Iterator[Any] | None) -> Any:
        return tuple(p.pick(index, rows) for p in self.parts)

    def __repr__(self) -> str:
        return f"zip({', '.join(map(repr, self.parts))})"


def _least(a: Any, b: Any) -> Any:
    dtype = typeof(b if isinstance(a, int) else a).dtype  # type: ignore[attr-defined]
    return min_(_as(a, dtype), _as(b, dtype))


def index_type(items: Items) -> ShapedArray:
    """The type of the number of an item."""
    if isinstance(items.length, int):
        dtype = next((r.dtype for r in _ranges(items)), dtypes.python_scalar_dtype(int))
    else:
        dtype = typeof(items.length).dtype  # type: ignore[attr-defined]
    return ShapedArray((), dtype)


def _ranges(items: Items) -> Iterator[RangeItems]:
    if isinstance(items, RangeItems):
        yield items
    for part in getattr(items, "parts", (getattr(items, "items", None),)):
        if part is not None:
            yield from _ranges(part)


def _as(value: Any, dtype: Any) -> Any:
    """An integer, as a strongly typed one of `dtype`."""
    if not isinstance(value, Tracer):
        return np.asarray(value).astype(dtype)[()]
    return convert_element_type(value, new_dtype=dtype, weak_type=False, sharding=None)


def _weakly(number: Any) -> Any:
    """An integer that promotes as Python's do, if it has the type of Python's."""
    dtype = typeof(number).dtype  # type: ignore[attr-defined]
    if dtype != dtypes.python_scalar_dtype(int):
        return number
    return convert_element_type(number, new_dtype=dtype, weak_type=True, sharding=None)


def _row(array: Any, index: Any) -> Any:
    shape = array.shape
    zero = _as(0, typeof(index).dtype)  # type: ignore[attr-defined]
    starts = [index, *[zero] * (len(shape) - 1)]
    part = dynamic_slice(array, *starts, slice_sizes=(1, *shape[1:]))
    return part.reshape(shape[1:])


# ----------------------------------------------------------------------- in the place of built-ins


def items_of(iterable: Any) -> Items | None:
    """The items of a traced iterable; None for one that Python iterates."""
    if isinstance(iterable, Items):
        return iterable
    if isinstance(iterable, Counted):
        r = iterable.range
        return RangeItems(r.start, r.stop, r.step)
    return Rows(iterable) if is_traced(iterable) else None


def range_of(*args: Any) -> Any:
    """`range`, for bounds that may be traced."""
    if not any(map(is_traced, args)) or len(args) > 3:
        return range(*args)
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    for value in (start, stop):
        if is_traced(value) and (value.shape or not dtypes.is_integer(value.dtype)):
            raise TypeError(
                f"`range` takes integers, and got {value.aval.str_short()}. Write "
                "`range(n.astype(int))` for a float, or `for row in x` for an array's rows."
            )
    if is_traced(step):
        raise errors.ControlFlowConversionError(
            "the step of `range` is traced, and the direction of the loop must be known. Give a "
            f"Python number, or write `for k in range(count): i = start + k * step`.{_here()}"
        )
    step = operator.index(step)
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    first, last = [x if is_traced(x) else operator.index(x) for x in (start, stop)]
    return RangeItems(first, last, step)


def enumerate_of(iterable: Any, start: Any = 0) -> Any:
    items = items_of(iterable)
    return enumerate(iterable, start) if items is None else Enumerated(items, start)


def zip_of(*iterables: Any, strict: bool = False) -> Any:
    """`zip`; in the program, if one of them is traced and none is an ordinary iterable."""
    parts = [_part(x) for x in iterables]
    traced = any(items_of(x) is not None for x in iterables)
    if not traced or any(p is None for p in parts):
        return zip(*iterables, strict=strict)
    lengths = {p.length if isinstance(p.length, int) else None for p in parts if p is not None}
    if strict and (len(lengths) > 1 or None in lengths):
        raise ValueError(
            "zip(strict=True) needs arguments of one known length; got "
            f"{', '.join(map(repr, parts))}."
        )
    return Zipped([p for p in parts if p is not None])


def _part(iterable: Any) -> Items | None:
    if isinstance(iterable, range):
        return items_of(Counted(iterable))
    if isinstance(iterable, (Array, np.ndarray)) and iterable.ndim:
        return Rows(iterable)
    return items_of(iterable)


def reversed_of(iterable: Any) -> Any:
    if isinstance(iterable, RangeItems):
        last = iterable.start + (iterable.length - 1) * iterable.step
        return RangeItems(last, iterable.start - (1 if iterable.step > 0 else -1), -iterable.step)
    if is_traced(iterable):
        return Rows(iterable, reverse=True)
    return reversed(iterable)


BUILTINS: dict[Any, Callable[..., Any]] = {
    range: range_of, enumerate: enumerate_of, zip: zip_of, reversed: reversed_of,
}  # fmt: skip
