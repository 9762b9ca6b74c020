"""Verifier of jaxprs: variables are bound once and before use, types are what the rules say."""

from __future__ import annotations

from typing import Any

from frit.ir import jaxpr as jaxprs
from frit.ir.types import AbstractValue, ShapedArray


class JaxprTypeError(TypeError):
    """A jaxpr breaks its grammar or its types."""


def check_jaxpr(jaxpr: Any) -> None:
    """Raises JaxprTypeError, with the equation, where `jaxpr` is not well formed."""
    bound: set[Any] = set()
    for v in (*jaxpr.constvars, *jaxpr.invars):
        if v in bound:
            raise JaxprTypeError(f"variable {v} is an input twice in\n{jaxpr}")
        bound.add(v)
    for eqn in jaxpr.eqns:
        _check_equation(eqn, bound, jaxpr)
        bound.update(eqn.outvars)
        for inner in jaxprs.subjaxprs(eqn):
            check_jaxpr(inner)
    _check_bound(jaxpr.outvars, bound, "the outputs", jaxpr)
    missing = frozenset(jaxprs.join_effects(jaxpr.eqns)) - jaxpr.effects
    if missing:
        raise JaxprTypeError(f"the jaxpr does not tell the effects {set(missing)} of its equations")


def _check_bound(atoms: Any, bound: set[Any], where: str, jaxpr: Any) -> None:
    for atom in atoms:
        if isinstance(atom, jaxprs.Var) and atom not in bound:
            raise JaxprTypeError(f"variable {atom} is not bound before {where} in\n{jaxpr}")


def _check_equation(eqn: Any, bound: set[Any], jaxpr: Any) -> None:
    _check_bound(eqn.invars, bound, f"its use in\n    {eqn}\nof", jaxpr)
    for v in eqn.outvars:
        if v in bound:
            raise JaxprTypeError(f"variable {v} is bound twice, the second time in\n    {eqn}")
    expected = eqn.primitive.types_of_results([a.aval for a in eqn.invars], eqn.params)
    if len(expected) != len(eqn.outvars):
        raise JaxprTypeError(
            f"{len(eqn.outvars)} binders for {len(expected)} results in\n    {eqn}"
        )
    for v, t in zip(eqn.outvars, expected, strict=True):
        if not _agree(v.aval, t):
            raise JaxprTypeError(f"a binder has type {v.aval}, the rule gives {t}, in\n    {eqn}")


def _agree(a: AbstractValue, b: AbstractValue) -> bool:
    if isinstance(a, ShapedArray) and isinstance(b, ShapedArray):
        return a.shape == b.shape and a.dtype == b.dtype
    return a == b
