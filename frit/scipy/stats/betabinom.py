"""The beta-binomial distribution: binomial of n trials whose probability is beta(a, b)."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.jitted import jitted
from frit.scipy.special import betaln
from frit.scipy.stats.arguments import arguments


@jitted
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The log of the probability of k; nan where n < 0, a <= 0 or b <= 0."""
    k, n, a, b, loc = arguments("betabinom.logpmf", k, n, a, b, loc)
    y = jnp.floor(k) - loc
    ways = -(jnp.log1p(n) + betaln(n - y + 1, y + 1))
    value = ways + (betaln(y + a, n - y + b) - betaln(a, b))
    value = jnp.where((y == 0) & (n == 0), 0.0, value)
    value = jnp.where((y < 0) | (y > n) | (y + a <= 0), -np.inf, value)
    return jnp.where((n < 0) | (a <= 0) | (b <= 0), np.nan, value)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, a, b, loc))
