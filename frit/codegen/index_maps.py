"""Index maps: which loops of a kernel the index of a value comes from.

    map    = a symbol for each axis, or None where the index is 0
    symbol = (kernel, axis)              a loop of the kernel's own nest
           | ("reduced", ...)            a loop of a reduction
           | ("reversed", symbol) | ("other", ...)    an index computed from loops

A value is computed once for each distinct map, and for each turn of the innermost loop that its map
mentions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from frit.codegen.units import REDUCTIONS, shape_of
from frit.ir.jaxpr import JaxprEqn


class IndexMaps:
    """The maps met while one jaxpr is grouped, and how often each symbol's loop turns."""

    def __init__(self) -> None:
        self.evaluations: dict[Any, int] = {}
        self.frames: dict[Any, int] = {}

    def of_kernel(self, kernel: int, shape: Sequence[int]) -> Any:
        """The map of a kernel's own results."""
        for axis in range(len(shape)):
            self.evaluations[(kernel, axis)] = math.prod(shape[: axis + 1])
        return tuple((kernel, axis) for axis in range(len(shape)))

    def turns(self, frame: Any) -> int:
        """How often a value with this index map is computed."""
        return max((self.evaluations[_loop(s)] for s in frame if s is not None), default=1)

    def of_operand(self, eqn: JaxprEqn, number: int, position: int, frame: Any) -> Any:
        """The index map of an operand, given that of the result: None where the index is 0."""
        name = eqn.primitive.name
        shape = shape_of(eqn.invars[position])
        if not shape:
            return ()
        if eqn.primitive.pointwise:
            if len(shape) != len(frame):
                return self.opaque(shape, frame, number, position)
            return tuple(None if n == 1 else s for n, s in zip(shape, frame, strict=True))
        match name:
            case "broadcast_in_dim" if position == 0:
                axes = eqn.params["broadcast_dimensions"]
                return tuple(None if n == 1 else frame[a] for n, a in zip(shape, axes, strict=True))
            case "transpose":
                axes = eqn.params["permutation"]
                found = [None] * len(axes)
                for out, axis in enumerate(axes):
                    found[axis] = frame[out]
                return tuple(found)
            case "copy":
                return frame
            case "rev":
                axes = eqn.params["dimensions"]
                return tuple(_reversed(s) if a in axes else s for a, s in enumerate(frame))
            case "squeeze" | "expand_dims" | "reshape":
                long = [s for n, s in zip(shape_of(eqn.outvars[0]), frame, strict=True) if n != 1]
                if len(long) == sum(n != 1 for n in shape) and [n for n in shape if n != 1] == [
                    n for n in shape_of(eqn.outvars[0]) if n != 1
                ]:
                    rest = iter(long)
                    return tuple(None if n == 1 else next(rest) for n in shape)
        if name in REDUCTIONS:
            return self.reduced(eqn, number, shape, frame)
        return self.opaque(shape, frame, number, position)

    def reduced(self, eqn: JaxprEqn, number: int, shape: Any, frame: Any) -> Any:
        axes = eqn.params["axes"]
        kept, found, turns = iter(frame), [], self.turns(frame)
        for axis, extent in enumerate(shape):
            if axis in axes:
                symbol = ("reduced", number, axis, self.number_of(frame))
                turns *= extent
                self.evaluations[symbol] = turns
                found.append(symbol)
            else:
                found.append(next(kept))
        return tuple(found)

    def number_of(self, frame: Any) -> int:
        """A number for an index map, so that maps within maps stay small."""
        return self.frames.setdefault(frame, len(self.frames))

    def opaque(self, shape: Any, frame: Any, number: int, position: int) -> Any:
        symbol = ("other", number, position, self.number_of(frame))
        self.evaluations[symbol] = self.turns(frame)
        return tuple(symbol if axis == 0 else None for axis in range(len(shape)))

    def is_own_place(self, frame: Any, kernel: int, shape: Sequence[int]) -> bool:
        """Whether a kernel's element reads only its own place, or reductions of its row."""
        own = [(kernel, axis) for axis in range(len(frame))]
        long = [axis for axis, extent in enumerate(shape) if extent != 1]
        # An array of one element that is padded or gathered is read under a mask, or at a computed
        # index, by a load of its own.
        if len(frame) != len(shape) or any(s is not None and s[0] == "other" for s in frame):
            return False
        depth = next((a for a in long if frame[a] != own[a]), len(frame))
        rest = {frame[a] for a in long if a >= depth}
        return all(
            s is not None and s[0] == "reduced" and self.frames.get(tuple(own[:depth])) == s[3]
            for s in rest
        )


def _loop(symbol: Any) -> Any:
    """The loop that an index comes from."""
    return symbol[1] if symbol[0] == "reversed" else symbol


def _reversed(symbol: Any) -> Any:
    if symbol is None:
        return None
    return symbol[1] if symbol[0] == "reversed" else ("reversed", symbol)
