"""The generalized normal distribution: density in proportion to exp(-|x| ** beta)."""

from __future__ import annotations

from typing import Any

import frit.numpy as jnp
from frit import lax
from frit.scipy.special import gammainc
from frit.scipy.stats.arguments import arguments


def logpdf(x: Any, beta: Any) -> Any:
    """The log of the density."""
    x, beta = arguments("gennorm.logpdf", x, beta)
    return jnp.log(0.5 * beta) - lax.lgamma(1 / beta) - jnp.abs(x) ** beta


def pdf(x: Any, beta: Any) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, beta))


def cdf(x: Any, beta: Any) -> Any:
    """The probability of values up to x."""
    x, beta = arguments("gennorm.cdf", x, beta)
    return 0.5 * (1 + jnp.sign(x) * gammainc(1 / beta, jnp.abs(x) ** beta))
