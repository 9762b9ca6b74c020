"""custom_vmap: functions that tell how they are mapped."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from frit import errors, trees
from frit.api import signatures
from frit.api.custom_calls import forwarded_method, resolve_positional
from frit.ir.jaxpr import ClosedJaxpr, evaluate_closed, run_closed
from frit.ir.primitive import Primitive
from frit.ir.types import typeof
from frit.lax.loops import map as lax_map
from frit.primitives.calls import prune_call
from frit.transforms import jvp as forward
from frit.transforms.batch import Axis, batch, to_axis
from frit.transforms.jvp import jvp_jaxpr
from frit.transforms.linear import axis_to_front, instantiate, move_axis
from frit.transforms.trace import trace_to_jaxpr

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap:
    """A function with its own batching rule, given by `def_vmap`.

    rule(axis_size, in_batched, *args) -> results, out_batched; mapped axes are in front.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return forwarded_method(self, name)

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = signatures.function_name(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name} using def_vmap. Call "
                f"{name}.def_vmap(rule) first."
            )
        args = resolve_positional(self.fun, args, kwargs, "custom_vmap")
        leaves, tree = trees.flatten((args, {}))
        out: list[Any] = []
        flat = signatures.flat_function(self.fun, tree, out)
        jaxpr, captured = trace_to_jaxpr(flat, [typeof(x) for x in leaves])
        opened = jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars])
        rule = _Rule(self.vmap_rule, self.fun, tree, out[0], len(captured))
        results = custom_vmap_call(*captured, *leaves, jaxpr=ClosedJaxpr(opened), rule=rule)
        return out[0].unflatten(results)


class _Rule:
    """The user's rule on flat values: (size, values, which are mapped) -> (results, which are)."""

    def __init__(
        self, rule: Callable[..., Any], function: Any, in_tree: Any, out_tree: Any, captured: int
    ) -> None:
        self.rule, self.function, self.captured = rule, function, captured
        self.in_tree, self.out_tree = in_tree, out_tree

    def __repr__(self) -> str:
        return signatures.function_name(self.rule)

    def __call__(
        self, size: int, values: Sequence[Any], batched: Sequence[bool]
    ) -> tuple[list[Any], list[bool]]:
        name = signatures.function_name(self.rule)
        if any(batched[: self.captured]):
            raise errors.UnexpectedTracerError(
                f"custom_vmap function {signatures.function_name(self.function)} closes over a "
                "value that is mapped, of which its rule does not know: pass it as an argument."
            )
        args, _ = self.in_tree.unflatten(values[self.captured :])
        flags, _ = self.in_tree.unflatten(list(batched[self.captured :]))
        pair = self.rule(size, list(flags), *args)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(
                f"custom vmap rule ({name}) must return a pair (results, out_batched), got "
                f"{pair!r}."
            )
        results, out_tree = trees.flatten(pair[0])
        marks, mark_tree = trees.flatten(pair[1])
        if out_tree != mark_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom "
                f"vmap rule ({name}) do not match: {out_tree} and {mark_tree}."
            )
        if out_tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({name}) does not match that of "
                f"original custom-vmapped function: {out_tree} and {self.out_tree}."
            )
        return results, list(marks)


class _RuleOfTangents:
    """The rule of the derivative of a mapped function: the derivative of its rule."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule

    def __repr__(self) -> str:
        return f"jvp({self.rule})"

    def __call__(
        self, size: int, values: Sequence[Any], batched: Sequence[bool]
    ) -> tuple[list[Any], list[bool]]:
        n = len(values) // 2
        primals, tangents = list(values[:n]), list(values[n:])
        of_primals, of_tangents = list(batched[:n]), list(batched[n:])
        both = [p and t for p, t in zip(of_primals, of_tangents, strict=True)]
        alone = [p != t for p, t in zip(of_primals, of_tangents, strict=True)]
        if any(both) and any(alone):
            # Some arguments are mapped for the rule: so is whatever is mapped at all.
            both = [p or t for p, t in zip(of_primals, of_tangents, strict=True)]
            primals = _stack(primals, of_primals, both, size)
            tangents = _stack(tangents, of_tangents, both, size)
            return self._run(size, primals, tangents, both, [None] * (2 * n))
        extra = [0 if b and a else None for b, a in zip(batched, [*alone, *alone], strict=True)]
        return self._run(size, primals, tangents, both, extra)

    def _run(
        self, size: int, primals: list[Any], tangents: list[Any], both: list[bool], extra: list[Any]
    ) -> tuple[list[Any], list[bool]]:
        """The derivative of the rule, mapped over the axes that only primal or tangent has."""
        marks: list[bool] = []

        def rule(*xs: Any) -> list[Any]:
            results, marks[:] = self.rule(size, xs, both)
            return results

        def derivative(*values: Any) -> list[Any]:
            n = len(primals)
            results, moved = forward.jvp(rule, values[:n], values[n:])
            return [*results, *map(instantiate, moved)]

        if not any(d is not None for d in extra):
            return derivative(*primals, *tangents), [*marks, *marks]
        found, dims = batch(derivative, Axis(None, size), [*primals, *tangents], extra)
        return (
            [
                to_axis(r, d, 0, size) if d is not None else r
                for r, d in zip(found, dims, strict=True)
            ],
            [m or d is not None for m, d in zip([*marks, *marks], dims, strict=True)],
        )


def _stack(
    values: Sequence[Any], have: Sequence[bool], want: Sequence[bool], size: int
) -> list[Any]:
    """Values with the mapped axis in front, where it is wanted."""
    return [
        axis_to_front(x, 0 if h else None, size) if w else x
        for x, h, w in zip(values, have, want, strict=True)
    ]


def _batch(axis: Any, operands: Any, mapped: Any, *, jaxpr: ClosedJaxpr, rule: Any) -> Any:
    values = [x if d is None else move_axis(x, d, 0) for x, d in zip(operands, mapped, strict=True)]
    results, out = rule(axis.size, values, [d is not None for d in mapped])
    return results, [0 if b else None for b in out]


def _jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, rule: Any) -> Any:
    moved, _ = jvp_jaxpr(jaxpr, (True,) * len(primals), True)
    operands = [*primals, *map(instantiate, tangents)]
    results = custom_vmap_call(*operands, jaxpr=moved, rule=_RuleOfTangents(rule))
    n = len(jaxpr.out_avals)
    return results[:n], results[n:]


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
        flags = trees.leaves(tuple(in_batched))
        moving = [x for x, b in zip(leaves, flags, strict=True) if b]

        def row(slices: Any) -> Any:
            given = iter(slices)
            return mapped(
                *tree.unflatten(
                    [next(given) if b else x for x, b in zip(leaves, flags, strict=True)]
                )
            )

        result = lax_map(row, moving)
        return result, trees.map(lambda _: True, result)

    return mapped
