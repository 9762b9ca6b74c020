"""pure_callback and io_callback: call Python when the program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit import trees
from frit.ir import dtypes
from frit.ir.types import ShapedArray, shaped_type
from frit.primitives import callbacks
from frit.primitives.callbacks import FlatCallback
from frit.runtime.array import as_array


class ArrayCallback(FlatCallback):
    """A function of pytrees that is called with Arrays."""

    def __call__(self, *flat: Any) -> Any:
        return super().__call__(*map(as_array, flat))


def _prepare(callback: Any, result_shape_dtypes: Any, args: Any, kwargs: Any) -> Any:
    if not callable(callback):
        raise TypeError(f"a callback must be callable, got {callback!r}")
    leaves, in_tree = trees.flatten((args, kwargs))
    results, out_tree = trees.flatten(result_shape_dtypes)
    types = []
    for r in results:
        if not hasattr(r, "shape") or not hasattr(r, "dtype"):
            raise TypeError(
                "result_shape_dtypes of a callback must be a pytree of objects with shape and "
                f"dtype, such as jax.ShapeDtypeStruct; got {r!r}."
            )
        dtype = r.dtype
        if dtypes.canonicalize(dtypes.as_dtype(dtype)) != dtype:
            raise ValueError(
                "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is "
                f"disabled: {dtype}. Set jax_enable_x64, or promise a 32-bit type."
            )
        aval = shaped_type(r)
        assert isinstance(aval, ShapedArray)
        types.append(aval.strip_weak_type())
    return leaves, ArrayCallback(callback, in_tree), tuple(types), out_tree


def pure_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
    vmap_method: str | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """The results of `callback(*args, **kwargs)`, called with arrays when the program runs.

    The callback must have no side effects.  result_shape_dtypes: a pytree of ShapeDtypeStructs.
    vmap_method: "sequential", "sequential_unrolled", "expand_dims", "broadcast_all".
    """
    known = (
        None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all",
        "broadcast_fullrank", "legacy_vectorized",
    )  # fmt: skip
    if vmap_method not in known:
        raise ValueError(f"vmap_method must be one of {known}; got {vmap_method!r}")
    leaves, flat, types, out_tree = _prepare(callback, result_shape_dtypes, args, kwargs)
    results = callbacks.pure_callback(
        *leaves, callback=flat, result_avals=types, sharding=sharding, vmap_method=vmap_method
    )
    return out_tree.unflatten(results)


def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
    ordered: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """As pure_callback, for a callback with side effects: it runs as often as the program says."""
    leaves, flat, types, out_tree = _prepare(callback, result_shape_dtypes, args, kwargs)
    results = callbacks.io_callback(
        *leaves, callback=flat, result_avals=types, sharding=sharding, ordered=ordered
    )
    return out_tree.unflatten(results)
