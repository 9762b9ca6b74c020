"""The Laplace distribution: density exp(-|y|) / 2, y = (x - loc) / scale."""

from __future__ import annotations

from typing import Any

import frit.numpy as jnp
from frit.scipy.stats.arguments import standardized


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    y, scale = standardized("laplace.logpdf", x, loc, scale)
    return -(jnp.abs(y) + jnp.log(2 * scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    y, scale = standardized("laplace.cdf", x, loc, scale)
    tail = 0.5 * jnp.exp(-jnp.abs(y))
    return jnp.where(y <= 0, tail, 1 - tail)
