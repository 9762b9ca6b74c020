"""scan: fold a jaxpr over the leading axis of its inputs.

body : (*constants, *carry, *slices) -> (*carry, *outputs)
scan : (*constants, *carry, *stacks) -> (*carry, *stacked outputs)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.ir.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    new_equation,
)
from frit.ir.primitive import Params, Primitive
from frit.primitives.loop_bodies import (
    Roles,
    batch_of_fold,
    fixed_point,
    folded,
    jvp_of_fold,
    prune_of_fold,
    roles_of,
    transpose_of_fold,
)
from frit.transforms.split import Saveable, Split, save_everything, split_closed


def _scan_types(*types: Any, jaxpr: ClosedJaxpr, length: Any, **params: Any) -> list[Any]:
    carry, outs = roles_of(params).divide_results(jaxpr.out_avals)
    return [*carry, *[t.with_axis(0, length) for t in outs]]


def _scan_evaluate(
    *arrays: Any, jaxpr: ClosedJaxpr, length: int, reverse: bool, **params: Any
) -> Any:
    roles = roles_of(params)
    consts, carry, stacks = roles.divide(arrays)
    carry, rows = folded(jaxpr, roles, consts, carry, stacks, length, reverse)
    types = roles.divide_results(jaxpr.out_avals)[1]
    columns = [
        np.stack([row[k] for row in rows])
        if rows
        else np.zeros((length, *t.shape), t.storage_dtype)
        for k, t in enumerate(types)
    ]
    return [*carry, *columns]


def _scan_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    def run(operands: list[Any], body: ClosedJaxpr, roles: Roles, _: Any) -> list[Any]:
        return _bound(operands, body, roles, params)

    return jvp_of_fold(primals, tangents, jaxpr, roles_of(params), run)


def _bound(operands: list[Any], body: ClosedJaxpr, roles: Roles, params: Params) -> list[Any]:
    linear = (False,) * len(operands)
    return scan(*operands, jaxpr=body, **{**params, **roles.params(), "linear": linear})


def _scan_batch(axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    roles = roles_of(params)
    values, body, out = batch_of_fold(axis, operands, mapped, jaxpr, roles, rows_at=1)
    results = scan(*values, jaxpr=body, **params)
    carry_out, outs = roles.divide_results(out)
    return results, [*[0 if m else None for m in carry_out], *[1 if m else None for m in outs]]


def _scan_split(
    eqn: JaxprEqn, unknown: list[bool], needed: list[bool], saveable: Saveable
) -> Split:
    roles, closed = roles_of(eqn.params), eqn.params["jaxpr"]
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
    roles, closed = roles_of(eqn.params), eqn.params["jaxpr"]
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
    back = {**params, "reverse": not params["reverse"]}

    def run(values: list[Any], body: ClosedJaxpr, roles: Roles) -> list[Any]:
        return _bound(values, body, roles, back)

    return transpose_of_fold(cts, operands, jaxpr, roles_of(params), run)


def _scan_prune(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    closed = eqn.params["jaxpr"]
    if not any(used) and not closed.effects:
        return None
    kept, body, roles, operands = prune_of_fold(used, closed, roles_of(eqn.params), eqn.invars)
    return eqn.replace(
        invars=operands,
        outvars=[v for v, k in zip(eqn.outvars, kept, strict=True) if k],
        params={
            **eqn.params, "jaxpr": body, **roles.params(), "linear": (False,) * len(operands)
        },
    )  # fmt: skip


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
