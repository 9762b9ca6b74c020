"""Verifier of buffer plans: what a call reads is there, and is what the program means.

Memory is followed as a set of claims "these bytes hold that variable". A write ends the claims on
the bytes it overlaps and makes its own, a copy carries claims along, and whoever reads a variable
must find its claim. Bodies of loops are followed twice, so that what one iteration leaves is what
the next one finds; of several branches, only what all of them leave holds behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from frit.codegen.buffers import (
    Body,
    Branch,
    BufferPlan,
    Callback,
    Copy,
    Library,
    Names,
    Native,
    Permute,
    Place,
    Point,
    Repeat,
    Run,
    Same,
    While,
)
from frit.ir.jaxpr import Literal, Var
from frit.ir.types import ShapedArray


class BufferPlanError(Exception):
    """A buffer plan names memory that is not there, or reads what was overwritten."""


def check_buffers(plan: BufferPlan, steps: Any) -> None:
    """Raises BufferPlanError where a statement does not find what it reads."""
    checker = _Checker(plan, len(steps.inputs), len(steps.outputs))
    for k, var in enumerate(steps.inputs):
        checker.claim(var, Place("input", k))
    checker.statements(plan.statements)
    for j, atom in enumerate(steps.outputs):
        donated = plan.donated_outputs.get(j)
        place = Place("output", j) if donated is None else Place("input", donated)
        checker.find(atom, place, "the end of the program")


class Claim(NamedTuple):
    """The bytes from `start` to `end` of a region hold a variable."""

    region: tuple[str, int]
    start: int
    end: int
    root: Any


def _bytes(atom: Any) -> int:
    aval = atom.aval
    if not isinstance(aval, ShapedArray):
        return 0
    return int(aval.size) * aval.storage_dtype.itemsize


class _Checker:
    def __init__(self, plan: BufferPlan, inputs: int, outputs: int) -> None:
        self.counts = {
            "input": inputs + len(plan.constants),
            "output": outputs,
            "pointer": plan.pointers,
            "arena": 1,
        }
        self.arena = plan.arena_size
        self.claims: list[Claim] = []
        self.pointers: dict[int, tuple[tuple[str, int], int]] = {}
        self.roots: dict[Var, tuple[Var, int]] = {}

    # memory

    def resolve(self, place: Place, size: int, where: Any) -> tuple[tuple[str, int], int]:
        """The region and position of a place."""
        if not 0 <= place.number < self.counts[place.base]:
            raise BufferPlanError(f"{where}: there is no {place}")
        if place.base == "pointer":
            if place.number not in self.pointers:
                raise BufferPlanError(f"{where}: {place} is used before it is set")
            region, start = self.pointers[place.number]
            return region, start + place.offset
        if place.base == "arena" and not 0 <= place.offset <= self.arena - size:
            raise BufferPlanError(f"{where}: {place} is beyond the arena's {self.arena} bytes")
        return (place.base, place.number), place.offset

    def write(self, place: Place, size: int, where: Any) -> None:
        """Ends what was claimed of these bytes."""
        region, start = self.resolve(place, size, where)
        end = start + size
        self.claims = [
            c for c in self.claims if c.region != region or c.end <= start or c.start >= end
        ]

    def claim(self, var: Any, place: Place, where: Any = "") -> None:
        """Says that a variable is at a place, beside what is already known of it."""
        size = _bytes(var)
        if size:
            region, start = self.resolve(place, size, where)
            self.roots[var] = (var, 0)
            self.claims.append(Claim(region, start, start + size, var))

    def find(self, atom: Any, place: Place, where: Any) -> None:
        """Raises unless the place holds the variable."""
        size = 0 if isinstance(atom, Literal) else _bytes(atom)
        region, start = self.resolve(place, size, where)
        if not size:
            return
        root, offset = self.roots.get(atom, (atom, 0))
        for claim in self.claims:
            if (
                claim.root is root
                and claim.region == region
                and claim.start + offset == start
                and claim.end >= start + size
            ):
                return
        held = [c.root for c in self.claims if c.region == region and c.start <= start < c.end]
        raise BufferPlanError(f"{where}: {place} should hold {atom}; it holds {held}")

    # statements

    def statements(self, statements: Sequence[Any]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: Any) -> None:
        match statement:
            case (
                Run(names=names)
                | Library(names=names)
                | Callback(names=names)
                | Native(names=names)
            ):
                self.call(statement, names)
            case Copy(source=source, target=target, size=size):
                self.copy(source, target, size, statement)
            case Same(result=result, operand=operand, offset=offset):
                root, before = self.roots.get(operand, (operand, 0))
                self.roots[result] = (root, before + offset)
            case Point(index=index, place=place):
                self.pointers[index] = self.resolve(place, 0, statement)
            case Permute(targets=targets, sources=sources):
                if sorted(targets) != sorted(sources):
                    raise BufferPlanError(f"{statement} loses an address")
                held = [self.pointers[k] for k in sources]
                self.pointers.update(zip(targets, held, strict=True))
            case Repeat():
                self.repeat(statement)
            case While():
                self.loop_while(statement)
            case Branch():
                self.branch(statement)
            case _:
                raise BufferPlanError(f"{statement} is not a statement")

    def call(self, statement: Any, names: Names) -> None:
        match statement:
            case Run(kernel=kernel, scratch=scratch):
                where: Any = kernel.name
            case Library(call=call, scratch=one):
                where, scratch = call.symbol, (one,)
            case Native(eqn=eqn):
                where, scratch = eqn.primitive.name, ()
            case _:
                where, scratch = "a callback", ()
        for atom, place in names.reads:
            self.find(atom, place, where)
        self.check_overlap(statement, names, where)
        for place in scratch:
            self.write(place, 1, where)
        for var, place in names.writes:
            self.write(place, _bytes(var), where)
        for var, place in names.writes:
            self.claim(var, place, where)

    def check_overlap(self, statement: Any, names: Names, where: str) -> None:
        """Raises where a result overwrites an operand of the same call that is still read."""
        kernel = statement.kernel if isinstance(statement, Run) else None
        replaced = set(kernel.updates.values()) if kernel else set()
        operands = [k for k in range(len(statement.reads) + len(replaced)) if k not in replaced]
        for j, (var, target) in enumerate(names.writes):
            size = _bytes(var)
            region, start = self.resolve(target, size, where)
            for k, (atom, place) in zip(operands, names.reads, strict=False):
                held = _bytes(atom)
                other, at = self.resolve(place, held, where)
                if not (
                    size and held and other == region and start < at + held and at < start + size
                ):
                    continue
                if kernel is None or at != start or (j, k) not in kernel.inplace:
                    raise BufferPlanError(f"{where}: result {j} overwrites operand {k}")

    def copy(self, source: Place, target: Place, size: int, where: Any) -> None:
        region, start = self.resolve(source, size, where)
        to, at = self.resolve(target, size, where)
        if (region, start) == (to, at):
            return
        moved = [
            Claim(to, c.start - start + at, c.end - start + at, c.root)
            for c in self.claims
            if c.region == region and start <= c.start and c.end <= start + size
        ]
        moved += [
            Claim(to, at, at + size, var)
            for c in self.claims
            if c.region == region and (c.start < start or c.end > start + size)
            for var in self.parts(c, start, size)
        ]
        self.write(target, size, where)
        self.claims += moved

    def parts(self, claim: Claim, start: int, size: int) -> list[Any]:
        """The variables that are exactly a part of a claimed one; each becomes its own root."""
        found = [
            var
            for var, (root, offset) in self.roots.items()
            if root is claim.root and claim.start + offset == start and _bytes(var) == size
        ]
        for var in found:
            self.claims.append(Claim(claim.region, start, start + size, var))
            self.roots[var] = (var, 0)
        return found

    # bodies

    def enter(self, body: Body, first: bool) -> None:
        for number, (var, place, outside) in enumerate(body.enters):
            if (first or number < body.constants) and outside is not None:
                self.find(outside, place, "the start of a body")
            self.claim(var, place, "the start of a body")

    def leave(self, body: Body) -> None:
        """What the outputs of a body leave behind is claimed by nothing else of the body."""
        for atom, place in body.leaves:
            self.find(atom, place, "the end of a body")

    def repeat(self, loop: Repeat) -> None:
        starts = {a.index: self.resolve(a.place, 0, loop) for a in loop.advances}
        slices = {Place("pointer", a.index) for a in loop.advances}
        enters = tuple((v, p, None if p in slices else a) for v, p, a in loop.body.enters)
        for turn in range(min(loop.length, 2)):
            step = loop.length - 1 - turn if loop.reverse else turn
            for advance in loop.advances:
                region, start = starts[advance.index]
                self.pointers[advance.index] = (region, start + step * advance.stride)
            self.turn(replace(loop.body, enters=enters), turn)
        self.results(loop.results)

    def loop_while(self, loop: While) -> None:
        for turn in range(2):
            self.turn(loop.condition, turn)
            self.turn(loop.body, turn)
        self.results(loop.results)

    def turn(self, body: Body, turn: int) -> None:
        self.enter(body, first=not turn)
        self.statements(body.statements)
        self.leave(body)
        inside = {v for v, _, _ in body.enters}
        self.claims = [c for c in self.claims if c.root not in inside]

    def results(self, results: Sequence[tuple[Any, Place]]) -> None:
        for var, place in results:
            self.claim(var, place, "the end of a loop")

    def branch(self, branch: Branch) -> None:
        self.resolve(branch.index, 1, branch)
        before = list(self.claims), dict(self.pointers)
        left = []
        for case in branch.cases:
            self.claims, self.pointers = list(before[0]), dict(before[1])
            self.turn(case, 0)
            left.append(set(self.claims))
        common = set.intersection(*left)
        self.claims = [c for c in before[0] if c in common]
        self.results(branch.results)
