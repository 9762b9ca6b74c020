"""The negative binomial distribution: failures before the n-th success; shifted by loc."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.special import gammaln, xlogy
from frit.scipy.stats.arguments import arguments


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The log of the probability of k."""
    k, n, p, loc = arguments("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    ways = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    return jnp.where(y < 0, -np.inf, ways + (xlogy(n, p) + xlogy(y, 1 - p)))


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
