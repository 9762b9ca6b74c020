"""Loops over tapes in terms of loops that have machine code.

    while going:                              a tape is written, and read, a chunk at a time:
      scan over the steps of a chunk            its rows in a stack of fixed size,
        if going: run the body                  no step beyond the last
      tape_write(the chunk's rows)            one call for a chunk

So the inner loop is a scan like any other, in registers where that is faster, and what a tape costs
is a copy of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir.jaxpr import ClosedJaxpr, run_closed
from frit.ir.types import typeof
from frit.primitives.arithmetic import max_, min_, rem
from frit.primitives.comparison_and_bits import and_, ge, lt, ne
from frit.primitives.conditionals import cond
from frit.primitives.conversion import convert_element_type
from frit.primitives.elementwise import add, sub
from frit.primitives.loop_bodies import roles_of, while_parts
from frit.primitives.scans import scan
from frit.primitives.taped_loops import Lanes, taped_scan, taped_while
from frit.primitives.tapes import (
    COUNT,
    chunk_of,
    require,
    tape_length,
    tape_of,
    tape_read,
    tape_sum,
    tape_write,
)
from frit.primitives.while_loops import while_
from frit.transforms.linear import add_tangents, zeros
from frit.transforms.trace import trace_to_jaxpr

_MOST = np.iinfo(COUNT).max
_TOO_MANY = (
    f"A while loop that is differentiated in reverse made more than {_MOST} steps, which is more "
    "than it can count."
)


def _number(value: int) -> Any:
    return np.asarray(value, COUNT)[()]


def _traced(function: Callable[..., list[Any]], values: Sequence[Any]) -> ClosedJaxpr:
    return ClosedJaxpr(*trace_to_jaxpr(function, [typeof(x) for x in values]))


def _if(predicate: Any, then: Any, otherwise: Any, values: Sequence[Any]) -> list[Any]:
    index = convert_element_type(predicate, new_dtype=COUNT, weak_type=False, sharding=None)
    branches = (_traced(otherwise, values), _traced(then, values))
    return cond(index, *values, branches=branches)


def _scan(
    step: Any, fixed: Sequence[Any], carry: Sequence[Any], stacks: Sequence[Any], length: int,
    reverse: bool,
) -> list[Any]:  # fmt: skip
    types = [typeof(x) for x in (*fixed, *carry)] + [typeof(x).without_axis(0) for x in stacks]
    body = ClosedJaxpr(*trace_to_jaxpr(step, types))
    return scan(
        *fixed, *carry, *stacks, jaxpr=body, length=length, num_consts=len(fixed),
        num_carry=len(carry), reverse=reverse, unroll=1,
        linear=(False,) * (len(fixed) + len(carry) + len(stacks)),
    )  # fmt: skip


def _while(test: Any, step: Any, fixed: Sequence[Any], carry: Sequence[Any]) -> list[Any]:
    """step(*fixed, *carry) -> carry, for as long as test(*carry)."""
    return while_(
        *fixed, *carry, cond_jaxpr=_traced(test, carry), body_jaxpr=_traced(step, [*fixed, *carry]),
        cond_nconsts=0, body_nconsts=len(fixed),
    )  # fmt: skip


def _blank(lanes: Lanes, rows: Sequence[Any]) -> list[Any]:
    return [zeros(tape_of(row, axes)) for row, axes in zip(rows, lanes, strict=True)]


def _more(count: Any, used: Any) -> Any:
    """count + used, which stays where it is when it would overflow."""
    return add(count, min_(used, sub(_number(_MOST), count)))


def _taped_while(
    *operands: Any, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, lanes: Lanes, **params: Any
) -> list[Any]:
    cond_consts, body_consts, carry = while_parts(params, operands)
    fixed, a, f, n = [*cond_consts, *body_consts], len(cond_consts), len(operands), len(carry)
    f -= n
    rows = body_jaxpr.out_avals[n:]
    size = chunk_of(rows)

    def asks(*values: Any) -> Any:
        """Whether another step follows, by the condition's constants and the carry."""
        return run_closed(cond_jaxpr, *values)[0]

    def run(*values: Any) -> list[Any]:
        used, *state = values[f:]
        results = run_closed(body_jaxpr, *values[a:f], *state)
        moved = results[:n]
        return [asks(*values[:a], *moved), add(used, _number(1)), *moved, *results[n:]]

    def count_up(*values: Any) -> list[Any]:
        going, _, *moved = run(*values[:f], *values[f + 1 :])
        return [going, _more(values[f + 1], _number(1)), *moved]

    def rest(*values: Any) -> list[Any]:
        return [np.False_, *values[f:], *map(zeros, rows)]

    def step(*values: Any) -> list[Any]:
        return _if(values[f], run, rest, [*values[:f], *values[f + 1 :]])

    def chunk(*values: Any) -> list[Any]:
        going, count, *others = values[f:]
        state, tapes = others[:n], others[n:]
        start = [going, _number(0), *state]
        going, used, *results = _scan(step, values[:f], start, (), size, False)
        written = [
            tape_write(tape, count, used, stack)
            for tape, stack in zip(tapes, results[n:], strict=True)
        ]
        return [going, _more(count, used), *results[:n], *written]

    first = [asks(*cond_consts, *carry), _number(0), *carry]
    if rows:
        _, count, *results = _while(
            lambda going, *_: [going], chunk, fixed, [*first, *_blank(lanes, rows)]
        )
    else:
        _, count, *results = _while(lambda going, *_: [going], count_up, fixed, first)
    (count,) = require(ne(count, _number(_MOST)), count, message=_TOO_MANY)
    return [*results[:n], count, *results[n:]]


def _taped_scan(
    count: Any, *operands: Any, jaxpr: ClosedJaxpr, lanes: Lanes, reverse: bool, **params: Any
) -> list[Any]:
    fixed, carry, tapes = roles_of(params).divide(operands)
    f, n = len(fixed), len(carry)
    rows_in, rows_out = roles_of(params).divide(jaxpr.in_avals)[2], jaxpr.out_avals[n:]
    size = chunk_of([*rows_in, *rows_out])
    g, t = 1 + f, 1 + len(tapes) + f
    one = _number(-1 if reverse else 1)

    # Values of a step: count, constants (g together), i, carry, rows; of a chunk: tapes after g.
    def run(*values: Any) -> list[Any]:
        i, *state = values[g:]
        return [add(i, one), *run_closed(jaxpr, *values[1:g], *state)]

    def rest(*values: Any) -> list[Any]:
        i, *state = values[g:]
        return [add(i, one), *state[:n], *map(zeros, rows_out)]

    def step(*values: Any) -> list[Any]:
        return _if(lt(values[g], values[0]), run, rest, values)

    def chunk(*values: Any) -> list[Any]:
        count, tapes = values[0], values[g:t]
        start, *others = values[t:]
        state, made = others[:n], others[n:]
        stacks = [tape_read(tape, start, rows=size) for tape in tapes]
        i = add(start, _number(size - 1)) if reverse else start
        _, *results = _scan(step, values[:g], [i, *state], stacks, size, reverse)
        used = min_(_number(size), sub(count, start))
        written = [
            tape_write(tape, start, used, stack)
            for tape, stack in zip(made, results[n:], strict=True)
        ]
        following = add(start, _number(-size if reverse else size))
        return [following, *results[:n], *written]

    if not rows_in and not rows_out:
        return _without_tapes(count, fixed, carry, jaxpr)
    last = sub(count, _number(1))
    start = sub(last, rem(last, _number(size))) if reverse else _number(0)

    # The condition reads the number of steps, which is a carry for it.
    def goes_on(start: Any, *others: Any) -> list[Any]:
        return [and_(ge(start, _number(0)), lt(start, others[-1]))]

    def body(*values: Any) -> list[Any]:
        return [*chunk(*values[:-1]), values[-1]]

    state = [start, *carry, *_blank(lanes, rows_out), count]
    return _while(goes_on, body, [count, *fixed, *tapes], state)[1:-1]


def _without_tapes(count: Any, fixed: Any, carry: Any, jaxpr: ClosedJaxpr) -> list[Any]:
    """A loop whose steps are all alike."""
    f = len(fixed)

    def step(*values: Any) -> list[Any]:
        left, *state = values[f:]
        return [sub(left, _number(1)), *run_closed(jaxpr, *values[:f], *state)]

    return _while(lambda left, *_: [lt(_number(0), left)], step, fixed, [count, *carry])[1:]


def _tape_sum(x: Any, y: Any) -> Any:
    lanes = typeof(x).shape  # type: ignore[attr-defined]
    if lanes:
        return _scan(lambda a, b: [tape_sum(a, b)], (), (), [x, y], lanes[0], False)[0]
    row = typeof(x).dtype.row  # type: ignore[attr-defined]
    body = ClosedJaxpr(*trace_to_jaxpr(lambda a, b: [add_tangents(a, b)], [row, row]))
    count = max_(tape_length(x), tape_length(y))
    return taped_scan(
        count, x, y, jaxpr=body, num_consts=0, num_carry=0, reverse=False, lanes=((),)
    )[0]


taped_while.decompose = _taped_while
taped_scan.decompose = _taped_scan
tape_sum.decompose = _tape_sum
