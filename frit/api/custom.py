"""Functions with derivatives of their own: the one door to the modules that define them."""

from frit.api.closures import closure_convert, linear_call
from frit.api.custom_backward import (
    CustomVJPPrimal,
    custom_gradient,
    custom_vjp,
    custom_vjp_primal_tree_values,
)
from frit.api.custom_calls import SymbolicZero, resolve_positional, zero_from_primal
from frit.api.custom_forward import custom_jvp

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
    "custom_vjp", "custom_vjp_primal_tree_values", "linear_call", "resolve_positional",
    "zero_from_primal",
]  # fmt: skip
