"""The uniform distribution on [loc, loc + scale]."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.stats.arguments import arguments, within_unit


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density: -log(scale) inside, -inf outside."""
    x, loc, scale = arguments("uniform.logpdf", x, loc, scale)
    return jnp.where((x > loc + scale) | (x < loc), -np.inf, -jnp.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x."""
    x, loc, scale = arguments("uniform.cdf", x, loc, scale)
    inside = jnp.where((x >= loc) & (x <= loc + scale), (x - loc) / scale, 0)
    return jnp.where(x > loc + scale, 1, inside).astype(x.dtype)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x whose cdf is q; nan where q is no probability."""
    q, loc, scale = arguments("uniform.ppf", q, loc, scale)
    return within_unit(q, loc + scale * q)
