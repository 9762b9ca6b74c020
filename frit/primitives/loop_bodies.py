"""What loops share: flags that grow until a step leaves them, and the rules of their derivatives.

A fold goes over rows; a scan and a `taped_scan` are folds, which differ in where the rows lie.

    body : (*constants, *carry, *rows) -> (*carry, *rows)
    fold : (*constants, *carry, *rows) -> (*carry, *rows)

Each rule makes the new body and its operands; how the loop is bound is for the primitive to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from frit.ir.jaxpr import ClosedJaxpr, Var, drop_unused_equations, evaluate_closed
from frit.ir.primitive import Params
from frit.ir.types import typeof
from frit.primitives.calls import spread_tangents
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
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import backward_pass

T = TypeVar("T")


def fixed_point(
    step: Callable[[tuple[bool, ...]], tuple[bool, ...]], flags: tuple[bool, ...]
) -> Any:
    """The least flags at or above `flags` that `step` leaves as they are."""
    while True:
        grown = tuple(a or b for a, b in zip(flags, step(flags), strict=True))
        if grown == flags:
            return flags
        flags = grown


def reordered(
    closed: ClosedJaxpr, order_in: Sequence[int], order_out: Sequence[int]
) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(
        jaxpr.replace(
            invars=[jaxpr.invars[i] for i in order_in],
            outvars=[jaxpr.outvars[i] for i in order_out],
            debug_info=None,
        ),
        closed.consts,
    )


def at_front(operands: Iterable[tuple[Any, int | None]], to: int = 0) -> list[Any]:
    """Operands whose mapped axis, where they have one, is axis `to`."""
    return [x if d is None else move_axis(x, d, to) for x, d in operands]


def carry_at_front(
    carry: Iterable[tuple[Any, int | None]], flags: Iterable[bool], axis: Any
) -> list[Any]:
    """Carried operands, each mapped along its first axis if its flag says so."""
    return [
        axis_to_front(x, d, axis.size) if m else x for (x, d), m in zip(carry, flags, strict=True)
    ]


# ------------------------------------------------------------------------------------------ folds


@dataclass(frozen=True)
class Roles:
    """Who plays which part among the operands of a fold: a view of its parameters."""

    num_consts: int
    num_carry: int

    def divide(self, items: Sequence[T]) -> tuple[list[T], list[T], list[T]]:
        """Constants, carry and rows (as stacks, slices or tapes)."""
        a, b = self.num_consts, self.num_consts + self.num_carry
        return list(items[:a]), list(items[a:b]), list(items[b:])

    def divide_results(self, items: Sequence[T]) -> tuple[list[T], list[T]]:
        return list(items[: self.num_carry]), list(items[self.num_carry :])

    def params(self) -> Params:
        """The parameters of an equation that say this."""
        return {"num_consts": self.num_consts, "num_carry": self.num_carry}


def roles_of(params: Params) -> Roles:
    return Roles(params["num_consts"], params["num_carry"])


def folded(
    jaxpr: ClosedJaxpr, roles: Roles, consts: Sequence[Any], carry: Sequence[Any],
    columns: Sequence[Any], length: int, reverse: bool,
) -> tuple[list[Any], list[list[Any]]]:  # fmt: skip
    """The last carry, and the rows made, by evaluating the body for each row of the columns."""
    rows: list[list[Any]] = []
    carry = list(carry)
    for i in reversed(range(length)) if reverse else range(length):
        results = evaluate_closed(jaxpr, *consts, *carry, *[np.asarray(c[i]) for c in columns])
        carry, outs = roles.divide_results(results)
        rows.append(outs)
    if reverse:
        rows.reverse()
    return carry, rows


def jvp_of_fold(
    primals: Sequence[Any], tangents: Sequence[Any], jaxpr: ClosedJaxpr, roles: Roles,
    run: Callable[[list[Any], ClosedJaxpr, Roles, tuple[bool, ...]], list[Any]],
) -> Any:  # fmt: skip
    """Results and tangents of a fold.

    run: (operands, body, roles, flags) -> results; binds the fold that carries tangents as well.
    flags: which outputs of the body have tangents.
    """
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
    wider = Roles(len(p_consts) + len(given[0]), carry_count + tangent_carry)
    results = run(operands, body, wider, out_flags)
    restored: list[Any] = [None] * len(results)
    for source, target in enumerate(order_out):
        restored[target] = results[source]
    return spread_tangents(restored, out_flags, total)


def _interleave(sizes: Sequence[int]) -> list[int]:
    """Positions of (a, b, c, a', b', c') in the order (a, a', b, b', c, c')."""
    starts = np.cumsum([0, *sizes])
    blocks = [list(range(starts[i], starts[i + 1])) for i in range(6)]
    return [*blocks[0], *blocks[3], *blocks[1], *blocks[4], *blocks[2], *blocks[5]]


def batch_of_fold(
    axis: Any, operands: Sequence[Any], mapped: Sequence[Any], jaxpr: ClosedJaxpr, roles: Roles,
    rows_at: int,
) -> tuple[list[Any], ClosedJaxpr, tuple[bool, ...]]:  # fmt: skip
    """The operands and the body of a mapped fold, and which outputs of the body are mapped.

    rows_at: the axis of its operands with rows along which they are mapped.
    """
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
    values = at_front(consts) + carry_at_front(carry, carry_flags, axis) + at_front(stacks, rows_at)
    return values, body, out


def transpose_of_fold(
    cts: Sequence[Any], operands: Sequence[Any], jaxpr: ClosedJaxpr, roles: Roles,
    run: Callable[[list[Any], ClosedJaxpr, Roles], list[Any]],
) -> list[Any]:  # fmt: skip
    """The cotangents of a fold's operands.

    run: (operands, body, roles) -> results; binds the fold that goes the other way.
    """
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
    back = Roles(len(fixed_consts), len(ct_const_types) + len(ct_carry_types))
    results = run(values, ClosedJaxpr(body, body_consts), back)
    a, b = len(ct_const_types), len(ct_const_types) + len(ct_carry_types)
    sums, ks, rows = iter(results[:a]), results[a:b], iter(results[b:])
    return [
        *[next(sums) if lin else None for lin in lin_consts],
        *[k if is_linear(x) else None for k, x in zip(ks, carry, strict=True)],
        *[next(rows) if lin else None for lin in lin_stacks],
    ]


def prune_of_fold(
    used: Sequence[bool], closed: ClosedJaxpr, roles: Roles, operands: Sequence[Any]
) -> tuple[list[bool], ClosedJaxpr, Roles, list[Any]]:
    """A fold without what nobody reads: which results stay, its body, roles and operands.

    Carries stay for as long as something that is read depends on them.
    """
    carry_used, outs_used = roles.divide_results(list(used))

    def step(carry: tuple[bool, ...]) -> tuple[bool, ...]:
        _, used_in = drop_unused_equations(closed.jaxpr, [*carry, *outs_used])
        return tuple(roles.divide(used_in)[1])

    kept = fixed_point(step, tuple(carry_used))
    rows = len(operands) - roles.num_consts - roles.num_carry
    keep_in = [*(False,) * roles.num_consts, *kept, *(False,) * rows]
    body, used_in = drop_unused_equations(closed.jaxpr, [*kept, *outs_used], keep_in)
    consts, carry, _ = roles.divide(used_in)
    return (
        [*kept, *outs_used],
        ClosedJaxpr(body, closed.consts),
        Roles(sum(consts), sum(carry)),
        [a for a, u in zip(operands, used_in, strict=True) if u],
    )


# ----------------------------------------------------------------------------------------- whiles


def while_parts(params: Params, items: Sequence[T]) -> tuple[list[T], list[T], list[T]]:
    """Constants of the condition, constants of the body, carry."""
    a = params["cond_nconsts"]
    b = a + params["body_nconsts"]
    return list(items[:a]), list(items[a:b]), list(items[b:])


def jvp_of_while(
    primals: Sequence[Any], tangents: Sequence[Any], params: Params, rows: int = 0
) -> tuple[list[Any], Params, tuple[bool, ...]]:
    """The operands and parameters of a while that carries tangents, and which outputs have some.

    rows: how many outputs of the body follow its carry.
    """
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts, carry = while_parts(params, primals)
    _, t_consts, t_carry = while_parts(params, tangents)
    n, no_rows = len(carry), (False,) * rows
    consts_nz = tuple(not is_zero(t) for t in t_consts)

    def step(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        return jvp_jaxpr(body_jaxpr, (*consts_nz, *flags), (*flags, *no_rows))[1][:n]

    flags = fixed_point(step, tuple(not is_zero(t) for t in t_carry))
    moved, out_flags = jvp_jaxpr(body_jaxpr, (*consts_nz, *flags), (*flags, *no_rows))
    given_consts = [t for t in t_consts if not is_zero(t)]
    given_carry = [instantiate(t) for t, nz in zip(t_carry, flags, strict=True) if nz]
    # (body consts, carry, tangents of consts, of carry) -> (consts + tangents, carry + tangents)
    a, c, k, total = len(body_consts), len(given_consts), len(given_carry), n + rows
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
    operands = [*cond_consts, *body_consts, *given_consts, *carry, *given_carry]
    changed = {
        "cond_jaxpr": ClosedJaxpr(widened, cond_jaxpr.consts),
        "body_jaxpr": reordered(moved, order_in, order_out),
        "cond_nconsts": len(cond_consts),
        "body_nconsts": a + c,
    }
    return operands, changed, out_flags
