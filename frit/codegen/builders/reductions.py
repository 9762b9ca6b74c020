"""Reductions: an element of the result is a loop over the reduced axes.

The order of a sum is part of its meaning, and depends on the shape and axes alone:

    rows      the last axis that is not of extent 1 is reduced, and with the reduced axes next to
              it has at least 16 elements: 64 lanes along it (element i in lane i % 64), the lanes
              halved at the end; runs longer than 32768 in pieces of that size, added in order
    columns   otherwise: one element after the other, in row-major order

Half-width floats are summed and multiplied in float32 and rounded once. Max and min hand on nan;
argmax and argmin take the first nan, else the first best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes

from frit.codegen.builders.complex_numbers import COMPLEX
from frit.codegen.elements import accumulator, bits_of, storage
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, Node, rule
from frit.codegen.scalars import element_type
from frit.ir.jaxpr import JaxprEqn, Var
from frit.ir.types import Shape

LANES = 64
ROW = 16
PIECE = 1 << 15

IDENTITIES: dict[str, Any] = {"add": 0, "mul": 1, "or": False, "xor": False, "and": True}
OPERATIONS = {
    "reduce_sum": "add",
    "reduce_prod": "mul",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_and": "and",
    "reduce_or": "or",
    "reduce_xor": "xor",
}


def identity_of(op: str, dtype: str) -> Any:
    """The number that `op` leaves alone."""
    if op in IDENTITIES:
        return -1 if op == "and" and dtype != "bool" else IDENTITIES[op]
    highest = op == "min"
    if dtype == "bool":
        return highest
    if "float" in dtype:
        number = math.inf if highest else -math.inf
        if not math.isnan(float(element_type(dtype).type(number))):
            return number
        largest = float(ml_dtypes.finfo(dtype).max)  # formats without infinity
        return largest if highest else -largest
    bits = bits_of(dtype)
    if dtype.startswith("u"):
        return (1 << bits) - 1 if highest else 0
    return (1 << (bits - 1)) - 1 if highest else -(1 << (bits - 1))


class Fold:
    """How elements are combined: states of one or more values.

    start: the numbers of an empty state. take(element, position) -> state of one element.
    combine(x, y) -> state. finish(state) -> value(s). pieces: long runs are folded in pieces.
    op: `combine` is this operation.
    """

    def __init__(
        self,
        dtypes: Any,
        start: Any,
        take: Any,
        combine: Any,
        finish: Any,
        *,
        pieces: Any = False,
        op: str | None = None,
    ) -> None:
        self.op = op
        self.dtypes = dtypes
        self.start = start
        self.take = take
        self.combine = combine
        self.finish = finish
        self.pieces = pieces


def by_operation(b: Builder, op: str, dtype: str) -> Any:
    """The fold by one operation of a dtype."""
    wide = accumulator(dtype) if op in ("add", "mul") else dtype

    def take(value: Any, position: Any) -> Any:
        return (b.convert(value, wide),)

    def combine(x: Any, y: Any) -> Any:
        return (b.apply(op, x[0], y[0]),)

    def finish(state: Any) -> Any:
        return b.convert(state[0], dtype)

    pieces = op in ("add", "mul") and "float" in dtype
    return Fold((wide,), (identity_of(op, wide),), take, combine, finish, pieces=pieces, op=op)


def of_pairs(b: Builder, op: str, dtype: str) -> Any:
    """The fold of complex numbers by one operation; max and min go by real, then imaginary part."""
    if op in ("max", "min"):
        return _extreme_of_pairs(b, op, dtype)

    def combine(x: Any, y: Any) -> Any:
        if op == "add":
            return tuple(b.apply("add", p, q) for p, q in zip(x, y, strict=True))
        return COMPLEX["mul"](b, x, y)

    start = (0.0, 0.0) if op == "add" else (1.0, 0.0)
    return Fold((dtype,) * 2, start, lambda v, _: v, combine, tuple, pieces=True)


def _extreme_of_pairs(b: Builder, op: str, dtype: str) -> Any:
    better = "gt" if op == "max" else "lt"
    worst = identity_of(op, dtype)

    def is_nan(x: Any) -> Any:
        return b.apply("or", *(b.apply("ne", part, part) for part in x))

    def combine(x: Any, y: Any) -> Any:
        ties = b.apply("and", b.apply("eq", y[0], x[0]), b.apply(better, y[1], x[1]))
        wins = b.apply("or", b.apply(better, y[0], x[0]), ties)
        take_y = b.apply("and", b.apply("not", is_nan(x)), b.apply("or", is_nan(y), wins))
        return tuple(b.select(take_y, q, p) for p, q in zip(x, y, strict=True))

    return Fold((dtype,) * 2, (worst, worst), lambda v, _: v, combine, tuple)


def first_best(b: Builder, op: str, dtype: str, index_dtype: Any) -> Any:
    """The position of the first best element (the first nan, if there is one)."""
    better = "gt" if op == "max" else "lt"
    start = identity_of(op, dtype)

    def combine(x: Any, y: Any) -> Any:
        """y if it is better, or equal and earlier, or nan and the other is not, or is later."""
        wins = b.apply(better, y[0], x[0])
        ties = b.apply("eq", y[0], x[0])
        if "float" in dtype:
            x_nan, y_nan = (b.apply("ne", s[0], s[0]) for s in (x, y))
            wins = b.apply("or", wins, b.apply("and", y_nan, b.apply("not", x_nan)))
            ties = b.apply("or", ties, b.apply("and", y_nan, x_nan))
        earlier = b.apply("and", ties, b.apply("lt", y[1], x[1]))
        take_y = b.apply("or", wins, earlier)
        return b.select(take_y, y[0], x[0]), b.select(take_y, y[1], x[1])

    def take(value: Any, position: Any) -> Any:
        return value, b.convert(as_at(position), "int64")

    def finish(state: Any) -> Any:
        return b.convert(state[1], index_dtype)

    return Fold((dtype, "int64"), (start, (1 << 62)), take, combine, finish)


def kept_axes(shape: Shape, axes: Sequence[int]) -> Any:
    return [axis for axis in range(len(shape)) if axis not in axes]


def reduce_node(lowering: Lowering, var: Var, node: Node, axes: Sequence[int], fold: Any) -> Any:
    """Gives `var` the fold of `node` over `axes`."""
    axes = sorted(axis % node.rank for axis in axes)
    kept = kept_axes(node.shape, axes)
    run = _trailing_run(node.shape, axes)
    length = math.prod(node.shape[a] for a in run)
    rows = bool(run) and length >= ROW

    def element(outer: Sequence[Any]) -> Any:
        index = [as_at(0)] * node.rank
        for axis, i in zip(kept, outer, strict=True):
            index[axis] = i
        lowering.refuse_repetition(var, outer, lanes=rows)
        if rows:
            state = _by_rows(lowering, node, fold, index, axes, run)
        else:
            state = _by_columns(lowering, node, fold, index, axes)
        return fold.finish(state)

    scalar = frozenset(range(len(kept))) if rows else frozenset()
    traits = frozenset() if rows else frozenset(("columns",))
    return lowering.define(var, element, scalar_axes=scalar, traits=traits)


def _trailing_run(shape: Shape, axes: Sequence[int]) -> Any:
    """The reduced axes at the end of a shape, adjacent but for axes of extent 1."""
    run = []
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            continue
        if axis not in axes:
            break
        run.append(axis)
    return tuple(reversed(run))


def _by_columns(
    lowering: Lowering, node: Node, fold: Any, index: list[Any], axes: Sequence[int]
) -> Any:
    """One element after the other, in row-major order."""
    b = lowering.b
    state = [b.const(x, dtype) for x, dtype in zip(fold.start, fold.dtypes, strict=True)]
    axes = [axis for axis in axes if node.shape[axis] != 1]

    def descend(remaining: Any, state: Any, position: Any) -> Any:
        if not remaining:
            value = lowering.element(node, tuple(index))
            return fold.combine(state, fold.take(value, position))
        axis = remaining[0]
        with b.loop(node.shape[axis], state) as loop:
            index[axis] = as_at(loop.index)
            inner = position * node.shape[axis] + loop.index
            loop.yields(*descend(remaining[1:], loop.carries, inner))
        return loop.results

    return descend(axes, state, as_at(0))


def _by_rows(
    lowering: Lowering, node: Node, fold: Any, index: list[Any], axes: Sequence[int], run: Any
) -> Any:
    """64 lanes along the trailing run, kept through the loops over the other reduced axes."""
    b = lowering.b
    outer = [axis for axis in axes if axis not in run and node.shape[axis] != 1]
    length = math.prod(node.shape[a] for a in run)
    pieces = fold.pieces and length > PIECE
    row = None
    if node.kept_in_row and not pieces and run == (node.rank - 1,) and not outer:
        row = lowering.keep_row(node, tuple(index[:-1]), length)

    def along_run(state: Any, first: Any, position: Any, count: Any) -> Any:
        with b.loop(count, state, kind="vector", width=LANES) as loop:
            place = first + loop.index
            lowering.assume_below(place, length)
            parts = lowering.delinearize(place, [node.shape[a] for a in run])
            for axis, part in zip(run, parts, strict=True):
                index[axis] = part
            value = (lowering.element if row is None else _fresh)(node, tuple(index))
            if row is not None:
                b.store(row, place, value)
            loop.yields(*fold.combine(loop.carries, fold.take(value, position * length + place)))
        return loop.results

    def descend(remaining: Any, state: Any, position: Any) -> Any:
        if not remaining:
            return along_run(state, as_at(0), position, length)
        axis = remaining[0]
        with b.loop(node.shape[axis], state) as loop:
            index[axis] = as_at(loop.index)
            inner = position * node.shape[axis] + loop.index
            loop.yields(*descend(remaining[1:], loop.carries, inner))
        return loop.results

    def lanes() -> Any:
        return [b.const(x, d, LANES) for x, d in zip(fold.start, fold.dtypes, strict=True)]

    if not pieces:
        return _halved(b, fold, descend(outer, lanes(), as_at(0)))

    def descend_pieces(remaining: Any, state: Any, position: Any) -> Any:
        if not remaining:
            whole = length // PIECE
            with b.loop(whole, state) as loop:
                piece = along_run(lanes(), loop.index * PIECE, position, PIECE)
                loop.yields(*fold.combine(loop.carries, _halved(b, fold, piece)))
            state = loop.results
            if length % PIECE:
                piece = along_run(lanes(), as_at(whole * PIECE), position, length % PIECE)
                state = fold.combine(state, _halved(b, fold, piece))
            return state
        axis = remaining[0]
        with b.loop(node.shape[axis], state) as loop:
            index[axis] = as_at(loop.index)
            inner = position * node.shape[axis] + loop.index
            loop.yields(*descend_pieces(remaining[1:], loop.carries, inner))
        return loop.results

    first = [b.const(x, dtype) for x, dtype in zip(fold.start, fold.dtypes, strict=True)]
    return descend_pieces(outer, first, as_at(0))


def _fresh(node: Node, index: Sequence[Any]) -> Any:
    """An element that is not in its row's memory yet."""
    return node.element(tuple(as_at(i) for i in index))


def _halved(b: Builder, fold: Any, state: Any) -> Any:
    """One state of the states in the lanes: lane i is combined with lane i + n/2."""
    if fold.op is not None:
        return [b.reduce(fold.op, vector) for vector in state]
    lanes = LANES
    while lanes > 1:
        half = lanes // 2
        low = [b.shuffle(v, v, range(half)) for v in state]
        high = [b.shuffle(v, v, range(half, lanes)) for v in state]
        state = fold.combine(low, high)
        lanes = half
    return state


@rule(*OPERATIONS)
def _reduce(lowering: Lowering, equation: JaxprEqn) -> None:
    node, (var,) = lowering.node(equation.invars[0]), equation.outvars
    op = OPERATIONS[equation.primitive.name]
    b = lowering.b
    fold = of_pairs(b, op, node.dtype) if node.parts > 1 else by_operation(b, op, node.dtype)
    reduce_node(lowering, var, node, equation.params["axes"], fold)


@rule("argmax", "argmin")
def _arg_best(lowering: Lowering, equation: JaxprEqn) -> None:
    node, (var,) = lowering.node(equation.invars[0]), equation.outvars
    op = equation.primitive.name[3:]
    fold = first_best(lowering.b, op, node.dtype, storage(var.aval)[1])
    reduce_node(lowering, var, node, equation.params["axes"], fold)
