"""The multinomial distribution: counts of n trials with outcomes of probabilities p."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.operands import as_array
from frit.numpy.promotion import promote_args_inexact, promote_args_numeric
from frit.scipy.special import gammaln, xlogy


def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The log of the probability of the counts x.

    x: (..., outcomes) and n: integers, else ValueError; p: (..., outcomes).  -inf where the counts
    do not sum to n.
    """
    (p,) = promote_args_inexact("multinomial.logpmf", p)
    x, n = (as_array(v) for v in promote_args_numeric("multinomial.logpmf", x, n))
    if not jnp.issubdtype(x.dtype, jnp.integer):
        raise ValueError(
            f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}"
        )
    p = as_array(p)
    x, n = x.astype(p.dtype), n.astype(p.dtype)
    n = n if n.ndim == 0 else n.reshape(()) if n.size == 1 else n
    value = gammaln(n + 1) + jnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return jnp.where(jnp.sum(x, axis=-1) == n, value, -np.inf)


def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of the counts x."""
    return jnp.exp(logpmf(x, n, p))
