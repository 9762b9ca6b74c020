"""The normal distribution: density exp(-y**2 / 2) / sqrt(2 pi), y = (x - loc) / scale."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.promotion import default_float
from frit.scipy import special
from frit.scipy.stats.arguments import arguments


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    x, loc, scale = arguments("norm.logpdf", x, loc, scale)
    variance = jnp.square(scale)
    return (jnp.log(2 * np.pi * variance) + jnp.square(x - loc) / variance) / -2


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    x, loc, scale = arguments("norm.cdf", x, loc, scale)
    return special.ndtr((x - loc) / scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values up to x, accurate in both tails."""
    x, loc, scale = arguments("norm.logcdf", x, loc, scale)
    return special.log_ndtr((x - loc) / scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    x, loc, scale = arguments("norm.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values above x, accurate in both tails."""
    x, loc, scale = arguments("norm.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose cdf is q."""
    return jnp.asarray(special.ndtri(q) * scale + loc, default_float())


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose sf is q."""
    return ppf(1 - q, loc, scale)
