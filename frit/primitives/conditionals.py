"""cond: run one of several branches, chosen by an index.

    cond : (index, *operands) -> branches[index](*operands)

Every rule transforms all branches alike and then makes their outputs agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.ir.dtypes import is_inexact
from frit.ir.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    drop_unused_equations,
    evaluate_closed,
    new_equation,
    run_closed,
)
from frit.ir.primitive import Params, Primitive
from frit.ir.types import typeof
from frit.primitives.bounds import without_checks
from frit.primitives.calls import nonzero_tangents, spread_tangents
from frit.primitives.comparison_and_bits import eq, ne, select_n
from frit.primitives.elementwise import stop_gradient
from frit.transforms.batch import batch_jaxpr
from frit.transforms.jvp import jvp_jaxpr
from frit.transforms.linear import (
    Zero,
    broadcast_in_dim,
    insert_axis,
    instantiate,
    is_linear,
    is_zero,
    move_axis,
    zeros,
)
from frit.transforms.split import (
    Saveable,
    Split,
    SplitClosed,
    run_known,
    save_everything,
    split_closed,
)
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import transpose_jaxpr


def _types(index: Any, *types: Any, branches: Sequence[ClosedJaxpr], **_: Any) -> list[Any]:
    return list(branches[0].out_avals)


def _evaluate(index: Any, *arrays: Any, branches: Sequence[ClosedJaxpr], **_: Any) -> list[Any]:
    chosen = min(max(int(index), 0), len(branches) - 1)
    return evaluate_closed(branches[chosen], *arrays)


def _union(flags: Sequence[Sequence[bool]]) -> tuple[bool, ...]:
    return tuple(any(column) for column in zip(*flags, strict=True))


def _jvp(primals: Any, tangents: Any, *, branches: Any, **params: Any) -> Any:
    index, *operands = primals
    nonzero, given = nonzero_tangents(tangents[1:])
    out = _union([jvp_jaxpr(b, nonzero)[1] for b in branches])
    moved = tuple(jvp_jaxpr(b, nonzero, out)[0] for b in branches)
    results = cond(index, *operands, *given, branches=moved, **params)
    return spread_tangents(results, out, len(branches[0].out_avals))


def _batch(axis: Any, operands: Any, mapped: Any, *, branches: Any, **params: Any) -> Any:
    index, *values = operands
    if mapped[0] is not None:
        return _batch_lanes(axis, operands, mapped, branches)
    flags = tuple(d is not None for d in mapped[1:])
    values = [
        x if d is None else move_axis(x, d, 0) for x, d in zip(values, mapped[1:], strict=True)
    ]
    out = _union([batch_jaxpr(b, axis, flags)[1] for b in branches])
    stacked = tuple(batch_jaxpr(b, axis, flags, out)[0] for b in branches)
    results = cond(index, *values, branches=stacked, **params)
    return results, [0 if m else None for m in out]


def _batch_lanes(axis: Any, operands: Any, mapped: Any, branches: Any) -> Any:
    """Lanes choose differing branches: all run, and each lane takes the results of its own."""
    branches = tuple(map(without_checks, branches))
    for effect in _effects(branches=branches):
        if not effect.repeatable:
            raise NotImplementedError(
                f"{effect} effect not supported in vmap-of-cond. Lanes choose differing branches, "
                "so all branches run; a branch that acts on the world cannot."
            )
    index = move_axis(operands[0], mapped[0], 0)
    values = [
        x if d is None else move_axis(x, d, 0)
        for x, d in zip(operands[1:], mapped[1:], strict=True)
    ]
    types: list[Any] = [typeof(x) for x in values]
    guarded = [is_inexact(t.dtype) for t in types]
    flags = tuple(d is not None or g for d, g in zip(mapped[1:], guarded, strict=True))
    values = [
        insert_axis(x, 0, axis.size) if g and d is None else x
        for x, g, d in zip(values, guarded, mapped[1:], strict=True)
    ]
    out = (True,) * len(branches[0].out_avals)
    columns = [
        run_closed(batch_jaxpr(b, axis, flags, out)[0], *_of_chosen(index, i, values, guarded))
        for i, b in enumerate(branches)
    ]
    results = [choose_lanes(index, *cases) for cases in zip(*columns, strict=True)]
    return results, [0] * len(results)


def _of_chosen(
    index: Any, branch: int, values: Sequence[Any], guarded: Sequence[bool]
) -> list[Any]:
    """The operands of a branch; those of lanes that chose another one have no derivative.

    Else a slope that is infinite there would make the derivative NaN, although nothing reads it.
    """
    if not any(guarded):
        return list(values)
    chosen = eq(index, np.full((), branch, typeof(index).dtype)[()])  # type: ignore[attr-defined]
    return [
        choose_lanes(chosen, stop_gradient(x), x) if g else x
        for x, g in zip(values, guarded, strict=True)
    ]


def choose_lanes(which: Any, *cases: Any) -> Any:
    """`cases[which[lane]][lane]` for each lane of the leading axis."""
    if len(cases) == 1:
        return cases[0]
    if len(cases) == 2 and typeof(which).dtype != np.bool_:  # type: ignore[attr-defined]
        which = ne(which, np.zeros((), typeof(which).dtype)[()])  # type: ignore[attr-defined]
    shape = typeof(cases[0]).shape  # type: ignore[attr-defined]
    if len(shape) > 1:
        which = broadcast_in_dim(which, shape=shape, broadcast_dimensions=(0,), sharding=None)
    return select_n(which, *cases)


def _split(eqn: JaxprEqn, unknown: list[bool], needed: list[bool], saveable: Saveable) -> Split:
    index_unknown, *operands_unknown = unknown
    if index_unknown:
        return _all_waits(eqn, unknown, needed)
    branches = eqn.params["branches"]
    flags = tuple(operands_unknown)
    recomputes = saveable is not save_everything
    have = tuple(recomputes and n for n in needed[1:])
    natural = [
        split_closed(b, flags, have, False, None if recomputes else False, saveable)
        for b in branches
    ]
    out = _union([p.unknown_out for p in natural])
    # What every branch computes again, the waiting side has.
    again = [
        all(column)
        for column in zip(
            *[_computed_again(b, p, have) for b, p in zip(branches, natural, strict=True)],
            strict=True,
        )
    ]
    wanted = tuple(u or (recomputes and n) for u, n in zip(out, again, strict=True))
    parts = [split_closed(b, flags, have, out, wanted, saveable) for b in branches]
    # The residuals of all branches side by side; a branch fills those of the others with zeros.
    types, places = _unify([p.residual_types for p in parts])
    known = tuple(_known_branch(p, flags, types, at) for p, at in zip(parts, places, strict=True))
    waiting = tuple(_waiting_branch(p, types, at) for p, at in zip(parts, places, strict=True))
    index, *operands = eqn.invars
    known_in = [a for a, u in zip(operands, flags, strict=True) if not u]
    waiting_in = [a for a, u, n in zip(operands, flags, have, strict=True) if u or n]
    known_out = [v for v, u in zip(eqn.outvars, out, strict=True) if not u]
    waiting_out = [v for v, n in zip(eqn.outvars, wanted, strict=True) if n]
    residuals = [Var(t) for t in types]
    params = {**eqn.params, "branches": known}
    first = new_equation(
        [index, *known_in], [*known_out, *residuals], cond, params, eqn.source_info
    )
    params = {**eqn.params, "branches": waiting}
    second = new_equation(
        [index, *residuals, *waiting_in], waiting_out, cond, params, eqn.source_info
    )
    return Split(first, second if waiting_out else None, list(out), list(wanted))


def _computed_again(branch: ClosedJaxpr, parts: Any, given: Sequence[bool]) -> list[bool]:
    """Which outputs the waiting side makes, or has as they are among its operands."""
    at_hand = {v for v, g in zip(branch.jaxpr.invars, given, strict=True) if g}
    return [
        found or isinstance(out, Literal) or out in at_hand
        for found, out in zip(parts.needed_out, branch.jaxpr.outvars, strict=True)
    ]


def _all_waits(eqn: JaxprEqn, unknown: list[bool], needed: list[bool]) -> Split:
    everything = [True] * len(eqn.outvars)
    return Split(None, eqn, everything, everything)


def _unify(type_lists: Sequence[Sequence[Any]]) -> tuple[list[Any], list[list[int]]]:
    """One list of types that serves all, and where in it each entry of each list stands."""
    types: list[Any] = []
    places = []
    for wanted in type_lists:
        free = list(range(len(types)))
        at = []
        for t in wanted:
            t = t.strip_weak_type()
            found = next((i for i in free if types[i] == t), None)
            if found is None:
                found = len(types)
                types.append(t)
            else:
                free.remove(found)
            at.append(found)
        places.append(at)
    return types, places


def _known_branch(
    parts: SplitClosed, flags: Sequence[bool], types: list[Any], at: list[int]
) -> ClosedJaxpr:
    def run(*values: Any) -> list[Any]:
        results, residuals = run_known(parts, flags, values)
        filled = dict(zip(at, residuals, strict=True))
        rest = [filled[j] if j in filled else zeros(t) for j, t in enumerate(types)]
        return [*results, *rest]

    jaxpr, consts = trace_to_jaxpr(run, parts.known.in_avals, parts.known.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts)


def _waiting_branch(parts: Any, types: list[Any], at: list[int]) -> ClosedJaxpr:
    jaxpr: Jaxpr = parts.waiting.jaxpr
    count = len(parts.sources)
    own = dict(zip(at, jaxpr.invars[:count], strict=True))
    residuals = [own[j] if j in own else Var(t) for j, t in enumerate(types)]
    return ClosedJaxpr(
        jaxpr.replace(invars=[*residuals, *jaxpr.invars[count:]]), parts.waiting.consts
    )


def _transpose(cts: Any, index: Any, *operands: Any, branches: Any, **params: Any) -> Any:
    linear = tuple(map(is_linear, operands))
    nonzero = tuple(not is_zero(ct) for ct in cts)
    flags = _union([transpose_jaxpr(b, linear, nonzero)[1] for b in branches])
    types = [x.aval.tangent_type() for x in operands if is_linear(x)]
    moved = tuple(_instantiated(b, linear, nonzero, flags, types) for b in branches)
    given = [x for x in operands if not is_linear(x)]
    given += [instantiate(ct) for ct in cts if not is_zero(ct)]
    found = iter(cond(index, *given, branches=moved, **params))
    wanted = iter(flags)
    return [
        None,
        *[
            (next(found) if next(wanted) else Zero(x.aval.tangent_type())) if is_linear(x) else None
            for x in operands
        ],
    ]


def _instantiated(
    branch: ClosedJaxpr, linear: Any, nonzero: Any, flags: Sequence[bool], types: Sequence[Any]
) -> ClosedJaxpr:
    """The transposed branch, with zeros for the cotangents that only other branches have."""
    moved, own = transpose_jaxpr(branch, linear, nonzero)
    if own == tuple(flags):
        return moved

    def run(*values: Any) -> list[Any]:
        found = iter(run_closed(moved, *values))
        return [
            next(found) if mine else zeros(t)
            for mine, wanted, t in zip(own, flags, types, strict=True)
            if wanted
        ]

    jaxpr, consts = trace_to_jaxpr(run, moved.in_avals)
    return ClosedJaxpr(jaxpr, consts)


def _prune(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    branches = eqn.params["branches"]
    pruned = [drop_unused_equations(b.jaxpr, used) for b in branches]
    if not any(used) and not any(j.effects for j, _ in pruned):
        return None
    used_in = _union([flags for _, flags in pruned])
    kept = tuple(
        ClosedJaxpr(drop_unused_equations(b.jaxpr, used, used_in)[0], b.consts) for b in branches
    )
    index, *operands = eqn.invars
    return eqn.replace(
        invars=[index, *[a for a, u in zip(operands, used_in, strict=True) if u]],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params={**eqn.params, "branches": kept},
    )


def _effects(*types: Any, branches: Any, **_: Any) -> frozenset[Any]:
    return frozenset().union(*(b.effects for b in branches))


def _shown(eqn: JaxprEqn) -> Params:
    return {"branches": eqn.params["branches"]}


cond = Primitive(
    "cond",
    multiple_results=True,
    result_types=_types,
    effects=_effects,
    evaluate=_evaluate,
    jvp=_jvp,
    split=_split,
    transpose=_transpose,
    batch=_batch,
    prune=_prune,
    shown=_shown,
    compiled=True,
)
