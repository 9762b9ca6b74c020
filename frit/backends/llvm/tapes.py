"""Tapes in a running program: who allocates them, grows them and frees them.

    handle  = address of { ptr next, ptr bytes, i64 rows, i64 capacity } | null: no rows
    context = { …, ptr tapes, i64 left }      a list of the tapes a call made, the bytes it may add

A tape doubles when it is full, through the allocator of Python, from BIG bytes on through the pool
of the runtime, whose pages are warm. Memory that is not there is a status, and a MemoryError.
Tapes die by place, not by count: what a body of a loop made, and
does not pass on, is freed after each turn, all else when the call ends. Handles that a program
returns are the caller's, together with the list: see `runtime/tapes.py`.
"""

from __future__ import annotations

import math
from typing import Any

from frit.backends.llvm.builder import I8, I32, I64, PTR, VOID, Builder, Module, constant
from frit.backends.llvm.values import Value
from frit.codegen.buffers import Body, BufferPlan, Native, bodies_of
from frit.ir.types import ShapedArray
from frit.primitives.tapes import is_tape

ALLOCATE, FREE = "tape_reallocate", "tape_free"
TAKE, GIVE_BACK = "tape_take", "tape_give_back"  # a larger block of the pool; a block no more used
BIG = 1 << 20
NO_MEMORY, NO_ROOM, FIRST_REQUIREMENT = 2, 3, 1000  # statuses of a call
HEADER = 32  # bytes of a tape beside its rows
_OVERHEAD = 64  # what a tape costs beside its rows
_LEAST = 256  # bytes of the first allocation
_CONTEXT_TAPES, _CONTEXT_LEFT = 2, 3
_NEXT, _BYTES, _ROWS, _CAPACITY = range(4)


def frees_its_tapes(body: Body) -> bool:
    """Whether a body makes tapes, and passes none on."""
    return makes_tapes(body) and not any(is_tape(atom.aval) for atom, _ in body.leaves)


def makes_tapes(body: Body | BufferPlan) -> bool:
    """Whether a tape is written somewhere in a body or a program."""
    return any(
        (isinstance(s, Native) and s.eqn.primitive.name == "tape_write")
        or any(map(makes_tapes, bodies_of(s)))
        for s in body.statements
    )


def _bytes_of(aval: ShapedArray) -> int:
    return int(aval.size) * aval.storage_dtype.itemsize


class TapeCode:
    """The functions of one module that work on tapes, each made when it is first asked for."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.made: set[str] = set()
        self.imported: set[str] = set()

    # what the driver calls

    def newest(self, b: Builder, context: Value) -> Value:
        """The tape made last; `release` frees those made after it."""
        return b.load(PTR, b.gep(context, _CONTEXT_TAPES, PTR))

    def release(self, b: Builder, context: Value, mark: Value) -> None:
        """Frees the tapes that were made after `mark` was the newest one."""
        b.call(self._release(), VOID, [context, mark])

    def emit(self, b: Builder, context: Value, native: Native, places: list[Value]) -> Any:
        """The status of a native equation, or None where it cannot fail."""
        eqn = native.eqn
        match eqn.primitive.name:
            case "tape_write":
                rows, tapes = eqn.invars[3].aval, eqn.invars[0].aval
                return b.call(self._write(tapes, rows), I32, [context, *places])
            case "tape_read":
                b.call(self._read(eqn.invars[0].aval, eqn.outvars[0].aval), VOID, places)
            case "tape_length":
                b.call(self._length(eqn.invars[0].aval), VOID, places)
            case "blank":
                b.memset(places[0], 0, _bytes_of(eqn.outvars[0].aval))
        return None

    # functions

    def _begun(self, name: str, result: Any, parameters: int) -> Builder | None:
        """The builder of a new function, or None where it is there."""
        if name in self.made:
            return None
        self.made.add(name)
        made = self.module.function(
            name, result, [PTR] * parameters, linkage="internal", attributes="nounwind noinline"
        )
        return Builder(made)

    def _import(self) -> None:
        self.module.declare(ALLOCATE, PTR, [PTR, I64])
        self.module.declare(FREE, VOID, [PTR])
        self.module.declare(TAKE, PTR, [PTR, I64, I64])
        self.module.declare(GIVE_BACK, VOID, [PTR])
        self.imported |= {ALLOCATE, FREE, TAKE, GIVE_BACK}

    def _release(self) -> str:
        name = "tapes_release"
        b = self._begun(name, VOID, 2)
        if b is None:
            return name
        self._import()
        context, mark = b.function.parameters
        list_cell = b.gep(context, _CONTEXT_TAPES, PTR)
        left_cell = b.gep(context, _CONTEXT_LEFT, I64)
        head, body, after = b.new_block("head"), b.new_block("free"), b.new_block("done")
        b.br(head)
        b.position_at_end(head)
        tape = b.load(PTR, list_cell)
        b.cond_br(b.icmp("eq", tape, mark), after, body)
        b.position_at_end(body)
        b.store(_field(b, tape, _NEXT, PTR), list_cell)
        capacity, memory = _field(b, tape, _CAPACITY, I64), _field(b, tape, _BYTES, PTR)
        b.store(b.add(b.load(I64, left_cell), b.add(capacity, _OVERHEAD)), left_cell)
        large, small, freed = (b.new_block(name) for name in ("large", "small", "freed"))
        b.cond_br(b.icmp("slt", capacity, BIG), small, large)
        b.position_at_end(large)
        b.call(GIVE_BACK, VOID, [memory])
        b.br(freed)
        b.position_at_end(small)
        b.call(FREE, VOID, [memory])
        b.br(freed)
        b.position_at_end(freed)
        b.call(FREE, VOID, [tape])
        b.br(head)
        b.position_at_end(after)
        b.ret()
        return name

    def _new(self) -> str:
        """tape_new(context, ptr cell) -> status: a tape without rows, its address in the cell."""
        name = "tape_new"
        b = self._begun(name, I32, 2)
        if b is None:
            return name
        self._import()
        context, cell = b.function.parameters
        left_cell = b.gep(context, _CONTEXT_LEFT, I64)
        left = b.sub(b.load(I64, left_cell), _OVERHEAD)
        _return_if(b, b.icmp("slt", left, 0), NO_ROOM)
        tape = b.call(ALLOCATE, PTR, [Value("null", PTR), constant(I64, HEADER)])
        _return_if(b, b.icmp("eq", tape, Value("null", PTR)), NO_MEMORY)
        b.store(left, left_cell)
        b.memset(tape, 0, HEADER)
        list_cell = b.gep(context, _CONTEXT_TAPES, PTR)
        b.store(b.load(PTR, list_cell), b.gep(tape, _NEXT, PTR))
        b.store(tape, list_cell)
        b.store(tape, cell)
        b.ret(constant(I32, 0))
        return name

    def _grow(self) -> str:
        """tape_grow(context, tape, ptr need) -> status: room for `need` bytes."""
        name = "tape_grow"
        b = self._begun(name, I32, 3)
        if b is None:
            return name
        self._import()
        context, tape, cell = b.function.parameters
        need, capacity = b.load(I64, cell), _field(b, tape, _CAPACITY, I64)
        left_cell = b.gep(context, _CONTEXT_LEFT, I64)
        left = b.load(I64, left_cell)
        wish = b.mul(capacity, 2)
        wish = b.select(b.icmp("sgt", need, wish), need, wish)
        wish = b.select(b.icmp("slt", wish, _LEAST), constant(I64, _LEAST), wish)
        wish = b.select(b.icmp("sgt", b.sub(wish, capacity), left), need, wish)
        left = b.sub(left, b.sub(wish, capacity))
        _return_if(b, b.icmp("slt", left, 0), NO_ROOM)
        old, cell = _field(b, tape, _BYTES, PTR), b.alloca(PTR)
        large, small, found = (b.new_block(name) for name in ("large", "small", "found"))
        b.cond_br(b.icmp("slt", wish, BIG), small, large)
        b.position_at_end(large)
        b.store(b.call(TAKE, PTR, [old, capacity, wish]), cell)
        b.br(found)
        b.position_at_end(small)
        b.store(b.call(ALLOCATE, PTR, [old, wish]), cell)
        b.br(found)
        b.position_at_end(found)
        memory = b.load(PTR, cell)
        _return_if(b, b.icmp("eq", memory, Value("null", PTR)), NO_MEMORY)
        b.store(memory, b.gep(tape, _BYTES, PTR))
        b.store(wish, b.gep(tape, _CAPACITY, I64))
        b.store(left, left_cell)
        b.ret(constant(I32, 0))
        return name

    def _write(self, tapes: Any, rows: Any) -> str:
        """(context, tapes, start, used, rows, tapes out) -> status"""
        lanes = math.prod(tapes.shape)
        size = _bytes_of(tapes.dtype.row)
        name = f"tape_write_{lanes}_{size}"
        b = self._begun(name, I32, 6)
        if b is None:
            return name
        new, grow = self._new(), self._grow()
        context, tapes, start, used, rows, out = b.function.parameters
        cell, need_cell = b.alloca(PTR), b.alloca(I64)
        start, used = b.sext(b.load(I32, start), I64), b.sext(b.load(I32, used), I64)
        end = b.add(start, used)
        need = b.mul(end, size)
        with b.loop(0, constant(I64, lanes)) as loop:
            lane = loop.index
            tape = b.load(PTR, b.gep(tapes, lane, PTR))
            b.store(tape, b.gep(out, lane, PTR))
            b.store(tape, cell)
            write, after = b.new_block("write"), b.new_block("next")
            b.cond_br(b.icmp("sgt", used, 0), write, after)
            b.position_at_end(write)
            make, ready = b.new_block("make"), b.new_block("ready")
            b.cond_br(b.icmp("eq", tape, Value("null", PTR)), make, ready)
            b.position_at_end(make)
            status = b.call(new, I32, [context, cell])
            _return_if(b, b.icmp("ne", status, 0), status)
            b.br(ready)
            b.position_at_end(ready)
            tape = b.load(PTR, cell)
            enlarge, copy = b.new_block("enlarge"), b.new_block("copy")
            b.cond_br(b.icmp("sgt", need, _field(b, tape, _CAPACITY, I64)), enlarge, copy)
            b.position_at_end(enlarge)
            b.store(need, need_cell)
            status = b.call(grow, I32, [context, tape, need_cell])
            _return_if(b, b.icmp("ne", status, 0), status)
            b.br(copy)
            b.position_at_end(copy)
            memory = _field(b, tape, _BYTES, PTR)
            target = b.gep(memory, b.mul(start, size), I8)
            if lanes == 1:
                b.memcpy(target, rows, b.mul(used, size))
            else:
                with b.loop(0, used) as each:
                    row = b.add(b.mul(each.index, lanes), lane)
                    source = b.gep(rows, b.mul(row, size), I8)
                    b.memcpy(b.gep(target, b.mul(each.index, size), I8), source, size)
            before = _field(b, tape, _ROWS, I64)
            most = b.select(b.icmp("sgt", end, before), end, before)
            b.store(most, b.gep(tape, _ROWS, I64))
            b.store(tape, b.gep(out, lane, PTR))
            b.br(after)
            b.position_at_end(after)
        b.ret(constant(I32, 0))
        return name

    def _read(self, tapes: Any, rows: Any) -> str:
        """(tapes, start, rows out): rows that are not there are zeros."""
        lanes, count = math.prod(tapes.shape), rows.shape[0]
        size = _bytes_of(tapes.dtype.row)
        name = f"tape_read_{lanes}_{size}_{count}"
        b = self._begun(name, VOID, 3)
        if b is None:
            return name
        tapes, start, out = b.function.parameters
        start = b.sext(b.load(I32, start), I64)
        with b.loop(0, constant(I64, lanes)) as loop:
            lane = loop.index
            tape = b.load(PTR, b.gep(tapes, lane, PTR))
            known, memory = self._contents(b, tape)
            have = b.sub(known, start)
            have = b.select(b.icmp("slt", have, 0), constant(I64, 0), have)
            have = b.select(b.icmp("sgt", have, count), constant(I64, count), have)
            source = b.gep(memory, b.mul(start, size), I8)
            if lanes == 1:
                filled = b.mul(have, size)
                b.memcpy(out, source, filled)
                b.memset(b.gep(out, filled, I8), 0, b.sub(constant(I64, count * size), filled))
            else:
                with b.loop(0, have) as each:
                    row = b.add(b.mul(each.index, lanes), lane)
                    target = b.gep(out, b.mul(row, size), I8)
                    b.memcpy(target, b.gep(source, b.mul(each.index, size), I8), size)
                with b.loop(have, constant(I64, count)) as each:
                    row = b.add(b.mul(each.index, lanes), lane)
                    b.memset(b.gep(out, b.mul(row, size), I8), 0, size)
        b.ret()
        return name

    def _contents(self, b: Builder, tape: Value) -> tuple[Value, Value]:
        """The number of rows of a tape, which may be null, and where they are."""
        cell, place = b.alloca(I64), b.alloca(PTR)
        b.store(constant(I64, 0), cell)
        b.store(Value("null", PTR), place)
        there, after = b.new_block("there"), b.new_block("known")
        b.cond_br(b.icmp("eq", tape, Value("null", PTR)), after, there)
        b.position_at_end(there)
        b.store(_field(b, tape, _ROWS, I64), cell)
        b.store(_field(b, tape, _BYTES, PTR), place)
        b.br(after)
        b.position_at_end(after)
        return b.load(I64, cell), b.load(PTR, place)

    def _length(self, tapes: Any) -> str:
        """(tapes, i32 lengths out)"""
        lanes = math.prod(tapes.shape)
        name = f"tape_length_{lanes}"
        b = self._begun(name, VOID, 2)
        if b is None:
            return name
        tapes, out = b.function.parameters
        with b.loop(0, constant(I64, lanes)) as loop:
            known, _ = self._contents(b, b.load(PTR, b.gep(tapes, loop.index, PTR)))
            b.store(b.trunc(known, I32), b.gep(out, loop.index, I32))
        b.ret()
        return name


def _field(b: Builder, tape: Value, number: int, type: Any) -> Value:
    return b.load(type, b.gep(tape, number, PTR))


def _return_if(b: Builder, condition: Value, status: Any) -> None:
    failed, after = b.new_block("failed"), b.new_block("fine")
    b.cond_br(condition, failed, after)
    b.position_at_end(failed)
    b.ret(status if isinstance(status, Value) else constant(I32, status))
    b.position_at_end(after)
