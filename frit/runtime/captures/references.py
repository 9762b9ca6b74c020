"""What a walk over captures refers to: values, with the places where they are found again.

A reference without a place is made by the code at each trace: a nested function, a tuple.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

from frit.runtime.guards import MISSING, Place
from frit.runtime.reads import Made, Origin, Reads
from frit.runtime.users import is_library_file


@functools.lru_cache(maxsize=4096)
def is_library_module(name: str) -> bool:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return file is None and name != "__main__" or (file is not None and is_library_file(file))


def is_ours(value: Any) -> bool:
    return (getattr(type(value), "__module__", None) or "").startswith("frit.")


class Reference:
    """A value, and where it is found again; place is None for what is made at each trace.

    owner: of a bound method, what it was read from.  (No dataclass: thousands are made.)
    """

    __slots__ = ("label", "owner", "place", "value")

    def __init__(
        self, value: Any, place: Place | None, label: str, owner: Reference | None = None
    ) -> None:
        self.value, self.place, self.label, self.owner = value, place, label, owner

    def step(self, kind: str, key: Any, value: Any, label: str) -> Reference:
        place = None if self.place is None else (self.place[0], (*self.place[1], (kind, key)))
        return Reference(value, place, label, self)

    def attribute(self, name: str, value: Any) -> Reference:
        return self.step("attr", name, value, self._longer(f".{name}"))

    def item(self, key: Any, value: Any) -> Reference:
        return self.step("item", key, value, self._longer(f"[{key!r}]"))

    def _longer(self, more: str) -> str:
        if self.label.endswith("`"):
            return f"{self.label[:-1]}{more}`"
        return self.label + more


@dataclass(frozen=True, eq=False)
class Nested:
    """A function that the code of `frame` makes."""

    made: Made
    frame: Frame


@dataclass(frozen=True, eq=False)
class Group:
    """A tuple or list that the code makes."""

    elements: tuple[list[Reference], ...]
    ordered: bool = True  # whether the number of an element tells which it is


@dataclass(frozen=True, eq=False)
class Applied:
    """What `functools.partial` makes in the code: functions with some of their arguments."""

    functions: list[Reference]
    args: list[list[Reference]]
    kwargs: dict[str, list[Reference]]


@dataclass(frozen=True, eq=False)
class Super:
    receiver: Reference
    after: type


class Frame:
    """One code object with what its variables refer to."""

    def __init__(
        self,
        reads: Reads,
        function: Reference,
        arguments: dict[str, list[Reference]],
        enclosing: Frame | None,
    ) -> None:
        self.reads, self.function = reads, function
        self.arguments, self.enclosing = arguments, enclosing
        self.known: dict[Origin, list[Reference]] = {}
        self.results: dict[int, list[Reference]] = {}

    def where(self, offset: int) -> str:
        """`file:line` of an instruction."""
        code = self.reads.code
        return f"{os.path.basename(code.co_filename)}:{self.reads.line_of(offset)}"


def group_of(refs: Sequence[Reference | None]) -> Reference:
    return Reference(Group(tuple([] if r is None else [r] for r in refs)), None, "")


def class_attribute(kind: type, name: str) -> Any:
    """What a class defines under a name, itself or by its bases, as it stands in their dict."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def super_attribute(value: Super, name: str) -> list[Reference]:
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
        return [Reference(bound, function.place, f"super().{name}", receiver)]
    return []


def module_attribute(base: Reference, name: str) -> list[Reference]:
    value = vars(base.value).get(name, MISSING)
    if value is MISSING:
        value = getattr(base.value, name, MISSING)
        if value is MISSING:
            return []
    label = f"{base.value.__name__}.{name}"
    if is_library_module(base.value.__name__):
        return [Reference(value, None, f"`{label}`")]
    return [Reference(value, (("module", base.value.__name__), (("item", name),)), f"`{label}`")]


def followed_attributes(value: Any) -> tuple[str, ...]:
    """Where a wrapper of ours holds the user's functions, the called one first."""
    return getattr(type(value), "followed", ()) if is_ours(value) else ()


def bind(
    code: CodeType, args: Sequence[list[Reference]], kwargs: dict[str, list[Reference]]
) -> dict[str, list[Reference]]:
    """What the parameters of a function refer to in a call.

    What is given as *args and **kwargs may become any of those that are not given otherwise.
    """
    rest = kwargs.get(REST, [])
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
            several = Group((*extra, rest), ordered=not rest)
            bound[names[end]] = [Reference(several, None, "")]
        end += 1
    if code.co_flags & _TAKES_KWARGS:
        unknown = [refs for name, refs in kwargs.items() if name not in known]
        if unknown:
            bound[names[end]] = [Reference(Group(tuple(unknown), ordered=False), None, "")]
    return bound


REST = "*"  # among the names of keyword arguments: what is given as *args and **kwargs
_TAKES_ARGS, _TAKES_KWARGS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS


def defaults_of(function: Reference) -> dict[str, Reference]:
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
