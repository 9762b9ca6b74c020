"""The exponential distribution: density exp(-y) for y = (x - loc) / scale >= 0."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.stats.arguments import arguments, within_unit


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    x, loc, scale = arguments("expon.logpdf", x, loc, scale)
    return jnp.where(x < loc, -np.inf, -((x - loc) / scale + jnp.log(scale)))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values above x."""
    x, loc, scale = arguments("expon.logsf", x, loc, scale)
    return jnp.where(x < loc, 0, (loc - x) / scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return jnp.exp(logsf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    return -jnp.expm1(logsf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the cdf."""
    return jnp.log1p(-sf(x, loc, scale))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose cdf is q; nan where q is no probability."""
    q, loc, scale = arguments("expon.ppf", q, loc, scale)
    return within_unit(q, loc - scale * jnp.log1p(-q))
