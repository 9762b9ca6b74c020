"""The parts of jax.core that stay public: types, tracers, jaxpr evaluation."""

from __future__ import annotations

from collections.abc import Iterator

from frit.api.tracing import ensure_compile_time_eval
from frit.ir.check import JaxprTypeError, check_jaxpr
from frit.ir.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxpr_as_function,
    run_jaxpr,
)
from frit.ir.jaxpr import subjaxprs as _of_equation
from frit.ir.primitive import Effect, Interpreter, Primitive, Tracer
from frit.ir.types import AbstractToken, AbstractValue, ShapedArray


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of a jaxpr's equations, not those within these."""
    for eqn in jaxpr.eqns:
        yield from _of_equation(eqn)


Trace = Interpreter
eval_jaxpr = run_jaxpr
jaxpr_as_fun = jaxpr_as_function
__all__ = [
    "AbstractToken", "AbstractValue", "ClosedJaxpr", "DropVar", "Effect", "Jaxpr", "JaxprEqn",
    "JaxprTypeError", "Literal", "Primitive", "ShapedArray", "Trace", "Tracer", "Var",
    "check_jaxpr", "ensure_compile_time_eval", "eval_jaxpr", "jaxpr_as_fun", "subjaxprs",
]  # fmt: skip
