"""The Poisson distribution: probability mu**k exp(-mu) / k!; shifted by loc."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.jitted import jitted
from frit.scipy.special import entr, gammaincc, gammaln, xlogy
from frit.scipy.stats.arguments import arguments


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The log of the probability of k; -inf where k is not whole."""
    k, mu, loc = arguments("poisson.logpmf", k, mu, loc)
    x = k - loc
    value = xlogy(x, mu) - gammaln(x + 1) - mu
    return jnp.where((x < 0) | (jnp.round(k) != k), -np.inf, value)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of values up to k."""
    k, mu, loc = arguments("poisson.cdf", k, mu, loc)
    x = k - loc
    return jnp.where(x < 0, 0, gammaincc(jnp.floor(1 + jnp.where(x < 0, 0, x)), mu))


_SUMMED_UP_TO = 100
_TERMS = 250


@jitted
def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy in nats: a sum of 250 terms for mu < 100, an asymptotic series above."""
    mu, loc = arguments("poisson.entropy", mu, loc)
    mu, _ = jnp.broadcast_arrays(mu, loc)
    small = jnp.where(mu < _SUMMED_UP_TO, mu, 1)
    k = np.arange(_TERMS, dtype=mu.dtype).reshape((1,) * mu.ndim + (_TERMS,))
    summed = jnp.sum(entr(pmf(k, jnp.expand_dims(small, -1))), axis=-1)
    large = jnp.where(mu < _SUMMED_UP_TO, _SUMMED_UP_TO, mu)
    series = 0.5 * jnp.log(2 * np.pi * np.e * large) - (
        1 / (12 * large) + 1 / (24 * large**2) + 19 / (360 * large**3)
    )
    value = jnp.where(mu < _SUMMED_UP_TO, summed, series)
    return jnp.where(mu == 0, 0, value)
