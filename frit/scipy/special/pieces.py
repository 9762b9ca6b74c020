"""Functions given by Chebyshev series, one for each interval.

table = ((low, high, coefficients), …)      see tools/special_coefficients.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.dtype_info import finfo

Piece = tuple[float, float, tuple[float, ...]]


def evaluate(table: Sequence[Piece], u: Any) -> Any:
    """The function of `table` at u; outside its intervals the value is finite and meaningless."""
    result = None
    for low, high, coefficients in table:
        inside = jnp.clip(u, low, high)
        value = _clenshaw(coefficients, (2 * inside - (low + high)) / (high - low))
        result = value if result is None else jnp.where(u > low, value, result)
    return result


def _clenshaw(coefficients: Sequence[float], t: Any) -> Any:
    """sum(c[k] T_k(t)), without the terms that t's type cannot see.  Source: Clenshaw 1955."""
    precision = float(finfo(t.dtype).eps) / 8
    size = max(map(abs, coefficients))
    while abs(coefficients[-1]) < precision * size:
        coefficients = coefficients[:-1]
    dtype = t.dtype.type
    twice = 2 * t
    later, latest = jnp.zeros_like(t), jnp.full_like(t, dtype(coefficients[-1]))
    for c in coefficients[-2:0:-1]:
        later, latest = latest, twice * latest - later + dtype(c)
    return t * latest - later + dtype(coefficients[0])


def narrow_computed_wide(function: Any, x: Any) -> Any:
    """function(x), computed in float32 where x is narrower."""
    if finfo(x.dtype).bits >= 32:
        return function(x)
    return function(x.astype(np.float32)).astype(x.dtype)
