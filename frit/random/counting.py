"""Counts: Poisson, binomial, multinomial and geometric draws.

Small means are drawn by counting events until their waiting times pass the limit; large ones by
transformed rejection, whose cost does not grow with the mean. Both are loops over whole arrays that
end when every element has its draw.

Source: Hormann 1993, The generation of binomial random variates (BTRS), and The transformed
rejection method for generating Poisson random variables (PTRS).
"""

from functools import partial

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.jitting import jit
from frit.random.checks import (
    as_inexact,
    float_dtype,
    integer_dtype,
    optional_shape,
    sampler,
    shape_over,
)
from frit.random.keys import split, split_typed
from frit.random.uniform import uniform


@sampler
def poisson(key, lam, shape=None, dtype=None):
    """Counts with probability lam^k exp(-lam) / k!, as `dtype`; `lam` >= 0 broadcasts to `shape`.

    -1 where `lam` is nan.
    """
    dtype = integer_dtype("poisson", dtype)
    shape = optional_shape("poisson", shape)
    shape = np.shape(lam) if shape is None else shape
    lam = lax.convert_element_type(jnp.broadcast_to(lam, shape), np.float32)
    return _poisson(key, lam, shape, dtype)


@partial(jit, static_argnums=(2, 3))
def _poisson(key, lam, shape, dtype):
    is_small = lax.ne(lam, lam) | (lam < 10)
    small = lax.select(is_small, lam, lax.full_like(lam, 0.0))
    large = lax.select(is_small, lax.full_like(lam, 1e5), lam)
    limit = dtype.type(jnp.iinfo(dtype).max)
    counts = lax.select(
        is_small,
        _poisson_knuth(key, small, shape, dtype, limit),
        _poisson_rejection(key, large, shape, dtype, limit),
    )
    return lax.select(lam == 0, jnp.zeros_like(counts), counts)


@partial(jit, static_argnums=(2, 3, 4))
def _poisson_knuth(key, lam, shape, dtype, max_iters):
    """How many uniform draws can be multiplied before their product falls to exp(-lam)."""

    def multiply(carry):
        i, count, key, log_product = carry
        key, subkey = split_typed(key)
        count = lax.select(log_product > -lam, count + 1, count)
        u = uniform(subkey, shape, np.float32)
        return i + 1, count, key, log_product + jnp.log(u)

    def some_remain(carry):
        i, _, _, log_product = carry
        return (log_product > -lam).any() & (i < max_iters)

    start = 0, lax.full_like(lam, 0, dtype, shape), key, lax.full_like(lam, 0, np.float32, shape)
    return (lax.while_loop(some_remain, multiply, start)[1] - 1).astype(dtype)


@partial(jit, static_argnums=(2, 3, 4))
def _poisson_rejection(key, lam, shape, dtype, max_iters):
    """PTRS, for lam >= 10; the constants are the paper's."""
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def propose(carry):
        i, chosen, accepted, key = carry
        key, u_key, v_key = split_typed(key, 3)
        u = uniform(u_key, shape, lam.dtype) - 0.5
        v = uniform(v_key, shape, lam.dtype)
        u_shifted = 0.5 - abs(u)
        k = lax.floor((2 * a / u_shifted + b) * u + lam + 0.43)
        s = lax.log(v * inverse_alpha / (a / (u_shifted * u_shifted) + b))
        log_probability = -lam + k * log_lam - lax.lgamma(k + 1)
        at_once = (u_shifted >= 0.07) & (v <= v_r)
        impossible = (k < 0) | ((u_shifted < 0.013) & (v > u_shifted))
        accept = at_once | (~impossible & (s <= log_probability))
        return i + 1, lax.select(accept, k, chosen), accepted | accept, key

    start = (
        0,
        lax.full_like(lam, -1, lam.dtype, shape),
        lax.full_like(lam, False, np.dtype(bool), shape),
        key,
    )
    return lax.while_loop(_some_rejected(max_iters), propose, start)[1].astype(dtype)


def _some_rejected(max_iters):
    def condition(carry):
        i, _, accepted, _ = carry
        return (~accepted).any() & (i < max_iters)

    return condition


@sampler
def binomial(key, n, p, shape=None, dtype=None):
    """Counts of successes in `n` trials of probability `p`, as floats; both broadcast to `shape`.

    nan where `p` is nan or negative, or `n` is nan or negative; inf where `n` is inf.
    """
    dtype = float_dtype("binomial", dtype)
    return _binomial(key, n, p, optional_shape("binomial", shape), dtype)


@partial(jit, static_argnums=(3, 4), inline=True)
def _binomial(key, count, prob, shape, dtype):
    shape = shape_over("binomial", shape, np.shape(count), np.shape(prob))
    (prob,) = as_inexact(prob)
    count = jnp.broadcast_to(lax.convert_element_type(count, prob.dtype), shape)
    prob = jnp.broadcast_to(prob, shape)

    # The rarer outcome is counted, of probability q <= 1/2, and subtracted at the end.
    p_is_rarer = prob < 0.5
    q = lax.select(p_is_rarer, prob, 1.0 - prob)
    count_is_bad = lax.ne(count, count) | (count < 0.0)
    q_is_nan = lax.ne(q, q)
    q_is_negative = q < 0.0
    q = lax.select(q_is_nan | q_is_negative, lax.full_like(q, 0.01), q)
    by_inversion = count_is_bad | (count * q <= 10.0)
    infinite = jnp.isinf(count)
    count = jnp.floor(count)

    limit = dtype.type(jnp.finfo(dtype).max)
    few = lax.select(by_inversion, count, lax.full_like(count, 0.0))
    many = lax.select(by_inversion, lax.full_like(count, 1e4), count)
    q_of_many = lax.select(by_inversion, lax.full_like(q, 0.5), q)
    samples = lax.select(
        by_inversion,
        _binomial_inversion(key, few, q, shape, dtype, limit),
        _btrs(key, many, q_of_many, shape, dtype, limit),
    )
    invalid = q_is_negative | q_is_nan | count_is_bad
    samples = lax.select(invalid, jnp.full_like(samples, np.nan, dtype), samples)
    samples = lax.select(infinite & ~invalid, jnp.full_like(samples, np.inf, dtype), samples)
    keep = p_is_rarer | count_is_bad | q_is_nan | infinite
    return lax.select(keep, samples, count.astype(dtype) - samples)


@partial(jit, static_argnums=(3, 4, 5), inline=True)
def _binomial_inversion(key, count, prob, shape, dtype, max_iters):
    """How many geometric waiting times fit into `count` trials."""
    log_failure = jnp.log1p(-prob)

    def wait(carry):
        i, successes, trials, key = carry
        subkey, key = split(key)
        successes = lax.select(trials <= count, successes + 1, successes)
        waiting = jnp.ceil(jnp.log(uniform(subkey, shape, prob.dtype)) / log_failure)
        return i + 1, successes, trials + waiting, key

    def some_remain(carry):
        i, _, trials, _ = carry
        return (trials <= count).any() & (i < max_iters)

    zeros = lax.full_like(prob, 0, prob.dtype, shape)
    return (lax.while_loop(some_remain, wait, (0, zeros, zeros, key))[1] - 1).astype(dtype)


@partial(jit, static_argnums=(3, 4, 5), inline=True)
def _btrs(key, count, prob, shape, dtype, max_iters):
    """BTRS, for count * prob >= 10; the constants are the paper's."""
    stddev = jnp.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    r = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * stddev
    m = jnp.floor((count + 1) * prob)

    def propose(carry):
        i, chosen, accepted, key = carry
        key, u_key, v_key = split(key, 3)
        u = uniform(u_key, shape, prob.dtype)
        v = uniform(v_key, shape, prob.dtype)
        u = u - 0.5
        us = 0.5 - jnp.abs(u)
        at_once = (us >= 0.07) & (v <= v_r)
        k = jnp.floor((2 * a / us + b) * u + c)
        impossible = (k < 0) | (k > count)
        log_v = jnp.log(v * alpha / (a / (us * us) + b))
        bound = (
            (m + 0.5) * jnp.log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * jnp.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * jnp.log(r * (count - k + 1) / (k + 1))
            + _stirling_tail(m)
            + _stirling_tail(count - m)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        accept = at_once | (~impossible & (log_v <= bound))
        return i + 1, lax.select(accept, k, chosen), accepted | accept, key

    start = (
        0,
        lax.full_like(prob, -1, prob.dtype, shape),
        jnp.full(shape, False, bool),
        key,
    )
    return lax.while_loop(_some_rejected(max_iters), propose, start)[1].astype(dtype)


# log k! - (log sqrt(2 pi) + (k + 1/2) log(k + 1) - (k + 1)) for k = 0 .. 9
_STIRLING_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k):
    """What Stirling's formula for log k! leaves out: a table up to 9, its series above."""
    table = jnp.array(_STIRLING_TAILS, dtype=k.dtype)
    in_table = k <= 9
    k = lax.clamp(np.array(0.0, k.dtype), k, np.array(9.0, k.dtype))
    squared = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / squared) / squared) / (k + 1)
    return lax.select(in_table, table[jnp.asarray(jnp.floor(k), dtype="int32")], series)


@sampler
def multinomial(key, n, p, *, shape=None, dtype=None, unroll=1):
    """Counts of each outcome in `n` trials: outcomes, of probabilities `p`, along the last axis.

    n broadcasts to `shape[:-1]`, p to `shape` (None: p's shape). Each outcome's count is binomial,
    given how many trials the earlier ones left.
    """
    n, p = as_inexact(n, p)
    shape = p.shape if shape is None else shape
    n = jnp.broadcast_to(n, shape[:-1])
    p = jnp.moveaxis(jnp.broadcast_to(p, shape), -1, 0)

    def draw(left, ratio_and_key):
        ratio, key = ratio_and_key
        count = binomial(key, left, ratio.clip(0, 1), dtype=left.dtype)
        return left - count, count

    remaining = lax.cumsum(p, 0, reverse=True)
    ratios = p / jnp.where(remaining == 0, 1, remaining)
    _, counts = lax.scan(draw, n, (ratios, split(key, ratios.shape[0])), unroll=unroll)
    return jnp.moveaxis(counts, 0, -1).astype(dtype)


@sampler
def geometric(key, p, shape=None, dtype=None):
    """The trial of the first success, 1, 2, ..: probability (1 - p)^(k - 1) p; `p` broadcasts."""
    dtype = integer_dtype("geometric", dtype)
    shape = shape_over("geometric", optional_shape("geometric", shape), np.shape(p))
    return _geometric(key, p, shape, dtype)


@partial(jit, static_argnums=(2, 3))
def _geometric(key, p, shape, dtype):
    (p,) = as_inexact(p)
    u = uniform(key, shape, p.dtype)
    # log 0 would be an infinite wait; 1 as the other end of the interval is as likely.
    log_u = lax.log(jnp.where(u == 0, 1, u))
    log_failure = jnp.broadcast_to(lax.log1p(-p), shape)
    return (lax.floor(lax.div(log_u, log_failure)) + 1).astype(dtype)
