"""The record of something that the doctor found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that costs time or makes results wrong, and what to do about it.

    kind: a name for `--fail-on`. severity: wrong (results may be), slow, or note. count: how often.
    seconds: what the remedy would save of tracing and compiling. example: code, for the remedy.
    """

    kind: str
    severity: str
    title: str
    place: str
    count: int
    seconds: float
    details: tuple[str, ...]
    remedy: str
    example: str = ""
