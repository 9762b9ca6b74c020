"""r_ and c_: arrays joined by indexing, r_[0:5, 1.5, [2, 3]]."""

from __future__ import annotations

from typing import Any

from frit.numpy.creation import array
from frit.numpy.joining import concatenate
from frit.numpy.operands import concrete
from frit.numpy.ranges import arange, linspace
from frit.numpy.shapes import expand_dims, transpose


def _range_of(item: slice, name: str) -> Any:
    start, stop, step = (
        concrete(getattr(item, part), f"slice {part} of jnp.{name}")
        for part in ("start", "stop", "step")
    )
    start = 0 if start is None else start
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, 1 if step is None else step)


class _Concatenator:
    """Joins what it is indexed by along `axis`, each item given at least `ndmin` axes.

    `shift`: where an item of fewer axes has its own among the `ndmin`; -1 for the last.  A string
    in front sets these: "axis", "axis,ndmin" or "axis,ndmin,shift"; "r" and "c" make a row or
    column.
    """

    def __init__(self, name: str, axis: int, ndmin: int, shift: int) -> None:
        self.name, self.axis, self.ndmin, self.shift = name, axis, ndmin, shift

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        axis, ndmin, shift, matrix = self.axis, self.ndmin, self.shift, -1
        if isinstance(items[0], str):
            directive, items = items[0], items[1:]
            if directive in ("r", "c"):
                matrix = 0 if directive == "r" else 1
            else:
                try:
                    numbers = [int(part) for part in directive.split(",")]
                except ValueError:
                    raise ValueError(f"could not understand directive {directive!r}") from None
                axis, ndmin, shift = (*numbers, *(axis, ndmin, shift)[len(numbers) :])[:3]
        parts = [self._part(item, ndmin, shift) for item in items]
        result = concatenate(parts, axis=axis)
        return expand_dims(result, matrix) if matrix != -1 and result.ndim == 1 else result

    def _part(self, item: Any, ndmin: int, shift: int) -> Any:
        if isinstance(item, str):
            raise ValueError("string directive must be placed at the beginning")
        if isinstance(item, slice):
            found, rank = _range_of(item, self.name), 0
        else:
            found = array(item, copy=False)
            rank = found.ndim
        found = array(found, copy=False, ndmin=ndmin)
        if shift == -1 or ndmin - rank <= 0:
            return found
        turn = ndmin - abs(ndmin + shift + 1) % ndmin
        order = tuple(range(ndmin))
        return transpose(found, order[turn:] + order[:turn])

    def __len__(self) -> int:
        return 0


r_ = _Concatenator("r_", 0, 1, -1)
c_ = _Concatenator("c_", -1, 2, 0)
