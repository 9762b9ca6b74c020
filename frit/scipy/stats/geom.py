"""The geometric distribution: the trial of the first success, 1, 2, …; shifted by loc."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.scipy.special import xlog1py
from frit.scipy.stats.arguments import arguments


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The log of the probability of k, (1 - p) ** (k - 1) p."""
    k, p, loc = arguments("geom.logpmf", k, p, loc)
    x = k - loc
    return jnp.where(x <= 0, -np.inf, xlog1py(x - 1, -p) + jnp.log(p))


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))
