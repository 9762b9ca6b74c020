"""Calls: into the user's functions, through wrappers, and what is known of Python's own."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from frit.runtime.captures.references import (
    REST,
    Applied,
    Frame,
    Group,
    Nested,
    Reference,
    bind,
    class_attribute,
    defaults_of,
    followed_attributes,
    group_of,
    is_ours,
)
from frit.runtime.captures.values import MOST_PLACES, ValueWalk
from frit.runtime.effects import Done, Stored, act_of_call
from frit.runtime.guards import MISSING
from frit.runtime.reads import Call, Origin, Origins, reads_of
from frit.runtime.users import is_users

_DEEPEST = 32  # calls followed into each other


class Walk(ValueWalk):
    """Follows functions and values, and notes guards."""

    # -- functions

    def enter(
        self,
        code: CodeType,
        function: Reference,
        arguments: dict[str, list[Reference]],
        enclosing: Frame | None = None,
    ) -> list[Reference]:
        """Notes what a code object reads; what it returns."""
        found = self.found
        bound = tuple(
            (name, tuple(r.place or id(r.value) for r in refs)) for name, refs in arguments.items()
        )
        key = (code, id(function.value), id(enclosing), bound)
        known = found.returned.get(key)
        if known is not None:
            return known
        if found.depth > _DEEPEST or len(found.returned) > MOST_PLACES:
            found.unguarded[f"what {code.co_name} reads, called too deep to follow"] = None
            return []
        found.returned[key] = []  # while it is being followed
        found.held.append((function, arguments, enclosing))
        if not arguments and _reads_nothing(code, function.value):
            return []
        frame = Frame(reads_of(code), function, arguments, enclosing)
        found.depth += 1
        before = found.frame, found.offset
        try:
            found.returned[key] = self._follow(frame)
            return found.returned[key]
        finally:
            found.depth -= 1
            found.frame, found.offset = before

    def _follow(self, frame: Frame) -> list[Reference]:
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
            self.use_by_numpy([self.resolve(origin, frame)], {})
        return [ref for origin in reads.returned for ref in self.resolve(origin, frame)]

    def _note_assigned(self, origin: Origin, frame: Frame, offset: int) -> None:
        """What the code itself assigns is its own affair: a counter, not a capture."""
        for ref in self._assigned_places(origin, frame):
            self._note_stored(ref, frame, offset)

    def _assigned_places(self, origin: Origin, frame: Frame) -> list[Reference]:
        kind = origin[0]
        if kind == "global":
            return [self._place_of_global(origin[1], frame, MISSING)]
        if kind in ("attr", "item"):
            bases = self.resolve(origin[1], frame)
            return [(b.attribute if kind == "attr" else b.item)(origin[2], MISSING) for b in bases]
        return self.resolve(origin[1] if kind == "each" else origin, frame)

    def _note_stored(self, ref: Reference, frame: Frame | None, offset: int) -> None:
        if frame is not None and ref.place is not None and ref.place not in self.found.assigned:
            self.found.assigned[ref.place] = Stored(ref.label, frame.reads.place_of(offset))

    def result_of(self, number: int, frame: Frame) -> list[Reference]:
        known = frame.results.get(number)
        if known is None:
            frame.results[number] = []  # while it is being found
            call = frame.reads.calls[number]
            known = frame.results[number] = self._call(call, frame)
        return known

    def _call(self, call: Call, frame: Frame) -> list[Reference]:
        self.found.frame, self.found.offset = frame, call.offsets[0]
        args = [self.all_of(a, frame) for a in call.args]
        kwargs = {name: self.all_of(a, frame) for name, a in call.kwargs}
        callees = self.all_of(call.callee, frame)
        if call.rest:
            kwargs[REST] = self.all_of(call.rest, frame)
        if not callees:
            self.use_all(args, kwargs)
            return []
        special = [_constant_argument(a) for a in call.args]
        results: list[Reference] = []
        for callee in callees:
            act = act_of_call(callee.value, call)
            if act is not None:
                for offset in call.offsets:
                    done = Done(act, callee.label, frame.reads.place_of(offset))
                    self.found.acts[frame.reads.code, offset] = done
            results += self.call_value(callee, args, kwargs, special)
        return results

    def call_value(
        self,
        callee: Reference,
        args: list[list[Reference]],
        kwargs: dict[str, list[Reference]],
        special: Sequence[Any] = (),
    ) -> list[Reference]:
        """Follows a call of a value; what the call returns."""
        value = callee.value
        kind = type(value)
        if kind is Nested:
            arguments = bind(value.made.code, args, kwargs)
            for name, refs in _nested_defaults(value, self).items():
                arguments.setdefault(name, refs)
            return self.enter(value.made.code, value.frame.function, arguments, value.frame)
        if kind is Applied:
            args, kwargs = [*value.args, *args], {**value.kwargs, **kwargs}
            return [r for f in value.functions for r in self.call_value(f, args, kwargs)]
        if kind is FunctionType:
            if not is_users(value):
                return self._call_library(callee, args, kwargs)
            self.note(callee, "code", value.__code__)
            arguments = bind(value.__code__, args, kwargs)
            for name, ref in defaults_of(callee).items():
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

    def _call_object(self, callee: Reference, args: Any, kwargs: Any) -> list[Reference]:
        """An object that can be called: a wrapper of ours, or one with `__call__`."""
        value = callee.value
        followed = followed_attributes(value)
        if followed:
            first, *others = (
                callee.attribute(name, inner)
                for name in followed
                if (inner := getattr(value, name, None)) is not None
            )
            for other in others:
                self.use(other)
            return self.call_value(first, args, kwargs)
        method = class_attribute(type(value), "__call__")
        if is_users(method):
            bound = callee.attribute("__call__", value.__call__)
            return self.call_value(bound, args, kwargs)
        wrapped = getattr(value, "__wrapped__", None)
        if callable(wrapped):
            self.use_all(args, kwargs)
            return self.call_value(callee.attribute("__wrapped__", wrapped), args, kwargs)
        self.use(callee)
        self.use_all(args, kwargs)
        if not is_ours(value):  # a ufunc, say
            self.use_by_numpy(args, kwargs)
        return []

    def _call_library(self, callee: Reference, args: Any, kwargs: Any) -> list[Reference]:
        """A library's function: what it gets is out of sight, what it closes over is not."""
        value = callee.value
        wrapped = getattr(value, "__wrapped__", None)
        if callee.place is not None and callable(wrapped):
            self.use(callee)
            return self.call_value(callee.attribute("__wrapped__", wrapped), args, kwargs)
        self.use(callee)
        self.use_all(args, kwargs)
        if not (getattr(value, "__module__", None) or "").startswith("frit."):
            self.use_by_numpy(args, kwargs)
            return []
        # grad(f), vmap(f), checkpoint(f) …: the result calls what was given.
        return [r for refs in (*args, *kwargs.values()) for r in refs if _is_followed(r.value)]

    def _call_builtin(
        self, callee: Reference, args: Any, kwargs: Any, special: Sequence[Any]
    ) -> list[Reference]:
        value = callee.value
        if isinstance(value, type) and not _is_builtin(value):
            return self._construct(callee, args, kwargs)
        if value is getattr and len(args) >= 2 and isinstance(special[1], str):
            return [r for base in args[0] for r in self.attribute(base, special[1])]
        if value is setattr and len(args) == 3 and isinstance(special[1], str):
            for base in args[0]:
                stored = base.attribute(special[1], MISSING)
                self._note_stored(stored, self.found.frame, self.found.offset)
            self.use_all(args[2:], {})
            return []
        if value is isinstance and len(args) == 2:
            for ref in args[0]:
                self.note(ref, "class", type(ref.value))
            return []
        if value is vars and len(args) == 1:
            return [r for base in args[0] for r in self.attribute(base, "__dict__")]
        if value is dict and len(args) == 1:  # a copy holds what the original does
            copied = [r for r in args[0] if isinstance(r.value, dict)]
            self.use_all([[r for r in args[0] if r not in copied]], kwargs)
            return copied
        if value is functools.partial and args:
            return [Reference(Applied(args[0], list(args[1:]), dict(kwargs)), None, "partial")]
        name = getattr(value, "__name__", "")
        receiver = callee.owner
        if receiver is not None and isinstance(value, BuiltinFunctionType):
            if name in _MUTATING and receiver.place is not None:
                self._note_stored(receiver, self.found.frame, self.found.offset)
            elif name in ("values", "items") and type(receiver.value) is dict:
                pairs = self.each(receiver)
                if name == "values":
                    return [group_of(pairs)]
                return [group_of([group_of([None, r]) for r in pairs])]
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
            return [Reference(Group(elements, ordered), None, "")]
        elif name == "enumerate" and args:
            numbered = [r for base in args[0] for r in self.each(base)]
            return [group_of([group_of([None, r]) for r in numbered])]
        elif name == "zip":
            columns = [[r for base in a for r in self.each(base)] for a in args]
            return [group_of([Reference(Group(tuple(columns)), None, "")])]
        self.use_all(args, kwargs)
        self.use_by_numpy(args, kwargs)
        return []

    def _construct(self, callee: Reference, args: Any, kwargs: Any) -> list[Reference]:
        """An instance of a class is made: its `__init__` runs."""
        self.use(callee)
        found = False
        for name in ("__new__", "__init__", "__post_init__"):
            method = class_attribute(callee.value, name)
            if is_users(method):
                found = found or name == "__init__"
                function = callee.attribute(name, method)
                given = ([], {}) if name == "__post_init__" else (args, kwargs)
                self.call_value(function, [[], *given[0]], given[1])
        if not found:
            self.use_all(args, kwargs)
        return []


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


def _is_builtin(kind: type) -> bool:
    return kind.__module__ in ("builtins", "functools") or kind in (functools.partial,)


def _is_followed(value: Any) -> bool:
    if isinstance(value, (FunctionType, MethodType, functools.partial, Nested, Applied)):
        return True
    return bool(followed_attributes(value))


def _constant_argument(origins: Origins) -> Any:
    return next((o[1].value for o in origins if o[0] == "const"), None)


def _nested_defaults(nested: Nested, walk: Walk) -> dict[str, list[Reference]]:
    code, defaults = nested.made.code, nested.made.defaults
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {
        name: walk.all_of(origins, nested.frame)
        for name, origins in zip(names, defaults, strict=False)
    }
