"""scan: fold a jaxpr over the leading axis of its inputs.

body : (*constants, *carry, *slices) -> (*carry, *outputs)
scan : (*constants, *carry, *stacks) -> (*carry, *stacked outputs)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from frit.ir.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    drop_unused_equations,
    evaluate_closed,
    new_equation,
)
from frit.ir.primitive import Params, Primitive
from frit.primitives.calls import spread_tangents
from frit.primitives.loop_bodies import fixed_point, reordered
from frit.transforms.batch import batch_jaxpr
from frit.transforms.jvp import jvp_jaxpr
from frit.transforms.linear import (
    LinearOperand,
    Zero,
    add_tangents,
    axis_to_front,
    instantiate,
    is_linear,
    is_zero,
    move_axis,
    zeros,
)
from frit.transforms.split import Saveable, Split, save_everything, split_closed
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import backward_pass

T = TypeVar("T")


@dataclass(frozen=True)
class Roles:
    """Who plays which part among scan's operands: a view of its parameters."""

    num_consts: int
    num_carry: int

    def divide(self, items: Sequence[T]) -> tuple[list[T], list[T], list[T]]:
        """Constants, carry and stacks (or slices)."""
        a, b = self.num_consts, self.num_consts + self.num_carry
        return list(items[:a]), list(items[a:b]), list(items[b:])

    def divide_results(self, items: Sequence[T]) -> tuple[list[T], list[T]]:
        return list(items[: self.num_carry]), list(items[self.num_carry :])


def _roles(params: Params) -> Roles:
    return Roles(params["num_consts"], params["num_carry"])


def _scan_types(*types: Any, jaxpr: ClosedJaxpr, length: Any, **params: Any) -> list[Any]:
    carry, outs = _roles(params).divide_results(jaxpr.out_avals)
    return [*carry, *[t.with_axis(0, length) for t in outs]]


def _scan_evaluate(
    *arrays: Any, jaxpr: ClosedJaxpr, length: int, reverse: bool, **params: Any
) -> Any:
    roles = _roles(params)
    consts, carry, stacks = roles.divide(arrays)
    rows: list[list[Any]] = []
    for i in reversed(range(length)) if reverse else range(length):
        results = evaluate_closed(jaxpr, *consts, *carry, *[np.asarray(s[i]) for s in stacks])
        carry, outs = roles.divide_results(results)
        rows.append(outs)
    if reverse:
        rows.reverse()
    types = roles.divide_results(jaxpr.out_avals)[1]
    columns = [
        np.stack([row[k] for row in rows])
        if rows
        else np.zeros((length, *t.shape), t.storage_dtype)
        for k, t in enumerate(types)
    ]
    return [*carry, *columns]


def _scan_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    roles = _roles(params)
    consts_nz, carry_nz, stacks_nz = roles.divide([not is_zero(t) for t in tangents])
    outs_count = len(jaxpr.out_avals) - roles.num_carry

    def step(carry: tuple[bool, ...]) -> tuple[bool, ...]:
        flags = (*consts_nz, *carry, *stacks_nz)
        _, out = jvp_jaxpr(jaxpr, flags, (*carry, *(False,) * outs_count))
        return out[: roles.num_carry]

    carry_flags = fixed_point(step, tuple(carry_nz))
    flags = (*consts_nz, *carry_flags, *stacks_nz)
    moved, out_flags = jvp_jaxpr(jaxpr, flags, (*carry_flags, *(False,) * outs_count))
    p_consts, p_carry, p_stacks = roles.divide(primals)
    t_consts, t_carry, t_stacks = roles.divide(tangents)
    given = [
        [t for t in t_consts if not is_zero(t)],
        [instantiate(t) for t, nz in zip(t_carry, carry_flags, strict=True) if nz],
        [t for t in t_stacks if not is_zero(t)],
    ]
    # (consts, carry, slices, their tangents)  ->  (consts + tangents, carry + tangents, slices + …)
    sizes = [len(p_consts), len(p_carry), len(p_stacks), *map(len, given)]
    order_in = _interleave(sizes)
    carry_count, tangent_carry = roles.num_carry, sum(carry_flags)
    total = len(jaxpr.out_avals)
    order_out = [
        *range(carry_count),
        *range(total, total + tangent_carry),
        *range(carry_count, total),
        *range(total + tangent_carry, len(moved.out_avals)),
    ]
    body = reordered(moved, order_in, order_out)
    operands = [*p_consts, *given[0], *p_carry, *given[1], *p_stacks, *given[2]]
    results = scan(
        *operands,
        jaxpr=body,
        **{
            **params,
            "num_consts": len(p_consts) + len(given[0]),
            "num_carry": carry_count + tangent_carry,
            "linear": (False,) * len(operands),
        },
    )
    restored: list[Any] = [None] * len(results)
    for source, target in enumerate(order_out):
        restored[target] = results[source]
    return spread_tangents(restored, out_flags, total)


def _interleave(sizes: Sequence[int]) -> list[int]:
    """Positions of (a, b, c, a', b', c') in the order (a, a', b, b', c, c')."""
    starts = np.cumsum([0, *sizes])
    blocks = [list(range(starts[i], starts[i + 1])) for i in range(6)]
    return [*blocks[0], *blocks[3], *blocks[1], *blocks[4], *blocks[2], *blocks[5]]


def _scan_batch(axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    roles = _roles(params)
    consts_m, carry_m, stacks_m = roles.divide([d is not None for d in mapped])
    outs_count = len(jaxpr.out_avals) - roles.num_carry

    def step(carry: tuple[bool, ...]) -> tuple[bool, ...]:
        flags = (*consts_m, *carry, *stacks_m)
        return batch_jaxpr(jaxpr, axis, flags, (*carry, *(False,) * outs_count))[1][
            : roles.num_carry
        ]

    carry_flags = fixed_point(step, tuple(carry_m))
    flags = (*consts_m, *carry_flags, *stacks_m)
    body, out = batch_jaxpr(jaxpr, axis, flags, (*carry_flags, *(False,) * outs_count))
    consts, carry, stacks = roles.divide(list(zip(operands, mapped, strict=True)))
    values = [x if d is None else move_axis(x, d, 0) for x, d in consts]
    values += [
        axis_to_front(x, d, axis.size) if m else x
        for (x, d), m in zip(carry, carry_flags, strict=True)
    ]
    values += [x if d is None else move_axis(x, d, 1) for x, d in stacks]
    results = scan(*values, jaxpr=body, **params)
    carry_out, outs = roles.divide_results(out)
    return results, [*[0 if m else None for m in carry_out], *[1 if m else None for m in outs]]


def _scan_split(
    eqn: JaxprEqn, unknown: list[bool], needed: list[bool], saveable: Saveable
) -> Split:
    roles, closed = _roles(eqn.params), eqn.params["jaxpr"]
    consts_u, carry_u, stacks_u = roles.divide(unknown)
    outs_count = len(closed.out_avals) - roles.num_carry
    none = (False,) * len(unknown)

    def step(carry: tuple[bool, ...]) -> tuple[bool, ...]:
        flags = (*consts_u, *carry, *stacks_u)
        forced = (*carry, *(False,) * outs_count)
        parts = split_closed(closed, flags, none, forced, forced, saveable)
        return parts.unknown_out[: roles.num_carry]

    carry_flags = fixed_point(step, tuple(carry_u))
    flags = (*consts_u, *carry_flags, *stacks_u)
    forced = (*carry_flags, *(False,) * outs_count)
    if saveable is not save_everything:
        return _recomputing_split(eqn, flags, needed, forced, saveable)
    parts = split_closed(closed, flags, none, forced, forced, saveable)
    if parts.unknown_out != parts.needed_out:
        parts = split_closed(closed, flags, none, parts.unknown_out, parts.unknown_out, saveable)
    return _ScanSplitter(eqn, roles, flags, flags, parts).split()


def _recomputing_split(
    eqn: JaxprEqn, flags: tuple[bool, ...], needed: Sequence[bool], forced: Any, saveable: Saveable
) -> Split:
    """The split of a scan in a checkpoint: the waiting scan computes known carries once more.

    A carry is there again if its start is given and the body's part for it can be computed again.
    """
    roles, closed = _roles(eqn.params), eqn.params["jaxpr"]
    consts_n, carry_n, stacks_n = roles.divide([n or u for n, u in zip(needed, flags, strict=True)])
    inputs = closed.jaxpr.invars
    while True:
        given = (*consts_n, *carry_n, *stacks_n)
        parts = split_closed(closed, flags, given, forced, None, saveable)
        at_hand = {v for v, g in zip(inputs, given, strict=True) if g}
        again = [
            n and (found or isinstance(out, Literal) or out in at_hand)
            for n, found, out in zip(carry_n, parts.needed_out, closed.jaxpr.outvars, strict=False)
        ]
        if again == carry_n:
            break
        carry_n = again
    wanted = (*carry_n, *parts.needed_out[roles.num_carry :])
    parts = split_closed(closed, flags, given, forced, wanted, saveable)
    return _ScanSplitter(eqn, roles, flags, given, parts).split()


class _ScanSplitter:
    """Builds the two scans of a split one: residuals are stacked, constants passed on.

    unknown: which operands the known scan lacks.  given: which ones the waiting scan has.
    """

    def __init__(
        self, eqn: JaxprEqn, roles: Roles, unknown: tuple[bool, ...], given: tuple[bool, ...],
        parts: Any,
    ) -> None:  # fmt: skip
        self.eqn, self.roles, self.flags, self.given, self.parts = eqn, roles, unknown, given, parts
        self.unknown_out, self.needed_out = list(parts.unknown_out), list(parts.needed_out)

    def split(self) -> Split:
        eqn, roles, parts = self.eqn, self.roles, self.parts
        known_results = [v for v, u in zip(eqn.outvars, self.unknown_out, strict=True) if not u]
        # A residual that is a constant or a slice is at hand; the known scan stacks all others.
        first_slice = roles.num_consts + roles.num_carry
        passed = [
            k for k, (kind, i) in enumerate(parts.sources) if kind == "in" and i < roles.num_consts
        ]
        sliced = {
            k: eqn.invars[i]
            for k, (kind, i) in enumerate(parts.sources)
            if kind == "in" and i >= first_slice
        }
        rest = [k for k in range(len(parts.sources)) if k not in passed and k not in sliced]
        length = eqn.params["length"]
        stack_vars = [Var(parts.residual_types[k].with_axis(0, length)) for k in rest]
        first = self._known(rest, [*known_results, *stack_vars])
        stacked = [*rest, *sliced]
        stack_operands = [*stack_vars, *sliced.values()]
        if not any(self.needed_out) and not parts.waiting.effects:
            return Split(first, None, self.unknown_out, self.needed_out)
        constants = [eqn.invars[parts.sources[k][1]] for k in passed]
        second = self._waiting(passed, constants, stacked, stack_operands)
        return Split(first, second, self.unknown_out, self.needed_out)

    def _known(self, stacked: list[int], results: list[Var]) -> JaxprEqn:
        eqn, roles, parts = self.eqn, self.roles, self.parts
        known = [not u for u in self.flags]
        positions = [i for i, k in enumerate(known) if k]
        inputs = dict(zip(positions, parts.known.jaxpr.invars, strict=True))
        count = sum(not u for u in self.unknown_out)
        outvars = parts.known.jaxpr.outvars
        places: dict[str, Any] = {"in": inputs, "out": outvars[:count], "new": outvars[count:]}
        residuals = [places[kind][i] for kind, i in (parts.sources[k] for k in stacked)]
        body = parts.known.jaxpr.replace(outvars=[*outvars[:count], *residuals], debug_info=None)
        consts, carry, _ = roles.divide(known)
        params = {
            **eqn.params,
            "jaxpr": ClosedJaxpr(body, parts.known.consts),
            "num_consts": sum(consts),
            "num_carry": sum(carry),
            "linear": (False,) * sum(known),
        }
        operands = [a for a, k in zip(eqn.invars, known, strict=True) if k]
        return new_equation(operands, results, scan, params, eqn.source_info)

    def _waiting(
        self, passed: list[int], constants: list[Any], stacked: list[int], stack_vars: list[Any]
    ) -> JaxprEqn:
        eqn, roles, parts = self.eqn, self.roles, self.parts
        jaxpr: Jaxpr = parts.waiting.jaxpr
        count = len(parts.sources)
        residual_vars, inputs = jaxpr.invars[:count], jaxpr.invars[count:]
        consts_g, carry_g, _ = roles.divide(list(self.given))
        inner = Roles(sum(consts_g), sum(carry_g))
        c, k, s = inner.divide(inputs)
        body = jaxpr.replace(
            invars=[
                *[residual_vars[i] for i in passed], *c, *k,
                *[residual_vars[i] for i in stacked], *s,
            ],
            debug_info=None,
        )  # fmt: skip
        own = [a for a, g in zip(eqn.invars, self.given, strict=True) if g]
        oc, ok, os = inner.divide(own)
        operands = [*constants, *oc, *ok, *stack_vars, *os]
        params = {
            **eqn.params,
            "jaxpr": ClosedJaxpr(body, parts.waiting.consts),
            "num_consts": len(constants) + len(oc),
            "num_carry": len(ok),
            "linear": (False,) * len(operands),
        }
        results = [v for v, n in zip(eqn.outvars, self.needed_out, strict=True) if n]
        return new_equation(operands, results, scan, params, eqn.source_info)


def _scan_transpose(cts: Any, *operands: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    roles = _roles(params)
    consts, carry, stacks = roles.divide(operands)
    lin_consts, lin_stacks = [is_linear(x) for x in consts], [is_linear(x) for x in stacks]
    ct_carry, ct_outs = roles.divide_results(list(cts))
    types_c, types_k, types_s = roles.divide(jaxpr.in_avals)
    out_types = roles.divide_results(jaxpr.out_avals)[1]
    nonzero_outs = [not is_zero(ct) for ct in ct_outs]
    ct_const_types = [t.tangent_type() for t, lin in zip(types_c, lin_consts, strict=True) if lin]
    ct_carry_types = [t.tangent_type() for t in types_k]
    ct_out_types = [t.tangent_type() for t, nz in zip(out_types, nonzero_outs, strict=True) if nz]
    fixed_consts = [t for t, lin in zip(types_c, lin_consts, strict=True) if not lin]
    fixed_slices = [t for t, lin in zip(types_s, lin_stacks, strict=True) if not lin]
    counts = [len(fixed_consts), len(ct_const_types), len(ct_carry_types), len(ct_out_types)]

    def backward(*values: Any) -> list[Any]:
        at = np.cumsum([0, *counts])
        fixed, sums, ks, ys = (list(values[at[i] : at[i + 1]]) for i in range(4))
        slices = iter(values[at[4] :])
        fixed_iter, outs_iter = iter(fixed), iter(ys)
        inputs: list[Any] = [
            LinearOperand(t) if lin else next(fixed_iter)
            for t, lin in zip(types_c, lin_consts, strict=True)
        ]
        inputs += [LinearOperand(t) for t in types_k]
        inputs += [
            LinearOperand(t) if lin else next(slices)
            for t, lin in zip(types_s, lin_stacks, strict=True)
        ]
        given = ks + [
            next(outs_iter) if nz else Zero(t.tangent_type())
            for t, nz in zip(out_types, nonzero_outs, strict=True)
        ]
        found = backward_pass(jaxpr.jaxpr, jaxpr.consts, inputs, given)
        c, k, s = roles.divide(found)
        more = [ct for ct, lin in zip(c, lin_consts, strict=True) if lin]
        total = [instantiate(add_tangents(a, b)) for a, b in zip(sums, more, strict=True)]
        rows = [instantiate(ct) for ct, lin in zip(s, lin_stacks, strict=True) if lin]
        return [*total, *map(instantiate, k), *rows]

    body, body_consts = trace_to_jaxpr(
        backward, [*fixed_consts, *ct_const_types, *ct_carry_types, *ct_out_types, *fixed_slices]
    )
    values = [
        *[x for x in consts if not is_linear(x)],
        *[zeros(t) for t in ct_const_types],
        *map(instantiate, ct_carry),
        *[ct for ct in ct_outs if not is_zero(ct)],
        *[x for x in stacks if not is_linear(x)],
    ]
    results = scan(
        *values,
        jaxpr=ClosedJaxpr(body, body_consts),
        **{
            **params,
            "reverse": not params["reverse"],
            "num_consts": len(fixed_consts),
            "num_carry": len(ct_const_types) + len(ct_carry_types),
            "linear": (False,) * len(values),
        },
    )
    a, b = len(ct_const_types), len(ct_const_types) + len(ct_carry_types)
    sums, ks, rows = iter(results[:a]), results[a:b], iter(results[b:])
    return [
        *[next(sums) if lin else None for lin in lin_consts],
        *[k if is_linear(x) else None for k, x in zip(ks, carry, strict=True)],
        *[next(rows) if lin else None for lin in lin_stacks],
    ]


def _scan_prune(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    """Carries stay for as long as something that is read depends on them."""
    roles, closed = _roles(eqn.params), eqn.params["jaxpr"]
    carry_used, outs_used = roles.divide_results(list(used))
    if not any(used) and not closed.effects:
        return None

    def step(carry: tuple[bool, ...]) -> tuple[bool, ...]:
        _, used_in = drop_unused_equations(closed.jaxpr, [*carry, *outs_used])
        return tuple(roles.divide(used_in)[1])

    carry_kept = fixed_point(step, tuple(carry_used))
    keep_in = [*(False,) * roles.num_consts, *carry_kept, *(False,) * _slices_count(eqn)]
    body, used_in = drop_unused_equations(closed.jaxpr, [*carry_kept, *outs_used], keep_in)
    c, k, _ = roles.divide(used_in)
    operands = [a for a, u in zip(eqn.invars, used_in, strict=True) if u]
    params = {
        **eqn.params,
        "jaxpr": ClosedJaxpr(body, closed.consts),
        "num_consts": sum(c),
        "num_carry": sum(k),
        "linear": (False,) * len(operands),
    }
    kept_out = [*carry_kept, *outs_used]
    results = [v for v, u in zip(eqn.outvars, kept_out, strict=True) if u]
    return eqn.replace(invars=operands, outvars=results, params=params)


def _slices_count(eqn: JaxprEqn) -> int:
    return len(eqn.invars) - eqn.params["num_consts"] - eqn.params["num_carry"]


def _scan_shown(eqn: JaxprEqn) -> Params:
    keys = ("jaxpr", "length", "num_carry", "num_consts", "reverse", "unroll")
    return {key: eqn.params[key] for key in keys}


scan = Primitive(
    "scan",
    multiple_results=True,
    result_types=_scan_types,
    effects=lambda *types, jaxpr, **_: jaxpr.effects,
    evaluate=_scan_evaluate,
    jvp=_scan_jvp,
    split=_scan_split,
    transpose=_scan_transpose,
    batch=_scan_batch,
    prune=_scan_prune,
    shown=_scan_shown,
    compiled=True,
)
