"""`python -m frit doctor`: runs a program, watches it, and says what costs time or may be wrong.

    report, status = examine(program.run, str(program), JitFunction, conditions)

collecting  what is seen while the program runs
findings    what of it should be otherwise, in a table of kinds; retraces: what costs traces
conditions  the grammar of `--fail-on`
report      text, data, page
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from types import TracebackType

from frit.diagnostics.doctor.collecting import Examination
from frit.diagnostics.doctor.conditions import Condition, conditions_of
from frit.diagnostics.doctor.findings import KINDS, NAMES
from frit.diagnostics.doctor.report import DoctorReport

__all__ = ["KINDS", "NAMES", "DoctorReport", "conditions_of", "examine"]

FAILED = 3  # the exit status where a condition holds


def examine(
    run: Callable[[], None], program: str, jitted: type, conditions: Sequence[Condition] = ()
) -> DoctorReport:
    """Runs a program to its end, however it ends, and reports on it.

    jitted: the class of jitted functions. The report's status is the program's own, but FAILED
    where that is 0 and a condition holds. An exception that ends the program is shown as Python
    shows it. What begins a process of its own, or ends this one (os.execv, os._exit), is not seen.
    """
    seen, status = Examination(), 0
    with seen.watching(jitted):
        try:
            run()
        except BaseException as error:
            _hide_frames(error, (_FOLDER, inspect.getfile(run)))
            status = _status_of(error, seen)
    sys.stdout.flush()
    report = DoctorReport.of(seen, program, status, conditions)
    if report.failed and not status:
        report = DoctorReport.of(seen, program, FAILED, conditions)
    return report


def _status_of(error: BaseException, seen: Examination) -> int:
    """The exit status that Python gives an exception, which is shown."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    seen.error = error
    sys.stdout.flush()
    sys.excepthook(type(error), error, error.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


_FOLDER = os.path.dirname(__file__)


def _hide_frames(error: BaseException | None, files: tuple[str, ...]) -> None:
    """Takes what runs and watches the program out of the tracebacks of an error."""
    known: set[int] = set()
    while error is not None and id(error) not in known:
        known.add(id(error))
        shown = [
            t
            for t in _frames(error.__traceback__)
            if not t.tb_frame.f_code.co_filename.startswith(files)
        ]
        for frame, following in zip(shown, [*shown[1:], None], strict=True):
            frame.tb_next = following
        error.__traceback__ = shown[0] if shown else None
        error = error.__cause__ or error.__context__


def _frames(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found
