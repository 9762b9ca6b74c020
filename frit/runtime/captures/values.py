"""Values: what an origin in the code refers to, and the guard of a value that is looked at."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import sys
import types as python_types
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from frit.ir.primitive import Tracer
from frit.runtime.array import Array
from frit.runtime.captures.references import (
    Applied,
    Frame,
    Group,
    Nested,
    Reference,
    Super,
    class_attribute,
    followed_attributes,
    is_ours,
    module_attribute,
    super_attribute,
)
from frit.runtime.effects import Done, Stored
from frit.runtime.guards import MISSING, NO_GUARDS, Guard, Guards, Place, weakly
from frit.runtime.reads import Origin, Origins
from frit.runtime.users import is_users
from frit.transforms.trace import is_read_at_each_call

MOST_PLACES = 4096  # values followed for one function; beyond, the rest is unguarded

_SCALARS: tuple[type, ...] = (
    type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, enum.Enum, range,
    slice, type(...), python_types.CodeType,
)  # fmt: skip


@dataclass
class Analysis:
    """The guards found so far."""

    guards: dict[tuple[Place, str], Guard] = field(default_factory=dict)
    unguarded: dict[str, None] = field(default_factory=dict)
    assigned: dict[Place, Stored] = field(default_factory=dict)
    acts: dict[tuple[CodeType, int], Done] = field(default_factory=dict)
    done: set[Any] = field(default_factory=set)
    returned: dict[Any, list[Reference]] = field(default_factory=dict)  # by code and arguments
    open: set[int] = field(default_factory=set)  # ids of what is being looked at
    held: list[Any] = field(default_factory=list)  # keeps the ids in `done` unique
    depth: int = 0
    frame: Frame | None = None  # what is being followed now, and where in its code
    offset: int = 0

    def where(self) -> str:
        return "" if self.frame is None else self.frame.where(self.offset)


class ValueWalk:
    """Follows values, and notes guards; `Walk` follows calls as well."""

    def __init__(self) -> None:
        self.found = Analysis()

    def finish(self) -> Guards:
        found = self.found
        if not found.guards and not found.unguarded:
            return NO_GUARDS
        guards = Guards(list(found.guards.values()), tuple(found.unguarded))
        return guards.without(set(found.assigned)) if found.assigned else guards

    def call_value(
        self,
        callee: Reference,
        args: list[list[Reference]],
        kwargs: dict[str, list[Reference]],
        special: Sequence[Any] = (),
    ) -> list[Reference]:
        """Follows a call of a value; what the call returns."""
        raise NotImplementedError

    def result_of(self, number: int, frame: Frame) -> list[Reference]:
        """What a call in the code returns."""
        raise NotImplementedError

    # -- values

    def resolve(self, origin: Origin, frame: Frame) -> list[Reference]:
        """The values that an expression of the code may be, as far as they are from outside."""
        known = frame.known.get(origin)
        if known is None:
            frame.known[origin] = []  # while it is being found: a cycle adds nothing
            known = frame.known[origin] = self._resolved(origin, frame)
        return known

    def _resolved(self, origin: Origin, frame: Frame) -> list[Reference]:
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
            nested = Nested(frame.reads.made[origin[1]], frame)
            return [Reference(nested, None, nested.made.code.co_name)]
        if kind == "group":
            return [Reference(Group(tuple(self.all_of(o, frame) for o in origin[1])), None, "")]
        if kind == "built":
            held = [r for o in frame.reads.built[origin[1]] for r in self.resolve(o, frame)]
            return [Reference(Group((held,), ordered=False), None, "")] if held else []
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

    def _global(self, name: str, frame: Frame) -> list[Reference]:
        variables = frame.function.value.__globals__
        if name.startswith("@"):  # of code that was converted: ours
            return []
        if name not in variables:
            value = getattr(builtins, name, MISSING)
            return [] if value is MISSING else [Reference(value, None, name)]
        return [self._place_of_global(name, frame, variables[name])]

    def _place_of_global(self, name: str, frame: Frame, value: Any) -> Reference:
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
        return Reference(value, place, f"global `{name}`")

    def _cell(self, name: str, frame: Frame) -> list[Reference]:
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

    def _super(self, frame: Frame) -> list[Reference]:
        names = frame.reads.code.co_varnames
        receivers = frame.arguments.get(names[0], []) if names else []
        owners = (
            self._cell("__class__", frame) if "__class__" in frame.reads.code.co_freevars else []
        )
        return [
            Reference(Super(r, c.value), None, "super()")
            for r in receivers
            for c in owners
            if isinstance(c.value, type)
        ]

    def attribute(self, base: Reference, name: str) -> list[Reference]:
        value = base.value
        if isinstance(value, Super):
            return super_attribute(value, name)
        if isinstance(value, (Nested, Applied, Group)):
            return []
        if isinstance(value, ModuleType):
            return module_attribute(base, name)
        if isinstance(value, np.ndarray):
            self.use_ndarray(base, value, by_numpy=name not in _TYPE_OF_NDARRAY)
            return []
        if isinstance(value, (Array, Tracer)):
            self.use(base)
            return []
        if name == "__class__":
            self.note(base, "class", type(value))
            return []
        found = class_attribute(type(value), name) if not isinstance(value, type) else None
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
        self, base: Reference, name: str, descriptor: Any, getter: str
    ) -> list[Reference]:
        """An attribute that a function computes: what the function reads is guarded."""
        self.note(base, "class", type(base.value))
        kind = base.attribute("__class__", type(base.value))
        function = kind.attribute(name, descriptor).attribute(getter, getattr(descriptor, getter))
        return self.call_value(function, [[base]], {})

    def item(self, base: Reference, key: Any) -> list[Reference]:
        value = base.value
        if isinstance(value, Group):
            if not (value.ordered and isinstance(key, int)):
                return [r for refs in value.elements for r in refs]
            known = -len(value.elements) <= key < len(value.elements)
            return list(value.elements[key]) if known else []
        if isinstance(value, np.ndarray):
            self.use_ndarray(base, value, by_numpy=True)
            return []
        if isinstance(value, (Array, Tracer)):
            self.use(base)
            return []
        if isinstance(value, (Nested, Applied, Super, type, str, bytes)):
            return []
        try:
            entry = value[key]
        except Exception:  # user code may raise anything; the function, if it comes here, will tell
            self.note(base.item(key, MISSING), "value", MISSING)
            return []
        return [base.item(key, entry)]

    def each(self, base: Reference) -> list[Reference]:
        """The elements of a container, whose number or keys are guarded."""
        value = base.value
        if isinstance(value, Group):
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

    def note(self, ref: Reference, kind: str, expected: Any) -> None:
        place = ref.place
        if place is None:
            return
        found = self.found
        if place[1] == () and place[0][0] in ("function", "static"):
            return  # the traced function and its static arguments are in the key themselves
        key = (place, kind)
        if key not in found.guards:
            found.guards[key] = Guard(place, kind, expected, ref.label, found.where())

    def use(self, ref: Reference) -> None:
        """The value is looked at as a whole, or by code that is not followed."""
        value = ref.value
        if isinstance(value, Group):
            for refs in value.elements:
                for element in refs:
                    self.use(element)
            return
        if isinstance(value, (Nested, Applied)):
            self.call_value(ref, [], {})
            return
        if ref.place is None or isinstance(value, (ModuleType, BuiltinFunctionType, Super)):
            return
        if (ref.place, "used") in self.found.done:
            return
        self.found.done.add((ref.place, "used"))
        if len(self.found.guards) > MOST_PLACES:
            self.found.unguarded["values beyond the first thousands"] = None
            return
        if id(value) in self.found.open:
            return  # a cycle: its parts are guarded where it was met first
        self.found.open.add(id(value))
        self._use_value(ref, value)
        self.found.open.discard(id(value))

    def _use_value(self, ref: Reference, value: Any) -> None:
        if isinstance(value, Tracer):
            self.note(ref, "tracer", value.aval)
        elif isinstance(value, Array):
            self.note(ref, "identity", value)
        elif isinstance(value, np.ndarray):
            self.use_ndarray(ref, value)
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

    def use_ndarray(self, ref: Reference, value: np.ndarray, by_numpy: bool = False) -> None:
        if is_read_at_each_call(value) and not by_numpy:
            self.note(ref, "buffer", weakly(value))
        else:
            self.note(ref, "content", value.copy())

    def _use_function(self, ref: Reference, value: Any) -> None:
        """A function that someone may call: what it reads, with arguments that are not known."""
        if type(value) is FunctionType and not is_users(value):
            self.note(ref, "code", value.__code__)
            # That very function is traced, and no function of ours assigns its cells anew.
            fixed = ref.place == _ROOT and (value.__module__ or "").startswith("frit.")
            for number, cell in enumerate(value.__closure__ or ()):
                try:
                    content = cell.cell_contents
                except ValueError:  # not assigned yet
                    continue
                if fixed and _is_scalar(content):
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

    def _use_object(self, ref: Reference, value: Any) -> None:
        kind = type(value)
        if followed_attributes(value):
            self.call_value(ref, [], {})
            return
        if is_users(class_attribute(kind, "__call__")):
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
        elif not is_ours(value):
            self.found.unguarded[f"{ref.label} ({kind.__name__}), read at {self.found.where()}"] = (
                None
            )

    def use_all(self, args: Sequence[list[Reference]], kwargs: dict[str, Any]) -> None:
        for refs in (*args, *kwargs.values()):
            for ref in refs:
                self.use(ref)

    def all_of(self, origins: Origins, frame: Frame) -> list[Reference]:
        if len(origins) == 1:
            (origin,) = origins
            return self.resolve(origin, frame)
        return [ref for origin in origins for ref in self.resolve(origin, frame)]

    def use_by_numpy(self, args: Sequence[list[Reference]], kwargs: dict[str, Any]) -> None:
        """Arrays in the hands of code that computes with them at once: their content counts."""
        for refs in (*args, *kwargs.values()):
            for ref in refs:
                if isinstance(ref.value, np.ndarray):
                    self.use_ndarray(ref, ref.value, by_numpy=True)


_ROOT: Place = (("function",), ())
_TYPE_OF_NDARRAY = frozenset(("shape", "dtype", "ndim", "size", "nbytes", "itemsize"))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, _SCALARS)
