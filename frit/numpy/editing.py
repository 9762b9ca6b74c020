"""Elements inserted into an array, or removed from it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy.creation import array, asarray
from frit.numpy.operands import (
    canonical_axes,
    canonical_axis,
    concrete,
    ensure_array,
    ensure_arrays,
    is_array,
)
from frit.numpy.promotion import broadcast_to
from frit.numpy.ranges import arange
from frit.numpy.reductions import sum as sum_of
from frit.numpy.rounding import clip
from frit.numpy.searching import nonzero
from frit.numpy.selection import where
from frit.numpy.shapes import moveaxis, ravel
from frit.numpy.sorting import argsort, sort


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """`arr` without the slices `obj` along `axis`: an index, a slice, indices or a mask.

    assume_unique_indices: `obj` may then be traced.
    """
    a = ensure_array("delete", arr)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    size = a.shape[axis]
    lead = (slice(None),) * axis
    if isinstance(obj, slice):
        obj, assume_unique_indices = arange(size)[obj], True
    elif not isinstance(obj, (list, tuple)) and np.ndim(obj) == 0 and _is_index(obj):
        at = canonical_axis(operator.index(obj), size)
        parts = [lax.slice_in_dim(a, 0, at, axis=axis)]
        return lax.concatenate([*parts, lax.slice_in_dim(a, at + 1, size, axis=axis)], axis)
    obj = ensure_array("delete", obj)
    if dtypes.is_integer(obj.dtype) and assume_unique_indices:
        return a[(*lead, _remaining(ravel(obj), size))]
    known = np.asarray(concrete(obj, "'obj' array argument of jnp.delete()"))
    if dtypes.is_integer(obj.dtype):
        keep = np.ones(size, dtype=bool)
        keep[known] = False
    elif dtypes.is_bool(obj.dtype):
        if known.shape != (size,):
            raise ValueError(
                "np.delete(arr, obj): for boolean indices, obj must be one-dimensional with length "
                "matching specified axis."
            )
        keep = ~known
    else:
        raise ValueError(
            f"np.delete(arr, obj): got obj.dtype={obj.dtype}; must be integer or bool."
        )
    return a[(*lead, keep)]


def _is_index(obj: Any) -> bool:
    try:
        operator.index(obj)
    except TypeError:
        return False
    return True


def _remaining(removed: Any, size: int) -> Any:
    """The indices below `size` that are not among `removed`, which are all different.

    The kth of them is k plus how many removed ones, each less its rank, are not above k.
    """
    removed = where(removed < 0, removed + size, removed)
    removed = sort(clip(removed, 0, size))
    count = removed.shape[0]
    shifted = removed - lax.iota(removed.dtype, count)
    kept = lax.iota(removed.dtype, size - count)
    return kept + sum_of(kept[None, :] >= shifted[:, None], axis=0, dtype=removed.dtype)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """`arr` with `values` inserted before the indices `obj` along `axis`."""
    a, values = ensure_arrays("insert", arr, values)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    size = a.shape[axis]
    places = arange(*obj.indices(size)) if isinstance(obj, slice) else asarray(obj)
    if places.ndim > 1:
        raise ValueError(
            f"jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; got {obj}"
        )
    if not dtypes.is_integer(places.dtype):
        if places.size or is_array(obj):
            raise ValueError(f"jnp.insert(): index array must be integer typed; got {obj}")
        places = lax.convert_element_type(places, np.int32)
    values = array(values, ndmin=a.ndim, dtype=a.dtype, copy=False)
    if places.size == 1:
        if places.ndim == 0:
            values = moveaxis(values, 0, axis)
        places = lax.broadcast_in_dim(lax.reshape(places, ()), (values.shape[axis],), ())
    count = lax.broadcast_shapes(places.shape, (values.shape[axis],))[0]
    places = broadcast_to(places, (count,))
    places = clip(where(places < 0, places + size, places), 0, size)
    order = argsort(places)
    new = places.at[order].add(lax.iota(places.dtype, count))
    is_old = lax.full((size + count,), True, np.bool_).at[new].set(False)
    old = nonzero(is_old, size=size)[0]
    lead = (slice(None),) * axis
    out = lax.full_like(a, 0, shape=(*a.shape[:axis], size + count, *a.shape[axis + 1 :]))
    return out.at[(*lead, new)].set(values).at[(*lead, old)].set(a)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """`filt` without the zeros at its front ("f") and back ("b"), along `axis`."""
    filt = ensure_array("trim_zeros", filt)
    known = np.asarray(concrete(filt, "Error arose in the `filt` argument of trim_zeros()"))
    axes = canonical_axes(axis, filt.ndim)
    if not isinstance(trim, str):
        raise TypeError(f"trim_zeros: `trim` must be 'f', 'b' or 'fb', got {trim!r}.")
    letters = trim.lower()
    bounds = []
    for i in range(filt.ndim):
        if i not in axes:
            bounds.append(slice(None))
            continue
        nonzero_at = np.nonzero(known.any(axis=tuple(j for j in range(filt.ndim) if j != i)))[0]
        if nonzero_at.size == 0:
            bounds.append(slice(0, 0) if letters else slice(None))
            continue
        bounds.append(
            slice(
                int(nonzero_at[0]) if "f" in letters else None,
                int(nonzero_at[-1]) + 1 if "b" in letters else None,
            )
        )
    return filt[tuple(bounds)]
