"""Transformations that add to updates: weight decay and noise."""

import warnings
from typing import Any, NamedTuple

import frit.numpy as jnp
from frit import random as frit_random
from frit.ir import dtypes
from frit.optim import tree
from frit.optim.base import EmptyState, GradientTransformation, map_present, require_params
from frit.optim.combining import masked
from frit.optim.numerics import safe_increment, zero_count

AddDecayedWeightsState = EmptyState


class WeightDecaySchedule(NamedTuple):
    """The step count."""

    count: Any


def add_decayed_weights(weight_decay=0.0, mask=None):
    """g + weight_decay * p; a schedule is called with the step count.

    mask: a tree of booleans like (or a prefix of) the params, or a function of them that gives it:
    which leaves decay. Source: Loshchilov & Hutter 2019, Decoupled weight decay regularization.
    """
    scheduled = callable(weight_decay)

    def init(params):
        return WeightDecaySchedule(zero_count()) if scheduled else EmptyState()

    def update(updates, state, params):
        require_params(params)
        if not scheduled and isinstance(weight_decay, int | float) and weight_decay == 0.0:
            return updates, state
        strength = weight_decay(state.count) if scheduled else weight_decay
        updates = map_present(lambda g, p: g + strength * p, updates, params)
        return updates, WeightDecaySchedule(safe_increment(state.count)) if scheduled else state

    transformation = GradientTransformation(init, update)
    return transformation if mask is None else masked(transformation, mask)


class AddNoiseState(NamedTuple):
    """The step count, and the key of the next draws."""

    count: Any
    rng_key: Any


def add_noise(eta, gamma, key=None, *, seed=None):
    """g + normal noise of variance eta / (1 + t)^gamma.

    key: a random key or a seed. Source: Neelakantan et al. 2015, Adding gradient noise improves
    learning for very deep networks.
    """
    if seed is not None:
        warnings.warn('"seed" is deprecated: use "key".', DeprecationWarning, stacklevel=2)
        if key is not None:
            raise ValueError("Only one of seed or key can be specified.")
        key = seed
    if key is None:
        warnings.warn("add_noise without a key uses 0: write key=random.key(...).", stacklevel=2)
        key = 0

    def init(params):
        is_key = hasattr(key, "dtype") and dtypes.issubdtype(key.dtype, dtypes.prng_key)
        return AddNoiseState(zero_count(), key if is_key else frit_random.key(key))

    def update(updates, state, params=None):
        count = safe_increment(state.count)
        deviation = jnp.sqrt(eta / count**gamma)
        next_key, key = frit_random.split(state.rng_key)
        noise = tree.random_like(key, updates)
        updates = tree.add_scale(updates, deviation, noise)
        return updates, AddNoiseState(count=count, rng_key=next_key)

    return GradientTransformation(init, update)
