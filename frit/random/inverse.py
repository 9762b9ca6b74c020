"""Continuous distributions drawn by inverting the cumulative distribution of a uniform draw.

u uniform in (0, 1)  =>  F^-1(u) has the cumulative distribution F
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
from frit.random.generators import random_bits
from frit.random.uniform import _uniform, uniform


@sampler
def exponential(key, shape=(), dtype=None):
    """Draws of `shape` with density exp(-x), x >= 0: -log(1 - u)."""
    return _exponential(key, as_shape("exponential", shape), float_dtype("exponential", dtype))


@partial(jit, static_argnums=(1, 2))
def _exponential(key, shape, dtype):
    u = uniform(key, shape, dtype)
    # log1p(-u), not log(u): u may be 0, and is never 1.
    return lax.neg(lax.log1p(lax.neg(u)))


@sampler
def gumbel(key, shape=(), dtype=None, mode=None):
    """Draws of `shape` with density exp(-(x + exp(-x))): -log(-log(u)).

    mode: "low" (default) reaches about 16 in float32; "high" draws twice the bits and reaches 32;
    "highest" keeps every bit of a 64-bit draw (float32 only, else as "high").
    """
    dtype = float_dtype("gumbel", dtype)
    mode = "low" if mode is None else mode
    if mode not in ("highest", "high", "low"):
        raise ValueError(
            f"Must provide valid mode for gumbel got: {mode}. Write 'low', 'high' or 'highest'."
        )
    return _gumbel(key, as_shape("gumbel", shape), dtype, mode)


@partial(jit, static_argnums=(1, 2, 3))
def _gumbel(key, shape, dtype, mode):
    info = jnp.finfo(dtype)
    if mode == "low":
        return -jnp.log(
            -jnp.log(_uniform(key, minval=info.tiny, maxval=1.0, shape=shape, dtype=dtype))
        )
    if mode == "highest" and dtype == np.float32:
        return _gumbel_of_64_bits(random_bits(key, bit_width=32, shape=(2, *shape)))
    high, low = _uniform(key, minval=0.0, maxval=1.0, shape=(2, *shape), dtype=dtype)
    # Below 1/2 a float has bits to spare, which `low` fills; above it could only round up to 1.
    x = jnp.where(high >= 0.5, high, high + 2**-info.nmant * low + info.tiny)
    return -jnp.log(-jnp.log1p(-x))


def _gumbel_of_64_bits(words):
    """Gumbel draws from `uint32[2, ...]`, the halves of 64-bit fractions, exact on both tails."""
    inverted = lax.bitwise_not(words)
    carry = inverted[1] == np.uint32(0xFFFFFFFF)
    complement = inverted + jnp.array([carry, jnp.ones_like(inverted[1])], dtype=np.uint32)
    is_small = words[0] < np.uint32(1 << 31)
    x = _float_of_fraction(*jnp.where(is_small, words, complement))
    return jnp.where(is_small, -jnp.log(-jnp.log1p(-x)), -jnp.log(-jnp.log(x)))


def _float_of_fraction(high, low):
    """The float32 nearest below (high * 2^32 + low) / 2^64; its exponent counts leading zeros."""
    zeros_high, zeros_low = lax.clz(jnp.stack([high, low]))
    only_low = zeros_high == 32
    leading = lax.bitwise_or(
        lax.shift_left(high, zeros_high),
        jnp.where(
            only_low,
            lax.shift_left(low, zeros_low),
            lax.shift_right_logical(low, 32 - zeros_high),
        ),
    )
    mantissa = lax.bitwise_and(
        lax.shift_right_logical(leading, np.uint32(8)), np.uint32((1 << 23) - 1)
    )
    exponent = lax.shift_left(126 - jnp.where(only_low, 32 + zeros_low, zeros_high), np.uint32(23))
    exponent = lax.bitwise_and(exponent, np.uint32(0x3FC00000))
    return lax.bitcast_convert_type(lax.bitwise_or(exponent, mantissa), np.float32)


@sampler
def laplace(key, shape=(), dtype=None):
    """Draws of `shape` with density exp(-|x|) / 2: sign(u) log(1 - |u|), u in (-1, 1)."""
    return _laplace(key, as_shape("laplace", shape), float_dtype("laplace", dtype))


@partial(jit, static_argnums=(1, 2))
def _laplace(key, shape, dtype):
    u = uniform(key, shape, dtype, minval=-1.0 + jnp.finfo(dtype).epsneg, maxval=1.0)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@sampler
def logistic(key, shape=(), dtype=None):
    """Draws of `shape` with density exp(-x) / (1 + exp(-x))^2: log(u) - log(1 - u)."""
    return _logistic(key, as_shape("logistic", shape), float_dtype("logistic", dtype))


@partial(jit, static_argnums=(1, 2))
def _logistic(key, shape, dtype):
    u = uniform(key, shape, dtype, minval=jnp.finfo(dtype).tiny, maxval=1.0)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@sampler
def cauchy(key, shape=(), dtype=None):
    """Draws of `shape` with density 1 / (pi (x^2 + 1)): tan(pi (u - 1/2))."""
    return _cauchy(key, as_shape("cauchy", shape), float_dtype("cauchy", dtype))


@partial(jit, static_argnums=(1, 2))
def _cauchy(key, shape, dtype):
    u = uniform(key, shape, dtype, minval=jnp.finfo(dtype).eps, maxval=1.0)
    return lax.tan(lax.mul(np.array(np.pi, dtype), lax.sub(u, np.array(0.5, dtype))))


@sampler
def pareto(key, b, shape=None, dtype=None):
    """Draws with density b / x^(b + 1), x >= 1: exp(exponential / b); `b` broadcasts to `shape`."""
    dtype = float_dtype("pareto", dtype)
    shape = shape_over("pareto", optional_shape("pareto", shape), np.shape(b))
    check_safe_to_cast("pareto", dtype, b)
    return _pareto(key, b, shape, dtype)


@partial(jit, static_argnums=(2, 3))
def _pareto(key, b, shape, dtype):
    b = lax.convert_element_type(b, dtype)
    return lax.exp(exponential(key, shape, dtype) / b)


@sampler
def weibull_min(key, scale, concentration, shape=(), dtype=None):
    """Draws with density ~ (x/s)^(c-1) exp(-(x/s)^c), x >= 0: s (-log(1 - u))^(1/c)."""
    dtype = float_dtype("weibull_min", dtype)
    return _weibull_min(key, scale, concentration, as_shape("weibull_min", shape), dtype)


@partial(jit, static_argnums=(3, 4))
def _weibull_min(key, scale, concentration, shape, dtype):
    u = uniform(key, shape, dtype, minval=0, maxval=1)
    return jnp.power(-jnp.log1p(-u), 1.0 / concentration) * scale


@sampler
def triangular(key, left, mode, right, shape=None, dtype=None):
    """Draws in [left, right] whose density rises to `mode` and falls after it, both straight."""
    dtype = float_dtype("triangular", dtype)
    shape = optional_shape("triangular", shape)
    shape = shape_over("triangular", shape, np.shape(left), np.shape(mode), np.shape(right))
    check_safe_to_cast("triangular", dtype, left, mode, right)
    return _triangular(key, left, mode, right, shape, dtype)


@partial(jit, static_argnums=(4, 5), inline=True)
def _triangular(key, left, mode, right, shape, dtype):
    left, right, mode = (
        jnp.broadcast_to(lax.convert_element_type(x, dtype), shape) for x in (left, right, mode)
    )
    middle = (mode - left) / (right - left)
    u = uniform(key, shape, dtype)
    rising = left + lax.sqrt(u * (right - left) * (mode - left))
    falling = right - lax.sqrt((1 - u) * (right - left) * (right - mode))
    return lax.select(u < middle, rising, falling)
