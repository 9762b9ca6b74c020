"""conv_general_dilated: a tile of results that share what they load.

    result[n, o, i] = sum over c, w of lhs[n, c, i * stride + w * dilation - low] * rhs[o, c, w]

Lanes run along the last axis of the result. If that is an axis of space, a tile is up to 8 output
channels, which share a vector of the image; if it is the channels, up to 8 neighbours along the
last axis of space, which share a vector of weights. Terms are added in row-major order of rhs's
own axes, each product rounded, then each sum, whatever the tile. Half-width floats accumulate in
float32. Places on padding, or in the gaps of a dilated image, are 0 and read nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from frit.codegen.builders.complex_numbers import add_product
from frit.codegen.builders.windows import all_of, inside_place
from frit.codegen.elements import accumulator, storage
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, row_major, rule
from frit.ir.jaxpr import JaxprEqn, Var

TILE = 8


@rule("conv_general_dilated")
def _convolution(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    lhs, rhs = (lowering.node(atom) for atom in equation.invars)
    convolution = _Convolution(lowering, var, lhs, rhs, equation.params)
    if math.prod(convolution.shape):
        convolution.write()
    lowering.now_stored(var)


class _Convolution:
    """One convolution: which axis of which array is what, and how terms are added."""

    def __init__(self, lowering: Lowering, var: Var, lhs: Any, rhs: Any, params: Any) -> None:
        self.lowering, self.b = lowering, lowering.b
        self.lhs, self.rhs = lhs, rhs
        self.buffer = lowering.target(var)
        self.shape, self.dtype, self.parts = storage(var.aval)
        self.wide = accumulator(self.dtype)
        numbers = params["dimension_numbers"]
        self.lhs_spec, self.rhs_spec = numbers.lhs_spec, numbers.rhs_spec
        self.out_spec = numbers.out_spec
        space = len(self.shape) - 2
        self.strides, self.padding = params["window_strides"], params["padding"]
        self.lhs_gap = params.get("lhs_dilation") or (1,) * space
        self.rhs_gap = params.get("rhs_dilation") or (1,) * space
        self.groups = params.get("feature_group_count", 1)
        self.batch_groups = params.get("batch_group_count", 1)
        self.channels = rhs.shape[self.rhs_spec[1]]
        self.outputs = self.shape[self.out_spec[1]]
        self.group_outputs = self.outputs // max(self.groups, self.batch_groups)

    def write(self) -> None:
        """Loops over blocks of a tile, the other axes, and lanes."""
        lowering, b, rank = self.lowering, self.b, len(self.shape)
        lane_axis = rank - 1
        tile_axis = self.out_spec[1] if self.out_spec[1] != lane_axis else self.out_spec[-1]
        tile = self.tile(tile_axis) if tile_axis != lane_axis else 1
        extent = self.shape[tile_axis]
        whole = extent - extent % tile
        others = [a for a in range(rank) if a not in (tile_axis, lane_axis)]
        for first, count, size in ((0, whole, tile), (whole, extent - whole, 1)):
            if not count:
                continue
            with lowering.nest([self.shape[a] for a in others], vector=False) as outer:
                with b.loop(count // size) as block:
                    with lowering.lanes(self.shape[lane_axis]) as lane:
                        index = [as_at(0)] * rank
                        for axis, i in zip(others, outer, strict=True):
                            index[axis] = i
                        index[lane_axis] = as_at(lane.index)
                        start = block.index * size + first
                        self.write_tile(index, tile_axis, lane_axis, start, size)

    def tile(self, axis: int) -> Any:
        """How many results along an axis are made together; within one group of channels."""
        if axis != self.out_spec[1]:
            return min(TILE, self.shape[axis])
        return math.gcd(TILE, self.group_outputs)

    def write_tile(
        self, index: Sequence[Any], tile_axis: Any, lane_axis: Any, start: Any, size: Any
    ) -> None:
        places = []
        for k in range(size):
            place = list(index)
            if tile_axis != lane_axis:
                place[tile_axis] = start + k
                self.lowering.assume_below(place[tile_axis], self.shape[tile_axis])
            places.append(place)
        state = [self.b.const(0, self.wide) for _ in range(size * self.parts)]
        state = self.sum_terms(places, state)
        for number, place in enumerate(places):
            part = state[number * self.parts : (number + 1) * self.parts]
            value = [self.b.convert(x, self.dtype) for x in part]
            at = self.lowering.offset(row_major(self.shape), place)
            self.lowering.put(self.buffer, at, value[0] if self.parts == 1 else tuple(value))

    def sum_terms(self, places: Any, state: Any) -> Any:
        """Loops over rhs's axes but for its output channels, in their order."""
        b, rhs = self.b, self.rhs
        axes = [a for a in range(rhs.rank) if a != self.rhs_spec[0]]
        if any(rhs.shape[a] == 0 for a in axes) or not self.lhs.size:
            return state
        term = [as_at(0)] * rhs.rank

        def descend(remaining: Any, state: Any) -> Any:
            if not remaining:
                return self.add_terms(places, term, state)
            axis = remaining[0]
            if rhs.shape[axis] == 1:
                return descend(remaining[1:], state)
            with b.loop(rhs.shape[axis], state) as loop:
                term[axis] = as_at(loop.index)
                loop.yields(*descend(remaining[1:], loop.carries))
            return loop.results

        return descend(axes, state)

    def add_terms(self, places: Any, term: Any, state: Any) -> Any:
        """The state with one more term for each place of the tile."""
        lowering = self.lowering
        result: list[Any] = []
        images: dict[Any, Any] = {}
        tests: dict[Any, Any] = {}
        for number, place in enumerate(places):
            at, inside = self.image_place(place, term, tests)
            key = tuple(i.key() for i in at)
            if key not in images:
                images[key] = self.converted(lowering.element_or_zero(self.lhs, at, inside))
            weight_at = list(term)
            weight_at[self.rhs_spec[0]] = place[self.out_spec[1]]
            weight = self.converted(lowering.element(self.rhs, weight_at))
            old = state[number * self.parts : (number + 1) * self.parts]
            result += add_product(self.b, old, images[key], weight)
        return result

    def image_place(self, place: Any, term: Any, tests: Any) -> Any:
        """(index into lhs, whether it is on the image or None for always) of a term."""
        lowering, b = self.lowering, self.b
        n, o = as_at(place[self.out_spec[0]]), as_at(place[self.out_spec[1]])
        channel = as_at(term[self.rhs_spec[1]])
        if self.groups > 1:
            group, _ = lowering.divmod(o, self.group_outputs)
            channel = channel + group * self.channels
        if self.batch_groups > 1:
            group, _ = lowering.divmod(o, self.group_outputs)
            n = n + group * (self.lhs.shape[self.lhs_spec[0]] // self.batch_groups)
        at = [None] * self.lhs.rank
        at[self.lhs_spec[0]], at[self.lhs_spec[1]] = n, channel
        insides = []
        for d, (low, high) in enumerate(self.padding):
            axis = self.lhs_spec[d + 2]
            i = as_at(place[self.out_spec[d + 2]]) * self.strides[d]
            i = i + as_at(term[self.rhs_spec[d + 2]]) * self.rhs_gap[d] - low
            here = (d, i.key())
            if here not in tests:
                tests[here] = inside_place(
                    b, i, self.lhs.shape[axis], self.lhs_gap[d], low > 0, high > 0
                )
            at[axis], inside = tests[here]
            insides.append(inside)
        key = ("all", *map(id, insides))
        if key not in tests:
            tests[key] = all_of(b, insides)
        return at, tests[key]

    def converted(self, value: Any) -> Any:
        """An element as parts of the dtype that is summed."""
        value = value if isinstance(value, tuple) else (value,)
        value = [self.b.convert(part, self.wide) for part in value]
        return value + [self.b.const(0, self.wide)] * (self.parts - len(value))
