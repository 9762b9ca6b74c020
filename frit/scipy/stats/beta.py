"""The beta distribution: density y**(a-1) (1-y)**(b-1) / beta(a, b), y = (x - loc) / scale."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.scipy.special import betainc, betaln, xlog1py, xlogy
from frit.scipy.stats.arguments import arguments


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density; nan where a, b or scale is not positive."""
    x, a, b, loc, scale = arguments("beta.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    result = -betaln(a, b) + (xlogy(a - 1, y) + xlog1py(b - 1, -y)) - jnp.log(scale)
    result = jnp.where((x > loc + scale) | (x < loc), -np.inf, result)
    return jnp.where((a <= 0) | (b <= 0) | (scale <= 0), np.nan, result)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def _clamped(name: str, x: Any, a: Any, b: Any, loc: Any, scale: Any) -> list[Any]:
    x, a, b, loc, scale = arguments(name, x, a, b, loc, scale)
    y = (x - loc) / scale
    return [lax.clamp(y.dtype.type(0), y, y.dtype.type(1)), a, b]


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    y, a, b = _clamped("beta.cdf", x, a, b, loc, scale)
    return betainc(a, b, y)


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the cdf."""
    return jnp.log(cdf(x, a, b, loc, scale))


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    y, a, b = _clamped("beta.sf", x, a, b, loc, scale)
    return betainc(b, a, 1 - y)


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the sf."""
    return jnp.log(sf(x, a, b, loc, scale))
