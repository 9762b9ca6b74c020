"""Arithmetic on indices while loops are being built: what is known of them, and where they live.

An index is an `At`: a sum of loop indices and of integers computed earlier. Its *depth* is the
outermost open body in which all of them are visible, and there everything made of it alone is
computed. Bounds of loops make most divisions by extents of shapes vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from frit.codegen.loops import At, as_at


def row_major(shape: Sequence[int]) -> Any:
    """Strides in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class Indices:
    """Index arithmetic over one loop builder."""

    def __init__(self, builder: Any) -> None:
        self.b = builder
        self.bounds: dict[
            Any, int
        ] = {}  # key of an index -> exclusive upper bound; the lower one is 0
        self.depths: dict[
            int, int
        ] = {}  # id of an integer value -> the open body that it stands in
        self.barrier = 0  # nothing is computed further out than this open body

    def depth_of(self, index: Sequence[Any]) -> Any:
        """The outermost open body in which every part of the index is visible.

        No further out than the last branch or while loop, whose bodies may not run at all.
        """
        b = self.b
        depth, barrier = 0, self.barrier
        inner = len(b.open) - 1
        places = {}
        for position, scope in enumerate(b.open):
            if scope.kind in ("branch", "while"):
                barrier = position
            if scope.index is not None:
                places[id(scope.index)] = position
        for at in index:
            for _, value in at.terms:
                place = places.get(id(value))
                if place is None:
                    place = self.depths.get(id(value), inner)
                depth = max(depth, min(place, inner))
        return max(depth, barrier)

    def derive(self, key: Any, index: Sequence[Any], build: Callable[..., Any]) -> Any:
        """`build()`, an index made of `index` alone: computed where `index` allows, and once."""
        b = self.b
        depth = self.depth_of(index)
        for scope in range(depth, -1, -1):
            found = b.open[scope].memo.get(key)
            if found is not None:
                return found[0]
        with b.outside(depth):
            made = as_at(build())
            for _, value in made.terms:
                self.depths.setdefault(id(value), depth)
            b.open[-1].memo[key] = (made, index)
        return made

    def offset(self, strides: Any, index: Sequence[Any]) -> Any:
        at = At(0)
        for stride, i in zip(strides, index, strict=True):
            at = at + i * stride
        return at

    def upper(self, at: Any) -> Any:
        """An exclusive bound of an index known never to be negative, else None."""
        at = as_at(at)
        known = self.bounds.get(at.key())
        if known is not None:
            return known
        low = high = at.constant
        for factor, value in at.terms:
            extent = getattr(value, "extent", None) or self.bounds.get(as_at(value).key())
            if extent is None:
                return None
            if factor < 0:
                low += factor * (extent - 1)
            else:
                high += factor * (extent - 1)
        return high + 1 if low >= 0 else None

    def assume_below(self, at: Any, bound: Any) -> None:
        """Says that 0 <= at < bound."""
        self.bounds[as_at(at).key()] = bound

    def divmod(self, at: Any, divisor: Any) -> Any:
        """(floor of at / divisor, rest) of an index >= 0, without division where possible."""
        at = as_at(at)
        if divisor == 1:
            return at, At(0)
        whole = At(at.constant // divisor, ())
        rest = At(at.constant % divisor)
        for factor, value in at.terms:
            if factor % divisor == 0:
                whole = whole + at_of(factor // divisor, value)
            else:
                rest = rest + at_of(factor, value)
        bound = self.upper(at) if rest.key() == at.key() else self.upper(rest)
        if bound is not None and bound <= divisor:
            return whole, rest
        if not whole.terms and not whole.constant:
            rest, bound = at, self.upper(at)
        quotient = self.quotient(rest, divisor, bound)
        remainder = rest - quotient * divisor
        self.assume_below(remainder, divisor)
        if bound is not None:
            self.assume_below(quotient, -(-bound // divisor))
        return whole + quotient, remainder

    def quotient(self, at: Any, divisor: Any, bound: Any) -> Any:
        """at // divisor as one value; in 32 bits, which vectors divide fast, where they suffice."""
        if not at.terms:
            return At(at.constant // divisor)

        def build() -> Any:
            b = self.b
            if bound is None or bound > 2**31:
                return b.apply("floordiv", at, divisor)
            return b.convert(b.apply("div", b.convert(at, "uint32"), divisor), "int64")

        return self.derive(("quotient", divisor, at.key()), (at,), build)

    def delinearize(self, position: Any, shape: Sequence[int]) -> Any:
        """The index of the element at a row-major position."""
        index = []
        for extent in reversed(shape[1:]):
            position, rest = self.divmod(position, extent)
            index.append(rest)
        index.append(position)
        return tuple(reversed(index)) if shape else ()

    def clamp(self, i: Any, extent: int) -> Any:
        """An index moved to 0 ... extent - 1."""
        bound = self.upper(i)
        if bound is not None and bound <= extent:
            return as_at(i)
        return clamp_index(self.b, i, extent)


def clamp_index(b: Any, i: Any, extent: int) -> At:
    """An index moved to 0 ... extent - 1, by comparing."""
    i = as_at(i)
    if not i.terms:
        return At(min(max(i.constant, 0), extent - 1))
    if extent == 1:
        return At(0)
    return as_at(b.apply("min", b.apply("max", i, 0), extent - 1))


def at_of(factor: Any, value: Any) -> Any:
    """factor × value as an index."""
    return as_at(value) * factor
