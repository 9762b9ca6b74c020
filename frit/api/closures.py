"""closure_convert and linear_call: what functions close over, and linear functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit import trees
from frit.api import signatures
from frit.api.custom_backward import custom_vjp
from frit.ir import dtypes
from frit.ir.jaxpr import run_jaxpr
from frit.ir.primitive import Tracer
from frit.ir.types import typeof
from frit.transforms.linear import zeros
from frit.transforms.trace import trace_to_jaxpr


def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """`fun` with the values it closes over as trailing arguments, and those values.

    Only values that may be differentiated are taken out: traced ones of inexact dtype.
    """
    leaves, tree = trees.flatten(example_args)
    out: list[Any] = []
    flat = signatures.flat_function(lambda *a: fun(*a), _as_call(tree), out)
    jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves])
    moved = [
        isinstance(c, Tracer) and dtypes.is_inexact(typeof(c).dtype)  # type: ignore[attr-defined]
        for c in consts
    ]
    kept = [c for c, m in zip(consts, moved, strict=True) if not m]
    hoisted = [c for c, m in zip(consts, moved, strict=True) if m]
    out_tree = out[0]

    def converted(*args: Any) -> Any:
        given, values = args[: len(args) - len(hoisted)], args[len(args) - len(hoisted) :]
        flat_args, in_tree = trees.flatten(given)
        if in_tree != tree:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same pytree "
                "structure as the example arguments passed when closure_convert was called. "
                f"Expected {tree}, but got {in_tree}."
            )
        rest, known = iter(values), iter(kept)
        full = [next(rest) if m else next(known) for m in moved]
        return out_tree.unflatten(run_jaxpr(jaxpr, full, *flat_args))

    converted.__name__ = signatures.function_name(fun)
    return converted, hoisted


def _as_call(tree: trees.PyTreeDef) -> Any:
    class _Call:
        @staticmethod
        def unflatten(leaves: Any) -> Any:
            return tree.unflatten(leaves), {}

    return _Call


def linear_call(
    fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any
) -> Any:
    """`fun(residual_args, linear_args)`, linear in the second, transposed by `fun_transpose`."""
    call = custom_vjp(fun)
    call.defvjp(
        lambda r, x: (fun(r, x), r),
        lambda r, ct: (
            trees.map(lambda v: zeros(typeof(v).tangent_type()), r),
            fun_transpose(r, ct),
        ),
    )
    return call(residual_args, linear_args)
