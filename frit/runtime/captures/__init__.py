"""Captures: which values outside its arguments a function depends on, found before it is traced.

    captures_of(function, statics)  ->  Guards

The reads of the function's code (`reads`) are followed on the values that are there now:
globals, closure cells, defaults, attributes and items; into the user functions that it calls or
passes on, with the arguments they get; through jit, partial, custom rules and other wrappers; into
properties, nested functions and comprehensions.  Not into installed libraries: of their functions
only the closures are looked at, and their objects are told by identity.  What ends in the hands of
code that is not looked into, and can change, is listed as unguarded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MethodType
from typing import Any

from frit.runtime.captures.calls import Walk
from frit.runtime.captures.references import Reference
from frit.runtime.effects import PossibleEffects
from frit.runtime.guards import Guards


def captures_of(function: Any, statics: Sequence[tuple[int | str, Any]] = ()) -> Guards:
    """What `function` reads from outside, as guards that hold now.

    statics: its static arguments, whose attributes may be read too: position or name, and value.
    """
    return captures_and_effects_of(function, statics)[0]


def captures_and_effects_of(
    function: Any, statics: Sequence[tuple[int | str, Any]] = ()
) -> tuple[Guards, PossibleEffects]:
    """What `function` reads from outside, and what it may do there beside computing results."""
    walk = Walk()
    root = Reference(function, (("function",), ()), "the function")
    args: list[list[Reference]] = []
    kwargs = {}
    for i, (name, value) in enumerate(statics):
        label = f"static argument `{_parameter_name(function, name)}`"
        given = [Reference(value, (("static", i), ()), label)]
        if isinstance(name, int):
            args += [[] for _ in range(name + 1 - len(args))]
            args[name] = given
        else:
            kwargs[name] = given
    for result in walk.call_value(root, args, kwargs):
        walk.use(result)
    return walk.finish(), PossibleEffects(walk.found.acts, walk.found.assigned)


def settled(guards: Guards, function: Any, statics: Sequence[Any]) -> Guards:
    """The guards after the trace: what the trace itself changed is not a capture."""
    broken = {
        guard.place
        for guard in guards.guards
        if not guard.holds(guards.value_at(guard.place, function, statics))
    }
    return guards.without(broken) if broken else guards


def _parameter_name(function: Any, mark: int | str) -> str:
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    position = mark + isinstance(function, MethodType) if isinstance(mark, int) else -1
    return names[position] if 0 <= position < len(names) else str(mark)


class _Collector:
    def __init__(self) -> None:
        self.inherited: list[Guards] = []


_collector: ContextVar[_Collector | None] = ContextVar("captures", default=None)


@contextmanager
def collecting() -> Iterator[_Collector]:
    """Within the block, what inner traces rely on is collected for the enclosing one."""
    collector = _Collector()
    token = _collector.set(collector)
    try:
        yield collector
    finally:
        _collector.reset(token)


def inherit(guards: Guards, function: Any, statics: Sequence[Any]) -> None:
    """The trace that is being made, if any, relies on these guards of `function` too."""
    collector = _collector.get()
    if collector is not None and (guards.guards or guards.unguarded):
        collector.inherited.append(guards.seen_from_outside(function, statics))
