"""Why a call was traced: what of its cache key differs from the closest earlier key, in words."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Sequence
from typing import Any

from frit import config, errors, trees
from frit.diagnostics.causes import causes, closest
from frit.ir.jaxpr import DebugInfo
from frit.runtime.cache import CacheKey, FunctionTraces
from frit.runtime.guards import Change

logger = logging.getLogger("frit.runtime")
_seen_at: dict[tuple[str, str], weakref.ref[Any]] = {}
_OWN = ("frit.",)


def log_miss(
    function: Any, key: CacheKey, traces: FunctionTraces, changes: Sequence[Change], info: DebugInfo
) -> None:
    """Logs why `function` is traced for `key`; nothing for functions of frit itself."""
    if (getattr(function, "__module__", None) or "").startswith(_OWN):
        return
    frame = errors.user_frame()
    at = "" if frame is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"
    logger.warning(f"TRACING CACHE MISS{at}:\n" + explanation(function, key, traces, changes, info))


def explanation(
    function: Any, key: CacheKey, traces: FunctionTraces, changes: Sequence[Change], info: DebugInfo
) -> str:
    """Why there is no trace for `key` among `traces`."""
    defined = f"{info.function} defined at {info.place}" if info.place else info.function
    earlier = list(traces.entries)
    before = closest(key, earlier)
    if before is None:
        return _first_trace(function, info, defined)
    why = causes(function, key, earlier, changes, info.argument_names)
    lines = [
        f"  for {defined}",
        "  all previously seen cache keys differ. For the closest previous key:",
        *_differences(key, before, info),
        *(f"  cause: {cause}" for cause in why),
    ]
    return "\n".join(lines)


def _first_trace(function: Any, info: DebugInfo, defined: str) -> str:
    text = f"  never seen function:\n    {info.function} id={id(function)}"
    text += f" defined at {info.place}" if info.place else ""
    if info.place and _is_redefined(function, (info.function, info.place)):
        text += (
            "\n  but seen another function defined on the same line; maybe the function is\n"
            "  being re-defined repeatedly, preventing caching?"
        )
    return text


def _is_redefined(function: Any, place: tuple[str, str]) -> bool:
    """Whether another function was traced that was defined at `place`."""
    known = _seen_at.get(place)
    try:
        _seen_at[place] = weakref.ref(function)
    except TypeError:
        return False
    return known is not None and known() is not function


def _differences(now: CacheKey, before: CacheKey, info: DebugInfo) -> list[str]:
    """What differs between two keys, field by field."""
    lines: list[str] = []
    if now.tree != before.tree:
        first, second = (k.tree.unflatten([0] * k.tree.num_leaves) for k in (now, before))
        lines.append("  different input pytree:")
        lines += [
            f"  * at input path {trees.keystr(path)}, now {a} and before {b}, so {why}"
            for path, a, b, why in trees.equality_errors(first, second)
        ]
    elif now.types != before.types:
        lines += _type_differences(now.types, before.types, info.argument_names)
    if now.static != before.static:
        lines.append("  different value of static args:")
        lines.append(f"  * now {_static(now)} and before {_static(before)}")
    if now.axes != before.axes:
        lines.append(f"  different mapped axes: now {now.axes} and before {before.axes}")
    if now.extra != before.extra:
        lines.append(f"  different {now.purpose}: now {now.extra} and before {before.extra}")
    if now.settings != before.settings:
        lines.append("  Tracing context doesn't match, e.g. due to config or context manager.")
        lines += [
            f"  * jax_{name} differs: now {a} and before {b}"
            for name, a, b in zip(
                config.names_of_trace_settings(), now.settings, before.settings, strict=True
            )
            if a != b
        ]
    return lines


def _static(key: CacheKey) -> str:
    return ", ".join(repr(value) for _, value in key.static)


def _type_differences(now: Sequence[Any], before: Sequence[Any], names: Sequence[str]) -> list[str]:
    lines = ["  different input types:"]
    weak = False
    for i, (a, b) in enumerate(zip(now, before, strict=True)):
        if a == b:
            continue
        name = names[i] if i < len(names) else f"argument {i}"
        x, y = (t.str_short(short_dtypes=True).removeprefix("~") for t in (a, b))
        if x == y:
            weak = True
            x += f"{{weak_type={a.weak_type}}}"
            y += f"{{weak_type={b.weak_type}}}"
        lines.append(f"  * at {name}, now {x} and before {y}")
    if weak:
        lines.append(
            "  where weak_type=True often means a Python builtin numeric value, and "
            "weak_type=False means an array. See https://docs.jax.dev/en/latest/type_promotion.html#weak-types."
        )
    return lines
