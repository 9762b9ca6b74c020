"""Lookahead: fast weights explore, slow weights follow every few steps.

Source: Zhang et al. 2019, Lookahead optimizer: k steps forward, 1 step back.
"""

from typing import Any, NamedTuple

from frit.optim.base import GradientTransformation, OptState, Params
from frit.optim.numerics import zero_count
from frit.tree_util import tree_map


class LookaheadState(NamedTuple):
    """The fast optimizer's state, and the steps since fast and slow weights met."""

    fast_state: OptState
    steps_since_sync: Any


class LookaheadParams(NamedTuple):
    """The pair of weights that the model (fast) and the result (slow) use."""

    fast: Params
    slow: Params

    @classmethod
    def init_synced(cls, params):
        """The pair whose halves are both `params`."""
        return cls(slow=params, fast=params)


def lookahead(fast_optimizer, sync_period, slow_step_size, reset_state=False):
    """Every `sync_period` steps: slow += slow_step_size (fast - slow), fast = slow.

    Parameters and updates are LookaheadParams; gradients are of the fast weights. reset_state: the
    fast optimizer starts anew at each meeting. Raises ValueError where sync_period < 1.
    """
    if sync_period < 1:
        raise ValueError(f"Synchronization period must be >= 1, got {sync_period}.")

    def init(params):
        fast = params.fast if isinstance(params, LookaheadParams) else params
        return LookaheadState(fast_optimizer.init(fast), zero_count())

    def update(updates, state, params):
        if not isinstance(params, LookaheadParams):
            raise TypeError(
                f"lookahead needs a pair of weights, got params of type {type(params).__name__}. "
                "Write params = LookaheadParams.init_synced(params)."
            )
        updates, fast_state = fast_optimizer.update(updates, state.fast_state, params.fast)
        meet = state.steps_since_sync == sync_period - 1
        ahead = tree_map(lambda f, u, s: f + u - s, params.fast, updates, params.slow)
        slow = tree_map(lambda a: slow_step_size * meet * a, ahead)
        fast = tree_map(lambda u, a: u - meet * (1 - slow_step_size) * a, updates, ahead)
        if reset_state:
            start = fast_optimizer.init(params.fast)
            fast_state = tree_map(lambda x, s: (1 - meet) * x + meet * s, fast_state, start)
        count = (state.steps_since_sync + 1) % sync_period
        return LookaheadParams(fast=fast, slow=slow), LookaheadState(fast_state, count)

    return GradientTransformation(init, update)
