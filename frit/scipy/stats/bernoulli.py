"""The Bernoulli distribution: 1 with probability p, else 0; shifted by loc."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.special import xlog1py, xlogy
from frit.scipy.stats.arguments import arguments


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The log of the probability of k."""
    k, p, loc = arguments("bernoulli.logpmf", k, p, loc)
    x = k - loc
    return jnp.where((x < 0) | (x > 1), -np.inf, xlogy(x, p) + xlog1py(1 - x, -p))


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))


def _bad(x: Any, p: Any) -> Any:
    return jnp.isnan(x) | jnp.isnan(p) | (p < 0) | (p > 1)


def cdf(k: Any, p: Any) -> Any:
    """The probability of values up to k; nan where p is no probability."""
    k, p = arguments("bernoulli.cdf", k, p)
    value = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where(_bad(k, p), np.nan, value)


def ppf(q: Any, p: Any) -> Any:
    """The least k whose cdf reaches q; nan where q or p is no probability."""
    q, p = arguments("bernoulli.ppf", q, p)
    value = jnp.where(q <= 1 - p, q.dtype.type(0), q.dtype.type(1))
    return jnp.where(_bad(q, p) | (q < 0) | (q > 1), np.nan, value)
