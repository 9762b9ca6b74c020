"""What the runtime does, told to those who listen: traces and compilations, as they happen.

    trace       a function was traced      function, purpose, seconds, traced, entry, traces
    miss        a call took the long way: its signature had not been seen by the quick dispatch
    compile     a program was compiled     function, types, seconds, closed
    aot_call    a program that was compiled ahead of time was called
    stale       a capture changed, and the call was refused or went on     function, changes, policy
    unhashable  a static argument has no hash                              function, argument, value

`function` of a trace or compilation is a name; `traced` is the function itself, `entry` its trace,
and `traces` the earlier ones.

The log (logger `frit.runtime`) is one listener: debug messages, or warnings with `log_compiles`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from frit import config

Listener = Callable[[str, dict[str, Any]], None]

logger = logging.getLogger("frit.runtime")
_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Calls `listener(event, facts)` for every event from now on."""
    _listeners.append(listener)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Calls `listener(event, facts)` for every event within the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(event: str, **facts: Any) -> None:
    """Tells all listeners of an event."""
    for listener in _listeners:
        listener(event, facts)


def _log(event: str, facts: dict[str, Any]) -> None:
    level = logging.WARNING if config.log_compiles.value else logging.DEBUG
    if event not in ("trace", "compile") or not logger.isEnabledFor(level):
        return
    name, seconds = facts["function"], facts["seconds"]
    if event == "trace":
        logger.log(level, f"Finished tracing {name} for {facts['purpose']} in {seconds:.9f} sec")
        return
    types = ", ".join(str(t) for t in facts["types"])
    logger.log(level, f"Compiling jit({name}) with global shapes and types ({types})")
    logger.log(level, f"Finished XLA compilation of jit({name}) in {seconds:.9f} sec")


listen(_log)
