"""The records of a report on one call.

Facts = stages, rewrites, steps, edges, kernels, memory, machine
Step  = one statement of the buffer plan: a kernel's call, a library call, a loop, ...
Edge  = a value that one step writes to memory and another reads, and why they are not one
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from frit.codegen.refusals import Refusal


@dataclass
class Stage:
    """One stage: how long it took, and the size of what it made, in words."""

    name: str
    seconds: float
    size: str


@dataclass
class Source:
    """A line of the user's code, and the operations that come from it."""

    file: str
    line: int
    function: str
    code: str
    operations: list[str] = field(default_factory=list)


@dataclass
class Step:
    """A statement of the program. Times and work are sums over all its runs in one call.

    kind: kernel, library, callback, copy, loop, while, branch or native. dtype: of most flops.
    exact: whether bytes and flops are known before the program runs. parent: the step in whose
    body it is, or None. attainable: the least seconds by the roofline; share: that over seconds,
    None for runs shorter than a look at the clock.
    kernel: its name in `PipelineReport.kernels`, if it has one.
    """

    id: int
    kind: str
    title: str
    parent: int | None
    runs: int = 0
    seconds: float = 0.0
    bytes_read: int = 0
    bytes_written: int = 0
    flops: int = 0
    dtype: str = ""
    exact: bool = True
    bound: str = ""
    attainable: float = 0.0
    share: float | None = None
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    kernel: str | None = None

    @property
    def moved(self) -> int:
        return self.bytes_read + self.bytes_written


@dataclass
class Edge:
    """`target` reads from memory what `source` wrote; why it does not compute it itself."""

    source: int
    target: int
    type: str
    bytes: int
    reason: str
    why: str


@dataclass
class KernelText:
    """A kernel in each language."""

    equations: int
    loops: str
    llvm: str
    assembly: str


@dataclass
class Rewrite:
    """A rule or simplifier of the optimizer, and how often it was applied."""

    rule: str
    count: int
    exact: bool


@dataclass
class Facts:
    """The data of a report."""

    function: str
    place: str
    arguments: list[str]
    seconds: float
    measured_runs: int
    stages: list[Stage]
    jaxpr: str
    optimized: str
    passes: list[tuple[str, int, int]]
    rewrites: list[Rewrite]
    clock_seconds: float
    steps: list[Step]
    edges: list[Edge]
    kernels: dict[str, KernelText]
    arena_bytes: int
    input_bytes: int
    output_bytes: int
    constant_bytes: int
    machine: dict[str, Any]

    @property
    def kernel_steps(self) -> list[Step]:
        """The steps that do work themselves: all but loops and branches."""
        return [s for s in self.steps if s.kind not in COMPOSITE]


COMPOSITE = ("loop", "while", "branch")
READERS = {
    "output": "it is a result of the program",
    "library": "a library call reads it, from memory",
    "loop": "a loop reads it, from memory",
    "callback": "Python code reads it",
    "update": "an update in place works on it, or reads it, in memory",
    "opaque": "an operation on whole arrays (sort, cumsum, ...) reads it, from memory",
    "view": "what reads it is the same memory under another shape",
    "barrier": "a barrier stands between the two (checkpoint, optimization_barrier)",
    "native": "a check or a tape reads it, from memory",
}
REASONS = {
    "beside": "its kernel writes another value that must be in memory, so it is written as well",
    "whole": "all of it is made at once, before any of it can be read",
    "length": "one kernel would hold {found} equations; {allowed} are allowed",
    "places": "it is read in {found} places, and computing it again pays in at most {allowed}",
    "again": "it would be computed {found:,} times for {allowed:,} elements",
    "outside": "it is slow to compute, and {found:,} computations would stand for {allowed:,} "
    "elements inside a loop that is not its own",
    "short": "a reduction over {found}; a loop of its own in each row pays from {allowed} on",
    "row": "its reader has no rows long enough to compute it once a row",
}


def reason_text(refusal: Refusal, *, in_body: bool = False) -> str:
    """A refusal of fusion in words; in_body: of a value in the body of a loop or branch."""
    if refusal.reason == "needed":
        if in_body and refusal.reader == "output":
            return "it is a result of the body, and goes to the next turn or out of it"
        return READERS.get(refusal.reader, f"a {refusal.reader} needs it in memory")
    return REASONS[refusal.reason].format(found=refusal.found, allowed=refusal.allowed)
