"""The cache of traces: one for every step from a function to a jaxpr, with one record as its key.

An entry is found by the function (weakly) and by a CacheKey: argument types by path, tree, static
arguments, captures, mapped axes and settings.  Which captures a trace has is known only with the
trace, so an entry is looked up in two steps: the entries of this call's key without captures, and
among them the one whose captures still hold.  Entries are bounded in number for each function.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import types as python_types
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from frit import config
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import axis_sizes
from frit.runtime import captures, effects, events, stale
from frit.runtime.guards import NO_GUARDS, At, Change, Guard, Guards

ENTRIES_PER_FUNCTION = 4096


@dataclass(frozen=True)
class CacheKey:
    """What a trace depends on.  The key of a call, before it is looked up, has no captures."""

    purpose: str
    extra: Any
    types: tuple[Any, ...]
    tree: Any
    static: tuple[Any, ...]
    captures: tuple[Guard, ...]
    axes: tuple[Any, ...]
    settings: tuple[Any, ...]

    def __hash__(self) -> int:
        return hash((self.extra, self.types, self.tree, self.static, self.axes, self.settings))


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
            events.tell("unhashable", function=function, argument=argument, value=value)
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
    """One trace: its jaxpr, the tree of its results, and what is told about it.

    captured: the leading operands of the jaxpr; a Place stands for a traced value, found anew at
    each call.  changes: the captures that made this trace necessary.
    """

    key: CacheKey
    closed: ClosedJaxpr
    out_tree: Any
    seconds: float
    guards: Guards = NO_GUARDS
    captured: tuple[Any, ...] = ()
    alike: Sequence[int] = ()
    changes: tuple[Change, ...] = ()
    number: int = 0
    hits: int = 0
    extra: dict[str, Any] = field(default_factory=dict)  # what callers keep with the trace

    def arrays(self) -> list[Any]:
        """The arrays that the trace closed over, within its jaxpr or as its operands."""
        held = (*self.closed.consts, *self.captured)
        return [x for x in held if isinstance(getattr(x, "nbytes", None), int)]

    def captures_tracers(self) -> bool:
        return any(isinstance(x, At) for x in self.captured)

    def operands(self, function: Any, statics: Sequence[Any]) -> list[Any] | None:
        """The captured operands now; None if traced values that were one are two, or reversed."""
        if not self.captured:
            return []
        find = self.guards.value_at
        found = [
            find(x.place, function, statics) if isinstance(x, At) else x for x in self.captured
        ]
        if self.alike and self.guards.alike(function, statics) != self.alike:
            return None
        return found


@dataclass
class FunctionTraces:
    """All traces of one function."""

    entries: OrderedDict[CacheKey, Entry] = field(default_factory=OrderedDict)
    by_call: dict[CacheKey, list[Entry]] = field(default_factory=dict)
    misses: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    lock: Any = field(default_factory=threading.RLock)

    def add(self, entry: Entry) -> None:
        """Keeps a trace, as the first to be tried for its call."""
        key = dataclasses.replace(entry.key, captures=())
        with self.lock:
            self.entries[entry.key] = entry
            self.by_call[key] = [entry, *self.by_call.get(key, ())]
            while len(self.entries) > ENTRIES_PER_FUNCTION:
                _, dropped = self.entries.popitem(last=False)
                key = dataclasses.replace(dropped.key, captures=())
                rest = [e for e in self.by_call[key] if e is not dropped]
                if rest:
                    self.by_call[key] = rest
                else:
                    del self.by_call[key]

    def hits(self) -> int:
        """How often the traces were found."""
        return sum(entry.hits for entry in self.entries.values())

    def clear(self) -> None:
        with self.lock:
            self.entries.clear()
            self.by_call.clear()


_all: weakref.WeakKeyDictionary[Any, dict[Any, FunctionTraces]] = weakref.WeakKeyDictionary()
_by_identity: OrderedDict[int, tuple[Any, FunctionTraces]] = OrderedDict()


def identity(function: Callable[..., Any]) -> tuple[Any, Any]:
    """An object to hold weakly, and what else tells the function apart.

    Bound methods are made anew at each access: they are told by their function and `self`.
    """
    if isinstance(function, python_types.MethodType):
        return function.__func__, ("method", id(function.__self__))
    if isinstance(function, Adapted):
        return function.function, ("adapted", function.how)
    return function, None


class Adapted:
    """A function made of a user's function: told apart by that function and by how it was made.

    So that a loop over a function is traced once, though what runs in the loop is made anew.
    """

    followed = ("function",)

    def __init__(self, function: Any, how: Hashable, call: Callable[..., Any]) -> None:
        self.function, self.how, self.call = function, how, call
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)


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
    if extra is not None and extra[0] == "method" and extra not in by_extra:
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
    policy: str | None = None,
    on_miss: Callable[[FunctionTraces, Sequence[Change]], None] | None = None,
) -> tuple[Entry, list[Any]]:
    """The entry for `key`, traced if it is new, and its captured operands.

    policy: what a changed capture does, see `config.captures`.  A trace that captured traced values
    whose places are not known holds for this call only and is not kept.  `on_miss` is called with
    the earlier traces and the changed captures before the function is traced.
    """
    traces = traces_of(function)
    statics = [static_value(value) for _, value in key.static]
    candidates: Sequence[Entry] = traces.by_call.get(key, ())
    policy = policy or config.captures.value
    for entry in candidates:
        # A traced value is an operand, whose type must be right whatever the policy.
        frozen = policy == "freeze" and not entry.captures_tracers()
        if frozen or _holds(entry.guards, function, statics):
            operands = entry.operands(function, statics)
            if operands is not None:
                entry.hits += 1
                captures.inherit(entry.guards, function, statics)
                return entry, operands
    changes = candidates[0].guards.changes(function, statics) if candidates else []
    if changes and policy in ("warn", "error") and not candidates[0].captures_tracers():
        stale.tell(function, changes, policy)
        return candidates[0], candidates[0].operands(function, statics) or []
    if config.no_tracing.value:
        name = getattr(function, "__name__", type(function).__name__)
        raise RuntimeError(
            f"re-tracing function {name} for `{key.purpose}`, but 'no_tracing' is set: no trace of "
            "it has these argument types, static values, captures and settings."
        )
    if on_miss is not None:
        on_miss(traces, changes)
    return _traced(function, key, trace, statics, traces, changes)


def static_value(value: Any) -> Any:
    return value.value if isinstance(value, StaticValue) else value


def _holds(guards: Guards, function: Any, statics: Sequence[Any]) -> bool:
    return guards.hold(function, statics) or guards.refreshed(function, statics)


def _traced(
    function: Any, key: CacheKey, trace: Any, statics: Sequence[Any], traces: FunctionTraces,
    changes: Sequence[Change],
) -> tuple[Entry, list[Any]]:  # fmt: skip
    """A new entry, kept if it can be found again."""
    start = time.perf_counter()
    marks = [mark for mark, _ in key.static]
    given = list(zip(marks, statics, strict=True))
    guards, possible = captures.captures_and_effects_of(function, given)
    with captures.collecting() as collector, effects.watching(possible) as watch:
        closed, captured, out_tree = trace()
    watch.tell(function, statics)
    guards = captures.settled(guards, function, statics).together_with(collector.inherited)
    traces.misses += 1
    places = guards.places_of_tracers(captured, function, statics)
    entry = Entry(
        key=dataclasses.replace(key, captures=tuple(guards.guards)),
        closed=closed,
        out_tree=out_tree,
        seconds=time.perf_counter() - start,
        guards=guards,
        captured=tuple(places or ()),
        changes=tuple(changes),
        number=traces.misses,
    )
    name = closed.jaxpr.debug_info.function
    events.tell(
        "trace", function=name, purpose=key.purpose, seconds=entry.seconds, traced=function,
        entry=entry, traces=traces,
    )  # fmt: skip
    captures.inherit(guards, function, statics)
    if places is not None:
        entry.alike = guards.alike(function, statics)
        traces.add(entry)
        stale.count(function, traces.changed, changes)
    return entry, list(captured)


_on_clear: list[Callable[[], None]] = []


def call_on_clear(callback: Callable[[], None]) -> None:
    """Calls `callback` whenever all traces are forgotten."""
    _on_clear.append(callback)


def clear(function: Callable[..., Any] | None = None) -> None:
    """Forgets the traces of one function, or of all."""
    if function is None:
        for callback in _on_clear:
            callback()
        effects.forget()
        _all.clear()
        _by_identity.clear()
        return
    traces_of(function).clear()
