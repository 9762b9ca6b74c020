"""Choosing among given things: permutations, samples with and without replacement, categories.

A shuffle sorts by random 32-bit keys, repeated until every pair of elements is told apart; a draw
from unnormalised log probabilities is the argmax after adding Gumbel noise, and k draws without
replacement are the top k (Kool, van Hoof & Welling 2019).
"""

import math
import operator
from collections.abc import Sequence
from functools import partial

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.jitting import jit
from frit.errors import ConcretizationTypeError
from frit.ir import dtypes
from frit.ir.primitive import Tracer
from frit.numpy.operands import canonical_axis
from frit.random.checks import as_inexact, optional_shape, sampler, shape_over
from frit.random.generators import random_bits
from frit.random.inverse import gumbel
from frit.random.keys import split_typed
from frit.random.uniform import randint, uniform


@sampler
def permutation(key, x, axis=0, independent=False):
    """`x` in a random order along `axis`; for an integer x, range(x) in a random order.

    independent: each vector along `axis` has an order of its own. Raises TypeError where x is
    neither an integer nor an array with axes.
    """
    axis = canonical_axis(axis, np.ndim(x) or 1)
    if np.ndim(x):
        return _permutation(key, x, axis, independent)
    if not dtypes.issubdtype(jnp.result_type(x), np.integer):
        raise TypeError(
            f"x must be an integer or at least 1-dimensional, got {x!r}: random.permutation(key, "
            "10) permutes 0..9, random.permutation(key, jnp.array([...])) the given values."
        )
    count = _known_count("permutation", "x", x)
    return _shuffle(key, jnp.arange(count), axis)


def _known_count(name, argument, value):
    """An integer that sizes the result. ConcretizationTypeError where it is traced."""
    if isinstance(value, Tracer) and value.concrete() is None:
        raise ConcretizationTypeError(
            value,
            f"It is the argument `{argument}` of random.{name}, which says how many things there "
            "are: mark it with static_argnums or static_argnames, or give an array of the things.",
        )
    return operator.index(value)


def _permutation(key, x, axis, independent):
    x = jnp.asarray(x)
    if independent or x.ndim == 1:
        return _shuffle(key, x, axis)
    order = _shuffle(key, jnp.arange(x.shape[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


@partial(jit, static_argnums=(2,))
def _shuffle(key, x, axis):
    # Keys of 32 bits collide. After r rounds two elements are told apart by 32 r bits, and a bias
    # needs a pair that never was: 3 log2(n) bits make that as unlikely as 1 / n.
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(np.iinfo(np.uint32).max))
    for _ in range(rounds):
        key, subkey = split_typed(key)
        order = random_bits(subkey, bit_width=32, shape=x.shape)
        _, x = lax.sort_key_val(order, x, axis)
    return x


@sampler
def choice(key, a, shape=(), replace=True, p=None, axis=0, mode=None):
    """Draws of `shape` from the entries of `a` along `axis` (an integer `a` means arange(a)).

    p: `(n,)` probabilities of the entries, equal where None. replace: whether one entry may be
    drawn again. mode: how many bits the Gumbel noise takes, as in `gumbel`.
    Raises ValueError where more are asked for than there are, and `replace` is False.
    """
    if not isinstance(shape, Sequence):
        raise TypeError(
            f"shape argument of jax.random.choice must be a sequence, got {shape}. Write "
            f"({shape},)."
        )
    array = jnp.asarray(a)
    if array.ndim == 0:
        entries = _known_count("choice", "a", a)
    else:
        axis = canonical_axis(axis, array.ndim)
        entries = array.shape[axis]
    draws = math.prod(shape)
    if draws == 0:
        return jnp.zeros(shape, dtype=array.dtype)
    if entries <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > entries:
        raise ValueError(
            f"Cannot take a larger sample (size {draws}) than population (size {entries}) when "
            "'replace=False'"
        )
    if p is None and not replace:
        shuffled = permutation(key, entries if array.ndim == 0 else array, axis)
        result = shuffled[(slice(None),) * axis + (slice(draws),)]
    else:
        index = _chosen_index(key, entries, tuple(shape), replace, p, mode)
        result = index if array.ndim == 0 else jnp.take(array, index, axis)
    if array.ndim == 0:
        return result.reshape(shape)
    return result.reshape((*array.shape[:axis], *shape, *array.shape[axis + 1 :]))


def _chosen_index(key, entries, shape, replace, p, mode):
    if p is None:
        return randint(key, shape, 0, entries)
    (p,) = as_inexact(p)
    if p.shape != (entries,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. p has shape "
            f"{p.shape} and a.shape[axis] is {entries}."
        )
    if replace:
        cumulative = jnp.cumsum(p)
        r = cumulative[-1] * (1 - uniform(key, shape, dtype=cumulative.dtype))
        return jnp.searchsorted(cumulative, r).astype(int)
    noisy = gumbel(key, (entries,), dtype=p.dtype, mode=mode) + jnp.log(p)
    return lax.top_k(noisy, k=math.prod(shape))[1].astype(int)


@sampler
def categorical(key, logits, axis=-1, shape=None, replace=True, mode=None):
    """Indices along `axis` of `logits`, drawn with probabilities softmax(logits, axis).

    shape: the result's, ending in logits' shape without `axis` (its default). replace: False draws
    the leading axes of `shape` without replacement. mode: as in `gumbel`.
    """
    logits = jnp.asarray(logits)
    axis = canonical_axis(axis, logits.ndim) - logits.ndim
    batch = tuple(int(d) for d in np.delete(logits.shape, axis))
    shape = shape_over("categorical", optional_shape("categorical", shape), batch)
    prefix = shape[: len(shape) - len(batch)]
    if not replace:
        return _categories_without_replacement(key, logits, axis, shape, prefix, mode)
    noise_shape = list(shape[len(prefix) :])
    noise_shape.insert(axis % logits.ndim, logits.shape[axis])
    noise = gumbel(key, (*prefix, *noise_shape), logits.dtype, mode=mode)
    return jnp.argmax(noise + lax.expand_dims(logits, tuple(range(len(prefix)))), axis=axis)


def _categories_without_replacement(key, logits, axis, shape, prefix, mode):
    logits = logits + gumbel(key, logits.shape, logits.dtype, mode=mode)
    draws = math.prod(prefix)
    if draws > logits.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({draws}) cannot exceed number of categories "
            f"({logits.shape[axis]})."
        )
    _, indices = lax.top_k(jnp.moveaxis(logits, axis, -1), draws)
    return lax.reshape(indices, shape, (indices.ndim - 1, *range(indices.ndim - 1)))
