"""Windows that begin where run-time integers say, moved so that they lie within the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frit.codegen.builders.views import choose, one_operand, same_axes, view
from frit.codegen.indices import clamp_index
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, row_major, rule
from frit.ir.jaxpr import JaxprEqn


@rule("dynamic_update_slice")
def _dynamic_update_slice(lowering: Lowering, equation: JaxprEqn) -> None:
    """The update inside its window, the operand elsewhere; in place where the kernel says so."""
    (var,) = equation.outvars
    operand, update = (lowering.node(atom) for atom in equation.invars[:2])
    starts = [
        start_of(lowering, atom, update.shape[axis], operand.shape[axis])
        for axis, atom in enumerate(equation.invars[2:])
    ]
    b = lowering.b
    target = lowering.targets.get(id(var))
    if target is not None and operand.buffer is target:
        if update.size:
            lowering.writes_alone(
                target, lambda: _write_window(lowering, target, operand, update, starts), [update]
            )
            lowering.overwritten(operand)
        lowering.now_stored(var)
        return

    def element(index: Sequence[Any]) -> Any:
        first = lowering.element(operand, index)
        if not update.size:
            return first
        inside, moved = None, []
        for i, start, extent, total in zip(index, starts, update.shape, operand.shape, strict=True):
            place = as_at(i) - start()
            moved.append(clamp_index(b, place, extent))
            if extent == total:
                continue
            test = b.apply("and", b.apply("ge", place, 0), b.apply("lt", place, extent))
            inside = test if inside is None else b.apply("and", inside, test)
        if inside is None:
            return lowering.element(update, moved)
        return choose(b, inside, lambda: lowering.element(update, moved), first)

    lowering.define(var, element, scalar_axes=operand.scalar_axes | update.scalar_axes)


def _write_window(lowering: Lowering, target: Any, operand: Any, update: Any, starts: Any) -> None:
    places = [start() for start in starts]
    with lowering.nest(update.shape, vector=not update.scalar_axes) as index:
        moved = tuple(i + start for i, start in zip(index, places, strict=True))
        at = lowering.offset(row_major(operand.shape), moved)
        lowering.put(target, at, lowering.element(update, index))


def start_of(lowering: Lowering, atom: Any, size: Any, extent: int) -> Any:
    """A function giving the start of a window, clamped so that `size` fits into `extent`."""
    node = lowering.node(atom)
    if extent == size:
        return lambda: as_at(0)

    def build() -> Any:
        b = lowering.b
        value = lowering.element(node, ())
        if value.dtype == "uint64":
            value = b.apply("min", value, extent)
        wide = b.convert(value, "int64")
        return b.apply("min", b.apply("max", wide, 0), extent - size)

    return lambda: lowering.derive(("start", id(atom), size, extent), (), build)


@rule("dynamic_slice")
def _dynamic_slice(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    sizes = equation.params["slice_sizes"]
    starts = [
        start_of(lowering, atom, size, extent)
        for atom, size, extent in zip(equation.invars[1:], sizes, node.shape, strict=True)
    ]

    def move(index: Sequence[Any]) -> Any:
        return tuple(i + start() for i, start in zip(index, starts, strict=True))

    view(lowering, var, node, move, axes=same_axes(node.rank))


@rule("take_window")
def _take_window(lowering: Lowering, equation: JaxprEqn) -> None:
    var, node = one_operand(lowering, equation)
    shape, strides = equation.params["shape"], equation.params["strides"]
    starts = [
        start_of(lowering, atom, window_span(size, step), extent)
        for atom, size, step, extent in zip(
            equation.invars[1:], shape, strides, node.shape, strict=True
        )
    ]

    def move(index: Sequence[Any]) -> Any:
        return tuple(i * k + s() for i, k, s in zip(index, strides, starts, strict=True))

    view(lowering, var, node, move, axes=same_axes(node.rank))


def window_span(size: Any, step: Any) -> Any:
    """How many elements of an axis a strided window covers."""
    return (size - 1) * step + 1 if size else 0
