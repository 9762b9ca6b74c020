"""Tapes: stacks of rows whose number is known only when a program runs.

    tape<f32[3]>[]      one tape; its rows are f32[3]
    tape<f32[3]>[8]     eight of them, such as the lanes of a vmap, or those that a scan made

To programs a tape is an opaque handle of 8 bytes, moved like a random key; the handle 0 is a tape
without rows. Rows are written in place, so the tape before a write is not read any more: only
the decompositions of loops in `taped_lowering.py` write, and each writes a tape of its own. A row
that was never written reads as zeros.

    tape_write(tape, start, used, rows) -> tape      rows 0 ... used - 1 become start, start + 1 ...
    tape_read(tape, start) -> rows                   so many rows from start on
    tape_length(tape) -> i32                         one more than the last row
    tape_sum(tape, tape) -> tape                     row by row
    require(predicate, *values) -> values            an error at run time unless predicate holds

Who owns the memory: see `backends/llvm/tapes.py` and `runtime/tapes.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from frit import errors
from frit.ir.dtypes import ExtendedDType, extended, float0
from frit.ir.primitive import Effect, Primitive, absent
from frit.ir.types import ShapedArray
from frit.primitives.reductions import reduce_and
from frit.transforms.linear import axis_to_front, instantiate, is_linear, is_zero

HANDLE = np.dtype("V8")
COUNT = np.dtype(np.int32)
COUNT_TYPE = ShapedArray((), COUNT)


class tape(extended):
    """Scalar class of tapes."""


class TapeDType(ExtendedDType):
    """The element type of tapes whose rows are of type `row`; prints `tape<f32[3]>`."""

    type = tape
    storage = HANDLE

    def __init__(self, row: ShapedArray) -> None:
        self.row = row.strip_weak_type()

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"tape<{self.row.str_short(short_dtypes=True)}>"

    def tangent_dtype(self) -> Any:
        tangent = self.row.tangent_type()
        return float0 if tangent.dtype == float0 else TapeDType(tangent)

    def add(self, x: Any, y: Any) -> Any:
        return tape_sum(x, y)

    def __eq__(self, other: Any) -> bool:
        return type(other) is TapeDType and self.row == other.row

    def __hash__(self) -> int:
        return hash((TapeDType, self.row))


def is_tape(aval: Any) -> bool:
    """Whether values of a type are tapes."""
    return type(getattr(aval, "dtype", None)) is TapeDType


def tape_of(row: ShapedArray, lanes: Sequence[Any]) -> ShapedArray:
    """The type of the tapes of rows of type `row`, whose leading axes `lanes` have one each."""
    assert row.shape[: len(lanes)] == tuple(lanes), (row, lanes)
    return ShapedArray(tuple(lanes), TapeDType(row.update(shape=row.shape[len(lanes) :])))


def row_of(tapes: Any) -> ShapedArray:
    """The type of one row of all the tapes in an array of them."""
    row = tapes.dtype.row
    return row.update(shape=(*tapes.shape, *row.shape))


# ------------------------------------------------------------------------- the definition in NumPy

_reference: dict[int, np.ndarray] = {}  # odd numbers, which no address is
_numbers = itertools.count(1, 2)
_made: ContextVar[list[int] | None] = ContextVar("tapes_made", default=None)


@contextmanager
def collecting() -> Iterator[list[int]]:
    """The handles that `stored` gives out within the block; for `forget`."""
    found: list[int] = []
    token = _made.set(found)
    try:
        yield found
    finally:
        _made.reset(token)


def forget(handles: Sequence[int]) -> None:
    """Frees what `stored` keeps."""
    for handle in handles:
        _reference.pop(handle, None)


def stored(rows: Sequence[np.ndarray], aval: ShapedArray) -> np.ndarray:
    """Handles of type `aval` for rows as the definitions of loops make them."""
    handles = np.zeros(aval.shape, np.uint64)
    if rows:
        stack = np.stack([np.asarray(row) for row in rows])
        for lane in np.ndindex(*aval.shape):
            handles[lane] = number = next(_numbers)
            _reference[number] = stack[(slice(None), *lane)]
            made = _made.get()
            if made is not None:
                made.append(number)
    return handles.view(HANDLE).reshape(aval.shape)


def rows_in(handles: Any, aval: ShapedArray, count: int) -> np.ndarray:
    """The first `count` rows of tapes that `stored` made, zeros where there are none."""
    row = row_of(aval)
    found = np.zeros((count, *row.shape), row.storage_dtype)
    numbers = np.asarray(handles, order="C").reshape(-1).view(np.uint64).reshape(aval.shape)
    for lane in np.ndindex(*aval.shape):
        rows = _reference.get(int(numbers[lane]))
        if rows is not None:
            found[(slice(min(count, len(rows))), *lane)] = rows[:count]
    return found


# ------------------------------------------------------------------------------------ the records

_IN_PROGRAMS = absent("made when a loop is compiled, after all transformations")


def _written(tapes: Any, start: Any, used: Any, rows: Any) -> Any:
    assert rows.shape[1:] == row_of(tapes).shape, (tapes, rows)
    return tapes


def _read(tapes: Any, start: Any, *, rows: int) -> Any:
    return row_of(tapes).with_axis(0, rows)


def _made_in_programs(name: str, result_types: Any) -> Primitive:
    return Primitive(
        name,
        result_types=result_types,
        evaluate=_IN_PROGRAMS,
        jvp=_IN_PROGRAMS,
        transpose=_IN_PROGRAMS,
        batch=_IN_PROGRAMS,
    )


tape_write = _made_in_programs("tape_write", _written)
tape_read = _made_in_programs("tape_read", _read)
tape_length = _made_in_programs("tape_length", lambda tapes: ShapedArray(tapes.shape, COUNT))


def _sum_evaluate(x: Any, y: Any) -> Any:
    raise NotImplementedError("sums of tapes are computed in compiled programs only")


def _sum_jvp(primals: Any, tangents: Any) -> Any:
    total = tape_sum(*primals)
    if all(map(is_zero, tangents)):
        return total, tangents[0]
    return total, tape_sum(*map(instantiate, tangents))


def _sum_batch(axis: Any, operands: Any, mapped: Any) -> Any:
    return tape_sum(
        *[axis_to_front(x, d, axis.size) for x, d in zip(operands, mapped, strict=True)]
    ), 0


tape_sum: Primitive = Primitive(
    "tape_sum",
    result_types=lambda x, y: x,
    evaluate=_sum_evaluate,
    jvp=_sum_jvp,
    transpose=lambda ct, x, y: [ct if is_linear(x) else None, ct if is_linear(y) else None],
    batch=_sum_batch,
    compiled=True,
)


# ---------------------------------------------------------------------------------------- require


class RequireEffect(Effect):
    """The program may end with an error: such an equation is not dropped, whatever it computes."""


_may_fail = frozenset((RequireEffect(),))


def _require_evaluate(predicate: Any, *values: Any, message: str) -> list[Any]:
    if not np.all(predicate):
        raise errors.JaxRuntimeError(message)
    return list(values)


def _require_jvp(primals: Any, tangents: Any, *, message: str) -> Any:
    return require(*primals, message=message), list(tangents[1:])


def _require_batch(axis: Any, operands: Any, mapped: Any, *, message: str) -> Any:
    predicate, *values = operands
    if mapped[0] is not None:
        predicate = reduce_and(predicate, axes=(mapped[0],))
    return require(predicate, *values, message=message), list(mapped[1:])


require: Primitive = Primitive(
    "require",
    multiple_results=True,
    result_types=lambda predicate, *types, message: list(types),
    effects=lambda *types, message: _may_fail,
    evaluate=_require_evaluate,
    jvp=_require_jvp,
    transpose=lambda cts, predicate, *values, message: [None, *cts],
    batch=_require_batch,
    compiled=True,
)


def chunk_of(rows: Sequence[ShapedArray]) -> int:
    """How many steps go to a tape at a time, a power of two: few where rows are large."""
    size = sum(math.prod(t.shape) * t.storage_dtype.itemsize for t in rows)
    return 1 << min(6, max(1, (1 << 15) // max(1, size)).bit_length() - 1)
