"""Calls: primitives whose meaning is a jaxpr among their parameters, run as it is.

jit                what a nested jitted function is
closed_call        a call that dissolves into the interpreter that meets it
remat2             checkpoint: differentiated, it keeps only what its policy saves
custom_jvp_call    a function with its own forward rule
custom_vjp_call    a function with its own backward rule
optimization_barrier   its operands, fenced: nothing moves across it
name               its operand, named for checkpoint policies
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frit.ir.jaxpr import (
    Atom,
    ClosedJaxpr,
    JaxprEqn,
    Var,
    drop_unused_equations,
    evaluate_closed,
    jaxpr_as_function,
    new_equation,
    run_closed,
)
from frit.ir.primitive import Interpreter, Params, Primitive, absent, interpreting
from frit.ir.types import typeof
from frit.transforms.batch import batch_jaxpr
from frit.transforms.jvp import jvp_jaxpr
from frit.transforms.linear import Zero, is_zero, move_axis
from frit.transforms.memo import memoize_by_jaxpr
from frit.transforms.rules import linear_jvp, zero_tangent
from frit.transforms.split import Saveable, Split, save_everything, split_call, split_closed
from frit.transforms.transpose import transpose_call


def spread_tangents(
    results: Sequence[Any], nonzero: Sequence[bool], count: int
) -> tuple[list[Any], list[Any]]:
    """Results and tangents (Zero where not `nonzero`) from the outputs of a jvp'd jaxpr."""
    primals, moved = list(results[:count]), iter(results[count:])
    return primals, [
        next(moved) if nz else zero_tangent(p) for p, nz in zip(primals, nonzero, strict=True)
    ]


def nonzero_tangents(tangents: Sequence[Any]) -> tuple[tuple[bool, ...], list[Any]]:
    return tuple(not is_zero(t) for t in tangents), [t for t in tangents if not is_zero(t)]


def prune_call(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    """The call without the outputs that nothing reads, and the operands it then needs no more."""
    closed: ClosedJaxpr = eqn.params["jaxpr"]
    jaxpr, used_in = drop_unused_equations(closed.jaxpr, used)
    if not jaxpr.outvars and not jaxpr.effects:
        return None
    params = {**eqn.params, "jaxpr": ClosedJaxpr(jaxpr, closed.consts)}
    if "donated_invars" in params:
        params["donated_invars"] = tuple(
            d for d, u in zip(params["donated_invars"], used_in, strict=True) if u
        )
    return eqn.replace(
        invars=[a for a, u in zip(eqn.invars, used_in, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params=params,
        effects=jaxpr.effects,
    )


# -------------------------------------------------------------------------------------------- jit

JIT_DEFAULTS: Params = {"donated_invars": None, "inline": False, "keep_unused": False}


def _jit_params(params: Params, jaxpr: ClosedJaxpr) -> Params:
    return {**params, "jaxpr": jaxpr, "donated_invars": (False,) * len(jaxpr.in_avals)}


def _jit_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    nonzero, given = nonzero_tangents(tangents)
    moved, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    results = jit(*primals, *given, **_jit_params(params, moved))
    return spread_tangents(results, nonzero_out, len(jaxpr.out_avals))


def _jit_split(eqn: JaxprEqn, unknown: list[bool], needed: list[bool], saveable: Saveable) -> Split:
    def call(closed: ClosedJaxpr, operands: list[Atom], results: list[Var]) -> JaxprEqn:
        params = _jit_params(eqn.params, closed)
        return new_equation(operands, results, jit, params, eqn.source_info)

    needed_out = False if saveable is save_everything else None
    parts = split_closed(
        eqn.params["jaxpr"], tuple(unknown), tuple(needed), False, needed_out, saveable
    )
    return split_call(eqn, parts, unknown, needed, call, call)


def _jit_transpose(cts: Any, *operands: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    return transpose_call(
        lambda closed, *xs: jit(*xs, **_jit_params(params, closed)), jaxpr, cts, operands
    )


def _jit_batch(axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    values = [x if d is None else move_axis(x, d, 0) for x, d in zip(operands, mapped, strict=True)]
    stacked, mapped_out = batch_jaxpr(jaxpr, axis, tuple(d is not None for d in mapped))
    results = jit(*values, **_jit_params(params, stacked))
    return results, [0 if m else None for m in mapped_out]


def _jit_shown(eqn: JaxprEqn) -> Params:
    shown = {"name": eqn.params["name"], "jaxpr": eqn.params["jaxpr"]}
    donated = eqn.params.get("donated_invars") or ()
    if any(donated):
        shown["donated_invars"] = donated
    for key in ("inline", "keep_unused"):
        if eqn.params.get(key):
            shown[key] = True
    return shown


jit = Primitive(
    "jit",
    multiple_results=True,
    result_types=lambda *types, jaxpr, **_: list(jaxpr.out_avals),
    effects=lambda *types, jaxpr, **_: jaxpr.effects,
    evaluate=lambda *arrays, jaxpr, **_: evaluate_closed(jaxpr, *arrays),
    jvp=_jit_jvp,
    split=_jit_split,
    transpose=_jit_transpose,
    batch=_jit_batch,
    prune=prune_call,
    shown=_jit_shown,
    uses_axis_names=False,
    compiled=True,
)


# ------------------------------------------------------------------------------------ closed_call


def _dissolve(interpreter: Interpreter, operands: Sequence[Any], params: Params) -> list[Any]:
    with interpreting(interpreter):
        return run_closed(params["jaxpr"], *operands)


closed_call = Primitive(
    "closed_call",
    multiple_results=True,
    result_types=lambda *types, jaxpr, **_: list(jaxpr.out_avals),
    effects=lambda *types, jaxpr, **_: jaxpr.effects,
    evaluate=lambda *arrays, jaxpr, **_: evaluate_closed(jaxpr, *arrays),
    enter=_dissolve,
    jvp=absent("a closed_call dissolves before it is differentiated"),
    transpose=absent("a closed_call dissolves before it is transposed"),
    batch=absent("a closed_call dissolves before it is mapped"),
    prune=prune_call,
)


# ----------------------------------------------------------------------------------------- remat2


def save_nothing(primitive: Primitive, *types: Any, **params: Any) -> bool:
    """The policy of checkpoint without one: everything is computed again."""
    return False


def _remat_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    nonzero, given = nonzero_tangents(tangents)
    moved, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    results = remat(*primals, *given, jaxpr=moved, **params)
    return spread_tangents(results, nonzero_out, len(jaxpr.out_avals))


def _remat_split(
    eqn: JaxprEqn, unknown: list[bool], needed: list[bool], saveable: Saveable
) -> Split:
    policy = eqn.params["policy"] or save_nothing
    for effect in eqn.params["jaxpr"].effects:
        if not getattr(effect, "repeatable", True):
            raise NotImplementedError(
                f"Effects not supported in partial-eval of `checkpoint`/`remat`: {effect}. What is "
                "computed again would act on the world again."
            )
    needed_out = False if saveable is save_everything else None
    needed = [True] * len(unknown)  # what is computed again starts from the operands
    parts = split_closed(
        eqn.params["jaxpr"], tuple(unknown), tuple(needed), False, needed_out, policy
    )

    def known(closed: ClosedJaxpr, operands: list[Atom], results: list[Var]) -> JaxprEqn:
        return new_equation(operands, results, closed_call, {"jaxpr": closed}, eqn.source_info)

    def waiting(closed: ClosedJaxpr, operands: list[Atom], results: list[Var]) -> JaxprEqn:
        params = {**eqn.params, "jaxpr": closed, "differentiated": True}
        return new_equation(operands, results, remat, params, eqn.source_info)

    return split_call(eqn, parts, unknown, needed, known, waiting)


def _remat_transpose(cts: Any, *operands: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    def call(closed: ClosedJaxpr, *xs: Any) -> list[Any]:
        return remat(*xs, jaxpr=_without_unused(closed), **params)

    return transpose_call(call, jaxpr, cts, operands)


@memoize_by_jaxpr
def _without_unused(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr without equations that no output needs; one object for one jaxpr."""
    everything = [True] * len(closed.out_avals)
    pruned, _ = drop_unused_equations(closed.jaxpr, everything, instantiate=True)
    return ClosedJaxpr(pruned, closed.consts)


def _remat_batch(
    axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, **params: Any
) -> Any:
    values = [x if d is None else move_axis(x, d, 0) for x, d in zip(operands, mapped, strict=True)]
    stacked, mapped_out = batch_jaxpr(jaxpr, axis, tuple(d is not None for d in mapped))
    results = remat(*values, jaxpr=stacked, **params)
    return results, [0 if m else None for m in mapped_out]


remat = Primitive(
    "remat2",
    multiple_results=True,
    result_types=lambda *types, jaxpr, **_: list(jaxpr.out_avals),
    effects=lambda *types, jaxpr, **_: jaxpr.effects,
    evaluate=lambda *arrays, jaxpr, **_: evaluate_closed(jaxpr, *arrays),
    jvp=_remat_jvp,
    split=_remat_split,
    transpose=_remat_transpose,
    batch=_remat_batch,
    prune=prune_call,
    compiled=True,
)


# --------------------------------------------------------------------------- custom derivatives


def _custom_types(*types: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return list(call_jaxpr.out_avals)


def _custom_transpose(cts: Any, *operands: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    """A custom function that is linear is transposed by what it computes."""
    return transpose_call(
        lambda closed, *xs: closed_call(*xs, jaxpr=closed), call_jaxpr, cts, operands
    )


class _SomeOutputs:
    """A rule of a custom function of which only some outputs are read."""

    def __init__(self, rule: Any, used: Sequence[bool]) -> None:
        self.rule, self.used = rule, tuple(used)
        self.__name__ = getattr(rule, "__name__", "rule")

    def _keep(self, values: Sequence[Any]) -> list[Any]:
        return [v for v, u in zip(values, self.used, strict=True) if u]

    def __repr__(self) -> str:
        return repr(self.rule)


class _SomeOfJVP(_SomeOutputs):
    def __call__(self, primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
        results, moved = self.rule(primals, tangents)
        return self._keep(results), self._keep(moved)


class _SomeOfForward(_SomeOutputs):
    """Keeps the types of all outputs, whose cotangents the backward rule wants."""

    def __call__(self, primals: Any, nonzero: Any) -> tuple[list[Any], Any]:
        results, residuals = self.rule(primals, nonzero)
        self.types = [typeof(r).tangent_type() for r in results]
        return self._keep(results), residuals


class _SomeOfBackward(_SomeOutputs):
    def __init__(self, rule: Any, forward: _SomeOfForward) -> None:
        super().__init__(rule, forward.used)
        self.forward = forward

    def __call__(self, residuals: Any, cts: Any) -> Any:
        given = iter(cts)
        full = [
            next(given) if u else Zero(t)
            for u, t in zip(self.used, self.forward.types, strict=True)
        ]
        return self.rule(residuals, full)


def _pruned_custom(used: Sequence[bool], eqn: JaxprEqn, rules: Params) -> JaxprEqn | None:
    """The call without outputs that nothing reads; its operands stay, as the rules take them."""
    closed: ClosedJaxpr = eqn.params["call_jaxpr"]
    jaxpr, _ = drop_unused_equations(closed.jaxpr, used, instantiate=True)
    if not jaxpr.outvars and not jaxpr.effects:
        return None
    return eqn.replace(
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params={**eqn.params, "call_jaxpr": ClosedJaxpr(jaxpr, closed.consts), **rules},
    )


def _prune_custom_jvp(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    return _pruned_custom(used, eqn, {"jvp": _SomeOfJVP(eqn.params["jvp"], used)})


def _prune_custom_vjp(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    forward = _SomeOfForward(eqn.params["fwd"], used)
    rules = {"fwd": forward, "bwd": _SomeOfBackward(eqn.params["bwd"], forward)}
    return _pruned_custom(used, eqn, rules)


def _enter_custom_jvp(interpreter: Interpreter, operands: Sequence[Any], params: Params) -> Any:
    function = jaxpr_as_function(params["call_jaxpr"])
    return interpreter.custom_jvp(custom_jvp_call, function, params["jvp"], operands, params)


custom_jvp_call = Primitive(
    "custom_jvp_call",
    multiple_results=True,
    result_types=_custom_types,
    effects=lambda *types, call_jaxpr, **_: call_jaxpr.effects,
    evaluate=lambda *arrays, call_jaxpr, **_: evaluate_closed(call_jaxpr, *arrays),
    enter=_enter_custom_jvp,
    jvp=absent("the interpreter runs the function's own rule"),
    transpose=_custom_transpose,
    batch=absent("the interpreter maps the function and its rule"),
    prune=_prune_custom_jvp,
    shown=lambda eqn: {k: eqn.params[k] for k in ("name", "call_jaxpr", "jvp", "symbolic_zeros")},
    compiled=True,
)


def _enter_custom_vjp(interpreter: Interpreter, operands: Sequence[Any], params: Params) -> Any:
    function = jaxpr_as_function(params["call_jaxpr"])
    return interpreter.custom_vjp(
        custom_vjp_call, function, params["fwd"], params["bwd"], operands, params
    )


custom_vjp_call = Primitive(
    "custom_vjp_call",
    multiple_results=True,
    result_types=_custom_types,
    effects=lambda *types, call_jaxpr, **_: call_jaxpr.effects,
    evaluate=lambda *arrays, call_jaxpr, **_: evaluate_closed(call_jaxpr, *arrays),
    enter=_enter_custom_vjp,
    jvp=absent("the interpreter runs the function's own rules"),
    batch=absent("the interpreter maps the function and its rules"),
    prune=_prune_custom_vjp,
    shown=lambda eqn: {
        k: eqn.params[k] for k in ("name", "bwd", "call_jaxpr", "fwd", "symbolic_zeros")
    },
    compiled=True,
)


# ------------------------------------------------------------------------------------------- name


name = Primitive(
    "name",
    result_types=lambda x, *, name: x,
    evaluate=lambda x, *, name: x,
    jvp=linear_jvp(lambda: name),
    transpose=lambda ct, x, *, name: [ct],
    batch=lambda axis, operands, mapped, **p: (name(*operands, **p), mapped[0]),
)
