"""Draws that are exact functions of random bits: bits, floats of [a, b), integers, coin flips.

The b mantissa bits of a float in [1, 2) are filled with random bits, and 1 is subtracted: the
result is k * 2^-b, each k equally likely. An integer of [0, span) is 2n bits modulo span, so its
bias is at most span / 2^2n.
"""

from functools import partial

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.jitting import jit
from frit.ir import dtypes
from frit.random.checks import (
    as_shape,
    canonical_dtype,
    float_dtype,
    integer_dtype,
    optional_shape,
    sampler,
    shape_over,
)
from frit.random.generators import random_bits
from frit.random.keys import split_typed


@sampler
def bits(key, shape=(), dtype=None):
    """Uniformly random bits as unsigned integers of `shape`; dtype: uint8 .. uint64.

    Raises ValueError for any other dtype.
    """
    dtype = dtypes.canonicalize(np.uint64) if dtype is None else canonical_dtype(dtype)
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        raise ValueError(
            f"dtype argument to `bits` must be an unsigned int dtype, got {dtype}. Write "
            "dtype=jnp.uint32, or use random.randint for signed integers."
        )
    return random_bits(key, bit_width=8 * dtype.itemsize, shape=as_shape("bits", shape))


@sampler
def uniform(key, shape=(), dtype=None, minval=0.0, maxval=1.0):
    """Floats of `shape`, equally likely in [minval, maxval); the bounds broadcast to `shape`."""
    dtype = float_dtype("uniform", dtype)
    return _uniform(key, minval, maxval, as_shape("uniform", shape), dtype)


@partial(jit, static_argnums=(3, 4))
def _uniform(key, minval, maxval, shape, dtype):
    bounds = [lax.convert_element_type(bound, dtype) for bound in (minval, maxval)]
    low, high = (lax.broadcast_to_rank(bound, len(shape)) for bound in bounds)
    mantissa_bits, width = jnp.finfo(dtype).nmant, jnp.finfo(dtype).bits
    if width not in (8, 16, 32, 64):
        raise TypeError(f"uniform only accepts 8-, 16-, 32-, or 64-bit dtypes, got {dtype}.")
    # A byte is enough for mantissas below 8 bits, whatever the width of the format.
    drawn = 8 if mantissa_bits < 8 else width
    word = np.dtype(f"uint{width}")
    random = random_bits(key, bit_width=drawn, shape=shape)
    if drawn != width:
        random = lax.convert_element_type(random, word)
    fraction = lax.shift_right_logical(random, np.array(drawn - mantissa_bits, word))
    one = np.array(1.0, dtype)
    from_one_to_two = lax.bitwise_or(fraction, one.view(word))
    floats = lax.bitcast_convert_type(from_one_to_two, dtype) - one
    # Rounding of the product may fall below `low`, never reach above what it should.
    return lax.max(low, lax.reshape(floats * (high - low) + low, shape))


@sampler
def randint(key, shape, minval, maxval, dtype=None):
    """Integers of `shape`, equally likely in [minval, maxval); the bounds broadcast to `shape`.

    minval where maxval <= minval. dtype: any integer dtype; the bounds are clipped to its range.
    """
    dtype = integer_dtype("randint", dtype, TypeError)
    shape = as_shape("randint", shape)
    limits = jnp.iinfo(dtype)
    if limits.bits >= 32:
        return _randint(key, minval, maxval, shape, dtype).astype(dtype)
    # Narrow types are drawn from 32 bits, which also leaves room for maxval = 2^bits.
    minval = jnp.asarray(minval).astype("int32").clip(int(limits.min), int(limits.max))
    maxval = jnp.asarray(maxval).astype("int32").clip(int(limits.min), int(limits.max) + 1)
    return _randint(key, minval, maxval, shape, np.dtype("int32")).astype(dtype)


@partial(jit, static_argnums=(3, 4))
def _randint(key, minval, maxval, shape, dtype):
    shape_over("randint", shape, np.shape(minval), np.shape(maxval))
    minval, maxval = _as_integers(minval), _as_integers(maxval)
    beyond = lax.gt(maxval, _clip_to(jnp.array(jnp.iinfo(dtype).max, dtype=dtype), maxval.dtype))
    bounds = [_clip_to(bound, dtype) for bound in (minval, maxval)]
    low, high = (lax.broadcast_to_rank(bound, len(shape)) for bound in bounds)
    width = jnp.iinfo(dtype).bits
    upper_key, lower_key = split_typed(key)
    upper = random_bits(upper_key, bit_width=width, shape=shape)
    lower = random_bits(lower_key, bit_width=width, shape=shape)

    # span = number of integers to choose from. It wraps to 0 where it is 2^width; then `rem` by 0
    # leaves all bits as they are, which is what is wanted.
    span = lax.convert_element_type(high - low, np.dtype(f"uint{width}"))
    span = lax.select(high <= low, lax.full_like(span, 1), span)
    span = lax.select(beyond & (high > low), span + np.array(1, span.dtype), span)

    # (upper * 2^width + lower) % span without a wider type: 2^width % span is the square of
    # 2^(width / 2) % span.
    half_power = lax.rem(np.array(2 ** (width // 2), span.dtype), span)
    power = lax.rem(lax.mul(half_power, half_power), span)
    offset = lax.add(lax.mul(lax.rem(upper, span), power), lax.rem(lower, span))
    return lax.add(low, lax.convert_element_type(lax.rem(offset, span), dtype))


def _as_integers(bound):
    array = jnp.asarray(bound)
    return array if dtypes.issubdtype(array.dtype, np.integer) else array.astype(int)


def _clip_to(value, dtype):
    """`value` in `dtype`, the nearest that it can hold."""
    source, target = jnp.iinfo(value.dtype), jnp.iinfo(dtype)
    as_limit = int if value.weak_type else value.dtype.type
    lowest = as_limit(max(source.min, target.min))
    highest = as_limit(min(source.max, target.max))
    return jnp.clip(value, lowest, highest).astype(dtype)


@sampler
def bernoulli(key, p=0.5, shape=None, mode="low"):
    """Booleans of `shape` (None: that of `p`), each True with probability `p`, a float.

    mode: "high" draws twice the bits, which a probability below 1e-7 needs; "low" does not.
    Raises TypeError where `p` is no float.
    """
    shape = optional_shape("bernoulli", shape)
    if mode not in ("high", "low"):
        raise ValueError(f"got {mode=}, expected 'high' or 'low'")
    dtype = jnp.result_type(p)
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(
            f"bernoulli probability `p` must have a floating dtype, got {dtype}. Write p=0.5, or "
            "convert it with p.astype(jnp.float32)."
        )
    return _bernoulli(key, lax.convert_element_type(p, dtype), shape, mode)


@partial(jit, static_argnames=("shape", "mode"))
def _bernoulli(key, p, shape, mode):
    shape = shape_over("bernoulli", np.shape(p) if shape is None else shape, np.shape(p))
    dtype = jnp.result_type(p)
    if mode == "low":
        return uniform(key, shape, dtype) < p
    coarse, fine = uniform(key, (2, *shape), dtype)
    return fine * 2.0 ** -jnp.finfo(dtype).nmant < p - coarse


@sampler
def rademacher(key, shape=(), dtype=None):
    """-1 or 1, equally likely, as an array of `shape` and `dtype` (default: the default int)."""
    dtype = canonical_dtype(int if dtype is None else dtype)
    return _rademacher(key, as_shape("rademacher", shape), dtype)


@partial(jit, static_argnums=(1, 2))
def _rademacher(key, shape, dtype):
    heads = bernoulli(key, 0.5, shape).astype(dtype)
    return (2 * heads - 1).astype(dtype)
