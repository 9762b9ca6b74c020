"""A gradient transformation: two pure functions, so that its state is a pytree like any other.

    init   : params -> state
    update : (updates, state, params) -> (updates, state)

Optimizers are chains of transformations that begin with gradients and end with what
`apply_updates` adds to the parameters. Names and semantics are those of optax 0.2.8.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import frit.numpy as jnp
from frit import lax
from frit.tree_util import tree_map

PyTree = Any
Params = Any  # a pytree of arrays
Updates = Params
OptState = Any  # a pytree of arrays
Schedule = Callable[[Any], Any]  # step count -> value
ScalarOrSchedule = float | Any | Schedule
ScheduleState = Any

NO_PARAMS_MSG = (
    "You are using a transformation that requires the current value of parameters, but you are "
    "not passing `params` when calling `update`. Write "
    "`updates, state = optimizer.update(gradients, state, params)`."
)


class GradientTransformation(NamedTuple):
    """The two functions `init(params)` and `update(updates, state, params=None)`."""

    init: Callable[[Params], OptState]
    update: Callable[..., tuple[Updates, OptState]]


class GradientTransformationExtraArgs(GradientTransformation):
    """A transformation whose `update` takes further keyword arguments, used or not."""


class EmptyState(NamedTuple):
    """The state of a transformation that has none."""


@runtime_checkable
class StatefulSchedule(Protocol):
    """A hyperparameter that has a state of its own: see `inject_hyperparams`."""

    def init(self): ...

    def update(self, state, **extra_args): ...

    def __call__(self, state, **extra_args): ...


def init_empty_state(params):
    """EmptyState(): the `init` of transformations without state."""
    del params
    return EmptyState()


def require_params(params):
    """`params`; ValueError where the caller of `update` did not give them."""
    if params is None:
        raise ValueError(NO_PARAMS_MSG)
    return params


def with_extra_args_support(tx):
    """`tx` with an `update` that accepts, and ignores, further keyword arguments."""
    if isinstance(tx, GradientTransformationExtraArgs):
        return tx
    if not (hasattr(tx, "init") and hasattr(tx, "update")):
        raise TypeError(
            f"expected a GradientTransformation, got {tx!r} of type {type(tx).__name__}. An "
            "optimizer is made by calling its factory: write sgd(0.1), not sgd."
        )

    def update(updates, state, params=None, **extra_args):
        del extra_args
        return tx.update(updates, state, params)

    return GradientTransformationExtraArgs(tx.init, update)


def stateless(f):
    """The transformation without state whose updates are `f(updates, params)`."""

    def update(updates, state, params=None):
        del state
        return f(updates, params), EmptyState()

    return GradientTransformation(init_empty_state, update)


def stateless_with_tree_map(f):
    """The transformation without state that applies `f(update, param)` to each leaf.

    Without params, `f(update, None)`.
    """

    def update(updates, params):
        if params is None:
            return tree_map(lambda u: f(u, None), updates)
        return tree_map(f, updates, params)

    return stateless(update)


def identity():
    """The transformation that changes nothing."""
    return GradientTransformation(
        init_empty_state, lambda updates, state, params=None: (updates, state)
    )


def set_to_zero():
    """The transformation whose updates are zero: the parameters stay as they are."""
    return stateless(lambda updates, params: tree_map(jnp.zeros_like, updates))


def is_none(x):
    """Whether `x` is None, which stands for a parameter that is not there."""
    return x is None


def map_present(f, tree, *rest):
    """tree_map of `f`, where a None in `tree` stays None whatever the other trees have there."""
    return tree_map(lambda x, *xs: None if x is None else f(x, *xs), tree, *rest, is_leaf=is_none)


def apply_updates(params, updates):
    """params + updates, leaf by leaf, in the dtype of each parameter. A None stays None."""
    return map_present(
        lambda p, u: jnp.asarray(p + u).astype(jnp.asarray(p).dtype), params, updates
    )


def incremental_update(new_tensors, old_tensors, step_size):
    """step_size * new + (1 - step_size) * old, leaf by leaf: Polyak averaging."""
    return map_present(
        lambda new, old: step_size * new + (1.0 - step_size) * old, new_tensors, old_tensors
    )


def periodic_update(new_tensors, old_tensors, steps, update_period):
    """new_tensors where `steps` is a multiple of `update_period`, else old_tensors."""
    return lax.cond(
        jnp.mod(steps, update_period) == 0, lambda _: new_tensors, lambda _: old_tensors, None
    )
