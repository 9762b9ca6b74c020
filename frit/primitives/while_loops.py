"""while: run a jaxpr for as long as another says so.

cond : (*cond constants, *carry) -> bool        body : (*body constants, *carry) -> (*carry)
while: (*cond constants, *body constants, *carry) -> (*carry)

For reverse mode it is split into a `taped_while` and a `taped_scan`.
"""

from __future__ import annotations

from typing import Any

from frit.ir.jaxpr import (
    ClosedJaxpr,
    evaluate_closed,
    run_closed,
)
from frit.ir.primitive import Primitive
from frit.primitives.bounds import without_checks
from frit.primitives.calls import spread_tangents
from frit.primitives.conditionals import choose_lanes
from frit.primitives.loop_bodies import (
    at_front,
    carry_at_front,
    fixed_point,
    jvp_of_while,
    while_parts,
)
from frit.primitives.reductions import reduce_or
from frit.primitives.taped_loops import prune_while, split_while
from frit.transforms.batch import batch_jaxpr
from frit.transforms.trace import trace_to_jaxpr


def _while_evaluate(*arrays: Any, cond_jaxpr: Any, body_jaxpr: Any, **params: Any) -> list[Any]:
    cond_consts, body_consts, carry = while_parts(params, arrays)
    while evaluate_closed(cond_jaxpr, *cond_consts, *carry)[0]:
        carry = evaluate_closed(body_jaxpr, *body_consts, *carry)
    return carry


def _while_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    operands, changed, flags = jvp_of_while(primals, tangents, params)
    return spread_tangents(while_(*operands, **changed), flags, len(flags))


def _while_batch(
    axis: Any, operands: Any, mapped: Any, *, cond_jaxpr: Any, body_jaxpr: Any, **params: Any
) -> Any:
    cond_m, body_m, carry_m = (
        tuple(d is not None for d in part) for part in while_parts(params, mapped)
    )

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        out = batch_jaxpr(body_jaxpr, axis, (*body_m, *flags), flags)[1]
        lanes = batch_jaxpr(cond_jaxpr, axis, (*cond_m, *out))[1][0]
        return (True,) * len(out) if lanes else out

    flags = fixed_point(step, carry_m)
    condition, (by_lane,) = batch_jaxpr(cond_jaxpr, axis, (*cond_m, *flags))
    body, _ = batch_jaxpr(body_jaxpr, axis, (*body_m, *flags), flags)
    cond_c, body_c, carry = while_parts(params, list(zip(operands, mapped, strict=True)))
    cond_values, body_values = at_front(cond_c), at_front(body_c)
    carry_values = carry_at_front(carry, flags, axis)
    if by_lane:
        condition, body = without_checks(condition), without_checks(body)
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


def _while_transpose(*_: Any, **__: Any) -> Any:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
        "dynamic start/stop values where the condition depends on what is linear: how many steps "
        "there are must be known before cotangents come back. Let the condition read values that "
        "do not depend on the linear operands, such as a counter."
    )


def _while_effects(*types: Any, cond_jaxpr: Any, body_jaxpr: Any, **_: Any) -> frozenset[Any]:
    return cond_jaxpr.effects | body_jaxpr.effects


while_ = Primitive(
    "while",
    multiple_results=True,
    result_types=lambda *types, body_jaxpr, **_: list(body_jaxpr.out_avals),
    effects=_while_effects,
    evaluate=_while_evaluate,
    jvp=_while_jvp,
    split=split_while,
    transpose=_while_transpose,
    batch=_while_batch,
    prune=prune_while,
    compiled=True,
)
