"""Views: an element of the result is an element of an operand elsewhere, or a known one.

Nothing is copied; a view is a change of index. Where the index may leave the operand (pad,
concatenate), the access is masked by a branch-free choice, never out of bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.codegen.elements import storage
from frit.codegen.indices import clamp_index
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, Node, Unfused, rule
from frit.ir.jaxpr import JaxprEqn, Var
from frit.ir.types import Shape

FEW = 4  # pieces that an element may be chosen from where it is read


def view(
    lowering: Lowering,
    var: Var,
    node: Node,
    move: Any,
    *,
    flat: bool = False,
    axes: Any = None,
    turned: Any = False,
) -> Any:
    """Gives `var` the elements of `node` at `move(index)`; `axes` maps node axes to var axes."""
    traits = node.traits | {"turned"} if turned else node.traits
    if not node.scalar_axes:
        scalar: frozenset[int] = frozenset()
    elif axes is None:
        scalar = frozenset(range(len(storage(var.aval)[0])))
    else:
        scalar = frozenset(axes[a] for a in node.scalar_axes if axes.get(a) is not None)
    return lowering.define(
        var,
        lambda index: lowering.element(node, move(index)),
        flat=flat,
        scalar_axes=scalar,
        traits=traits,
    )


def one_operand(lowering: Lowering, equation: JaxprEqn) -> Any:
    """(result variable, node of the first operand)."""
    return equation.outvars[0], lowering.node(equation.invars[0])


def same_axes(rank: Any) -> Any:
    return {axis: axis for axis in range(rank)}


@rule("slice")
def _slice(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    starts = equation.params["start_indices"]
    steps = equation.params.get("strides") or (1,) * len(starts)

    def move(index: Sequence[Any]) -> Any:
        return tuple(i * k + s for i, k, s in zip(index, steps, starts, strict=True))

    view(lowering, var, node, move, axes=same_axes(node.rank))


@rule("split")
def _split(lowering: Lowering, equation: JaxprEqn) -> None:
    node = lowering.node(equation.invars[0])
    axis, start = equation.params["axis"], 0
    for var, size in zip(equation.outvars, equation.params["sizes"], strict=True):

        def move(index: Sequence[Any], start: Any = start) -> Any:
            return (*index[:axis], index[axis] + start, *index[axis + 1 :])

        view(lowering, var, node, move, axes=same_axes(node.rank))
        start += size


@rule("reshape")
def _reshape(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    order = equation.params.get("dimensions")
    if order is not None:
        node = _turned(lowering, node, order)
    reshaped(lowering, var, node)


def _turned(lowering: Lowering, node: Node, order: Any) -> Any:
    """A node with its axes in another order, for which there is no variable."""
    move, facts = _turning(node, order)
    shape = tuple(node.shape[axis] for axis in order)

    def element(index: Sequence[Any]) -> Any:
        return lowering.element(node, move(index))

    scalar = frozenset(facts["axes"][axis] for axis in node.scalar_axes)
    return Node(shape, node.dtype, element, parts=node.parts, scalar_axes=scalar)


def _turning(node: Node, order: Any) -> Any:
    """(move of an index, facts of the view) for axes in another order."""

    def move(index: Sequence[Any]) -> Any:
        moved = [None] * len(index)
        for new, old in enumerate(order):
            moved[old] = index[new]
        return tuple(moved)

    long = [axis for axis in order if node.shape[axis] != 1]
    turned = bool(long) and long[-1] != max(long)
    return move, {"axes": {old: new for new, old in enumerate(order)}, "turned": turned}


def reshaped(lowering: Lowering, var: Var, node: Node) -> Any:
    """Gives `var` the elements of `node` in row-major order."""
    shape = storage(var.aval)[0]
    groups = _matching_groups(node.shape, shape)

    def move(index: Sequence[Any]) -> Any:
        moved = [as_at(0)] * node.rank
        for old_axes, new_axes in groups:
            position = as_at(0)
            for axis in new_axes:
                position = position * shape[axis] + index[axis]
            if len(new_axes) > 1:
                lowering.assume_below(position, max(math.prod(shape[a] for a in new_axes), 1))
            parts = lowering.delinearize(position, [node.shape[a] for a in old_axes])
            for axis, part in zip(old_axes, parts, strict=True):
                moved[axis] = part
        return tuple(moved)

    axes = {}
    for old_axes, new_axes in groups:
        for axis in old_axes:
            if len(old_axes) == len(new_axes) == 1:
                axes[axis] = new_axes[0]
    keeps = all(axis in axes or node.shape[axis] == 1 for axis in node.scalar_axes)
    return view(lowering, var, node, move, flat=node.flat, axes=axes if keeps else None)


def _matching_groups(old: Any, new: Any) -> Any:
    """Runs of axes of two shapes of one size whose products agree, as ((old...), (new...))."""
    if 0 in old:
        return []
    groups, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        left, right, size, other = [], [], 1, 1
        while True:
            if i < len(old) and (size <= other or j == len(new)):
                left.append(i)
                size *= old[i]
                i += 1
            elif j < len(new):
                right.append(j)
                other *= new[j]
                j += 1
            if size == other and left and right:
                break
            if i == len(old) and j == len(new):
                break
        while i < len(old) and old[i] == 1 and not (j < len(new) and new[j] == 1):
            left.append(i)
            i += 1
        while j < len(new) and new[j] == 1 and not (i < len(old) and old[i] == 1):
            right.append(j)
            j += 1
        groups.append((_without_units(left, old), _without_units(right, new)))
    return [group for group in groups if group[0] or group[1]]


def _without_units(axes: Sequence[int], shape: Shape) -> Any:
    return tuple(axis for axis in axes if shape[axis] != 1)


@rule("squeeze")
def _squeeze(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    removed = {axis % node.rank for axis in equation.params["dimensions"]}
    kept = [axis for axis in range(node.rank) if axis not in removed]

    def move(index: Sequence[Any]) -> Any:
        moved = [as_at(0)] * node.rank
        for axis, i in zip(kept, index, strict=True):
            moved[axis] = i
        return tuple(moved)

    axes = {old: new for new, old in enumerate(kept)}
    view(lowering, var, node, move, flat=node.flat, axes=axes)


@rule("expand_dims")
def _expand_dims(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    shape = storage(var.aval)[0]
    added = {axis % len(shape) for axis in equation.params["dimensions"]}
    kept = [axis for axis in range(len(shape)) if axis not in added]

    def move(index: Sequence[Any]) -> Any:
        return tuple(index[axis] for axis in kept)

    view(lowering, var, node, move, flat=node.flat, axes=dict(enumerate(kept)))


@rule("broadcast_in_dim")
def _broadcast_in_dim(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    places = equation.params["broadcast_dimensions"]
    shape = storage(var.aval)[0]

    def move(index: Sequence[Any]) -> Any:
        return tuple(
            as_at(0) if extent == 1 else index[place]
            for extent, place in zip(node.shape, places, strict=True)
        )

    axes = {a: p for a, p in enumerate(places) if node.shape[a] != 1}
    flat = node.size == 1 or (node.flat and node.size == math.prod(shape))
    view(lowering, var, node, move, flat=flat, axes=axes)


@rule("transpose")
def _transpose(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    move, facts = _turning(node, equation.params["permutation"])
    view(lowering, var, node, move, **facts)


@rule("rev")
def _rev(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    reversed_axes = set(equation.params["dimensions"])

    def move(index: Sequence[Any]) -> Any:
        return tuple(
            node.shape[axis] - 1 - i if axis in reversed_axes else i for axis, i in enumerate(index)
        )

    view(lowering, var, node, move, axes=same_axes(node.rank))


@rule("iota")
def _iota(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    axis = equation.params["dimension"]
    b, (_, dtype, parts) = lowering.b, storage(var.aval)

    def element(index: Sequence[Any]) -> Any:
        number = b.convert(as_at(index[axis]), dtype)
        return (number, b.const(0.0, dtype)) if parts > 1 else number

    lowering.define(var, element)


def within(
    lowering: Lowering, node: Node, index: Sequence[Any], conditions: Any, otherwise: Any
) -> Any:
    """The element at `index` where all conditions hold, else `otherwise`; reads nothing there."""
    b = lowering.b
    if not conditions:
        return lowering.element(node, index)
    inside = conditions[0]
    for condition in conditions[1:]:
        inside = b.apply("and", inside, condition)
    return choose(b, inside, lambda: lowering.element_where(node, index, inside), otherwise)


def choose(b: Builder, inside: Any, build: Callable[..., Any], otherwise: Any) -> Any:
    """`build()` where `inside`, else `otherwise`, part by part; both are computed."""
    value = build()
    if isinstance(value, tuple):
        return tuple(b.select(inside, x, y) for x, y in zip(value, otherwise, strict=True))
    return b.select(inside, value, otherwise)


@rule("pad")
def _pad(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    filler = lowering.node(equation.invars[1])
    config = equation.params["padding_config"]
    b = lowering.b
    shape = storage(var.aval)[0]

    def element(index: Sequence[Any]) -> Any:
        nothing = lowering.element(filler, ())
        if node.size == 0:
            return nothing
        conditions, moved = [], []
        for i, extent, total, (low, _, gap) in zip(index, node.shape, shape, config, strict=True):
            place = as_at(i) - low
            step = gap + 1
            last = (extent - 1) * step
            if low > 0:
                conditions.append(b.apply("ge", place, 0))
            if total - 1 - low > last:
                conditions.append(b.apply("le", place, last))
            if step > 1:
                quotient = as_at(b.apply("floordiv", place, step))
                conditions.append(b.apply("eq", place, quotient * step))
                place = quotient
            moved.append(place)
        return within(lowering, node, moved, conditions, nothing)

    lowering.define(var, element, scalar_axes=node.scalar_axes)


@rule("concatenate")
def _concatenate(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    nodes = [lowering.node(atom) for atom in equation.invars]
    axis = equation.params["dimension"]
    b = lowering.b
    starts = np.cumsum([0] + [node.shape[axis] for node in nodes]).tolist()
    pieces = [(node, start) for node, start in zip(nodes, starts, strict=False) if node.size]

    def element(index: Sequence[Any]) -> Any:
        result = None
        for node, start in reversed(pieces):
            i = as_at(index[axis]) - start
            moved = (*index[:axis], i, *index[axis + 1 :])
            if result is None:
                bounded = (*index[:axis], clamp_index(b, i, node.shape[axis]), *index[axis + 1 :])
                result = lowering.element(node, moved if len(pieces) == 1 else bounded)
                continue
            inside = b.apply("lt", as_at(index[axis]), start + node.shape[axis])
            bounded = (*index[:axis], clamp_index(b, i, node.shape[axis]), *index[axis + 1 :])
            result = choose(
                b, inside, lambda node=node, at=bounded: lowering.element(node, at), result
            )
        return result

    scalar = frozenset().union(*(node.scalar_axes for node in nodes))
    rank = nodes[0].rank
    firsts = [tuple(start if a == axis else 0 for a in range(rank)) for start in starts[:-1]]
    in_pieces(lowering, var, list(zip(nodes, firsts, strict=True)), element, scalar)


def in_pieces(lowering: Lowering, var: Var, pieces: Any, element: Any, scalar: Any) -> None:
    """Gives `var` a node that is written piece by piece; many are not chosen from by element."""

    def one_of_few(index: Sequence[Any]) -> Any:
        if len(pieces) > FEW:
            raise Unfused(lowering.nodes[id(var)])
        return element(index)

    shape, dtype, parts = storage(var.aval)
    node = Node(shape, dtype, one_of_few, parts=parts, scalar_axes=scalar)
    node.pieces = pieces
    lowering.bind(var, node)


@rule("tile")
def _tile(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)

    def move(index: Sequence[Any]) -> Any:
        return tuple(
            lowering.divmod(i, extent)[1] for i, extent in zip(index, node.shape, strict=True)
        )

    view(lowering, var, node, move)


@rule("stack")
def _stack(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    nodes = [lowering.node(atom) for atom in equation.invars]
    axis = equation.params["axis"] % (nodes[0].rank + 1)
    rank = nodes[0].rank + 1
    b = lowering.b

    def element(index: Sequence[Any]) -> Any:
        inner = (*index[:axis], *index[axis + 1 :])
        result = lowering.element(nodes[-1], inner)
        for position in range(len(nodes) - 2, -1, -1):
            test = b.apply("eq", as_at(index[axis]), position)
            node = nodes[position]
            result = choose(b, test, lambda node=node: lowering.element(node, inner), result)
        return result

    pieces = [
        (_with_unit_axis(lowering, node, axis), tuple(k if a == axis else 0 for a in range(rank)))
        for k, node in enumerate(nodes)
    ]
    scalar = frozenset().union(*(node.scalar_axes for node, _ in pieces))
    in_pieces(lowering, var, pieces, element, scalar)


def _with_unit_axis(lowering: Lowering, node: Node, axis: int) -> Any:
    """A node with an axis of extent 1 more."""
    shape = (*node.shape[:axis], 1, *node.shape[axis:])

    def element(index: Sequence[Any]) -> Any:
        return lowering.element(node, (*index[:axis], *index[axis + 1 :]))

    scalar = frozenset(a + (a >= axis) for a in node.scalar_axes)
    return Node(shape, node.dtype, element, parts=node.parts, scalar_axes=scalar)


@rule("unstack")
def _unstack(lowering: Lowering, equation: JaxprEqn) -> None:
    node = lowering.node(equation.invars[0])
    axis = equation.params["axis"] % node.rank
    for position, var in enumerate(equation.outvars):

        def move(index: Sequence[Any], position: Any = position) -> Any:
            return (*index[:axis], as_at(position), *index[axis:])

        view(lowering, var, node, move)
