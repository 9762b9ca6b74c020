"""The logistic distribution: cdf 1 / (1 + exp(-y)), y = (x - loc) / scale."""

from __future__ import annotations

from typing import Any

import frit.numpy as jnp
from frit.scipy.special import expit, logit
from frit.scipy.stats.arguments import arguments, standardized


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    y, scale = standardized("logistic.logpdf", x, loc, scale)
    half = y / 2
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    return expit(standardized("logistic.cdf", x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return expit(-standardized("logistic.sf", x, loc, scale)[0])


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value whose cdf is x."""
    x, loc, scale = arguments("logistic.ppf", x, loc, scale)
    return logit(x) * scale + loc


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The value whose sf is x."""
    x, loc, scale = arguments("logistic.isf", x, loc, scale)
    return -logit(x) * scale + loc
