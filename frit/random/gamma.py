"""The gamma distribution and what is made from it.

Source: Marsaglia & Tsang 2000, A simple method for generating gamma variables. For a >= 1, with
d = a - 1/3, c = 1 / sqrt(9 d), x normal and v = (1 + c x)^3: d v is accepted where
log u < x^2 / 2 + d (1 - v + log v). For a < 1 a draw of a + 1 is multiplied by u^(1/a), in
logarithms where log_space, as it may be smaller than any float.
"""

from functools import partial

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.jitting import jit
from frit.random.checks import (
    as_shape,
    check_safe_to_cast,
    float_dtype,
    optional_shape,
    sampler,
    shape_over,
)
from frit.random.gamma_draws import random_gamma
from frit.random.inverse import exponential
from frit.random.keys import split_typed
from frit.random.normal import _as_size, normal
from frit.random.uniform import rademacher


@sampler
def gamma(key, a, shape=None, dtype=None):
    """Draws with density ~ x^(a - 1) exp(-x), x >= 0; `a` > 0 broadcasts to `shape`.

    Differentiable in `a`. For small `a` draws underflow to 0: take `loggamma` there.
    """
    return _gamma(key, a, optional_shape("gamma", shape), float_dtype("gamma", dtype))


@sampler
def loggamma(key, a, shape=None, dtype=None):
    """The logarithm of `gamma` draws, exact also where the draw itself would be 0."""
    dtype = float_dtype("loggamma", dtype)
    return _gamma(key, a, optional_shape("loggamma", shape), dtype, log_space=True)


@partial(jit, static_argnames=("shape", "dtype", "log_space"))
def _gamma(key, a, shape, dtype, log_space=False):
    shape = shape_over("gamma", np.shape(a) if shape is None else shape, np.shape(a))
    a = lax.convert_element_type(a, dtype)
    if np.shape(a) != shape:
        a = jnp.broadcast_to(a, shape)
    return random_gamma(key, a, log_space=log_space)


@sampler
def beta(key, a, b, shape=None, dtype=None):
    """Draws with density ~ x^(a - 1) (1 - x)^(b - 1), 0 <= x <= 1: g_a / (g_a + g_b), g gamma."""
    dtype = float_dtype("beta", dtype)
    check_safe_to_cast("beta", dtype, a, b)
    shape = shape_over("beta", optional_shape("beta", shape), np.shape(a), np.shape(b))
    return _beta(key, a, b, shape, dtype)


@partial(jit, static_argnums=(3, 4))
def _beta(key, a, b, shape, dtype):
    a_key, b_key = split_typed(key)
    a = jnp.broadcast_to(lax.convert_element_type(a, dtype), shape)
    b = jnp.broadcast_to(lax.convert_element_type(b, dtype), shape)
    log_a = loggamma(a_key, a, shape, dtype)
    log_b = loggamma(b_key, b, shape, dtype)
    largest = lax.max(log_a, log_b)
    scaled_a, scaled_b = jnp.exp(log_a - largest), jnp.exp(log_b - largest)
    return scaled_a / (scaled_a + scaled_b)


@sampler
def dirichlet(key, alpha, shape=None, dtype=None):
    """Draws on the simplex with density ~ prod x_i^(alpha_i - 1): `(*shape, k)` for k weights.

    alpha: `(..., k)`, its leading axes broadcast to `shape`. Raises ValueError for a scalar.
    """
    return _dirichlet(
        key, alpha, optional_shape("dirichlet", shape), float_dtype("dirichlet", dtype)
    )


@partial(jit, static_argnums=(2, 3))
def _dirichlet(key, alpha, shape, dtype):
    if np.ndim(alpha) < 1:
        raise ValueError(
            f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}: equal "
            "weights of k outcomes are jnp.full(k, alpha)."
        )
    *batch, outcomes = np.shape(alpha)
    shape = shape_over("dirichlet", tuple(batch) if shape is None else shape, tuple(batch))
    logs = loggamma(key, lax.convert_element_type(alpha, dtype), (*shape, outcomes), dtype)
    scaled = jnp.exp(logs - lax.stop_gradient(jnp.max(logs, axis=-1, keepdims=True)))
    return scaled / jnp.sum(scaled, axis=-1, keepdims=True)


@sampler
def chisquare(key, df, shape=None, dtype=None):
    """Draws with density ~ x^(df/2 - 1) exp(-x/2), x > 0: twice a gamma draw of df / 2."""
    dtype = float_dtype("chisquare", dtype)
    shape = shape_over("chisquare", optional_shape("chisquare", shape), np.shape(df))
    check_safe_to_cast("chisquare", dtype, df)
    return _chisquare(key, df, shape, dtype)


@partial(jit, static_argnums=(2, 3))
def _chisquare(key, df, shape, dtype):
    two = np.array(2, dtype)
    half = lax.div(lax.convert_element_type(df, dtype), two)
    return lax.mul(jnp.exp(loggamma(key, half, shape, dtype)), two)


@sampler
def f(key, dfnum, dfden, shape=None, dtype=None):
    """Draws of the F distribution: the ratio of two chi-square draws, each over its freedom."""
    dtype = float_dtype("f", dtype)
    shape = shape_over("f", optional_shape("f", shape), np.shape(dfnum), np.shape(dfden))
    check_safe_to_cast("f", dtype, dfnum, dfden)
    return _f(key, dfnum, dfden, shape, dtype)


@partial(jit, static_argnums=(3, 4))
def _f(key, dfnum, dfden, shape, dtype):
    dfden = lax.convert_element_type(dfden, dtype)
    dfnum = lax.convert_element_type(dfnum, dtype)
    denominator_key, numerator_key = split_typed(key)
    numerator = chisquare(numerator_key, dfnum, shape, dtype)
    denominator = chisquare(denominator_key, dfden, shape, dtype)
    return lax.div(numerator / dfnum, denominator / dfden)


@sampler
def t(key, df, shape=None, dtype=None):
    """Draws of Student's t, density ~ (1 + x^2 / df)^(-(df + 1) / 2); `df` broadcasts."""
    dtype = float_dtype("t", dtype)
    shape = shape_over("t", optional_shape("t", shape), np.shape(df))
    check_safe_to_cast("t", dtype, df)
    return _t(key, df, shape, dtype)


@partial(jit, static_argnums=(2, 3))
def _t(key, df, shape, dtype):
    normal_key, gamma_key = split_typed(key)
    draws = normal(normal_key, shape, dtype)
    half = lax.div(lax.convert_element_type(df, dtype), np.array(2, dtype))
    return draws * jnp.sqrt(half / gamma(gamma_key, half, shape, dtype))


@sampler
def generalized_normal(key, p, shape=(), dtype=None):
    """Draws with density ~ exp(-|x|^p): a gamma draw of 1/p to the power 1/p, of random sign."""
    dtype = float_dtype("generalized_normal", dtype)
    return _generalized_normal(key, p, as_shape("generalized_normal", shape), dtype)


@partial(jit, static_argnums=(2, 3))
def _generalized_normal(key, p, shape, dtype):
    gamma_key, sign_key = split_typed(key)
    power = gamma(gamma_key, 1 / p, shape, dtype)
    return rademacher(sign_key, shape, dtype) * power ** (1 / p)


@sampler
def ball(key, d, p=2, shape=(), dtype=None):
    """Uniform draws from the unit ball of the L_p norm in `d` dimensions: `(*shape, d)`.

    Source: Barthe, Guedon, Mendelson & Naor 2005, A probabilistic approach to the geometry of the
    L_p^n ball.
    """
    shape, dtype = as_shape("ball", shape), float_dtype("ball", dtype)
    return _ball(key, p, _as_size("ball", d), shape, dtype)


@partial(jit, static_argnums=(2, 3, 4))
def _ball(key, p, d, shape, dtype):
    direction_key, radius_key = split_typed(key)
    g = generalized_normal(direction_key, p, (*shape, d), dtype)
    e = exponential(radius_key, shape, dtype)
    return g / (((jnp.abs(g) ** p).sum(-1) + e) ** (1 / p))[..., None]
