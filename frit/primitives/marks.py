"""Marks: equations that change no value, but say something about it or keep it together.

composite             a call of a jaxpr under the name of one operation, for compilers to know it by
dce_sink              no results; keeps its operands from being dropped as unused
sharding_constraint   its operand, with the placement that the user asks for
"""

from __future__ import annotations

from typing import Any

from frit.ir.jaxpr import ClosedJaxpr, evaluate_closed, run_closed
from frit.ir.primitive import Effect, Primitive, absent
from frit.primitives.calls import prune_call
from frit.transforms.batch import batch_jaxpr
from frit.transforms.linear import move_axis
from frit.transforms.rules import linear_jvp


def _composite_batch(
    axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, **params: Any
) -> Any:
    """The operation is not what its name says any more: the jaxpr, mapped, takes its place."""
    values = [x if d is None else move_axis(x, d, 0) for x, d in zip(operands, mapped, strict=True)]
    stacked, mapped_out = batch_jaxpr(jaxpr, axis, tuple(d is not None for d in mapped))
    return run_closed(stacked, *values), [0 if m else None for m in mapped_out]


composite = Primitive(
    "composite",
    multiple_results=True,
    result_types=lambda *types, jaxpr, **_: list(jaxpr.out_avals),
    effects=lambda *types, jaxpr, **_: jaxpr.effects,
    evaluate=lambda *arrays, jaxpr, **_: evaluate_closed(jaxpr, *arrays),
    decompose=lambda *xs, jaxpr, **_: run_closed(jaxpr, *xs),
    jvp=absent(
        "JVP rule for composite not implemented. You can use `jax.custom_jvp` to add support. See "
        "https://docs.jax.dev/en/latest/_autosummary/jax.custom_jvp.html",
        ValueError,
    ),
    transpose=absent(
        "Transpose rule for composite not implemented. You can use `jax.custom_jvp` or "
        "`jax.custom_vjp` to add support. See "
        "https://docs.jax.dev/en/latest/_autosummary/jax.custom_jvp.html",
        ValueError,
    ),
    batch=_composite_batch,
    prune=prune_call,
    shown=lambda eqn: {k: eqn.params[k] for k in ("attributes", "jaxpr", "name", "version")},
    compiled=True,
)


class NoDCEEffect(Effect):
    """Something is to be kept although nothing reads it."""

    __str__ = lambda self: "NoDce"


no_dce_effect = NoDCEEffect()


def _sink_jvp(primals: Any, tangents: Any) -> Any:
    dce_sink(*primals)
    return [], []


def _sink_batch(axis: Any, operands: Any, mapped: Any) -> Any:
    dce_sink(*operands)
    return [], []


dce_sink = Primitive(
    "dce_sink",
    multiple_results=True,
    result_types=lambda *types: [],
    effects=lambda *types: frozenset((no_dce_effect,)),
    evaluate=lambda *arrays: [],
    decompose=lambda *xs: [],
    jvp=_sink_jvp,
    transpose=lambda cts, *operands: [None] * len(operands),
    batch=_sink_batch,
)


def _constraint_batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> Any:
    return sharding_constraint(operands[0], **params), mapped[0]


sharding_constraint = Primitive(
    "sharding_constraint",
    result_types=lambda x, **_: x,
    evaluate=lambda x, **_: x,
    jvp=linear_jvp(lambda: sharding_constraint),
    transpose=lambda ct, x, **params: [sharding_constraint(ct, **params)],
    batch=_constraint_batch,
)
