"""The right-skewed Gumbel distribution: cdf exp(-exp(-y)), y = (x - loc) / scale.

All is nan where the scale is not positive.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.special import xlogy
from frit.scipy.stats.arguments import arguments, standardized


def _checked(scale: Any, value: Any) -> Any:
    return jnp.where(scale > 0, value, np.nan)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    y, scale = standardized("gumbel_r.logpdf", x, loc, scale)
    return _checked(scale, xlogy(-1, scale) - (y + jnp.exp(-y)))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values up to x."""
    y, scale = standardized("gumbel_r.logcdf", x, loc, scale)
    return _checked(scale, -jnp.exp(-y))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    return jnp.exp(logcdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    y, scale = standardized("gumbel_r.sf", x, loc, scale)
    return _checked(scale, -jnp.expm1(-jnp.exp(-y)))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the sf: log(1 - exp(-exp(-y)))."""
    y, scale = standardized("gumbel_r.logsf", x, loc, scale)
    rate = jnp.exp(-y)
    small = rate < math.log(2)
    left = jnp.log(-jnp.expm1(-jnp.where(small, rate, 1)))
    right = jnp.log1p(-jnp.exp(-jnp.where(small, 1, rate)))
    return _checked(scale, jnp.where(small, left, right))


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose cdf is p; nan unless 0 < p < 1."""
    p, loc, scale = arguments("gumbel_r.ppf", p, loc, scale)
    return jnp.where((p > 0) & (p < 1), loc - scale * jnp.log(xlogy(-1, p)), np.nan)
