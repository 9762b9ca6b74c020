"""Row interchanges as a permutation: the loop that LAPACK leaves to its callers."""

from __future__ import annotations

import math

from frit.codegen.elements import storage
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, rule
from frit.ir.jaxpr import JaxprEqn

NAME = "lu_pivots_to_permutation"


@rule(NAME)
def _pivots_to_permutation(lowering: Lowering, equation: JaxprEqn) -> None:
    """permutation = 0, 1, …; then for each i in turn its entries i and pivots[i] are exchanged."""
    (var,) = equation.outvars
    pivots = lowering.node(equation.invars[0])
    b, buffer = lowering.b, lowering.target(var)
    shape, dtype, _ = storage(var.aval)
    size, count = shape[-1], pivots.shape[-1]
    with b.loop(math.prod(shape[:-1])) as batch:
        base = batch.index * size
        with b.loop(size) as place:
            b.store(buffer, base + place.index, b.convert(as_at(place.index), dtype))
        with b.loop(count) as step:
            index = (*lowering.delinearize(as_at(batch.index), pivots.shape[:-1]), step.index)
            chosen = b.convert(lowering.element(pivots, index), "int64")
            here, there = base + step.index, base + chosen
            first, second = b.load(buffer, here), b.load(buffer, there)
            b.store(buffer, here, second)
            b.store(buffer, there, first)
    lowering.now_stored(var)
