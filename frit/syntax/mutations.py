"""Objects and variables that a block of code changed, beyond the variables it binds itself.

A traced block runs once, whatever its condition will be, so that `log.append(x)`, `self.n = n` or a
call of a function that counts its calls would happen always.  A Watch holds shallow copies of what
the block can reach through its variables, globals and the functions it calls; what differs
afterwards was changed, and can be put back.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_DEEPEST = 6
_MOST = 2000  # objects watched for one block
_LONGEST = 1000  # elements looked into, of one container
_PLAIN = (type, ModuleType, CodeType, str, bytes, bool, int, float, complex, type(None))
_OURS = ("frit", "numpy")
_MISSING = object()


class Watch:
    """What functions can reach, as it was."""

    def __init__(self, blocks: Iterable[Any]) -> None:
        self._seen: dict[int, tuple[Any, str, Any]] = {}
        self._globals: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}
        for block in (b for b in blocks if isinstance(b, FunctionType)):
            for name, value in _reachable(block):
                self._add(value, name, 0)

    def _add(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        if depth > _DEEPEST or len(self._seen) > _MOST:
            return
        inside = _contents(value)
        if inside is None:
            return
        self._seen[id(value)] = (value, path, inside)
        if isinstance(value, FunctionType):
            for name in _globals_of(value.__code__)[1]:
                known = value.__globals__.get(name, _MISSING)
                self._globals[id(value.__globals__), name] = (value.__globals__, known)
            for name, child in _reachable(value):
                self._add(child, name, depth + 1)
        elif len(inside) <= _LONGEST:
            for key, child in inside.items() if isinstance(inside, dict) else enumerate(inside):
                if not isinstance(child, _PLAIN):
                    self._add(child, _part(value, path, key), depth + 1)

    def changed(self) -> list[str]:
        """The paths of what is not as it was."""
        found = []
        for value, path, before in self._seen.values():
            now = _contents(value)
            if isinstance(before, dict) and isinstance(now, dict):
                keys = {**before, **now}
                found += [
                    _part(value, path, k)
                    for k in keys
                    if before.get(k, _MISSING) is not now.get(k, _MISSING)
                ]
            elif not _same(before, now):
                found.append(path)
        names = [(n, where.get(n, _MISSING), x) for (_, n), (where, x) in self._globals.items()]
        return found + [name for name, now, before in names if now is not before]

    def restore(self) -> None:
        """Puts everything back as it was."""
        for value, _, before in self._seen.values():
            if isinstance(value, FunctionType):
                for name, cell in _cells(value):
                    _put_back(cell, before.get(name, _MISSING))
            elif isinstance(value, list):
                if not _same(before, value):
                    value[:] = before
            elif isinstance(value, set):
                if before != value:
                    value.clear()
                    value.update(before)
            elif isinstance(before, dict):
                target = value if isinstance(value, dict) else vars(value)
                if list(target) != list(before) or not _same(target.values(), before.values()):
                    target.clear()
                    target.update(before)
        for (_, name), (names, known) in self._globals.items():
            if known is not _MISSING:
                names[name] = known
            else:
                names.pop(name, None)


def _part(value: Any, path: str, key: Any) -> str:
    """What messages call a part of a value."""
    if isinstance(value, FunctionType):
        return str(key)
    if isinstance(value, (dict, list, tuple)):
        return f"{path}[{key!r}]"
    return path if isinstance(key, int) else f"{path}.{key}"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, set):
        return bool(a == b)
    a, b = list(a), list(b)
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _contents(value: Any) -> Any:
    """A shallow copy of what an object holds, or None for one that is not followed."""
    if isinstance(value, FunctionType):
        if value.__module__ is not None and value.__module__.partition(".")[0] in _OURS:
            return None
        return {name: cell.cell_contents for name, cell in _cells(value) if _is_full(cell)}
    if isinstance(value, MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, set):
        return set(value)
    if type(value).__module__.partition(".")[0] in _OURS or not hasattr(value, "__dict__"):
        return None
    return dict(vars(value))


def _cells(function: FunctionType) -> Iterator[tuple[str, CellType]]:
    """The variables that a function closes over, without ours."""
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        if not name.startswith("@"):
            yield name, cell


def _is_full(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _put_back(cell: CellType, value: Any) -> None:
    if value is not _MISSING:
        cell.cell_contents = value
    elif _is_full(cell):
        del cell.cell_contents


def _reachable(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The values of the variables and globals that a function mentions."""
    for name, cell in _cells(function):
        if _is_full(cell):
            yield name, cell.cell_contents
    for name in _globals_of(function.__code__)[0]:
        if name in function.__globals__:
            yield name, function.__globals__[name]


@functools.lru_cache(maxsize=4096)
def _globals_of(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The global names that code (and code inside it) reads, and those that it assigns."""
    read: dict[str, None] = {}
    assigned: dict[str, None] = {}
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read[instruction.argval] = None
        elif instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            assigned[instruction.argval] = None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inside = _globals_of(constant)
            read.update(dict.fromkeys(inside[0]))
            assigned.update(dict.fromkeys(inside[1]))
    return tuple(read), tuple(assigned)
