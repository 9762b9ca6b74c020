"""Local rewriting of jaxprs: a rule is two functions of the same arguments that must agree.

    Rule(lambda x: neg(neg(x)), lambda x: x)

`before` is traced on holes and becomes the pattern; `after` is traced on what the holes matched and
becomes the replacement. A literal in a pattern matches that number, also spread over an array. Each
rule leaves fewer or cheaper equations, so rewriting ends. What needs parameters (permutations,
shapes) is a *simplifier* instead: a function `(eqn, Known) -> atom | function | None`.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit.ir.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from frit.ir.types import ShapedArray
from frit.optimize.fingerprint import type_key
from frit.transforms.trace import trace_to_jaxpr


@dataclass(frozen=True)
class Rule:
    """`before(*xs)` may be computed as `after(*xs)`.

    exact: the results have the same bits for all operands; others apply under `fast_math` only.
    dtype: what the pattern is traced with. kinds: NumPy's letters for the element types that the
    first operand of the root may have.
    """

    before: Callable[..., Any]
    after: Callable[..., Any]
    exact: bool = True
    dtype: str = "float32"
    kinds: str = "fViu"

    @property
    def arity(self) -> int:
        return len(inspect.signature(self.before).parameters)


@dataclass(frozen=True)
class Pattern:
    """A rule's left side: its equations, the last of which is the root."""

    rule: Rule
    holes: tuple[Var, ...]
    makers: dict[Var, JaxprEqn]
    root: JaxprEqn


def compile_rule(rule: Rule) -> Pattern:
    """The pattern of a rule."""
    hole = ShapedArray((), np.dtype(rule.dtype))
    jaxpr, _ = trace_to_jaxpr(lambda *xs: [rule.before(*xs)], [hole] * rule.arity)
    makers = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    return Pattern(rule, tuple(jaxpr.invars), makers, makers[jaxpr.outvars[0]])  # type: ignore


def rule_text(rule: Rule) -> str:
    """A rule as people write it, such as `sub(x, neg(y)) -> add(x, y)`."""
    names = list(inspect.signature(rule.before).parameters)
    hole = ShapedArray((), np.dtype(rule.dtype))
    return " -> ".join(_expression(side, names, hole) for side in (rule.before, rule.after))


def _expression(function: Callable[..., Any], names: Sequence[str], hole: ShapedArray) -> str:
    """What a function computes, as nested calls."""
    jaxpr, _ = trace_to_jaxpr(lambda *xs: [function(*xs)], [hole] * len(names))
    texts = dict(zip(jaxpr.invars, names, strict=True))

    def text(atom: Atom) -> str:
        return texts[atom] if isinstance(atom, Var) else str(atom.val)

    for eqn in jaxpr.eqns:
        texts[eqn.outvars[0]] = f"{eqn.primitive.name}({', '.join(map(text, eqn.invars))})"
    return text(jaxpr.outvars[0])


class Known:
    """What is known of the variables of the jaxpr being rewritten: their makers, and their uses."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.makers: dict[Var, JaxprEqn] = {}
        self.uses = Counter(a for eqn in jaxpr.eqns for a in eqn.invars if isinstance(a, Var))
        self.uses.update(a for a in jaxpr.outvars if isinstance(a, Var))

    def maker(self, atom: Atom, name: str) -> JaxprEqn | None:
        """The equation that makes `atom`, if it is of the primitive called `name`."""
        eqn = self.makers.get(atom) if isinstance(atom, Var) else None
        return eqn if eqn is not None and eqn.primitive.name == name else None

    def number(self, atom: Atom) -> Any:
        """The scalar that fills `atom`, or None."""
        while isinstance(atom, Var):
            eqn = self.maker(atom, "broadcast_in_dim") or self.maker(atom, "reshape")
            if eqn is None:
                return None
            atom = eqn.invars[0]
        return atom.val if not getattr(atom.aval, "shape", ()) else None


Simplifier = Callable[[JaxprEqn, Known], Any]


class Rewriter:
    """A set of rules and simplifiers, indexed by the primitive they start from."""

    def __init__(
        self, rules: Sequence[Rule], simplifiers: dict[str, Sequence[Simplifier]], fast_math: bool
    ) -> None:
        self.patterns: dict[str, list[Pattern]] = {}
        for rule in rules:
            if rule.exact or fast_math:
                pattern = compile_rule(rule)
                self.patterns.setdefault(pattern.root.primitive.name, []).append(pattern)
        self.simplifiers = simplifiers

    def rewrite(
        self,
        jaxpr: Jaxpr,
        in_bodies: Callable[..., JaxprEqn],
        applied: Counter[Rule | Simplifier] | None = None,
    ) -> Jaxpr:
        """`jaxpr` with all rules applied, also in the bodies that `in_bodies(eqn, f)` maps.

        applied: counts how often each rule or simplifier is, if given.
        """
        known = Known(jaxpr)
        replaced: dict[Var, Atom] = {}
        eqns: list[JaxprEqn] = []

        def current(atom: Atom) -> Atom:
            return replaced.get(atom, atom) if isinstance(atom, Var) else atom

        def add(eqn: JaxprEqn) -> None:
            operands = [current(a) for a in eqn.invars]
            if any(new is not old for new, old in zip(operands, eqn.invars, strict=True)):
                eqn = eqn.replace(invars=operands)
            found = self.replacement(eqn, known, applied)
            if found is None:
                eqn = in_bodies(eqn, lambda body: self.rewrite(body, in_bodies, applied))
                eqns.append(eqn)
                known.makers.update(dict.fromkeys(eqn.outvars, eqn))
                return
            inner, result = found
            for new in inner:
                add(new)
                known.uses.update(a for a in new.invars if isinstance(a, Var))
            replaced[eqn.outvars[0]] = moved = current(result)
            if isinstance(moved, Var):
                known.uses[moved] += known.uses[eqn.outvars[0]]

        for eqn in jaxpr.eqns:
            add(eqn)
        return jaxpr.replace(eqns=eqns, outvars=[current(a) for a in jaxpr.outvars])

    def replacement(
        self, eqn: JaxprEqn, known: Known, applied: Counter[Rule | Simplifier] | None
    ) -> tuple[list[JaxprEqn], Atom] | None:
        """Equations and their result, which may stand for the single result of `eqn`."""
        if len(eqn.outvars) != 1 or eqn.effects:
            return None
        for simplifier in self.simplifiers.get(eqn.primitive.name, ()):
            found = simplifier(eqn, known)
            if found is not None:
                operands, function = found if isinstance(found, tuple) else ([found], lambda x: x)
                made = self.traced(eqn, function, operands)
                if made is not None and applied is not None:
                    applied[simplifier] += 1
                return made
        for pattern in self.patterns.get(eqn.primitive.name, ()):
            bound = match(pattern, eqn, known)
            if bound is not None:
                operands = [bound[hole] for hole in pattern.holes]
                made = self.traced(eqn, pattern.rule.after, operands)
                if made is not None:
                    if applied is not None:
                        applied[pattern.rule] += 1
                    return made
        return None

    def traced(
        self, eqn: JaxprEqn, function: Callable[..., Any], operands: Sequence[Atom]
    ) -> tuple[list[JaxprEqn], Atom] | None:
        """The function on operands, if that has the type that `eqn` has."""
        inner, consts = trace_to_jaxpr(lambda *xs: [function(*xs)], [a.aval for a in operands])
        if consts:
            return None
        moved: dict[Var, Atom] = dict(zip(inner.invars, operands, strict=True))

        def now(atom: Atom) -> Atom:
            return moved.get(atom, atom) if isinstance(atom, Var) else atom

        result = now(inner.outvars[0])
        if type_key(result.aval) != type_key(eqn.outvars[0].aval):
            return None
        place = eqn.source_info
        return [
            e.replace(invars=[now(a) for a in e.invars], source_info=place) for e in inner.eqns
        ], result


def match(pattern: Pattern, eqn: JaxprEqn, known: Known) -> dict[Var, Atom] | None:
    """What each hole of the pattern stands for, if the equation is an instance of it."""
    dtype = getattr(eqn.invars[0].aval, "dtype", None)
    if getattr(dtype, "kind", "none") not in pattern.rule.kinds:
        return None
    return next(_matches(pattern, pattern.root, eqn, known, {}), None)


def _matches(
    pattern: Pattern, wanted: JaxprEqn, eqn: JaxprEqn, known: Known, bound: dict[Var, Atom]
) -> Iterator[dict[Var, Atom]]:
    if wanted.primitive is not eqn.primitive or wanted.params != eqn.params:
        return
    orders = [list(eqn.invars)]
    if eqn.primitive.commutative and len(eqn.invars) == 2:
        orders.append(list(reversed(eqn.invars)))
    for operands in orders:
        yield from _operands_match(pattern, list(wanted.invars), operands, known, bound)


def _operands_match(
    pattern: Pattern, wanted: list[Atom], found: list[Atom], known: Known, bound: dict[Var, Atom]
) -> Iterator[dict[Var, Atom]]:
    if not wanted:
        yield bound
        return
    for extended in _operand_matches(pattern, wanted[0], found[0], known, bound):
        yield from _operands_match(pattern, wanted[1:], found[1:], known, extended)


def _operand_matches(
    pattern: Pattern, wanted: Atom, found: Atom, known: Known, bound: dict[Var, Atom]
) -> Iterator[dict[Var, Atom]]:
    if isinstance(wanted, Literal):
        number = known.number(found)
        if number is not None and _same_number(wanted.val, number):
            yield bound
    elif wanted in pattern.makers:
        maker = known.makers.get(found) if isinstance(found, Var) else None
        if maker is not None:
            yield from _matches(pattern, pattern.makers[wanted], maker, known, bound)
    elif wanted not in bound:
        yield {**bound, wanted: found}
    elif bound[wanted] is found:
        yield bound


def _same_number(x: Any, y: Any) -> bool:
    """Equality that tells 0.0 from -0.0."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind == "b" or y.dtype.kind == "b":
        return x.dtype.kind == y.dtype.kind and bool(x == y)
    same = bool(x == y)
    return same and (bool(x != 0) or bool(np.signbit(x.real) == np.signbit(y.real)))
