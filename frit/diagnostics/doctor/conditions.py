"""When the doctor's exit status is 3: the conditions of `--fail-on`.

    list      = condition , condition …
    condition = name | name > number | name >= number | name > number s
    name      = a kind of finding, see findings.py, or `any`

A name alone is `name>0`. A number counts what the kind counts; with `s` it is seconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from frit.diagnostics.doctor.findings import NAMES

_CONDITION = re.compile(r"\s*([a-z-]+)\s*(?:(>=|>)\s*([0-9]+(?:\.[0-9]+)?)\s*(s?))?\s*")


@dataclass(frozen=True)
class Condition:
    """One limit that a program may not pass."""

    name: str
    limit: float = 0.0
    inclusive: bool = False
    in_seconds: bool = False

    def __str__(self) -> str:
        sign, unit = ">=" if self.inclusive else ">", " s" if self.in_seconds else ""
        return f"{self.name}{sign}{self.limit:g}{unit}"

    def holds(self, counts: Mapping[str, tuple[int, float]]) -> bool:
        """Whether the limit is passed; counts: for each name, how many, and seconds."""
        value = counts[self.name][self.in_seconds]
        return value >= self.limit if self.inclusive else value > self.limit


def conditions_of(text: str) -> list[Condition]:
    """The conditions that `text` lists. ValueError, with the list of names, where it is none."""
    return [_condition(part, text) for part in text.split(",")]


def _condition(part: str, whole: str) -> Condition:
    match = _CONDITION.fullmatch(part)
    if match is None or match[1] not in NAMES:
        wrong = f"{part.strip()!r}" + (f" in {whole!r}" if part.strip() != whole.strip() else "")
        raise ValueError(
            f"{wrong} is no condition. Write a name, or a name and a limit, as in "
            f"stale,recompiles>5,shapes>=3,recompiles>2s. The names are {', '.join(NAMES)}."
        )
    name, sign, limit, unit = match.groups()
    return Condition(name, float(limit or 0), sign == ">=", unit == "s")
