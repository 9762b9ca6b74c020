"""gather: an element of the result is an element of the operand at a position that is data.

Whatever the positions, no access leaves the operand: starts are clamped, and where the mode fills,
windows that are not within it are replaced.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.codegen.elements import bits_of, storage
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, Node, rule
from frit.ir.jaxpr import JaxprEqn
from frit.ir.types import Shape


def mode_name(mode: Any) -> Any:
    """The name of a gather or scatter mode, however it is given."""
    return getattr(mode, "name", str(mode)).upper()


class Starts:
    """Where windows begin: reads vectors of indices, clamps them, says which windows are within.

    spans: extents of the window along each operand axis. vector_axis is the last of `indices`.
    """

    def __init__(
        self, lowering: Lowering, indices: Any, axes: Sequence[int], shape: Shape, spans: Any
    ) -> None:
        self.lowering = lowering
        self.indices = indices
        self.axes = axes
        self.room = [shape[axis] - spans[axis] for axis in axes]

    def raw(self, batch: Any, component: Any) -> Any:
        """One component as an int64 that keeps the order of the index's own dtype."""
        b = self.lowering.b
        value = self.lowering.element(self.indices, (*batch, component))
        if value.dtype == "uint64":
            value = b.apply("min", value, (1 << 62))
        return b.convert(value, "int64")

    def clamped(self, batch: Any, component: Any) -> Any:
        """The component moved so that the window is within the operand."""
        room = self.room[component]

        def build() -> Any:
            b = self.lowering.b
            return b.apply("min", b.apply("max", self.raw(batch, component), 0), room)

        if room <= 0:
            return as_at(0)
        key = ("start", id(self), component, *(as_at(i).key() for i in batch))
        return self.lowering.derive(key, batch, build)

    def within(self, batch: Any) -> Any:
        """Whether the whole window is within the operand, or None if it always is."""
        b = self.lowering.b
        inside = None
        for component, room in enumerate(self.room):
            value = self.raw(batch, component)
            if room < 0:
                return b.const(False, "bool")
            test = b.apply("and", b.apply("ge", value, 0), b.apply("le", value, room))
            inside = test if inside is None else b.apply("and", inside, test)
        return inside


def fill_number(value: Any, dtype: str) -> Any:
    """What a gather reads outside: the fill value, or nan, the lowest int, the highest uint."""
    if value is not None:
        return value.item() if hasattr(value, "item") else value
    if dtype == "bool":
        return True
    if "float" in dtype:
        return math.nan
    bits = bits_of(dtype)
    return (1 << bits) - 1 if dtype.startswith("u") else -(1 << (bits - 1))


@rule("gather")
def _gather(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    aval: Any = var.aval
    node, indices = (lowering.node(atom) for atom in equation.invars)
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    fills = mode_name(equation.params["mode"]).startswith("FILL")
    shape, dtype, parts = storage(var.aval)
    offsets = tuple(numbers.offset_dims)
    batch_axes = [axis for axis in range(len(shape)) if axis not in offsets]
    removed = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window_axes = [axis for axis in range(node.rank) if axis not in removed]
    starts = Starts(lowering, indices, tuple(numbers.start_index_map), node.shape, sizes)
    b = lowering.b
    number = fill_number(equation.params.get("fill_value"), dtype)
    fill = b.const(number.real if parts > 1 else number, dtype)
    if not isinstance(aval.dtype, np.dtype):
        fill = (fill,) * parts if parts > 1 else fill
    elif parts > 1:
        fill = (fill, b.const(getattr(number, "imag", 0.0), dtype))

    def element(index: Sequence[Any]) -> Any:
        batch = tuple(index[axis] for axis in batch_axes)
        moved = [as_at(0)] * node.rank
        for axis, place in zip(window_axes, offsets, strict=True):
            moved[axis] = as_at(index[place])
        for axis, place in zip(
            numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True
        ):
            moved[axis] = as_at(batch[place])
        if not node.size:
            return fill
        for component, axis in enumerate(starts.axes):
            moved[axis] = moved[axis] + starts.clamped(batch, component)
        value = lowering.element(node, moved)
        inside = starts.within(batch) if fills else None
        if inside is None:
            return value
        if parts > 1:
            return tuple(b.select(inside, x, y) for x, y in zip(value, fill, strict=True))
        return b.select(inside, value, fill)

    lowering.define(var, element, scalar_axes=_scalar(node, indices, len(shape)))


def _scalar(node: Node, indices: Any, rank: Any) -> Any:
    if node.scalar_axes or indices.scalar_axes:
        return frozenset(range(rank))
    return frozenset()
