"""A doctor's report as text, for a terminal or a file; rich lays it out."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from frit.diagnostics import quantities
from frit.diagnostics.quantities import plural

if TYPE_CHECKING:
    from frit.diagnostics.doctor.finding import Finding
    from frit.diagnostics.doctor.report import DoctorReport, FunctionTime

_MOST_FUNCTIONS = 12
_COLOURS = {"wrong": "bold red", "slow": "yellow", "note": "cyan"}
_MARKS = {"wrong": "results may be wrong", "slow": "costs time", "note": "good to know"}


def time_text(seconds: float) -> str:
    """Seconds for people; nothing is `0 s`."""
    return quantities.time_text(seconds) if seconds else "0 s"


def headline(report: DoctorReport) -> str:
    """What the program took."""
    calls = sum(f.calls for f in report.functions)
    ended = "" if not report.error else f" It ended with {report.error}"
    blind = "".join(f" Something could not be examined: {text}." for text in report.failures)
    return (
        f"{time_text(report.seconds)} in all: tracing {time_text(report.trace_seconds)}, "
        f"compiling {time_text(report.compile_seconds)}, "
        f"{time_text(report.run_seconds)} in {plural(calls, 'call')} of compiled functions."
        + ended
        + blind
    )


def verdict(report: DoctorReport) -> str:
    """How much was found."""
    if not report.findings:
        return "Nothing found that should be otherwise."
    wrong = sum(f.severity == "wrong" for f in report.findings)
    found = plural(len(report.findings), "finding")
    saved = report.saved_seconds
    text = f"{found}, the most expensive first."
    if saved >= 0.001:
        text += f" The remedies would save up to {time_text(saved)}."
    if wrong:
        verb = "says" if wrong == 1 else "say"
        text += f" {wrong} {verb} that results may be wrong."
    return text


def mark(finding: Finding) -> str:
    """The kind of a finding, and its cost or its severity."""
    cost = time_text(finding.seconds) if finding.seconds >= 0.0005 else _MARKS[finding.severity]
    return f"{finding.kind}, {cost}"


def cells_of(row: FunctionTime) -> tuple[str, ...]:
    """The cells of a row of time by function."""
    seconds = (row.trace_seconds, row.compile_seconds, row.run_seconds)
    texts = [time_text(s) if s >= 1e-7 else "" for s in seconds]
    counts = [f"{n:,}" if n else "" for n in (row.calls, row.traces)]
    return (row.function, *counts, *texts)


def plain_text(report: DoctorReport, width: int) -> str:
    """The report without colours."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    console.print(rich_report(report))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def rich_report(report: DoctorReport) -> Any:
    """The report for `rich.print`."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [
        Text(f"frit doctor: {report.program}", style="bold"),
        Text(headline(report)),
        Text(verdict(report), style="bold green" if not report.findings else "bold"),
    ]
    for number, finding in enumerate(report.findings, 1):
        parts += [Text(""), *_finding(number, finding)]
    if report.functions:
        parts += [Text(""), _time_table(report)]
    if report.failed:
        parts += [Text(""), Text(f"--fail-on: {', '.join(report.failed)}", style="bold red")]
    return Group(*parts)


def _finding(number: int, finding: Finding) -> list[Any]:
    from rich.padding import Padding
    from rich.text import Text

    title = Text(f"{number}. {finding.title}", style="bold")
    title.append(f"  [{mark(finding)}]", style=_COLOURS[finding.severity])
    lines: list[Any] = [Text(f"at {finding.place}", style="dim")] if finding.place else []
    lines += [Text(detail) for detail in finding.details]
    if finding.remedy:
        lines.append(Text(f"→ {finding.remedy}", style="green"))
    if finding.example:
        lines.append(Padding(Text(finding.example, style="cyan"), (0, 0, 0, 4)))
    return [title, *(Padding(line, (0, 0, 0, 3)) for line in lines)]


def _time_table(report: DoctorReport) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title="Time by function", title_justify="left", title_style="bold", box=None,
        padding=(0, 2, 0, 0),
    )  # fmt: skip
    for name in ("function", "calls", "traces", "trace", "compile", "run"):
        number = name != "function"
        table.add_column(
            name, justify="right" if number else "left", no_wrap=number,
            overflow="fold", header_style="dim",
        )  # fmt: skip
    for row in report.functions[:_MOST_FUNCTIONS]:
        table.add_row(*map(Text, cells_of(row)))
    rest = report.functions[_MOST_FUNCTIONS:]
    if rest:
        seconds = sum(f.seconds for f in rest)
        table.add_row(Text(f"and {len(rest)} more, {time_text(seconds)} in all", style="dim"))
    return table
