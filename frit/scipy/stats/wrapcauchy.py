"""The wrapped Cauchy distribution of angles in [0, 2 pi]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.stats.arguments import arguments


def logpdf(x: Any, c: Any) -> Any:
    """The log of the density (1 - c**2) / (2 pi (1 + c**2 - 2 c cos x)); nan unless 0 < c < 1."""
    x, c = arguments("wrapcauchy.logpdf", x, c)
    square = c * c
    value = jnp.log(1 - square) - math.log(2 * math.pi) - jnp.log(1 + square - 2 * c * jnp.cos(x))
    value = jnp.where((x >= 0) & (x <= np.pi * 2), value, -np.inf)
    return jnp.where((c > 0) & (c < 1), value, np.nan)


def pdf(x: Any, c: Any) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, c))
