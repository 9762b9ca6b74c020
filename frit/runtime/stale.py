"""What is told of captures that changed: once each, with what to write instead.

warn     the compiled value is kept, and the change told
error    the call is refused
retrace  nothing is told, until the same capture has caused three retraces
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from frit import errors
from frit.errors import CaptureChangedError, CaptureChangedWarning
from frit.runtime import events
from frit.runtime.guards import Change

RETRACES_BEFORE_REPORT = 3
_told: set[tuple[str, str]] = set()

_REMEDY = (
    "Pass the value as an argument of the function, or choose what a change does with "
    'jit(..., captures="retrace"), "warn", "error" or "freeze".'
)


def tell(function: Any, changes: Sequence[Change], policy: str) -> None:
    """CaptureChangedError, or a warning told once for each change."""
    events.tell("stale", function=function, changes=changes, policy=policy)
    place = errors.function_place(function)
    if policy == "error":
        raise CaptureChangedError(
            f"{place} was compiled with values from outside its arguments, and they changed:\n"
            + "".join(f"  {change}\n" for change in changes)
            + _REMEDY
        )
    for change in changes:
        if (key := (place, str(change))) not in _told:
            _told.add(key)
            warnings.warn(
                f"{place} runs with the value it was compiled with: {change}. {_REMEDY}",
                CaptureChangedWarning,
                stacklevel=errors.user_stack_level(),
            )


def count(function: Any, changed: Counter[str], changes: Sequence[Change]) -> None:
    """Notes a retrace; a capture that keeps changing is told once."""
    for change in changes:
        changed[change.label] += 1
        if changed[change.label] == RETRACES_BEFORE_REPORT:
            warnings.warn(
                f"{errors.function_place(function)} was traced and compiled again "
                f"{RETRACES_BEFORE_REPORT} times because of {change}. A value that keeps changing "
                "costs a compilation each time: pass it as an argument of the function.",
                CaptureChangedWarning,
                stacklevel=errors.user_stack_level(),
            )


def forget() -> None:
    """Tells everything once more."""
    _told.clear()
