"""What `f.explain()` gives: every trace of a jitted function, and why it was made."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from frit import errors
from frit.diagnostics.causes import causes_of
from frit.diagnostics.quantities import plural, size_text, time_text
from frit.runtime.cache import Entry, FunctionTraces
from frit.runtime.execute import known_program

LARGE = 10_000_000  # bytes of captured arrays from which on they are mentioned


@dataclass(frozen=True)
class TraceFacts:
    """One trace.

    trace_seconds: of tracing. stage_seconds: of each stage of the compiler, when its machine code
    was made; equal traces share one. Empty, and code_bytes None, where the trace has no program of
    its own: it ran inside another function. equations: of its jaxpr. hits: calls that found this
    trace. guards: the captures that are checked at each call. unguarded: what was read and is not
    checked.
    """

    number: int
    causes: tuple[str, ...]
    types: tuple[str, ...]
    trace_seconds: float
    stage_seconds: dict[str, float]
    code_bytes: int | None
    equations: int
    hits: int
    guards: tuple[str, ...]
    unguarded: tuple[str, ...]
    captured_bytes: int

    @property
    def compile_seconds(self) -> float:
        return sum(self.stage_seconds.values())


class TraceReport:
    """The traces of one function: `print(report)` is plain text, `rich.print(report)` a table.

    `.to_dict()` is data for `json.dumps`, `.traces` the records, in the order they were made.
    """

    def __init__(self, function: Any, traces: FunctionTraces) -> None:
        self.function = errors.function_place(function)
        self.retraces, self.hits = max(traces.misses - 1, 0), traces.hits()
        entries = sorted(traces.entries.values(), key=lambda e: e.number)
        self.traces = tuple(_facts(function, e, entries) for e in entries)

    def to_dict(self) -> dict[str, Any]:
        """The report as dicts, lists, strings and numbers; times in seconds, sizes in bytes."""
        return {
            "function": self.function,
            "hits": self.hits,
            "retraces": self.retraces,
            "traces": [asdict(t) for t in self.traces],
        }

    def text(self) -> str:
        """The report as plain text."""
        lines = [f"{self.function}: {plural(len(self.traces), 'trace')}, {self.hits} hits"]
        for t in self.traces:
            lines.append(f"#{t.number}  {'; '.join(t.causes)}")
            lines.append(f"    {_measures(t)}")
            lines += [f"    unguarded read of {text}" for text in t.unguarded]
            if t.captured_bytes > LARGE:
                lines.append(f"    {_megabytes(t.captured_bytes)} of arrays are captured")
        return "\n".join(lines)

    def table(self) -> Any:
        """The report as a table of rich."""
        from rich.table import Table

        title = f"{self.function}: {plural(len(self.traces), 'trace')}, {self.hits} hits"
        table = Table(title=title, title_justify="left")
        for name, justify in (
            ("#", "right"), ("cause", "left"), ("trace", "right"), ("compile", "right"),
            ("code", "right"), ("hits", "right"),
        ):  # fmt: skip
            table.add_column(name, justify=justify)  # type: ignore[arg-type]
        for t in self.traces:
            notes = [*t.causes, *(f"unguarded read of {text}" for text in t.unguarded)]
            if t.captured_bytes > LARGE:
                notes.append(f"{_megabytes(t.captured_bytes)} of arrays are captured")
            table.add_row(
                str(t.number), "\n".join(notes), time_text(t.trace_seconds),
                _known(t.compile_seconds, time_text), _known(t.code_bytes, size_text), str(t.hits),
            )  # fmt: skip
        return table

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<TraceReport of {self.function}: {plural(len(self.traces), 'trace')}>"

    def __rich__(self) -> Any:
        return self.table()

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        from rich.console import Console

        console = Console(record=True, width=110, file=io.StringIO())
        console.print(self.table())
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def _facts(function: Any, entry: Entry, entries: Sequence[Entry]) -> TraceFacts:
    executable = getattr(known_program(entry.closed), "executable", None)
    return TraceFacts(
        number=entry.number,
        causes=tuple(str(c) for c in causes_of(function, entry, entries)),
        types=tuple(t.str_short(short_dtypes=True) for t in entry.key.types),
        trace_seconds=entry.seconds,
        stage_seconds=dict(getattr(executable, "stage_seconds", {})),
        code_bytes=getattr(executable, "code_bytes", None),
        equations=len(entry.closed.jaxpr.eqns),
        hits=entry.hits,
        guards=tuple(dict.fromkeys(g.label for g in entry.guards.guards)),
        unguarded=entry.guards.unguarded,
        captured_bytes=sum(x.nbytes for x in entry.arrays()),
    )


def _measures(t: TraceFacts) -> str:
    parts = [f"{plural(t.equations, 'equation')}, traced in {time_text(t.trace_seconds)}"]
    if t.stage_seconds:
        slowest = max(t.stage_seconds, key=lambda name: t.stage_seconds[name])
        share = t.stage_seconds[slowest] / t.compile_seconds
        parts.append(f"compiled in {time_text(t.compile_seconds)} ({share:.0%} in stage {slowest})")
    if t.code_bytes is not None:
        parts.append(f"{size_text(t.code_bytes)} of code")
    parts.append(f"{plural(t.hits, 'hit')} since")
    if t.guards:
        parts.append(plural(len(t.guards), "guard"))
    return ", ".join(parts)


def _known(quantity: Any, text: Callable[[Any], str]) -> str:
    return text(quantity) if quantity else ""


def _megabytes(n: int) -> str:
    return f"{n / 1e6:.0f} MB"
