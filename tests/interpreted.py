"""Runs a program as its driver would, with each kernel in the loops interpreter.

    results = run_interpreted(closed, inputs)      LoopFault where a kernel does what it may not

Statements of the buffer plan run on real memory: an address is an array of bytes and an offset,
inputs cannot be written, and the arena begins with bytes that are no value's. Kernels therefore
meet the values, and the sharing of memory, that machine code meets. Functions that are exact to
some ulps only are computed by machine code, one element at a time, so that results are those of
the compiled program bit for bit.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import frit
from frit.backends.llvm.emit import emit_function
from frit.backends.llvm.engine import default_engine
from frit.backends.llvm.module import Module
from frit.codegen.buffers import (
    Branch,
    Copy,
    Library,
    Permute,
    Place,
    Point,
    Repeat,
    Run,
    Same,
    While,
)
from frit.codegen.interpret import LoopFault, interpret_in_place
from frit.codegen.library import library_call
from frit.codegen.loop_builder import Builder
from frit.codegen.scalars import element_type, evaluate
from frit.optimize.fingerprint import Constants
from frit.runtime import pipeline
from tests.codegen.equations import primitives

NOBODYS = 0xFF  # what unwritten bytes hold

Address = tuple[np.ndarray, int]


def run_interpreted(closed: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a closed jaxpr, compiled up to its buffer plan and run in Python."""
    subject = plan_of(closed)
    constants = [np.asarray(c) for c in subject.constants.values]
    memory = _Memory(subject.buffers, [*constants, *inputs], subject.jaxpr.out_avals)
    _Driver(memory, subject.functions).run(subject.buffers.statements)
    return [
        bytes_of_output.view(aval.storage_dtype).reshape(aval.shape)
        for bytes_of_output, aval in zip(memory.outputs, subject.jaxpr.out_avals, strict=True)
    ]


def plan_of(closed: Any) -> pipeline.Compilation:
    """The program after the stages before LLVM."""
    constants = Constants()
    pipeline.closed_key(closed, constants)
    donated = (False,) * len(closed.in_avals)
    subject = pipeline.Compilation(closed, constants, donated, len(constants.values))
    for stage in pipeline.STAGES:
        if stage.name == "llvm":
            return subject
        subject = pipeline.run_stage(stage, subject)
    raise AssertionError("the compiler has no stage called llvm")


# ---- operations ---------------------------------------------------------------------------------


def operate(op: str, numbers: Sequence[Any], dtype: str, params: dict[str, Any]) -> Any:
    """What an operation gives in machine code: NumPy's result where that is exact."""
    found = primitives().get(op)
    if found is None or found.accuracy.kind == "exact":
        return evaluate(op, numbers, dtype, params)
    arrays = [np.atleast_1d(np.asarray(number)) for number in numbers]
    dtypes = tuple(array.dtype.name for array in arrays)
    result = machine_operation(op, dtypes, dtype, tuple(params.items()))(*arrays)
    return result if np.ndim(numbers[0]) else result[0]


@cache
def machine_operation(
    op: str, dtypes: tuple[str, ...], dtype: str, params: tuple[tuple[str, Any], ...]
) -> Callable[..., np.ndarray]:
    """One operation in machine code, as a function of arrays of equal length."""
    b = Builder("operation")
    extent = b.extent("n")
    sources = [b.buffer(f"x{k}", name, (extent,)) for k, name in enumerate(dtypes)]
    target = b.buffer("y", dtype, (extent,))
    with b.loop(extent) as loop:
        operands = [b.load(source, loop.index) for source in sources]
        b.store(target, loop.index, b.apply(op, *operands, dtype=dtype, **dict(params)))
    engine = default_engine()
    module = Module(has_fma=engine.target.has_fma)
    emit_function(module, b.finish(), engine.target, linkage="")
    code = engine.compile(module.render(), exported=["operation"])
    types = [ctypes.c_void_p] * (len(sources) + 1) + [ctypes.c_int64]
    run = code.function("operation", None, *types)

    def operation(*arrays: np.ndarray) -> np.ndarray:
        result = np.empty(arrays[0].size, element_type(dtype))
        arrays = tuple(map(np.ascontiguousarray, arrays))
        run(*(x.ctypes.data for x in (*arrays, result)), result.size)
        return result

    return operation


# ---- memory -------------------------------------------------------------------------------------


class _Memory:
    """What a call owns: inputs, outputs, the arena and its pointer cells."""

    def __init__(self, plan: Any, inputs: Sequence[np.ndarray], types: Sequence[Any]) -> None:
        self.inputs = [_bytes_of(x) for x in (*inputs, *plan.constants)]
        self.outputs = [_nobodys(aval.size * aval.storage_dtype.itemsize) for aval in types]
        self.arena = _nobodys(plan.arena_size)
        self.cells: dict[int, Address] = {}

    def address(self, place: Place) -> Address:
        match place.base:
            case "input":
                return self.inputs[place.number], place.offset
            case "output":
                return self.outputs[place.number], place.offset
            case "arena":
                return self.arena, place.offset
        array, offset = self.cells[place.number]
        return array, offset + place.offset

    def view(self, place: Place, dtype: Any, count: int) -> np.ndarray:
        """The elements at a place; LoopFault where that is beyond the memory."""
        array, offset = self.address(place)
        end = offset + count * dtype.itemsize
        if count and not 0 <= offset <= end <= array.size:
            raise LoopFault(f"{place}: bytes {offset} to {end} of {array.size}")
        return array[offset:end].view(dtype) if count else np.empty(0, dtype)


def _bytes_of(x: Any) -> np.ndarray:
    array = np.ascontiguousarray(x).reshape(-1).view(np.uint8).copy()
    array.flags.writeable = False
    return array


def _nobodys(size: int) -> np.ndarray:
    return np.full(size, NOBODYS, np.uint8)


# ---- statements ---------------------------------------------------------------------------------


class _Driver:
    """Runs the statements of a plan, as the function `entry` of the compiled program does."""

    def __init__(self, memory: _Memory, functions: dict[int, Any]) -> None:
        self.memory, self.functions = memory, functions

    def run(self, statements: Sequence[Any]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: Any) -> None:
        memory = self.memory
        match statement:
            case Same():
                pass
            case Run():
                self.kernel(statement)
            case Library():
                self.library(statement)
            case Copy(source=source, target=target, size=size):
                from_, to = (memory.view(p, np.dtype(np.uint8), size) for p in (source, target))
                to[...] = from_.copy()
            case Point(index=index, place=place):
                memory.cells[index] = memory.address(place)
            case Permute(targets=targets, sources=sources):
                held = [memory.cells[k] for k in sources]
                memory.cells.update(zip(targets, held, strict=True))
            case Repeat():
                self.repeat(statement)
            case While(condition=condition, predicate=predicate, body=body):
                self.run(condition.statements)
                while memory.view(predicate, np.dtype(np.uint8), 1)[0]:
                    self.run(body.statements)
                    self.run(condition.statements)
            case Branch(index=index, index_dtype=dtype, cases=cases):
                number = int(memory.view(index, np.dtype(dtype), 1)[0])
                self.run(cases[min(max(number, 0), len(cases) - 1)].statements)
            case _:
                raise TypeError(f"no way to run {type(statement).__name__} in Python")

    def repeat(self, loop: Repeat) -> None:
        bases = [self.memory.address(advance.place) for advance in loop.advances]
        for turn in range(loop.length):
            step = loop.length - 1 - turn if loop.reverse else turn
            for advance, (array, offset) in zip(loop.advances, bases, strict=True):
                self.memory.cells[advance.index] = array, offset + step * advance.stride
            self.run(loop.body.statements)

    def kernel(self, statement: Run) -> None:
        function, kernel = self.functions[id(statement.kernel)], statement.kernel
        places = (*statement.reads, *statement.writes, *statement.scratch)
        given = [
            *(True for _ in statement.reads),
            *(j in kernel.updates for j in range(len(statement.writes))),
            *(False for _ in statement.scratch),
        ]
        arrays = [
            self.memory.view(place, element_type(buffer.dtype), int(np.prod(buffer.shape)))
            for place, buffer in zip(places, function.parameters, strict=True)
        ]
        interpret_in_place(function, arrays, given, operate)

    def library(self, statement: Library) -> None:
        """BLAS and LAPACK run as they are."""
        replaced = list(statement.call.updates.values())
        passed = len(statement.names.reads) - len(replaced)
        arrays = [self.array(atom.aval, place) for atom, place in statement.names.reads]
        operands, rest = [], iter(arrays[:passed])
        for k in range(len(arrays)):
            operands.append(arrays[passed + replaced.index(k)] if k in replaced else next(rest))
        call = statement.call
        results = frit.jit(lambda *xs: library_call.bind(*xs, call=call))(*operands)
        for (var, place), result in zip(statement.names.writes, results, strict=True):
            self.array(var.aval, place)[...] = np.asarray(result)

    def array(self, aval: Any, place: Place) -> np.ndarray:
        return self.memory.view(place, aval.storage_dtype, int(aval.size)).reshape(aval.shape)
