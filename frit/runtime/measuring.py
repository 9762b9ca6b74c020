"""Programs that measure themselves: the same kernels, and a driver with a clock.

    Measured(subject).run(constants, arrays) -> results, times of its statements

A measuring program is emitted for the one who asks; ordinary programs have no trace of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frit.backends.llvm import clock, engine
from frit.ir.types import ShapedArray
from frit.runtime.pipeline import Compilation, emit_module, load_module


class Times(NamedTuple):
    """One run: for each statement of the buffer plan (by id) seconds and runs, over all its runs.

    overhead: seconds that the clock adds to each run of a statement.
    """

    seconds: dict[int, float]
    runs: dict[int, int]
    overhead: float

    def least(self, other: Times) -> Times:
        """For each statement the shorter of its times in two runs."""
        seconds = {key: min(value, other.seconds[key]) for key, value in self.seconds.items()}
        return Times(seconds, other.runs, min(self.overhead, other.overhead))


class Measured:
    """A compiled program whose driver looks at the clock around each statement."""

    def __init__(self, subject: Compilation) -> None:
        types = [
            t if isinstance(t, ShapedArray) else ShapedArray((), np.dtype(bool))
            for t in subject.jaxpr.out_avals
        ]
        rows = clock.rows_of(subject.buffers.statements)
        made: list[clock.Clock] = []

        def clock_of(module: Any) -> clock.Clock:
            made.append(clock.Clock(module, len(types), rows))
            return made[0]

        engine.default_engine().symbols.add(clock.SYMBOL, clock.address())
        text, imported = emit_module(subject, clock_of)
        table = ShapedArray((rows, 2), np.dtype(np.int64))
        self.executable = load_module(subject, text, imported, [*types, table])
        self.statements = made[0].statements

    def run(
        self,
        constants: Sequence[np.ndarray],
        arrays: Sequence[np.ndarray],
        into: list[np.ndarray] | None = None,
    ) -> tuple[list[np.ndarray], Times]:
        """The results for C-contiguous inputs, as `Executable.run`, and the times of this run.

        The results end with the table of times. into: results of an earlier run, written again,
        so that times are not those of getting fresh memory.
        """
        results = self.executable.run(constants, arrays, into)
        table = results[-1]
        overhead = 1e-9 * float(table[1, 0])
        seconds: dict[int, float] = {}
        runs: dict[int, int] = {}
        for statement, (spent, count) in zip(
            self.statements, table[clock.FIRST_ROW :].tolist(), strict=True
        ):
            seconds[id(statement)], runs[id(statement)] = 1e-9 * spent, count
        return results, Times(seconds, runs, overhead)
