"""scatter and its kin: windows written, or combined with what is there, at positions that are data.

The result starts as the operand (in place where the kernel says so); windows follow in order, the
elements of one window by lanes, since they are distinct. Windows not within the operand are dropped
whole, or moved inside in CLIP mode; no access leaves the operand.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from frit.codegen.builders.complex_numbers import COMPLEX
from frit.codegen.builders.dynamic_slices import start_of, window_span
from frit.codegen.builders.indexing import Starts, mode_name
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import Buffer, Load, as_at
from frit.codegen.nests import Lowering, closed, row_major, rule
from frit.ir.jaxpr import JaxprEqn, Var

OPERATIONS = {
    "scatter": None,
    "scatter-add": "add",
    "scatter_add": "add",
    "scatter-sub": "sub",
    "scatter_sub": "sub",
    "scatter-mul": "mul",
    "scatter_mul": "mul",
    "scatter-min": "min",
    "scatter_min": "min",
    "scatter-max": "max",
    "scatter_max": "max",
}


def start_from(lowering: Lowering, var: Var, operand: Any) -> Any:
    """The memory of `var`, holding the operand: it does already, or is filled now."""
    buffer = lowering.target(var)
    if operand.buffer is not buffer:
        lowering.write_nodes([(operand, buffer)])
    return buffer


def combine_at(
    lowering: Lowering,
    buffer: Buffer,
    at: Any,
    value: Any,
    op: str | None,
    mask: Any,
    combine: Any = None,
) -> Any:
    """buffer[at] = op(buffer[at], value); returns the loads it made."""
    b = lowering.b
    if combine is None and op is None:
        _masked_put(b, buffer, at, value, mask)
        return []
    if combine is None and (op == "add" or not isinstance(value, tuple)):
        parts = value if isinstance(value, tuple) else (value,)
        for part, number in enumerate(parts):
            place = as_at(at) * len(parts) + part
            b.update(buffer, place, number, op, unique=True, mask=mask)
        return []
    count = len(value) if isinstance(value, tuple) else 1
    old = [b.load(buffer, as_at(at) * count + part, mask) for part in range(count)]
    new = combine(tuple(old) if count > 1 else old[0], value)
    _masked_put(b, buffer, at, new, mask)
    return [item for item in old if isinstance(item, Load)]


def _masked_put(b: Builder, buffer: Buffer, at: Any, value: Any, mask: Any) -> None:
    parts = value if isinstance(value, tuple) else (value,)
    for part, number in enumerate(parts):
        b.store(buffer, as_at(at) * len(parts) + part, number, mask)


def _negated(b: Builder, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(b.apply("neg", part) for part in value)
    return b.apply("neg", value)


@rule(*OPERATIONS)
def _scatter(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    operand, indices, updates = (lowering.node(atom) for atom in equation.invars)
    op = OPERATIONS[equation.primitive.name]
    b = lowering.b
    combine = None
    if op is None and equation.params.get("update_jaxpr") is not None:
        combine = _applied(lowering, equation)
    if op == "mul" and operand.parts > 1:
        combine = partial(COMPLEX["mul"], b)
    buffer = start_from(lowering, var, operand)

    def build() -> Any:
        return _write_windows(lowering, equation, buffer, operand, indices, updates, op, combine)

    if updates.size and operand.size:
        lowering.writes_alone(buffer, build, [updates, indices])
        if operand.buffer is buffer:
            lowering.overwritten(operand)
    lowering.now_stored(var)


def _applied(lowering: Lowering, equation: JaxprEqn) -> Any:
    """The combination that scatter_apply's jaxpr describes; None if it just takes the update."""
    jaxpr = equation.params["update_jaxpr"]
    consts = equation.params.get("update_consts", ())
    inner: Any = getattr(jaxpr, "jaxpr", jaxpr)
    if not inner.eqns and list(inner.outvars) == [inner.invars[1]]:
        return None
    whole = closed(jaxpr, consts)

    def combine(old: Any, new: Any) -> Any:
        (result,) = lowering.inline(whole, [old, new])
        return result

    return combine


def _write_windows(
    lowering: Lowering,
    equation: JaxprEqn,
    buffer: Buffer,
    operand: Any,
    indices: Any,
    updates: Any,
    op: str | None,
    combine: Any,
) -> Any:
    numbers = equation.params["dimension_numbers"]
    clip = mode_name(equation.params["mode"]) == "CLIP"
    b = lowering.b
    window_dims = tuple(numbers.update_window_dims)
    removed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    window_axes = [axis for axis in range(operand.rank) if axis not in removed]
    batch_axes = [axis for axis in range(updates.rank) if axis not in window_dims]
    spans = [1] * operand.rank
    for axis, place in zip(window_axes, window_dims, strict=True):
        spans[axis] = updates.shape[place]
    axes = tuple(numbers.scatter_dims_to_operand_dims)
    starts = Starts(lowering, indices, axes, operand.shape, spans)
    if any(operand.shape[a] < spans[a] for a in range(operand.rank)):
        return []
    loads = []
    window_shape = [updates.shape[place] for place in window_dims]
    with lowering.nest([updates.shape[a] for a in batch_axes], vector=False) as batch:
        mask = None if clip else starts.within(batch)
        base = [as_at(0)] * operand.rank
        for component, axis in enumerate(axes):
            base[axis] = base[axis] + starts.clamped(batch, component)
        for axis, place in zip(
            numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True
        ):
            base[axis] = base[axis] + as_at(batch[place])
        lanes = not updates.scalar_axes and math.prod(window_shape) > 1
        with lowering.nest(window_shape, vector=lanes) as window:
            moved, index = list(base), [None] * updates.rank
            for axis, place, i in zip(window_axes, window_dims, window, strict=True):
                moved[axis] = moved[axis] + i
                index[place] = i
            for axis, i in zip(batch_axes, batch, strict=True):
                index[axis] = i
            value = lowering.element(updates, index)
            if op == "sub":
                value = _negated(b, value)
            at = lowering.offset(row_major(operand.shape), moved)
            known = "add" if op == "sub" else op
            loads += combine_at(lowering, buffer, at, value, known, mask, combine)
    return loads


@rule("add_at")
def _add_at(lowering: Lowering, equation: JaxprEqn) -> None:
    """The operand with an update added to a strided window of it, moved inside."""
    (var,) = equation.outvars
    operand, update = (lowering.node(atom) for atom in equation.invars[:2])
    strides = equation.params["strides"]
    starts = [
        start_of(lowering, atom, window_span(size, step), extent)
        for atom, size, step, extent in zip(
            equation.invars[2:], update.shape, strides, operand.shape, strict=True
        )
    ]
    buffer = start_from(lowering, var, operand)

    def build() -> None:
        places = [start() for start in starts]
        with lowering.nest(update.shape, vector=not update.scalar_axes) as index:
            moved = [
                i * step + start for i, step, start in zip(index, strides, places, strict=True)
            ]
            at = lowering.offset(row_major(operand.shape), moved)
            combine_at(lowering, buffer, at, lowering.element(update, index), "add", None)

    if update.size:
        lowering.writes_alone(buffer, build, [update])
        if operand.buffer is buffer:
            lowering.overwritten(operand)
    lowering.now_stored(var)
