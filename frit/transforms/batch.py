"""Batch: one more axis through a function; each value knows where its mapped axis is, if any.

    vmap(lambda x, y: x * y, in_axes=(0, None))     x's axis is mapped, y is the same for all

A result that does not depend on a mapped value is bare.  `batch_jaxpr` does the same to a jaxpr,
with mapped axes in front.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, run_closed, subjaxprs
from frit.ir.primitive import (
    Interpreter,
    Level,
    Params,
    Primitive,
    Tracer,
    axis_bound,
    current_interpreter,
    interpreting,
)
from frit.ir.types import typeof
from frit.transforms.leaks import check_leaks, made_at
from frit.transforms.linear import (
    Zero,
    insert_axis,
    is_zero,
    move_axis,
    reduce_sum,
)
from frit.transforms.memo import memoize_by_jaxpr
from frit.transforms.trace import trace_to_jaxpr


@dataclass(frozen=True)
class Axis:
    """The axis being mapped: its name for collectives (None: without), and its size."""

    name: Any
    size: Any
    spmd_name: Any = None


class BatchTracer(Tracer):
    """All slices of a value; `axis` tells where they are stacked."""

    __slots__ = ("axis", "value")

    def __init__(self, level: Level, value: Any, axis: int) -> None:
        super().__init__(level, typeof(value).without_axis(axis), made_at(value))
        self.value, self.axis = value, axis

    def origin_message(self) -> str:
        return (
            self.value.origin_message()
            if isinstance(self.value, Tracer)
            else ("The value differs for each element of the axis that vmap maps over.")
        )

    def text(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={typeof(self.value)})"


def names_axis(primitive: Primitive, params: Params, name: Any) -> bool:
    """Whether an equation, or one in a jaxpr of its parameters, mentions the mapped axis `name`."""
    if name is None:
        return False
    if primitive.uses_axis_names:
        return name in _names_among(params)
    return any(name in _names_within(jaxpr) for jaxpr in subjaxprs(params))


def _names_among(params: Params) -> set[Any]:
    found: set[Any] = set()
    for key in ("axis_name", "axes", "axis_names"):
        value = params.get(key)
        found.update(value if isinstance(value, (tuple, list)) else (value,))
    return found


_names_of_jaxpr: weakref.WeakKeyDictionary[Jaxpr, set[Any]] = weakref.WeakKeyDictionary()


def _names_within(jaxpr: Jaxpr) -> set[Any]:
    """The axis names that the equations of a jaxpr mention."""
    found = _names_of_jaxpr.get(jaxpr)
    if found is None:
        found = set()
        for eqn in jaxpr.eqns:
            if eqn.primitive.uses_axis_names:
                found |= _names_among(eqn.params)
            for inner in subjaxprs(eqn):
                found |= _names_within(inner)
        _names_of_jaxpr[jaxpr] = found
    return found


class BatchInterpreter(Interpreter):
    """Runs each primitive on all slices at once, by its batch rule, under the parent."""

    def __init__(self, parent: Interpreter, axis: Axis, level: Level | None = None) -> None:
        self.parent, self.axis = parent, axis
        self.level = level or Level("vmap")

    def parts(self, value: Any) -> tuple[Any, int | None]:
        return (value.value, value.axis) if self.owns(value) else (value, None)

    def join(self, value: Any, axis: int | None) -> Any:
        return value if axis is None else BatchTracer(self.level, value, axis)

    def apply(self, primitive: Primitive, operands: Sequence[Any], params: Params) -> Any:
        parts = [self.parts(x) for x in operands]
        values, mapped = [v for v, _ in parts], [d for _, d in parts]
        with interpreting(self.parent):
            if all(d is None for d in mapped) and not names_axis(primitive, params, self.axis.name):
                return primitive.bind_with(self.parent, operands, params)
            results, out = primitive.batch(self.axis, values, mapped, **params)
        if primitive.multiple_results:
            return [self.join(r, d) for r, d in zip(results, out, strict=True)]
        return self.join(results, out)

    def custom_jvp(
        self,
        primitive: Primitive,
        function: Any,
        rule: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        parts = [self.parts(x) for x in operands]
        values, mapped = [v for v, _ in parts], tuple(d for _, d in parts)
        out: list[int | None] = []
        # A result that is the same for all lanes may have a tangent that is not: all are stacked.
        everything = any(d is not None for d in mapped)
        batched = _stacked(function, self.axis, mapped, self.level, out, everything)
        batched_rule = _stacked_jvp_rule(rule, self.axis, mapped, self.level, out)
        with interpreting(self.parent):
            plain = {k: v for k, v in params.items() if k != "call_jaxpr"}
            results = self.parent.custom_jvp(primitive, batched, batched_rule, values, plain)
        return [self.join(r, d) for r, d in zip(results, out, strict=True)]

    def custom_vjp(
        self,
        primitive: Primitive,
        function: Any,
        forward: Any,
        backward: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        parts = [self.parts(x) for x in operands]
        values, mapped = [v for v, _ in parts], tuple(d for _, d in parts)
        out: list[int | None] = []
        batched = _stacked(function, self.axis, mapped, self.level, out)
        own = mapped[params.get("num_consts", 0) :]
        rules = _StackedVJPRules(forward, backward, self.axis, own, self.level, out)
        with interpreting(self.parent):
            plain = {k: v for k, v in params.items() if k != "call_jaxpr"}
            results = self.parent.custom_vjp(
                primitive, batched, rules.forward, rules.backward, values, plain
            )
        return [self.join(r, d) for r, d in zip(results, out, strict=True)]


def _stacked(
    function: Any, axis: Axis, mapped: Sequence[Any], level: Level, out: list[int | None],
    everything: bool = False,
) -> Any:  # fmt: skip
    """`function` on stacked operands; `out` tells which results are stacked, in front.

    everything: whether results that have no mapped axis are repeated along one.
    """

    def stacked(*values: Any) -> list[Any]:
        results, dims = batch(function, axis, values, mapped, level)
        out[:] = [None if d is None and not everything else 0 for d in dims]
        return [
            r if t is None else to_axis(r, d, 0, axis.size)
            for r, d, t in zip(results, dims, out, strict=True)
        ]

    stacked.__name__ = getattr(function, "__name__", "function")
    return stacked


def _stacked_jvp_rule(
    rule: Any, axis: Axis, mapped: tuple[Any, ...], level: Level, out: list[int | None]
) -> Any:
    def stacked(primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
        zero = [is_zero(t) for t in tangents]
        dims = list(mapped[len(mapped) - len(primals) :])
        given = [t for t in tangents if not is_zero(t)]
        given_dims = [d for d, z in zip(dims, zero, strict=True) if not z]
        count = 0
        zeros_out: list[Any] = []

        def both(*values: Any) -> list[Any]:
            nonlocal count
            ps, ts = values[: len(primals)], iter(values[len(primals) :])
            full = [
                Zero(typeof(p).tangent_type()) if z else next(ts)
                for p, z in zip(ps, zero, strict=True)
            ]
            results, moved = rule(list(ps), full)
            count = len(results)
            zeros_out[:] = [t if is_zero(t) else None for t in moved]
            return [*results, *[t for t in moved if not is_zero(t)]]

        found, axes = batch(both, axis, [*primals, *given], [*dims, *given_dims], level)
        rest = iter(zip(found[count:], axes[count:], strict=True))
        moved = [(z, None) if z is not None else next(rest) for z in zeros_out]
        known = out or [None] * count
        together = [
            None if a is None and b is None and k is None else 0
            for a, (_, b), k in zip(axes[:count], moved, known, strict=True)
        ]
        out[:] = together

        def placed(value: Any, d: int | None, t: int | None) -> Any:
            if is_zero(value):
                return value if t is None else Zero(value.aval.with_axis(0, axis.size))
            return value if t is None else to_axis(value, d, 0, axis.size)

        results = [placed(r, d, t) for r, d, t in zip(found, axes, together, strict=False)]
        return results, [placed(r, d, t) for (r, d), t in zip(moved, together, strict=True)]

    stacked.__name__ = getattr(rule, "__name__", "jvp")
    return stacked


class _StackedVJPRules:
    """The forward and backward rules of a custom_vjp function, on stacked values."""

    def __init__(
        self, forward: Any, backward: Any, axis: Axis, mapped: tuple[Any, ...], level: Level,
        out: list[int | None],
    ) -> None:  # fmt: skip
        self._forward, self._backward, self.axis, self.mapped = forward, backward, axis, mapped
        self.level, self.out = level, out
        self.residual_axes: list[int | None] = []

    def forward(self, primals: list[Any], nonzero: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        counts: list[int] = []

        def run(*values: Any) -> list[Any]:
            results, residuals = self._forward(list(values), nonzero)
            counts[:] = [len(results)]
            return [*results, *residuals]

        found, dims = batch(run, self.axis, primals, self.mapped, self.level)
        n = counts[0]
        known = self.out or [None] * n
        self.out[:] = [
            None if d is None and k is None else 0 for d, k in zip(dims[:n], known, strict=True)
        ]
        results = [
            r if t is None else to_axis(r, d, 0, self.axis.size)
            for r, d, t in zip(found[:n], dims[:n], self.out, strict=True)
        ]
        self.residual_axes = dims[n:]
        return results, found[n:]

    def backward(self, residuals: list[Any], cts: list[Any]) -> list[Any]:
        nonzero = [not is_zero(ct) for ct in cts]
        types: list[Any] = []

        def run(*values: Any) -> list[Any]:
            rest = iter(values[len(residuals) :])
            full = [
                next(rest) if nz else Zero(ct.aval.without_axis(d))
                for ct, nz, d in zip(cts, nonzero, self.out, strict=True)
            ]
            found = self._backward(list(values[: len(residuals)]), full)
            types[:] = [ct if is_zero(ct) else None for ct in found]
            return [ct for ct in found if not is_zero(ct)]

        given = [ct for ct, nz in zip(cts, nonzero, strict=True) if nz]
        given_axes = [d for d, nz in zip(self.out, nonzero, strict=True) if nz]
        axes = [*self.residual_axes, *given_axes]
        found, dims = batch(run, self.axis, [*residuals, *given], axes, self.level)
        pairs = iter(zip(found, dims, strict=True))
        result: list[Any] = []
        for zero, target in zip(types, self.mapped, strict=True):
            if zero is not None:
                result.append(
                    Zero(
                        zero.aval if target is None else zero.aval.with_axis(target, self.axis.size)
                    )
                )
                continue
            ct, d = next(pairs)
            if d is None and all(o is None for o in self.out):
                result.append(ct)  # the function ran once, for all lanes
                continue
            ct = to_axis(ct, d, 0, self.axis.size)
            if target is None:
                result.append(reduce_sum(ct, axes=(0,), out_sharding=None))
            else:
                result.append(move_axis(ct, 0, target))
        return result


def batch(
    function: Callable[..., Sequence[Any]],
    axis: Axis,
    operands: Sequence[Any],
    mapped: Sequence[int | None],
    level: Level | None = None,
) -> tuple[list[Any], list[int | None]]:
    """Results of `function` on all slices, and where each has its mapped axis (None: it has none).

    level: that of a vmap of which this is a part, for as long as it runs.
    """
    if level is not None and level.finished:
        level = None
    interpreter = BatchInterpreter(current_interpreter(), axis, level)
    try:
        parts = _run(interpreter, function, operands, mapped)
    finally:
        if level is None:
            interpreter.level.finished = True
    if level is None:
        check_leaks(interpreter.level)
    return [v for v, _ in parts], [d for _, d in parts]


def _run(
    interpreter: BatchInterpreter, function: Any, operands: Sequence[Any], mapped: Sequence[Any]
) -> list[tuple[Any, int | None]]:
    axis = interpreter.axis
    values = [interpreter.join(x, d) for x, d in zip(operands, mapped, strict=True)]
    named = nullcontext() if axis.name is None else axis_bound(axis.name, axis.size)
    with interpreting(interpreter), named:
        outputs = function(*values)
    return [interpreter.parts(x) for x in outputs]


def to_axis(value: Any, mapped: int | None, target: int, size: Any) -> Any:
    """`value` with its mapped axis at `target`; repeated there if it has none."""
    return insert_axis(value, target, size) if mapped is None else move_axis(value, mapped, target)


@memoize_by_jaxpr
def batch_jaxpr(
    closed: ClosedJaxpr,
    axis: Axis,
    mapped_in: tuple[bool, ...],
    instantiated: tuple[bool, ...] | bool = False,
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The jaxpr on stacked inputs, and which outputs are stacked (`instantiated` ones surely are).

    Mapped axes are in front.
    """
    wanted = (
        (instantiated,) * len(closed.out_avals) if isinstance(instantiated, bool) else instantiated
    )
    types = [
        t.with_axis(0, axis.size) if m else t
        for t, m in zip(closed.in_avals, mapped_in, strict=True)
    ]
    mapped_out: list[bool] = []

    def stacked(*values: Any) -> list[Any]:
        dims = [0 if m else None for m in mapped_in]
        results, out = batch(lambda *xs: run_closed(closed, *xs), axis, values, dims)
        mapped_out.extend(d is not None or w for d, w in zip(out, wanted, strict=True))
        return [
            to_axis(r, d, 0, axis.size) if m else r
            for r, d, m in zip(results, out, mapped_out, strict=True)
        ]

    jaxpr, consts = trace_to_jaxpr(stacked, types, closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), tuple(mapped_out)
