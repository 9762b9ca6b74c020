"""Runs the loop language slowly, one element at a time, checking what machine code cannot.

    bounds          every access lies inside its buffer
    initialisation  nothing is read that was never written, and every result is written in full
    races           iterations of a parallel or vector loop touch no element that another one writes
    overlap         two buffers are the same memory, element for element, or distinct; what one of
                    them held is not read after it was overwritten through the other

It is the oracle that tells a lowering bug (wrong here too) from an LLVM bug (wrong only there).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.codegen.loops import (
    Apply,
    At,
    Body,
    Broadcast,
    Buffer,
    Call,
    Const,
    For,
    Function,
    If,
    Load,
    Reduce,
    Select,
    Shuffle,
    Store,
    Update,
    While,
    walk,
)
from frit.codegen.scalars import element_type, evaluate


class LoopFault(Exception):
    """An access that the loop language forbids, found by running."""


def interpret(function: Function, arguments: Any, extents: Any = (), symbols: Any = None) -> Any:
    """The buffers of `function.parameters` after a run, as flat arrays; `arguments` is unchanged.

    arguments: an array for each parameter, or None for memory that holds nothing yet. extents: an
    int for each `Extent`. symbols: name -> Python function for each `Call`. Raises LoopFault.
    """
    memory = {}
    for buffer, argument in zip(function.parameters, arguments, strict=True):
        if argument is not None:
            argument = np.array(argument, copy=True).reshape(-1)
        memory[id(buffer)] = argument
    run = _Run(function, memory, set(), extents, symbols or {}, evaluate)
    run.start()
    return [run.memory[id(buffer)].data for buffer in function.parameters]


def interpret_in_place(
    function: Function, memory: Sequence[Any], given: Sequence[bool], operate: Callable[..., Any]
) -> None:
    """Runs a function on a flat array for each parameter, which it changes.

    given: whether an array holds something. Arrays may be one memory, then what holds for one of
    them holds for all. operate: `evaluate` of `scalars`, or its like. Raises LoopFault, also where
    an argument is not written in full.
    """
    arrays = dict(zip(map(id, function.parameters), memory, strict=True))
    empty = {id(b) for b, known in zip(function.parameters, given, strict=True) if not known}
    run = _Run(function, arrays, empty, (), {}, operate)
    run.start()
    for buffer in function.parameters:
        written = run.memory[id(buffer)].written
        if buffer.space == "argument" and not written.all():
            missing = np.flatnonzero(~written)
            raise LoopFault(
                f"kernel {function.name}: {missing.size} of the {written.size} elements of "
                f"{buffer.name} are never written, the first is {missing[0]}"
            )


class _Memory:
    """One buffer: its elements, which of them are written, and who touched them last.

    owners: where memory is shared, the buffer through which an element was written.
    """

    __slots__ = ("data", "owners", "readers", "written", "writers")

    def __init__(self, data: Any, written: Any) -> None:
        self.data = data
        self.written = np.full(data.size, written)
        self.writers: dict[int, Any] = {}
        self.readers: dict[int, list[Any]] = {}
        self.owners: dict[int, Buffer] | None = None

    def share(self, other: _Memory) -> None:
        """Says that two buffers are one memory: who touches one touches the other."""
        other.written |= self.written
        self.written, self.writers, self.readers = other.written, other.writers, other.readers
        if other.owners is None:
            other.owners = {}
        self.owners = other.owners


class _Run:
    def __init__(
        self,
        function: Function,
        arrays: dict[int, Any],
        empty: set[int],
        extents: Any,
        symbols: Any,
        operate: Any,
    ) -> None:
        self.function = function
        self.symbols = symbols
        self.operate = operate
        self.values = {}
        self.path: tuple[Any, ...] = ()
        self.loops = 0
        for extent, number in zip(function.extents, extents, strict=True):
            self.values[id(extent)] = int(number)
        written = {id(i.buffer) for i in walk(function.body) if isinstance(i, (Store, Update))}
        self.memory: dict[int, _Memory] = {}
        for buffer in function.buffers:
            array = arrays.get(id(buffer))
            made = self.make_memory(buffer, array, id(buffer) not in empty)
            if array is not None:
                self.find_overlap(buffer, made, written)
            self.memory[id(buffer)] = made

    def make_memory(self, buffer: Buffer, data: Any, given: bool) -> Any:
        size = 1
        for extent in buffer.shape:
            size *= extent if isinstance(extent, int) else self.number(extent)
        dtype = element_type(buffer.dtype)
        if data is None:
            return _Memory(np.zeros(size, dtype), False)
        if data.dtype != dtype or data.size != size:
            raise LoopFault(
                f"kernel {self.function.name}: buffer {buffer.name} is {buffer.dtype}[{size}], "
                f"got {data.dtype}[{data.size}]"
            )
        return _Memory(data, given)

    def find_overlap(self, buffer: Buffer, made: _Memory, written: set[int]) -> None:
        """Joins memory with what it shares; raises where elements do not fall on elements.

        Buffers that are only read may share memory in any way.
        """
        for other in self.function.buffers:
            known = self.memory.get(id(other))
            if known is None or not np.may_share_memory(known.data, made.data):
                continue
            if not written & {id(buffer), id(other)}:
                continue
            if _place(known.data) != _place(made.data):
                raise LoopFault(
                    f"kernel {self.function.name}: {buffer.name} and {other.name} overlap"
                )
            made.share(known)

    def start(self) -> None:
        with np.errstate(all="ignore"):
            self.body(self.function.body)

    # values

    def number(self, value: Any) -> Any:
        return int(self.get(value))

    def get(self, value: Any) -> Any:
        if isinstance(value, Const):
            number = np.asarray(value.value).astype(element_type(value.dtype))[()]
            return number if value.lanes == 1 else np.full(value.lanes, number)
        if isinstance(value, At):
            total = value.constant + sum(f * int(self.values[id(v)]) for f, v in value.terms)
            return np.int64((total + 2**63) % 2**64 - 2**63)
        return self.values[id(value)]

    def put(self, value: Any, number: Any) -> None:
        self.values[id(value)] = number

    # memory

    def place(self, item: Any) -> Any:
        """The element that an item touches, after the checks that do not depend on how."""
        memory = self.memory[id(item.buffer)]
        at = self.number(item.at)
        if not 0 <= at < memory.data.size:
            self.fault(item, at, f"is outside of its {memory.data.size} elements")
        return memory, at

    def fault(self, item: Any, at: Any, why: Any) -> None:
        where = ", ".join(f"{index}" for _, index in self.path)
        raise LoopFault(
            f"kernel {self.function.name}: {type(item).__name__} {item.buffer.name}[{at}] {why}"
            + (f" (in iteration {where})" if where else "")
        )

    def read(self, item: Any) -> Any:
        memory, at = self.place(item)
        if not memory.written[at]:
            self.fault(item, at, "was never written")
        if memory.owners is not None:
            owner = memory.owners.get(at, item.buffer)
            if owner is not item.buffer:
                self.fault(item, at, f"was overwritten as {owner.name}[{at}]")
        if self.path or memory.writers:
            if _races(self.path, memory.writers.get(at, ())):
                self.fault(item, at, "is written by another iteration")
            readers = memory.readers.setdefault(at, [])
            if self.path not in readers and len(readers) < 2:
                readers.append(self.path)
        return memory.data[at]

    def write(self, item: Any, number: Any) -> None:
        memory, at = self.place(item)
        if _races(self.path, memory.writers.get(at, ())):
            self.fault(item, at, "is written by two iterations")
        if any(_races(self.path, reader) for reader in memory.readers.get(at, ())):
            self.fault(item, at, "is read by another iteration")
        memory.data[at] = number
        memory.written[at] = True
        if memory.owners is not None:
            memory.owners[at] = item.buffer
        memory.writers[at] = self.path

    def enabled(self, item: Any) -> Any:
        return item.mask is None or bool(self.get(item.mask))

    # items

    def body(self, body: Body) -> Any:
        for item in body.items:
            self.item(item)
        return [self.get(value) for value in body.yields]

    def item(self, item: Any) -> None:
        match item:
            case Load():
                zero = element_type(item.dtype).type(0)
                self.put(item, self.read(item) if self.enabled(item) else zero)
            case Apply(op=op, operands=operands, params=params):
                numbers = [self.get(operand) for operand in operands]
                self.put(item, self.operate(op, numbers, item.dtype, params))
            case Select(condition=condition, on_true=x, on_false=y):
                chosen = np.where(self.get(condition), self.get(x), self.get(y))
                self.put(item, chosen[()])
            case Broadcast(operand=operand, lanes=lanes):
                self.put(item, np.full(lanes, self.get(operand)))
            case Shuffle(x=x, y=y, order=order):
                both = np.concatenate([np.atleast_1d(self.get(x)), np.atleast_1d(self.get(y))])
                self.put(item, both[list(order)] if len(order) > 1 else both[order[0]])
            case Reduce(op=op, operand=operand):
                vector = np.atleast_1d(self.get(operand))
                while vector.size > 1:
                    half = vector.size // 2
                    vector = self.operate(op, [vector[:half], vector[half:]], item.dtype, {})
                self.put(item, vector[0])
            case Store(value=value):
                if self.enabled(item):
                    self.write(item, self.get(value))
            case Update(value=value, op=op):
                if self.enabled(item):
                    old = self.read(item)
                    new = self.operate(op, [old, self.get(value)], value.dtype, {})
                    self.write(item, new)
            case For():
                self.loop(item)
            case While():
                self.repeat(item)
            case If(condition=condition, then=then, otherwise=otherwise):
                results = self.body(then if self.get(condition) else otherwise)
                for result, number in zip(item.results, results, strict=True):
                    self.put(result, number)
            case Call():
                self.call(item)

    def loop(self, item: Any) -> None:
        extent = item.extent if isinstance(item.extent, int) else self.number(item.extent)
        state = [self.get(value) for value in item.initial]
        lanes = item.kind == "vector" and item.carries
        if lanes:
            state = [np.array(np.broadcast_to(vector, (item.width,))) for vector in state]
        independent = item.kind in ("vector", "parallel")
        self.loops += 1
        outer, loop = self.path, self.loops
        for i in range(extent):
            if independent:
                self.path = (*outer, (loop, i))
            self.put(item.index, np.int64(i))
            lane = i % item.width if lanes else None
            for position, carry in enumerate(item.carries):
                self.put(carry, state[position][lane] if lanes else state[position])
            yielded = self.body(item.body)
            if lanes:
                for vector, number in zip(state, yielded, strict=True):
                    vector[lane] = number
            else:
                state = yielded
        self.path = outer
        for result, number in zip(item.results, state, strict=True):
            self.put(result, number)

    def repeat(self, item: Any) -> None:
        state = [self.get(value) for value in item.initial]
        while True:
            for carry, number in zip(item.carries, state, strict=True):
                self.put(carry, number)
            if not self.body(item.condition)[0]:
                break
            state = self.body(item.body)
        for result, number in zip(item.results, state, strict=True):
            self.put(result, number)

    def call(self, item: Any) -> None:
        """Runs a symbol on slices that start at each view and share the buffer's memory."""
        if item.symbol not in self.symbols:
            raise LoopFault(f"kernel {self.function.name}: no symbol {item.symbol!r} was given")
        given = []
        for position, argument in enumerate(item.arguments):
            if isinstance(argument, tuple):
                memory, at = self.memory[id(argument[0])], self.number(argument[1])
                given.append(memory.data[at:])
                if item.effect[position] == "write":
                    memory.written[at:] = True
            else:
                given.append(self.get(argument))
        self.put(item.status, np.int32(self.symbols[item.symbol](*given) or 0))


def _place(array: Any) -> Any:
    return array.__array_interface__["data"][0], array.size, array.itemsize


def _races(one: Any, other: Any) -> bool:
    """Whether two iterations, as ((loop, index), ...) from outside in, may run in any order."""
    for (loop, index), (other_loop, other_index) in zip(one, other, strict=False):
        if loop != other_loop:
            return False
        if index != other_index:
            return True
    return False
