"""Why a function was traced again: the closest earlier key, and what differs from it, in words.

argument `params['w']`: f32[3,4] → f32[3,5]
global `LR` (train.py:12): 0.1 → 0.01
argument `train` is static: True → False
setting `enable_x64`: False → True
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from frit import config, trees
from frit.runtime.cache import CacheKey, Entry
from frit.runtime.guards import Change

_COMPARED = 64  # earlier keys looked at, the latest first


@dataclass(frozen=True)
class Cause:
    """One difference. kind: first, structure, argument, static, capture, axes, setting, other."""

    kind: str
    text: str
    subject: str = ""  # what changed, without its values

    def __str__(self) -> str:
        return self.text


FIRST = Cause("first", "first call")


def distance(now: CacheKey, before: CacheKey) -> int:
    """In how much two keys differ; another structure is farther off than another type."""
    fields = ("static", "axes", "extra", "settings")
    apart = sum(getattr(now, name) != getattr(before, name) for name in fields)
    if now.tree != before.tree:
        return apart + len(now.types) + len(before.types) + 1
    return apart + sum(a != b for a, b in zip(now.types, before.types, strict=True))


def closest(key: CacheKey, earlier: Sequence[CacheKey]) -> CacheKey | None:
    """The earlier key that differs least; of equally close ones the latest."""
    latest = list(reversed(earlier))[:_COMPARED]
    return min(latest, key=lambda k: distance(key, k), default=None)


def causes(
    function: Any,
    key: CacheKey,
    earlier: Sequence[CacheKey],
    changes: Sequence[Change],
    names: Sequence[str],
) -> list[Cause]:
    """Why there was no trace for `key`.

    earlier: the keys of the traces before. changes: captures that no longer held. names: of the
    arguments that are traced, one for each type of the key.
    """
    if changes:
        return [Cause("capture", str(change), change.label) for change in changes]
    before = closest(key, earlier)
    if before is None:
        return [FIRST]
    found = [
        *_arguments(function, key, before, names),
        *_static(function, key, before),
        *_surroundings(key, before),
    ]
    return found or [Cause("other", "an earlier trace was not kept, as it captured traced values")]


def causes_of(function: Any, entry: Entry, entries: Sequence[Entry]) -> list[Cause]:
    """Why `entry` was traced, given all traces of its function."""
    earlier = [e.key for e in entries if e.number < entry.number]
    names = entry.closed.jaxpr.debug_info.argument_names
    return causes(function, entry.key, earlier, entry.changes, names[-len(entry.key.types) :])


def _arguments(function: Any, now: CacheKey, before: CacheKey, names: Sequence[str]) -> list[Cause]:
    if now.tree != before.tree:
        return _structure(function, now, before)
    found = []
    for i, (a, b) in enumerate(zip(now.types, before.types, strict=True)):
        if a != b:
            name = names[i] if i < len(names) else f"number {i}"
            subject = f"argument `{name}`"
            found.append(Cause("argument", f"{subject}: {_type(b, a)} → {_type(a, b)}", subject))
    return found


def _structure(function: Any, now: CacheKey, before: CacheKey) -> list[Cause]:
    first, second = (k.tree.unflatten([0] * k.tree.num_leaves) for k in (before, now))
    if len(first[0]) != len(second[0]):
        subject = "number of positional arguments"
        text = f"{subject}: {len(first[0])} → {len(second[0])}"
        return [Cause("structure", text, subject)]
    if first[1].keys() != second[1].keys():
        subject = "keyword arguments"
        names = [
            ", ".join(f"`{n}`" for n in sorted(kwargs)) or "none"
            for kwargs in (first[1], second[1])
        ]
        return [Cause("structure", f"{subject}: {names[0]} → {names[1]}", subject)]
    found = []
    for path, a, b, _ in trees.equality_errors(first, second):
        static = [mark for mark, _ in now.static if isinstance(mark, int)]
        subject = f"structure of `{argument_at(function, path, static)}`"
        found.append(Cause("structure", f"{subject}: {_plain(a)} → {_plain(b)}", subject))
    return found or [Cause("structure", "structure of the arguments")]


def argument_at(function: Any, path: Any, static: Iterable[int] = ()) -> str:
    """What `function` calls the argument, and the place in it, at a path in (args, kwargs).

    static: positions of the arguments that args lacks.
    """
    where, *rest = path
    if not rest:
        return ""
    first, *within = rest
    if where.idx == 1:
        name = str(getattr(first, "key", first))
    else:
        names = [n for i, n in enumerate(_parameter_names(function)) if i not in static]
        name = names[first.idx] if first.idx < len(names) else f"number {first.idx}"
    return name + trees.keystr(tuple(within))


def _plain(text: str) -> str:
    return re.sub(r"<class '([^']*)'>", r"\1", text)


def _parameter_names(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _type(aval: Any, other: Any) -> str:
    """A type, with its weakness where that is all that differs."""
    texts = [t.str_short(short_dtypes=True).removeprefix("~") for t in (aval, other)]
    if texts[0] != texts[1]:
        return texts[0]
    return f"{texts[0]} ({'weak, a Python number' if aval.weak_type else 'not weak'})"


def _static(function: Any, now: CacheKey, before: CacheKey) -> list[Cause]:
    if now.static == before.static:
        return []
    values = dict(before.static)
    found = []
    for mark, value in now.static:
        if mark not in values:
            found.append(Cause("static", f"{marked(function, mark)} is static, and was not given"))
        elif values[mark] != value:
            subject = f"{marked(function, mark)} is static"
            found.append(Cause("static", f"{subject}: {values[mark]!r} → {value!r}", subject))
    return found or [Cause("static", "fewer static arguments are given")]


def marked(function: Any, mark: int | str) -> str:
    """A static argument, by number or name, in words."""
    if isinstance(mark, str):
        return f"keyword `{mark}`"
    names = _parameter_names(function)
    return f"argument `{names[mark]}`" if mark < len(names) else f"argument number {mark}"


def _surroundings(now: CacheKey, before: CacheKey) -> list[Cause]:
    found = []
    if now.axes != before.axes:
        text = f"mapped axes: {dict(before.axes)} → {dict(now.axes)}"
        found.append(Cause("axes", text, "mapped axes"))
    if now.extra != before.extra:
        found.append(Cause("other", f"{now.purpose}: {before.extra} → {now.extra}"))
    names = config.names_of_trace_settings()
    for name, a, b in zip(names, now.settings, before.settings, strict=True):
        if a != b:
            subject = f"setting `{name}`"
            found.append(Cause("setting", f"{subject}: {b!r} → {a!r}", subject))
    return found
