"""Transformations that depend on what the updates are: finite, positive, or as a condition says."""

from typing import Any, NamedTuple

import frit.numpy as jnp
from frit import lax
from frit.optim import tree
from frit.optim.accumulation import ema
from frit.optim.base import (
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    OptState,
    map_present,
    require_params,
    stateless,
    with_extra_args_support,
)
from frit.optim.combining import chain
from frit.optim.numerics import safe_increment, zero_count
from frit.tree_util import tree_leaves, tree_map


class ApplyIfFiniteState(NamedTuple):
    """How many bad updates came in a row, whether the last was good, how many were bad in all."""

    notfinite_count: Any
    last_finite: Any
    total_notfinite: Any
    inner_state: Any


def apply_if_finite(inner, max_consecutive_errors):
    """`inner` where all updates are finite, else zeros and the state as it was.

    After more than `max_consecutive_errors` bad updates in a row they are let through.
    """
    inner = with_extra_args_support(inner)

    def init(params):
        no_errors = zero_count()
        return ApplyIfFiniteState(no_errors, jnp.array(True), no_errors, inner.init(params))

    def update(updates, state, params=None, **extra_args):
        finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(p)) for p in tree_leaves(updates)]))
        in_a_row = jnp.where(finite, zero_count(), safe_increment(state.notfinite_count))
        new_updates, inner_state = lax.cond(
            jnp.logical_or(finite, in_a_row > max_consecutive_errors),
            lambda: inner.update(updates, state.inner_state, params, **extra_args),
            lambda: (tree.zeros_like(updates), state.inner_state),
        )
        total = jnp.where(finite, state.total_notfinite, safe_increment(state.total_notfinite))
        return new_updates, ApplyIfFiniteState(in_a_row, finite, total, inner_state)

    return GradientTransformationExtraArgs(init, update)


class ConditionallyTransformState(NamedTuple):
    """The inner state, and the step count."""

    inner_state: Any
    step: Any


def conditionally_transform(inner, should_transform_fn, forward_extra_args=False):
    """`inner` where `should_transform_fn(step)`, else the updates as they are."""
    return _conditional(
        inner, should_transform_fn, forward_extra_args, lambda updates: updates, _transform_state
    )


def _transform_state(inner_state, step):
    return ConditionallyTransformState(inner_state=inner_state, step=step)


class ConditionallyMaskState(NamedTuple):
    """The step count, and the inner state."""

    step: Any
    inner_state: OptState


def conditionally_mask(inner, should_transform_fn, forward_extra_args=False):
    """`inner` where `should_transform_fn(step)`, else zeros."""
    return _conditional(
        inner, should_transform_fn, forward_extra_args, tree.zeros_like, _mask_state
    )


def _mask_state(inner_state, step):
    return ConditionallyMaskState(step=step, inner_state=inner_state)


def _conditional(inner, condition, forward_extra_args, otherwise, make_state):
    inner = with_extra_args_support(inner)

    def update(updates, state, params=None, **extra_args):
        updates, inner_state = lax.cond(
            condition(state.step, **(extra_args if forward_extra_args else {})),
            lambda: inner.update(updates, state.inner_state, params, **extra_args),
            lambda: (otherwise(updates), state.inner_state),
        )
        return updates, make_state(inner_state, safe_increment(state.step))

    return GradientTransformationExtraArgs(
        lambda params: make_state(inner.init(params), zero_count()), update
    )


NonNegativeParamsState = EmptyState


def keep_params_nonnegative():
    """Updates that leave no parameter below 0: -p where p + u would be."""

    def bounded(p, u):
        return jnp.where((p + u) < 0.0, -p, u)

    return stateless(lambda updates, params: map_present(bounded, require_params(params), updates))


class ZeroNansState(NamedTuple):
    """For each leaf, whether the last update had a nan."""

    found_nan: Any


def zero_nans():
    """The updates with 0 for nan."""

    def init(params):
        return ZeroNansState(tree_map(lambda p: jnp.array(False, dtype=jnp.bool_), params))

    def update(updates, state, params=None):
        found = ZeroNansState(tree_map(lambda p: jnp.any(jnp.isnan(p)), updates))
        return tree_map(lambda p: jnp.where(jnp.isnan(p), jnp.zeros_like(p), p), updates), found

    return GradientTransformation(init, update)


class SnapshotState(NamedTuple):
    """The last measurement, by name."""

    measurement: dict[str, Any]


def snapshot(measure_name, measure):
    """The updates as they are; the state holds `measure(updates)` under `measure_name`."""

    def state_of(values):
        return SnapshotState({measure_name: measure(values)})

    return GradientTransformation(
        state_of, lambda updates, state, params=None: (updates, state_of(updates))
    )


class MonitorState(NamedTuple):
    """The last measurements, by name, and the states of the measures."""

    measurements: dict[str, Any]
    measure_states: tuple[OptState, ...]


def monitor(measures):
    """The updates as they are; the state holds measures of them.

    measures: by name, functions of the updates, or transformations whose updates are measurements.
    """

    def as_transformation(measure):
        if callable(measure):
            measure = stateless(lambda updates, params, measure=measure: measure(updates))
        return with_extra_args_support(measure)

    measures = {name: as_transformation(measure) for name, measure in measures.items()}

    def init(params):
        return MonitorState({}, tuple(m.init(params) for m in measures.values()))

    def update(updates, state, params=None, **extra_args):
        results = [
            m.update(updates, inner, params, **extra_args)
            for m, inner in zip(measures.values(), state.measure_states, strict=True)
        ]
        values = {name: value for name, (value, _) in zip(measures, results, strict=True)}
        return updates, MonitorState(values, tuple(inner for _, inner in results))

    return GradientTransformationExtraArgs(init, update)


def measure_with_ema(measure, decay, debias=True, accumulator_dtype=None):
    """The moving average of `measure(updates)`, for `monitor`."""
    average = ema(decay, debias, accumulator_dtype)
    average = average._replace(init=lambda params, init=average.init: init(measure(params)))
    return chain(stateless(lambda updates, params: measure(updates)), average)
