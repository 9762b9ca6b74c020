"""Records of what was seen while a program ran; collecting.py makes them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from frit.diagnostics.causes import Cause
from frit.runtime.guards import Change


@dataclass(frozen=True)
class Place:
    """A function, or a line, of the program. own: it is frit's, and stands at the user's line."""

    name: str
    file: str = ""
    line: int = 0
    own: bool = False

    def __str__(self) -> str:
        if not self.file:
            return self.name
        at = f"{shortened(self.file)}:{self.line}"
        if self.own:
            return f"frit's {self.name}, called at {at}"
        return f"{self.name} ({at})" if self.name else at


def shortened(file: str) -> str:
    """A path relative to the working folder, where it is within it."""
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return file if relative.startswith("..") else relative


@dataclass(frozen=True)
class Captured:
    """A large array that a trace closed over."""

    id: int
    type: str
    bytes: int
    label: str


@dataclass(frozen=True)
class Static:
    """A static argument. by_identity: its class has no equality of its own. kind: the class."""

    kind: str
    by_identity: bool


@dataclass
class Trace:
    """One trace. seconds: with all traces within it. own_seconds: without those of the user's.

    caller: the line of the user's program, not of a library, that was running.
    """

    place: Place
    caller: Place
    purpose: str
    seconds: float
    causes: tuple[Cause, ...]
    types: dict[str, Any]
    statics: dict[str, Static]
    captured: tuple[Captured, ...]
    is_new_function: bool
    own_seconds: float = 0.0
    compile_seconds: float = 0.0
    parent: Trace | None = None

    @property
    def cost(self) -> float:
        """Seconds until the trace could run."""
        return self.seconds + self.compile_seconds

    @property
    def is_first(self) -> bool:
        return any(c.kind == "first" for c in self.causes)


@dataclass
class Calls:
    """The calls of one function from outside of traces; seconds without tracing and compiling."""

    count: int = 0
    seconds: float = 0.0


@dataclass
class Narrowed:
    """Values of 64 bits that became values of 32. lost: numbers that did not fit."""

    asked: str
    found: str
    what: str
    place: Place
    explicit: bool
    times: int = 0
    bytes: int = 0
    lost: int = 0


@dataclass
class Stale:
    """A captured value that changed, while calls went on with the old one."""

    place: Place
    change: Change
    policy: str
    calls: int = 0


@dataclass(frozen=True)
class Unhashable:
    """A static argument that has no hash."""

    place: Place
    argument: str
    type: str
