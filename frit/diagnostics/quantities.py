"""Numbers as people read them: times, sizes, counts."""

from __future__ import annotations


def time_text(seconds: float) -> str:
    """Seconds for people: `12.3 µs`."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{1e9 * seconds:.0f} ns"


def count_text(count: float) -> str:
    """A number for people: `1.2 M`."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g} {letter}"
    return f"{count:.0f}"


def size_text(count: float) -> str:
    """Bytes for people: `12.3 KiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def plural(count: int, noun: str) -> str:
    """A number of things: `1 trace`, `2,000 traces`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
