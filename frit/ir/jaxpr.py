"""Jaxpr: a flat list of typed equations.  Its grammar:

    jaxpr    = { lambda constvars ; invars. let eqns in outs }
    eqn      = binders = primitive[params] operands
    operand  = Var | Literal          out = Var | Literal

A ClosedJaxpr has the values of its constvars beside it.  Stored data keeps JAX's names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from frit.errors import NOWHERE, SourceInfo, replays
from frit.ir import printing
from frit.ir.primitive import Params, Primitive, current_interpreter, no_effects
from frit.ir.types import AbstractValue, typeof


class Var:
    """A variable: it is bound once, and has a type."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A binder that nothing reads; printed `_`."""

    __slots__ = ()


class Literal:
    """A scalar constant written into an equation, with its own type."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: AbstractValue | None = None) -> None:
        self.val = val
        self.aval = typeof(val) if aval is None else aval

    @property
    def hash(self) -> int:
        return hash((str(self.val), self.aval))

    def __repr__(self) -> str:
        return f"Literal({self.val})"


Atom = Var | Literal


@dataclass(frozen=True, slots=True)
class DebugInfo:
    """Names for people: the traced function, its place, its arguments' and results' paths."""

    function: str = "<unknown>"
    place: str = ""
    argument_names: tuple[str, ...] = ()
    result_paths: tuple[str, ...] = ()
    transform: str = ""

    @property
    def func_name(self) -> str:
        return self.function

    @property
    def arg_names(self) -> tuple[str, ...]:
        return self.argument_names


class JaxprEqn:
    """One equation: results = primitive[params] operands."""

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(
        self,
        invars: list[Atom],
        outvars: list[Var],
        primitive: Primitive,
        params: Params,
        effects: frozenset[Any] = no_effects,
        source_info: SourceInfo = NOWHERE,
    ) -> None:
        self.invars, self.outvars = invars, outvars
        self.primitive, self.params = primitive, params
        self.effects, self.source_info = effects, source_info

    def replace(self, **changes: Any) -> JaxprEqn:
        return JaxprEqn(**({name: getattr(self, name) for name in JaxprEqn.__slots__} | changes))

    def __repr__(self) -> str:
        return printing.equation_text(self)


def new_equation(
    invars: Sequence[Atom],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: Params,
    source_info: SourceInfo = NOWHERE,
) -> JaxprEqn:
    """An equation whose effects are those that the primitive tells."""
    effects = primitive.effects_of([v.aval for v in invars], params)
    return JaxprEqn(list(invars), list(outvars), primitive, params, effects, source_info)


class EffectSet(frozenset[Any]):
    """The effects of a jaxpr; printed as a set is."""

    def __repr__(self) -> str:
        return repr(set(self))


class Jaxpr:
    """Equations between inputs and outputs; constvars are inputs whose values stand elsewhere."""

    __slots__ = ("constvars", "debug_info", "effects", "eqns", "invars", "outvars", "__weakref__")

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[JaxprEqn],
        effects: Iterable[Any] | None = None,
        debug_info: DebugInfo | None = None,
    ) -> None:
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        self.effects = EffectSet(join_effects(eqns) if effects is None else effects)
        self.debug_info = debug_info or DebugInfo()

    def replace(self, **changes: Any) -> Jaxpr:
        old = {
            name: getattr(self, name)
            for name in ("constvars", "invars", "outvars", "eqns", "debug_info")
        }
        return Jaxpr(**(old | changes))

    @property
    def in_avals(self) -> list[Any]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [v.aval for v in self.outvars]

    def pretty_print(self, **options: Any) -> str:
        return printing.jaxpr_text(self, **options)

    def __str__(self) -> str:
        return printing.jaxpr_text(self)

    __repr__ = __str__


def join_effects(eqns: Iterable[JaxprEqn]) -> frozenset[Any]:
    effects = [e.effects for e in eqns if e.effects]
    return no_effects.union(*effects) if effects else no_effects


class ClosedJaxpr:
    """A jaxpr and the values of its constvars."""

    __slots__ = ("__dict__", "__weakref__", "consts", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        self.jaxpr, self.consts = jaxpr, list(consts)

    @property
    def in_avals(self) -> list[Any]:
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset[Any]:
        return self.jaxpr.effects

    @property
    def literals(self) -> list[Any]:
        return self.consts

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> ClosedJaxpr:
        return ClosedJaxpr(
            self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts
        )

    def map_jaxpr(self, function: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        return ClosedJaxpr(function(self.jaxpr), self.consts)

    def pretty_print(self, **options: Any) -> str:
        return printing.jaxpr_text(self.jaxpr, **options)

    def __str__(self) -> str:
        return printing.jaxpr_text(self.jaxpr)

    __repr__ = __str__


@replays
def run_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *operands: Any) -> list[Any]:
    """The outputs of a jaxpr on `operands`, each equation bound under the current interpreter."""
    interpreter = current_interpreter()
    environment: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    environment.update(zip(jaxpr.invars, operands, strict=True))
    for eqn in jaxpr.eqns:
        values = [a.val if isinstance(a, Literal) else environment[a] for a in eqn.invars]
        results = eqn.primitive.bind_with(interpreter, values, eqn.params)
        if not eqn.primitive.multiple_results:
            results = (results,)
        environment.update(zip(eqn.outvars, results, strict=True))
    return [a.val if isinstance(a, Literal) else environment[a] for a in jaxpr.outvars]


def run_closed(closed: ClosedJaxpr, *operands: Any) -> list[Any]:
    """`run_jaxpr` with the constants that a closed jaxpr holds."""
    return run_jaxpr(closed.jaxpr, closed.consts, *operands)


def evaluate_closed(closed: ClosedJaxpr, *arrays: Any) -> list[Any]:
    """The outputs by the definitions of the primitives, on NumPy arrays: what a jaxpr means."""
    environment: dict[Var, Any] = {
        v: storage_of(c, v.aval) for v, c in zip(closed.jaxpr.constvars, closed.consts, strict=True)
    }
    environment.update(zip(closed.jaxpr.invars, arrays, strict=True))

    def read(atom: Atom) -> Any:
        return storage_of(atom.val, atom.aval) if isinstance(atom, Literal) else environment[atom]

    for eqn in closed.jaxpr.eqns:
        results = eqn.primitive.evaluate(*map(read, eqn.invars), **eqn.params)
        if not eqn.primitive.multiple_results:
            results = (results,)
        for v, r in zip(eqn.outvars, results, strict=True):
            environment[v] = np.asarray(r)
    return [read(a) for a in closed.jaxpr.outvars]


def storage_of(value: Any, aval: AbstractValue) -> np.ndarray:
    """The NumPy array behind a value of type `aval`."""
    data = getattr(value, "_data", None)
    if data is not None:
        return data
    return np.asarray(value, aval.storage_dtype)


def jaxpr_as_function(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    return functools.partial(run_closed, closed)


def close(jaxpr: Jaxpr) -> ClosedJaxpr:
    """`jaxpr` without constants, closed."""
    return ClosedJaxpr(jaxpr, ())


def constants_as_inputs(jaxpr: Jaxpr) -> Jaxpr:
    """`{ lambda c ; x. … }` -> `{ lambda ; c x. … }`."""
    return jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars])


def subjaxprs(holder: Jaxpr | JaxprEqn | Params) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of an equation, or of all equations of a jaxpr."""
    if isinstance(holder, Jaxpr):
        for eqn in holder.eqns:
            yield from subjaxprs(eqn)
        return
    params = holder.params if isinstance(holder, JaxprEqn) else holder
    for value in params.values():
        for entry in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(entry, ClosedJaxpr):
                yield entry.jaxpr
            elif isinstance(entry, Jaxpr):
                yield entry


def used_variables(eqns: Iterable[JaxprEqn], outs: Iterable[Atom]) -> set[Var]:
    used = {v for v in outs if isinstance(v, Var)}
    for eqn in eqns:
        used.update(v for v in eqn.invars if isinstance(v, Var))
    return used


def dissolve_calls(jaxpr: Jaxpr, name: str) -> Jaxpr:
    """`jaxpr` with the equations of called jaxprs in place of equations of the primitive `name`.

    Calls of jaxprs with constants stay.
    """

    def is_call(eqn: JaxprEqn) -> bool:
        return eqn.primitive.name == name and not eqn.params["jaxpr"].consts

    if not any(map(is_call, jaxpr.eqns)):
        return jaxpr
    values: dict[Var, Atom] = {}
    found: list[JaxprEqn] = []

    def run(body: Jaxpr, values: dict[Var, Atom]) -> list[Atom]:
        def read(atom: Atom) -> Atom:
            return atom if isinstance(atom, Literal) else values.get(atom, atom)

        for eqn in body.eqns:
            operands = [read(a) for a in eqn.invars]
            if is_call(eqn):
                inner = eqn.params["jaxpr"].jaxpr
                outs = run(inner, dict(zip(inner.invars, operands, strict=True)))
                values.update(zip(eqn.outvars, outs, strict=True))
                continue
            # A called jaxpr may be called again: its variables are new at each place.
            outvars = eqn.outvars if body is jaxpr else [Var(v.aval) for v in eqn.outvars]
            values.update(zip(eqn.outvars, outvars, strict=True))
            found.append(eqn.replace(invars=operands, outvars=outvars))
        return [read(a) for a in body.outvars]

    return jaxpr.replace(outvars=run(jaxpr, values), eqns=found)


def drop_unused_equations(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """`jaxpr` with only the used outputs and what they need, and which inputs it still reads.

    Before: { lambda ; a b. let c = sin a; d = cos b in (c, d) }  with outputs (True, False)
    After:  { lambda ; a.   let c = sin a in (c,) }, [True, False]
    """
    keep_inputs = (
        [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else instantiate
    )
    outs = [v for v, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    needed = {v for v in outs if isinstance(v, Var)}
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        wanted = [v in needed for v in eqn.outvars]
        if not any(wanted) and not eqn.effects:
            continue
        if eqn.primitive.prune is not None and not all(wanted):
            pruned = eqn.primitive.prune(wanted, eqn)
            if pruned is None:
                continue
            eqn = pruned
        kept.append(eqn)
        needed.update(v for v in eqn.invars if isinstance(v, Var))
    kept.reverse()
    used_in = [v in needed or keep for v, keep in zip(jaxpr.invars, keep_inputs, strict=True)]
    info = jaxpr.debug_info
    if len(info.argument_names) == len(used_in):
        names = tuple(n for n, u in zip(info.argument_names, used_in, strict=True) if u)
        info = replace(info, argument_names=names)
    pruned_jaxpr = Jaxpr(
        jaxpr.constvars,
        [v for v, u in zip(jaxpr.invars, used_in, strict=True) if u],
        outs,
        kept,
        debug_info=info,
    )
    return pruned_jaxpr, used_in
