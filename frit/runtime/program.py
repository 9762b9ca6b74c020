"""Programs: machine code with the memory protocol around it.

    Program(executable, constants).run(arrays) -> arrays

An Executable depends on the structure of a jaxpr only; the arrays it was closed over are passed at
each call, so two programs that differ in those share one. A call holds its Executable, and that
its code, so evicting one from a cache frees nothing that still runs.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit.backends.llvm.tapes import FIRST_REQUIREMENT, NO_MEMORY, NO_ROOM
from frit.errors import JaxRuntimeError
from frit.ir.jaxpr import evaluate_closed
from frit.ir.types import ShapedArray
from frit.primitives.tapes import collecting, forget
from frit.runtime import memory
from frit.runtime import tapes as owned_tapes

CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p)
)
_FAILED = 1
_KEPT_ARENA = memory.SMALL  # arenas below this size are kept from call to call


class _Context(ctypes.Structure):
    _fields_ = (
        ("arena", ctypes.c_void_p), ("callback", ctypes.c_void_p),
        ("tapes", ctypes.c_void_p), ("left", ctypes.c_int64),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tapes:
    """Which operands and results of a program are tapes, and whether it writes any."""

    operands: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    made: bool = False


class _Call:
    """What one running call owns: its arena, and the structure that tells the code its place."""

    __slots__ = ("address", "arena", "room", "structure")

    def __init__(self, arena_bytes: int, callback: Any) -> None:
        self.arena = memory.scratch(max(arena_bytes, 64))
        self.structure = _Context(self.arena.__array_interface__["data"][0], callback)
        self.address = ctypes.addressof(self.structure)
        self.room = 0


class Executable:
    """Loaded code of one program structure, and what a call of it needs."""

    def __init__(
        self,
        entry: Any,
        code_bytes: int,
        outputs: Sequence[Any],
        constants: Sequence[Any],
        literals: Sequence[np.ndarray],
        arena_bytes: int,
        callbacks: Sequence[Any],
        donated_outputs: dict[int, int],
        text: str,
        requirements: Sequence[str] = (),
        tapes: Tapes = Tapes(),
    ) -> None:
        """entry: the ctypes function. code_bytes: of the object file. outputs: their types.

        constants: arrays that belong to the code, not to the program. literals: scalars that
        memory must hold. requirements: messages of the errors that the code may end with.
        """
        self.requirements, self.tapes = list(requirements), tapes
        self.entry, self.code_bytes = entry, code_bytes
        self.stage_seconds: dict[str, float] = {}
        self.outputs = [(tuple(t.shape), t.storage_dtype) for t in outputs]
        self.constants = [np.ascontiguousarray(c) for c in constants]
        self.literals = list(literals)
        self.arena_bytes = arena_bytes
        self.callbacks = list(callbacks)
        self.donated_outputs = donated_outputs
        self.text = text
        self._contexts: list[_Call] = []
        self._failures = threading.local()
        self._called_back = CALLBACK(self._call_back)
        self._address = ctypes.cast(self._called_back, ctypes.c_void_p).value

    def run(
        self,
        constants: Sequence[np.ndarray],
        arrays: Sequence[np.ndarray],
        into: list[np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """The outputs for C-contiguous inputs of the right types; the program's constants first.

        into: outputs of an earlier run, to be written again. Raises what a callback of the program
        raised.
        """
        operands = [*constants, *self.constants, *arrays, *self.literals]
        results = into or [
            operands[self.donated_outputs[j]].reshape(shape)
            if j in self.donated_outputs
            else memory.empty(shape, dtype)
            for j, (shape, dtype) in enumerate(self.outputs)
        ]
        regions = [r for k in self.tapes.operands for r in owned_tapes.regions_of(operands[k])]
        context = self.take_context()
        status = self.entry(context.address, _addresses(operands), _addresses(results))
        if not status and self.tapes.results:
            made, context.structure.tapes = context.structure.tapes, None
            owned_tapes.hand_over(
                made, (), context.room - context.structure.left, regions,
                [results[j] for j in self.tapes.results],
            )  # fmt: skip
        self.give_context_back(context)
        if status:
            raise self.take_failure(status)
        return results

    def take_context(self) -> _Call:
        """An arena and a way back to Python, for one call."""
        try:
            context = self._contexts.pop()
        except IndexError:
            context = _Call(self.arena_bytes, self._address)
        if self.tapes.made:
            context.room = context.structure.left = owned_tapes.room()
        return context

    def give_context_back(self, context: _Call) -> None:
        """Keeps a context for the next call; frees what a call that failed has left."""
        if self.tapes.made and context.structure.tapes:
            owned_tapes.free(context.structure.tapes)
            context.structure.tapes = None
        if self.arena_bytes < _KEPT_ARENA:
            self._contexts.append(context)

    def _call_back(self, context: int, number: int, places: Any) -> int:
        """Runs the Python side of an equation; its exception is kept, as ctypes would lose it."""
        try:
            eqn = self.callbacks[number]
            count = len(eqn.invars)
            operands = [_view(places[k], a.aval) for k, a in enumerate(eqn.invars)]
            targets = [_view(places[count + k], v.aval) for k, v in enumerate(eqn.outvars)]
            results = eqn.primitive.evaluate(*[x.copy() for x in operands], **eqn.params)
            if not eqn.primitive.multiple_results:
                results = [results]
            for target, result in zip(targets, results, strict=True):
                if target.size:
                    target[...] = (
                        np.asarray(result).view(target.dtype)
                        if (target.dtype.kind == "V")
                        else result
                    )
        except BaseException as error:
            self._failures.error = error
            return _FAILED
        return 0

    def take_failure(self, status: int) -> BaseException:
        """What a call that ended with `status` raises."""
        error = getattr(self._failures, "error", None)
        self._failures.error = None
        if status >= FIRST_REQUIREMENT:
            return JaxRuntimeError(self.requirements[status - FIRST_REQUIREMENT])
        if status in (NO_MEMORY, NO_ROOM):
            return MemoryError(_NO_ROOM_FOR_TAPES)
        return error or RuntimeError(f"a compiled program ended with status {status}")


_NO_ROOM_FOR_TAPES = (
    "The residuals of a while_loop (or a fori_loop with a traced bound) that is differentiated in "
    "reverse do not fit in memory: each step keeps what its derivative needs until the backward "
    "pass has read it. If the loop ends at all, give it max_steps=..., which keeps about the "
    "square root of that many carries and computes the rest again, or wrap its body in checkpoint. "
    "The setting tape_bytes bounds what such tapes may take."
)


def _addresses(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*[a.__array_interface__["data"][0] for a in arrays])


def _view(address: int | None, aval: Any) -> np.ndarray:
    """The array of type `aval` at an address."""
    if not isinstance(aval, ShapedArray) or not address:
        return np.zeros(getattr(aval, "shape", ()), getattr(aval, "storage_dtype", bool))
    dtype = aval.storage_dtype
    nbytes = int(aval.size) * dtype.itemsize
    if not nbytes:
        return np.zeros(aval.shape, dtype)
    buffer = (ctypes.c_ubyte * nbytes).from_address(address)
    return np.frombuffer(memoryview(buffer), np.uint8).view(dtype).reshape(aval.shape)


class Program:
    """An executable and the arrays that the program was closed over."""

    __slots__ = ("constants", "executable", "inputs")

    def __init__(
        self, executable: Executable, constants: Sequence[np.ndarray], inputs: Sequence[Any]
    ) -> None:
        """inputs: the types of the operands of `run`."""
        self.executable = executable
        self.constants = list(constants)
        self.inputs = [getattr(t, "storage_dtype", None) for t in inputs]

    def run(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """The program's outputs as new arrays.

        arrays: one for each input, of its shape and dtype; those that were said to be donated at
        compile time are overwritten, and may come back as outputs.
        """
        operands = [
            np.ascontiguousarray(a, dtype).reshape(np.shape(a))
            for a, dtype in zip(arrays, self.inputs, strict=True)
        ]
        return self.executable.run(self.constants, operands)


class ReferenceProgram:
    """A program that NumPy evaluates, equation by equation: the oracle."""

    __slots__ = ("closed",)

    def __init__(self, closed: Any) -> None:
        self.closed = closed

    def run(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """The program's outputs by the `evaluate` rules of its primitives."""
        with collecting() as made:
            found = evaluate_closed(self.closed, *map(np.asarray, arrays))
        types = self.closed.out_avals
        results = [
            np.asarray(r, t.storage_dtype) if isinstance(t, ShapedArray) else r
            for r, t in zip(found, types, strict=True)
        ]
        handles = [r for r, t in zip(results, types, strict=True) if owned_tapes.is_tape(t)]
        if handles:
            owned_tapes.hand_over(None, made, 0, (), handles)
        else:
            forget(made)
        return results
