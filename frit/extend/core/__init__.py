"""Jaxprs and primitives for those who write their own, under the names of jax.extend.core."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import errors
from frit.extend.core import primitives
from frit.ir import primitive as _primitive
from frit.ir.check import JaxprTypeError, check_jaxpr
from frit.ir.dtypes import tangent_dtype as primal_dtype_to_tangent_dtype
from frit.ir.jaxpr import (
    ClosedJaxpr,
    DebugInfo,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxpr_as_function,
    subjaxprs,
)
from frit.ir.primitive import (
    Effect,
    Tracer,
    axis_sizes,
    current_interpreter,
    interpreting,
    no_effects,
    under_trace,
)
from frit.ir.types import AbstractToken, AbstractValue, ShapedArray, is_value
from frit.runtime.array import Array, array_of

InconclusiveDimensionOperation = errors.InconclusiveDimensionOperation
jaxpr_as_fun = jaxpr_as_function
set_current_trace = interpreting

__all__ = [
    "AbstractToken", "ClosedJaxpr", "DebugInfo", "DropVar", "Effect",
    "InconclusiveDimensionOperation", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal",
    "Primitive", "Var", "array_types", "check_jaxpr", "concrete_or_error", "find_top_trace",
    "gensym", "get_opaque_trace_state", "jaxpr_as_fun", "jaxprs_in_params", "mapped_aval",
    "new_jaxpr_eqn", "no_effects", "nonempty_axis_env_DO_NOT_USE", "primal_dtype_to_tangent_dtype",
    "primitives", "set_current_trace", "subjaxprs", "take_current_trace", "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE", "valid_jaxtype",
]  # fmt: skip

array_types = {Array, np.ndarray, np.generic}


class Primitive(_primitive.Primitive):
    """A primitive made outside of frit: its rules are set one by one."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Sets how it computes: a function of arrays."""

        def evaluate(*arrays: Any, **params: Any) -> Any:
            result = impl(*map(array_of, arrays), **params)
            if self.multiple_results:
                return [np.asarray(r) for r in result]
            return np.asarray(result)

        self.evaluate = evaluate
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the type rule: a function from operand types to result types."""

        def types(*operands: Any, **params: Any) -> Any:
            found = rule(*operands, **params)
            if isinstance(found, (tuple, list)) != self.multiple_results:
                raise ValueError(
                    f"{self.name}.abstract_eval() method should return a tuple or a list iff "
                    f"{self.name}.multiple_results; it returned {found!r}."
                )
            return found

        self.result_types = types
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the type rule that gives result types and effects."""
        self.result_types = lambda *types, **params: rule(*types, **params)[0]
        self.effects = lambda *types, **params: frozenset(rule(*types, **params)[1])
        return rule


def valid_jaxtype(x: Any) -> bool:
    """Whether `x` may be an operand."""
    return is_value(x)


def mapped_aval(size: Any, axis: int | None, aval: AbstractValue) -> AbstractValue:
    """The type of one slice along `axis`."""
    return aval.without_axis(axis)


def unmapped_aval(size: Any, axis: int | None, aval: AbstractValue, *_: Any) -> AbstractValue:
    """The type of `size` such values, stacked along `axis`."""
    return aval.with_axis(axis, size)


def new_jaxpr_eqn(
    invars: Any, outvars: Any, primitive: Any, params: Any, effects: Any = no_effects,
    source_info: Any = errors.NOWHERE, ctx: Any = None,
) -> JaxprEqn:  # fmt: skip
    """An equation."""
    return JaxprEqn(list(invars), list(outvars), primitive, params, frozenset(effects), source_info)


def gensym(suffix: str = "") -> Callable[[AbstractValue], Var]:
    """A maker of fresh variables."""
    return Var


def jaxprs_in_params(params: dict[str, Any]) -> list[Jaxpr]:
    return list(subjaxprs(params))


def concrete_or_error(force: Any, value: Any, context: str = "") -> Any:
    """The number behind `value`.  ConcretizationTypeError where it is traced."""
    if isinstance(value, Tracer):
        known = value.concrete()
        if known is None:
            raise errors.ConcretizationTypeError(value, context)
        value = known
    return value if force is None else force(value)


def find_top_trace(values: Sequence[Any]) -> Any:
    return current_interpreter()


def take_current_trace() -> Any:
    return interpreting(_primitive.bottom_interpreter())


def get_opaque_trace_state(convention: str = "nnx") -> Any:
    """Something that is equal for as long as the same transformations run."""
    return _TraceState(current_interpreter())


class _TraceState:
    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _TraceState) and self.interpreter is other.interpreter

    def __hash__(self) -> int:
        return id(self.interpreter)


def nonempty_axis_env_DO_NOT_USE() -> bool:
    return bool(axis_sizes())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    return list(axis_sizes())


def _interpreters() -> Any:
    interpreter = current_interpreter()
    for _ in itertools.count():
        yield interpreter
        if interpreter.parent is interpreter:
            return
        interpreter = interpreter.parent


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    return under_trace() and any(type(i).__name__ == "TraceInterpreter" for i in _interpreters())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    return any(type(i).__name__ == "BatchInterpreter" for i in _interpreters())
