"""Listeners to what frit does, under the names of jax.monitoring.

/jax/core/compile/jaxpr_trace_duration       a function was traced
/jax/core/compile/backend_compile_duration   a program was compiled
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit.runtime import events

__all__ = [
    "clear_event_listeners", "record_event", "record_event_duration_secs", "record_scalar",
    "register_event_duration_secs_listener", "register_event_listener", "register_scalar_listener",
]  # fmt: skip

_on_event: list[Callable[..., None]] = []
_on_duration: list[Callable[..., None]] = []
_on_scalar: list[Callable[..., None]] = []
_NAMES = {
    "trace": "/jax/core/compile/jaxpr_trace_duration",
    "compile": "/jax/core/compile/backend_compile_duration",
}


def register_event_listener(callback: Callable[..., None]) -> None:
    """Calls `callback(event, **kwargs)` for each recorded event from now on."""
    _on_event.append(callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """Calls `callback(event, seconds, **kwargs)` for each recorded duration from now on."""
    _on_duration.append(callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """Calls `callback(event, value, **kwargs)` for each recorded number from now on."""
    _on_scalar.append(callback)


def record_event(event: str, **kwargs: Any) -> None:
    """Tells listeners of an event."""
    for callback in list(_on_event):
        callback(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: Any) -> None:
    """Tells listeners how long something took."""
    for callback in list(_on_duration):
        callback(event, duration, **kwargs)


def record_scalar(event: str, value: float, **kwargs: Any) -> None:
    """Tells listeners of a number."""
    for callback in list(_on_scalar):
        callback(event, value, **kwargs)


def clear_event_listeners() -> None:
    """Forgets all listeners."""
    for listeners in (_on_event, _on_duration, _on_scalar):
        listeners.clear()


def _pass_on(event: str, facts: dict[str, Any]) -> None:
    if event in _NAMES and _on_duration:
        record_event_duration_secs(_NAMES[event], facts["seconds"], fun_name=facts["function"])


events.listen(_pass_on)
