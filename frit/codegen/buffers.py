"""Buffers: where each value of a program lives, and in which order memory is read and overwritten.

    statement = Run(kernel, reads, writes, scratch)      one call of a kernel's function
              | Library(call, reads, writes, scratch)    calls of BLAS or LAPACK, over a batch
              | Callback(number, reads, writes)          one call back into Python
              | Native(eqn, reads, writes)               a tape is written or read, a check
              | Copy(source, target, size)
              | Same(result, operand, offset)            no work: two names of one memory
              | Point(k, place) | Permute(targets, sources)        set or exchange pointers
              | Repeat(length, reverse, advances, body)  a counted loop
              | While(condition, predicate, body)        a loop until predicate is false
              | Branch(index, index_dtype, cases)        one of several bodies
    place     = input i | output i | pointer k | arena, plus an offset in bytes
    body      = Body(enters, statements, leaves)

A call has one arena. `pointer k` is a cell of it that holds an address: loops move their carries
by exchanging cells, and step through stacked arrays by advancing them. A value overwrites another
only if nothing reads that one later; what may not be overwritten (inputs that are not donated,
constants, whatever is read later) is copied first: once before a loop, never once a step.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Place(NamedTuple):
    """An address: base is "input", "output", "pointer" or "arena"; offset is in bytes."""

    base: str
    number: int = 0
    offset: int = 0

    def plus(self, offset: int) -> Place:
        return Place(self.base, self.number, self.offset + offset) if offset else self

    def __str__(self) -> str:
        name = self.base if self.base == "arena" else f"{self.base}{self.number}"
        return f"{name}+{self.offset}" if self.offset else name


@dataclass(frozen=True, slots=True)
class Names:
    """What stands where when a call begins and when it ends, for the verifier.

    reads: (variable or literal, place). writes: (variable, place). An operand that is updated in
    place stands among the reads.
    """

    reads: tuple[tuple[Any, Place], ...]
    writes: tuple[tuple[Any, Place], ...]


@dataclass(frozen=True, slots=True)
class Run:
    kernel: Any
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    scratch: tuple[Place, ...]
    names: Names


@dataclass(frozen=True, slots=True)
class Library:
    call: Any
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    scratch: Place
    names: Names


@dataclass(frozen=True, slots=True)
class Callback:
    number: int
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    names: Names


@dataclass(frozen=True, slots=True)
class Native:
    eqn: Any
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    names: Names


@dataclass(frozen=True, slots=True)
class Same:
    result: Any
    operand: Any
    offset: int


@dataclass(frozen=True, slots=True)
class Copy:
    source: Place
    target: Place
    size: int


@dataclass(frozen=True, slots=True)
class Point:
    """pointer `index` = address of `place`."""

    index: int
    place: Place


@dataclass(frozen=True, slots=True)
class Permute:
    """The cells `targets` take what the cells `sources` held before."""

    targets: tuple[int, ...]
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """pointer `index` = address of `place` + step × stride; the step counts down in reverse."""

    index: int
    place: Place
    stride: int


@dataclass(frozen=True, slots=True)
class Body:
    """Statements of a loop or branch.

    enters: (input of the body, place, what it is outside), those that never change first, of which
    there are `constants`. leaves: (output of the body, place).
    """

    statements: tuple[Any, ...]
    enters: tuple[tuple[Any, Place, Any], ...]
    leaves: tuple[tuple[Any, Place], ...]
    constants: int = 0


@dataclass(frozen=True, slots=True)
class Repeat:
    """results: (variable, place) after the loop, here and below."""

    length: int
    reverse: bool
    advances: tuple[Advance, ...]
    body: Body
    results: tuple[tuple[Any, Place], ...]


@dataclass(frozen=True, slots=True)
class While:
    condition: Body
    predicate: Place
    body: Body
    results: tuple[tuple[Any, Place], ...]


@dataclass(frozen=True, slots=True)
class Branch:
    index: Place
    index_dtype: str
    cases: tuple[Body, ...]
    results: tuple[tuple[Any, Place], ...]


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """Statements and what they need: arena bytes, constants beyond the inputs, callbacks.

    constants: NumPy values that literals stand for; they follow the inputs.
    donated_outputs: output -> the donated input whose memory it is. returns_tapes: whether tapes
    outlive a call.
    """

    statements: tuple[Any, ...]
    arena_size: int
    pointers: int
    constants: tuple[Any, ...]
    callbacks: tuple[Any, ...]
    donated_outputs: dict[int, int]
    returns_tapes: bool = False


def bodies_of(statement: Any) -> tuple[Body, ...]:
    """The bodies nested directly in a statement."""
    match statement:
        case Repeat(body=body):
            return (body,)
        case While(condition=condition, body=body):
            return (condition, body)
        case Branch(cases=cases):
            return cases
    return ()


def requirements_of(plan: BufferPlan) -> list[str]:
    """What a program checks while it runs, as the messages of its errors, each once."""
    found: dict[str, None] = {}

    def collect(statements: Sequence[Any]) -> None:
        for statement in statements:
            if isinstance(statement, Native) and statement.eqn.primitive.name == "require":
                found[statement.eqn.params["message"]] = None
            for body in bodies_of(statement):
                collect(body.statements)

    collect(plan.statements)
    return list(found)


# -------------------------------------------------------------------------------------- arena

ALIGNMENT = 64


class Arena:
    """Offsets within one block of memory: best fit among the free ranges, which coalesce."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # (offset, size), by offset

    def allocate(self, size: int) -> tuple[int, int]:
        """A free range of at least `size` bytes, as (offset, size)."""
        size = max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        best = -1
        for position, (_, available) in enumerate(self._free):
            if available >= size and (best < 0 or available < self._free[best][1]):
                best = position
                if available == size:
                    break
        if best >= 0:
            offset, available = self._free.pop(best)
            if available > size:
                self._free.insert(best, (offset + size, available - size))
            return offset, size
        if self._free and sum(self._free[-1]) == self.size:
            offset, _ = self._free.pop()
        else:
            offset = self.size
        self.size = offset + size
        return offset, size

    def release(self, offset: int, size: int) -> None:
        """Makes a range free again."""
        position = bisect.bisect(self._free, (offset, size))
        if position < len(self._free) and offset + size == self._free[position][0]:
            size += self._free.pop(position)[1]
        if position and sum(self._free[position - 1]) == offset:
            position -= 1
            before, length = self._free.pop(position)
            offset, size = before, length + size
        self._free.insert(position, (offset, size))


# ------------------------------------------------------------------------------------ printer


def print_plan(plan: BufferPlan) -> str:
    """The statements as text, one a line."""
    lines = [f"arena {plan.arena_size} bytes, {plan.pointers} pointers"]
    _print(plan.statements, 1, lines)
    for output, source in plan.donated_outputs.items():
        lines.append(f"output{output} is input{source}")
    return "\n".join(lines)


def _names(places: Sequence[Place]) -> str:
    return ", ".join(map(str, places))


def _print(statements: Sequence[Any], depth: int, lines: list[str]) -> None:
    indent = "  " * depth
    for statement in statements:
        match statement:
            case Run(kernel, reads, writes, scratch, _):
                more = f" using {_names(scratch)}" if scratch else ""
                lines.append(f"{indent}{_names(writes)} = {kernel.name}({_names(reads)}){more}")
            case Library(call, reads, writes, _, _):
                lines.append(f"{indent}{_names(writes)} = {call.symbol}({_names(reads)})")
            case Callback(number, reads, writes, _):
                lines.append(f"{indent}{_names(writes)} = callback{number}({_names(reads)})")
            case Native(eqn, reads, writes, _):
                lines.append(f"{indent}{_names(writes)} = {eqn.primitive.name}({_names(reads)})")
            case Copy(source, target, size):
                lines.append(f"{indent}{target} = copy {source}, {size} bytes")
            case Point(index, place):
                lines.append(f"{indent}pointer{index} = &{place}")
            case Permute(targets, sources):
                names = [", ".join(f"pointer{k}" for k in cells) for cells in (targets, sources)]
                lines.append(f"{indent}{names[0]} = {names[1]}")
            case Repeat(length, reverse, advances, body, _):
                lines.append(f"{indent}repeat {length}{' reversed' if reverse else ''}")
                lines += [
                    f"{indent}  pointer{a.index} = &{a.place} + step * {a.stride}" for a in advances
                ]
                _print(body.statements, depth + 1, lines)
            case While(condition, predicate, body, _):
                lines.append(f"{indent}while {predicate} from")
                _print(condition.statements, depth + 2, lines)
                lines.append(f"{indent}do")
                _print(body.statements, depth + 1, lines)
            case Branch(index, _, cases, _):
                lines.append(f"{indent}branch {index}")
                for number, case in enumerate(cases):
                    lines.append(f"{indent}case {number}")
                    _print(case.statements, depth + 1, lines)
