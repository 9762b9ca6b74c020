"""Objects that a block of code changed in place.

A traced block runs once, whatever its condition will be, so that `log.append(x)` or `self.n = n`
would happen always.  A Watch holds shallow copies of the containers and objects that the block can
reach through its variables and globals; what differs afterwards was changed, and can be put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_DEEPEST = 5
_MOST = 2000
_NOT_FOLLOWED = (type, ModuleType, FunctionType, CodeType, str, bytes, int, float, complex)
_OURS = ("frit", "numpy", "builtins")


class Watch:
    """The objects that functions can reach, as they were."""

    def __init__(self, blocks: Iterable[FunctionType]) -> None:
        self._seen: dict[int, tuple[Any, str, Any]] = {}
        for block in blocks:
            for name, value in _reachable(block):
                self._add(value, name, 0)

    def _add(self, value: Any, path: str, depth: int) -> None:
        if id(value) in self._seen or depth > _DEEPEST or len(self._seen) > _MOST:
            return
        if isinstance(value, _NOT_FOLLOWED) or value is None:
            return
        inside = _contents(value)
        if inside is None:
            return
        self._seen[id(value)] = (value, path, inside)
        children: Iterable[tuple[str, Any]]
        if not isinstance(inside, dict):
            children = ((f"{path}[{i}]", x) for i, x in enumerate(inside))
        elif isinstance(value, dict):
            children = ((f"{path}[{k!r}]", x) for k, x in inside.items())
        else:
            children = ((f"{path}.{k}", x) for k, x in inside.items())
        for name, child in children:
            self._add(child, name, depth + 1)

    def changed(self) -> list[str]:
        """The paths of what is not as it was."""
        found = []
        for value, path, before in self._seen.values():
            now = _contents(value)
            if isinstance(before, dict) and isinstance(now, dict):
                keys = [
                    k for k in {**before, **now} if before.get(k, found) is not now.get(k, found)
                ]
                form = "{}[{!r}]" if isinstance(value, dict) else "{}.{}"
                found += [form.format(path, k) for k in keys]
            elif now is not None and not _same(before, now):
                found.append(path)
        return found

    def restore(self) -> None:
        """Puts everything back as it was."""
        for value, _, before in self._seen.values():
            now = _contents(value)
            if isinstance(value, list):
                if not _same(before, now):
                    value[:] = before
            elif isinstance(value, set):
                if before != now:
                    value.clear()
                    value.update(before)
            elif isinstance(before, dict):
                target = value if isinstance(value, dict) else vars(value)
                if list(target) != list(before) or not _same(target.values(), before.values()):
                    target.clear()
                    target.update(before)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (set, frozenset)):
        return bool(a == b)
    a, b = list(a), list(b)
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _contents(value: Any) -> Any:
    """A shallow copy of what an object holds, or None for one that is not followed."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, set):
        return set(value)
    if type(value).__module__.partition(".")[0] in _OURS or not hasattr(value, "__dict__"):
        return None
    return dict(vars(value))


def _reachable(block: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(block.__code__.co_freevars, block.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if not name.startswith("@"):
            yield name, value
    for name in _global_names(block.__code__):
        if name in block.__globals__:
            yield name, block.__globals__[name]


def _global_names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _global_names(constant)
    return found
