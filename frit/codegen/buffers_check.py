"""Verifier of buffer plans: what a statement names exists, and addresses are set before use."""

from __future__ import annotations

from typing import Any

from frit.codegen.buffers import (
    Branch,
    BufferPlan,
    Callback,
    Copy,
    Library,
    Permute,
    Place,
    Point,
    Repeat,
    Run,
    While,
)


class BufferPlanError(Exception):
    """A buffer plan reads or writes where it must not."""


def check_buffers(plan: BufferPlan, steps: Any) -> None:
    """Raises BufferPlanError where a plan names memory that is not there, or is not yet set."""
    _Checker(plan, len(steps.inputs), len(steps.outputs)).statements(plan.statements, set())


class _Checker:
    def __init__(self, plan: BufferPlan, inputs: int, outputs: int) -> None:
        self.limits = {
            "input": inputs + len(plan.constants),
            "output": outputs,
            "pointer": plan.pointers,
            "arena": 1,
        }
        self.arena = plan.arena_size

    def place(self, place: Place, pointed: set[int], statement: Any) -> None:
        if not 0 <= place.index < self.limits[place.base]:
            raise BufferPlanError(f"{statement}: there is no {place}")
        if place.base == "arena" and not 0 <= place.offset <= self.arena:
            raise BufferPlanError(f"{statement}: {place} is beyond the arena's {self.arena} bytes")
        if place.base == "pointer" and place.index not in pointed:
            raise BufferPlanError(f"{statement}: {place} is used before it is set")

    def statements(self, statements: Any, pointed: set[int]) -> None:
        for statement in statements:
            self.statement(statement, pointed)

    def statement(self, statement: Any, pointed: set[int]) -> None:
        match statement:
            case Run(reads=reads, writes=writes, scratch=scratch):
                places = (*reads, *writes, *scratch)
            case Library(reads=reads, writes=writes, scratch=one):
                places = (*reads, *writes, one)
            case Callback(reads=reads, writes=writes):
                places = (*reads, *writes)
            case Copy(source=source, target=target):
                places = (source, target)
            case Point(index=index, place=place):
                self.place(place, pointed, statement)
                pointed.add(index)
                return
            case Permute(targets=targets, sources=sources):
                if sorted(targets) != sorted(sources):
                    raise BufferPlanError(f"{statement} loses an address")
                return
            case Repeat(advances=advances, body=body):
                for advance in advances:
                    self.place(advance.place, pointed, statement)
                pointed.update(a.index for a in advances)
                self.statements(body, pointed)
                return
            case While(condition=condition, predicate=predicate, body=body):
                self.statements(condition, pointed)
                self.place(predicate, pointed, statement)
                self.statements(body, pointed)
                return
            case Branch(index=index, cases=cases):
                self.place(index, pointed, statement)
                for case in cases:
                    self.statements(case, pointed)
                return
            case _:
                raise BufferPlanError(f"{statement} is not a statement")
        for place in places:
            self.place(place, pointed, statement)
