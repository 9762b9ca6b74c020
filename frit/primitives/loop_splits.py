"""The split of a loop in two: one that runs now, and one over what it kept, that waits.

while or scan  ->  the known part, which writes residuals to tapes  |  a `taped_scan` over them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frit.ir.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    drop_unused_equations,
    new_equation,
    run_closed,
)
from frit.ir.primitive import Primitive
from frit.primitives.calls import closed_call
from frit.primitives.tapes import tape_of
from frit.transforms.split import Split, SplitClosed, split_closed
from frit.transforms.trace import trace_to_jaxpr

Lanes = tuple[tuple[Any, ...], ...]


def parts_of(body: ClosedJaxpr, unknown: tuple[bool, ...], forced: tuple[bool, ...]) -> Any:
    """The split of a body whose waiting side makes what is unknown and nothing else."""
    none = (False,) * len(unknown)
    found = split_closed(body, unknown, none, forced, forced)
    return split_closed(body, unknown, none, found.unknown_out, found.unknown_out)


def all_waits(eqn: JaxprEqn) -> Split:
    everything = [True] * len(eqn.outvars)
    return Split(None, eqn, everything, everything)


def run_again(eqn: JaxprEqn, pruned: Any, unknown_out: list[bool]) -> Split:
    """What is known runs in a loop of its own now; the whole loop runs when the rest is known."""
    first = pruned([not u for u in unknown_out], eqn)
    outvars = [v if u else Var(v.aval) for v, u in zip(eqn.outvars, unknown_out, strict=True)]
    return Split(first, eqn.replace(outvars=outvars), list(unknown_out), list(unknown_out))


class LoopSplit:
    """Builds the two loops of a split one.

    Residuals that never change are passed as constants, or computed once before the loop; the rest
    go to tapes, but for those that are on one already. flags: which carries and rows are unknown.
    taped_scan: the primitive of the loop that waits.
    """

    def __init__(
        self, eqn: JaxprEqn, parts: SplitClosed, flags: Sequence[bool], consts_u: list[bool],
        consts: list[Any], carry: list[Any], tapes: list[Any], results: Sequence[Var],
        lanes: Lanes, count: Any, taped_scan: Primitive, reverse: bool = False,
    ) -> None:  # fmt: skip
        self.eqn, self.parts, self.count, self.reverse = eqn, parts, count, reverse
        self.taped_scan = taped_scan
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
        return new_equation(operands, results, self.taped_scan, params, self.eqn.source_info)


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
