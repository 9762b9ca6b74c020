"""Who keeps a value alive, in words: `global app.LOG[0]`, `the local variable y of main`.

The garbage collector knows who refers to a value; names are found on the way up from it, to a
variable of a module at best.  A search of last resort, for errors: it takes milliseconds.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Sequence
from typing import Any

_HIGHEST = 5  # references up from the value
_MOST_QUESTIONS = 24  # each looks at every object of the process


def holder_of(value: Any) -> str:
    """Where a value is kept, or an empty string where nobody but running code has it."""
    search = _Search(sys._getframe(1))
    return search.name(value, 0)[0] or ""


_Found = tuple[str | None, bool]  # an expression, and whether it begins with a name


class _Search:
    """The frames that run, and what has been looked at."""

    def __init__(self, frame: types.FrameType | None) -> None:
        self.frames: list[types.FrameType] = []
        while frame is not None:
            self.frames.append(frame)
            frame = frame.f_back
        self.locals = {id(f.f_locals): f for f in self.frames if f.f_locals is not f.f_globals}
        self.ignored = {id(self.frames), id(self.locals), *self.locals}
        self.seen: set[int] = set()

    def name(self, value: Any, height: int) -> _Found:
        """An expression for a value, by what refers to it, else by a local variable."""
        if height == _HIGHEST or id(value) in self.seen or len(self.seen) == _MOST_QUESTIONS:
            return None, False
        self.seen.add(id(value))
        unnamed = None
        holders = gc.get_referrers(value)
        self.ignored.add(id(holders))
        for holder in holders:
            if isinstance(holder, types.FrameType) or id(holder) in self.ignored:
                continue
            text, is_named = self._within(holder, value, height)
            if is_named:
                return text, True
            unnamed = unnamed or text
        local = self._local(value)
        return local or unnamed, local is not None

    def _within(self, holder: Any, value: Any, height: int) -> _Found:
        """The value as a part of its holder, and whether the holder has a name."""
        if isinstance(holder, dict):
            key = next((k for k, v in holder.items() if v is value), None)
            module = holder.get("__name__")
            if key is None:
                return None, False
            if isinstance(module, str) and vars(sys.modules.get(module, types)) is holder:
                return f"global {key} of the module {module}", True
            owner = _owner(holder)
            if owner is not None:
                return self._part(owner, f".{key}", height)
            return self._part(holder, f"[{key!r}]", height)
        if isinstance(holder, (list, tuple)):
            number = next((i for i, v in enumerate(holder) if v is value), None)
            return (None, False) if number is None else self._part(holder, f"[{number}]", height)
        if isinstance(holder, types.CellType):
            name = _name_of_cell(holder)
            return (f"closure variable {name}", True) if name else (None, False)
        for name in (*_slots(type(holder)), *getattr(holder, "__dict__", ())):
            if getattr(holder, name, None) is value:
                return self._part(holder, f".{name}", height)
        return None, False

    def _part(self, holder: Any, text: str, height: int) -> _Found:
        name, is_named = self.name(holder, height + 1)
        if name is None:
            return f"{text} of an object of type {type(holder).__name__}", False
        first, *rest = name.split(" of ", 1)
        return " of ".join([first + text, *rest]), is_named

    def _local(self, value: Any) -> str | None:
        for frame in self.frames:
            is_ours = frame.f_code.co_filename.startswith(_PACKAGE)
            if is_ours or id(frame.f_locals) not in self.locals:
                continue
            for name, local in frame.f_locals.items():
                if local is value and name.isidentifier():  # not a temporary of pytest
                    code = frame.f_code
                    place = f"{code.co_filename}:{frame.f_lineno}"
                    return f"the local variable {name} of {code.co_name} ({place})"
        return None


_PACKAGE = __file__.removesuffix("holders.py")


def _owner(variables: dict[Any, Any]) -> Any:
    """The object or class whose attributes these are."""
    for holder in gc.get_referrers(variables):
        if getattr(holder, "__dict__", None) is variables:
            return holder
    return None


def _name_of_cell(cell: types.CellType) -> str | None:
    for closure in gc.get_referrers(cell):
        if isinstance(closure, tuple):
            for function in gc.get_referrers(closure):
                if isinstance(function, types.FunctionType) and function.__closure__ is closure:
                    name = function.__code__.co_freevars[_index(closure, cell)]
                    return f"{name} of {function.__qualname__}"
    return None


def _index(values: Sequence[Any], value: Any) -> int:
    return next(i for i, v in enumerate(values) if v is value)


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else list(slots)
    return found
