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
from typing import Any

import numpy as np

from frit.ir.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Var,
    drop_unused_equations,
    evaluate_closed,
)
from frit.ir.primitive import Params, Primitive, absent
from frit.ir.types import ShapedArray, typeof
from frit.primitives.calls import spread_tangents
from frit.primitives.loop_bodies import (
    Roles,
    at_front,
    batch_of_fold,
    carry_at_front,
    fixed_point,
    folded,
    jvp_of_fold,
    jvp_of_while,
    prune_of_fold,
    roles_of,
    transpose_of_fold,
    while_parts,
)
from frit.primitives.loop_splits import Lanes, LoopSplit, all_waits, parts_of, run_again
from frit.primitives.scans import scan
from frit.primitives.tapes import COUNT, COUNT_TYPE, rows_in, stored, tape_of
from frit.transforms.batch import batch_jaxpr, names_axis
from frit.transforms.linear import (
    Zero,
    is_linear,
    move_axis,
)
from frit.transforms.split import Saveable, Split, save_everything, split_closed
from frit.transforms.trace import trace_to_jaxpr


def _tapes_of(rows: Sequence[ShapedArray], lanes: Lanes) -> list[ShapedArray]:
    return [tape_of(row, axes) for row, axes in zip(rows, lanes, strict=True)]


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


def _while_jvp(primals: Any, tangents: Any, *, lanes: Lanes, **params: Any) -> Any:
    operands, changed, flags = jvp_of_while(primals, tangents, params, len(lanes))
    total = len(flags)
    n = total - len(lanes)
    row_flags, k = flags[n:], sum(flags[:n])
    moving_lanes = [axes for axes, nz in zip(lanes, row_flags, strict=True) if nz]
    results = taped_while(*operands, **changed, lanes=(*lanes, *moving_lanes))
    carried, moving, count = results[:n], results[n : n + k], results[n + k]
    tapes, t_tapes = results[n + k + 1 : k + 1 + total], results[k + 1 + total :]
    values, found = spread_tangents([*carried, *tapes, *moving, *t_tapes], flags, total)
    return (
        [*values[:n], count, *values[n:]],
        [*found[:n], Zero(COUNT_TYPE.tangent_type()), *found[n:]],
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
    results = taped_while(
        *at_front([*cond_c, *body_c]), *carry_at_front(carry, flags, axis),
        cond_jaxpr=condition, body_jaxpr=body,
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
        return all_waits(eqn)
    parts = parts_of(body, (*body_u, *flags), (*flags, *no_rows))
    outs = list(parts.unknown_out)
    unknown_out = [*outs[:n], False, *outs[n:]] if "lanes" in params else outs
    if saveable is not save_everything:
        return run_again(eqn, _pruned_while, unknown_out)
    cond_c, body_c, carry = while_parts(params, eqn.invars)
    kept = [not u for u in flags]
    cond_jaxpr, _ = drop_unused_equations(condition.jaxpr, [True], [*(True,) * len(cond_c), *kept])
    counted = "lanes" in params
    count = eqn.outvars[n] if counted else Var(COUNT_TYPE)
    results = [*eqn.outvars[:n], *eqn.outvars[n + 1 :]] if counted else eqn.outvars
    loop = LoopSplit(
        eqn, parts, flags, list(body_u), body_c, carry, [], results, lanes, count, taped_scan
    )

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
        return all_waits(eqn)
    params = eqn.params
    body, lanes = params["jaxpr"], params["lanes"]
    consts_u, carry_u, rows_u = roles_of(params).divide(unknown[1:])
    n, none, no_rows = len(carry_u), (False,) * len(body.in_avals), (False,) * len(lanes)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        forced = (*flags, *no_rows)
        return split_closed(body, (*consts_u, *flags, *rows_u), none, forced, forced).unknown_out[
            :n
        ]

    flags = fixed_point(step, tuple(carry_u))
    parts = parts_of(body, (*consts_u, *flags, *rows_u), (*flags, *no_rows))
    unknown_out = list(parts.unknown_out)
    if saveable is not save_everything:
        return run_again(eqn, _pruned_scan, unknown_out)
    count, *rest = eqn.invars
    consts, carry, tapes = roles_of(params).divide(rest)
    loop = LoopSplit(
        eqn, parts, (*flags, *rows_u), list(consts_u), consts, carry, tapes, eqn.outvars, lanes,
        count, taped_scan, reverse=params["reverse"],
    )  # fmt: skip

    def known(consts: list[Any], moving: list[Any], tapes: list[Any]) -> list[Any]:
        return [count, *consts, *moving, *tapes]

    def known_params(jaxpr: ClosedJaxpr, consts: int, made: Lanes) -> Params:
        return {
            **params, "jaxpr": jaxpr, "num_consts": consts, "lanes": made,
            "num_carry": sum(not u for u in flags),
        }  # fmt: skip

    return loop.split(taped_scan, known, known_params, True, unknown_out)


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
    carry, rows = roles_of(params).divide_results(jaxpr.out_avals)
    return [*carry, *_tapes_of(rows, lanes)]


def _scan_evaluate(
    count: Any, *arrays: Any, jaxpr: ClosedJaxpr, reverse: bool, lanes: Lanes, **params: Any
) -> list[Any]:
    roles, steps = roles_of(params), int(count)
    consts, carry, tapes = roles.divide(arrays)
    columns = [
        rows_in(handles, tape_of(t, np.shape(handles)), steps)
        for handles, t in zip(tapes, roles.divide(jaxpr.in_avals)[2], strict=True)
    ]
    carry, rows = folded(jaxpr, roles, consts, carry, columns, steps, reverse)
    made = _tapes_of(roles.divide_results(jaxpr.out_avals)[1], lanes)
    return [*carry, *[stored([row[k] for row in rows], t) for k, t in enumerate(made)]]


def _scan_jvp(
    primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any
) -> Any:
    count, *rest = primals

    def run(
        operands: list[Any], body: ClosedJaxpr, roles: Roles, flags: tuple[bool, ...]
    ) -> list[Any]:
        rows = flags[len(flags) - len(lanes) :]
        moving = [axes for axes, nz in zip(lanes, rows, strict=True) if nz]
        return _bound(count, operands, body, roles, params, (*lanes, *moving))

    return jvp_of_fold(rest, tangents[1:], jaxpr, roles_of(params), run)


def _bound(
    count: Any, operands: list[Any], body: ClosedJaxpr, roles: Roles, params: Params, lanes: Lanes
) -> list[Any]:
    return taped_scan(count, *operands, jaxpr=body, lanes=lanes, **{**params, **roles.params()})


def _scan_batch(
    axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any
) -> Any:
    if mapped[0] is not None:
        full = {**params, "jaxpr": jaxpr, "lanes": lanes}
        return _lane_by_lane(taped_scan, axis, operands, mapped, full)
    count, *rest = operands
    roles = roles_of(params)
    values, body, out = batch_of_fold(axis, rest, mapped[1:], jaxpr, roles, rows_at=0)
    more = _more_lanes(axis, lanes, roles.divide_results(out)[1])
    results = taped_scan(count, *values, jaxpr=body, lanes=more, **params)
    return results, [0 if m else None for m in out]


def _scan_transpose(
    cts: Any, count: Any, *operands: Any, jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any
) -> Any:
    if is_linear(count):
        raise ValueError("the number of steps of a loop cannot be a linear operand")
    roles = roles_of(params)
    made = tuple(x.shape for x in roles.divide(operands)[2] if is_linear(x))
    back = {**params, "reverse": not params["reverse"]}

    def run(values: list[Any], body: ClosedJaxpr, roles: Roles) -> list[Any]:
        return _bound(count, values, body, roles, back, made)

    return [None, *transpose_of_fold(cts, operands, jaxpr, roles, run)]


def _scan_prune(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    return eqn if eqn.effects else _pruned_scan(used, eqn)


def _pruned_scan(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    if not any(used):
        return None
    params = eqn.params
    count, *given = eqn.invars
    kept, body, roles, operands = prune_of_fold(used, params["jaxpr"], roles_of(params), given)
    rows = kept[len(kept) - len(params["lanes"]) :]
    lanes = tuple(axes for axes, u in zip(params["lanes"], rows, strict=True) if u)
    return eqn.replace(
        invars=[count, *operands],
        outvars=[v for v, k in zip(eqn.outvars, kept, strict=True) if k],
        params={**params, "jaxpr": body, **roles.params(), "lanes": lanes},
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
