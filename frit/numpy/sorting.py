"""Sorting, and the indices that sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy.index_plan import index_dtype
from frit.numpy.jitted import jitted
from frit.numpy.operands import canonical_axis, ensure_array, ensure_arrays
from frit.numpy.promotion import default_int, requested_dtype, to_complex
from frit.numpy.shapes import ravel


def _check_sort_arguments(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to "
            "specify sort stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    return (ravel(a), 0) if axis is None else (a, canonical_axis(axis, a.ndim))


@jitted(static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """`a` sorted along `axis`, nan last; flattened first if it is None."""
    _check_sort_arguments("sort", kind, order)
    a, axis = _along(ensure_array("sort", a), axis)
    result = lax.sort(a, dimension=axis, is_stable=stable)
    return lax.rev(result, (axis,)) if descending else result


def _positions_dtype(shape: tuple[Any, ...]) -> Any:
    found = index_dtype(shape)
    return default_int() if found == np.int32 else found


@jitted(static_argnames=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """The indices that sort `a` along `axis`; equal elements keep their order if `stable`."""
    _check_sort_arguments("argsort", kind, order)
    a, axis = _along(ensure_array("argsort", a), axis)
    if dtype is None:
        dtype = _positions_dtype((a.shape[axis],))
    else:
        dtype = requested_dtype(dtype, "argsort")
    positions = lax.broadcasted_iota(dtype, a.shape, axis)
    if descending and stable:  # reversed twice, so that equal elements end in their first order
        a, positions = lax.rev(a, (axis,)), lax.rev(positions, (axis,))
    _, indices = lax.sort_key_val(a, positions, dimension=axis, is_stable=stable)
    return lax.rev(indices, (axis,)) if descending else indices


def _split_at_kth(name: str, a: Any, kth: int, axis: int) -> tuple[Any, int]:
    a = ensure_array(name, a)
    if dtypes.is_complex(a.dtype):
        raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
    axis = canonical_axis(axis, a.ndim)
    canonical_axis(kth, a.shape[axis])
    return a, axis


@jitted(static_argnames=("kth", "axis"))
def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """`a` with its kth element along `axis` in sorted place, smaller ones before, larger after."""
    a, axis = _split_at_kth("partition", a, kth, axis)
    return lax.sort(a, dimension=axis)


@jitted(static_argnames=("kth", "axis"))
def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The indices that partition `a` at its kth element along `axis`."""
    a, axis = _split_at_kth("argpartition", a, kth, axis)
    return argsort(a, axis=axis)


@jitted
def sort_complex(a: Any) -> Any:
    """`a` sorted along its last axis, by real and then by imaginary part, as complex numbers."""
    a = lax.sort(ensure_array("sort_complex", a))
    return lax.convert_element_type(a, to_complex(a.dtype))


@jitted(static_argnames="axis")
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices that sort by the last key, equal ones by the key before it, and so on."""
    arrays = ensure_arrays("lexsort", *keys)
    if not arrays:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({a.shape for a in arrays}) > 1:
        raise ValueError("all keys need to be the same shape")
    if arrays[0].ndim == 0:
        return lax.full((), 0, default_int())
    axis = canonical_axis(axis, arrays[0].ndim)
    dtype = _positions_dtype((arrays[0].shape[axis],))
    positions = lax.broadcasted_iota(dtype, arrays[0].shape, axis)
    return lax.sort((*arrays[::-1], positions), dimension=axis, num_keys=len(arrays))[-1]
