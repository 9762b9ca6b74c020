"""The Cauchy distribution: density 1 / (pi (1 + y**2)), y = (x - loc) / scale."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.stats.arguments import arguments, standardized


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    y, scale = standardized("cauchy.logpdf", x, loc, scale)
    return -(jnp.log(np.pi * scale) + jnp.log1p(jnp.square(y)))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    y, scale = standardized("cauchy.cdf", x, loc, scale)
    return 0.5 + (1 / np.pi) * jnp.arctan(y)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the cdf."""
    return jnp.log(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    x, loc, scale = arguments("cauchy.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the sf."""
    x, loc, scale = arguments("cauchy.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose cdf is q."""
    q, loc, scale = arguments("cauchy.ppf", q, loc, scale)
    return jnp.tan(np.pi * q - np.pi / 2) * scale + loc


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose sf is q."""
    q, loc, scale = arguments("cauchy.isf", q, loc, scale)
    return jnp.tan(np.pi / 2 - np.pi * q) * scale + loc
