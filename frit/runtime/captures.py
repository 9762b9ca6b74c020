"""Captures: which values outside its arguments a function depends on, found before it is traced.

    captures_of(function, statics)  ->  Guards

The reads of the function's code (`reads.py`) are followed on the values that are there now:
globals, closure cells, defaults, attributes and items; into the user functions that it calls or
passes on, with the arguments they get; through jit, partial, custom rules and other wrappers; into
properties, nested functions and comprehensions.  Not into installed libraries: of their functions
only the closures are looked at, and their objects are told by identity.  What ends in the hands of
code that is not looked into, and can change, is listed as unguarded.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import inspect
import os
import sys
import types as python_types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from frit.ir.primitive import Tracer
from frit.runtime.array import Array
from frit.runtime.effects import Done, PossibleEffects, Stored, act_of_call
from frit.runtime.guards import MISSING, NO_GUARDS, Guard, Guards, Place, weakly
from frit.runtime.reads import Call, Made, Origin, Origins, Reads, reads_of
from frit.runtime.users import is_library_file, is_users
from frit.transforms.trace import is_read_at_each_call

_MOST_PLACES = 4096  # values followed for one function; beyond, the rest is unguarded
_DEEPEST = 32  # calls followed into each other

_SCALARS: tuple[type, ...] = (
    type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, enum.Enum, range,
    slice, type(...), python_types.CodeType,
)  # fmt: skip


# ------------------------------------------------------------------------ what belongs to the user


@functools.lru_cache(maxsize=4096)
def _is_library_module(name: str) -> bool:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return file is None and name != "__main__" or (file is not None and is_library_file(file))


def _is_ours(value: Any) -> bool:
    return (getattr(type(value), "__module__", None) or "").startswith("frit.")


# ------------------------------------------------------------------------------------- references


@dataclass(frozen=True, eq=False)
class _Reference:
    """A value, and where it is found again; place is None for what is made at each trace."""

    value: Any
    place: Place | None
    label: str
    owner: _Reference | None = None  # of a bound method: what it was read from

    def step(self, kind: str, key: Any, value: Any, label: str) -> _Reference:
        place = None if self.place is None else (self.place[0], (*self.place[1], (kind, key)))
        return _Reference(value, place, label, self)

    def attribute(self, name: str, value: Any) -> _Reference:
        return self.step("attr", name, value, self._longer(f".{name}"))

    def item(self, key: Any, value: Any) -> _Reference:
        return self.step("item", key, value, self._longer(f"[{key!r}]"))

    def _longer(self, more: str) -> str:
        if self.label.endswith("`"):
            return f"{self.label[:-1]}{more}`"
        return self.label + more


@dataclass(frozen=True, eq=False)
class _Nested:
    """A function that the code of `frame` makes."""

    made: Made
    frame: _Frame


@dataclass(frozen=True, eq=False)
class _Group:
    """A tuple or list that the code makes."""

    elements: tuple[list[_Reference], ...]
    ordered: bool = True  # whether the number of an element tells which it is


@dataclass(frozen=True, eq=False)
class _Applied:
    """What `functools.partial` makes in the code: functions with some of their arguments."""

    functions: list[_Reference]
    args: list[list[_Reference]]
    kwargs: dict[str, list[_Reference]]


@dataclass(frozen=True, eq=False)
class _Super:
    receiver: _Reference
    after: type


class _Frame:
    """One code object with what its variables refer to."""

    def __init__(
        self,
        reads: Reads,
        function: _Reference,
        arguments: dict[str, list[_Reference]],
        enclosing: _Frame | None,
    ) -> None:
        self.reads, self.function = reads, function
        self.arguments, self.enclosing = arguments, enclosing
        self.known: dict[Origin, list[_Reference]] = {}
        self.results: dict[int, list[_Reference]] = {}

    def where(self, offset: int) -> str:
        """`file:line` of an instruction."""
        code = self.reads.code
        return f"{os.path.basename(code.co_filename)}:{self.reads.line_of(offset)}"


@dataclass
class _Analysis:
    """The guards found so far."""

    guards: dict[tuple[Place, str], Guard] = field(default_factory=dict)
    unguarded: dict[str, None] = field(default_factory=dict)
    assigned: dict[Place, Stored] = field(default_factory=dict)
    acts: dict[tuple[CodeType, int], Done] = field(default_factory=dict)
    done: set[Any] = field(default_factory=set)
    returned: dict[Any, list[_Reference]] = field(default_factory=dict)  # by code and arguments
    open: set[int] = field(default_factory=set)  # ids of what is being looked at
    held: list[Any] = field(default_factory=list)  # keeps the ids in `done` unique
    depth: int = 0
    frame: _Frame | None = None  # what is being followed now, and where in its code
    offset: int = 0

    def where(self) -> str:
        return "" if self.frame is None else self.frame.where(self.offset)


# ---------------------------------------------------------------------------------- the public part


def captures_of(function: Any, statics: Sequence[tuple[int | str, Any]] = ()) -> Guards:
    """What `function` reads from outside, as guards that hold now.

    statics: its static arguments, whose attributes may be read too: position or name, and value.
    """
    return captures_and_effects_of(function, statics)[0]


def captures_and_effects_of(
    function: Any, statics: Sequence[tuple[int | str, Any]] = ()
) -> tuple[Guards, PossibleEffects]:
    """What `function` reads from outside, and what it may do there beside computing results."""
    walk = _Walk()
    root = _Reference(function, (("function",), ()), "the function")
    args: list[list[_Reference]] = []
    kwargs = {}
    for i, (name, value) in enumerate(statics):
        label = f"static argument `{_parameter_name(function, name)}`"
        given = [_Reference(value, (("static", i), ()), label)]
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


def rely_on(*functions: Any) -> None:
    """The trace that is being made, if any, depends on what these functions read."""
    collector = _collector.get()
    if collector is None:
        return
    for function in functions:
        if function is not None:
            collector.inherited.append(captures_of(function).seen_from_outside(function, ()))


# ------------------------------------------------------------------------------------ following it


class _Walk:
    """Follows functions and values, and notes guards."""

    def __init__(self) -> None:
        self.found = _Analysis()

    def finish(self) -> Guards:
        found = self.found
        if not found.guards and not found.unguarded:
            return NO_GUARDS
        guards = Guards(list(found.guards.values()), tuple(found.unguarded))
        return guards.without(set(found.assigned)) if found.assigned else guards

    # -- functions

    def enter(
        self,
        code: CodeType,
        function: _Reference,
        arguments: dict[str, list[_Reference]],
        enclosing: _Frame | None = None,
    ) -> list[_Reference]:
        """Notes what a code object reads; what it returns."""
        found = self.found
        bound = tuple(
            (name, tuple(r.place or id(r.value) for r in refs)) for name, refs in arguments.items()
        )
        key = (code, id(function.value), id(enclosing), bound)
        known = found.returned.get(key)
        if known is not None:
            return known
        if found.depth > _DEEPEST or len(found.returned) > _MOST_PLACES:
            found.unguarded[f"what {code.co_name} reads, called too deep to follow"] = None
            return []
        found.returned[key] = []  # while it is being followed
        found.held.append((function, arguments, enclosing))
        if not arguments and _reads_nothing(code, function.value):
            return []
        frame = _Frame(reads_of(code), function, arguments, enclosing)
        found.depth += 1
        before = found.frame, found.offset
        try:
            found.returned[key] = self._follow(frame)
            return found.returned[key]
        finally:
            found.depth -= 1
            found.frame, found.offset = before

    def _follow(self, frame: _Frame) -> list[_Reference]:
        reads, found = frame.reads, self.found
        for origin, offset in reads.assigned.items():
            self._note_assigned(origin, frame, offset)
        for number, _ in enumerate(reads.calls):
            self.result_of(number, frame)
        for origin, offset in reads.used.items():
            refs = self.resolve(origin, frame)
            found.frame, found.offset = frame, offset
            for ref in refs:
                self.use(ref)
        for origin in reads.computed:
            self._use_by_numpy([self.resolve(origin, frame)], {})
        return [ref for origin in reads.returned for ref in self.resolve(origin, frame)]

    def _note_assigned(self, origin: Origin, frame: _Frame, offset: int) -> None:
        """What the code itself assigns is its own affair: a counter, not a capture."""
        for ref in self._assigned_places(origin, frame):
            self._note_stored(ref, frame, offset)

    def _assigned_places(self, origin: Origin, frame: _Frame) -> list[_Reference]:
        kind = origin[0]
        if kind == "global":
            return [self._place_of_global(origin[1], frame, MISSING)]
        if kind in ("attr", "item"):
            bases = self.resolve(origin[1], frame)
            return [(b.attribute if kind == "attr" else b.item)(origin[2], MISSING) for b in bases]
        return self.resolve(origin[1] if kind == "each" else origin, frame)

    def _note_stored(self, ref: _Reference, frame: _Frame | None, offset: int) -> None:
        if frame is not None and ref.place is not None and ref.place not in self.found.assigned:
            self.found.assigned[ref.place] = Stored(ref.label, frame.reads.place_of(offset))

    def result_of(self, number: int, frame: _Frame) -> list[_Reference]:
        known = frame.results.get(number)
        if known is None:
            frame.results[number] = []  # while it is being found
            call = frame.reads.calls[number]
            known = frame.results[number] = self._call(call, frame)
        return known

    def _call(self, call: Call, frame: _Frame) -> list[_Reference]:
        self.found.frame, self.found.offset = frame, call.offsets[0]
        args = [self._all(a, frame) for a in call.args]
        kwargs = {name: self._all(a, frame) for name, a in call.kwargs}
        callees = self._all(call.callee, frame)
        if call.rest:
            kwargs[_REST] = self._all(call.rest, frame)
        if not callees:
            self._use_all(args, kwargs)
            return []
        special = [_constant_argument(a) for a in call.args]
        results: list[_Reference] = []
        for callee in callees:
            act = act_of_call(callee.value, call)
            if act is not None:
                for offset in call.offsets:
                    done = Done(act, callee.label, frame.reads.place_of(offset))
                    self.found.acts[frame.reads.code, offset] = done
            results += self.call_value(callee, args, kwargs, special)
        return results

    def _use_all(self, args: Sequence[list[_Reference]], kwargs: dict[str, Any]) -> None:
        for refs in (*args, *kwargs.values()):
            for ref in refs:
                self.use(ref)

    def _all(self, origins: Origins, frame: _Frame) -> list[_Reference]:
        if len(origins) == 1:
            (origin,) = origins
            return self.resolve(origin, frame)
        return [ref for origin in origins for ref in self.resolve(origin, frame)]

    def call_value(
        self,
        callee: _Reference,
        args: list[list[_Reference]],
        kwargs: dict[str, list[_Reference]],
        special: Sequence[Any] = (),
    ) -> list[_Reference]:
        """Follows a call of a value; what the call returns."""
        value = callee.value
        kind = type(value)
        if kind is _Nested:
            arguments = _bind(value.made.code, args, kwargs)
            for name, refs in _nested_defaults(value, self).items():
                arguments.setdefault(name, refs)
            return self.enter(value.made.code, value.frame.function, arguments, value.frame)
        if kind is _Applied:
            args, kwargs = [*value.args, *args], {**value.kwargs, **kwargs}
            return [r for f in value.functions for r in self.call_value(f, args, kwargs)]
        if kind is FunctionType:
            if not is_users(value):
                return self._call_library(callee, args, kwargs)
            self.note(callee, "code", value.__code__)
            arguments = _bind(value.__code__, args, kwargs)
            for name, ref in _defaults(callee).items():
                arguments.setdefault(name, [ref])
            return self.enter(value.__code__, callee, arguments)
        if kind is MethodType:
            receiver = callee.owner
            if receiver is None or receiver.value is not value.__self__:
                receiver = callee.attribute("__self__", value.__self__)
            function = callee.attribute("__func__", value.__func__)
            return self.call_value(function, [[receiver], *args], kwargs)
        if kind is functools.partial:
            own = [[callee.attribute("args", value.args).item(i, a)] for i, a in
                   enumerate(value.args)]  # fmt: skip
            named = callee.attribute("keywords", value.keywords)
            given = {k: [named.item(k, v)] for k, v in value.keywords.items()}
            inner = callee.attribute("func", value.func)
            return self.call_value(inner, [*own, *args], {**given, **kwargs})
        if isinstance(value, (BuiltinFunctionType, type)) or kind.__module__ == "builtins":
            return self._call_builtin(callee, args, kwargs, special)
        return self._call_object(callee, args, kwargs)

    def _call_object(self, callee: _Reference, args: Any, kwargs: Any) -> list[_Reference]:
        """An object that can be called: a wrapper of ours, or one with `__call__`."""
        value = callee.value
        followed = _followed(value)
        if followed:
            first, *others = (
                callee.attribute(name, inner)
                for name in followed
                if (inner := getattr(value, name, None)) is not None
            )
            for other in others:
                self.use(other)
            return self.call_value(first, args, kwargs)
        method = _class_attribute(type(value), "__call__")
        if is_users(method):
            bound = callee.attribute("__call__", value.__call__)
            return self.call_value(bound, args, kwargs)
        wrapped = getattr(value, "__wrapped__", None)
        if callable(wrapped):
            self._use_all(args, kwargs)
            return self.call_value(callee.attribute("__wrapped__", wrapped), args, kwargs)
        self.use(callee)
        self._use_all(args, kwargs)
        if not _is_ours(value):  # a ufunc, say
            self._use_by_numpy(args, kwargs)
        return []

    def _call_library(self, callee: _Reference, args: Any, kwargs: Any) -> list[_Reference]:
        """A library's function: what it gets is out of sight, what it closes over is not."""
        value = callee.value
        wrapped = getattr(value, "__wrapped__", None)
        if callee.place is not None and callable(wrapped):
            self.use(callee)
            return self.call_value(callee.attribute("__wrapped__", wrapped), args, kwargs)
        self.use(callee)
        self._use_all(args, kwargs)
        if not (getattr(value, "__module__", None) or "").startswith("frit."):
            self._use_by_numpy(args, kwargs)
            return []
        # grad(f), vmap(f), checkpoint(f) …: the result calls what was given.
        return [r for refs in (*args, *kwargs.values()) for r in refs if _is_followed(r.value)]

    def _call_builtin(
        self, callee: _Reference, args: Any, kwargs: Any, special: Sequence[Any]
    ) -> list[_Reference]:
        value = callee.value
        if isinstance(value, type) and not _is_builtin(value):
            return self._construct(callee, args, kwargs)
        if value is getattr and len(args) >= 2 and isinstance(special[1], str):
            return [r for base in args[0] for r in self.attribute(base, special[1])]
        if value is setattr and len(args) == 3 and isinstance(special[1], str):
            for base in args[0]:
                stored = base.attribute(special[1], MISSING)
                self._note_stored(stored, self.found.frame, self.found.offset)
            self._use_all(args[2:], {})
            return []
        if value is isinstance and len(args) == 2:
            for ref in args[0]:
                self.note(ref, "class", type(ref.value))
            return []
        if value is vars and len(args) == 1:
            return [r for base in args[0] for r in self.attribute(base, "__dict__")]
        if value is dict and len(args) == 1:  # a copy holds what the original does
            copied = [r for r in args[0] if isinstance(r.value, dict)]
            self._use_all([[r for r in args[0] if r not in copied]], kwargs)
            return copied
        if value is functools.partial and args:
            return [_Reference(_Applied(args[0], list(args[1:]), dict(kwargs)), None, "partial")]
        name = getattr(value, "__name__", "")
        receiver = callee.owner
        if receiver is not None and isinstance(value, BuiltinFunctionType):
            if name in _MUTATING and receiver.place is not None:
                self._note_stored(receiver, self.found.frame, self.found.offset)
            elif name in ("values", "items") and type(receiver.value) is dict:
                pairs = self.each(receiver)
                if name == "values":
                    return [_group(pairs)]
                return [_group([_group([None, r]) for r in pairs])]
            elif name == "copy" and isinstance(receiver.value, (dict, list)):
                return [receiver]
            elif name == "get" and type(receiver.value) is dict and special[:1]:
                if isinstance(special[0], (str, int)):
                    return self.item(receiver, special[0])
            else:
                self.use(receiver)
        elif name in ("list", "tuple", "iter", "reversed", "sorted", "set") and len(args) == 1:
            elements = tuple([r] for base in args[0] for r in self.each(base))
            ordered = name in ("list", "tuple") and len(args[0]) == 1
            return [_Reference(_Group(elements, ordered), None, "")]
        elif name == "enumerate" and args:
            numbered = [r for base in args[0] for r in self.each(base)]
            return [_group([_group([None, r]) for r in numbered])]
        elif name == "zip":
            columns = [[r for base in a for r in self.each(base)] for a in args]
            return [_group([_Reference(_Group(tuple(columns)), None, "")])]
        self._use_all(args, kwargs)
        self._use_by_numpy(args, kwargs)
        return []

    def _use_by_numpy(self, args: Sequence[list[_Reference]], kwargs: dict[str, Any]) -> None:
        """Arrays in the hands of code that computes with them at once: their content counts."""
        for refs in (*args, *kwargs.values()):
            for ref in refs:
                if isinstance(ref.value, np.ndarray):
                    self._use_ndarray(ref, ref.value, by_numpy=True)

    def _construct(self, callee: _Reference, args: Any, kwargs: Any) -> list[_Reference]:
        """An instance of a class is made: its `__init__` runs."""
        self.use(callee)
        found = False
        for name in ("__new__", "__init__", "__post_init__"):
            method = _class_attribute(callee.value, name)
            if is_users(method):
                found = found or name == "__init__"
                function = callee.attribute(name, method)
                given = ([], {}) if name == "__post_init__" else (args, kwargs)
                self.call_value(function, [[], *given[0]], given[1])
        if not found:
            self._use_all(args, kwargs)
        return []

    # -- values

    def resolve(self, origin: Origin, frame: _Frame) -> list[_Reference]:
        """The values that an expression of the code may be, as far as they are from outside."""
        known = frame.known.get(origin)
        if known is None:
            frame.known[origin] = []  # while it is being found: a cycle adds nothing
            known = frame.known[origin] = self._resolved(origin, frame)
        return known

    def _resolved(self, origin: Origin, frame: _Frame) -> list[_Reference]:
        kind = origin[0]
        if kind == "global":
            return self._global(origin[1], frame)
        if kind == "cell":
            return self._cell(origin[1], frame)
        if kind == "local":
            stored = frame.reads.variables.get(origin[1], ())
            refs = list(frame.arguments.get(origin[1], ()))
            return refs + [r for o in stored for r in self.resolve(o, frame)]
        if kind == "result":
            return self.result_of(origin[1], frame)
        if kind == "made":
            nested = _Nested(frame.reads.made[origin[1]], frame)
            return [_Reference(nested, None, nested.made.code.co_name)]
        if kind == "group":
            return [_Reference(_Group(tuple(self._all(o, frame) for o in origin[1])), None, "")]
        if kind == "built":
            held = [r for o in frame.reads.built[origin[1]] for r in self.resolve(o, frame)]
            return [_Reference(_Group((held,), ordered=False), None, "")] if held else []
        if kind == "super":
            return self._super(frame)
        if kind in ("const", "null", "slice"):
            return []
        bases = self.resolve(origin[1], frame)
        if kind == "attr":
            return [r for base in bases for r in self.attribute(base, origin[2])]
        if kind == "item":
            return [r for base in bases for r in self.item(base, origin[2])]
        return [r for base in bases for r in self.each(base)]

    def _global(self, name: str, frame: _Frame) -> list[_Reference]:
        variables = frame.function.value.__globals__
        if name.startswith("@"):  # of code that was converted: ours
            return []
        if name not in variables:
            value = getattr(builtins, name, MISSING)
            return [] if value is MISSING else [_Reference(value, None, name)]
        return [self._place_of_global(name, frame, variables[name])]

    def _place_of_global(self, name: str, frame: _Frame, value: Any) -> _Reference:
        function = frame.function
        variables = function.value.__globals__
        module = sys.modules.get(variables.get("__name__", ""))
        place: Place | None
        if module is not None and vars(module) is variables:
            place = (("module", module.__name__), (("item", name),))
        elif function.place is None:
            place = None
        else:
            root, steps = function.place
            place = (root, (*steps, ("attr", "__globals__"), ("item", name)))
        return _Reference(value, place, f"global `{name}`")

    def _cell(self, name: str, frame: _Frame) -> list[_Reference]:
        if frame.enclosing is not None:
            outer = frame.enclosing
            kind = "cell" if name in outer.reads.code.co_freevars else "local"
            return self.resolve((kind, name), outer)
        function = frame.function
        try:
            number = frame.reads.code.co_freevars.index(name)
            value = function.value.__closure__[number].cell_contents
        except ValueError:  # a variable that has no value yet
            return []
        cells = function.attribute("__closure__", function.value.__closure__)
        cell = cells.item(number, function.value.__closure__[number])
        return [cell.step("attr", "cell_contents", value, f"closure variable `{name}`")]

    def _super(self, frame: _Frame) -> list[_Reference]:
        names = frame.reads.code.co_varnames
        receivers = frame.arguments.get(names[0], []) if names else []
        owners = (
            self._cell("__class__", frame) if "__class__" in frame.reads.code.co_freevars else []
        )
        return [
            _Reference(_Super(r, c.value), None, "super()")
            for r in receivers
            for c in owners
            if isinstance(c.value, type)
        ]

    def attribute(self, base: _Reference, name: str) -> list[_Reference]:
        value = base.value
        if isinstance(value, _Super):
            return _super_attribute(value, name)
        if isinstance(value, (_Nested, _Applied, _Group)):
            return []
        if isinstance(value, ModuleType):
            return _module_attribute(base, name)
        if isinstance(value, np.ndarray):
            self._use_ndarray(base, value, by_numpy=name not in _TYPE_OF_NDARRAY)
            return []
        if isinstance(value, (Array, Tracer)):
            self.use(base)
            return []
        if name == "__class__":
            self.note(base, "class", type(value))
            return []
        found = _class_attribute(type(value), name) if not isinstance(value, type) else None
        if isinstance(found, property) and is_users(found.fget):
            return self._computed(base, name, found, "fget")
        if isinstance(found, functools.cached_property) and name not in vars(value):
            return self._computed(base, name, found, "func")
        try:
            result = getattr(value, name)
        except Exception:  # user code may raise anything; the function, if it comes here, will tell
            self.note(base.attribute(name, MISSING), "value", MISSING)
            return []
        return [base.attribute(name, result)]

    def _computed(
        self, base: _Reference, name: str, descriptor: Any, getter: str
    ) -> list[_Reference]:
        """An attribute that a function computes: what the function reads is guarded."""
        self.note(base, "class", type(base.value))
        kind = base.attribute("__class__", type(base.value))
        function = kind.attribute(name, descriptor).attribute(getter, getattr(descriptor, getter))
        return self.call_value(function, [[base]], {})

    def item(self, base: _Reference, key: Any) -> list[_Reference]:
        value = base.value
        if isinstance(value, _Group):
            if not (value.ordered and isinstance(key, int)):
                return [r for refs in value.elements for r in refs]
            known = -len(value.elements) <= key < len(value.elements)
            return list(value.elements[key]) if known else []
        if isinstance(value, np.ndarray):
            self._use_ndarray(base, value, by_numpy=True)
            return []
        if isinstance(value, (Array, Tracer)):
            self.use(base)
            return []
        if isinstance(value, (_Nested, _Applied, _Super, type, str, bytes)):
            return []
        try:
            entry = value[key]
        except Exception:  # user code may raise anything; the function, if it comes here, will tell
            self.note(base.item(key, MISSING), "value", MISSING)
            return []
        return [base.item(key, entry)]

    def each(self, base: _Reference) -> list[_Reference]:
        """The elements of a container, whose number or keys are guarded."""
        value = base.value
        if isinstance(value, _Group):
            return [r for refs in value.elements for r in refs]
        if isinstance(value, dict):
            self.note(base, "keys", tuple(value))
            return [base.item(k, v) for k, v in value.items()]
        if isinstance(value, (list, tuple)):
            self.note(base, "length", len(value))
            return [base.item(i, v) for i, v in enumerate(value)]
        self.use(base)
        return []

    # -- guards

    def note(self, ref: _Reference, kind: str, expected: Any) -> None:
        place = ref.place
        if place is None:
            return
        found = self.found
        if place[1] == () and place[0][0] in ("function", "static"):
            return  # the traced function and its static arguments are in the key themselves
        key = (place, kind)
        if key not in found.guards:
            found.guards[key] = Guard(place, kind, expected, ref.label, found.where())

    def use(self, ref: _Reference) -> None:
        """The value is looked at as a whole, or by code that is not followed."""
        value = ref.value
        if isinstance(value, _Group):
            for refs in value.elements:
                for element in refs:
                    self.use(element)
            return
        if isinstance(value, (_Nested, _Applied)):
            self.call_value(ref, [], {})
            return
        if ref.place is None or isinstance(value, (ModuleType, BuiltinFunctionType, _Super)):
            return
        if (ref.place, "used") in self.found.done:
            return
        self.found.done.add((ref.place, "used"))
        if len(self.found.guards) > _MOST_PLACES:
            self.found.unguarded["values beyond the first thousands"] = None
            return
        if id(value) in self.found.open:
            return  # a cycle: its parts are guarded where it was met first
        self.found.open.add(id(value))
        self._use_value(ref, value)
        self.found.open.discard(id(value))

    def _use_value(self, ref: _Reference, value: Any) -> None:
        if isinstance(value, Tracer):
            self.note(ref, "tracer", value.aval)
        elif isinstance(value, Array):
            self.note(ref, "identity", value)
        elif isinstance(value, np.ndarray):
            self._use_ndarray(ref, value)
        elif isinstance(value, tuple) and type(value) is tuple and all(map(_is_scalar, value)):
            self.note(ref, "value", value)
        elif _is_scalar(value):
            self.note(ref, "value", value)
        elif isinstance(value, (dict, list, tuple)):
            for element in self.each(ref):
                self.use(element)
        elif isinstance(value, (set, frozenset)):
            self.note(ref, "value", frozenset(value))
        elif isinstance(value, type):
            self.note(ref, "identity", weakly(value))
        elif type(value) in (FunctionType, MethodType, functools.partial):
            self._use_function(ref, value)
        else:
            self._use_object(ref, value)

    def _use_ndarray(self, ref: _Reference, value: np.ndarray, by_numpy: bool = False) -> None:
        if is_read_at_each_call(value) and not by_numpy:
            self.note(ref, "buffer", weakly(value))
        else:
            self.note(ref, "content", value.copy())

    def _use_function(self, ref: _Reference, value: Any) -> None:
        """A function that someone may call: what it reads, with arguments that are not known."""
        if type(value) is FunctionType and not is_users(value):
            self.note(ref, "code", value.__code__)
            for number, cell in enumerate(value.__closure__ or ()):
                try:
                    content = cell.cell_contents
                except ValueError:  # not assigned yet
                    continue
                name = value.__code__.co_freevars[number]
                cells = ref.attribute("__closure__", value.__closure__)
                self.use(
                    cells.item(number, cell).step(
                        "attr", "cell_contents", content, f"{name} in {ref.label}"
                    )
                )
            return
        for result in self.call_value(ref, [], {}):
            self.use(result)

    def _use_object(self, ref: _Reference, value: Any) -> None:
        kind = type(value)
        if _followed(value):
            self.call_value(ref, [], {})
            return
        if is_users(_class_attribute(kind, "__call__")):
            self.call_value(ref.attribute("__call__", value.__call__), [], {})
            return
        self.note(ref, "identity", weakly(value))
        wrapped = getattr(value, "__wrapped__", None)
        if callable(wrapped):
            self.use(ref.attribute("__wrapped__", wrapped))
        elif dataclasses.is_dataclass(value):
            for name in (f.name for f in dataclasses.fields(value)):
                if hasattr(value, name):
                    self.use(ref.attribute(name, getattr(value, name)))
        elif not _is_ours(value):
            self.found.unguarded[f"{ref.label} ({kind.__name__}), read at {self.found.where()}"] = (
                None
            )


# ------------------------------------------------------------------------------------ small parts

_TYPE_OF_NDARRAY = frozenset(("shape", "dtype", "ndim", "size", "nbytes", "itemsize"))
_MUTATING = frozenset(
    "append extend insert pop remove clear update setdefault add discard popitem sort reverse "
    "appendleft popleft write".split()
)


def _reads_nothing(code: CodeType, function: Any) -> bool:
    """Whether a glance tells that code of unknown arguments reads only frit's own modules.

    Long straight functions of mathematics are like that; following them would say the same.
    """
    if code.co_freevars or any(isinstance(c, CodeType) for c in code.co_consts):
        return False
    variables = function.__globals__
    return all(
        name in _PLAIN_BUILTINS or not hasattr(builtins, name)
        if name not in variables
        else _is_frit(variables[name])
        for name in code.co_names
    )


def _is_frit(value: Any) -> bool:
    return type(value) is ModuleType and value.__name__.partition(".")[0] == "frit"


_PLAIN_BUILTINS = frozenset(("range", "len", "zip", "enumerate", "float", "int", "min", "max"))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, _SCALARS)


def _is_builtin(kind: type) -> bool:
    return kind.__module__ in ("builtins", "functools") or kind in (functools.partial,)


def _is_followed(value: Any) -> bool:
    if isinstance(value, (FunctionType, MethodType, functools.partial, _Nested, _Applied)):
        return True
    return bool(_followed(value))


def _followed(value: Any) -> tuple[str, ...]:
    """Where a wrapper of ours holds the user's functions, the called one first."""
    return getattr(type(value), "followed", ()) if _is_ours(value) else ()


def _group(refs: Sequence[_Reference | None]) -> _Reference:
    return _Reference(_Group(tuple([] if r is None else [r] for r in refs)), None, "")


def _constant_argument(origins: Origins) -> Any:
    return next((o[1].value for o in origins if o[0] == "const"), None)


def _class_attribute(kind: type, name: str) -> Any:
    """What a class defines under a name, itself or by its bases, as it stands in their dict."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _super_attribute(value: _Super, name: str) -> list[_Reference]:
    receiver = value.receiver
    mro = type(receiver.value).__mro__
    if value.after not in mro:
        return []
    for base in mro[mro.index(value.after) + 1 :]:
        found = base.__dict__.get(name)
        if found is None:
            continue
        if not isinstance(found, FunctionType):
            return []
        kind = receiver.attribute("__class__", type(receiver.value))
        function = kind.attribute("__mro__", mro).item(mro.index(base), base).attribute(name, found)
        bound = MethodType(found, receiver.value)
        return [_Reference(bound, function.place, f"super().{name}", receiver)]
    return []


def _module_attribute(base: _Reference, name: str) -> list[_Reference]:
    value = vars(base.value).get(name, MISSING)
    if value is MISSING:
        value = getattr(base.value, name, MISSING)
        if value is MISSING:
            return []
    label = f"{base.value.__name__}.{name}"
    if _is_library_module(base.value.__name__):
        return [_Reference(value, None, f"`{label}`")]
    return [_Reference(value, (("module", base.value.__name__), (("item", name),)), f"`{label}`")]


def _bind(
    code: CodeType, args: Sequence[list[_Reference]], kwargs: dict[str, list[_Reference]]
) -> dict[str, list[_Reference]]:
    """What the parameters of a function refer to in a call.

    What is given as *args and **kwargs may become any of those that are not given otherwise.
    """
    rest = kwargs.get(_REST, [])
    count = code.co_argcount
    names = code.co_varnames
    bound = {name: refs for name, refs in zip(names[:count], args, strict=False) if refs}
    known = set(names[: count + code.co_kwonlyargcount])
    bound.update((name, refs) for name, refs in kwargs.items() if name in known and refs)
    if rest:
        bound.update((name, rest) for name in known if name not in bound)
    end = count + code.co_kwonlyargcount
    if code.co_flags & _TAKES_ARGS:
        extra = args[count:]
        if extra or rest:
            several = _Group((*extra, rest), ordered=not rest)
            bound[names[end]] = [_Reference(several, None, "")]
        end += 1
    if code.co_flags & _TAKES_KWARGS:
        unknown = [refs for name, refs in kwargs.items() if name not in known]
        if unknown:
            bound[names[end]] = [_Reference(_Group(tuple(unknown), ordered=False), None, "")]
    return bound


_REST = "*"  # among the names of keyword arguments: what is given as *args and **kwargs
_TAKES_ARGS, _TAKES_KWARGS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS


def _defaults(function: _Reference) -> dict[str, _Reference]:
    """The defaults of a function's parameters, as places."""
    value = function.value
    code = value.__code__
    found = {}
    if value.__defaults__:
        count = code.co_argcount
        names = code.co_varnames[count - len(value.__defaults__) : count]
        base = function.attribute("__defaults__", value.__defaults__)
        for i, (name, default) in enumerate(zip(names, value.__defaults__, strict=True)):
            found[name] = base.step("item", i, default, f"default of `{name}`")
    if value.__kwdefaults__:
        base = function.attribute("__kwdefaults__", value.__kwdefaults__)
        for name, default in value.__kwdefaults__.items():
            found[name] = base.step("item", name, default, f"default of `{name}`")
    return found


def _nested_defaults(nested: _Nested, walk: _Walk) -> dict[str, list[_Reference]]:
    code, defaults = nested.made.code, nested.made.defaults
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {
        name: walk._all(origins, nested.frame)
        for name, origins in zip(names, defaults, strict=False)
    }
