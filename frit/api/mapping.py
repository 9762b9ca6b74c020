"""vmap: a function of one example as a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from frit import trees
from frit.api import signatures
from frit.ir.types import typeof
from frit.transforms.batch import Axis, batch, to_axis


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

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                f"positional arguments passed to the function, but got len(in_axes)={len(in_axes)}, "
                f"len(args)={len(args)}"
            )
        leaves, tree = trees.flatten((args, kwargs))
        dims = _flat_axes("in_axes", (in_axes, 0), (args, kwargs), tree)
        dims = [_normalised(x, d) for x, d in zip(leaves, dims, strict=True)]
        size = _mapped_size(fun, leaves, dims, axis_size, args, kwargs)
        out: list[Any] = []
        flat = signatures.flat_function(fun, tree, out)
        axis = Axis(axis_name, size, spmd_axis_name)
        results, found = batch(flat, axis, leaves, dims)
        targets = _flat_axes("out_axes", out_axes, out[0].unflatten(results), out[0])
        return out[0].unflatten(
            [_placed(r, d, t, size) for r, d, t in zip(results, found, targets, strict=True)]
        )

    return mapped


def _check_axes(axes: Any, name: str) -> None:
    for leaf in trees.leaves(axes):
        if type(leaf) is not int and not hasattr(leaf, "__index__"):
            raise TypeError(
                f"vmap {name} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axes!r}."
            )


def _flat_axes(name: str, axes: Any, tree_value: Any, tree: Any) -> list[int | None]:
    """One axis (or None) for each leaf, from a prefix tree in which None is a leaf."""
    marked = trees.map(lambda a: _Axis(a), axes, is_leaf=lambda a: a is None)
    try:
        return [a.value for a in trees.broadcast_prefix(marked, tree_value)]
    except ValueError as error:
        raise ValueError(
            f"vmap {name} specification must be a tree prefix of the corresponding value, got "
            f"specification {axes} for value tree {tree}. ({error})"
        ) from None


class _Axis:
    """An axis number or None, as one leaf."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = None if value is None else int(value)


def _normalised(x: Any, axis: int | None) -> int | None:
    if axis is None:
        return None
    rank = len(getattr(typeof(x), "shape", ()))
    if not -rank <= axis < rank:
        raise ValueError(
            f"vmap was requested to map its argument along axis {axis}, which implies that its rank "
            f"should be at least {axis + 1 if axis >= 0 else -axis}, but is only {rank} (its shape "
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
    if axis_size is not None:
        sizes = [axis_size, *sizes]
    if not sizes:
        raise ValueError("vmap must have at least one non-None value in in_axes")
    if len(set(sizes)) > 1:
        names = signatures.argument_names(signatures.signature_of(fun), trees.paths((args, kwargs)))
        lines = [
            f"  * axis {d} of argument {n} of type {typeof(x).str_short(short_dtypes=True)} has "
            f"size {typeof(x).shape[d]};"  # type: ignore[attr-defined]
            for x, d, n in zip(leaves, dims, names, strict=True)
            if d is not None
        ]
        told = f"axis_size={axis_size} was given; " if axis_size is not None else ""
        raise ValueError(
            "vmap got inconsistent sizes for array axes to be mapped:\n" + told + "\n".join(lines)
        )
    return sizes[0]


def _placed(value: Any, mapped: int | None, target: int | None, size: Any) -> Any:
    if target is None:
        if mapped is not None:
            raise ValueError(
                "vmap has mapped output but out_axes is None: the result differs for each element; "
                "give it an axis in out_axes, or reduce it over the mapped axis."
            )
        return value
    rank = len(typeof(value).shape) + (mapped is None)  # type: ignore[attr-defined]
    if not -rank <= target < rank:
        raise ValueError(
            f"vmap was requested to put its mapped axis at out_axes={target} of a result of rank "
            f"{rank}"
        )
    return to_axis(value, mapped, target % rank, size)


def pmap(fun: Callable[..., Any], axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0,
         **_: Any) -> Callable[..., Any]:  # fmt: skip
    """`fun` over devices.  There is one device: axes of size 1 are mapped, larger ones refused."""
    inner = vmap(fun, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        for x in trees.leaves(args):
            size = typeof(x).shape[0] if typeof(x).shape else 1  # type: ignore[attr-defined]
            if size > 1:
                raise ValueError(
                    "compiling computation that requires "
                    f"{size} logical devices, but only 1 XLA devices are available; use vmap."
                )
        return inner(*args, **kwargs)

    return mapped
