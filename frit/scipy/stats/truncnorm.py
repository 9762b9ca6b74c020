"""The normal distribution cut to a <= y <= b, y = (x - loc) / scale."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.jitted import jitted
from frit.scipy.special import log_ndtr, ndtr
from frit.scipy.stats import norm
from frit.scipy.stats.arguments import arguments


def _log_mass(a: Any, b: Any) -> Any:
    """log(ndtr(b) - ndtr(a)), in whichever tail loses nothing."""
    a, b = jnp.broadcast_arrays(a, b)
    right = a > 0
    central = (a <= 0) & (b > 0)
    low = jnp.where(central, -1, jnp.where(right, -b, a))
    high = jnp.where(central, 0, jnp.where(right, -a, b))
    log_low, log_high = log_ndtr(low), log_ndtr(high)
    gap = log_low - log_high
    in_tail = log_high + jnp.log1p(-jnp.exp(jnp.where(jnp.isnan(gap), -np.inf, gap)))
    return jnp.where(central, jnp.log1p(-ndtr(a) - ndtr(-b)), in_tail)


@jitted
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density; nan unless a < b."""
    x, a, b, loc, scale = arguments("truncnorm.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    value = norm.logpdf(x, loc, scale) - _log_mass(a, b)
    value = jnp.where((y < a) | (y > b), -np.inf, value)
    return jnp.where(a >= b, np.nan, value)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@jitted
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values up to x; nan unless a < b."""
    x, a, b, loc, scale = arguments("truncnorm.logcdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    y, a, b = jnp.broadcast_arrays(y, a, b)
    total = _log_mass(a, b)
    inside = (y > a) & (y < b)
    safe = jnp.where(inside, y, (a + b) / 2)
    below, above = _log_mass(a, safe) - total, _log_mass(safe, b) - total
    # Close to b the cdf is 1 less something small, which the sf knows.
    value = jnp.where(below > -0.1, jnp.log1p(-jnp.exp(above)), below)
    value = jnp.where(y >= b, 0, jnp.where(y <= a, -np.inf, value))
    return jnp.where((a >= b) | jnp.isnan(y), np.nan, value)


@jitted
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    return jnp.exp(logcdf(x, a, b, loc, scale))


@jitted
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values above x."""
    x, a, b, loc, scale = arguments("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


@jitted
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return jnp.exp(logsf(x, a, b, loc, scale))
