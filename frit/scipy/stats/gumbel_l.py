"""The left-skewed Gumbel distribution: sf exp(-exp(y)), y = (x - loc) / scale.

All is nan where the scale is not positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.special import xlog1py, xlogy
from frit.scipy.stats.arguments import arguments, standardized


def _checked(scale: Any, value: Any) -> Any:
    return jnp.where(scale > 0, value, np.nan)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    y, scale = standardized("gumbel_l.logpdf", x, loc, scale)
    return _checked(scale, xlogy(-1, scale) + (y - jnp.exp(y)))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values up to x."""
    y, scale = standardized("gumbel_l.logcdf", x, loc, scale)
    return _checked(scale, jnp.log(-jnp.expm1(-jnp.exp(y))))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    return jnp.exp(logcdf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values above x."""
    y, scale = standardized("gumbel_l.logsf", x, loc, scale)
    return _checked(scale, -jnp.exp(y))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return jnp.exp(logsf(x, loc, scale))


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose cdf is p; nan unless 0 < p < 1."""
    p, loc, scale = arguments("gumbel_l.ppf", p, loc, scale)
    return jnp.where((p > 0) & (p < 1), loc + scale * jnp.log(xlog1py(-1, -p)), np.nan)
