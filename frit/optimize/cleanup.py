"""Passes over a flat jaxpr: constants are folded, equal equations merged, dead ones dropped.

Each is a pure function `Jaxpr -> Jaxpr`. `optimization_barrier` is opaque to all of them: two
barriers are never one, so what is computed behind each is computed twice, as checkpoint wants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frit.ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, drop_unused_equations
from frit.ir.types import ShapedArray
from frit.optimize.fingerprint import Constants, literal_key, param_key, type_key
from frit.transforms.trace import trace_to_jaxpr

_LOOPS = frozenset(("scan", "while", "cond"))


def map_bodies(eqn: JaxprEqn, function: Callable[[Jaxpr], Jaxpr]) -> JaxprEqn:
    """The equation with `function` applied to the bodies of a loop or branch."""
    if eqn.primitive.name not in _LOOPS:
        return eqn

    def mapped(value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return ClosedJaxpr(function(value.jaxpr), value.consts)
        if isinstance(value, tuple) and value and isinstance(value[0], ClosedJaxpr):
            return tuple(map(mapped, value))
        return value

    return eqn.replace(params={name: mapped(value) for name, value in eqn.params.items()})


def expand(
    jaxpr: Jaxpr,
    expansion_of: Callable[[JaxprEqn], Callable[..., Any] | None],
    traced: dict[Any, Any] | None = None,
) -> Jaxpr:
    """`jaxpr` with some equations replaced by what `expansion_of` gives for them, traced.

    Equal equations are expanded once: `traced` holds what was made.

    Before: { lambda ; x y. let z = dot_general x y in (z,) }
    After:  { lambda ; x y. let z = library_call[blas_sgemm] x y in (z,) }
    """
    traced = {} if traced is None else traced
    constants = Constants()
    replaced: dict[Var, Atom] = {}
    eqns: list[JaxprEqn] = []

    def current(atom: Atom) -> Atom:
        return replaced.get(atom, atom) if isinstance(atom, Var) else atom

    for eqn in jaxpr.eqns:
        operands = [current(a) for a in eqn.invars]
        if any(new is not old for new, old in zip(operands, eqn.invars, strict=True)):
            eqn = eqn.replace(invars=operands)
        function = expansion_of(eqn)
        if function is None:
            eqns.append(map_bodies(eqn, lambda body: expand(body, expansion_of, traced)))
            continue
        types = tuple(type_key(a.aval) for a in (*operands, *eqn.outvars))
        key = (eqn.primitive, param_key(eqn.params, constants), types)
        if key not in traced:
            traced[key] = _traced(function, operands, eqn.primitive.multiple_results)
        results = _copied_into(eqns, traced[key], operands, eqn.source_info)
        replaced.update(zip(eqn.outvars, results, strict=True))
    return jaxpr.replace(eqns=eqns, outvars=[current(a) for a in jaxpr.outvars])


def _traced(function: Callable[..., Any], operands: list[Atom], many: bool) -> Jaxpr:
    """The jaxpr of a function of `operands`."""
    inner, consts = trace_to_jaxpr(
        lambda *xs: function(*xs) if many else [function(*xs)], [a.aval for a in operands]
    )
    assert not consts, "an expansion holds no arrays"
    return inner


def _copied_into(
    eqns: list[JaxprEqn], inner: Jaxpr, operands: list[Atom], place: Any
) -> list[Atom]:
    """Appends the equations of `inner` on operands, with new variables; returns its results.

    place: where in the user's code they come from.
    """
    moved: dict[Var, Atom] = dict(zip(inner.invars, operands, strict=True))

    def now(atom: Atom) -> Atom:
        return moved[atom] if isinstance(atom, Var) else atom

    for eqn in inner.eqns:
        results = [Var(v.aval) for v in eqn.outvars]
        reads = [now(a) for a in eqn.invars]
        eqns.append(eqn.replace(invars=reads, outvars=results, source_info=place))
        moved.update(zip(eqn.outvars, results, strict=True))
    return [now(a) for a in inner.outvars]


def drop_dead(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without the equations that neither an output nor an effect needs.

    Before: { lambda ; a. let b = sin a; c = cos a in (b,) }
    After:  { lambda ; a. let b = sin a in (b,) }
    """
    dropped, _ = drop_unused_equations(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    return dropped.replace(eqns=[map_bodies(eqn, drop_dead) for eqn in dropped.eqns])


def merge_equal(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` in which equal equations without effects are one.

    Before: { lambda ; a. let b = sin a; c = sin a; d = mul b c in (d,) }
    After:  { lambda ; a. let b = sin a; d = mul b b in (d,) }
    """
    known: dict[Any, list[Var]] = {}
    replaced: dict[Var, Var] = {}
    constants = Constants()
    eqns = []

    def current(atom: Atom) -> Atom:
        return replaced.get(atom, atom) if isinstance(atom, Var) else atom

    for eqn in jaxpr.eqns:
        operands = [current(a) for a in eqn.invars]
        if any(new is not old for new, old in zip(operands, eqn.invars, strict=True)):
            eqn = eqn.replace(invars=operands)
        if (
            eqn.effects
            or eqn.primitive.name in _LOOPS
            or eqn.primitive.name == "optimization_barrier"
        ):
            eqns.append(map_bodies(eqn, merge_equal))
            continue
        keys = [literal_key(a) if type(a) is Literal else id(a) for a in operands]
        if eqn.primitive.commutative:
            keys.sort(key=repr)
        types = tuple(type_key(v.aval) for v in eqn.outvars)
        key = (eqn.primitive, param_key(eqn.params, constants), tuple(keys), types)
        found = known.get(key)
        if found is None:
            known[key] = eqn.outvars
            eqns.append(eqn)
        else:
            replaced.update(zip(eqn.outvars, found, strict=True))
    return jaxpr.replace(eqns=eqns, outvars=[current(a) for a in jaxpr.outvars])


def fold_constants(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` in which exact scalar operations on literals are literals.

    Before: { lambda ; a. let b = convert_element_type[new_dtype=f32] 2; c = mul a b in (c,) }
    After:  { lambda ; a. let c = mul a 2.0:f32 in (c,) }
    """
    values: dict[Var, Literal] = {}
    eqns = []

    def current(atom: Atom) -> Atom:
        return values.get(atom, atom) if isinstance(atom, Var) else atom

    for eqn in jaxpr.eqns:
        operands = [current(a) for a in eqn.invars]
        if any(new is not old for new, old in zip(operands, eqn.invars, strict=True)):
            eqn = eqn.replace(invars=operands)
        folded = _folded(eqn)
        if folded is None:
            eqns.append(map_bodies(eqn, fold_constants))
        else:
            values[eqn.outvars[0]] = folded
    return jaxpr.replace(eqns=eqns, outvars=[current(a) for a in jaxpr.outvars])


def _folded(eqn: JaxprEqn) -> Literal | None:
    """The literal that an equation computes, if it is a scalar of literals and exact."""
    primitive = eqn.primitive
    if not primitive.pointwise or primitive.multiple_results or primitive.accuracy.kind != "exact":
        return None
    aval = eqn.outvars[0].aval
    if not isinstance(aval, ShapedArray) or aval.shape or not isinstance(aval.dtype, np.dtype):
        return None
    operands = []
    for atom in eqn.invars:
        if type(atom) is not Literal or not isinstance(atom.aval, ShapedArray) or atom.aval.shape:
            return None
        if not isinstance(atom.aval.dtype, np.dtype):
            return None
        operands.append(np.asarray(atom.val, atom.aval.dtype))
    with np.errstate(all="ignore"):
        result = np.asarray(primitive.evaluate(*operands, **eqn.params), aval.dtype)
    return Literal(result[()], aval)
