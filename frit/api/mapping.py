"""vmap: a function of one example as a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import trees
from frit.api import signatures
from frit.ir.types import typeof
from frit.runtime.array import Array
from frit.transforms.batch import Axis, batch, to_axis
from frit.transforms.linear import insert_axis, take_lane

_VMAP_DOC = (
    "Vectorized version of {fun}. Takes similar arguments as {fun} but with additional array axes "
    "over which {fun} is mapped."
)


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable[..., Any]:
    """`fun`, mapped over an axis of its arguments.

    in_axes: for each positional argument, an int or None, or a prefix tree of those; keyword
    arguments are mapped over axis 0.  out_axes: where the mapped axis is in each result.  With
    `axis_name`, collectives such as lax.psum can reduce over it.

    >>> import frit as jax, frit.numpy as jnp
    >>> jax.vmap(lambda x, y: x + y, in_axes=(0, None))(jnp.arange(3.), 1.0)
    Array([1., 2., 3.], dtype=float32)
    """
    signatures.check_callable(fun, "vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes!r}."
        )
    _check_axes(in_axes, "in_axes")
    _check_axes(out_axes, "out_axes")

    @signatures.documented(fun, _VMAP_DOC)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                "positional arguments passed to the function, but got "
                f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
            )
        leaves, tree = trees.flatten((args, kwargs))
        positional, by_name = tree.children()
        dims = _flat_axes("vmap in_axes", in_axes, positional) + [0] * by_name.num_leaves
        dims = [_normalised(x, d) for x, d in zip(leaves, dims, strict=True)]
        size = _mapped_size(fun, leaves, dims, axis_size, args, kwargs)
        out: list[Any] = []
        flat = signatures.flat_function(fun, tree, out)
        axis = Axis(axis_name, size, spmd_axis_name)
        results, found = batch(flat, axis, leaves, dims)
        targets = _flat_axes("vmap out_axes", out_axes, out[0])
        return out[0].unflatten(
            [_placed(r, d, t, axis) for r, d, t in zip(results, found, targets, strict=True)]
        )

    return mapped


def _check_axes(axes: Any, name: str) -> None:
    for leaf in trees.leaves(axes):
        if type(leaf) is not int and not isinstance(leaf, np.integer):
            raise TypeError(
                f"vmap {name} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axes!r}."
            )


def _flat_axes(name: str, axes: Any, tree: Any) -> list[int | None]:
    """One axis (or None) for each leaf of a tree, from a prefix tree in which None is a leaf."""
    marked = trees.map(_Axis, axes, is_leaf=lambda a: a is None)
    example = tree.unflatten([_Leaf()] * tree.num_leaves)
    try:
        return [a.value for a in trees.broadcast_prefix(marked, example)]
    except ValueError:
        found = [str(error(name)) for error in trees.prefix_errors(marked, example)]
        details = "\n".join(found).replace("\n", "\n  ")
        raise ValueError(
            f"{name} specification must be a tree prefix of the corresponding value; got "
            f"specification {axes} for value tree {tree}.\n  Mismatch details ({len(found)} found):"
            f"\n  {details}"
        ) from None


class _Axis:
    """An axis number or None, as one leaf."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = None if value is None else int(value)


class _Leaf:
    """Stands for an array in messages about structures."""


def _normalised(x: Any, axis: int | None) -> int | None:
    if axis is None:
        return None
    rank = len(getattr(typeof(x), "shape", ()))
    if not -rank <= axis < rank:
        raise ValueError(
            f"vmap was requested to map its argument along axis {axis}, which implies that its "
            f"rank should be at least {axis + 1 if axis >= 0 else -axis}, but is only {rank} (its "
            "shape "
            f"is {typeof(x).shape})"  # type: ignore[attr-defined]
        )
    return axis % rank


def _mapped_size(
    fun: Any, leaves: Sequence[Any], dims: Sequence[Any], axis_size: Any, args: Any, kwargs: Any
) -> Any:
    sizes = [
        typeof(x).shape[d]  # type: ignore[attr-defined]
        for x, d in zip(leaves, dims, strict=True)
        if d is not None
    ]
    if not sizes and axis_size is None:
        if not leaves:
            raise ValueError(
                "vmap wrapped function must be passed at least one argument containing an array or "
                f"axis_size must be specified, got empty *args={args} and **kwargs={kwargs}"
            )
        raise ValueError("vmap must have at least one non-None value in in_axes")
    distinct = list(dict.fromkeys(sizes))
    if len(distinct) > 1 or (axis_size is not None and distinct not in ([], [axis_size])):
        lines = _size_lines(fun, leaves, dims, args, kwargs)
        if axis_size is not None:
            lines.insert(0, f"the `axis_size` argument was {axis_size}")
        raise ValueError(
            "vmap got inconsistent sizes for array axes to be mapped:\n"
            + ";\n".join(f"  * {line}" for line in lines)
        )
    return distinct[0] if distinct else axis_size


def _size_lines(
    fun: Any, leaves: Sequence[Any], dims: Sequence[Any], args: Any, kwargs: Any
) -> list[str]:
    """For each size of a mapped axis, most frequent first, an argument that has it."""
    names = signatures.argument_names(signatures.signature_of(fun), trees.paths((args, kwargs)))
    groups: dict[Any, list[str]] = {}
    for i, (x, d, name) in enumerate(zip(leaves, dims, names, strict=True)):
        if d is not None:
            aval: Any = typeof(x)
            by_name = i >= trees.structure(args).num_leaves
            called = f"kwargs[{name!r}]" if by_name else f"argument {name}"
            text = f"axis {d} of {called} of type {aval.str_short().removeprefix('~')}"
            groups.setdefault(aval.shape[d], []).append(text)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    if len({len(texts) for texts in groups.values()}) == 1 and len(groups) > 1:
        one = all(len(texts) == 1 for texts in groups.values())
        return [
            f"one axis had size {size}: {texts[0]}"
            if one
            else f"some axes ({len(texts)} of them) had size {size}, e.g. {texts[0]}"
            for size, texts in groups.items()
        ]
    (size, texts), *others = ordered
    first = f"one axis had size {size}: {texts[0]}"
    if len(texts) > 1:
        first = f"most axes ({len(texts)} of them) had size {size}, e.g. {texts[0]}"
    return [first] + [
        f"one axis had size {n}: {ts[0]}"
        if len(ts) == 1
        else f"some axes ({len(ts)} of them) had size {n}, e.g. {ts[0]}"
        for n, ts in others
    ]


def _placed(value: Any, mapped: int | None, target: int | None, axis: Axis) -> Any:
    if target is None:
        if mapped is not None:
            raise ValueError(
                f"vmap has mapped output{_named(axis)} but out_axes is None: at vmap out_axes, got "
                "axis spec None "
                f"but output was batched on axis {mapped}. The result differs for each element: "
                "give it an axis in out_axes, or reduce it over the mapped axis."
            )
        return value
    rank = len(typeof(value).shape) + (mapped is None)  # type: ignore[attr-defined]
    if not -rank <= target < rank:
        raise ValueError(
            f"axis {target} is out of bounds for array of dimension {rank}: vmap was requested by "
            "out_axes to put its mapped axis there."
        )
    return to_axis(value, mapped, target % rank, axis.size)


def _named(axis: Axis) -> str:
    return "" if axis.name is None else f" (axis_name={axis.name})"


def pmap(
    fun: Callable[..., Any],
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Any = (),
    donate_argnums: Any = (),
    **_: Any,
) -> Callable[..., Any]:
    """`fun` over devices.  There is one device: axes of size 1 are mapped, larger ones refused."""
    signatures.check_callable(fun, "pmap")
    static = signatures.as_index_tuple(static_broadcasted_argnums, "static_broadcasted_argnums")

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if any(n >= len(args) for n in static):
            raise ValueError(
                f"pmapped function has static_broadcasted_argnums={static} but was called with "
                f"only {len(args)} positional argument{'s' * (len(args) != 1)}. All static "
                "broadcasted arguments must be passed positionally."
            )
        if not trees.leaves((args, kwargs)):
            raise ValueError("pmap requires at least one argument with a mapped axis.")
        axes: Any = in_axes
        if static:
            each = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
            axes = tuple(None if i in static else a for i, a in enumerate(each))
        for i, x in enumerate(args):
            for leaf in trees.leaves(x) if i not in static else ():
                shape = typeof(leaf).shape  # type: ignore[attr-defined]
                if shape and shape[0] > 1:
                    raise ValueError(
                        f"compiling computation that requires {shape[0]} logical devices, but only "
                        "1 XLA devices are available; use vmap."
                    )
        fixed = {i: args[i] for i in static}

        def function(*given: Any, **named: Any) -> Any:
            return fun(*(fixed.get(i, x) for i, x in enumerate(given)), **named)

        open_args = tuple(None if i in static else x for i, x in enumerate(args))
        if axis_name is None:
            results = _on_one_device(function, open_args, kwargs, axes, out_axes)
        else:
            inner = vmap(function, in_axes=axes, out_axes=out_axes, axis_name=axis_name)
            results = inner(*open_args, **kwargs)
        for i in signatures.as_index_tuple(donate_argnums, "donate_argnums"):
            for leaf in trees.leaves(args[i]):
                if type(leaf) is Array:
                    leaf.delete()
        return results

    return mapped


def _on_one_device(function: Any, args: Any, kwargs: Any, in_axes: Any, out_axes: Any) -> Any:
    """`function` of the one slice along the mapped axes, its results with an axis of size 1."""
    leaves, tree = trees.flatten((args, kwargs))
    positional, by_name = tree.children()
    dims = _flat_axes("pmap in_axes", in_axes, positional) + [0] * by_name.num_leaves
    slices = [
        x if d is None else take_lane(x, _normalised(x, d), 0)  # type: ignore[arg-type]
        for x, d in zip(leaves, dims, strict=True)
    ]
    given, named = tree.unflatten(slices)
    values, out_tree = trees.flatten(function(*given, **named))
    targets = _flat_axes("pmap out_axes", out_axes, out_tree)
    return out_tree.unflatten(
        [v if t is None else insert_axis(v, t, 1) for v, t in zip(values, targets, strict=True)]
    )
