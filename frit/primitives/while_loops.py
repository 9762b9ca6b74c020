"""while: run a jaxpr for as long as another says so.

cond : (*cond constants, *carry) -> bool        body : (*body constants, *carry) -> (*carry)
while: (*cond constants, *body constants, *carry) -> (*carry)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from frit.ir.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Var,
    drop_unused_equations,
    evaluate_closed,
    new_equation,
    run_closed,
)
from frit.ir.primitive import Params, Primitive
from frit.ir.types import typeof
from frit.primitives.calls import spread_tangents
from frit.primitives.conditionals import choose_lanes
from frit.primitives.loop_bodies import fixed_point, reordered
from frit.primitives.reductions import reduce_or
from frit.transforms.batch import batch_jaxpr
from frit.transforms.jvp import jvp_jaxpr
from frit.transforms.linear import (
    axis_to_front,
    instantiate,
    is_zero,
    move_axis,
)
from frit.transforms.split import Saveable, Split, split_closed
from frit.transforms.trace import trace_to_jaxpr

T = TypeVar("T")


def _while_parts(params: Params, items: Sequence[T]) -> tuple[list[T], list[T], list[T]]:
    """Constants of the condition, constants of the body, carry."""
    a = params["cond_nconsts"]
    b = a + params["body_nconsts"]
    return list(items[:a]), list(items[a:b]), list(items[b:])


def _while_evaluate(*arrays: Any, cond_jaxpr: Any, body_jaxpr: Any, **params: Any) -> list[Any]:
    cond_consts, body_consts, carry = _while_parts(params, arrays)
    while evaluate_closed(cond_jaxpr, *cond_consts, *carry)[0]:
        carry = evaluate_closed(body_jaxpr, *body_consts, *carry)
    return carry


def _while_jvp(
    primals: Any, tangents: Any, *, cond_jaxpr: Any, body_jaxpr: Any, **params: Any
) -> Any:
    cond_consts, body_consts, carry = _while_parts(params, primals)
    _, t_consts, t_carry = _while_parts(params, tangents)
    consts_nz = tuple(not is_zero(t) for t in t_consts)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return jvp_jaxpr(body_jaxpr, (*consts_nz, *flags), flags)[1]

    flags = fixed_point(step, tuple(not is_zero(t) for t in t_carry))
    moved, _ = jvp_jaxpr(body_jaxpr, (*consts_nz, *flags), flags)
    given_consts = [t for t in t_consts if not is_zero(t)]
    given_carry = [instantiate(t) for t, nz in zip(t_carry, flags, strict=True) if nz]
    # (body consts, carry, tangents of consts, of carry) -> (consts + tangents, carry + tangents)
    a, b, c = len(body_consts), len(carry), len(given_consts)
    order_in = [
        *range(a), *range(a + b, a + b + c), *range(a, a + b),
        *range(a + b + c, a + b + c + len(given_carry)),
    ]  # fmt: skip
    body = reordered(moved, order_in, range(len(moved.out_avals)))
    condition = cond_jaxpr.jaxpr
    extra = [Var(typeof(t)) for t in given_carry]
    widened = condition.replace(invars=[*condition.invars, *extra], debug_info=None)
    results = while_(
        *cond_consts, *body_consts, *given_consts, *carry, *given_carry,
        cond_jaxpr=ClosedJaxpr(widened, cond_jaxpr.consts), body_jaxpr=body,
        cond_nconsts=len(cond_consts), body_nconsts=a + c,
    )  # fmt: skip
    return spread_tangents(results, flags, b)


def _while_batch(
    axis: Any, operands: Any, mapped: Any, *, cond_jaxpr: Any, body_jaxpr: Any, **params: Any
) -> Any:
    cond_m, body_m, carry_m = (
        tuple(d is not None for d in part) for part in _while_parts(params, mapped)
    )

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        out = batch_jaxpr(body_jaxpr, axis, (*body_m, *flags), flags)[1]
        lanes = batch_jaxpr(cond_jaxpr, axis, (*cond_m, *out))[1][0]
        return (True,) * len(out) if lanes else out

    flags = fixed_point(step, carry_m)
    condition, (by_lane,) = batch_jaxpr(cond_jaxpr, axis, (*cond_m, *flags))
    body, _ = batch_jaxpr(body_jaxpr, axis, (*body_m, *flags), flags)
    cond_c, body_c, carry = _while_parts(params, list(zip(operands, mapped, strict=True)))
    cond_values = [x if d is None else move_axis(x, d, 0) for x, d in cond_c]
    body_values = [x if d is None else move_axis(x, d, 0) for x, d in body_c]
    carry_values = [
        axis_to_front(x, d, axis.size) if m else x for (x, d), m in zip(carry, flags, strict=True)
    ]
    if by_lane:
        for effect in _while_effects(cond_jaxpr=cond_jaxpr, body_jaxpr=body_jaxpr):
            if not effect.repeatable:
                raise NotImplementedError(
                    f"{effect} effect not supported in while_loop with batched predicate: lanes "
                    "stop at differing steps, and the body runs until the last one does."
                )
        condition, body = _any_lane(condition), _masked_body(condition, body, len(cond_values))
        body_values = [*cond_values, *body_values]
    results = while_(
        *cond_values, *body_values, *carry_values, cond_jaxpr=condition, body_jaxpr=body,
        cond_nconsts=len(cond_values), body_nconsts=len(body_values),
    )  # fmt: skip
    return results, [0 if m else None for m in flags]


def _any_lane(condition: ClosedJaxpr) -> ClosedJaxpr:
    def any_lane(*values: Any) -> list[Any]:
        return [reduce_or(run_closed(condition, *values)[0], axes=(0,))]

    jaxpr, consts = trace_to_jaxpr(any_lane, condition.in_avals)
    return ClosedJaxpr(jaxpr, consts)


def _masked_body(condition: ClosedJaxpr, body: ClosedJaxpr, cond_count: int) -> ClosedJaxpr:
    """The body for lanes that go on; lanes that have finished keep their carry."""
    carry_types = condition.in_avals[cond_count:]
    body_consts = body.in_avals[: len(body.in_avals) - len(carry_types)]

    def masked(*values: Any) -> list[Any]:
        cond_consts, rest = values[:cond_count], values[cond_count:]
        carry = rest[len(body_consts) :]
        going = run_closed(condition, *cond_consts, *carry)[0]
        moved = run_closed(body, *rest)
        return [choose_lanes(going, old, new) for old, new in zip(carry, moved, strict=True)]

    types = [*condition.in_avals[:cond_count], *body_consts, *carry_types]
    jaxpr, consts = trace_to_jaxpr(masked, types)
    return ClosedJaxpr(jaxpr, consts)


def _while_split(
    eqn: JaxprEqn, unknown: list[bool], needed: list[bool], saveable: Saveable
) -> Split:
    """The known part of the carry runs in a loop of its own; the waiting loop runs it once more."""
    params = eqn.params
    cond_u, body_u, carry_u = _while_parts(params, unknown)
    body, condition = params["body_jaxpr"], params["cond_jaxpr"]
    none = (False,) * len(body.in_avals)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return split_closed(body, (*body_u, *flags), none, flags, flags).unknown_out

    flags = fixed_point(step, tuple(carry_u))
    condition_unknown = split_closed(
        condition, (*cond_u, *flags), (False,) * len(condition.in_avals)
    ).unknown_out[0]
    everything = [True] * len(eqn.outvars)
    if condition_unknown or all(flags):
        return Split(None, eqn, everything, everything)
    known_carry = [not u for u in flags]
    body_jaxpr, body_in = drop_unused_equations(
        body.jaxpr, known_carry, [*(False,) * len(body_u), *known_carry]
    )
    keep = [*(True,) * len(cond_u), *known_carry]
    cond_jaxpr, _ = drop_unused_equations(condition.jaxpr, [True], keep)
    cond_c, body_c, carry = _while_parts(params, eqn.invars)
    known_body = [a for a, u in zip(body_c, body_in, strict=False) if u]
    first = new_equation(
        [*cond_c, *known_body, *[a for a, k in zip(carry, known_carry, strict=True) if k]],
        [v for v, k in zip(eqn.outvars, known_carry, strict=True) if k],
        while_,
        {
            "cond_jaxpr": ClosedJaxpr(cond_jaxpr, condition.consts),
            "body_jaxpr": ClosedJaxpr(body_jaxpr, body.consts),
            "cond_nconsts": len(cond_c),
            "body_nconsts": len(known_body),
        },
        eqn.source_info,
    )
    waiting = eqn.replace(
        outvars=[v if u else Var(v.aval) for v, u in zip(eqn.outvars, flags, strict=True)]
    )
    return Split(first, waiting, list(flags), list(flags))


def _while_transpose(*_: Any, **__: Any) -> Any:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
        "dynamic start/stop values. Try using lax.scan, or using fori_loop with static start/stop."
    )


def _while_effects(*types: Any, cond_jaxpr: Any, body_jaxpr: Any, **_: Any) -> frozenset[Any]:
    return cond_jaxpr.effects | body_jaxpr.effects


def _while_prune(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    """Carries stay for as long as the condition, or something that is read, depends on them."""
    if eqn.effects:
        return eqn
    if not any(used):
        return None
    params = eqn.params
    body, condition = params["body_jaxpr"], params["cond_jaxpr"]
    cond_c, body_c, carry = _while_parts(params, eqn.invars)
    asked = drop_unused_equations(condition.jaxpr, [True])[1][len(cond_c) :]

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return tuple(drop_unused_equations(body.jaxpr, flags)[1][len(body_c) :])

    kept = fixed_point(step, tuple(u or a for u, a in zip(used, asked, strict=True)))
    body_jaxpr, body_in = drop_unused_equations(body.jaxpr, kept, [*(False,) * len(body_c), *kept])
    cond_jaxpr, cond_in = drop_unused_equations(
        condition.jaxpr, [True], [*(False,) * len(cond_c), *kept]
    )
    cond_operands = [a for a, u in zip(cond_c, cond_in, strict=False) if u]
    body_operands = [a for a, u in zip(body_c, body_in, strict=False) if u]
    return eqn.replace(
        invars=[
            *cond_operands, *body_operands, *[a for a, k in zip(carry, kept, strict=True) if k]
        ],
        outvars=[v for v, k in zip(eqn.outvars, kept, strict=True) if k],
        params={
            **params,
            "cond_jaxpr": ClosedJaxpr(cond_jaxpr, condition.consts),
            "body_jaxpr": ClosedJaxpr(body_jaxpr, body.consts),
            "cond_nconsts": len(cond_operands),
            "body_nconsts": len(body_operands),
        },
    )  # fmt: skip


while_ = Primitive(
    "while",
    multiple_results=True,
    result_types=lambda *types, body_jaxpr, **_: list(body_jaxpr.out_avals),
    effects=_while_effects,
    evaluate=_while_evaluate,
    jvp=_while_jvp,
    split=_while_split,
    transpose=_while_transpose,
    batch=_while_batch,
    prune=_while_prune,
    compiled=True,
)
