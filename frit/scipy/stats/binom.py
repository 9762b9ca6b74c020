"""The binomial distribution: successes in n trials of probability p; shifted by loc."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.special import gammaln, xlog1py, xlogy
from frit.scipy.stats.arguments import arguments


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The log of the probability of k."""
    k, n, p, loc = arguments("binom.logpmf", k, n, p, loc)
    y = k - loc
    ways = gammaln(n + 1) - (gammaln(y + 1) + gammaln(n - y + 1))
    chance = xlogy(y, p) + xlog1py(n - y, -p)
    value = jnp.where(((y == 0) & (n == 0)) | (chance == 0), 0.0, ways + chance)
    return jnp.where((y >= 0) & (y < n + 1), value, -np.inf)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
