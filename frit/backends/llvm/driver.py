"""The entry of a program: LLVM text that runs the statements of a buffer plan.

    i32 entry(ptr context, ptr inputs, ptr outputs)
    context = { ptr arena, ptr callback, ptr tapes, i64 left }
              callback: i32 (context, i64 number, ptr places)       tapes, left: see `tapes.py`
    arena   = pointer cells, then the bytes that `buffers` assigned

inputs and outputs are arrays of addresses; constants follow the inputs. A status other than 0 is
returned at once: all memory belongs to the caller, so there is nothing to clean up. Long lists of
statements are split into functions, since LLVM is superlinear in the size of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from frit.backends.llvm import clock as stopwatch
from frit.backends.llvm import openblas
from frit.backends.llvm.builder import F32, F64, I8, I32, I64, PTR, VOID, Builder, Module, constant
from frit.backends.llvm.tapes import FIRST_REQUIREMENT, TapeCode, frees_its_tapes, makes_tapes
from frit.backends.llvm.values import Value, integer
from frit.codegen.buffers import (
    Body,
    Branch,
    BufferPlan,
    Callback,
    Copy,
    Library,
    Native,
    Permute,
    Place,
    Point,
    Repeat,
    Run,
    Same,
    While,
    requirements_of,
)

STATEMENTS_PER_FUNCTION = 64
ENTRY = "entry"


def pointer_bytes(plan: BufferPlan) -> int:
    """Bytes at the start of the arena that hold pointer cells."""
    return -(-8 * plan.pointers // 64) * 64


def arena_bytes(plan: BufferPlan) -> int:
    """Bytes of the arena that a call needs."""
    return pointer_bytes(plan) + plan.arena_size


def emit_driver(
    module: Module,
    plan: BufferPlan,
    symbol_of: Callable[[Any], tuple[str, bool]],
    threads_of: Callable[[int], int | None],
    clock: stopwatch.Clock | None = None,
) -> set[str]:
    """Adds the entry to `module`; returns the library symbols it imports.

    symbol_of: a kernel's LLVM function and whether it returns a status. threads_of: how many
    threads a library call of so many multiplications should use; None to leave them alone.
    clock: measures each statement, if given.
    """
    driver = _Driver(module, plan, symbol_of, threads_of, clock)
    made = module.function(ENTRY, I32, [PTR, PTR, PTR])
    builder = Builder(made)
    context, inputs, outputs = made.parameters
    arena = builder.load(PTR, context)
    emitter = _Function(driver, builder, (context, arena, inputs, outputs))
    if clock is not None:
        clock.begin(builder, outputs)
        driver.imported.add(stopwatch.SYMBOL)
    emitter.statements(plan.statements)
    if makes_tapes(plan) and not plan.returns_tapes:
        driver.tapes.release(builder, context, Value("null", PTR))
    builder.ret(constant(I32, 0))
    return driver.imported | driver.tapes.imported


class _Driver:
    """What the functions of one driver share."""

    def __init__(
        self,
        module: Module,
        plan: BufferPlan,
        symbol_of: Callable[[Any], tuple[str, bool]],
        threads_of: Callable[[int], int | None],
        clock: stopwatch.Clock | None,
    ) -> None:
        self.module, self.cells, self.symbol_of = module, pointer_bytes(plan), symbol_of
        self.requirements = requirements_of(plan)
        self.tapes = TapeCode(module)
        self.threads_of, self.clock = threads_of, clock
        self.parts = 0
        self.imported: set[str] = set()
        self.libraries: dict[Any, str] = {}

    def library(self, call: Any, reads: int, writes: int) -> str:
        """The function of a library call; equal calls share one."""
        name = self.libraries.get(call)
        if name is None:
            name = self.libraries[call] = f"library{len(self.libraries)}_{call.symbol}"
            _LibraryCall(self, name, call, reads, writes).emit()
        return name

    def part(self, statements: Sequence[Any]) -> str:
        """A function of its own for some statements."""
        self.parts += 1
        name = f"part{self.parts}"
        made = self.module.function(
            name, I32, [PTR, PTR, PTR, PTR], linkage="internal", attributes="nounwind noinline"
        )
        builder = Builder(made)
        emitter = _Function(self, builder, made.parameters)
        emitter.each(statements)
        builder.ret(constant(I32, 0))
        return name


class _Function:
    """Emits statements into one LLVM function."""

    def __init__(self, driver: _Driver, builder: Builder, parameters: Sequence[Value]) -> None:
        self.driver, self.b = driver, builder
        self.context, self.arena, self.inputs, self.outputs = self.parameters = tuple(parameters)

    def statements(self, statements: Sequence[Any]) -> None:
        """Statements in place, or in functions of their own if there are many."""
        if len(statements) <= STATEMENTS_PER_FUNCTION:
            self.each(statements)
            return
        for start in range(0, len(statements), STATEMENTS_PER_FUNCTION):
            name = self.driver.part(statements[start : start + STATEMENTS_PER_FUNCTION])
            self.check(self.b.call(name, I32, self.parameters))

    def each(self, statements: Sequence[Any]) -> None:
        for statement in statements:
            if isinstance(statement, Same):
                continue
            if self.driver.clock is None:
                _EMIT[type(statement)](self, statement)
            else:
                self.measured(statement, self.driver.clock)

    def measured(self, statement: Any, clock: stopwatch.Clock) -> None:
        """A statement between two looks at the clock."""
        row, start = clock.row(statement), clock.now(self.b, self.outputs)
        _EMIT[type(statement)](self, statement)
        clock.charge(self.b, self.outputs, row, start)

    # addresses

    def address(self, place: Place) -> Value:
        """The address of a place."""
        if place.base == "arena":
            return self.b.gep(self.arena, self.driver.cells + place.offset, I8)
        if place.base == "pointer":
            found = self.b.load(PTR, self.cell(place.number))
        else:
            table = self.inputs if place.base == "input" else self.outputs
            found = self.b.load(PTR, self.b.gep(table, place.number, PTR))
        return self.b.gep(found, place.offset, I8) if place.offset else found

    def cell(self, index: int) -> Value:
        return self.b.gep(self.arena, index, PTR) if index else self.arena

    def check(self, status: Value) -> None:
        """Returns the status if it is not 0."""
        b = self.b
        failed, after = b.new_block("failed"), b.new_block("fine")
        b.cond_br(b.icmp("ne", status, 0), failed, after)
        b.position_at_end(failed)
        b.ret(status)
        b.position_at_end(after)

    # statements

    def run(self, statement: Run) -> None:
        symbol, fallible = self.driver.symbol_of(statement.kernel)
        places = (*statement.reads, *statement.writes, *statement.scratch)
        arguments = [self.address(place) for place in places]
        status = self.b.call(symbol, I32 if fallible else VOID, arguments)
        if fallible:
            self.check(status)

    def copy(self, statement: Copy) -> None:
        source, target = self.address(statement.source), self.address(statement.target)
        if "pointer" not in (statement.source.base, statement.target.base):
            self.b.memcpy(target, source, constant(I64, statement.size))
            return
        b = self.b
        move, after = b.new_block("move"), b.new_block("moved")
        b.cond_br(b.icmp("eq", source, target), after, move)
        b.position_at_end(move)
        b.memcpy(target, source, constant(I64, statement.size))
        b.br(after)
        b.position_at_end(after)

    def point(self, statement: Point) -> None:
        self.b.store(self.address(statement.place), self.cell(statement.index))

    def permute(self, statement: Permute) -> None:
        held = [self.b.load(PTR, self.cell(k)) for k in statement.sources]
        for k, value in zip(statement.targets, held, strict=True):
            self.b.store(value, self.cell(k))

    def repeat(self, statement: Repeat) -> None:
        b = self.b
        bases = [self.address(a.place) for a in statement.advances]
        with b.loop(0, constant(I64, statement.length)) as loop:
            step = loop.index
            if statement.reverse:
                step = b.sub(constant(I64, statement.length - 1), step)
            for advance, base in zip(statement.advances, bases, strict=True):
                at = b.gep(base, b.mul(step, advance.stride), I8)
                b.store(at, self.cell(advance.index))
            self.turn(statement.body)

    def loop_while(self, statement: While) -> None:
        b = self.b
        head, body, after = b.new_block("test"), b.new_block("body"), b.new_block("done")
        b.br(head)
        b.position_at_end(head)
        self.statements(statement.condition.statements)
        again = b.load(I8, self.address(statement.predicate))
        b.cond_br(b.icmp("ne", again, 0), body, after)
        b.position_at_end(body)
        self.turn(statement.body)
        b.br(head)
        b.position_at_end(after)

    def turn(self, body: Body) -> None:
        """One turn of a loop, after which the tapes it made for itself are freed."""
        if not frees_its_tapes(body):
            self.statements(body.statements)
            return
        tapes = self.driver.tapes
        mark = tapes.newest(self.b, self.context)
        self.statements(body.statements)
        tapes.release(self.b, self.context, mark)

    def branch(self, statement: Branch) -> None:
        b = self.b
        dtype = np.dtype(statement.index_dtype)
        index = b.load(integer(8 * dtype.itemsize), self.address(statement.index))
        count = len(statement.cases)
        blocks = [b.new_block("case") for _ in statement.cases]
        after = b.new_block("join")
        last = constant(index.type, count - 1)
        if dtype.kind == "i":
            index = b.select(b.icmp("slt", index, 0), constant(index.type, 0), index)
        index = b.select(b.icmp("ugt", index, last), last, index)
        b.switch(index, blocks[-1], list(enumerate(blocks[:-1])))
        for block, case in zip(blocks, statement.cases, strict=True):
            b.position_at_end(block)
            self.statements(case.statements)
            b.br(after)
        b.position_at_end(after)

    def callback(self, statement: Callback) -> None:
        b = self.b
        places = (*statement.reads, *statement.writes)
        table = b.alloca(PTR, max(1, len(places)))
        for k, place in enumerate(places):
            b.store(self.address(place), b.gep(table, k, PTR))
        target = b.load(PTR, b.gep(self.context, 1, PTR))
        number = constant(I64, statement.number)
        self.check(b.call(target, I32, [self.context, number, table]))

    def native(self, statement: Native) -> None:
        places = [self.address(p) for p in (*statement.reads, *statement.writes)]
        if statement.eqn.primitive.name == "require":
            self.require(statement, places)
            return
        status = self.driver.tapes.emit(self.b, self.context, statement, places)
        if status is not None:
            self.check(status)

    def require(self, statement: Native, places: Sequence[Value]) -> None:
        """Ends the program with the status of an error unless the predicate holds."""
        b, eqn = self.b, statement.eqn
        number = FIRST_REQUIREMENT + self.driver.requirements.index(eqn.params["message"])
        fails = b.icmp("eq", b.load(I8, places[0]), 0)
        self.check(b.select(fails, constant(I32, number), constant(I32, 0)))
        count = len(eqn.outvars)
        for source, target, var in zip(
            places[1 : 1 + count], places[1 + count :], eqn.outvars, strict=True
        ):
            b.memcpy(target, source, var.aval.size * var.aval.storage_dtype.itemsize)

    def library(self, statement: Library) -> None:
        symbol = self.driver.library(statement.call, len(statement.reads), len(statement.writes))
        places = (*statement.reads, *statement.writes, statement.scratch)
        self.b.call(symbol, VOID, [self.address(place) for place in places])


class _LibraryCall:
    """A function that calls a routine for each member of a batch: `name(reads, writes, scratch)`.

    Scalars are passed by reference, as Fortran does.
    """

    def __init__(self, driver: _Driver, name: str, call: Any, reads: int, writes: int) -> None:
        self.driver, self.call = driver, call
        made = driver.module.function(
            name, VOID, [PTR] * (reads + writes + 1), linkage="internal",
            attributes="nounwind noinline",
        )  # fmt: skip
        self.b = Builder(made)
        replaced = set(call.updates.values())
        positions = (k for k in range(reads + len(replaced)) if k not in replaced)
        parameters = made.parameters
        self.memory = {
            "operand": dict(zip(positions, parameters[:reads], strict=True)),
            "result": dict(enumerate(parameters[reads : reads + writes])),
            "scratch": {0: parameters[-1]},
        }

    def emit(self) -> None:
        b, call = self.b, self.call
        fixed = [self.scalar_argument(a) for a in call.arguments]
        self.driver.module.declare(call.symbol, VOID, [PTR] * len(call.arguments))
        self.driver.imported.add(call.symbol)
        self.set_threads(call.work)
        with ExitStack() as loops:
            steps = [
                loops.enter_context(b.loop(0, constant(I64, extent))).index for extent in call.batch
            ]
            arguments = [
                self.memory_argument(argument, steps) if known is None else known
                for argument, known in zip(call.arguments, fixed, strict=True)
            ]
            b.call(call.symbol, VOID, arguments)
        b.ret()

    def memory_argument(self, argument: Any, steps: Sequence[Value]) -> Value:
        """Where an array begins for one member of the batch."""
        at = self.memory[argument.kind][argument.value]
        if argument.offset:
            at = self.b.gep(at, argument.offset, I8)
        for step, stride in zip(steps, argument.stride, strict=False):
            at = self.b.gep(at, self.b.mul(step, stride), I8)
        return at

    def set_threads(self, work: int) -> None:
        count = self.driver.threads_of(work)
        if count is not None:
            self.driver.module.declare(openblas.SET_THREADS, VOID, [I32])
            self.driver.imported.add(openblas.SET_THREADS)
            self.b.call(openblas.SET_THREADS, VOID, [constant(I32, count)])

    def scalar_argument(self, argument: Any) -> Value | None:
        """The address of a cell that holds a known scalar; None for memory of the program."""
        b = self.b
        match argument.kind:
            case "null":
                return Value("null", PTR)
            case "char":
                cells = [constant(I8, ord(argument.value))]
            case "int":
                cells = [constant(I32, argument.value)]
            case "float32":
                cells = [constant(F32, argument.value)]
            case "float64":
                cells = [constant(F64, argument.value)]
            case "complex64":
                cells = [constant(F32, argument.value.real), constant(F32, argument.value.imag)]
            case "complex128":
                cells = [constant(F64, argument.value.real), constant(F64, argument.value.imag)]
            case _:
                return None
        where = b.alloca(cells[0].type, len(cells))
        for k, cell in enumerate(cells):
            b.store(cell, b.gep(where, k, cell.type))
        return where


_EMIT: dict[type, Callable[[_Function, Any], None]] = {
    Run: _Function.run,
    Library: _Function.library,
    Callback: _Function.callback,
    Native: _Function.native,
    Copy: _Function.copy,
    Point: _Function.point,
    Permute: _Function.permute,
    Repeat: _Function.repeat,
    While: _Function.loop_while,
    Branch: _Function.branch,
}
