"""A driver's stopwatch: how long each statement of a program takes.

    table = the last output, int64[rows, 2]
    row 0   where the system's clock writes: seconds, nanoseconds
    row 1   the stopwatch itself: what an interval without work takes
    row 2+k nanoseconds and runs of `statements[k]`, summed over all its runs

Only a driver that is emitted to measure has one; a call of the clock takes about 25 ns.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

from frit.backends.llvm.builder import I8, I32, I64, PTR, Module, constant
from frit.codegen.buffers import Same, bodies_of

SYMBOL = "clock_gettime"
FIRST_ROW = 2


def rows_of(statements: Any) -> int:
    """How many rows the table of a program needs."""
    return FIRST_ROW + _count(statements)


def _count(statements: Any) -> int:
    return sum(
        1 + sum(_count(body.statements) for body in bodies_of(s))
        for s in statements
        if not isinstance(s, Same)
    )


def address() -> int:
    """The address of the system's clock."""
    function = ctypes.CDLL(None).clock_gettime
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class Clock:
    """Emits what measures statements; `statements` are those that it has measured, in order."""

    def __init__(self, module: Module, output: int, rows: int) -> None:
        """output: the number of the output that is the table."""
        module.declare(SYMBOL, I32, [I32, PTR])
        self.output, self.rows = output, rows
        self.statements: list[Any] = []

    def begin(self, b: Any, outputs: Any) -> None:
        """Clears the table, and measures an interval without work."""
        table = self._table(b, outputs)
        with b.loop(0, constant(I64, 2 * self.rows)) as loop:
            b.store(constant(I64, 0), b.gep(table, loop.index, I64))
        self.charge(b, outputs, 1, self.now(b, outputs))

    def now(self, b: Any, outputs: Any) -> Any:
        """Nanoseconds of a clock that only goes forward."""
        return _now(b, self._table(b, outputs))

    def charge(self, b: Any, outputs: Any, row: int, start: Any) -> None:
        """Adds the time since `start`, and one run, to a row."""
        table = self._table(b, outputs)
        for column, more in ((0, b.sub(_now(b, table), start)), (1, constant(I64, 1))):
            cell = b.gep(table, 16 * row + 8 * column, I8)
            b.store(b.add(b.load(I64, cell), more), cell)

    def row(self, statement: Any) -> int:
        """The row of a statement, which is emitted now."""
        self.statements.append(statement)
        return FIRST_ROW + len(self.statements) - 1

    def _table(self, b: Any, outputs: Any) -> Any:
        return b.load(PTR, b.gep(outputs, self.output, PTR) if self.output else outputs)


def _now(b: Any, table: Any) -> Any:
    b.call(SYMBOL, I32, [constant(I32, time.CLOCK_MONOTONIC), table])
    seconds, rest = b.load(I64, table), b.load(I64, b.gep(table, 1, I64))
    return b.add(b.mul(seconds, 1_000_000_000), rest)
