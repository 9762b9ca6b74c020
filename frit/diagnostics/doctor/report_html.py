"""A doctor's report as one HTML page: figures, findings, time by function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frit.diagnostics.doctor.report_text import (
    cells_of,
    headline,
    mark,
    time_text,
    verdict,
)
from frit.diagnostics.page import (
    Markup,
    Section,
    bar,
    code,
    element,
    facts,
    joined,
    page,
    table,
    tiles,
)
from frit.diagnostics.quantities import plural

if TYPE_CHECKING:
    from frit.diagnostics.doctor.finding import Finding
    from frit.diagnostics.doctor.report import DoctorReport


def page_of(report: DoctorReport) -> str:
    """The page of a report."""
    lead = element("p", headline(report), class_="note")
    sections = [Section("Summary", _summary(report), verdict(report))]
    sections += [
        Section(f"{number}. {finding.title}", _finding(finding), mark(finding))
        for number, finding in enumerate(report.findings, 1)
    ]
    sections.append(
        Section(
            "Time by function",
            _times(report),
            "Without what other functions took within; the bar is the sum, its dark part the time "
            "spent on tracing and compiling.",
        )
    )
    return page(f"frit doctor: {report.program}", sections, lead=lead)


def _summary(report: DoctorReport) -> Markup:
    calls = sum(f.calls for f in report.functions)
    traces = sum(f.traces for f in report.functions)
    needless = report.counts["recompiles"][0]
    wrong = sum(f.severity == "wrong" for f in report.findings)
    status = f"--fail-on: {', '.join(report.failed)}" if report.failed else ""
    figures = tiles(
        (
            ("in all", time_text(report.seconds), f"exit status {report.status}"),
            ("tracing", time_text(report.trace_seconds), plural(traces, "trace")),
            ("compiling", time_text(report.compile_seconds), f"{needless} recompiles"),
            ("running", time_text(report.run_seconds), plural(calls, "call")),
            ("could be saved", time_text(report.saved_seconds), "of tracing and compiling"),
            ("may be wrong", str(wrong), "findings"),
        )
    )  # fmt: skip
    return joined((figures, element("p", status) if status else ""))


def _finding(finding: Finding) -> Markup:
    told = joined(element("p", detail) for detail in finding.details)
    pairs: list[tuple[str, Any]] = []
    pairs += [("where", element("code", finding.place))] if finding.place else []
    pairs += [("what", told)] if finding.details else []
    pairs += [("how often", f"{finding.count:,}")] if finding.count > 1 else []
    pairs += [("remedy", finding.remedy)] if finding.remedy else []
    return joined((facts(pairs), code(finding.example) if finding.example else ""))


def _times(report: DoctorReport) -> Markup:
    most = max((f.seconds for f in report.functions), default=0.0) or 1.0
    rows = []
    for row in report.functions:
        name, *cells = cells_of(row)
        prepared = row.trace_seconds + row.compile_seconds
        part = prepared / row.seconds if row.seconds else 0.0
        rows.append((name, bar(row.seconds / most, part, "kernel"), *cells))
    columns = ("function", "", ">calls", ">traces", ">trace", ">compile", ">run")
    return table(columns, rows)
