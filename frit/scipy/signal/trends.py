"""Removing means and straight lines from signals."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.promotion import promote_dtypes_inexact


def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: None = None
) -> Any:
    """`data` less its mean ("constant"), or less straight lines fitted between breakpoints.

    bp: breakpoints, ("linear" only) where a new line starts.  ValueError for other types, and for
    breakpoints outside the axis.
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    (data,) = promote_dtypes_inexact(jnp.asarray(data))
    if type == "constant":
        return data - jnp.mean(data, axis, keepdims=True)
    n = data.shape[axis]
    breaks = np.unique(np.r_[0, bp, n])
    if breaks[0] < 0 or breaks[-1] > n:
        raise ValueError(
            "Breakpoints must be non-negative and less than length of data along given axis."
        )
    moved = jnp.moveaxis(data, axis, -1)
    parts = [
        _without_line(moved[..., start:end])
        for start, end in zip(breaks[:-1], breaks[1:], strict=True)
    ]
    return jnp.moveaxis(jnp.concatenate(parts, axis=-1), -1, axis)


def _without_line(x: Any) -> Any:
    """x less its projection on constants and on straight lines along the last axis."""
    n = x.shape[-1]
    x = x - jnp.mean(x, axis=-1, keepdims=True)
    ramp = np.arange(n) - (n - 1) / 2
    ramp = ramp / max(np.linalg.norm(ramp), 1e-30)
    ramp = ramp.astype(x.dtype).reshape((1,) * (x.ndim - 1) + (n,))
    return x - jnp.sum(x * ramp, axis=-1, keepdims=True) * ramp
