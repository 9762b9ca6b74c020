"""L-BFGS: gradients times an inverse Hessian that is known only by the last steps.

With s = p_t - p_{t-1}, y = g_t - g_{t-1}, rho = 1 / <s, y>, the two-loop recursion multiplies by
(I - rho s y') H (I - rho y s') + rho s s' for each remembered pair, newest outside.
Source: Nocedal & Wright 2006, Numerical optimization, algorithm 7.4.
"""

from typing import Any, NamedTuple

import frit.numpy as jnp
from frit import lax
from frit.optim import tree
from frit.optim.base import GradientTransformation, Params, require_params
from frit.optim.numerics import safe_increment, zero_count
from frit.tree_util import tree_map


class ScaleByLBFGSState(NamedTuple):
    """The step count, the last point and gradient, the remembered pairs with 1 / <s, y>."""

    count: Any
    params: Params
    updates: Params
    diff_params_memory: Any
    diff_updates_memory: Any
    weights_memory: Any


def scale_by_lbfgs(memory_size=10, scale_init_precond=True):
    """H g, with H the inverse Hessian of the last `memory_size` steps.

    scale_init_precond: H starts from <s, y> / <y, y> times the identity (at the first step, from a
    factor that makes the step at most 1 long), else from the identity.
    """
    if memory_size < 1:
        raise ValueError(f"memory_size must be >= 1, got {memory_size}")

    def init(params):
        memory = tree_map(lambda p: jnp.zeros((memory_size, *p.shape), p.dtype), params)
        return ScaleByLBFGSState(
            count=zero_count(),
            params=tree.zeros_like(params),
            updates=tree.zeros_like(params),
            diff_params_memory=memory,
            diff_updates_memory=memory,
            weights_memory=jnp.zeros(memory_size),
        )

    def update(updates, state, params):
        has_past = state.count > 0
        s, y = tree.sub(require_params(params), state.params), tree.sub(updates, state.updates)
        curvature = tree.real(tree.vdot(y, s))
        weight = jnp.where(curvature == 0.0, 0.0, 1.0 / curvature)
        latest = tree_map(lambda x: jnp.where(has_past, x, jnp.zeros_like(x)), (s, y, weight))
        last = (state.count - 1) % memory_size
        memory = tree_map(
            lambda old, new: old.at[last].set(new),
            (state.diff_params_memory, state.diff_updates_memory, state.weights_memory),
            latest,
        )
        start = _first_scale(updates, latest, has_past) if scale_init_precond else 1.0
        product = _two_loops(updates, memory, start, state.count % memory_size)
        return product, ScaleByLBFGSState(safe_increment(state.count), params, updates, *memory)

    return GradientTransformation(init, update)


def _first_scale(updates, latest, has_past):
    s, y, _ = latest
    curvature, squared = tree.real(tree.vdot(y, s)), tree.norm(y, squared=True)
    known = jnp.where(squared > 0.0, curvature / squared, 1.0)
    first = jnp.minimum(1.0, 1.0 / tree.norm(lax.stop_gradient(updates)))
    return jnp.where(has_past, known, first)


def _two_loops(updates, memory, start, oldest):
    steps, changes, weights = memory
    size = weights.shape[0]
    order = (oldest + jnp.arange(size)) % size

    def pair(i):
        return tree_map(lambda x: x[i], (steps, changes))

    def from_newest(vector, i):
        s, y = pair(i)
        alpha = weights[i] * tree.real(tree.vdot(s, vector))
        return tree.cast_like(tree.add_scale(vector, -alpha, y), vector), alpha

    def from_oldest(vector, index):
        i, alpha = index
        s, y = pair(i)
        beta = weights[i] * tree.real(tree.vdot(y, vector))
        return tree.cast_like(tree.add_scale(vector, alpha - beta, s), vector), beta

    vector, alphas = lax.scan(from_newest, updates, order, reverse=True)
    return lax.scan(from_oldest, tree.scale(start, vector), (order, alphas))[0]
