"""Where elements are: largest and smallest, nonzero, and places in sorted arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dims, dtypes
from frit.ir.primitive import under_trace
from frit.numpy.index_plan import index_dtype
from frit.numpy.indexing import take_index
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_array,
    canonical_axis,
    check_arraylike,
    check_no_out,
    concrete,
    ensure_array,
    ensure_arrays,
    shape_of,
)
from frit.numpy.promotion import constant_like, default_int, promote_dtypes
from frit.numpy.reductions import all as all_of
from frit.numpy.reductions import sum as sum_of
from frit.numpy.selection import _where, is_nan, to_bool
from frit.numpy.shapes import ravel
from frit.numpy.sorting import argsort

_SIZE = (
    "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero within JAX "
    "transformations."
)


def where(
    condition: Any, x: Any = None, y: Any = None, /, *, size: Any = None, fill_value: Any = None
) -> Any:
    """x where `condition` holds and y elsewhere; with `condition` alone, `nonzero(condition)`."""
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    return _where(condition, x, y)


def nonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of nonzero elements, an array for each axis.

    size: how many to give, needed where `a` is traced; what is missing is `fill_value`, else 0.
    """
    a = ensure_array("nonzero", a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() "
            "instead."
        )
    if size is None:
        found = np.nonzero(np.asarray(concrete(a, _SIZE)))
        return tuple(as_array(i.astype(default_int())) for i in found)
    size = operator.index(concrete(size, _SIZE))
    dtype = default_int()
    if size == 0 or a.size == 0:
        empty = lax.full((size,), 0, dtype)
        return _fill(tuple(empty for _ in a.shape), fill_value, lax.full((size,), True, np.bool_))
    flags = ravel(to_bool(a))
    counts = lax.cumsum(lax.convert_element_type(flags, dtype), 0)
    places = _where(flags, lax.sub(counts, constant_like(counts, 1)), constant_like(counts, size))
    positions = (
        lax.full((size,), 0, dtype)
        .at[places]
        .set(lax.iota(dtype, a.size), mode="drop", unique_indices=False)
    )
    coordinates = []
    for axis, length in enumerate(a.shape):
        stride = dims.product(a.shape[axis + 1 :])
        along = lax.div(positions, constant_like(positions, stride))
        coordinates.append(lax.rem(along, constant_like(positions, length)))
    missing = lax.ge(lax.iota(dtype, size), counts[-1])
    return _fill(tuple(coordinates), fill_value, missing)


def _fill(found: tuple[Any, ...], fill_value: Any, missing: Any) -> tuple[Any, ...]:
    if fill_value is None:
        return found
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * len(found)
    if len(fills) != len(found) or any(shape_of(v) != () for v in fills):
        raise ValueError(
            f"fill_value must be a scalar or a tuple of length {len(found)}; got {fill_value}"
        )
    return tuple(_where(missing, v, i) for v, i in zip(fills, found, strict=True))


def flatnonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """The indices of nonzero elements in the flattened array; see `nonzero`."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    """The indices of nonzero elements, one row each; see `nonzero`."""
    a = ensure_array("argwhere", a)
    if a.ndim == 0:
        rows = nonzero(lax.reshape(a, (1,)), size=size, fill_value=fill_value)[0].shape[0]
        return lax.full((rows, 0), 0, default_int())
    found = nonzero(a, size=size, fill_value=fill_value)
    return lax.concatenate([lax.expand_dims(i, (1,)) for i in found], 1)


# ---- extremes -----------------------------------------------------------------------------------


def _extreme(name: str, a: Any, axis: int | None, keepdims: Any) -> Any:
    axes = range(a.ndim) if axis is None else (canonical_axis(axis, a.ndim),)
    flat, along = (ravel(a), 0) if axis is None else (a, axes[0])
    if flat.shape[along] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = getattr(lax, name)(flat, along, default_int())
    return lax.expand_dims(result, axes) if keepdims else result


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: Any = None) -> Any:
    """The index of the largest element along `axis`: the first one, or the first nan."""
    check_no_out("argmax", out)
    axis = None if axis is None else operator.index(axis)
    return _extreme("argmax", ensure_array("argmax", a), axis, keepdims)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: Any = None) -> Any:
    """The index of the smallest element along `axis`: the first one, or the first nan."""
    check_no_out("argmin", out)
    axis = None if axis is None else operator.index(axis)
    return _extreme("argmin", ensure_array("argmin", a), axis, keepdims)


def _extreme_but_nan(
    find: Callable[..., Any], worst: float, a: Any, axis: Any, keepdims: Any
) -> Any:
    if not dtypes.is_inexact(a.dtype):
        return find(a, axis=axis, keepdims=keepdims)
    nan = is_nan(a)
    found = find(_where(nan, constant_like(a, worst), a), axis=axis, keepdims=keepdims)
    return _where(all_of(nan, axis=axis, keepdims=keepdims), constant_like(found, -1), found)


@jitted(static_argnames=("axis", "keepdims"))
def _nanargmax(a: Any, axis: int | None, keepdims: bool) -> Any:
    return _extreme_but_nan(argmax, -np.inf, a, axis, keepdims)


@jitted(static_argnames=("axis", "keepdims"))
def _nanargmin(a: Any, axis: int | None, keepdims: bool) -> Any:
    return _extreme_but_nan(argmin, np.inf, a, axis, keepdims)


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: Any = None) -> Any:
    """The index of the largest element that is not nan along `axis`; -1 if all are nan."""
    check_no_out("nanargmax", out)
    axis = None if axis is None else operator.index(axis)
    return _nanargmax(ensure_array("nanargmax", a), axis, bool(keepdims))


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: Any = None) -> Any:
    """The index of the smallest element that is not nan along `axis`; -1 if all are nan."""
    check_no_out("nanargmin", out)
    axis = None if axis is None else operator.index(axis)
    return _nanargmin(ensure_array("nanargmin", a), axis, bool(keepdims))


# ---- places in sorted arrays --------------------------------------------------------------------


def _belongs_before(side: str) -> Callable[[Any, Any], Any]:
    """Whether a value stands at or before an element: before equal ones on the left side.

    nan stands after all numbers.
    """

    def left(value: Any, element: Any) -> Any:
        return lax.bitwise_or(lax.le(value, element), is_nan(element))

    def right(value: Any, element: Any) -> Any:
        number = lax.bitwise_not(is_nan(value))
        after = lax.bitwise_or(lax.lt(value, element), is_nan(element))
        return lax.bitwise_and(number, after)

    return left if side == "left" else right


def _by_bisection(a: Any, v: Any, side: str, dtype: Any) -> Any:
    """Halves the range that holds the place, as often as the size of `a` has binary digits."""
    before = _belongs_before(side)
    size = a.shape[0]

    def halve(_: Any, bounds: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = bounds
        middle = lax.div(lax.add(low, high), constant_like(low, 2))
        element = take_index(a, middle, mode="promise_in_bounds", wrap_negative_indices=False)
        go_left = before(v, element)
        return lax.select(go_left, low, middle), lax.select(go_left, middle, high)

    steps = int(np.ceil(np.log2(size + 1)))
    bounds = lax.full(v.shape, 0, dtype), lax.full(v.shape, size, dtype)
    if under_trace():
        return lax.fori_loop(0, steps, halve, bounds)[1]
    for step in range(steps):
        bounds = halve(step, bounds)
    return bounds[1]


def _by_comparison(a: Any, v: Any, side: str, dtype: Any) -> Any:
    before = _belongs_before(side)
    shape = (*v.shape, a.shape[0])
    elements = lax.broadcast_in_dim(a, shape, (v.ndim,))
    values = lax.broadcast_in_dim(v, shape, tuple(range(v.ndim)))
    return sum_of(lax.bitwise_not(before(values, elements)), axis=-1, dtype=dtype)


def _by_sorting(a: Any, v: Any, side: str, dtype: Any) -> Any:
    """Where each value comes in the stable sort of both, less how many values come before it."""
    values = ravel(v)
    joined = [values, a] if side == "left" else [a, values]
    order = argsort(lax.concatenate(joined, 0), dtype=dtype)
    count = order.shape[0]
    rank = lax.full((count,), 0, dtype).at[order].set(lax.iota(dtype, count))
    ranks = rank[: values.shape[0]] if side == "left" else rank[a.shape[0] :]
    among_values = argsort(argsort(values, dtype=dtype), dtype=dtype)
    return lax.reshape(lax.sub(ranks, among_values), v.shape)


_METHODS = {
    "scan": _by_bisection,
    "scan_unrolled": _by_bisection,
    "compare_all": _by_comparison,
    "sort": _by_sorting,
    "default": _by_bisection,
}


@jitted(static_argnames=("side", "method"))
def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Any:
    """Where in sorted `a` each element of `v` belongs: before equal ones, or after if side="right".

    method: "scan" (bisection), "sort" or "compare_all", which differ only in speed.
    """
    a, v = ensure_arrays("searchsorted", a, v)
    if a.ndim != 1:
        raise ValueError("a should be 1-dimensional")
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is an invalid value for keyword 'side'. Expected one of "
                         "('left', 'right').")  # fmt: skip
    if method not in _METHODS:
        raise ValueError(
            f"{method!r} is an invalid value for keyword 'method'. Expected one of "
            f"{tuple(_METHODS)}."
        )
    a, v = promote_dtypes(a, v)
    if sorter is not None:
        a = a[ensure_array("searchsorted", sorter)]
    dtype = index_dtype(a.shape)
    if a.shape[0] == 0:
        return lax.full(v.shape, 0, dtype)
    return _METHODS[method](a, v, side, dtype)


@jitted(static_argnames=("right", "method"))
def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """The number of the bin that holds each element; bins rise or fall, closed on one side."""
    x, bins = ensure_arrays("digitize", x, bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got bins={bins}")
    count = bins.shape[0]
    if count == 0:
        return lax.full_like(x, 0, dtype=np.int32)
    side = "left" if right else "right"
    method = method or "scan"
    rising = searchsorted(bins, x, side=side, method=method)
    falling = searchsorted(lax.rev(bins, (0,)), x, side=side, method=method)
    return _where(
        lax.ge(bins[-1], bins[0]), rising, lax.sub(constant_like(falling, count), falling)
    )
