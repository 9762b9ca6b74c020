"""Windows that slide over an array: reduce_window and kin, select-and-scatter.

An element of the result folds one window, in row-major order. Window places on padding (or in the
gaps of a dilated base) are left out, which is the same as folding an identity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from frit.codegen.builders.reductions import by_operation, identity_of, of_pairs
from frit.codegen.builders.scattering import combine_at
from frit.codegen.elements import storage
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, Node, closed, row_major, rule
from frit.ir.jaxpr import JaxprEqn, Var
from frit.ir.types import Shape

OPERATIONS = {
    "reduce_window_sum": "add",
    "reduce_window_max": "max",
    "reduce_window_min": "min",
    "reduce_window_mul": "mul",
}


class Window:
    """The geometry of a window: where place w of the window at result index i reads its base."""

    def __init__(self, params: Any, shape: Shape) -> None:
        rank = len(shape)
        self.shape = shape
        self.dimensions = params["window_dimensions"]
        self.strides = params.get("window_strides") or (1,) * rank
        self.padding = params.get("padding") or ((0, 0),) * rank
        self.base_dilation = params.get("base_dilation") or (1,) * rank
        self.window_dilation = params.get("window_dilation") or (1,) * rank

    def place(self, b: Builder, axis: int, i: Any, w: Any) -> Any:
        """(base index, whether it is inside or None if it always is) along an axis."""
        low, high = self.padding[axis]
        extent, gap = self.shape[axis], self.base_dilation[axis]
        at = as_at(i) * self.strides[axis] + as_at(w) * self.window_dilation[axis] - low
        return inside_place(b, at, extent, gap, low > 0, high > 0)


def inside_place(b: Builder, at: Any, extent: int, gap: Any, below: Any, above: Any) -> Any:
    """(index of a base dilated by `gap` at a place; whether it is there, None for always)."""
    tests = []
    if below or above:
        tests.append(is_below(b, at, (extent - 1) * gap + 1))
    if gap > 1:
        quotient = as_at(b.apply("floordiv", at, gap))
        tests.append(b.apply("eq", at, quotient * gap))
        at = quotient
    return at, all_of(b, tests)


def is_below(b: Builder, at: Any, bound: Any) -> Any:
    """Whether 0 <= at < bound, for an index of small size: one comparison of 32 bits."""
    if bound >= 1 << 30:
        return b.apply("and", b.apply("ge", as_at(at), 0), b.apply("lt", as_at(at), bound))
    return b.apply("lt", b.convert(as_at(at), "uint32"), bound)


def all_of(b: Builder, tests: Any) -> Any:
    """Whether all tests hold; None for no tests."""
    result = None
    for test in tests:
        if test is not None:
            result = test if result is None else b.apply("and", result, test)
    return result


def over_window(lowering: Lowering, dimensions: Any, state: Any, visit: Any) -> Any:
    """Folds `visit(state, window index) -> state` over the places of a window."""
    b = lowering.b
    index = [as_at(0)] * len(dimensions)
    axes = [axis for axis, extent in enumerate(dimensions) if extent != 1]

    def descend(remaining: Any, state: Any) -> Any:
        if not remaining:
            return visit(state, tuple(index))
        axis = remaining[0]
        with b.loop(dimensions[axis], state) as loop:
            index[axis] = as_at(loop.index)
            loop.yields(*descend(remaining[1:], loop.carries))
        return loop.results

    return descend(axes, list(state))


def _fold_windows(
    lowering: Lowering,
    var: Var,
    nodes: Sequence[Node],
    window: Any,
    start: Any,
    combine: Any,
    finish: Any,
) -> None:
    """Gives `var` the fold of windows; combine(state, elements) -> state."""
    b = lowering.b

    def element(index: Sequence[Any]) -> Any:
        lowering.refuse_repetition(var, index)

        def visit(state: Any, place: Any) -> Any:
            found = [
                window.place(b, axis, i, w)
                for axis, (i, w) in enumerate(zip(index, place, strict=True))
            ]
            inside = all_of(b, [test for _, test in found])
            at = tuple(i for i, _ in found)
            new = combine(state, [lowering.element_where(node, at, inside) for node in nodes])
            if inside is None:
                return new
            return [b.select(inside, x, y) for x, y in zip(new, state, strict=True)]

        return finish(over_window(lowering, window.dimensions, start, visit))

    scalar = frozenset(range(len(storage(var.aval)[0])))
    varies = any(node.scalar_axes for node in nodes)
    lowering.define(var, element, scalar_axes=scalar if varies else frozenset())


@rule(*OPERATIONS)
def _reduce_window(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,), node = equation.outvars, lowering.node(equation.invars[0])
    op = OPERATIONS[equation.primitive.name]
    b = lowering.b
    fold = of_pairs(b, op, node.dtype) if node.parts > 1 else by_operation(b, op, node.dtype)
    start = [b.const(x, dtype) for x, dtype in zip(fold.start, fold.dtypes, strict=True)]
    window = Window(equation.params, node.shape)
    _fold_windows(
        lowering, var, [node], window, start,
        lambda state, elements: fold.combine(state, fold.take(elements[0], None)), fold.finish,
    )  # fmt: skip


@rule("reduce_window")
def _generic_reduce_window(lowering: Lowering, equation: JaxprEqn) -> None:
    count = len(equation.outvars)
    nodes = [lowering.node(atom) for atom in equation.invars[:count]]
    firsts = [lowering.node(atom) for atom in equation.invars[count:]]
    window = Window(equation.params, nodes[0].shape)
    jaxpr, consts = equation.params["jaxpr"], equation.params.get("consts", ())
    for position, var in enumerate(equation.outvars):
        _fold_jaxpr(lowering, var, nodes, firsts, window, closed(jaxpr, consts), position)


def flattened(values: Any) -> Any:
    """The parts of values, one after the other."""
    return [part for value in values for part in (value if isinstance(value, tuple) else (value,))]


def grouped(parts: Sequence[Any], nodes: Sequence[Node]) -> Any:
    """Parts as the values of nodes."""
    values, position = [], 0
    for node in nodes:
        own = parts[position : position + node.parts]
        values.append(tuple(own) if node.parts > 1 else own[0])
        position += node.parts
    return values


def _fold_jaxpr(
    lowering: Lowering,
    var: Var,
    nodes: Sequence[Node],
    firsts: Any,
    window: Any,
    jaxpr: Any,
    position: Any,
) -> None:
    """One result of a fold by a jaxpr; the state holds all results."""
    b = lowering.b

    def element(index: Sequence[Any]) -> Any:
        lowering.refuse_repetition(var, index)
        start = flattened([lowering.element(first, ()) for first in firsts])

        def visit(state: Any, place: Any) -> Any:
            found = [
                window.place(b, axis, i, w)
                for axis, (i, w) in enumerate(zip(index, place, strict=True))
            ]
            inside = all_of(b, [test for _, test in found])
            at = tuple(i for i, _ in found)
            elements = [lowering.element_where(node, at, inside) for node in nodes]
            new = flattened(lowering.inline(jaxpr, [*grouped(state, nodes), *elements]))
            if inside is None:
                return new
            return [b.select(inside, x, y) for x, y in zip(new, state, strict=True)]

        return grouped(over_window(lowering, window.dimensions, start, visit), nodes)[position]

    lowering.define(var, element)


@rule("reduce")
def _generic_reduce(lowering: Lowering, equation: JaxprEqn) -> None:
    """A fold by any jaxpr, in row-major order, from the initial values."""
    count = len(equation.outvars)
    nodes = [lowering.node(atom) for atom in equation.invars[:count]]
    firsts = [lowering.node(atom) for atom in equation.invars[count:]]
    axes = tuple(equation.params["dimensions"])
    shape = nodes[0].shape
    jaxpr = closed(equation.params["jaxpr"], equation.params.get("consts", ()))
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    for position, var in enumerate(equation.outvars):

        def element(outer: Sequence[Any], position: Any = position, var: Var = var) -> Any:
            lowering.refuse_repetition(var, outer)
            start = flattened([lowering.element(first, ()) for first in firsts])

            def visit(state: Any, place: Any) -> Any:
                index = [None] * len(shape)
                for axis, i in zip(kept, outer, strict=True):
                    index[axis] = i
                for axis, i in zip(axes, place, strict=True):
                    index[axis] = i
                elements = [lowering.element(node, index) for node in nodes]
                return flattened(lowering.inline(jaxpr, [*grouped(state, nodes), *elements]))

            extents = [shape[axis] for axis in axes]
            if 0 in extents:
                return grouped(start, nodes)[position]
            return grouped(over_window(lowering, extents, start, visit), nodes)[position]

        lowering.define(var, element)


# ----------------------------------------------------------------------- select and scatter


def _select(lowering: Lowering, node: Node, window: Any, index: Sequence[Any], prefers: Any) -> Any:
    """Base index of the place of a window that is preferred to all others, the first on ties."""
    b = lowering.b
    rank = node.rank
    worst = identity_of("max" if prefers == "ge" else "min", node.dtype)
    start = [b.const(False, "bool"), b.const(worst, node.dtype)]
    start += [b.const(0, "int64")] * rank

    def visit(state: Any, place: Any) -> Any:
        found = [
            window.place(b, axis, i, w)
            for axis, (i, w) in enumerate(zip(index, place, strict=True))
        ]
        at = [i for i, _ in found]
        inside = all_of(b, [test for _, test in found])
        value = lowering.element_where(node, at, inside)
        some, best = state[0], state[1]
        keeps = b.apply("and", some, b.apply(prefers, best, value))
        takes = b.apply("not", keeps)
        if inside is not None:
            takes = b.apply("and", takes, inside)
        new = [b.const(True, "bool"), value, *at]
        return [b.select(takes, x, y) for x, y in zip(new, state, strict=True)]

    state = over_window(lowering, window.dimensions, start, visit)
    return state[0], [as_at(i) for i in state[2:]]


def _preference(params: Any) -> Any:
    """ "ge" or "le": which of two elements a selection keeps."""
    return getattr(params["select_prim"], "name", str(params["select_prim"]))


@rule("select_and_scatter_add")
def _select_and_scatter_add(lowering: Lowering, equation: JaxprEqn) -> None:
    """Zeros, with each source element added where its window's preferred element is."""
    (var,) = equation.outvars
    source, operand = (lowering.node(atom) for atom in equation.invars)
    window = Window(equation.params, operand.shape)
    prefers = _preference(equation.params)
    b, buffer = lowering.b, lowering.target(var)
    with lowering.nest((math.prod(operand.shape) * source.parts,)) as (i,):
        b.store(buffer, i, b.const(0, buffer.dtype))
    if source.size:
        with lowering.nest(source.shape, vector=False) as index:
            some, place = _select(lowering, operand, window, index, prefers)
            at = lowering.offset(row_major(operand.shape), place)
            combine_at(lowering, buffer, at, lowering.element(source, index), "add", some)
    lowering.now_stored(var)


@rule("select_and_gather_add")
def _select_and_gather_add(lowering: Lowering, equation: JaxprEqn) -> None:
    """For each window, the tangent where the operand's preferred element is; 0 on padding alone."""
    (var,) = equation.outvars
    tangents, operand = (lowering.node(atom) for atom in equation.invars)
    window = Window(equation.params, operand.shape)
    prefers = _preference(equation.params)
    b = lowering.b

    def element(index: Sequence[Any]) -> Any:
        lowering.refuse_repetition(var, index)
        some, place = _select(lowering, operand, window, index, prefers)
        value = lowering.element_where(tangents, place, some)
        return b.select(some, value, b.const(0, tangents.dtype))

    lowering.define(var, element)
