"""The cache of traces: one for every step from a function to a jaxpr, with one record as its key.

An entry is found by the function (weakly) and by a CacheKey: argument types by path, tree, static
arguments, captures, mapped axes and settings.  Entries are bounded in number for each function.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import types as python_types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from frit import config
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import axis_sizes
from frit.runtime import events

ENTRIES_PER_FUNCTION = 4096


@dataclass(frozen=True)
class CacheKey:
    """What a trace depends on.  `captures` stays empty until captures are guarded."""

    purpose: str
    extra: Any
    types: tuple[Any, ...]
    tree: Any
    static: tuple[Any, ...]
    captures: tuple[Any, ...]
    axes: tuple[Any, ...]
    settings: tuple[Any, ...]

    def __hash__(self) -> int:
        return hash((self.extra, self.types, self.tree, self.static, self.axes, self.settings))

    def differences(self, other: CacheKey) -> list[str]:
        """The names of the fields in which two keys differ."""
        return [
            f.name
            for f in dataclasses.fields(self)
            if getattr(self, f.name) != getattr(other, f.name)
        ]


class StaticValue:
    """A static argument as a part of a key: equal only to a value of the same type.

    ValueError, naming the argument, if the value has no hash.
    """

    __slots__ = ("hashed", "value")

    def __init__(self, value: Any, argument: str, function: str) -> None:
        self.value = value
        try:
            self.hashed = hash((type(value), value))
        except TypeError as error:
            raise ValueError(
                "Non-hashable static arguments are not supported. An error occurred while trying "
                f"to hash an object of type {type(value)}, {value!r}, given as argument "
                f"{argument} of {function}. The error was:\nTypeError: {error}\n"
                "Static arguments are part of the cache key: pass a hashable value, e.g. a tuple "
                "in place of a list, or do not mark the argument static."
            ) from None

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, StaticValue) or type(self.value) is not type(other.value):
            return False
        return self.value is other.value or bool(self.value == other.value)

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass
class Entry:
    """One trace: its jaxpr, the tree of its results, and what is told about it."""

    key: CacheKey
    closed: ClosedJaxpr
    out_tree: Any
    seconds: float
    hits: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class FunctionTraces:
    """All traces of one function, and how often they were found."""

    entries: OrderedDict[CacheKey, Entry] = field(default_factory=OrderedDict)
    hits: int = 0
    misses: int = 0
    lock: Any = field(default_factory=threading.RLock)

    def find(self, key: CacheKey) -> Entry | None:
        entry = self.entries.get(key)
        if entry is not None:
            self.hits += 1
            entry.hits += 1
        return entry

    def add(self, entry: Entry) -> None:
        with self.lock:
            self.entries[entry.key] = entry
            while len(self.entries) > ENTRIES_PER_FUNCTION:
                self.entries.popitem(last=False)


_all: weakref.WeakKeyDictionary[Any, dict[Any, FunctionTraces]] = weakref.WeakKeyDictionary()
_by_identity: OrderedDict[int, tuple[Any, FunctionTraces]] = OrderedDict()


def identity(function: Callable[..., Any]) -> tuple[Any, Any]:
    """An object to hold weakly, and what else tells the function apart.

    Bound methods are made anew at each access: they are told by their function and `self`.
    """
    if isinstance(function, python_types.MethodType):
        return function.__func__, ("method", id(function.__self__))
    return function, None


def traces_of(function: Callable[..., Any]) -> FunctionTraces:
    """The traces of a function, kept for as long as it lives."""
    anchor, extra = identity(function)
    try:
        by_extra = _all.setdefault(anchor, {})
    except TypeError:  # no weak references, or no hash: kept by identity, bounded
        found = _by_identity.get(id(function))
        if found is None or found[0] is not function:
            found = _by_identity[id(function)] = (function, FunctionTraces())
            while len(_by_identity) > 1024:
                _by_identity.popitem(last=False)
        return found[1]
    if extra is not None and extra not in by_extra:
        key = extra
        weakref.finalize(function.__self__, by_extra.pop, key, None)  # type: ignore[attr-defined]
    return by_extra.setdefault(extra, FunctionTraces())


def make_key(purpose: str, types: Any, tree: Any, static: Any = (), extra: Any = None) -> CacheKey:
    return CacheKey(
        purpose,
        extra,
        tuple(types),
        tree,
        tuple(static),
        (),
        tuple(axis_sizes().items()),
        config.trace_settings(),
    )


def trace_once(
    function: Callable[..., Any],
    key: CacheKey,
    trace: Callable[[], tuple[ClosedJaxpr, list[Any], Any]],
    on_miss: Callable[[FunctionTraces], None] | None = None,
) -> tuple[Entry, list[Any]]:
    """The entry for `key`, traced if it is new, and the tracers that the trace captured.

    A trace that captured tracers holds for this call only and is not kept.  `on_miss` is called
    with the earlier traces before the function is traced.
    """
    traces = traces_of(function)
    found = traces.find(key)
    if found is not None:
        return found, []
    if config.no_tracing.value:
        name = getattr(function, "__name__", type(function).__name__)
        raise RuntimeError(
            f"re-tracing function {name} for `{key.purpose}`, but 'no_tracing' is set: no trace of "
            "it has these argument types, static values and settings."
        )
    if on_miss is not None:
        on_miss(traces)
    start = time.perf_counter()
    closed, captured, out_tree = trace()
    traces.misses += 1
    entry = Entry(key, closed, out_tree, time.perf_counter() - start)
    name = closed.jaxpr.debug_info.function
    events.tell("trace", function=name, purpose=key.purpose, seconds=entry.seconds)
    if not captured:
        traces.add(entry)
    return entry, captured


_on_clear: list[Callable[[], None]] = []


def call_on_clear(callback: Callable[[], None]) -> None:
    """Calls `callback` whenever all traces are forgotten."""
    _on_clear.append(callback)


def clear(function: Callable[..., Any] | None = None) -> None:
    """Forgets the traces of one function, or of all."""
    if function is None:
        for callback in _on_clear:
            callback()
        _all.clear()
        _by_identity.clear()
        return
    traces = traces_of(function)
    traces.entries.clear()
