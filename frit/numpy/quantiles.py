"""Quantiles, percentiles and medians of sorted values.

The place of quantile q among n sorted values is q (n - 1); `method` says what lies between places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.ir import dims, dtypes
from frit.numpy import reductions
from frit.numpy.cumulative import cumsum
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array, canonical_axes, ensure_array, ensure_arrays
from frit.numpy.promotion import constant_like, default_int, promote_dtypes_inexact
from frit.numpy.selection import is_nan, where
from frit.numpy.shapes import moveaxis
from frit.numpy.taking import take_along_axis

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
_STATIC = ("axis", "overwrite_input", "keepdims", "method")


def _rows(x: Any, axes: tuple[int, ...]) -> Any:
    """x with the axes that are reduced joined into a last one."""
    moved = moveaxis(x, axes, tuple(range(x.ndim - len(axes), x.ndim)))
    kept = moved.shape[: x.ndim - len(axes)]
    return lax.reshape(moved, (*kept, dims.product(moved.shape[len(kept) :])))


def _check(name: str, a: Any, q: Any, method: str, weights: Any, unsupported: bool) -> None:
    if unsupported:
        raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != None")
    if method not in _METHODS:
        raise ValueError(f"method can only be one of {', '.join(map(repr, _METHODS))}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(
            f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights."
        )
    if weights is not None and dtypes.is_complex(weights.dtype):
        raise ValueError("Weights cannot be complex types.")
    if dtypes.is_complex(a.dtype):
        raise ValueError(
            "quantile does not support complex input, as the operation is poorly defined."
        )
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    method: str,
    keepdims: bool,
    omit_nan: bool,
    weights: Any,
    unsupported: bool,
) -> Any:
    a, q = ensure_arrays(name, a, q)
    weights = None if weights is None else ensure_array(name, weights)
    _check(name, a, q, method, weights, unsupported)
    axes = canonical_axes(axis, a.ndim)
    if weights is None:
        (a,) = promote_dtypes_inexact(a)
    else:
        a, weights = promote_dtypes_inexact(a, weights)
        weights = _rows(_weights_like(weights, a, axis, axes), axes)
    (q,) = promote_dtypes_inexact(q)
    q = as_array(q)
    shape = tuple(1 if i in axes else s for i, s in enumerate(a.shape))
    rows = _rows(as_array(a), axes)
    if method == "inverted_cdf":
        result = _by_weight(rows, q, weights, omit_nan)
    else:
        result = _by_place(rows, q, method, omit_nan)
    result = lax.convert_element_type(result, a.dtype)
    return lax.reshape(result, (*q.shape, *shape)) if keepdims else result


def _weights_like(weights: Any, a: Any, axis: Any, axes: tuple[int, ...]) -> Any:
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise ValueError("Weights shape must match 'a' shape when axis is None.")
    if weights.shape != tuple(a.shape[i] for i in axes):
        raise ValueError(
            f"Weights shape {weights.shape} must match reduction axes "
            f"{tuple(a.shape[i] for i in axes)}"
        )
    return lax.broadcast_in_dim(weights, a.shape, axes)


def _lined_up(q: Any, rank: int) -> Any:
    """q with `rank` axes of size 1 behind its own."""
    return lax.expand_dims(q, range(q.ndim, q.ndim + rank))


def _take_places(rows: Any, places: Any) -> Any:
    """rows (..., n) at places (*q, ...): the axes of q come first."""
    extra = places.ndim - (rows.ndim - 1)
    rows = lax.expand_dims(rows, range(extra))
    return lax.squeeze(take_along_axis(rows, lax.expand_dims(places, (places.ndim,)), -1), (-1,))


def _by_place(rows: Any, q: Any, method: str, omit_nan: bool) -> Any:
    lead = rows.ndim - 1
    if omit_nan:
        numbers = reductions.sum(lax.bitwise_not(is_nan(rows)), axis=-1, dtype=q.dtype)
    else:
        spoilt = reductions.any(is_nan(rows), axis=-1, keepdims=True)
        rows = where(spoilt, constant_like(rows, np.nan), rows)
        numbers = lax.full(rows.shape[:-1], rows.shape[-1], q.dtype)
    rows = lax.sort(rows, dimension=lead)
    zero, one = constant_like(q, 0), constant_like(q, 1)
    last = lax.expand_dims(lax.sub(numbers, one), range(q.ndim))
    place = _lined_up(q, lead) * last
    low, high = lax.floor(place), lax.ceil(place)
    high_share = lax.sub(place, low)
    low, high = (
        lax.convert_element_type(lax.max(zero, lax.min(x, last * one)), default_int())
        for x in (low, high)
    )
    below, above = _take_places(rows, low), _take_places(rows, high)
    match method:
        case "lower":
            return below
        case "higher":
            return above
        case "midpoint":
            return lax.mul(lax.add(below, above), constant_like(below, 0.5))
        case "nearest":
            return lax.select(lax.le(high_share, constant_like(high_share, 0.5)), below, above)
        case _:
            below, above = (lax.convert_element_type(x, q.dtype) for x in (below, above))
            low_share = lax.sub(one, high_share)
            return lax.add(lax.mul(below, low_share), lax.mul(above, high_share))


def _by_weight(rows: Any, q: Any, weights: Any, omit_nan: bool) -> Any:
    """The first value whose running weight reaches the share q of the total."""
    lead = rows.ndim - 1
    weights = lax.full_like(rows, 1) if weights is None else weights
    rows, weights = lax.sort_key_val(rows, weights, dimension=lead)
    nan = is_nan(rows)
    bad = lax.bitwise_or(lax.lt(weights, constant_like(weights, 0)), is_nan(weights))
    clean = where(lax.bitwise_or(bad, nan), constant_like(weights, 0), weights)
    running = cumsum(clean, axis=lead)
    target = _lined_up(q, lead) * lax.expand_dims(running[..., -1], range(q.ndim))
    before = lax.expand_dims(running, range(q.ndim)) < lax.expand_dims(target, (target.ndim,))
    place = reductions.sum(before, axis=-1, dtype=default_int())
    size = rows.shape[-1]
    valid = reductions.sum(lax.bitwise_not(nan), axis=-1, dtype=default_int())
    limit = valid if omit_nan else lax.full_like(valid, size)
    limit = lax.expand_dims(lax.sub(limit, constant_like(limit, 1)), range(q.ndim))
    place = lax.max(constant_like(place, 0), lax.min(*_same_shape(place, limit)))
    result = _take_places(rows, place)
    spoilt = reductions.any(bad, axis=-1)
    if omit_nan:
        spoilt = lax.bitwise_or(spoilt, lax.eq(valid, constant_like(valid, 0)))
    else:
        spoilt = lax.bitwise_or(spoilt, reductions.any(nan, axis=-1))
    return where(lax.expand_dims(spoilt, range(q.ndim)), constant_like(result, np.nan), result)


def _same_shape(x: Any, y: Any) -> tuple[Any, Any]:
    shape = lax.broadcast_shapes(x.shape, y.shape)
    every = tuple(range(len(shape)))
    return tuple(  # type: ignore[return-value]
        v if v.shape == shape else lax.broadcast_in_dim(v, shape, every) for v in (x, y)
    )


@jitted(static_argnames=_STATIC)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The quantiles q, between 0 and 1, over `axis`; nan where there is a nan."""
    unsupported = overwrite_input or out is not None
    return _quantile("quantile", a, q, axis, method, keepdims, False, weights, unsupported)


@jitted(static_argnames=_STATIC)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The quantiles q, between 0 and 1, over `axis` of the elements that are not nan."""
    unsupported = overwrite_input or out is not None
    return _quantile("nanquantile", a, q, axis, method, keepdims, True, weights, unsupported)


def _hundredth(name: str, q: Any) -> Any:
    (q,) = promote_dtypes_inexact(ensure_array(name, q))
    return lax.div(as_array(q), constant_like(q, 100))


@jitted(static_argnames=(*_STATIC, "out_sharding"))
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The percentiles q, between 0 and 100, over `axis`; nan where there is a nan."""
    return quantile(
        a, _hundredth("percentile", q), axis, out, overwrite_input, method, keepdims,
        weights=weights,
    )  # fmt: skip


@jitted(static_argnames=_STATIC)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The percentiles q, between 0 and 100, over `axis` of the elements that are not nan."""
    return nanquantile(
        a, _hundredth("nanpercentile", q), axis, out, overwrite_input, method, keepdims,
        weights=weights,
    )  # fmt: skip


@jitted(static_argnames=("axis", "overwrite_input", "keepdims"))
def median(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle value over `axis`, or the mean of the two in the middle; nan if there is a nan."""
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


@jitted(static_argnames=("axis", "overwrite_input", "keepdims"))
def nanmedian(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle value over `axis` of the elements that are not nan."""
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)
