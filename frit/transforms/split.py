"""Split: run now what depends on known values only, record the rest to run later.

    split_jaxpr({ lambda ; a b. let c = sin a; d = mul c b in (d,) }, unknown=(False, True))
      known    { lambda ; a.   let c = sin a in (c,) }        c is a residual
      waiting  { lambda ; c b. let d = mul c b in (d,) }

Reverse mode is jvp over Split: known work runs at once, work on tangents waits, to be transposed.
Checkpoint is a split whose `saveable` refuses: then an equation stands on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from frit.ir.dtypes import float0
from frit.ir.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    dissolve_calls,
    drop_unused_equations,
    new_equation,
    run_closed,
)
from frit.ir.primitive import (
    Interpreter,
    Params,
    Primitive,
    Tracer,
    current_interpreter,
    interpreting,
)
from frit.ir.types import AbstractValue, typeof
from frit.transforms.jvp import JVPInterpreter
from frit.transforms.linear import Zero, instantiate, is_zero
from frit.transforms.memo import memoize_by_jaxpr
from frit.transforms.trace import Recorder

Saveable = Callable[..., bool]


def save_everything(primitive: Primitive, *types: AbstractValue, **params: Any) -> bool:
    """The policy of plain differentiation: no value is computed twice."""
    return True


@dataclass
class Split:
    """One equation, split.

    `known` runs now, `waiting` later (either may be None).  For each of the equation's outputs:
    is it unknown now, and does the waiting side have it (`needed`) without it being a residual?
    What the waiting equation reads of the known side are residuals.
    """

    known: JaxprEqn | None
    waiting: JaxprEqn | None
    unknown_out: list[bool]
    needed_out: list[bool]


@dataclass
class SplitJaxpr:
    """A jaxpr, split.

    known:   (known inputs) -> (known outputs, residuals)
    waiting: (residuals, unknown or needed inputs) -> (unknown or needed outputs)
    """

    known: Jaxpr
    waiting: Jaxpr
    unknown_out: list[bool]
    needed_out: list[bool]
    residuals: list[Var]


def split_jaxpr(
    jaxpr: Jaxpr,
    unknown_in: Sequence[bool],
    needed_in: Sequence[bool],
    unknown_out: Sequence[bool] | bool = False,
    needed_out: Sequence[bool] | bool | None = None,
    saveable: Saveable = save_everything,
) -> SplitJaxpr:
    """Splits a jaxpr by which inputs are unknown.

    `needed_in` marks inputs that the waiting side is given.  Outputs in `unknown_out` are made
    unknown.  Outputs in `needed_out` are made by the waiting side too (by default those that it
    computes anyway).
    """
    state: dict[Var, tuple[bool, bool]] = {}
    residuals: dict[Var, None] = {}
    known: list[JaxprEqn] = []
    waiting: list[JaxprEqn] = []

    def read(atom: Atom) -> tuple[bool, bool]:
        return (False, True) if isinstance(atom, Literal) else state[atom]

    def make_available(atom: Atom) -> None:
        if isinstance(atom, Var) and not state[atom][1]:
            residuals[atom] = None

    staged: set[Var] = set()
    state.update((v, (False, True)) for v in jaxpr.constvars)
    state.update(
        (v, (u, n or u)) for v, u, n in zip(jaxpr.invars, unknown_in, needed_in, strict=True)
    )
    for eqn in jaxpr.eqns:
        flags = [read(a) for a in eqn.invars]
        unknown, needed = [u for u, _ in flags], [n for _, n in flags]
        if eqn.primitive.split is not None:
            parts = eqn.primitive.split(eqn, unknown, needed, saveable)
            if parts.known is not None:
                known.append(parts.known)
            out = zip(parts.unknown_out, parts.needed_out, strict=True)
            state.update(zip(eqn.outvars, out, strict=True))
            if parts.waiting is not None:
                for atom in parts.waiting.invars:
                    if isinstance(atom, Var):
                        state.setdefault(atom, (False, False))
                    make_available(atom)
                waiting.append(parts.waiting)
                staged.update(parts.waiting.outvars)
        elif any(unknown):
            for atom in eqn.invars:
                make_available(atom)
            waiting.append(eqn)
            staged.update(eqn.outvars)
            state.update((v, (True, True)) for v in eqn.outvars)
        else:
            known.append(eqn)
            keep = bool(eqn.effects) or saveable(
                eqn.primitive, *[a.aval for a in eqn.invars], **eqn.params
            )
            if not keep:
                for atom in eqn.invars:
                    make_available(atom)
                waiting.append(eqn)
                staged.update(eqn.outvars)
            state.update((v, (False, not keep)) for v in eqn.outvars)

    force_unknown = _spread(unknown_out, jaxpr.outvars)
    natural = needed_out is None
    force_needed = _spread(False if needed_out is None else needed_out, jaxpr.outvars)
    outs = [read(a) for a in jaxpr.outvars]
    unknowns = [u or f for (u, _), f in zip(outs, force_unknown, strict=True)]
    neededs = [
        u or f or (natural and n and a in staged)
        for a, u, (_, n), f in zip(jaxpr.outvars, unknowns, outs, force_needed, strict=True)
    ]
    staged_out = [a for a, n in zip(jaxpr.outvars, neededs, strict=True) if n]
    for atom in staged_out:
        make_available(atom)
    known_in = [v for v, u in zip(jaxpr.invars, unknown_in, strict=True) if not u]
    known_out = [a for a, u in zip(jaxpr.outvars, unknowns, strict=True) if not u]
    waiting_in = [v for v, u, n in zip(jaxpr.invars, unknown_in, needed_in, strict=True) if u or n]
    found = list(residuals)
    info = jaxpr.debug_info
    return SplitJaxpr(
        Jaxpr(jaxpr.constvars, known_in, [*known_out, *found], known, debug_info=_unnamed(info)),
        Jaxpr(
            jaxpr.constvars, [*found, *waiting_in], staged_out, waiting, debug_info=_unnamed(info)
        ),
        unknowns,
        neededs,
        found,
    )


def _unnamed(info: Any) -> Any:
    return type(info)(info.function, info.place, (), (), info.transform)


def _spread(flag: Sequence[bool] | bool, items: Sequence[Any]) -> list[bool]:
    return [flag] * len(items) if isinstance(flag, bool) else list(flag)


@dataclass(frozen=True)
class SplitClosed:
    """A closed jaxpr, split; where each residual comes from: ("in", i) | ("out", i) | ("new", i).

    known:   (known inputs) -> (known outputs, new residuals)
    waiting: (residuals, unknown or needed inputs) -> (unknown or needed outputs)
    """

    known: ClosedJaxpr
    waiting: ClosedJaxpr
    unknown_out: tuple[bool, ...]
    needed_out: tuple[bool, ...]
    sources: tuple[tuple[str, int], ...]
    residual_types: tuple[Any, ...]


@memoize_by_jaxpr
def split_closed(
    closed: ClosedJaxpr,
    unknown_in: tuple[bool, ...],
    needed_in: tuple[bool, ...],
    unknown_out: tuple[bool, ...] | bool = False,
    needed_out: tuple[bool, ...] | bool | None = None,
    saveable: Saveable = save_everything,
) -> SplitClosed:
    """`split_jaxpr` of a closed jaxpr; residuals that are inputs or outputs are not repeated."""
    parts = split_jaxpr(closed.jaxpr, unknown_in, needed_in, unknown_out, needed_out, saveable)
    waiting, used = drop_unused_equations(
        parts.waiting,
        [True] * len(parts.waiting.outvars),
        [False] * len(parts.residuals)
        + [True] * (len(parts.waiting.invars) - len(parts.residuals)),
    )
    residuals = [v for v, u in zip(parts.residuals, used, strict=False) if u]
    inputs = {v: i for i, v in enumerate(closed.jaxpr.invars)}
    known_out = parts.known.outvars[: len(parts.known.outvars) - len(parts.residuals)]
    outputs = {v: i for i, v in enumerate(known_out) if isinstance(v, Var)}
    sources: list[tuple[str, int]] = []
    new: list[Var] = []
    for v in residuals:
        if v in inputs:
            sources.append(("in", inputs[v]))
        elif v in outputs:
            sources.append(("out", outputs[v]))
        else:
            sources.append(("new", len(new)))
            new.append(v)
    known = Jaxpr(
        parts.known.constvars,
        parts.known.invars,
        [*known_out, *new],
        parts.known.eqns,
        debug_info=parts.known.debug_info,
    )
    known, _ = drop_unused_equations(known, [True] * len(known.outvars), instantiate=True)
    known = dissolve_calls(known, "closed_call")
    return SplitClosed(
        ClosedJaxpr(known, closed.consts),
        ClosedJaxpr(waiting, closed.consts),
        tuple(parts.unknown_out),
        tuple(parts.needed_out),
        tuple(sources),
        tuple(v.aval for v in residuals),
    )


def run_known(
    parts: SplitClosed, unknown: Sequence[bool], known_values: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The known outputs and the residuals of a split jaxpr whose known inputs have the values."""
    positions = [i for i, u in enumerate(unknown) if not u]
    results = run_closed(parts.known, *known_values)
    count = sum(not u for u in parts.unknown_out)
    places: dict[str, Any] = {
        "in": dict(zip(positions, known_values, strict=True)),
        "out": results[:count],
        "new": results[count:],
    }
    return results[:count], [places[kind][i] for kind, i in parts.sources]


def split_call(
    eqn: JaxprEqn,
    parts: SplitClosed,
    unknown: Sequence[bool],
    needed: Sequence[bool],
    make_known: Callable[[ClosedJaxpr, list[Atom], list[Var]], JaxprEqn],
    make_waiting: Callable[[ClosedJaxpr, list[Atom], list[Var]], JaxprEqn],
) -> Split:
    """The split of an equation that calls a closed jaxpr on its operands."""
    known_in = [a for a, u in zip(eqn.invars, unknown, strict=True) if not u]
    known_out = [v for v, u in zip(eqn.outvars, parts.unknown_out, strict=True) if not u]
    new = [
        Var(t)
        for t, (kind, _) in zip(parts.residual_types, parts.sources, strict=True)
        if kind == "new"
    ]
    places: dict[str, Sequence[Any]] = {"in": eqn.invars, "out": known_out, "new": new}
    residuals = [places[kind][i] for kind, i in parts.sources]
    waiting_in = [a for a, u, n in zip(eqn.invars, unknown, needed, strict=True) if u or n]
    waiting_out = [v for v, n in zip(eqn.outvars, parts.needed_out, strict=True) if n]
    known = waiting = None
    if known_out or new or parts.known.effects:
        known = make_known(parts.known, known_in, [*known_out, *new])
    if waiting_out or parts.waiting.effects:
        waiting = make_waiting(parts.waiting, [*residuals, *waiting_in], waiting_out)
    return Split(known, waiting, list(parts.unknown_out), list(parts.needed_out))


class SplitTracer(Tracer):
    """A value that waits: a variable of the recorded part."""

    __slots__ = ("variable",)

    def __init__(self, interpreter: Recorder, var: Var, made_at: Any) -> None:
        self.level, self.aval, self.made_at = interpreter.level, var.aval, made_at
        self.variable = var

    def text(self) -> str:
        return f"SplitTracer({self.aval.str_short()})"


class SplitInterpreter(Recorder):
    """Runs primitives on known operands under the parent; records the others."""

    tracer_class = SplitTracer

    def __init__(self, parent: Interpreter, description: str = "linearize") -> None:
        super().__init__(description)
        self.parent = parent

    def apply(self, primitive: Primitive, operands: Sequence[Any], params: Params) -> Any:
        unknown = [self.owns(x) for x in operands]
        if not any(unknown):
            with interpreting(self.parent):
                return primitive.bind_with(self.parent, operands, params)
        if primitive.split is None:
            return self.record_applied(primitive, operands, params)
        results = self._apply_split(primitive, operands, unknown, params)
        return results if primitive.multiple_results else results[0]

    def _apply_split(
        self, primitive: Primitive, operands: Sequence[Any], unknown: list[bool], params: Params
    ) -> list[Any]:
        values: dict[Var, Any] = {}
        atoms: list[Atom] = []
        for x in operands:
            if isinstance(x, Tracer) or not isinstance(self._literal(x), Literal):
                atoms.append(Var(typeof(x)))
                values[atoms[-1]] = x  # type: ignore[index]
            else:
                atoms.append(Literal(x))
        types = primitive.types_of_results([a.aval for a in atoms], params)
        outvars = [Var(t) for t in types]
        eqn = new_equation(atoms, outvars, primitive, params)
        needed = [isinstance(a, Literal) for a in atoms]
        parts = primitive.split(eqn, unknown, needed, save_everything)  # type: ignore[misc]

        def read(atom: Atom) -> Any:
            return atom.val if isinstance(atom, Literal) else values[atom]

        def run(part: JaxprEqn, bind: Callable[..., Any]) -> None:
            results = bind([read(a) for a in part.invars])
            results = results if part.primitive.multiple_results else [results]
            values.update(zip(part.outvars, results, strict=True))

        if (known := parts.known) is not None:
            with interpreting(self.parent):
                run(known, lambda xs: known.primitive.bind_with(self.parent, xs, known.params))
        if (waiting := parts.waiting) is not None:
            run(waiting, lambda xs: self.record_applied(waiting.primitive, xs, waiting.params))
        return [values[v] for v in outvars]

    def _literal(self, value: Any) -> Any:
        return Literal(value) if type(value) in (bool, int, float, complex) else None

    def custom_jvp(
        self,
        primitive: Primitive,
        function: Any,
        rule: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        if not any(map(self.owns, operands)):
            with interpreting(self.parent):
                return self.parent.custom_jvp(primitive, function, rule, operands, params)
        return function(*operands)

    def custom_vjp(
        self,
        primitive: Primitive,
        function: Any,
        forward: Any,
        backward: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        if not any(map(self.owns, operands)):
            with interpreting(self.parent):
                return self.parent.custom_vjp(
                    primitive, function, forward, backward, operands, params
                )
        return function(*operands)


@dataclass
class Linearized:
    """A function at a point: its results, and the linear map from tangents to tangents.

    `jaxpr` maps the tangents of the differentiated inputs to those of `nonzero_out` outputs, with
    `consts` (residuals) for its constvars.  `tangent_types` are the types of all output tangents.
    """

    results: list[Any]
    jaxpr: Jaxpr
    consts: list[Any]
    nonzero_out: list[bool]
    tangent_types: list[Any]

    def closed(self) -> ClosedJaxpr:
        return ClosedJaxpr(self.jaxpr, self.consts)


def linearize(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    nonzero_in: Sequence[bool] | None = None,
    description: str = "linearize",
) -> Linearized:
    """`function` at `primals`: known work runs at once under the current interpreter."""
    parent = current_interpreter()
    split = SplitInterpreter(parent, description)
    nonzero = [True] * len(primals) if nonzero_in is None else list(nonzero_in)
    tangents = []
    for p, nz in zip(primals, nonzero, strict=True):
        aval = typeof(p).tangent_type()
        tangent = split.new_input(aval) if nz else Zero(aval)
        # An integer's tangent is an input, as every argument's is, that nothing reads.
        tangents.append(Zero(aval) if getattr(aval, "dtype", None) == float0 else tangent)
    interpreter = JVPInterpreter(split, description)
    operands = [interpreter.join(p, t) for p, t in zip(primals, tangents, strict=True)]
    try:
        with interpreting(interpreter):
            outputs = function(*operands)
        parts = [interpreter.parts(x) for x in outputs]
        results = [p for p, _ in parts]
        if any(map(split.owns, results)):
            raise ValueError(
                "Linearization failed to produce known values for all output primals. This is "
                "typically caused by attempting to differentiate a function that uses an operation "
                "that does not support reverse-mode autodiff."
            )
        moved = [t for _, t in parts]
        jaxpr, consts = split.finish([instantiate(t) for t in moved if not is_zero(t)])
    finally:
        interpreter.level.finished = split.level.finished = True
    jaxpr, consts = _without_unused(jaxpr, consts)
    tangent_types = [typeof(r).tangent_type() for r in results]
    return Linearized(results, jaxpr, consts, [not is_zero(t) for t in moved], tangent_types)


def _without_unused(jaxpr: Jaxpr, consts: list[Any]) -> tuple[Jaxpr, list[Any]]:
    """The linear part without work that no output needs, and without the residuals it held."""
    pruned, _ = drop_unused_equations(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    read = {a for e in pruned.eqns for a in e.invars if isinstance(a, Var)}
    read.update(a for a in pruned.outvars if isinstance(a, Var))
    kept = [v in read for v in jaxpr.constvars]
    constvars = [v for v, k in zip(jaxpr.constvars, kept, strict=True) if k]
    return pruned.replace(constvars=constvars), [c for c, k in zip(consts, kept, strict=True) if k]
