"""The quick way from arrays to a running program: about a microsecond of Python.

A jitted function that was called before with the same types and tree skips tracing, checks and
conversions: its operands' buffers go straight to the generated dispatcher.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.backends.llvm.dispatcher import NOT_READY, dispatcher
from frit.runtime import memory, number_checks
from frit.runtime.array import Array
from frit.runtime.program import Program

contents_of = operator.attrgetter("_contents")
type_of = operator.attrgetter("aval")


class QuickCall:
    """A program with its result types: called with the NumPy buffers of its operands."""

    __slots__ = (
        "address", "dispatch", "executable", "outputs", "prefix", "program", "suffix", "types",
    )  # fmt: skip

    def __init__(self, program: Program, types: Sequence[Any]) -> None:
        executable = program.executable
        self.program, self.executable, self.types = program, executable, list(types)
        self.prefix = (*program.constants, *executable.constants)
        self.suffix = tuple(executable.literals)
        self.outputs = executable.outputs
        self.address = ctypes.cast(executable.entry, ctypes.c_void_p).value
        self.dispatch = dispatcher()

    def __call__(self, buffers: tuple[np.ndarray, ...]) -> list[Array] | None:
        """The results, or None if an operand must be made contiguous first."""
        executable = self.executable
        results = tuple([memory.empty(shape, dtype) for shape, dtype in self.outputs])
        inputs = (*self.prefix, *buffers, *self.suffix)
        context = executable.take_context()
        status = self.dispatch(self.address, context.address, inputs, results)
        executable.give_context_back(context)
        if status:
            if status == NOT_READY:
                return None
            raise executable.take_failure(status)
        return [Array(r, t) for r, t in zip(results, self.types, strict=True)]


def quick_call(program: Any, types: Sequence[Any]) -> QuickCall | None:
    """The quick way into a program, or None where it has none."""
    if not isinstance(program, Program) or dispatcher() is None:
        return None
    if program.executable.tapes.operands or program.executable.tapes.results:
        return None
    if program.executable.donated_outputs or number_checks.is_asked():
        return None
    return QuickCall(program, types)
