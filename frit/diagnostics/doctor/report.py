"""What the doctor says of a program: figures, findings, and the time of each function.

report = DoctorReport.of(seen, program="train.py --fast", status=0)
report.text() | report.to_dict() | report.to_html()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from frit.diagnostics.doctor import report_html, report_text
from frit.diagnostics.doctor.collecting import Examination
from frit.diagnostics.doctor.conditions import Condition
from frit.diagnostics.doctor.finding import Finding
from frit.diagnostics.doctor.findings import counts_of, findings_of
from frit.diagnostics.doctor.observed import Place


@dataclass
class FunctionTime:
    """What one function took, in seconds. run: of calls, without tracing and compiling."""

    function: str
    calls: int = 0
    traces: int = 0
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0
    run_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.trace_seconds + self.compile_seconds + self.run_seconds


@dataclass(frozen=True)
class DoctorReport:
    """A program's findings, the most expensive first. seconds: of the whole program.

    counts: for each name of `--fail-on`, how many there are, and the seconds they cost. failed: the
    conditions of `--fail-on` that hold. error: the exception that ended the program, if one did.
    failures: errors that kept the doctor from seeing something.
    """

    program: str
    status: int
    error: str
    seconds: float
    functions: tuple[FunctionTime, ...]
    findings: tuple[Finding, ...]
    counts: dict[str, tuple[int, float]]
    failed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @staticmethod
    def of(
        seen: Examination, program: str, status: int, conditions: Sequence[Condition] = ()
    ) -> DoctorReport:
        findings = findings_of(seen)
        counts = counts_of(findings)
        error = seen.error
        return DoctorReport(
            program,
            status,
            "" if error is None else f"{type(error).__name__}: {str(error).partition(chr(10))[0]}",
            seen.seconds,
            tuple(_times_of(seen)),
            tuple(findings),
            counts,
            tuple(str(c) for c in conditions if c.holds(counts)),
            tuple(f"{text} ({times}×)" for text, times in seen.failures.items()),
        )

    @property
    def trace_seconds(self) -> float:
        return sum(f.trace_seconds for f in self.functions)

    @property
    def compile_seconds(self) -> float:
        return sum(f.compile_seconds for f in self.functions)

    @property
    def run_seconds(self) -> float:
        return sum(f.run_seconds for f in self.functions)

    @property
    def saved_seconds(self) -> float:
        """What the remedies would save, at most what was spent."""
        spent = self.trace_seconds + self.compile_seconds
        return min(spent, sum(f.seconds for f in self.findings))

    def to_dict(self) -> dict[str, Any]:
        """The report as dicts, lists, strings and numbers; times in seconds."""
        return {
            "program": self.program,
            "status": self.status,
            "error": self.error,
            "seconds": self.seconds,
            "trace_seconds": self.trace_seconds,
            "compile_seconds": self.compile_seconds,
            "run_seconds": self.run_seconds,
            "findings": [asdict(f) for f in self.findings],
            "counts": {name: count for name, (count, _) in self.counts.items()},
            "functions": [asdict(f) for f in self.functions],
            "failed": list(self.failed),
            "failures": list(self.failures),
        }

    def text(self, width: int = 100) -> str:
        """The report as plain text."""
        return report_text.plain_text(self, width)

    def to_html(self) -> str:
        """The report as one HTML page."""
        return report_html.page_of(self)

    def __rich__(self) -> Any:
        return report_text.rich_report(self)


def _times_of(seen: Examination) -> list[FunctionTime]:
    """Rows of time by function, the longest first."""
    rows: dict[Place, FunctionTime] = {}

    def row(place: Place) -> FunctionTime:
        return rows.setdefault(place, FunctionTime(str(place)))

    for trace in seen.traces:
        if trace.own_seconds or trace.compile_seconds:
            made = row(trace.place)
            made.traces += 1
            made.trace_seconds += trace.own_seconds
            made.compile_seconds += trace.compile_seconds
    for place, seconds in seen.compiled_elsewhere.items():
        row(place).compile_seconds += seconds
    for place, calls in seen.calls.items():
        row(place).calls += calls.count
        row(place).run_seconds += calls.seconds
    return sorted(rows.values(), key=lambda f: -f.seconds)
