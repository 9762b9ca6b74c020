"""Second moments of matrices kept as a row and a column: Adafactor's scaling."""

from typing import Any, NamedTuple

import numpy as np

import frit.numpy as jnp
from frit.optim.base import GradientTransformation, Updates, require_params
from frit.optim.numerics import abs_sq, safe_increment, zero_count
from frit.tree_util import tree_map


class FactoredState(NamedTuple):
    """The step count; row and column moments of factored leaves; the full moments of the others."""

    count: Any
    v_row: Updates
    v_col: Updates
    v: Updates


class _Leaf:
    """The parts of one leaf: no pytree node, so that a tree of them maps as leaves."""

    def __init__(self, update, v_row, v_col, v):
        self.update, self.v_row, self.v_col, self.v = update, v_row, v_col, v


def decay_rate_power(step, exponent=0.8):
    """1 - (step + 1)^-exponent: averages longer as steps go on."""
    return 1.0 - jnp.array(step + 1, jnp.float32) ** (-exponent)


def scale_by_factored_rms(
    factored=True,
    decay_rate=0.8,
    step_offset=0,
    min_dim_size_to_factor=128,
    epsilon=1e-30,
    decay_rate_fn=decay_rate_power,
):
    """g / sqrt(v), where v of a matrix is approximated by v_row v_col / mean(v_row).

    A leaf is factored over its two largest axes where both are at least `min_dim_size_to_factor`.
    Source: Shazeer & Stern 2018, Adafactor: adaptive learning rates with sublinear memory cost.
    """

    def factored_axes(shape):
        if not factored or len(shape) < 2:
            return None
        *_, second, largest = np.argsort(shape)
        return (int(second), int(largest)) if shape[second] >= min_dim_size_to_factor else None

    def start(param):
        unused = jnp.zeros((1,), param.dtype)
        axes = factored_axes(param.shape)
        if axes is None:
            return _Leaf(unused, unused, unused, jnp.zeros_like(param))
        second, largest = axes
        without = lambda axis: jnp.zeros(np.delete(param.shape, axis), param.dtype)
        return _Leaf(unused, without(largest), without(second), unused)

    def step(decay, grad, v_row, v_col, v, param):
        unused = jnp.zeros((1,), param.dtype)
        squared = abs_sq(grad) + epsilon
        axes = factored_axes(param.shape)
        if axes is None:
            v = (decay * v + (1.0 - decay) * squared).astype(param.dtype)
            return _Leaf(grad * v**-0.5, unused, unused, v)
        second, largest = axes
        v_row = decay * v_row + (1.0 - decay) * jnp.mean(squared, axis=largest)
        v_col = decay * v_col + (1.0 - decay) * jnp.mean(squared, axis=second)
        v_row, v_col = v_row.astype(param.dtype), v_col.astype(param.dtype)
        second_in_row = second - 1 if second > largest else second
        row = (v_row / jnp.mean(v_row, axis=second_in_row, keepdims=True)) ** -0.5
        update = grad * jnp.expand_dims(row, largest) * jnp.expand_dims(v_col**-0.5, second)
        return _Leaf(update, v_row, v_col, unused)

    def state_of(count, leaves):
        part = lambda name: tree_map(lambda leaf: getattr(leaf, name), leaves)
        return FactoredState(count, part("v_row"), part("v_col"), part("v"))

    def init(params):
        return state_of(zero_count(), tree_map(start, params))

    def update(updates, state, params):
        decay = decay_rate_fn(state.count - step_offset, decay_rate)
        leaves = tree_map(
            lambda *parts: step(decay, *parts),
            updates,
            state.v_row,
            state.v_col,
            state.v,
            require_params(params),
        )
        new_state = state_of(safe_increment(state.count), leaves)
        return tree_map(lambda leaf: leaf.update, leaves), new_state

    return GradientTransformation(init, update)
