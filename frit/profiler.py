"""Traces of what a program spends its time on, under the names of jax.profiler.

    with jax.profiler.trace("/tmp/profile"):
        with jax.profiler.TraceAnnotation("step"):
            f(x)

The trace holds annotations, traces of functions and compilations, as a Chrome trace: one JSON file
that chrome://tracing and Perfetto read.
"""

from __future__ import annotations

import functools
import json
import pathlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from frit.runtime import events

__all__ = [
    "StepTraceAnnotation", "TraceAnnotation", "annotate_function", "start_trace", "stop_trace",
    "trace",
]  # fmt: skip


class _Session:
    """The trace that is being recorded."""

    directory: pathlib.Path | None = None
    events: list[dict[str, Any]] = []


def start_trace(log_dir: Any, *_: Any, **__: Any) -> None:
    """Begins to record.  RuntimeError if a trace is being recorded already."""
    if _Session.directory is not None:
        raise RuntimeError(
            "Profile has already been started. Only one profile may be run at a time."
        )
    _Session.directory, _Session.events = pathlib.Path(log_dir), []


def stop_trace() -> pathlib.Path:
    """Ends the recording and writes it; the path of the file.  RuntimeError if there is none."""
    if _Session.directory is None:
        raise RuntimeError("No profile started")
    folder = _Session.directory / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "frit.trace.json"
    path.write_text(json.dumps({"traceEvents": _Session.events}))
    _Session.directory = None
    return path


@contextmanager
def trace(log_dir: Any, *_: Any, **__: Any) -> Iterator[None]:
    """Records what runs within the block, and writes it to `log_dir`."""
    start_trace(log_dir)
    try:
        yield
    finally:
        stop_trace()


def _record(name: str, began: float, seconds: float, **facts: Any) -> None:
    if _Session.directory is not None:
        _Session.events.append(
            dict(
                name=name, ph="X", pid=0, tid=threading.get_ident(), ts=1e6 * began,
                dur=1e6 * seconds, args={k: str(v) for k, v in facts.items()},
            )
        )  # fmt: skip


def _listen(event: str, facts: dict[str, Any]) -> None:
    if event in ("trace", "compile"):
        seconds = facts["seconds"]
        name = f"{event} {facts['function']}"
        _record(name, time.perf_counter() - seconds, seconds)


events.listen(_listen)


class TraceAnnotation:
    """Within the block, a span with a name of the user's in the trace."""

    def __init__(self, name: str, **facts: Any) -> None:
        self.name, self.facts = name, facts

    def __enter__(self) -> TraceAnnotation:
        self.began = time.perf_counter()
        return self

    def __exit__(self, *error: Any) -> None:
        _record(self.name, self.began, time.perf_counter() - self.began, **self.facts)


class StepTraceAnnotation(TraceAnnotation):
    """A span that is one step of a training loop."""


def annotate_function(
    func: Callable[..., Any], name: str | None = None, **facts: Any
) -> Callable[..., Any]:
    """`func`, whose calls are spans in the trace."""

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(name or str(getattr(func, "__qualname__", "function")), **facts):
            return func(*args, **kwargs)

    return annotated
