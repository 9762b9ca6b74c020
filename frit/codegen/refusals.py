"""Why a value is in memory, and not computed where it is read: the reasons of `grouping`, as data.

    needed    by a reader that takes memory (a loop, a library, ...), or as an output
    beside    its kernel writes another value that is needed, and it is read elsewhere too
    whole     all of it is made at once: a sort, a scatter, a loop, a call of a library
    length    the kernel would hold more equations than one may
    places    it is read in more places than it may be computed again in
    again     it would be computed more often than it has elements
    outside   slow to compute, and its readers would compute it once a row that is too short, or
              in a loop that is not theirs
    short     a sum of so few terms is not worth a loop of its own in each row
    row       its reader has no rows over which it could be computed once

Where a reason has numbers, `found` is what grouping counted and `allowed` what it accepts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from frit.ir.jaxpr import JaxprEqn, Var

REASONS = ("needed", "beside", "whole", "length", "places", "again", "outside", "short", "row")


class Refusal(NamedTuple):
    """Why a unit has a kernel of its own; `reader` is the kind of the reader that takes memory."""

    reason: str
    reader: str = ""
    found: int = 0
    allowed: int = 0


@dataclass
class Decisions:
    """What grouping decided, by the variables that are in memory, those of loop bodies included.

    equations: of the kernel (or step) that makes the variable, as the program has them; a kernel
    that is shared by several calls holds those of one.
    """

    equations: dict[Var, tuple[JaxprEqn, ...]] = field(default_factory=dict)
    refusals: dict[Var, Refusal] = field(default_factory=dict)

    def note(self, var: Var, eqns: tuple[JaxprEqn, ...], refusal: Refusal) -> None:
        """Remembers what makes a variable, and why that is a kernel of its own."""
        self.equations[var], self.refusals[var] = eqns, refusal
