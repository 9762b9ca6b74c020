"""Cumulative folds along an axis: result i folds the elements up to i, in index order.

The carries of one loop along the axis; where the axis is not the last, lanes run along the last.
"""

from __future__ import annotations

import math
from typing import Any

from frit.codegen.builders.reductions import identity_of, of_pairs
from frit.codegen.elements import accumulator
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, Node, row_major, rule
from frit.ir.jaxpr import JaxprEqn, Var

OPERATIONS = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}


def scan_axis(
    lowering: Lowering,
    var: Var,
    node: Node,
    axis: int,
    reverse: Any,
    start: Any,
    step: Any,
    finish: Any,
) -> None:
    """Writes `finish(state)` for every element to `var`'s memory.

    start: constants. step(state, element) -> state.
    """
    b = lowering.b
    buffer = lowering.target(var)
    length = node.shape[axis]
    others = [extent for a, extent in enumerate(node.shape) if a != axis]
    if not node.size:
        lowering.now_stored(var)
        return
    lanes = axis != node.rank - 1 and not node.scalar_axes
    with lowering.nest(others, vector=lanes and math.prod(others) > 1) as outer:
        with b.loop(length, start) as loop:
            along = length - 1 - loop.index if reverse else as_at(loop.index)
            index = (*outer[:axis], along, *outer[axis:])
            state = step(loop.carries, lowering.element(node, index))
            at = lowering.offset(row_major(node.shape), index)
            lowering.put(buffer, at, finish(state))
            loop.yields(*state)
    lowering.now_stored(var)


@rule(*OPERATIONS)
def _cumulative(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,), node = equation.outvars, lowering.node(equation.invars[0])
    op = OPERATIONS[equation.primitive.name]
    b, dtype = lowering.b, node.dtype
    axis, reverse = equation.params["axis"], equation.params.get("reverse", False)
    wide = accumulator(dtype)
    start = [b.const(identity_of(op, wide), wide)]

    def step(state: Any, value: Any) -> Any:
        return [b.apply(op, state[0], b.convert(value, wide))]

    def finish(state: Any) -> Any:
        return b.convert(state[0], dtype)

    if node.parts > 1:
        start, step, finish = _complex_scan(b, op, dtype)
    scan_axis(lowering, var, node, axis, reverse, start, step, finish)


def _complex_scan(b: Builder, op: str, dtype: str) -> Any:
    fold = of_pairs(b, op, dtype)
    start = [b.const(x, dtype) for x in fold.start]
    return start, lambda state, value: list(fold.combine(state, value)), tuple


@rule("cumlogsumexp")
def _cumlogsumexp(lowering: Lowering, equation: JaxprEqn) -> None:
    """Carries the maximum m so far and the sum of exp(x - m); a new maximum rescales the sum."""
    (var,), node = equation.outvars, lowering.node(equation.invars[0])
    b, dtype = lowering.b, node.dtype
    wide = accumulator(dtype)
    start = [b.const(-math.inf, wide), b.const(0.0, wide)]

    def step(state: Any, value: Any) -> Any:
        highest, total = state
        value = b.convert(value, wide)
        new = b.apply("max", highest, value)
        finite = b.apply("is_finite", new)
        shift = b.select(finite, new, b.const(0.0, wide))
        kept = b.apply("mul", total, b.apply("exp", b.apply("sub", highest, shift)))
        added = b.apply("exp", b.apply("sub", value, shift))
        return [new, b.apply("add", kept, added)]

    def finish(state: Any) -> Any:
        highest, total = state
        shift = b.select(b.apply("is_finite", highest), highest, b.const(0.0, wide))
        return b.convert(b.apply("add", b.apply("log", total), shift), dtype)

    scan_axis(
        lowering, var, node, equation.params["axis"], equation.params.get("reverse", False),
        start, step, finish,
    )  # fmt: skip
