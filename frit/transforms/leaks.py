"""Leaks: tracers that outlive the transformation that made them, found where the setting asks.

With `check_tracer_leaks`, a trace or a vmap that ends while a tracer of its level is still referred
to raises, and tells who refers to it.
"""

from __future__ import annotations

import gc
import types
from typing import Any

from frit import config, errors
from frit.errors import SourceInfo
from frit.ir.primitive import Level, Tracer

_DEPTH = 4


def made_at(*parts: Any) -> SourceInfo:
    """Where a tracer of these parts was made: where a part was, if one is a tracer, else here."""
    for part in parts:
        if isinstance(part, Tracer):
            return part.made_at
    return errors.source_info()


def check_leaks(level: Level) -> None:
    """Raises an exception if tracers of a level that has ended are alive, and the setting is on."""
    if not config.check_tracer_leaks.value:
        return
    gc.collect()
    leaked = [x for x in gc.get_objects() if isinstance(x, Tracer) and x.level is level]
    if leaked:
        texts = [_describe(x, leaked) for x in leaked]
        raise Exception(
            f"Leaked trace of {level.description}. Leaked tracer(s):\n\n" + "\n\n".join(texts)
        )


def _describe(tracer: Tracer, own: list[Any]) -> str:
    name = type(tracer).__name__
    lines = [repr(tracer), f"This {name} with object id {id(tracer)} was created on line:"]
    lines.append(f"  {tracer.made_at}")
    seen: Any = tracer
    ignored = {id(own)}
    for _ in range(_DEPTH):
        holder = _holder(seen, ignored)
        if holder is None:
            break
        lines.append(f"{_label(seen)} is referred to by {_label(holder)}{_place(holder, seen)}")
        seen = holder
    return "\n".join(lines)


def _holder(value: Any, ignored: set[int]) -> Any:
    """What refers to a value, frames aside."""
    for holder in gc.get_referrers(value):
        if isinstance(holder, types.FrameType) or id(holder) in ignored:
            continue
        ignored.add(id(holder))
        return holder
    return None


def _label(value: Any) -> str:
    return f"<{type(value).__name__} {id(value)}>"


def _place(holder: Any, value: Any) -> str:
    """Where in its holder a value is."""
    if isinstance(holder, (list, tuple)):
        return f"[{next(i for i, x in enumerate(holder) if x is value)}]"
    if isinstance(holder, dict):
        key = next((k for k, x in holder.items() if x is value), None)
        return "" if key is None else f"[{key!r}]"
    if isinstance(holder, types.CellType):
        return " (a variable that a function closes over)"
    return ""
