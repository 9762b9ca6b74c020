"""The normal distribution in several dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.numpy.operands import as_array
from frit.numpy.promotion import promote_dtypes_inexact


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The log of the density at the rows of x.

    x, mean: (..., n); cov: (..., n, n), or a scalar variance; or all scalar.  The leading axes
    broadcast.  ValueError where the covariance has another shape.
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "allow_singular argument of multivariate_normal.logpdf: leave it out; the covariance "
            "must be positive definite."
        )
    x, mean, cov = (as_array(v) for v in promote_dtypes_inexact(*map(as_array, (x, mean, cov))))
    log_turn = x.dtype.type(np.log(2 * np.pi))
    if not mean.shape:
        return -0.5 * jnp.square(x - mean) / cov - 0.5 * (log_turn + jnp.log(cov))
    n = mean.shape[-1]
    rank = max(x.ndim, mean.ndim)
    deviation = jnp.expand_dims(x, tuple(range(rank - x.ndim))) - jnp.expand_dims(
        mean, tuple(range(rank - mean.ndim))
    )
    if not cov.shape:
        squares = jnp.sum(jnp.square(deviation), axis=-1)
        return -0.5 * squares / cov - n / 2 * (log_turn + jnp.log(cov))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal.logpdf got incompatible shapes: mean of shape {mean.shape} needs "
            f"a covariance of shape (..., {n}, {n}) or (), but got {cov.shape}"
        )
    factor = lax.linalg.cholesky(cov)
    leading = jnp.broadcast_shapes(deviation.shape[:-1], factor.shape[:-2])
    deviation = jnp.broadcast_to(deviation, leading + (n,))
    factor = jnp.broadcast_to(factor, leading + (n, n))
    whitened = lax.linalg.triangular_solve(
        factor, deviation[..., None], left_side=True, lower=True
    )[..., 0]
    log_determinant = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    squares = jnp.sum(jnp.square(whitened), axis=-1)
    return -0.5 * squares - n / 2 * log_turn - log_determinant


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density at the rows of x."""
    return jnp.exp(logpdf(x, mean, cov))
