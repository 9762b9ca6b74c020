"""Elements taken from, and put to, positions that arrays tell."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.lax.bounds import check_bounds, checks_bounds
from frit.numpy.creation import asarray
from frit.numpy.grids import eye, indices
from frit.numpy.index_plan import index_dtype
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_array,
    canonical_axis,
    check_arraylike,
    check_no_out,
    concrete,
    ensure_array,
    ensure_arrays,
)
from frit.numpy.promotion import (
    broadcast_arrays,
    broadcast_to,
    constant_like,
    convert,
    promote_dtypes,
    requested_dtype,
)
from frit.numpy.reductions import any as any_of
from frit.numpy.reductions import sum as sum_of
from frit.numpy.rounding import clip
from frit.numpy.searching import argmax
from frit.numpy.selection import to_bool, where
from frit.numpy.shapes import moveaxis, ravel
from frit.numpy.sorting import argsort
from frit.numpy.ufuncs import remainder


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """The slices of `a` at `indices` along `axis`, of the flattened array if it is None.

    mode: what an index out of bounds gives: "fill" (the default: nan, or the extreme integer),
    "clip" or "wrap".
    """
    axis = None if axis is None else operator.index(axis)
    if mode is None:
        _check_along(a, indices, axis)
    return _take(a, indices, axis, out, mode, unique_indices, indices_are_sorted, fill_value)


@jitted(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(
    a: Any,
    indices: Any,
    axis: int | None,
    out: None,
    mode: str | None,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> Any:
    check_no_out("take", out)
    a, indices = ensure_arrays("take", a, indices)
    if not dtypes.is_integer(indices.dtype):
        raise ValueError("indices must have an integer type")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    size = a.shape[axis]
    if mode in (None, "fill"):
        gather_mode = lax.GatherScatterMode.FILL_OR_DROP
        indices = _wrap_negative(indices, size)
    elif mode == "wrap":
        gather_mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
        indices = remainder(indices, constant_like(indices, size))
    elif mode == "clip":
        gather_mode = lax.GatherScatterMode.CLIP
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    else:
        raise ValueError(f"Invalid mode '{mode}' for np.take")
    if size == 0 and indices.size != 0:
        raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
    if size == 0 or indices.size == 0:
        shape = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])
        return lax.full_like(a, 0, shape=shape)
    behind = range(axis + indices.ndim, a.ndim + indices.ndim - 1)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(axis), *behind), collapsed_slice_dims=(axis,), start_index_map=(axis,)
    )
    return lax.gather(
        a, lax.expand_dims(indices, (indices.ndim,)), numbers,
        (*a.shape[:axis], 1, *a.shape[axis + 1 :]), mode=gather_mode, fill_value=fill_value,
        unique_indices=unique_indices, indices_are_sorted=indices_are_sorted,
    )  # fmt: skip


def _wrap_negative(indices: Any, size: Any) -> Any:
    negative = lax.lt(indices, constant_like(indices, 0))
    return where(negative, lax.add(indices, constant_like(indices, size)), indices)


def _check_along(a: Any, indices: Any, axis: Any, wraps: Any = True) -> None:
    """Under bounds="raise": the indices are such of an axis of `a`, or of `a` flattened."""
    if not checks_bounds():
        return
    a, indices = ensure_arrays("take", a, indices)
    size = a.size if axis is None else a.shape[canonical_axis(axis, a.ndim)]
    check_bounds(indices, 0 if axis is None else axis, size, wraps=wraps is not False)


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Any:
    """The elements of `arr` that `indices`, an array of the same rank, tells along `axis`.

    Out of bounds as in `take`.  Axes other than `axis` broadcast.
    """
    if mode is None:
        _check_along(arr, indices, axis, wrap_negative_indices)
    return _take_along_axis(arr, indices, axis, mode, fill_value, wrap_negative_indices)


@jitted(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def _take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None,
    mode: Any,
    fill_value: Any,
    wrap_negative_indices: bool | None,
) -> Any:
    arr, indices = ensure_arrays("take_along_axis", arr, indices)
    if not dtypes.is_integer(indices.dtype):
        raise TypeError(f"take_along_axis indices must be of integer type, got {indices.dtype}")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(
                f"take_along_axis indices must be 1D if axis=None, got {indices.shape}"
            )
        arr, axis = ravel(arr), 0
    if arr.ndim != indices.ndim:
        raise ValueError(
            "indices and arr must have the same number of dimensions; "
            f"{indices.ndim} vs. {arr.ndim}"
        )
    axis = canonical_axis(axis, arr.ndim)
    if wrap_negative_indices is None:
        clamps = lax.GatherScatterMode.PROMISE_IN_BOUNDS
        wrap_negative_indices = mode is None or lax.GatherScatterMode.from_any(mode) is not clamps
    if wrap_negative_indices:
        indices = _wrap_negative(indices, arr.shape[axis])
        indices = lax.convert_element_type(indices, index_dtype(arr.shape))
    return _gather_along(arr, indices, axis, "fill" if mode is None else mode, fill_value)


def _gather_along(arr: Any, indices: Any, axis: int, mode: Any, fill_value: Any) -> Any:
    """One gather whose batch axes are those where both sizes agree.

    An axis of size 1 in `indices` is a whole window of `arr`; one of size 1 in `arr` is squeezed.
    """
    result = [
        s if i != axis else t for i, (s, t) in enumerate(zip(arr.shape, indices.shape, strict=True))
    ]
    offsets: list[int] = []
    window: list[Any] = []
    batch: list[int] = []
    index_batch: list[int] = []
    squeeze: list[int] = []
    index_squeeze: list[int] = []
    at = index_at = index_axis = 0
    for i, (s, t) in enumerate(zip(arr.shape, indices.shape, strict=True)):
        if i == axis:
            index_axis, indexed = index_at, at
            window.append(1)
            at, index_at = at + 1, index_at + 1
        elif t == 1:
            offsets.append(i)
            window.append(s)
            index_squeeze.append(i)
            at += 1
        elif s == 1:
            squeeze.append(i)
            index_at += 1
        elif s == t:
            window.append(min(s, 1) if isinstance(s, int) else 1)
            batch.append(at)
            index_batch.append(index_at)
            at, index_at = at + 1, index_at + 1
        else:
            raise ValueError(
                f"Incompatible shapes for broadcasting: {arr.shape} and {indices.shape} along axis "
                f"{i}"
            )
    del index_axis
    if 0 in result or 0 in indices.shape:
        shape = [s if i == axis or s != 1 else r for i, (s, r) in enumerate(
            zip(indices.shape, result, strict=True))]  # fmt: skip
        return lax.full_like(arr, 0, shape=tuple(shape))
    arr = lax.squeeze(arr, squeeze) if squeeze else arr
    indices = lax.squeeze(indices, index_squeeze) if index_squeeze else indices
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(offsets), collapsed_slice_dims=(indexed,), start_index_map=(indexed,),
        operand_batching_dims=tuple(batch), start_indices_batching_dims=tuple(index_batch),
    )  # fmt: skip
    return lax.gather(
        arr, lax.expand_dims(indices, (indices.ndim,)), numbers, tuple(window), mode=mode,
        fill_value=fill_value,
    )  # fmt: skip


@jitted(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Any:
    """`arr` with `values` at the places that `indices` tells along `axis`."""
    if inplace:
        raise ValueError(
            "jax.numpy.put_along_axis cannot modify arrays in-place, because JAX arrays are "
            "immutable. Pass inplace=False to instead return an updated array."
        )
    arr, index, values = ensure_arrays("put_along_axis", arr, indices, values)
    shape = arr.shape
    if axis is None:
        arr, axis = ravel(arr), 0
    if arr.ndim != index.ndim:
        raise ValueError(
            "put_along_axis arguments 'arr' and 'indices' must have same ndim. Got "
            f"arr.ndim={arr.ndim} and indices.ndim={index.ndim}."
        )
    try:
        values = broadcast_to(values, index.shape)
    except ValueError:
        raise ValueError(
            "put_along_axis argument 'values' must be broadcastable to 'indices'. Got "
            f"values.shape={values.shape} and indices.shape={index.shape}."
        ) from None
    axis = canonical_axis(axis, arr.ndim)
    grid = list(_sparse_indices(arr.shape))
    grid[axis] = index
    return lax.reshape(arr.at[tuple(grid)].set(values, mode=mode), shape)


def _sparse_indices(shape: tuple[int, ...]) -> tuple[Any, ...]:
    return indices(shape, sparse=True)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """`a` with `v`, repeated as needed, at the places `ind` of the flattened array."""
    if inplace:
        raise ValueError(
            "jax.numpy.put cannot modify arrays in-place, because JAX arrays are immutable. Pass "
            "inplace=False to instead return an updated array."
        )
    a, ind, v = ensure_arrays("put", a, ind, v)
    places, values = ravel(ind), ravel(v)
    if places.size == 0 or values.size == 0:
        return a
    values = _repeated_to(values, places.size)
    if mode in (None, "clip"):
        places = clip(places, 0, a.size - 1)
        scatter_mode = "promise_in_bounds"
    elif mode == "wrap":
        places = remainder(places, constant_like(places, a.size))
        scatter_mode = "promise_in_bounds"
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got mode={mode!r}")
    return lax.reshape(ravel(a).at[places].set(values, mode=scatter_mode), a.shape)


def _repeated_to(values: Any, size: int) -> Any:
    return lax.tile(values, (-(-size // values.size),))[:size]


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """`arr` with `vals`, repeated as needed, at the places where `mask` holds, in order."""
    if inplace:
        raise ValueError(
            "jax.numpy.place cannot modify arrays in-place, because JAX arrays are immutable. Pass "
            "inplace=False to instead return an updated array."
        )
    arr, mask, vals = ensure_arrays("place", arr, mask, vals)
    if arr.size != mask.size:
        raise ValueError("place: arr and mask must be the same size")
    if not arr.size:
        return arr
    if not vals.size:
        raise ValueError("Cannot place values from an empty array")
    flags = ravel(to_bool(mask))
    order = lax.sub(lax.cumsum(lax.convert_element_type(flags, np.int32), 0), np.int32(1))
    chosen = _repeated_to(ravel(vals), arr.size)[where(flags, order, np.int32(0))]
    flat = ravel(arr)
    return lax.reshape(where(flags, convert(chosen, flat.dtype), flat), arr.shape)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """For each element of `a`, the element at that place of the array that it numbers."""
    check_no_out("choose", out)
    a, *options = ensure_arrays("choose", a, *choices)
    if not dtypes.is_integer(a.dtype):
        raise ValueError("`a` array must be integer typed")
    count = len(options)
    if mode == "raise":
        known = np.asarray(
            concrete(
                a,
                "The error occurred because jnp.choose was jit-compiled with mode='raise'. Use "
                "mode='wrap' or mode='clip' instead.",
            )
        )
        if ((known < 0) | (known >= count)).any():
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = remainder(a, constant_like(a, count))
    elif mode == "clip":
        a = clip(a, 0, count - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    a, *options = broadcast_arrays(a, *promote_dtypes(*options))
    stacked = lax.stack(options, axis=0)
    return stacked[(a, *_sparse_indices(a.shape))]


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The element of the first choice whose condition holds, `default` where none does."""
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    options = promote_dtypes(as_array(default), *map(as_array, choicelist))
    conditions = broadcast_arrays(np.bool_(False), *(to_bool(as_array(c)) for c in condlist))
    first = argmax(lax.stack(conditions, axis=0), axis=0)
    return lax.select_n(*broadcast_arrays(first, *options))


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Any:
    """The slices of `a` along `axis` where `condition` holds; if `size` is given, so many."""
    check_no_out("compress", out)
    condition, a = ensure_arrays("compress", condition, a)
    condition = to_bool(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        axis, a = 0, ravel(a)
    else:
        a = moveaxis(a, axis, 0)
    condition, extra = condition[: a.shape[0]], condition[a.shape[0] :]
    a = a[: condition.shape[0]]
    if size is None:
        if bool(any_of(extra)):
            raise ValueError("condition contains entries that are out of bounds")
        result = a[condition]
    elif not 0 <= size <= a.shape[0]:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis; got "
            f"size={size} for a.shape[axis]={a.shape[0]}"
        )
    else:
        mask = lax.expand_dims(condition, range(1, a.ndim))
        a = where(mask, a, asarray(fill_value, dtype=a.dtype))
        result = a[argsort(condition, stable=True, descending=True)][:size]
    return moveaxis(result, 0, axis)


def compress_array(
    a: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """The slices of `a` along `axis` where `condition` holds."""
    return compress(condition, a, axis=axis, out=out, size=size, fill_value=fill_value)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of `arr` where `condition` holds, as one axis."""
    check_arraylike("extract", condition, arr, fill_value)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


# ---- diagonals ----------------------------------------------------------------------------------


@jitted(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements on the diagonal of two axes, as the last axis of the result."""
    a = ensure_array("diagonal", a)
    if a.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    offset = operator.index(offset)
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = a.shape[-2:]
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    steps = lax.iota(np.dtype(np.int32), size)
    shifted = lax.add(steps, np.int32(abs(offset))) if offset else steps
    return a[..., steps, shifted] if offset >= 0 else a[..., shifted, steps]


@jitted(static_argnames=("axis1", "axis2", "dtype"))
def trace(
    a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    """The sum of the elements on the diagonal of two axes."""
    check_no_out("trace", out)
    a = ensure_array("trace", a)
    first, second = canonical_axis(axis1, a.ndim), canonical_axis(axis2, a.ndim)
    if first == second:
        raise ValueError(f"axis1 and axis2 can not be same. axis1={axis1} and axis2={axis2}")
    if dtype is not None:
        dtype = requested_dtype(dtype, "trace")
    rows, columns = a.shape[first], a.shape[second]
    a = moveaxis(a, (first, second), (-2, -1))
    chosen = where(eye(rows, columns, k=offset, dtype=np.bool_), a, lax.full_like(a, 0))
    return sum_of(chosen, axis=(-2, -1), dtype=dtype)


@jitted(static_argnames="k")
def _diag(v: Any, k: int) -> Any:
    if v.ndim == 1:
        zero = constant_like(v, 0)
        size = v.shape[0] + abs(k)
        padded = lax.pad(v, zero, ((max(0, -k), max(0, k), 0),))
        return where(eye(size, k=k, dtype=np.bool_), lax.expand_dims(padded, (1,)), zero)
    if v.ndim == 2:
        return diagonal(v, offset=k)
    raise ValueError("diag input must be 1d or 2d")


def diag(v: Any, k: int = 0) -> Any:
    """A matrix with the vector `v` on its kth diagonal; of a matrix, its kth diagonal."""
    return _diag(ensure_array("diag", v), operator.index(k))


def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with the elements of `v` on its kth diagonal."""
    return diag(ravel(ensure_array("diagflat", v)), k)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """`a` with `val`, repeated as needed, on its diagonal."""
    if inplace:
        raise NotImplementedError("JAX arrays are immutable, must use inplace=False")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    a, val = ensure_arrays("fill_diagonal", a, val)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and any(n != a.shape[0] for n in a.shape[1:]):
        raise ValueError("All dimensions of input must be of equal length")
    size = min(a.shape)
    places = (lax.iota(np.dtype(np.int32), size),) * a.ndim
    return a.at[places].set(val if val.ndim == 0 else _repeated_to(ravel(val), size))
