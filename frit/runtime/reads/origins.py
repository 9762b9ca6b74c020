"""Origins, and what one code object does with values from outside; see the package."""

from __future__ import annotations

import bisect
import operator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from frit.errors import SourceInfo

Origin = tuple[Any, ...]
Origins = frozenset[Origin]
UNKNOWN: Origins = frozenset()
NULL: Origins = frozenset({("null",)})


@dataclass(frozen=True)
class Call:
    """A call: the callee, and the arguments as far as they are written one by one.

    rest: the arguments given as *args and **kwargs, in no order.  offsets: of the instructions that
    make this very call; a line that stands twice is one call.
    """

    callee: Origins
    args: tuple[Origins, ...]
    kwargs: tuple[tuple[str, Origins], ...]
    rest: Origins
    offsets: list[int]


@dataclass(frozen=True)
class Made:
    """A nested function (or comprehension, or class body) made by this code."""

    code: CodeType
    free: tuple[str, ...]
    defaults: tuple[Origins, ...]


@dataclass
class Reads:
    """What one code object does with values from outside."""

    code: CodeType
    used: dict[Origin, int] = field(default_factory=dict)  # origin -> offset of the instruction
    calls: list[Call] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    built: list[set[Origin]] = field(default_factory=list)  # what each container holds
    variables: dict[str, set[Origin]] = field(default_factory=dict)
    assigned: dict[Origin, int] = field(default_factory=dict)  # origin -> offset
    computed: set[Origin] = field(default_factory=set)  # operands of operators with no traced value
    returned: set[Origin] = field(default_factory=set)
    _lines: list[tuple[int, int, int | None]] = field(default_factory=list)

    def line_of(self, offset: int) -> int:
        """The source line of an instruction."""
        if not self._lines:
            self._lines.extend(self.code.co_lines())
        number = bisect.bisect_right(self._lines, offset, key=operator.itemgetter(0)) - 1
        return self._lines[number][2] or self.code.co_firstlineno

    def place_of(self, offset: int) -> SourceInfo:
        """Where an instruction stands in the source."""
        return SourceInfo(self.code.co_filename, self.line_of(offset), self.code.co_name)


class Constant:
    """A constant told by identity, so that 1, 1.0 and True stay three, and lists may be held."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
