"""Transformations that gather gradients over steps: momentum, averages, several steps as one."""

from typing import Any, NamedTuple

import frit.numpy as jnp
from frit import lax
from frit.api.tracing import eval_shape
from frit.optim import tree
from frit.optim.base import (
    GradientTransformation,
    Params,
    Updates,
    map_present,
    with_extra_args_support,
)
from frit.optim.numerics import canonicalize_dtype, safe_increment, zero_count
from frit.tree_util import tree_leaves, tree_map


class TraceState(NamedTuple):
    """The decayed sum of gradients."""

    trace: Params


def trace(decay, nesterov=False, accumulator_dtype=None):
    """t_t = g_t + decay t_{t-1}: momentum; with nesterov, g_t + decay t_t.

    Source: Sutskever et al. 2013, On the importance of initialization and momentum.
    """
    accumulator_dtype = canonicalize_dtype(accumulator_dtype)

    def init(params):
        return TraceState(trace=tree.zeros_like(params, dtype=accumulator_dtype))

    def gather(g, t):
        return g + decay * t

    def update(updates, state, params=None):
        gathered = map_present(gather, updates, state.trace)
        updates = tree_map(gather, updates, gathered) if nesterov else gathered
        return updates, TraceState(trace=tree.cast(gathered, accumulator_dtype))

    return GradientTransformation(init, update)


class EmaState(NamedTuple):
    """The step count, and the moving average."""

    count: Any
    ema: Params


def ema(decay, debias=True, accumulator_dtype=None):
    """The average m_t = decay m_{t-1} + (1 - decay) g_t; with debias, m_t / (1 - decay^t)."""
    accumulator_dtype = canonicalize_dtype(accumulator_dtype)

    def init(params):
        return EmaState(zero_count(), tree.zeros_like(params, dtype=accumulator_dtype))

    def update(updates, state, params=None):
        average = tree.update_moment(updates, state.ema, decay, order=1)
        count = safe_increment(state.count)
        updates = tree.bias_correction(average, decay, count) if debias else average
        return updates, EmaState(count=count, ema=tree.cast(average, accumulator_dtype))

    return GradientTransformation(init, update)


class ApplyEvery(NamedTuple):
    """How many steps since the last update was given out, and the sum of their gradients."""

    count: Any
    grad_acc: Updates


def apply_every(k=1):
    """The sum of the last `k` updates at each k-th step, zero at the others."""

    def update(updates, state, params=None):
        position = state.count % k
        is_later, is_last = position != 0, position == k - 1
        sums = tree_map(lambda g, s: is_later * s + g, updates, state.grad_acc)
        count = safe_increment(state.count) % k
        return tree_map(lambda s: is_last * s, sums), ApplyEvery(count=count, grad_acc=sums)

    return GradientTransformation(
        lambda params: ApplyEvery(zero_count(), tree.zeros_like(params)), update
    )


def skip_not_finite(updates, gradient_step, params):
    """`(whether any update is inf or nan, details)`: for MultiSteps(should_skip_update_fn=...)."""
    counts = [jnp.sum(jnp.logical_not(jnp.isfinite(p))) for p in tree_leaves(updates)]
    not_finite = jnp.sum(jnp.array(counts))
    should_skip = not_finite > 0
    return should_skip, {"should_skip": should_skip, "num_not_finite": not_finite}


def skip_large_updates(updates, gradient_step, params, max_squared_norm):
    """`(whether the squared norm is not below the limit, details)`: for MultiSteps.

    Bind the limit: `functools.partial(skip_large_updates, max_squared_norm=100.0)`.
    """
    squared = jnp.sum(jnp.array([jnp.sum(p**2) for p in tree_leaves(updates)]))
    should_skip = jnp.logical_not(squared < max_squared_norm)
    return should_skip, {"should_skip": should_skip, "norm_squared": squared}


class MultiStepsState(NamedTuple):
    """Counts of gathered gradients and of real steps, the inner state, what was gathered."""

    mini_step: Any
    gradient_step: Any
    inner_opt_state: Any
    acc_grads: Any
    skip_state: Any = ()


class MultiSteps:
    """An optimizer that steps once for every `k` gradients, with their mean (or sum).

    Between real steps its updates are zero. every_k_schedule: k, or a function of the number of
    real steps. should_skip_update_fn: `(updates, step, params) -> (skip, details)`, as
    `skip_not_finite`; a skipped gradient counts for nothing.
    """

    def __init__(
        self,
        opt,
        every_k_schedule,
        use_grad_mean=True,
        should_skip_update_fn=None,
        accumulator_dtype=jnp.float32,
    ):
        self._opt = with_extra_args_support(opt)
        fixed = isinstance(every_k_schedule, int)
        self._every_k_schedule = (lambda step: every_k_schedule) if fixed else every_k_schedule
        self._use_grad_mean = use_grad_mean
        self._should_skip = should_skip_update_fn or _never_skip
        self._accumulator_dtype = canonicalize_dtype(accumulator_dtype)

    @property
    def inner_opt(self):
        return self._opt

    def init(self, params):
        """The state before the first gradient."""
        step = zero_count()
        _, skip_state = self._should_skip(tree.zeros_like(params), step, params)
        return MultiStepsState(
            mini_step=zero_count(),
            gradient_step=step,
            inner_opt_state=self._opt.init(params),
            acc_grads=tree.zeros_like(params, dtype=self._accumulator_dtype),
            skip_state=skip_state,
        )

    def update(self, updates, state, params=None, **extra_args):
        """Gathers `updates`; a real step where they are the k-th, zeros where not."""
        should_skip, skip_state = self._should_skip(updates, state.gradient_step, params)
        if (should_skip.dtype, should_skip.shape) != (jnp.bool_, ()):
            raise ValueError(
                "The `should_skip_update_fn` function should return a boolean scalar array, but it "
                f"returned an array of dtype {should_skip.dtype} and shape {should_skip.shape}"
            )
        state = state._replace(skip_state=skip_state)

        def take(updates, state, params):
            return self._take(updates, state, params, extra_args)

        def skip(updates, state, params):
            like = eval_shape(lambda: take(updates, state, params)[0])
            return tree.zeros_like(like), state

        return lax.cond(should_skip, skip, take, updates, state, params)

    def _take(self, updates, state, params, extra_args):
        k = self._every_k_schedule(state.gradient_step)
        gathered = tree_map(
            lambda g, acc: self._gather(g, acc, state.mini_step), updates, state.acc_grads
        )
        final, inner_state = self._opt.update(
            tree.cast_like(gathered, updates), state.inner_opt_state, params=params, **extra_args
        )
        emit = state.mini_step == k - 1
        stepped = safe_increment(state.gradient_step)
        new_state = state._replace(
            mini_step=safe_increment(state.mini_step) % k,
            gradient_step=emit * stepped + (1 - emit) * state.gradient_step,
            inner_opt_state=tree_map(
                lambda old, new: jnp.where(emit, new, old).astype(old.dtype),
                state.inner_opt_state,
                inner_state,
            ),
            acc_grads=tree_map(
                lambda acc: ((1 - emit) * acc).astype(self._accumulator_dtype), gathered
            ),
        )
        return tree_map(lambda u: emit * u, final), new_state

    def _gather(self, g, acc, gathered_before):
        if self._use_grad_mean:
            return acc + (g - acc) / (gathered_before + 1)
        return g + acc

    def has_updated(self, state):
        """Whether the last `update` was a real step."""
        return jnp.logical_and(state.mini_step == 0, state.gradient_step > 0)

    def gradient_transformation(self):
        """The same as a GradientTransformation, to chain."""
        return GradientTransformation(init=self.init, update=self.update)


def _never_skip(updates, gradient_step, params):
    return jnp.array(False, dtype=jnp.bool_), ()
