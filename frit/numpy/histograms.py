"""Counts of values: by integer, and by bins."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dims, dtypes
from frit.numpy import reductions
from frit.numpy.creation import asarray
from frit.numpy.differences import diff
from frit.numpy.grids import ix_
from frit.numpy.operands import as_array, concrete, ensure_array, ensure_arrays
from frit.numpy.promotion import (
    common_type,
    constant_like,
    default_int,
    promote_dtypes,
    promote_dtypes_inexact,
    requested_dtype,
    to_inexact,
)
from frit.numpy.ranges import linspace
from frit.numpy.rounding import clip
from frit.numpy.searching import searchsorted
from frit.numpy.selection import where
from frit.numpy.ufuncs import remainder


def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """How often each integer from 0 up occurs in x, or the sum of their weights.

    length: how many counts to give, needed where x is traced; larger integers are dropped.
    """
    x = ensure_array("bincount", x)
    if dtypes.is_bool(x.dtype):
        x = lax.convert_element_type(x, np.int32)
    if not dtypes.is_integer(x.dtype):
        raise TypeError(f"x argument to bincount must have an integer type; got {x.dtype}")
    if x.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    minlength = operator.index(
        concrete(minlength, "The error occurred because of argument 'minlength' of jnp.bincount.")
    )
    if length is None:
        known = np.asarray(
            concrete(
                x,
                "The error occurred because of argument 'x' of jnp.bincount. To avoid this error, "
                "pass a static `length` argument.",
            )
        )
        length = max(minlength, int(max(0, known.max())) + 1 if known.size else 0)
    if weights is None:
        weights = np.asarray(1).astype(default_int())[()]
        dtype = default_int()
    else:
        weights = ensure_array("bincount", weights)
        dtype = weights.dtype
        if weights.shape != x.shape:
            raise ValueError(
                f"shape of weights must match shape of x: got {weights.shape} and {x.shape}"
            )
    return lax.full((length,), 0, dtype).at[clip(x, 0)].add(weights, mode="drop")


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of equal bins over `range`, by default that of `a`; `bins` itself if a sequence."""
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    a, _ = ensure_arrays("histogram_bin_edges", a, bins)
    dtype = to_inexact(a.dtype)
    if np.ndim(bins) == 1:
        return asarray(bins, dtype=dtype)
    count = operator.index(concrete(bins, "bins argument of histogram_bin_edges"))
    if range is None:
        range = [reductions.min(a), reductions.max(a)] if a.size else [0, 1]
    bounds = asarray(range, dtype=dtype)
    if bounds.shape != (2,):
        raise ValueError(f"`range` must be either None or a sequence of scalars, got {range}")
    low, high = bounds[0], bounds[1]
    flat = lax.eq(low, high)
    half = constant_like(low, 0.5)
    return linspace(
        where(flat, lax.sub(low, half), low), where(flat, lax.add(high, half), high), count + 1,
        dtype=dtype,
    )  # fmt: skip


def _bin_of(values: Any, edges: Any) -> Any:
    """The number of the bin, from 1; the last bin is closed; 0 or one more lies outside."""
    found = searchsorted(edges, values, side="right")
    last = constant_like(found, edges.shape[0] - 1)
    return where(values == edges[-1], last, found)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any]:
    """How many elements lie in each bin (or the sum of their weights), and the bins' edges."""
    if weights is None:
        a = as_array(*promote_dtypes_inexact(ensure_array("histogram", a)))
        weights = lax.full_like(a, 1)
    else:
        a, weights = ensure_arrays("histogram", a, weights)
        if a.shape != weights.shape:
            raise ValueError("weights should have the same shape as a.")
        a, weights = promote_dtypes_inexact(a, weights)
    edges = histogram_bin_edges(a, bins, range, weights)
    total = lax.full((edges.shape[0],), 0, weights.dtype)
    counts = total.at[_bin_of(a, edges)].add(weights)[1:]
    if density:
        counts = counts / diff(edges) / reductions.sum(counts)
    return counts, edges


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """How many points (x, y) lie in each bin, and the edges of the bins of x and of y."""
    x, y = ensure_arrays("histogram2d", x, y)
    try:
        count = len(bins)
    except TypeError:
        count = 1
    if count not in (1, 2):
        edges = asarray(bins)
        bins = [edges, edges]
    sample = lax.stack(promote_dtypes(x, y), axis=1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, list[Any]]:
    """How many rows of `sample` lie in each bin of a grid, and the edges along each axis."""
    if weights is None:
        sample = as_array(*promote_dtypes_inexact(ensure_array("histogramdd", sample)))
    else:
        sample, weights = ensure_arrays("histogramdd", sample, weights)
        if weights.shape != sample.shape[:1]:
            raise ValueError("should have one weight for each sample.")
        sample, weights = promote_dtypes_inexact(sample, weights)
    count, rank = sample.shape
    if range is not None and (
        len(range) != rank or any(r is not None and np.shape(r) != (2,) for r in range)
    ):
        raise ValueError(
            f"For sample.shape={(count, rank)}, range must be a sequence of {rank} pairs or Nones; "
            f"got range={range}"
        )
    per_axis = list(bins) if np.iterable(bins) else [bins] * rank
    if len(per_axis) != rank:
        raise ValueError("should be a bin for each dimension.")
    edges = [
        histogram_bin_edges(sample[:, i], per_axis[i], None if range is None else range[i])
        for i, _ in enumerate(per_axis)
    ]
    sizes = tuple(e.shape[0] + 1 for e in edges)
    flat = lax.full((count,), 0, np.int32)
    for i, e in enumerate(edges):
        number = lax.convert_element_type(_bin_of(sample[:, i], e), np.int32)
        flat = flat * np.int32(sizes[i]) + number
    counts = bincount(flat, weights, length=dims.product(sizes))
    counts = lax.reshape(counts, sizes)[(slice(1, -1),) * rank]
    if density:
        counts = lax.convert_element_type(counts, sample.dtype)
        counts = counts / reductions.sum(counts)
        for widths in ix_(*(diff(e) for e in edges)):
            counts = counts / widths
    return counts, edges


def ravel_multi_index(
    multi_index: Any, dims: Any, mode: str = "raise", order: str = "C", *, dtype: Any = None
) -> Any:
    """The place in the flattened array of shape `dims` for an index along each axis."""
    if len(multi_index) != len(dims):
        raise ValueError(f"len(multi_index)={len(multi_index)} != len(dims)={len(dims)}")
    sizes = [
        operator.index(concrete(d, "in `dims` argument of ravel_multi_index().")) for d in dims
    ]
    indices = ensure_arrays("ravel_multi_index", *multi_index)
    for i in indices:
        if not dtypes.is_integer(i.dtype):
            raise TypeError("only int indices permitted")
    if dtype is None:
        found_dtype = common_type(0, *indices)[0]
    else:
        found_dtype = requested_dtype(dtype, "ravel_multi_index")
    if not dtypes.is_integer(found_dtype):
        raise ValueError(f"dtype={found_dtype} is not an integer type.")
    if int(np.prod(sizes, dtype=object)) - 1 > np.iinfo(found_dtype).max:
        raise ValueError(
            f"jnp.ravel_multi_index: dtype={found_dtype} not large enough to hold flattened index "
            f"for dims={tuple(dims)}. Use the dtype argument to pass a suitable dtype."
        )
    match mode:
        case "raise":
            _check_in_bounds(indices, sizes)
        case "clip":
            indices = [clip(i, 0, d - 1) for i, d in zip(indices, sizes, strict=True)]
        case "wrap":
            indices = [remainder(i, d) for i, d in zip(indices, sizes, strict=True)]
        case "ignore":
            pass
        case _:
            raise ValueError(
                f"invalid mode={mode!r}. Expected 'raise', 'wrap', 'clip', or 'ignore'."
            )
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    pairs = list(zip(indices, sizes, strict=True))
    result: Any = lax.full((), 0, found_dtype)
    for i, size in pairs if order == "C" else pairs[::-1]:
        result = result * size + lax.convert_element_type(i, found_dtype)
    return result


def _check_in_bounds(indices: list[Any], sizes: list[int]) -> None:
    for i, size in zip(indices, sizes, strict=True):
        known = np.asarray(
            concrete(
                i,
                "The error occurred because ravel_multi_index was jit-compiled with mode='raise'. "
                "Use mode='wrap' or mode='clip' instead.",
            )
        )
        if ((known < 0) | (known >= size)).any():
            raise ValueError("invalid entry in coordinates array")
