"""The report that `frit.explain(f)(*args)` gives: text, dict, page."""

from __future__ import annotations

import os
import pathlib
from dataclasses import asdict
from typing import Any

from frit.diagnostics import report_html, report_text
from frit.diagnostics.facts import Facts


class PipelineReport:
    """One call through every stage of the compiler.

    `print(report)` and `.text()` are plain text, `rich.print(report)` has colours, `.to_dict()` is
    data for `json.dumps`, `.to_html()` one page without outer resources, `.save("x.html")` writes
    it. `.result`: what the call gave. `.facts`: the data as records.
    """

    def __init__(self, facts: Facts, result: Any) -> None:
        self.facts, self.result = facts, result

    def text(self, *, detail: bool = False) -> str:
        """The report as plain text; detail: with the jaxprs and the loops of each kernel."""
        return report_text.plain_text(self.facts, detail=detail)

    def to_dict(self) -> dict[str, Any]:
        """The facts as dicts, lists, strings and numbers. Seconds and bytes are plain numbers."""
        return asdict(self.facts)

    def to_html(self) -> str:
        """The report as one HTML page."""
        return report_html.page_of(self.facts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report; the ending chooses: .html, .json, else plain text with details.

        Raises OSError where the file cannot be written.
        """
        path = pathlib.Path(path)
        path.write_text(self._as(path.suffix.lower()), encoding="utf-8")

    def _as(self, ending: str) -> str:
        if ending in (".html", ".htm"):
            return self.to_html()
        if ending == ".json":
            import json

            return json.dumps(self.to_dict(), indent=1)
        return self.text(detail=True) + "\n"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<PipelineReport of {self.facts.function}: {len(self.facts.steps)} steps>"

    def __rich__(self) -> Any:
        return report_text.rich_report(self.facts)
