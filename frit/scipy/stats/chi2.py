"""The chi-squared distribution, `df` degrees of freedom: twice the gamma distribution of df / 2."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.scipy.special import gammainc, gammaincc
from frit.scipy.stats.arguments import arguments


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    x, df, loc, scale = arguments("chi2.logpdf", x, df, loc, scale)
    y, half = (x - loc) / scale, df / 2
    normalizer = lax.lgamma(half) + half * x.dtype.type(np.log(2)) + jnp.log(scale)
    return jnp.where(x < loc, -np.inf, (half - 1) * jnp.log(y) - y / 2 - normalizer)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    x, df, loc, scale = arguments("chi2.cdf", x, df, loc, scale)
    return gammainc(df / 2, jnp.clip((x - loc) / (2 * scale), 0))


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the cdf."""
    return jnp.log(cdf(x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    x, df, loc, scale = arguments("chi2.sf", x, df, loc, scale)
    return gammaincc(df / 2, jnp.clip((x - loc) / (2 * scale), 0))


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the sf."""
    return jnp.log(sf(x, df, loc, scale))
