"""Calls dissolve: after this pass a program is flat but for loops and branches.

    Before: { lambda ; x. let y = jit[jaxpr={ lambda c ; a. let b = mul a c in (b,) }] x in (y,) }
    After:  { lambda ; c x. let y = mul x c in (y,) }

The constants of all nested jaxprs become leading inputs of the program; a loop or branch whose
body mentions one gets it as an operand. Primitives for which there is no machine code, but which
say how they decompose, are replaced by that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from frit.errors import is_own_file
from frit.ir.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
)
from frit.ir.primitive import Primitive
from frit.ir.types import typeof
from frit.optimize.fingerprint import Constants
from frit.primitives.shapes import optimization_barrier
from frit.transforms.trace import trace_to_jaxpr

Lowered = Callable[[JaxprEqn], bool]
CALLS = {
    "jit": "jaxpr",
    "closed_call": "jaxpr",
    "core_call": "call_jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
_SINGLE = ("name", "copy_p", "pvary", "stop_gradient")  # identities of one operand


def inline_calls(closed: ClosedJaxpr, constants: Constants, is_lowered: Lowered) -> Jaxpr:
    """The flat program; its leading inputs are the constants, in the order of `constants`."""
    scope = _Scope(None, constants, is_lowered)
    inputs = [Var(v.aval) for v in closed.jaxpr.invars]
    environment: dict[Var, Atom] = dict(zip(closed.jaxpr.invars, inputs, strict=True))
    outs = scope.inline(closed, environment)
    leading = [scope.captured.get(k) or _variable_of(c) for k, c in enumerate(constants.values)]
    return Jaxpr((), [*leading, *inputs], outs, scope.eqns, debug_info=closed.jaxpr.debug_info)


def _variable_of(value: Any) -> Var:
    return Var(typeof(value))


class _Scope:
    """One flat list of equations in the making; `captured`: constants it reads, as variables."""

    def __init__(self, parent: _Scope | None, constants: Constants, is_lowered: Lowered) -> None:
        self.parent, self.constants, self.is_lowered = parent, constants, is_lowered
        self.place: Any = None  # of the equation that is being decomposed
        self.eqns: list[JaxprEqn] = []
        self.captured: dict[int, Var] = {}

    def constant(self, var: Var, value: Any) -> Var:
        position = self.constants.position(value)
        if position not in self.captured:
            self.captured[position] = Var(var.aval)
        return self.captured[position]

    def inline(self, closed: ClosedJaxpr, environment: dict[Var, Atom]) -> list[Atom]:
        """Adds the equations of a jaxpr whose inputs `environment` gives; returns its outputs."""
        jaxpr = closed.jaxpr
        for var, value in zip(jaxpr.constvars, closed.consts, strict=True):
            environment[var] = self.constant(var, value)
        for eqn in jaxpr.eqns:
            operands = [a if isinstance(a, Literal) else environment[a] for a in eqn.invars]
            results = self.equation(eqn, operands)
            environment.update(zip(eqn.outvars, results, strict=True))
        return [a if isinstance(a, Literal) else environment[a] for a in jaxpr.outvars]

    def equation(self, eqn: JaxprEqn, operands: list[Atom]) -> Sequence[Atom]:
        """Adds what an equation stands for; returns its results."""
        name = eqn.primitive.name
        if name in CALLS:
            if (
                name == "remat2"
                and eqn.params.get("prevent_cse")
                and eqn.params.get("differentiated")
            ):
                operands = self.fence(operands)
            called = _closed(eqn.params[CALLS[name]])
            if is_own_file(called.jaxpr.debug_info.place):
                # Its trace is shared by all who call it, so its lines are those of the first.
                return self.at(eqn, called, operands)
            return self.call(called, operands)
        if name in _SINGLE:
            return operands
        if name == "optimization_barrier":
            return self.fence(operands)
        if name in _BODIES:
            return _BODIES[name](self, eqn, operands)
        if not self.is_lowered(eqn) and eqn.primitive.decompose is not None:
            return self.at(eqn, _decomposition(eqn.primitive, operands, eqn.params), operands)
        return self.add(eqn, operands, eqn.params)

    def add(self, eqn: JaxprEqn, operands: Sequence[Atom], params: Any) -> list[Var]:
        results = [Var(v.aval) for v in eqn.outvars]
        place = self.place or eqn.source_info
        self.eqns.append(
            eqn.replace(invars=list(operands), outvars=results, params=params, source_info=place)
        )
        return results

    def at(self, eqn: JaxprEqn, meaning: ClosedJaxpr, operands: list[Atom]) -> list[Atom]:
        """Adds what an equation means; all of it stands where the equation stood."""
        before, self.place = self.place, self.place or eqn.source_info
        results = self.call(meaning, operands)
        self.place = before
        return results

    def fence(self, operands: list[Atom]) -> list[Atom]:
        """The operands behind a barrier, so that what is computed from them is computed again."""
        variables = [a for a in operands if isinstance(a, Var)]
        if not variables:
            return operands
        fenced = [Var(v.aval) for v in variables]
        self.eqns.append(JaxprEqn(list(variables), list(fenced), optimization_barrier, {}))
        moved = dict(zip(variables, fenced, strict=True))
        return [moved[a] if isinstance(a, Var) else a for a in operands]

    def call(self, closed: ClosedJaxpr, operands: Sequence[Atom]) -> list[Atom]:
        return self.inline(closed, dict(zip(closed.jaxpr.invars, operands, strict=True)))

    def body(self, closed: ClosedJaxpr) -> tuple[Jaxpr, _Scope]:
        """The flat body of a loop or branch, its captured constants not yet among its inputs."""
        scope = _Scope(self, self.constants, self.is_lowered)
        scope.place = self.place
        inputs = [Var(v.aval) for v in closed.jaxpr.invars]
        outs = scope.inline(closed, dict(zip(closed.jaxpr.invars, inputs, strict=True)))
        return Jaxpr((), inputs, outs, scope.eqns, debug_info=closed.jaxpr.debug_info), scope

    def outer(self, captured: Sequence[int], types: Sequence[Var]) -> list[Var]:
        """This scope's variables for the constants that a body captured."""
        return [
            self.constant(v, self.constants.values[k]) for k, v in zip(captured, types, strict=True)
        ]


def _closed(jaxpr: Any) -> ClosedJaxpr:
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())


def _decomposition(primitive: Primitive, operands: Sequence[Atom], params: Any) -> ClosedJaxpr:
    def function(*values: Any) -> Sequence[Any]:
        results = primitive.decompose(*values, **params)  # type: ignore[misc]
        return results if primitive.multiple_results else [results]

    jaxpr, consts = trace_to_jaxpr(function, [a.aval for a in operands])
    return ClosedJaxpr(jaxpr, consts)


def with_captured(body: Jaxpr, scope: _Scope) -> ClosedJaxpr:
    return ClosedJaxpr(body.replace(invars=[*scope.captured.values(), *body.invars]), ())


def _scan(scope: _Scope, eqn: JaxprEqn, operands: list[Atom]) -> list[Var]:
    body, inner = scope.body(_closed(eqn.params["jaxpr"]))
    extra = scope.outer(list(inner.captured), list(inner.captured.values()))
    count = len(extra)
    params = {
        **eqn.params,
        "jaxpr": with_captured(body, inner),
        "num_consts": eqn.params["num_consts"] + count,
    }
    if "linear" in params:
        params["linear"] = (False,) * count + tuple(params["linear"])
    return scope.add(eqn, [*extra, *operands], params)


def _while(scope: _Scope, eqn: JaxprEqn, operands: list[Atom]) -> list[Var]:
    tests, consts = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    condition, of_condition = scope.body(_closed(eqn.params["cond_jaxpr"]))
    body, of_body = scope.body(_closed(eqn.params["body_jaxpr"]))
    first = scope.outer(list(of_condition.captured), list(of_condition.captured.values()))
    second = scope.outer(list(of_body.captured), list(of_body.captured.values()))
    params = {
        **eqn.params,
        "cond_jaxpr": with_captured(condition, of_condition),
        "body_jaxpr": with_captured(body, of_body),
        "cond_nconsts": tests + len(first),
        "body_nconsts": consts + len(second),
    }
    middle = operands[tests : tests + consts]
    arranged = [*first, *operands[:tests], *second, *middle, *operands[tests + consts :]]
    return scope.add(eqn, arranged, params)


def _cond(scope: _Scope, eqn: JaxprEqn, operands: list[Atom]) -> list[Var]:
    made = [scope.body(_closed(branch)) for branch in eqn.params["branches"]]
    needed: dict[int, Var] = {}
    for _, inner in made:
        needed |= inner.captured
    extra = scope.outer(list(needed), list(needed.values()))
    branches = []
    for body, inner in made:
        leading = [inner.captured.get(k) or Var(v.aval) for k, v in needed.items()]
        branches.append(ClosedJaxpr(body.replace(invars=[*leading, *body.invars]), ()))
    index, *rest = operands
    return scope.add(eqn, [index, *extra, *rest], {**eqn.params, "branches": tuple(branches)})


_BODIES = {"scan": _scan, "while": _while, "cond": _cond}
