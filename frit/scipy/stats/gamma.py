"""The gamma distribution: density y**(a-1) exp(-y) / gamma(a) for y = (x - loc) / scale > 0."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.special import gammainc, gammaincc, gammaln, xlogy
from frit.scipy.stats.arguments import arguments


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    x, a, loc, scale = arguments("gamma.logpdf", x, a, loc, scale)
    inside = x >= loc
    y = jnp.where(inside, (x - loc) / scale, 1)
    result = xlogy(a - 1, y) - y - (gammaln(a) + jnp.log(scale))
    return jnp.where(inside, result, -np.inf)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    x, a, loc, scale = arguments("gamma.cdf", x, a, loc, scale)
    return gammainc(a, jnp.clip((x - loc) / scale, 0))


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the cdf."""
    return jnp.log(cdf(x, a, loc, scale))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    x, a, loc, scale = arguments("gamma.sf", x, a, loc, scale)
    y = (x - loc) / scale
    return jnp.where(y < 0, 1, gammaincc(a, y))


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the sf."""
    return jnp.log(sf(x, a, loc, scale))
