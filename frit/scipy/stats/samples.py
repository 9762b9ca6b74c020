"""Statistics of samples: the mode, ranks, and the standard error of the mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array, canonical_axis, check_arraylike
from frit.numpy.promotion import default_float, promote_args_inexact


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Any
    count: Any


def _check_nan_policy(function: str, nan_policy: str) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"Illegal nan_policy value {nan_policy!r}; expected one of "
            "{'propagate', 'omit', 'raise'}"
        )
    if nan_policy == "omit":
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented")
    if nan_policy == "raise":
        raise NotImplementedError(
            f"In order to best JIT compile `{function}`, we cannot know whether `x` contains nans. "
            f"Please check if nans exist in `x` outside of the `{function}` function."
        )


@jitted(static_argnames=("axis", "nan_policy", "keepdims"))
def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent value along `axis` (None: of all), the least of them where several are."""
    check_arraylike("mode", a)
    _check_nan_policy("mode", nan_policy)
    x = jnp.atleast_1d(a)
    if axis is None:
        shape = (1,) * x.ndim
        x, position = x.ravel(), 0
    else:
        position = canonical_axis(axis, x.ndim)
        shape = tuple(1 if i == position else n for i, n in enumerate(x.shape))
    if x.shape[position] == 0:
        value = jnp.full(shape, np.nan, default_float())
        number = jnp.zeros(shape, default_float())
    else:
        value, number = _mode(jnp.moveaxis(x, position, -1))
        value, number = value.reshape(shape), number.reshape(shape)
    if not keepdims:
        squeezed = tuple(range(len(shape))) if axis is None else (position,)
        value, number = lax.squeeze(value, squeezed), lax.squeeze(number, squeezed)
    return ModeResult(value, number)


def _mode(x: Any) -> tuple[Any, Any]:
    """Along the last axis: the longest run of equal values after sorting."""
    n = x.shape[-1]
    ordered = jnp.sort(x, axis=-1)
    both_nan = jnp.isnan(ordered[..., 1:]) & jnp.isnan(ordered[..., :-1])
    same = (ordered[..., 1:] == ordered[..., :-1]) | both_nan
    starts = jnp.concatenate([jnp.ones_like(ordered[..., :1], dtype=bool), ~same], axis=-1)
    index = lax.broadcasted_iota(int, (1,) * (x.ndim - 1) + (n,), x.ndim - 1)
    start = lax.cummax(jnp.where(starts, index, 0), axis=x.ndim - 1)
    length = index - start + 1
    best = jnp.argmax(length, axis=-1, keepdims=True)  # the end of the first run of that length
    value = jnp.take_along_axis(ordered, best, axis=-1)
    return value[..., 0], jnp.max(length, axis=-1)


@jitted(static_argnames=("method", "axis", "nan_policy"))
def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Any:
    """The ranks of the elements, from 1, along `axis`; by default of all, flattened.

    Equal elements get the mean ("average"), the least ("min") or the largest ("max") of their
    ranks; "dense" leaves no gaps after them, "ordinal" counts them in order.  All ranks are nan
    where an element is.
    """
    check_arraylike("rankdata", a)
    _check_nan_policy("rankdata", nan_policy)
    if method not in _RANKS:
        raise ValueError(f"unknown method '{method}'")
    if axis is not None:
        return jnp.apply_along_axis(rankdata, axis, a, method)
    a = jnp.ravel(a)
    ordered, order = lax.sort_key_val(a, jnp.arange(a.size))
    position = jnp.zeros_like(order).at[order].set(jnp.arange(a.size))
    starts = jnp.concatenate([jnp.ones((min(a.size, 1),), bool), ordered[1:] != ordered[:-1]])
    ends = jnp.concatenate([starts[1:], jnp.ones((min(a.size, 1),), bool)])
    index = jnp.arange(a.size)
    first = lax.cummax(jnp.where(starts, index, 0), axis=0) + 1
    last = lax.cummin(jnp.where(ends, index, a.size), axis=0, reverse=True) + 1
    dtype = default_float()
    counts = (n.astype(dtype) for n in (index + 1, first, last, jnp.cumsum(starts)))
    ranks = _RANKS[method](*counts)[position]
    return jnp.where(jnp.any(jnp.isnan(a)), dtype.type(np.nan), ranks)


_RANKS = {
    "average": lambda index, first, last, dense: 0.5 * (first + last),
    "min": lambda index, first, last, dense: first,
    "max": lambda index, first, last, dense: last,
    "dense": lambda index, first, last, dense: dense,
    "ordinal": lambda index, first, last, dense: index,
}


@jitted(static_argnames=("axis", "nan_policy", "keepdims"))
def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The standard error of the mean along `axis`: standard deviation / sqrt(size).

    `nan_policy` "omit" leaves nans out.
    """
    (a,) = promote_args_inexact("sem", a)
    a = as_array(a)
    if nan_policy == "propagate":
        size = a.size if axis is None else a.shape[axis]
        deviation = jnp.std(a, axis, ddof=ddof, keepdims=keepdims)
        return deviation / jnp.sqrt(size).astype(a.dtype)
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(a), axis, keepdims=keepdims)
        deviation = jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims)
        return deviation / jnp.sqrt(count).astype(a.dtype)
    raise ValueError(f"{nan_policy} is not supported")
