"""A step along a direction of descent that satisfies the strong Wolfe conditions.

    f(x + a p) <= f(x) + c1 a slope(0),   |slope(a)| <= -c2 slope(0)
    slope(a) = grad f(x + a p) . p

First a doubles until a good step is bracketed; then the bracket shrinks.
Source: Nocedal & Wright, Numerical Optimization, 2nd edition, algorithms 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import frit.numpy as jnp
from frit import lax
from frit.api.gradients import value_and_grad

_DECREASE, _CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """A step, with the function's value and its slope there."""

    step: Any
    value: Any
    slope: Any


class Search(NamedTuple):
    """The state of the search: the next trial, the bracket's ends, the gradient at its low end."""

    trial: Any
    low: Point
    high: Point
    zooming: Any
    done: Any
    count: Any
    gradient: Any


class Step(NamedTuple):
    """What the search found: the step, value and gradient there, evaluations, whether it failed."""

    step: Any
    value: Any
    gradient: Any
    count: Any
    failed: Any


def descent(function: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The value and the steepest ascent: of complex x the conjugate of the gradient."""
    value, gradient = value_and_grad(function)(x)
    return value, gradient.conj()


def slope_along(gradient: Any, direction: Any, value: Any) -> Any:
    """The derivative of the function along `direction`, of the value's type."""
    return jnp.vdot(gradient, direction).real.astype(value.dtype)


def _choose(condition: Any, a: Point, b: Point) -> Point:
    return Point(*(jnp.where(condition, u, v) for u, v in zip(a, b, strict=True)))


def _between(low: Point, high: Point) -> Any:
    """The minimum of the parabola through low (value, slope) and high (value), off the ends."""
    width = high.step - low.step
    bend = high.value - low.value - low.slope * width
    share = -low.slope * width / (2 * jnp.where(bend == 0, 1, bend))
    usable = (bend != 0) & jnp.isfinite(share) & (share > 0.1) & (share < 0.9)
    return low.step + width * jnp.where(usable, share, 0.5)


def line_search(
    function: Callable[[Any], Any], x: Any, direction: Any, value: Any, gradient: Any,
    first_step: Any, maxiter: int,
) -> Step:  # fmt: skip
    """The step from x along `direction`, from `first_step` on, in at most 2 `maxiter` trials.

    Where no trial meets both conditions, the best one that decreases the function is taken;
    without one, the search failed and the step is 0.
    """
    start = Point(jnp.zeros_like(value), value, slope_along(gradient, direction, value))

    def unfinished(state: Search) -> Any:
        limit = jnp.where(state.zooming, 2 * maxiter, maxiter)
        return ~state.done & (state.count < limit)

    def advance(state: Search) -> Search:
        found, slopes = descent(function, x + state.trial.astype(x.dtype) * direction)
        point = Point(state.trial, found, slope_along(slopes, direction, value))
        too_high = (found > value + _DECREASE * state.trial * start.slope) | (
            found >= state.low.value
        ) & (state.zooming | (state.count > 0))
        too_high = too_high | ~jnp.isfinite(found)
        flat = ~too_high & (jnp.abs(point.slope) <= -_CURVATURE * start.slope)
        # Bracketing, `low` is the previous trial; zooming, the best end of the bracket.
        turned = jnp.where(
            state.zooming, point.slope * (state.high.step - state.low.step) >= 0, point.slope >= 0
        )
        high = _choose(too_high, point, _choose(turned, state.low, state.high))
        low = _choose(too_high, state.low, point)
        zooming = state.zooming | too_high | turned
        trial = jnp.where(zooming, _between(low, high), 2 * state.trial)
        kept = jnp.where(too_high, state.gradient, slopes)
        return Search(trial, low, high, zooming, flat, state.count + 1, kept)

    no = jnp.array(False)
    first = Search(first_step.astype(value.dtype), start, start, no, no, 0, gradient)
    last = lax.while_loop(unfinished, advance, first)
    failed = ~(last.low.value < value) & ~last.done
    return Step(last.low.step, last.low.value, last.gradient, last.count, failed)


def first_step(value: Any, previous_value: Any, slope: Any) -> Any:
    """The step that would repeat the last decrease, at most 1."""
    guess = 2.02 * (value - previous_value) / jnp.where(slope == 0, 1, slope)
    return jnp.where((guess > 0) & (guess < 1), guess, 1).astype(value.dtype)
