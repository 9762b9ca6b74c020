"""What the doctor finds in what it saw: one function for each kind of finding, and their table.

Findings are ordered by what their remedies would save; retraces.py has those that save traces, and
here are those that make results wrong, and those that are good to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from frit.diagnostics.doctor.collecting import Examination
from frit.diagnostics.doctor.finding import Finding
from frit.diagnostics.doctor.observed import Narrowed, Place
from frit.diagnostics.doctor.retraces import (
    find_captures,
    find_loops,
    find_recompiles,
    find_shapes,
    find_statics,
)
from frit.errors import NOWHERE, UnexpectedTracerError

_CHEAP = 0.005  # seconds up to which a finding costs nothing, so that wrong results come first


@dataclass(frozen=True)
class Kind:
    """A kind of finding. counted: what its number is, in words."""

    name: str
    counted: str
    find: Callable[[Examination], Iterator[Finding]]


def findings_of(seen: Examination) -> list[Finding]:
    """All findings, the most expensive first; of equally cheap ones those that may be wrong."""
    found = [finding for kind in KINDS for finding in kind.find(seen)]
    rank = {"wrong": 0, "slow": 1, "note": 2}

    def order(f: Finding) -> tuple[float, int, int]:
        return (-f.seconds if f.seconds > _CHEAP else 0.0, rank[f.severity], -f.count)

    return sorted(found, key=order)


def counts_of(findings: Sequence[Finding]) -> dict[str, tuple[int, float]]:
    """For each name of `--fail-on`, how many there are, and the seconds they cost.

    recompiles: of every kind that is a needless trace. any: all findings.
    """
    counts = {}
    for name in NAMES:
        of_name = [f for f in findings if name == "any" or f.kind in _PARTS.get(name, (name,))]
        counts[name] = (
            len(of_name) if name == "any" else sum(f.count for f in of_name),
            sum(f.seconds for f in of_name),
        )
    return counts


# --------------------------------------------------------------------------------------- wrong


def _find_stale(seen: Examination) -> Iterator[Finding]:
    for stale in seen.stale.values():
        refused = stale.policy == "error"
        what = "were refused" if refused else "went on with the old value"
        calls = "1 call" if stale.calls == 1 else f"{stale.calls} calls"
        yield Finding(
            "stale",
            "note" if refused else "wrong",
            f"{stale.change.label} changed after {stale.place.name} was compiled",
            str(stale.place),
            stale.calls,
            0.0,
            (str(stale.change), f'{calls} {what} (captures="{stale.policy}")'),
            'Pass the value as an argument of the function, or let captures="retrace" compile '
            "it anew.",
        )


def _find_effects(seen: Examination) -> Iterator[Finding]:
    for place, effect in seen.effects.values():
        if effect.kind == "stored":
            continue
        what, instead = _told_and_remedy(effect.text)
        done = _EFFECTS.get(effect.kind, "something is done")
        yield Finding(
            "side-effects", "wrong", f"{done} only while {place.name} is traced", str(place), 1,
            0.0, (what,), instead,
        )  # fmt: skip


def _told_and_remedy(text: str) -> tuple[str, str]:
    """What a warning says, in two: what is so, and from its first request on what to write."""
    sentences = text.split(". ")
    requests = ("Write ", "Read ", "Pass ", "Ask ", "Return ", "Use ")
    first = next((k for k, s in enumerate(sentences) if s.startswith(requests)), len(sentences))
    told, instead = ". ".join(sentences[:first]), ". ".join(sentences[first:])
    return (told + "." if instead else told), instead


_EFFECTS = {
    "text": "a traced value is printed or formatted",
    "clock": "the clock is read",
    "random": "random numbers are drawn",
    "input": "input is read",
    "file": "a file is used",
}


def _find_leaks(seen: Examination) -> Iterator[Finding]:
    for place, effect in seen.effects.values():
        if effect.kind == "stored":
            yield Finding(
                "leaks", "wrong", f"{place.name} keeps a traced value", str(place), 1, 0.0,
                _told_and_remedy(effect.text)[:1], _told_and_remedy(effect.text)[1],
            )  # fmt: skip
    if isinstance(seen.error, UnexpectedTracerError):
        made_at = getattr(seen.error.tracer, "made_at", NOWHERE)
        made = str(Place("", made_at.file, made_at.line)) if made_at.file else ""
        yield Finding(
            "leaks",
            "wrong",
            "a traced value was used after its trace had ended, which ended the program",
            made,
            1,
            0.0,
            (f"it was made at {made}",) if made else (),
            "Return the value from the function; do not keep it in a global, an attribute or a "
            "list.",
        )


# --------------------------------------------------------------------------------------- notes


def _find_constants(seen: Examination) -> Iterator[Finding]:
    known: set[int] = set()
    for trace in seen.traces:
        if trace.parent is not None:
            continue
        for array in trace.captured:
            if array.id in known:
                continue
            known.add(array.id)
            name = array.label or f"an array {array.type}"
            yield Finding(
                "constants",
                "note",
                f"{trace.place.name} captures {array.bytes / 1e6:,.0f} MB: {name}",
                str(trace.place),
                1,
                0.0,
                (f"{array.type}, held for as long as the compiled function is",),
                "Pass the array as an argument: then it can be freed, replaced or donated, and "
                "the program is saved and compared without it.",
            )


def _find_narrowing(seen: Examination) -> Iterator[Finding]:
    groups: dict[tuple[str, str, bool], list[Narrowed]] = {}
    for fact in seen.narrowed.values():
        groups.setdefault((fact.asked, fact.found, fact.explicit), []).append(fact)
    for (asked, found, explicit), facts in groups.items():
        lost = sum(f.lost for f in facts)
        facts.sort(key=lambda f: -max(f.bytes, f.times))
        at = dict.fromkeys(_narrowed_in_words(f) for f in facts)
        listed = list(at)[:5] + (["and " + _places(len(at) - 5)] if len(at) > 5 else [])
        title = (
            f"{asked} is asked for and becomes {found}" if explicit
            else f"NumPy arrays of {asked} become {found}"
        )  # fmt: skip
        if lost:
            title += f"; {lost:,} number{' does' if lost == 1 else 's do'} not fit"
        yield Finding(
            "narrowing",
            "wrong" if lost else "note",
            title,
            "",
            sum(f.times for f in facts),
            0.0,
            tuple(listed),
            f'For {asked}, call config.update("jax_enable_x64", True) at the start of the program'
            + ("." if lost else f"; else make the array {found}, which says so."),
        )


def _places(count: int) -> str:
    return f"{count} more place{'' if count == 1 else 's'}"


def _narrowed_in_words(fact: Narrowed) -> str:
    times = "" if fact.times == 1 else f", {fact.times:,} times"
    size = f", {fact.bytes / 1e6:.1f} MB" if fact.bytes >= 100_000 else ""
    return f"{fact.what + ' ' if fact.what else ''}at {fact.place}{times}{size}"


KINDS = (
    Kind("stale", "calls with a captured value that had changed", _find_stale),
    Kind("side-effects", "lines that act only while tracing", _find_effects),
    Kind("leaks", "traced values kept or used after their trace", _find_leaks),
    Kind("captures", "retraces because of captured values", find_captures),
    Kind("jit-in-loop", "traces of functions made anew", find_loops),
    Kind("statics", "retraces for static arguments without equality", find_statics),
    Kind("shapes", "retraces for other shapes", find_shapes),
    Kind("recompiles", "needless traces of every kind", find_recompiles),
    Kind("constants", "captured arrays of more than 10 MB", _find_constants),
    Kind("narrowing", "64-bit values made 32-bit ones", _find_narrowing),
)

NAMES = (*(kind.name for kind in KINDS), "any")
_PARTS = {"recompiles": ("captures", "jit-in-loop", "statics", "shapes", "recompiles")}
