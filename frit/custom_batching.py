"""custom_vmap: functions that tell how they are mapped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from frit import trees
from frit.api import signatures
from frit.ir.jaxpr import ClosedJaxpr, evaluate_closed, run_closed
from frit.ir.primitive import Primitive
from frit.ir.types import typeof
from frit.lax.loops import map as lax_map
from frit.primitives.calls import nonzero_tangents, prune_call, spread_tangents
from frit.transforms.jvp import jvp_jaxpr
from frit.transforms.linear import axis_to_front, move_axis
from frit.transforms.trace import trace_closed

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap:
    """A function with its own batching rule, given by `def_vmap`.

    rule(axis_size, in_batched, *args) -> results, out_batched; mapped axes are in front.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = signatures.function_name(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name} using def_vmap"
            )
        args, kwargs = signatures.canonical_call(
            signatures.signature_of(self.fun), args, kwargs
        )
        leaves, tree = trees.flatten((args, kwargs))
        out: list[Any] = []
        flat = signatures.flat_function(self.fun, tree, out)
        closed, captured = trace_closed(flat, [typeof(x) for x in leaves])
        if captured:
            raise NotImplementedError(
                f"custom_vmap function {name} closes over traced values; pass them as arguments."
            )
        rule = _Rule(self.vmap_rule, name, tree, out[0])
        results = custom_vmap_call(*leaves, jaxpr=closed, rule=rule)
        return out[0].unflatten(results)


class _Rule:
    """The user's rule, on flat values."""

    def __init__(self, rule: Callable[..., Any], name: str, in_tree: Any, out_tree: Any) -> None:
        self.rule, self.name, self.in_tree, self.out_tree = rule, name, in_tree, out_tree

    def __call__(self, size: int, values: list[Any], batched: list[bool]) -> tuple[Any, Any]:
        args, kwargs = self.in_tree.unflatten(values)
        flags, keyword_flags = self.in_tree.unflatten(batched)
        if kwargs:
            raise TypeError(f"custom_vmap function {self.name} takes no keyword arguments")
        del keyword_flags
        pair = self.rule(size, list(flags), *args)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"The batching rule for function {self.name} must return a pair (results, "
                f"out_batched), got {pair!r}."
            )
        results, out_tree = trees.flatten(pair[0])
        if out_tree != self.out_tree:
            raise ValueError(
                f"structure of output value and output batching from the rule of {self.name} must "
                f"be {self.out_tree}, got {out_tree}."
            )
        out = trees.broadcast_prefix(pair[1], pair[0])
        return results, out


def _batch(axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, rule: _Rule) -> Any:
    values = [x if d is None else move_axis(x, d, 0) for x, d in zip(operands, mapped, strict=True)]
    results, out = rule(axis.size, values, [d is not None for d in mapped])
    return results, [0 if b else None for b in out]


def _jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, rule: _Rule) -> Any:
    nonzero, given = nonzero_tangents(tangents)
    moved, out = jvp_jaxpr(jaxpr, nonzero)
    results = run_closed(moved, *primals, *given)
    return spread_tangents(results, out, len(jaxpr.out_avals))


custom_vmap_call = Primitive(
    "custom_vmap_call",
    multiple_results=True,
    result_types=lambda *types, jaxpr, rule: list(jaxpr.out_avals),
    effects=lambda *types, jaxpr, rule: jaxpr.effects,
    evaluate=lambda *arrays, jaxpr, rule: evaluate_closed(jaxpr, *arrays),
    jvp=_jvp,
    batch=_batch,
    prune=prune_call,
    decompose=lambda *xs, jaxpr, rule: run_closed(jaxpr, *xs),
    compiled=True,
)


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """`f`, mapped by running it for one element after the other."""
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> Any:
        leaves, tree = trees.flatten(tuple(args))
        flags = trees.broadcast_prefix(tuple(in_batched), tuple(args))
        stacked = [
            axis_to_front(x, 0 if b else None, axis_size)
            for x, b in zip(leaves, flags, strict=True)
        ]
        result = lax_map(lambda row: f(*tree.unflatten(row)), stacked)
        return result, trees.map(lambda _: True, result)

    return mapped


