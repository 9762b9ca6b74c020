"""dot_general as a tile of our own: for products too small, too oddly shaped or typed for BLAS.

    result[batch, i, j] = sum over k of lhs[batch, i, k] * rhs[batch, k, j]

Terms are added in row-major order of the contracted axes, each product rounded, then each sum: the
same whatever the tile. Half-width floats accumulate in float32, small integers wrap.
"""

from __future__ import annotations

import math
from typing import Any

from frit.codegen.builders.complex_numbers import add_product
from frit.codegen.elements import accumulator, storage
from frit.codegen.loops import as_at
from frit.codegen.nests import WIDE, Lowering, row_major, rule
from frit.ir.jaxpr import JaxprEqn, Var

ROWS = 4  # rows of the result that share each load of the right side
PACKED_BYTES = 1 << 22  # a right side of at most so many bytes a batch is packed


@rule("dot_general")
def _dot_general(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    lhs, rhs = (lowering.node(atom) for atom in equation.invars)
    (lhs_summed, rhs_summed), (lhs_batch, rhs_batch) = equation.params["dimension_numbers"]
    lhs_free = _free(lhs.rank, lhs_summed, lhs_batch)
    rhs_free = _free(rhs.rank, rhs_summed, rhs_batch)
    product = Product(lowering, var, lhs, rhs, lhs_summed)

    def lhs_index(batch: Any, rows: Any, summed: Any) -> Any:
        return _placed(lhs.rank, (lhs_batch, batch), (lhs_free, rows), (lhs_summed, summed))

    def rhs_index(batch: Any, columns: Any, summed: Any) -> Any:
        return _placed(rhs.rank, (rhs_batch, batch), (rhs_free, columns), (rhs_summed, summed))

    batch_shape = [lhs.shape[a] for a in lhs_batch]
    rows = [lhs.shape[a] for a in lhs_free]
    columns = [rhs.shape[a] for a in rhs_free]
    along_last = bool(rhs_free) and rhs_free[-1] == rhs.rank - 1 and "turned" not in rhs.traits
    product.packs = not along_last and math.prod(rows) >= ROWS and math.prod(columns) > 1
    product.write(batch_shape, rows, columns, lhs_index, rhs_index)
    lowering.now_stored(var)


def _free(rank: Any, summed: Any, batch: Any) -> Any:
    return [axis for axis in range(rank) if axis not in summed and axis not in batch]


def _placed(rank: Any, *groups: Any) -> Any:
    index = [None] * rank
    for axes, values in groups:
        for axis, value in zip(axes, values, strict=True):
            index[axis] = value
    return tuple(index)


class Product:
    """The nest of one contraction: operands, accumulator dtype, and how a term is added."""

    def __init__(self, lowering: Lowering, var: Var, lhs: Any, rhs: Any, lhs_summed: Any) -> None:
        self.lowering = lowering
        self.b = lowering.b
        self.buffer = lowering.target(var)
        self.shape, self.dtype, self.parts = storage(var.aval)
        self.lhs, self.rhs = lhs, rhs
        self.summed = [lhs.shape[a] for a in lhs_summed]
        self.wide = accumulator(self.dtype)
        self.packs = False

    def zero(self) -> Any:
        number = False if self.wide == "bool" else 0
        return [self.b.const(number, self.wide) for _ in range(self.parts)]

    def converted(self, value: Any) -> Any:
        if not isinstance(value, tuple):
            value = (value,)
        value = tuple(self.b.convert(part, self.wide) for part in value)
        if self.parts == 2 and len(value) == 1:
            value = (value[0], self.b.const(0.0, self.wide))
        return value

    def finish(self, state: Any) -> Any:
        value = [self.b.convert(part, self.dtype) for part in state]
        return value[0] if self.parts == 1 else tuple(value)

    def write(
        self, batch_shape: Any, rows: Any, columns: Any, lhs_index: Any, rhs_index: Any
    ) -> None:
        """Loops over batch, blocks of rows, columns by lanes, and terms."""
        if not math.prod(self.shape):
            return
        lowering, b = self.lowering, self.b
        count = math.prod(rows)
        size = math.prod((*self.summed, *columns)) * 8 * self.rhs.parts
        with lowering.nest(batch_shape, vector=False) as batch:
            if self.packs and 0 < size <= PACKED_BYTES:
                rhs_index = self.pack(batch, columns, rhs_index)
            whole = count - count % ROWS
            for first, extent, block in ((0, whole, ROWS), (whole, count - whole, 1)):
                if not extent:
                    continue
                with b.loop(extent // block) as loop:
                    positions = [loop.index * block + (first + k) for k in range(block)]
                    if extent // block == 1:
                        positions = [as_at(first + k) for k in range(block)]
                    for position in positions:
                        lowering.assume_below(position, count)
                    places = [lowering.delinearize(p, rows) for p in positions]
                    self.write_rows(batch, places, columns, lhs_index, rhs_index)

    def pack(self, batch: Any, columns: Any, rhs_index: Any) -> Any:
        """Copies the right side of a batch, so that lanes along its columns are neighbours."""
        lowering, rhs = self.lowering, self.rhs
        shape = (*self.summed, *columns)
        buffer = lowering.new_buffer(shape, rhs.dtype, rhs.parts)
        count = len(self.summed)
        with lowering.nest(shape, vector=not rhs.scalar_axes) as index:
            value = lowering.element(rhs, rhs_index(batch, index[count:], index[:count]))
            lowering.put(buffer, lowering.offset(row_major(shape), index), value)
        self.rhs = lowering.stored(buffer, shape, rhs.parts)
        return lambda batch, column, summed: (*summed, *column)

    def write_rows(
        self, batch: Any, places: Any, columns: Any, lhs_index: Any, rhs_index: Any
    ) -> None:
        lowering = self.lowering
        with lowering.nest(columns, vector=not self.rhs.scalar_axes, width=WIDE) as column:
            state = [zero for _ in places for zero in self.zero()]
            state = self.sum_terms(batch, places, column, lhs_index, rhs_index, state)
            for number, place in enumerate(places):
                part = state[number * self.parts : (number + 1) * self.parts]
                at = lowering.offset(row_major(self.shape), (*batch, *place, *column))
                lowering.put(self.buffer, at, self.finish(part))

    def sum_terms(
        self, batch: Any, places: Any, column: Any, lhs_index: Any, rhs_index: Any, state: Any
    ) -> Any:
        lowering, b = self.lowering, self.b
        axes = [axis for axis, extent in enumerate(self.summed) if extent != 1]
        index = [as_at(0)] * len(self.summed)
        if 0 in self.summed:
            return state

        def descend(remaining: Any, state: Any) -> Any:
            if not remaining:
                y = self.converted(lowering.element(self.rhs, rhs_index(batch, column, index)))
                result = []
                for number, place in enumerate(places):
                    x = lowering.element(self.lhs, lhs_index(batch, place, index))
                    part = state[number * self.parts : (number + 1) * self.parts]
                    result += add_product(self.b, part, self.converted(x), y)
                return result
            axis = remaining[0]
            with b.loop(self.summed[axis], state) as loop:
                index[axis] = as_at(loop.index)
                loop.yields(*descend(remaining[1:], loop.carries))
            return loop.results

        return descend(axes, state)
