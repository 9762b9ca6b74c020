"""The Dirichlet distribution: density in proportion to prod(x ** (alpha - 1)) on the simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.operands import as_array
from frit.numpy.promotion import promote_dtypes_inexact
from frit.scipy.special import gammaln, xlogy


def logpdf(x: Any, alpha: Any) -> Any:
    """The log of the density at the columns of x; -inf off the simplex.

    x: (n, ...) or (n - 1, ...), then the last component is what is missing to 1; alpha: (n,).
    ValueError for other shapes.
    """
    x, alpha = (as_array(v) for v in promote_dtypes_inexact(as_array(x), as_array(alpha)))
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "`x` must have either the same number of entries as `alpha` or one entry fewer; got "
            f"x.shape={x.shape}, alpha.shape={alpha.shape}"
        )
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - jnp.sum(x, axis=0, keepdims=True)], axis=0)
    normalizer = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    alpha = alpha.reshape(alpha.shape + (1,) * (x.ndim - 1))
    value = jnp.sum(xlogy(alpha - 1, x), axis=0) - normalizer
    on_simplex = jnp.all(x > 0, axis=0) & (jnp.abs(jnp.sum(x, axis=0) - 1) < 1e-6)
    return jnp.where(on_simplex, value, -np.inf)


def pdf(x: Any, alpha: Any) -> Any:
    """The density at the columns of x."""
    return jnp.exp(logpdf(x, alpha))
