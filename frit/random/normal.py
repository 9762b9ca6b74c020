"""The normal distribution and what is made from it.

A standard normal draw is sqrt(2) * erf_inv(u), with u uniform in (-1, 1): the inverse of its
cumulative distribution.
"""

from functools import partial

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.jitting import jit
from frit.config import numpy_rank_promotion
from frit.ir import dtypes
from frit.numpy.operands import check_arraylike
from frit.random.checks import (
    as_inexact,
    as_shape,
    check_safe_to_cast,
    float_dtype,
    inexact_dtype,
    optional_shape,
    sampler,
    shape_over,
)
from frit.random.keys import split_typed
from frit.random.uniform import rademacher, uniform

_ONE = np.float32(1)


@sampler
def normal(key, shape=(), dtype=None):
    """Standard normal draws of `shape`: density exp(-x^2 / 2) / sqrt(2 pi).

    A complex dtype has independent real and imaginary parts of variance 1/2 each.
    """
    return _normal(key, as_shape("normal", shape), inexact_dtype("normal", dtype))


@partial(jit, static_argnums=(1, 2))
def _normal(key, shape, dtype):
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape, dtype)
    real_dtype = np.array(0, dtype).real.dtype
    real, imaginary = (
        _normal_real(part, shape, real_dtype).astype(dtype) for part in split_typed(key)
    )
    return (real + 1j * imaginary) / np.array(np.sqrt(2), dtype)


@partial(jit, static_argnums=(1, 2))
def _normal_real(key, shape, dtype):
    above_minus_one = np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype)
    u = uniform(key, shape, dtype, above_minus_one, np.array(1.0, dtype))
    return lax.mul(np.array(np.sqrt(2), dtype), lax.erf_inv(u))


@sampler
def truncated_normal(key, lower, upper, shape=None, dtype=None):
    """Standard normal draws within the open interval (lower, upper), whose ends broadcast."""
    shape = optional_shape("truncated_normal", shape)
    return _truncated_normal(key, lower, upper, shape, float_dtype("truncated_normal", dtype))


@partial(jit, static_argnums=(3, 4))
def _truncated_normal(key, lower, upper, shape, dtype):
    shape = shape_over("truncated_normal", shape, np.shape(lower), np.shape(upper))
    sqrt2 = np.array(np.sqrt(2), dtype)
    lower = lax.convert_element_type(lower, dtype)
    upper = lax.convert_element_type(upper, dtype)
    u = uniform(key, shape, dtype, lax.erf(lower / sqrt2), lax.erf(upper / sqrt2))
    # Rounding may reach the ends or pass them: the interval is open.
    infinity = np.array(np.inf, dtype)
    return jnp.clip(
        sqrt2 * lax.erf_inv(u),
        lax.nextafter(lax.stop_gradient(lower), infinity),
        lax.nextafter(lax.stop_gradient(upper), -infinity),
    )


@sampler
def multivariate_normal(key, mean, cov, shape=None, dtype=None, method="cholesky"):
    """Normal draws of mean `(..., n)` and covariance `(..., n, n)`: an array `(*shape, n)`.

    shape: the batch shape (None: as those of mean and cov broadcast). method: how cov is factored,
    "cholesky", or "eigh" / "svd" where it may be singular.
    Raises ValueError where the shapes of mean and cov do not agree.
    """
    mean, cov = as_inexact(mean, cov)
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError(f"method must be one of {{'svd', 'eigh', 'cholesky'}}, got {method!r}")
    dtype = float_dtype("multivariate_normal", mean.dtype if dtype is None else dtype)
    shape = optional_shape("multivariate_normal", shape)
    return _multivariate_normal(key, mean, cov, shape, dtype, method)


@partial(jit, static_argnums=(3, 4, 5))
def _multivariate_normal(key, mean, cov, shape, dtype, method):
    if mean.ndim < 1:
        raise ValueError(
            f"multivariate_normal requires mean.ndim >= 1, got mean.ndim == {mean.ndim}: write "
            "mean[None] for one variable, or use random.normal."
        )
    if cov.ndim < 2:
        raise ValueError(
            f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {cov.ndim}: a vector of "
            "variances is jnp.diag(variances)."
        )
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got "
            f"cov.shape == {cov.shape}."
        )
    shape = shape_over("normal", shape, mean.shape[:-1], cov.shape[:-2])
    factor = _factor(cov, method)
    draws = normal(key, (*shape, n), dtype)
    with numpy_rank_promotion("allow"):
        return mean + jnp.einsum("...ij,...j->...i", factor, draws)


def _factor(cov, method):
    """A matrix L with L @ L.T = cov."""
    if method == "svd":
        u, s, _ = jnp.linalg.svd(cov)
        return u * jnp.sqrt(s[..., None, :])
    if method == "eigh":
        w, v = jnp.linalg.eigh(cov)
        return v * jnp.sqrt(w[..., None, :])
    return jnp.linalg.cholesky(cov)


@sampler
def lognormal(key, sigma=_ONE, shape=None, dtype=None):
    """exp(sigma * z) with z standard normal; `sigma` broadcasts to `shape`."""
    dtype = inexact_dtype("lognormal", dtype)
    shape = shape_over("lognormal", optional_shape("lognormal", shape), np.shape(sigma))
    check_safe_to_cast("lognormal", dtype, sigma)
    return _lognormal(key, sigma, shape, dtype)


@partial(jit, static_argnums=(2, 3), inline=True)
def _lognormal(key, sigma, shape, dtype):
    return lax.exp(normal(key, shape, dtype) * lax.convert_element_type(sigma, dtype))


@sampler
def maxwell(key, shape=(), dtype=None):
    """The length of a standard normal vector of three: density ~ x^2 exp(-x^2 / 2), x >= 0."""
    return _maxwell(key, as_shape("maxwell", shape), float_dtype("maxwell", dtype))


@partial(jit, static_argnums=(1, 2))
def _maxwell(key, shape, dtype):
    return jnp.linalg.norm(normal(key, (*shape, 3), dtype), axis=-1)


@sampler
def double_sided_maxwell(key, loc, scale, shape=(), dtype=None):
    """loc + scale * (a Maxwell draw of random sign): density ~ z^2 exp(-z^2 / 2).

    The result's shape is `shape` (the parameters' if empty) followed by the parameters' shape.
    """
    dtype = float_dtype("double_sided_maxwell", dtype)
    shape = as_shape("double_sided_maxwell", shape)
    return _double_sided_maxwell(key, loc, scale, shape, dtype)


@partial(jit, static_argnums=(3, 4))
def _double_sided_maxwell(key, loc, scale, shape, dtype):
    parameters = lax.broadcast_shapes(np.shape(loc), np.shape(scale))
    shape = (shape or parameters) + parameters
    maxwell_key, sign_key = split_typed(key)
    lengths = maxwell(maxwell_key, shape, dtype)
    return rademacher(sign_key, shape, dtype) * lengths * scale + loc


@sampler
def orthogonal(key, n, shape=(), dtype=None, m=None):
    """Uniform (Haar) draws of n x m matrices with orthonormal rows or columns: `(*shape, n, m)`.

    m: None makes them square. A complex dtype gives unitary ones.
    Source: Mezzadri 2007, How to generate random matrices from the classical compact groups, 5.
    """
    shape, dtype = as_shape("orthogonal", shape), inexact_dtype("orthogonal", dtype)
    rows = _as_size("orthogonal", n)
    return _orthogonal(key, rows, rows if m is None else _as_size("orthogonal", m), shape, dtype)


def _as_size(name, size):
    (result,) = as_shape(name, size)
    return result


@partial(jit, static_argnums=(1, 2, 3, 4))
def _orthogonal(key, n, m, shape, dtype):
    q, r = jnp.linalg.qr(normal(key, (*shape, max(n, m), min(n, m)), dtype))
    # The signs of r's diagonal are an accident of the algorithm: undone, q is uniform.
    signs = jnp.sign(jnp.linalg.diagonal(r))
    columns = q * jnp.expand_dims(signs, -2)
    return columns.mT if n < m else columns


@sampler
def rayleigh(key, scale, shape=None, dtype=None):
    """scale * sqrt(-2 log u): density ~ x exp(-x^2 / (2 scale^2)), x >= 0; `scale` broadcasts."""
    check_arraylike("rayleigh", scale)
    dtype = float_dtype("rayleigh", dtype)
    shape = shape_over("rayleigh", optional_shape("rayleigh", shape), np.shape(scale))
    check_safe_to_cast("rayleigh", dtype, scale)
    return _rayleigh(key, scale, shape, dtype)


@partial(jit, static_argnums=(2, 3))
def _rayleigh(key, scale, shape, dtype):
    u = uniform(key, shape, dtype)
    scale = jnp.broadcast_to(scale.astype(dtype), shape)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), np.array(-2, dtype))))


@sampler
def wald(key, mean, shape=None, dtype=None):
    """Inverse Gaussian draws of the given mean and scale 1; `mean` broadcasts to `shape`.

    Density: sqrt(1 / (2 pi x^3)) exp(-(x - mean)^2 / (2 mean^2 x)), x > 0.
    Source: Michael, Schucany & Haas 1976.
    """
    check_arraylike("wald", mean)
    dtype = float_dtype("wald", dtype)
    shape = shape_over("wald", optional_shape("wald", shape), np.shape(mean))
    check_safe_to_cast("wald", dtype, mean)
    return _wald(key, mean, shape, dtype)


@partial(jit, static_argnums=(2, 3))
def _wald(key, mean, shape, dtype):
    normal_key, uniform_key = split_typed(key)
    mean = jnp.broadcast_to(mean.astype(dtype), shape)
    v = normal(normal_key, shape, dtype)
    z = uniform(uniform_key, shape, dtype)
    y = lax.integer_pow(v, 2)
    y_squared = lax.integer_pow(y, 2)
    mean_squared = lax.integer_pow(mean, 2)
    root = lax.sqrt(4 * mean * y + mean_squared * y_squared)
    smaller = mean + mean_squared * y / 2 - mean / 2 * root
    return lax.select(lax.le(z, mean / (mean + smaller)), smaller, mean_squared / smaller)
