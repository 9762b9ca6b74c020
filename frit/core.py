"""The parts of jax.core that stay public: types, tracers, jaxpr evaluation."""

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
    subjaxprs,
)
from frit.ir.primitive import Effect, Interpreter, Primitive, Tracer
from frit.ir.types import AbstractToken, AbstractValue, ShapedArray

Trace = Interpreter
eval_jaxpr = run_jaxpr
jaxpr_as_fun = jaxpr_as_function
__all__ = [
    "AbstractToken", "AbstractValue", "ClosedJaxpr", "DropVar", "Effect", "Jaxpr", "JaxprEqn",
    "JaxprTypeError", "Literal", "Primitive", "ShapedArray", "Trace", "Tracer", "Var",
    "check_jaxpr", "ensure_compile_time_eval", "eval_jaxpr", "jaxpr_as_fun", "subjaxprs",
]  # fmt: skip
