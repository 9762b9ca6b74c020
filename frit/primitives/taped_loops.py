"""Loops whose number of steps is known only when they run, with a row on tape for each step.

taped_while: what a while is to the side that runs now
    cond : (*cond constants, *carry) -> bool
    body : (*body constants, *carry) -> (*carry, *rows)
    taped_while: (*cond constants, *body constants, *carry) -> (*carry, count, *tapes)

taped_scan: a scan over tapes; what waits of a while, and its transpose
    body : (*constants, *carry, *rows) -> (*carry, *rows)
    taped_scan: (count, *constants, *carry, *tapes) -> (*carry, *tapes)

`lanes` has, for each tape that a loop makes, the leading axes of its rows that have a tape each: a
loop that is mapped writes one tape a lane. Lanes that stop at differing steps are looped over one
after the other. `count` is an int32; more steps than it can tell are an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from frit.ir.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    drop_unused_equations,
    evaluate_closed,
    new_equation,
    run_closed,
)
from frit.ir.primitive import Params, Primitive, absent
from frit.ir.types import ShapedArray, typeof
from frit.primitives.calls import closed_call, spread_tangents
from frit.primitives.loop_bodies import fixed_point, reordered
from frit.primitives.scans import scan
from frit.primitives.tapes import COUNT, COUNT_TYPE, rows_in, stored, tape_of
from frit.transforms.batch import batch_jaxpr, names_axis
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
from frit.transforms.split import Saveable, Split, SplitClosed, save_everything, split_closed
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import backward_pass

T = TypeVar("T")
Lanes = tuple[tuple[Any, ...], ...]


def while_parts(params: Params, items: Sequence[T]) -> tuple[list[T], list[T], list[T]]:
    """Constants of the condition, constants of the body, carry."""
    a = params["cond_nconsts"]
    b = a + params["body_nconsts"]
    return list(items[:a]), list(items[a:b]), list(items[b:])


def scan_parts(params: Params, items: Sequence[T]) -> tuple[list[T], list[T], list[T]]:
    """Constants, carry and rows, of items that do not begin with the count."""
    a = params["num_consts"]
    b = a + params["num_carry"]
    return list(items[:a]), list(items[a:b]), list(items[b:])


def _tapes_of(rows: Sequence[ShapedArray], lanes: Lanes) -> list[ShapedArray]:
    return [tape_of(row, axes) for row, axes in zip(rows, lanes, strict=True)]


def _tangent(aval: Any) -> Zero:
    return Zero(aval.tangent_type())


# ------------------------------------------------------------------------------------ taped_while


def _while_types(*types: Any, body_jaxpr: ClosedJaxpr, lanes: Lanes, **_: Any) -> list[Any]:
    count = len(body_jaxpr.out_avals) - len(lanes)
    outs = body_jaxpr.out_avals
    return [*outs[:count], COUNT_TYPE, *_tapes_of(outs[count:], lanes)]


def _while_evaluate(
    *arrays: Any, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any
) -> list[Any]:
    cond_consts, body_consts, carry = while_parts(params, arrays)
    n, rows = len(carry), []
    while evaluate_closed(cond_jaxpr, *cond_consts, *carry)[0]:
        results = evaluate_closed(body_jaxpr, *body_consts, *carry)
        carry = results[:n]
        rows.append(results[n:])
    types = _tapes_of(body_jaxpr.out_avals[n:], lanes)
    tapes = [stored([row[k] for row in rows], t) for k, t in enumerate(types)]
    return [*carry, np.asarray(len(rows), COUNT), *tapes]


def _while_jvp(
    primals: Any, tangents: Any, *, cond_jaxpr: Any, body_jaxpr: Any, lanes: Lanes, **params: Any
) -> Any:
    cond_consts, body_consts, carry = while_parts(params, primals)
    _, t_consts, t_carry = while_parts(params, tangents)
    n, no_rows = len(carry), (False,) * len(lanes)
    consts_nz = tuple(not is_zero(t) for t in t_consts)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return jvp_jaxpr(body_jaxpr, (*consts_nz, *flags), (*flags, *no_rows))[1][:n]

    flags = fixed_point(step, tuple(not is_zero(t) for t in t_carry))
    moved, out_flags = jvp_jaxpr(body_jaxpr, (*consts_nz, *flags), (*flags, *no_rows))
    given_consts = [t for t in t_consts if not is_zero(t)]
    given_carry = [instantiate(t) for t, nz in zip(t_carry, flags, strict=True) if nz]
    a, c, k, total = len(body_consts), len(given_consts), len(given_carry), n + len(lanes)
    order_in = [
        *range(a), *range(a + n, a + n + c), *range(a, a + n), *range(a + n + c, a + n + c + k)
    ]  # fmt: skip
    order_out = [
        *range(n), *range(total, total + k), *range(n, total),
        *range(total + k, len(moved.out_avals)),
    ]  # fmt: skip
    condition = cond_jaxpr.jaxpr
    extra = [Var(typeof(t)) for t in given_carry]
    widened = condition.replace(invars=[*condition.invars, *extra], debug_info=None)
    row_flags = out_flags[n:]
    results = taped_while(
        *cond_consts, *body_consts, *given_consts, *carry, *given_carry,
        cond_jaxpr=ClosedJaxpr(widened, cond_jaxpr.consts),
        body_jaxpr=reordered(moved, order_in, order_out),
        cond_nconsts=len(cond_consts), body_nconsts=a + c,
        lanes=(*lanes, *[axes for axes, nz in zip(lanes, row_flags, strict=True) if nz]),
    )  # fmt: skip
    carried, moving, count = results[:n], results[n : n + k], results[n + k]
    tapes, t_tapes = results[n + k + 1 : n + k + 1 + len(lanes)], results[n + k + 1 + len(lanes) :]
    spread = [*carried, *tapes, *moving, *t_tapes]
    values, found = spread_tangents(spread, out_flags, total)
    return (
        [*values[:n], count, *values[n:]],
        [*found[:n], _tangent(COUNT_TYPE), *found[n:]],
    )


def _while_batch(
    axis: Any, operands: Any, mapped: Any, *, cond_jaxpr: Any, body_jaxpr: Any, lanes: Lanes,
    **params: Any,
) -> Any:  # fmt: skip
    cond_m, body_m, carry_m = (
        tuple(d is not None for d in part) for part in while_parts(params, mapped)
    )
    n, no_rows = len(carry_m), (False,) * len(lanes)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return batch_jaxpr(body_jaxpr, axis, (*body_m, *flags), (*flags, *no_rows))[1][:n]

    flags = fixed_point(step, carry_m)
    condition, (by_lane,) = batch_jaxpr(cond_jaxpr, axis, (*cond_m, *flags))
    if by_lane:
        full = {**params, "cond_jaxpr": cond_jaxpr, "body_jaxpr": body_jaxpr, "lanes": lanes}
        return _lane_by_lane(taped_while, axis, operands, mapped, full)
    body, out = batch_jaxpr(body_jaxpr, axis, (*body_m, *flags), (*flags, *no_rows))
    cond_c, body_c, carry = while_parts(params, list(zip(operands, mapped, strict=True)))
    values = [x if d is None else move_axis(x, d, 0) for x, d in (*cond_c, *body_c)]
    values += [
        axis_to_front(x, d, axis.size) if m else x for (x, d), m in zip(carry, flags, strict=True)
    ]
    results = taped_while(
        *values, cond_jaxpr=condition, body_jaxpr=body,
        lanes=_more_lanes(axis, lanes, out[n:]), **params,
    )  # fmt: skip
    axes = [0 if m else None for m in out]
    return results, [*axes[:n], None, *axes[n:]]


def _more_lanes(axis: Any, lanes: Lanes, mapped: Sequence[bool]) -> Lanes:
    return tuple((axis.size, *axes) if m else axes for axes, m in zip(lanes, mapped, strict=True))


def _lane_by_lane(
    primitive: Primitive, axis: Any, operands: Any, mapped: Any, params: Params
) -> Any:
    """The loop of each lane, one lane after the other: each has its own number of steps."""
    if names_axis(primitive, params, axis.name):
        raise NotImplementedError(
            f"{primitive} with a collective over the mapped axis {axis.name!r}, in lanes that stop "
            "at differing steps: lanes that have stopped cannot take part. Give all lanes the same "
            "condition, such as lax.pmax of theirs."
        )
    fixed = [x for x, d in zip(operands, mapped, strict=True) if d is None]
    stacks = [move_axis(x, d, 0) for x, d in zip(operands, mapped, strict=True) if d is not None]

    def one_lane(*values: Any) -> list[Any]:
        shared, own = iter(values[: len(fixed)]), iter(values[len(fixed) :])
        return primitive(*[next(shared if d is None else own) for d in mapped], **params)

    types = [*map(typeof, fixed), *[typeof(x).without_axis(0) for x in stacks]]
    body, consts = trace_to_jaxpr(one_lane, types)
    assert not consts
    results = scan(
        *fixed, *stacks, jaxpr=ClosedJaxpr(body), length=axis.size, num_consts=len(fixed),
        num_carry=0, reverse=False, unroll=1, linear=(False,) * len(operands),
    )  # fmt: skip
    return results, [0] * len(results)


def prune_while(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    """The prune rule of a while, taped or not."""
    return eqn if eqn.effects else _pruned_while(used, eqn)


def _pruned_while(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    """Carries stay for as long as the condition, or something that is read, depends on them."""
    if not any(used):
        return None
    params = eqn.params
    lanes: Lanes | None = params.get("lanes")
    body, condition = params["body_jaxpr"], params["cond_jaxpr"]
    cond_c, body_c, carry = while_parts(params, eqn.invars)
    n = len(carry)
    rows = () if lanes is None else tuple(used[n + 1 :])
    asked = drop_unused_equations(condition.jaxpr, [True])[1][len(cond_c) :]

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return tuple(drop_unused_equations(body.jaxpr, (*flags, *rows))[1][len(body_c) :])

    kept = fixed_point(step, tuple(u or a for u, a in zip(used[:n], asked, strict=True)))
    body_jaxpr, body_in = drop_unused_equations(
        body.jaxpr, (*kept, *rows), [*(False,) * len(body_c), *kept]
    )
    cond_jaxpr, cond_in = drop_unused_equations(
        condition.jaxpr, [True], [*(False,) * len(cond_c), *kept]
    )
    cond_operands = [a for a, u in zip(cond_c, cond_in, strict=False) if u]
    body_operands = [a for a, u in zip(body_c, body_in, strict=False) if u]
    changed: Params = {
        "cond_jaxpr": ClosedJaxpr(cond_jaxpr, condition.consts),
        "body_jaxpr": ClosedJaxpr(body_jaxpr, body.consts),
        "cond_nconsts": len(cond_operands),
        "body_nconsts": len(body_operands),
    }
    stay: tuple[bool, ...] = kept
    if lanes is not None:
        changed["lanes"] = tuple(axes for axes, u in zip(lanes, rows, strict=True) if u)
        stay = (*kept, True, *rows)
    return eqn.replace(
        invars=[
            *cond_operands, *body_operands, *[a for a, k in zip(carry, kept, strict=True) if k]
        ],
        outvars=[v for v, k in zip(eqn.outvars, stay, strict=True) if k],
        params={**params, **changed},
    )  # fmt: skip


# ------------------------------------------------------------------------------------------ split


def split_while(
    eqn: JaxprEqn, unknown: list[bool], needed: list[bool], saveable: Saveable
) -> Split:
    """The split of a while, taped or not: a taped loop now, and a scan over the tapes that waits.

    In a checkpoint the waiting loop runs what is known once more instead.
    """
    params = eqn.params
    lanes: Lanes = params.get("lanes", ())
    cond_u, body_u, carry_u = while_parts(params, unknown)
    body, condition = params["body_jaxpr"], params["cond_jaxpr"]
    n, none, no_rows = len(carry_u), (False,) * len(body.in_avals), (False,) * len(lanes)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        forced = (*flags, *no_rows)
        return split_closed(body, (*body_u, *flags), none, forced, forced).unknown_out[:n]

    flags = fixed_point(step, tuple(carry_u))
    condition_unknown = split_closed(
        condition, (*cond_u, *flags), (False,) * len(condition.in_avals)
    ).unknown_out[0]
    if condition_unknown or all(flags):
        return _all_waits(eqn)
    parts = _parts_of(body, (*body_u, *flags), (*flags, *no_rows))
    outs = list(parts.unknown_out)
    unknown_out = [*outs[:n], False, *outs[n:]] if "lanes" in params else outs
    if saveable is not save_everything:
        return _run_again(eqn, _pruned_while, unknown_out)
    cond_c, body_c, carry = while_parts(params, eqn.invars)
    kept = [not u for u in flags]
    cond_jaxpr, _ = drop_unused_equations(condition.jaxpr, [True], [*(True,) * len(cond_c), *kept])
    counted = "lanes" in params
    count = eqn.outvars[n] if counted else Var(COUNT_TYPE)
    results = [*eqn.outvars[:n], *eqn.outvars[n + 1 :]] if counted else eqn.outvars
    loop = _LoopSplit(eqn, parts, flags, list(body_u), body_c, carry, [], results, lanes, count)

    def known(consts: list[Any], moving: list[Any], tapes: list[Any]) -> list[Any]:
        return [*cond_c, *consts, *moving]

    def known_params(jaxpr: ClosedJaxpr, consts: int, made: Lanes) -> Params:
        return {
            "cond_jaxpr": ClosedJaxpr(cond_jaxpr, condition.consts),
            "body_jaxpr": jaxpr,
            "cond_nconsts": len(cond_c),
            "body_nconsts": consts,
            "lanes": made,
        }

    return loop.split(taped_while, known, known_params, False, unknown_out)


def _split_scan(
    eqn: JaxprEqn, unknown: list[bool], needed: list[bool], saveable: Saveable
) -> Split:
    if unknown[0]:
        return _all_waits(eqn)
    params = eqn.params
    body, lanes = params["jaxpr"], params["lanes"]
    consts_u, carry_u, rows_u = scan_parts(params, unknown[1:])
    n, none, no_rows = len(carry_u), (False,) * len(body.in_avals), (False,) * len(lanes)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        forced = (*flags, *no_rows)
        return split_closed(body, (*consts_u, *flags, *rows_u), none, forced, forced).unknown_out[
            :n
        ]

    flags = fixed_point(step, tuple(carry_u))
    parts = _parts_of(body, (*consts_u, *flags, *rows_u), (*flags, *no_rows))
    unknown_out = list(parts.unknown_out)
    if saveable is not save_everything:
        return _run_again(eqn, _pruned_scan, unknown_out)
    count, *rest = eqn.invars
    consts, carry, tapes = scan_parts(params, rest)
    loop = _LoopSplit(
        eqn, parts, (*flags, *rows_u), list(consts_u), consts, carry, tapes, eqn.outvars, lanes,
        count, reverse=params["reverse"],
    )  # fmt: skip

    def known(consts: list[Any], moving: list[Any], tapes: list[Any]) -> list[Any]:
        return [count, *consts, *moving, *tapes]

    def known_params(jaxpr: ClosedJaxpr, consts: int, made: Lanes) -> Params:
        return {
            **params, "jaxpr": jaxpr, "num_consts": consts, "lanes": made,
            "num_carry": sum(not u for u in flags),
        }  # fmt: skip

    return loop.split(taped_scan, known, known_params, True, unknown_out)


def _parts_of(body: ClosedJaxpr, unknown: tuple[bool, ...], forced: tuple[bool, ...]) -> Any:
    """The split of a body whose waiting side makes what is unknown and nothing else."""
    none = (False,) * len(unknown)
    found = split_closed(body, unknown, none, forced, forced)
    return split_closed(body, unknown, none, found.unknown_out, found.unknown_out)


def _all_waits(eqn: JaxprEqn) -> Split:
    everything = [True] * len(eqn.outvars)
    return Split(None, eqn, everything, everything)


def _run_again(eqn: JaxprEqn, pruned: Any, unknown_out: list[bool]) -> Split:
    """What is known runs in a loop of its own now; the whole loop runs when the rest is known."""
    first = pruned([not u for u in unknown_out], eqn)
    outvars = [v if u else Var(v.aval) for v, u in zip(eqn.outvars, unknown_out, strict=True)]
    return Split(first, eqn.replace(outvars=outvars), list(unknown_out), list(unknown_out))


class _LoopSplit:
    """Builds the two loops of a split one.

    Residuals that never change are passed as constants, or computed once before the loop; the rest
    go to tapes, but for those that are on one already. flags: which carries and rows are unknown.
    """

    def __init__(
        self, eqn: JaxprEqn, parts: SplitClosed, flags: Sequence[bool], consts_u: list[bool],
        consts: list[Any], carry: list[Any], tapes: list[Any], results: Sequence[Var],
        lanes: Lanes, count: Any, reverse: bool = False,
    ) -> None:  # fmt: skip
        self.eqn, self.parts, self.count, self.reverse = eqn, parts, count, reverse
        n = len(carry)
        self.consts_u, self.carry_u, self.tapes_u = consts_u, list(flags[:n]), list(flags[n:])
        self.consts, self.carry, self.tapes = consts, carry, tapes
        self.results, self.lanes = list(results), lanes
        self.operands = [*consts, *carry, *tapes]

    def split(
        self, primitive: Primitive, known: Any, known_params: Any, is_scan: bool,
        unknown_out: list[bool],
    ) -> Split:  # fmt: skip
        """primitive: of the loop that runs now; known, known_params: its operands and params."""
        parts, n = self.parts, len(self.carry)
        first_row = len(self.consts) + n
        outs = parts.unknown_out
        done = [v for v, u in zip(self.results, outs, strict=True) if not u]
        carried = sum(not u for u in outs[:n])
        body = parts.known.jaxpr
        unknown = [*self.consts_u, *self.carry_u, *self.tapes_u]
        inputs = dict(zip([i for i, u in enumerate(unknown) if not u], body.invars, strict=True))
        count = len(done)
        places: dict[str, Any] = {
            "in": inputs, "out": body.outvars[:count], "new": body.outvars[count:]
        }  # fmt: skip
        inside = [places[kind][i] for kind, i in parts.sources]
        fixed_inputs = [inputs[i] for i, u in enumerate(self.consts_u) if not u]
        fixed = _invariant(body, fixed_inputs)
        passed: dict[int, Any] = {}  # residual -> what it is outside of the loop
        hoisted: list[int] = []
        on_tape: dict[int, Any] = {}
        fresh: list[int] = []
        for k, (kind, i) in enumerate(parts.sources):
            if kind == "in" and i < len(self.consts):
                passed[k] = self.consts[i]
            elif kind == "in" and i >= first_row:
                on_tape[k] = self.operands[i]
            elif kind == "out" and i >= carried:
                on_tape[k] = done[i]
            elif inside[k] in fixed:
                hoisted.append(k)
            else:
                fresh.append(k)
        for k in hoisted:
            passed[k] = Var(parts.residual_types[k].strip_weak_type())
        for k in fresh:
            on_tape[k] = Var(tape_of(parts.residual_types[k].strip_weak_type(), ()))
        made_lanes = (
            *[axes for axes, u in zip(self.lanes, outs[n:], strict=True) if not u],
            *[() for _ in fresh],
        )
        row_vars = [inside[k] for k in fresh]
        known_body = ClosedJaxpr(
            body.replace(outvars=[*body.outvars[:count], *row_vars], debug_info=None),
            parts.known.consts,
        )
        consts = [a for a, u in zip(self.consts, self.consts_u, strict=True) if not u]
        moving = [a for a, u in zip(self.carry, self.carry_u, strict=True) if not u]
        tapes = [a for a, u in zip(self.tapes, self.tapes_u, strict=True) if not u]
        operands = known(consts, moving, tapes)
        params = known_params(known_body, len(consts), made_lanes)
        made = [*done[:carried], *([] if is_scan else [self.count]), *done[carried:]]
        made += [on_tape[k] for k in fresh]
        first = new_equation(operands, made, primitive, params, self.eqn.source_info)
        if hoisted:
            before = ClosedJaxpr(
                body.replace(
                    invars=fixed_inputs,
                    outvars=[inside[k] for k in hoisted],
                    eqns=[e for e in body.eqns if all(v in fixed for v in e.outvars)],
                    debug_info=None,
                ),
                parts.known.consts,
            )
            first = _with_hoisted(first, before, consts, [passed[k] for k in hoisted])
        if not any(unknown_out):
            return Split(first, None, list(unknown_out), list(unknown_out))
        second = self.waiting(passed, on_tape)
        return Split(first, second, list(unknown_out), list(unknown_out))

    def waiting(self, passed: dict[int, Any], on_tape: dict[int, Any]) -> JaxprEqn:
        parts, n = self.parts, len(self.carry)
        jaxpr = parts.waiting.jaxpr
        residuals, inputs = jaxpr.invars[: len(parts.sources)], jaxpr.invars[len(parts.sources) :]
        a, b = sum(self.consts_u), sum(self.consts_u) + sum(self.carry_u)
        body = jaxpr.replace(
            invars=[
                *[residuals[k] for k in passed], *inputs[:a], *inputs[a:b],
                *[residuals[k] for k in on_tape], *inputs[b:],
            ],
            debug_info=None,
        )  # fmt: skip
        consts = [x for x, u in zip(self.consts, self.consts_u, strict=True) if u]
        moving = [x for x, u in zip(self.carry, self.carry_u, strict=True) if u]
        tapes = [x for x, u in zip(self.tapes, self.tapes_u, strict=True) if u]
        outs = parts.unknown_out
        params = {
            "jaxpr": ClosedJaxpr(body, parts.waiting.consts),
            "num_consts": len(passed) + len(consts),
            "num_carry": len(moving),
            "reverse": self.reverse,
            "lanes": tuple(axes for axes, u in zip(self.lanes, outs[n:], strict=True) if u),
        }
        operands = [self.count, *passed.values(), *consts, *moving, *on_tape.values(), *tapes]
        results = [v for v, u in zip(self.results, outs, strict=True) if u]
        return new_equation(operands, results, taped_scan, params, self.eqn.source_info)


def _invariant(jaxpr: Any, constants: Sequence[Var]) -> set[Var]:
    """The variables of a body that depend on its constants only, but for those themselves."""
    same = {*constants, *jaxpr.constvars}
    found: set[Var] = set()
    for eqn in jaxpr.eqns:
        if not eqn.effects and all(isinstance(a, Literal) or a in same for a in eqn.invars):
            same.update(eqn.outvars)
            found.update(eqn.outvars)
    return found


def _with_hoisted(
    loop: JaxprEqn, before: ClosedJaxpr, constants: list[Any], results: list[Var]
) -> JaxprEqn:
    """One equation for a loop and for what is computed once before it."""
    operands = list(dict.fromkeys(a for a in (*loop.invars, *constants) if isinstance(a, Var)))
    pruned, used = drop_unused_equations(before.jaxpr, [True] * len(results))
    before = ClosedJaxpr(pruned, before.consts)
    needed = [a for a, u in zip(constants, used, strict=True) if u]

    def run(*values: Any) -> list[Any]:
        given = dict(zip(operands, values, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, Literal) else given[atom]

        once = run_closed(before, *map(read, needed))
        return [*loop.primitive(*map(read, loop.invars), **loop.params), *once]

    jaxpr, consts = trace_to_jaxpr(run, [v.aval for v in operands])
    closed = ClosedJaxpr(jaxpr, consts)
    return new_equation(
        operands, [*loop.outvars, *results], closed_call, {"jaxpr": closed}, loop.source_info
    )


taped_while: Primitive = Primitive(
    "taped_while",
    multiple_results=True,
    result_types=_while_types,
    effects=lambda *types, cond_jaxpr, body_jaxpr, **_: cond_jaxpr.effects | body_jaxpr.effects,
    evaluate=_while_evaluate,
    jvp=_while_jvp,
    split=split_while,
    transpose=absent("its condition would depend on the linear operands"),
    batch=_while_batch,
    prune=prune_while,
    compiled=True,
)


# ------------------------------------------------------------------------------------- taped_scan


def _scan_types(count: Any, *types: Any, jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any) -> Any:
    n = params["num_carry"]
    outs = jaxpr.out_avals
    return [*outs[:n], *_tapes_of(outs[n:], lanes)]


def _scan_evaluate(
    count: Any, *arrays: Any, jaxpr: ClosedJaxpr, reverse: bool, lanes: Lanes, **params: Any
) -> list[Any]:
    consts, carry, tapes = scan_parts(params, arrays)
    n, steps = len(carry), int(count)
    types = scan_parts(params, jaxpr.in_avals)[2]
    columns = [
        rows_in(handles, tape_of(t, np.shape(handles)), steps)
        for handles, t in zip(tapes, types, strict=True)
    ]
    rows: list[Any] = []
    for i in reversed(range(steps)) if reverse else range(steps):
        results = evaluate_closed(jaxpr, *consts, *carry, *[np.asarray(c[i]) for c in columns])
        carry = results[:n]
        rows.append(results[n:])
    if reverse:
        rows.reverse()
    made = _tapes_of(jaxpr.out_avals[n:], lanes)
    return [*carry, *[stored([row[k] for row in rows], t) for k, t in enumerate(made)]]


def _scan_jvp(
    primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any
) -> Any:
    count, *rest = primals
    p_consts, p_carry, p_tapes = scan_parts(params, rest)
    t_consts, t_carry, t_tapes = scan_parts(params, list(tangents[1:]))
    n, no_rows = len(p_carry), (False,) * len(lanes)
    consts_nz = tuple(not is_zero(t) for t in t_consts)
    rows_nz = tuple(not is_zero(t) for t in t_tapes)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return jvp_jaxpr(jaxpr, (*consts_nz, *flags, *rows_nz), (*flags, *no_rows))[1][:n]

    flags = fixed_point(step, tuple(not is_zero(t) for t in t_carry))
    moved, out_flags = jvp_jaxpr(jaxpr, (*consts_nz, *flags, *rows_nz), (*flags, *no_rows))
    given = [
        [t for t in t_consts if not is_zero(t)],
        [instantiate(t) for t, nz in zip(t_carry, flags, strict=True) if nz],
        [t for t in t_tapes if not is_zero(t)],
    ]
    starts = np.cumsum([0, *map(len, (p_consts, p_carry, p_tapes, *given))]).tolist()
    blocks = [range(starts[i], starts[i + 1]) for i in range(6)]
    order_in = [i for b in (0, 3, 1, 4, 2, 5) for i in blocks[b]]
    total, k = n + len(lanes), sum(flags)
    order_out = [
        *range(n), *range(total, total + k), *range(n, total),
        *range(total + k, len(moved.out_avals)),
    ]  # fmt: skip
    results = taped_scan(
        count, *p_consts, *given[0], *p_carry, *given[1], *p_tapes, *given[2],
        jaxpr=reordered(moved, order_in, order_out),
        num_consts=len(p_consts) + len(given[0]),
        num_carry=n + k,
        reverse=params["reverse"],
        lanes=(*lanes, *[axes for axes, nz in zip(lanes, out_flags[n:], strict=True) if nz]),
    )  # fmt: skip
    restored: list[Any] = [None] * len(results)
    for source, target in enumerate(order_out):
        restored[target] = results[source]
    return spread_tangents(restored, out_flags, total)


def _scan_batch(
    axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any
) -> Any:
    if mapped[0] is not None:
        full = {**params, "jaxpr": jaxpr, "lanes": lanes}
        return _lane_by_lane(taped_scan, axis, operands, mapped, full)
    count = operands[0]
    consts_m, carry_m, rows_m = (
        tuple(d is not None for d in part) for part in scan_parts(params, mapped[1:])
    )
    n, no_rows = len(carry_m), (False,) * len(lanes)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return batch_jaxpr(jaxpr, axis, (*consts_m, *flags, *rows_m), (*flags, *no_rows))[1][:n]

    flags = fixed_point(step, carry_m)
    body, out = batch_jaxpr(jaxpr, axis, (*consts_m, *flags, *rows_m), (*flags, *no_rows))
    consts, carry, tapes = scan_parts(params, list(zip(operands[1:], mapped[1:], strict=True)))
    values = [x if d is None else move_axis(x, d, 0) for x, d in consts]
    values += [
        axis_to_front(x, d, axis.size) if m else x for (x, d), m in zip(carry, flags, strict=True)
    ]
    values += [x if d is None else move_axis(x, d, 0) for x, d in tapes]
    results = taped_scan(
        count, *values, jaxpr=body, lanes=_more_lanes(axis, lanes, out[n:]), **params
    )
    return results, [0 if m else None for m in out]


def _scan_transpose(
    cts: Any, count: Any, *operands: Any, jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any
) -> Any:
    if is_linear(count):
        raise ValueError("the number of steps of a loop cannot be a linear operand")
    consts, carry, tapes = scan_parts(params, operands)
    n = len(carry)
    lin_consts, lin_tapes = [is_linear(x) for x in consts], [is_linear(x) for x in tapes]
    ct_carry, ct_tapes = list(cts[:n]), list(cts[n:])
    types_c, types_k, types_s = scan_parts(params, jaxpr.in_avals)
    out_types = jaxpr.out_avals[n:]
    nonzero = [not is_zero(ct) for ct in ct_tapes]
    ct_const_types = [t.tangent_type() for t, lin in zip(types_c, lin_consts, strict=True) if lin]
    ct_carry_types = [t.tangent_type() for t in types_k]
    ct_row_types = [t.tangent_type() for t, nz in zip(out_types, nonzero, strict=True) if nz]
    fixed_consts = [t for t, lin in zip(types_c, lin_consts, strict=True) if not lin]
    fixed_rows = [t for t, lin in zip(types_s, lin_tapes, strict=True) if not lin]
    counts = [len(fixed_consts), len(ct_const_types), len(ct_carry_types), len(ct_row_types)]

    def backward(*values: Any) -> list[Any]:
        at = np.cumsum([0, *counts])
        fixed, sums, ks, ys = (list(values[at[i] : at[i + 1]]) for i in range(4))
        fixed_iter, rows_iter, given_rows = iter(fixed), iter(values[at[4] :]), iter(ys)
        inputs: list[Any] = [
            LinearOperand(t) if lin else next(fixed_iter)
            for t, lin in zip(types_c, lin_consts, strict=True)
        ]
        inputs += [LinearOperand(t) for t in types_k]
        inputs += [
            LinearOperand(t) if lin else next(rows_iter)
            for t, lin in zip(types_s, lin_tapes, strict=True)
        ]
        given = ks + [
            next(given_rows) if nz else _tangent(t)
            for t, nz in zip(out_types, nonzero, strict=True)
        ]
        found = backward_pass(jaxpr.jaxpr, jaxpr.consts, inputs, given)
        c, k, s = scan_parts(params, found)
        more = [ct for ct, lin in zip(c, lin_consts, strict=True) if lin]
        total = [instantiate(add_tangents(a, b)) for a, b in zip(sums, more, strict=True)]
        rows = [instantiate(ct) for ct, lin in zip(s, lin_tapes, strict=True) if lin]
        return [*total, *map(instantiate, k), *rows]

    types = [*fixed_consts, *ct_const_types, *ct_carry_types, *ct_row_types, *fixed_rows]
    body, body_consts = trace_to_jaxpr(backward, types)
    results = taped_scan(
        count,
        *[x for x in consts if not is_linear(x)],
        *[zeros(t) for t in ct_const_types],
        *map(instantiate, ct_carry),
        *[ct for ct in ct_tapes if not is_zero(ct)],
        *[x for x in tapes if not is_linear(x)],
        jaxpr=ClosedJaxpr(body, body_consts),
        num_consts=len(fixed_consts),
        num_carry=len(ct_const_types) + len(ct_carry_types),
        reverse=not params["reverse"],
        lanes=tuple(x.shape for x in tapes if is_linear(x)),
    )
    a, b = len(ct_const_types), len(ct_const_types) + len(ct_carry_types)
    sums, ks, rows = iter(results[:a]), results[a:b], iter(results[b:])
    return [
        None,
        *[next(sums) if lin else None for lin in lin_consts],
        *[k if is_linear(x) else None for k, x in zip(ks, carry, strict=True)],
        *[next(rows) if lin else None for lin in lin_tapes],
    ]


def _scan_prune(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    return eqn if eqn.effects else _pruned_scan(used, eqn)


def _pruned_scan(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    """Carries stay for as long as something that is read depends on them."""
    params, closed, lanes = eqn.params, eqn.params["jaxpr"], eqn.params["lanes"]
    n = params["num_carry"]
    if not any(used):
        return None
    rows = list(used[n:])

    def step(carry: tuple[bool, ...]) -> tuple[bool, ...]:
        _, used_in = drop_unused_equations(closed.jaxpr, [*carry, *rows])
        return tuple(scan_parts(params, used_in)[1])

    kept = fixed_point(step, tuple(used[:n]))
    count, *operands = eqn.invars
    tapes = len(operands) - n - params["num_consts"]
    keep_in = [*(False,) * params["num_consts"], *kept, *(False,) * tapes]
    body, used_in = drop_unused_equations(closed.jaxpr, [*kept, *rows], keep_in)
    c, k, _ = scan_parts(params, used_in)
    outs = [*kept, *rows]
    return eqn.replace(
        invars=[count, *[a for a, u in zip(operands, used_in, strict=True) if u]],
        outvars=[v for v, u in zip(eqn.outvars, outs, strict=True) if u],
        params={
            **params,
            "jaxpr": ClosedJaxpr(body, closed.consts),
            "num_consts": sum(c),
            "num_carry": sum(k),
            "lanes": tuple(axes for axes, u in zip(lanes, rows, strict=True) if u),
        },
    )


taped_scan: Primitive = Primitive(
    "taped_scan",
    multiple_results=True,
    result_types=_scan_types,
    effects=lambda *types, jaxpr, **_: jaxpr.effects,
    evaluate=_scan_evaluate,
    jvp=_scan_jvp,
    split=_split_scan,
    transpose=_scan_transpose,
    batch=_scan_batch,
    prune=_scan_prune,
    compiled=True,
)
