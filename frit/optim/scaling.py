"""Transformations that scale updates: by a number, a schedule, a norm, a sign."""

from typing import Any, NamedTuple

import frit.numpy as jnp
from frit.optim import tree
from frit.optim.base import (
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    Params,
    Updates,
    identity,
    init_empty_state,
    require_params,
    stateless,
)
from frit.optim.numerics import safe_increment, safe_norm, safe_root_mean_squares, zero_count
from frit.tree_util import tree_map

ScaleState = ScaleByTrustRatioState = EmptyState


def scale(step_size):
    """step_size * g."""
    return stateless(lambda updates, params: tree.scale(step_size, updates))


class ScaleByScheduleState(NamedTuple):
    """The step count."""

    count: Any


def scale_by_schedule(step_size_fn):
    """step_size_fn(count) * g, in the dtype of g; the count starts at 0."""

    def update(updates, state, params=None):
        step_size = step_size_fn(state.count)
        updates = tree_map(lambda g: jnp.array(step_size, dtype=g.dtype) * g, updates)
        return updates, ScaleByScheduleState(count=safe_increment(state.count))

    return GradientTransformation(lambda params: ScaleByScheduleState(zero_count()), update)


def scale_by_learning_rate(learning_rate=None, *, flip_sign=True):
    """-learning_rate * g, so that adding it descends; a schedule is called with the step count."""
    if learning_rate is None:
        return identity()
    sign = -1 if flip_sign else 1
    if callable(learning_rate):
        return scale_by_schedule(lambda count: sign * learning_rate(count))
    return scale(sign * learning_rate)


def scale_by_trust_ratio(min_norm=0.0, trust_coefficient=1.0, eps=0.0):
    """trust_coefficient |p| / (|g| + eps) * g for each leaf; g where a norm is 0.

    Source: You, Gitman & Ginsburg 2017, Large batch training of convolutional networks.
    """

    def scaled(u, p):
        param_norm, update_norm = safe_norm(p, min_norm), safe_norm(u, min_norm)
        ratio = trust_coefficient * param_norm / (update_norm + eps)
        is_zero = jnp.logical_or(param_norm == 0.0, update_norm == 0.0)
        return u * jnp.where(is_zero, jnp.array(1.0, dtype=p.dtype), ratio)

    return stateless(lambda updates, params: tree_map(scaled, updates, require_params(params)))


def scale_by_param_block_norm(min_scale=1e-3):
    """max(|p|, min_scale) * g for each leaf."""
    return _scale_by_param(lambda p: safe_norm(p, min_scale))


def scale_by_param_block_rms(min_scale=1e-3):
    """max(rms(p), min_scale) * g for each leaf."""
    return _scale_by_param(lambda p: safe_root_mean_squares(p, min_scale))


def _scale_by_param(size):
    return stateless(
        lambda updates, params: tree_map(lambda u, p: u * size(p), updates, require_params(params))
    )


def normalize_by_update_norm(scale_factor=1.0, eps=1e-6):
    """scale_factor * g / (|g| + eps), the norm over all leaves."""

    def normalized(updates, params):
        norm = (tree.norm(updates) + eps) / scale_factor
        return tree_map(lambda g: g / norm, updates)

    return stateless(normalized)


def scale_by_sign():
    """sign(g)."""
    return stateless(lambda updates, params: tree_map(jnp.sign, updates))


def centralize():
    """g less its mean over all axes but the first, for leaves of two axes or more.

    Source: Yong et al. 2020, Gradient centralization.
    """

    def centered(g):
        return g - g.mean(tuple(range(1, g.ndim)), keepdims=True) if g.ndim > 1 else g

    return stateless(lambda updates, params: tree_map(centered, updates))


class ScaleByRpropState(NamedTuple):
    """Each element's step size, and its last update."""

    step_sizes: Updates
    prev_updates: Updates


def scale_by_rprop(
    learning_rate, eta_minus=0.5, eta_plus=1.2, min_step_size=1e-6, max_step_size=50.0
):
    """step * sign(g): the step grows while the sign stays, and shrinks when it turns.

    What is given out lags one step behind, and is 0 where the sign has turned since.
    Source: Riedmiller & Braun 1993, A direct adaptive method for faster backpropagation learning.
    """

    def init(params):
        return ScaleByRpropState(tree.full_like(params, learning_rate), tree.zeros_like(params))

    def next_step(agreement, step):
        factor = jnp.where(agreement > 0, eta_plus, eta_minus)
        changed = jnp.clip(step * factor, min=min_step_size, max=max_step_size)
        return jnp.where(agreement == 0, step, changed)

    def update(updates, state, params=None):
        agreement = tree.mul(updates, state.prev_updates)
        steps = tree_map(next_step, agreement, state.step_sizes)
        moves = tree_map(
            lambda a, g, step: jnp.where(a < 0, jnp.zeros_like(g), step * jnp.sign(g)),
            agreement,
            updates,
            steps,
        )
        # As optax has it, the move given out is the one of the step before.
        late = tree_map(
            lambda a, u: jnp.where(a < 0, jnp.zeros_like(u), u), agreement, state.prev_updates
        )
        return late, ScaleByRpropState(steps, moves)

    return GradientTransformation(init, update)


class ScaleByOptimisticGradientState(NamedTuple):
    """Whether no step was taken yet, and the last gradient."""

    is_initial_step: Any
    previous_gradient: Updates


def scale_by_optimistic_gradient(alpha=1.0, beta=1.0):
    """(alpha + beta) g_t - beta g_{t-1}, with g_0 = g_1.

    Source: Mokhtari, Ozdaglar & Pattathil 2019, A unified analysis of extra-gradient methods.
    """

    def init(params):
        return ScaleByOptimisticGradientState(jnp.array(True), tree.zeros_like(params))

    def update(updates, state, params=None):
        def ahead(g, previous):
            previous = jnp.where(state.is_initial_step, g, previous)
            return (alpha + beta) * g - beta * previous

        new_state = ScaleByOptimisticGradientState(jnp.array(False), updates)
        return tree_map(ahead, updates, state.previous_gradient), new_state

    return GradientTransformation(init, update)


class ScaleByDistanceOverGradientsState(NamedTuple):
    """The largest distance from the start, the sum of squared gradients, and the start."""

    max_dist: Updates
    grad_sum_of_squares: Updates
    init_params: Params


def scale_by_distance_over_gradients(
    reps_rel=1e-6, eps=1e-8, param_dtype=jnp.float32, global_scale=1.0
):
    """global_scale * d_t / sqrt(sum |g|^2 + eps) * g for each leaf, d its distance from the start.

    Source: Ivgi, Hinder & Carmon 2023, DoG is SGD's best friend.
    """

    def length(x, start=0.0):
        return jnp.sqrt(jnp.square(x - start).sum())

    def init(params):
        return ScaleByDistanceOverGradientsState(
            tree_map(lambda x: reps_rel * (1 + length(x)), params),
            tree_map(lambda x: jnp.zeros(1), params),
            tree.cast(params, param_dtype),
        )

    def update(updates, state, params):
        distance = tree_map(
            lambda d, p, start: jnp.maximum(d, length(p, start)),
            state.max_dist,
            require_params(params),
            state.init_params,
        )
        sums = tree_map(lambda s, g: s + jnp.square(g).sum(), state.grad_sum_of_squares, updates)
        scaled = tree_map(
            lambda g, d, s: global_scale * (d / jnp.sqrt(s + eps)) * g, updates, distance, sums
        )
        return scaled, ScaleByDistanceOverGradientsState(distance, sums, state.init_params)

    return GradientTransformation(init, update)


def scale_by_polyak(f_min=0.0, max_learning_rate=1.0, eps=0.0, variant="sps"):
    """min((value - f_min) / (|g|^2 + eps), max_learning_rate) * g; `update` takes value=loss.

    variant: "sps+" never steps uphill where value < f_min.
    Source: Loizou et al. 2021, Stochastic Polyak step-size for SGD.
    """

    def update(updates, state, params=None, *, value, **extra_args):
        squared = tree.norm(updates, squared=True)
        gap = jnp.array(value - f_min).astype(squared.dtype)
        if variant not in ("sps", "sps+"):
            raise ValueError(
                f"Invalid argument value for Polyak SGD: {variant=}. Write 'sps' or 'sps+'."
            )
        gap = jnp.maximum(gap, 0) if variant == "sps+" else gap
        step = jnp.where(
            squared + eps <= jnp.finfo(float).eps,
            jnp.array(0.0),
            jnp.minimum(gap / (squared + eps), max_learning_rate),
        )
        return tree.scale(step, updates), state

    return GradientTransformationExtraArgs(init_empty_state, update)
