"""The Pareto distribution: sf y**-b for y = (x - loc) / scale >= 1."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.stats.arguments import arguments, within_unit


def _inside(name: str, x: Any, b: Any, loc: Any, scale: Any) -> list[Any]:
    """Whether x lies in the support, y there and 1 elsewhere, b and the scale."""
    x, b, loc, scale = arguments(name, x, b, loc, scale)
    inside = ~(x < loc + scale)
    return [inside, jnp.where(inside, (x - loc) / scale, 1), b, scale]


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density."""
    inside, y, b, scale = _inside("pareto.logpdf", x, b, loc, scale)
    return jnp.where(inside, jnp.log(b / scale) - (b + 1) * jnp.log(y), -np.inf)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, b, loc, scale))


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the probability of values above x."""
    inside, y, b, _ = _inside("pareto.logsf", x, b, loc, scale)
    return jnp.where(inside, -b * jnp.log(y), 0)


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return jnp.exp(logsf(x, b, loc, scale))


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    inside, y, b, _ = _inside("pareto.cdf", x, b, loc, scale)
    return jnp.where(inside, 1 - y**-b, 0)


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the cdf."""
    inside, y, b, _ = _inside("pareto.logcdf", x, b, loc, scale)
    return jnp.where(inside, jnp.log1p(-(y**-b)), -np.inf)


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose cdf is q; nan where q is no probability."""
    q, b, loc, scale = arguments("pareto.ppf", q, b, loc, scale)
    return within_unit(q, loc + scale * (1 - q) ** (-1 / b))
