"""checkpoint: less memory for more work; values are computed again in the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from frit import trees
from frit.api import signatures
from frit.ir.types import typeof
from frit.primitives.calls import name as name_primitive
from frit.primitives.calls import remat as remat_primitive
from frit.runtime import cache
from frit.runtime.cache import StaticValue
from frit.transforms.trace import trace_closed


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: Any = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: Any = (),
    concrete: bool = False,
) -> Any:
    """`fun`, whose intermediate values are computed again when it is differentiated in reverse.

    policy: which values to save instead; see `checkpoint_policies`.  static_argnums: arguments
    that are not traced.
    """
    if fun is None:
        return functools.partial(
            checkpoint, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums
        )
    signatures.check_callable(fun, "checkpoint")

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        numbers = {
            n % len(args)
            for n in signatures.as_index_tuple(static_argnums, "static_argnums")
            if args
        }
        dynamic = tuple(x for i, x in enumerate(args) if i not in numbers)
        leaves, tree = trees.flatten((dynamic, kwargs))
        label = signatures.function_name(fun)
        static = tuple((n, StaticValue(args[n], f"number {n}", label)) for n in sorted(numbers))

        def full(given: Any, keywords: Any) -> Any:
            rest = iter(given)
            return [args[i] if i in numbers else next(rest) for i in range(len(args))], keywords

        def trace() -> Any:
            out: list[Any] = []
            flat = signatures.flat_function(fun, tree, out, full)
            info = signatures.describe(
                fun, signatures.signature_of(fun), dynamic, kwargs, "checkpoint / remat"
            )
            closed, captured = trace_closed(flat, [typeof(x) for x in leaves], info)
            return closed, captured, out[0]

        key = cache.make_key("checkpoint", [typeof(x) for x in leaves], tree, static)
        entry, captured = cache.trace_once(fun, key, trace)
        results = remat_primitive(
            *captured,
            *leaves,
            jaxpr=entry.closed,
            prevent_cse=prevent_cse,
            differentiated=False,
            policy=policy,
        )
        return entry.out_tree.unflatten(results)

    return checkpointed


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, named for the policies `save_only_these_names` and the like.  x: a pytree of arrays."""
    return trees.map(lambda leaf: name_primitive(leaf, name=name), x)


def _everything(*_: Any, **__: Any) -> bool:
    return True


def _nothing(*_: Any, **__: Any) -> bool:
    return False


def _dots(primitive: Any, *_: Any, **__: Any) -> bool:
    return primitive.name in ("dot_general", "conv_general_dilated")


def _dots_without_batch(primitive: Any, *_: Any, **params: Any) -> bool:
    if primitive.name != "dot_general":
        return False
    _, (lhs, rhs) = params["dimension_numbers"]
    return not lhs and not rhs


def _these_names(*names: str) -> Callable[..., bool]:
    wanted = frozenset(names)
    return lambda primitive, *_, **params: primitive.name == "name" and params["name"] in wanted


def _any_names_but(*names: str) -> Callable[..., bool]:
    refused = frozenset(names)
    return lambda primitive, *_, **params: (
        primitive.name == "name" and params["name"] not in refused
    )


def _anything_except(*names: str) -> Callable[..., bool]:
    refused = frozenset(names)
    return lambda primitive, *_, **params: (
        not (primitive.name == "name" and params["name"] in refused)
    )


def _both(first: Callable[..., bool], second: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *args, **params: first(*args, **params) or second(*args, **params)


def _offloadable(
    *, names_which_can_be_saved: Sequence[str], names_which_can_be_offloaded: Sequence[str],
    offload_src: str, offload_dst: str,
) -> Callable[..., bool]:  # fmt: skip
    """There is one memory: what may be offloaded is saved."""
    return _these_names(*names_which_can_be_saved, *names_which_can_be_offloaded)


checkpoint_policies = SimpleNamespace(
    everything_saveable=_everything,
    nothing_saveable=_nothing,
    dots_saveable=_dots,
    checkpoint_dots=_dots,
    dots_with_no_batch_dims_saveable=_dots_without_batch,
    checkpoint_dots_with_no_batch_dims=_dots_without_batch,
    save_only_these_names=_these_names,
    save_any_names_but_these=_any_names_but,
    save_anything_except_these_names=_anything_except,
    save_from_both_policies=_both,
    save_and_offload_only_these_names=_offloadable,
)
