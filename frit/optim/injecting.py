"""Hyperparameters as part of the state, where they can be read and set between steps.

optimizer = inject_hyperparams(adam)(learning_rate=1e-3)
state.hyperparams["learning_rate"] = 1e-4
"""

import functools
import inspect
from typing import Any, NamedTuple

import numpy as np

import frit.numpy as jnp
from frit.ir import dtypes
from frit.optim import tree
from frit.optim.base import (
    GradientTransformationExtraArgs,
    OptState,
    StatefulSchedule,
    with_extra_args_support,
)
from frit.optim.numerics import safe_increment, zero_count


class InjectHyperparamsState(NamedTuple):
    """The step count, the hyperparameters by name, and the inner state."""

    count: Any
    hyperparams: dict[str, Any]
    inner_state: OptState


class InjectStatefulHyperparamsState(NamedTuple):
    """As above, with the states of scheduled hyperparameters."""

    count: Any
    hyperparams: dict[str, Any]
    hyperparams_states: dict[str, Any]
    inner_state: OptState


class WrappedScheduleState(NamedTuple):
    """The step count."""

    count: Any


class WrappedSchedule:
    """A function of the step count as a StatefulSchedule."""

    def __init__(self, schedule_fn):
        self.schedule_fn = schedule_fn

    def init(self):
        return WrappedScheduleState(count=zero_count())

    def update(self, state, **extra_args):
        return WrappedScheduleState(count=safe_increment(state.count))

    def __call__(self, state, **extra_args):
        return self.schedule_fn(state.count)


def _sorted_arguments(arguments, static_args):
    """Arguments as (schedules, numbers, others); booleans and static ones are others."""
    schedules, numbers, others = {}, {}, {}
    for name, value in arguments.items():
        if name in static_args or isinstance(value, bool):
            others[name] = value
        elif isinstance(value, StatefulSchedule):
            schedules[name] = value
        elif callable(value):
            schedules[name] = WrappedSchedule(value)
        elif isinstance(value, int | float | np.ndarray | jnp.ndarray):
            numbers[name] = value
        else:
            others[name] = value
    return schedules, numbers, others


def _as_number(x, dtype):
    """`x` as an array of `dtype` where it is a float of no definite dtype, else as it is."""
    if isinstance(x, jnp.ndarray) and not getattr(x, "weak_type", False):
        return x
    found = x.dtype if hasattr(x, "dtype") else type(x)
    return jnp.asarray(x, dtype=dtype) if dtypes.issubdtype(found, np.floating) else x


def inject_hyperparams(inner_factory, static_args=(), hyperparam_dtype=None):
    """A factory as `inner_factory`, whose numbers and schedules become part of the state.

    static_args: names of arguments to leave out of it. hyperparam_dtype: of float hyperparameters
    (None: the highest of the parameters). The transformation is made anew at each step.
    """
    static_args = {static_args} if isinstance(static_args, str) else {*static_args}
    signature = inspect.signature(inner_factory)
    if not static_args.issubset(signature.parameters):
        raise ValueError(
            "`static_args` must specify a subset of `inner_factory`'s parameters. Given "
            f"`static_args`: {static_args}. `inner_factory` parameters: "
            f"{{{', '.join(signature.parameters)}}}"
        )

    @functools.wraps(inner_factory)
    def factory(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        schedules, numbers, others = _sorted_arguments(bound.arguments, static_args)

        def dtype_for(params):
            return tree.dtype(params, "highest") if hyperparam_dtype is None else hyperparam_dtype

        def scheduled(states, dtype, **extra_args):
            return {n: _as_number(f(states[n], **extra_args), dtype) for n, f in schedules.items()}

        def init(params):
            dtype = dtype_for(params)
            states = {name: schedule.init() for name, schedule in schedules.items()}
            values = {name: jnp.asarray(_as_number(x, dtype)) for name, x in numbers.items()}
            values |= scheduled(states, dtype)
            inner_state = inner_factory(**others, **values).init(params)
            return InjectStatefulHyperparamsState(zero_count(), values, states, inner_state)

        def update(updates, state, params=None, **extra_args):
            dtype = dtype_for(params)
            values = {name: _as_number(x, dtype) for name, x in state.hyperparams.items()}
            values |= scheduled(state.hyperparams_states, dtype, **extra_args)
            states = {
                name: schedule.update(state.hyperparams_states[name], **extra_args)
                for name, schedule in schedules.items()
            }
            inner = with_extra_args_support(inner_factory(**others, **values))
            updates, inner_state = inner.update(updates, state.inner_state, params, **extra_args)
            count = safe_increment(state.count)
            return updates, InjectStatefulHyperparamsState(count, values, states, inner_state)

        return GradientTransformationExtraArgs(init, update)

    return factory


inject_stateful_hyperparams = inject_hyperparams
