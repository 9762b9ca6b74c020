"""Helpers around calls, under the names of jax.api_util."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from frit import trees
from frit.api import signatures
from frit.extend import linear_util
from frit.ir.jaxpr import DebugInfo
from frit.ir.types import shaped_type

__all__ = [
    "argnums_partial", "debug_info", "donation_vector", "flatten_axes", "flatten_fun_nokwargs",
    "safe_map", "shaped_abstractify",
]  # fmt: skip

shaped_abstractify = shaped_type


def debug_info(
    traced_for: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], **_: Any
) -> DebugInfo:
    """Names of a function and its arguments, for messages."""
    signature = signatures.signature_of(fun)
    return signatures.describe(fun, signature, tuple(args), dict(kwargs), traced_for)


def flatten_fun_nokwargs(f: Any, in_tree: trees.PyTreeDef) -> tuple[Any, Callable[[], Any]]:
    """`f` from leaves to leaves, and a function that tells the tree of its results."""
    out: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        values, tree = trees.flatten(f.call_wrapped(*in_tree.unflatten(leaves)))
        out[:] = [tree]
        return values

    def out_tree() -> Any:
        if not out:
            raise linear_util.StoreException("Store empty: the function has not run")
        return out[0]

    return linear_util.wrap_init(flat, debug_info=f.debug_info), out_tree


def argnums_partial(
    f: Any, dyn_argnums: Any, args: Sequence[Any], require_static_args_hashable: bool = True
) -> tuple[Any, tuple[Any, ...]]:
    """`f` of the arguments in `dyn_argnums` only, and these."""
    numbers = [n % len(args) for n in signatures.as_index_tuple(dyn_argnums, "dyn_argnums")]

    def partial(*chosen: Any, **kwargs: Any) -> Any:
        full = list(args)
        for i, x in zip(numbers, chosen, strict=True):
            full[i] = x
        return f.call_wrapped(*full, **kwargs)

    wrapped = linear_util.wrap_init(partial, debug_info=f.debug_info)
    return wrapped, tuple(args[i] for i in numbers)


def flatten_axes(name: str, treedef: trees.PyTreeDef, axis_tree: Any, **_: Any) -> list[Any]:
    """One axis for each leaf of `treedef`, from a prefix tree in which None is a leaf."""
    example = treedef.unflatten([0] * treedef.num_leaves)
    marked = trees.map(lambda a: (a,), axis_tree, is_leaf=lambda a: a is None)
    boxed = trees.map(functools.partial(_Box), marked, is_leaf=lambda a: isinstance(a, tuple))
    try:
        return [b.value[0] for b in trees.broadcast_prefix(boxed, example)]
    except ValueError as error:
        raise ValueError(
            f"{name} specification must be a tree prefix of the corresponding value, got "
            f"specification {axis_tree} for value tree {treedef}. ({error})"
        ) from None


class _Box:
    def __init__(self, value: Any) -> None:
        self.value = value


def donation_vector(
    donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: trees.PyTreeDef
) -> tuple[bool, ...]:
    """For each leaf of (args, kwargs), whether it is donated."""
    args, kwargs = in_tree.unflatten([0] * in_tree.num_leaves)
    flags: list[bool] = []
    for i, x in enumerate(args):
        flags += [i in donate_argnums] * trees.structure(x).num_leaves
    for key in sorted(kwargs):
        flags += [key in donate_argnames] * trees.structure(kwargs[key]).num_leaves
    return tuple(flags)


def safe_map(function: Callable[..., Any], *sequences: Iterable[Any]) -> list[Any]:
    """`map` as a list; ValueError where the lengths differ."""
    return [function(*values) for values in zip(*sequences, strict=True)]
