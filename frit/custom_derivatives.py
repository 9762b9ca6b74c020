"""Functions with derivatives of their own, under the names of jax.custom_derivatives."""

from frit.api.custom import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    linear_call,
    zero_from_primal,
)
from frit.primitives.calls import custom_jvp_call as custom_jvp_call_p
from frit.primitives.calls import custom_vjp_call as custom_vjp_call_p

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
    "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p", "custom_vjp_primal_tree_values",
    "linear_call", "zero_from_primal",
]  # fmt: skip
