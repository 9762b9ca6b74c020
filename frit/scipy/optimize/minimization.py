"""Minimization of smooth functions of one vector, by BFGS and L-BFGS.

The whole iteration is one `while_loop`, so it may be compiled and mapped; derivatives do not pass
through it in reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.scipy.optimize.line_search import (
    Step,
    descent,
    first_step,
    line_search,
    slope_along,
)


class OptimizeResults(NamedTuple):
    """What `minimize` found.

    status: 0 converged, 1 too many iterations, 3 no step decreases the function (for L-BFGS: 2 or
    3 too many evaluations of the function or gradient, 4 relative decrease below ftol, 5 no step).
    nfev, njev: evaluations of the function and of its gradient; nit: iterations.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _State(NamedTuple):
    """x, with value and gradient there, the value before, and what the method remembers."""

    x: Any
    value: Any
    gradient: Any
    previous_value: Any
    memory: Any
    count: Any
    evaluations: Any
    converged: Any
    failed: Any


def _start(function: Callable[[Any], Any], x0: Any, memory: Any, norm: Any, gtol: Any) -> _State:
    value, gradient = descent(function, x0)
    previous = value + jnp.linalg.norm(gradient).astype(value.dtype) / 2
    converged = jnp.linalg.norm(gradient, ord=norm) < gtol
    return _State(x0, value, gradient, previous, memory, 0, 1, converged, jnp.array(False))


def _step(
    function: Callable[[Any], Any], state: _State, direction: Any, maxiter: int
) -> tuple[Step, Any]:
    """The line search from the state, and the change of x."""
    slope = slope_along(state.gradient, direction, state.value)
    trial = first_step(state.value, state.previous_value, slope)
    step = line_search(function, state.x, direction, state.value, state.gradient, trial, maxiter)
    return step, step.step.astype(direction.dtype) * direction


# ---- BFGS ---------------------------------------------------------------------------------------


def _updated_inverse(inverse: Any, s: Any, y: Any, is_first: Any) -> Any:
    """The inverse Hessian after a step s that changed the gradient by y.

    (I - rho s y^T) H (I - rho y s^T) + rho s s^T, rho = 1 / (y . s)

    Before the first update, the identity takes the size of the true one: equation 6.20.
    """
    product = jnp.vdot(y, s)
    rho = 1 / product
    size = product / jnp.vdot(y, y)
    usable = is_first & jnp.isfinite(size) & (size > 0)
    inverse = jnp.where(usable, size, 1) * inverse
    left = jnp.eye(s.shape[0], dtype=s.dtype) - rho * jnp.outer(s, y)
    result = left @ inverse @ left.T + rho * jnp.outer(s, s)
    return jnp.where(jnp.isfinite(rho), result, inverse)


def _bfgs(
    function: Callable[[Any], Any], x0: Any, maxiter: int | None = None, norm: Any = np.inf,
    gtol: float = 1e-5, line_search_maxiter: int = 10,
) -> OptimizeResults:  # fmt: skip
    """Source: Nocedal & Wright, Numerical Optimization, 2nd edition, algorithm 6.1."""
    if maxiter is None:
        maxiter = x0.size * 200

    def unfinished(state: _State) -> Any:
        return ~state.converged & ~state.failed & (state.count < maxiter)

    def advance(state: _State) -> _State:
        step, s = _step(function, state, -state.memory @ state.gradient, line_search_maxiter)
        return _State(
            x=state.x + s,
            value=step.value,
            gradient=step.gradient,
            previous_value=state.value,
            memory=_updated_inverse(
                state.memory, s, step.gradient - state.gradient, state.count == 0
            ),
            count=state.count + 1,
            evaluations=state.evaluations + step.count,
            converged=jnp.linalg.norm(step.gradient, ord=norm) < gtol,
            failed=step.failed,
        )

    identity = jnp.eye(x0.shape[0], dtype=x0.dtype)
    last = lax.while_loop(unfinished, advance, _start(function, x0, identity, norm, gtol))
    status = jnp.where(last.converged, 0, jnp.where(last.failed, 3, 1))
    return OptimizeResults(
        x=last.x,
        success=last.converged & ~last.failed,
        status=status,
        fun=last.value,
        jac=last.gradient.conj(),
        hess_inv=last.memory,
        nfev=last.evaluations,
        njev=last.evaluations,
        nit=last.count,
    )


# ---- L-BFGS -------------------------------------------------------------------------------------


class _History(NamedTuple):
    """The last steps s, changes of the gradient y and 1 / (s . y), newest last; a scale."""

    s: Any
    y: Any
    rho: Any
    scale: Any


def _remember(history: _History, s: Any, y: Any) -> _History:
    """The history with one more step, unless the function was not convex along it."""
    product = jnp.vdot(s, y).real
    good = product > 0
    rho = jnp.where(good, 1 / jnp.where(good, product, 1), 0)
    steps, changes, factors = (
        jnp.concatenate([old[1:], jnp.asarray(new, old.dtype)[None]])
        for old, new in zip(history[:3], (s, y, rho), strict=True)
    )
    size = jnp.vdot(y, y).real
    scale = jnp.where(good, product / jnp.where(size > 0, size, 1), history.scale)
    return _History(steps, changes, factors, scale.astype(history.scale.dtype))


def _quasi_newton(history: _History, gradient: Any) -> Any:
    """The direction -H gradient, by two passes over the history.  Source: Nocedal 1980."""

    def newest_first(q: Any, step: Any) -> tuple[Any, Any]:
        s, y, rho = step
        share = rho * jnp.vdot(s, q).real
        return q - share.astype(q.dtype) * y, share

    def oldest_first(r: Any, step: Any) -> tuple[Any, None]:
        s, y, rho, share = step
        return r + s * (share - rho * jnp.vdot(y, r).real).astype(r.dtype), None

    steps = (history.s, history.y, history.rho)
    q, shares = lax.scan(newest_first, gradient, steps, reverse=True)
    r, _ = lax.scan(oldest_first, history.scale.astype(q.dtype) * q, (*steps, shares))
    return -r


def _lbfgs(
    function: Callable[[Any], Any], x0: Any, maxiter: float | None = None, norm: Any = np.inf,
    maxcor: int = 10, ftol: float = 2.220446049250313e-09, gtol: float = 1e-05,
    maxfun: float | None = None, maxgrad: float | None = None, maxls: int = 20,
) -> OptimizeResults:  # fmt: skip
    if maxiter is None:
        maxiter = np.inf if maxfun is not None or maxgrad is not None else x0.size * 200
    most_evaluations = min(maxfun or np.inf, maxgrad or np.inf)

    def small_decrease(state: _State) -> Any:
        size = jnp.maximum(jnp.maximum(jnp.abs(state.value), jnp.abs(state.previous_value)), 1)
        return (state.count > 0) & ((state.previous_value - state.value) / size < ftol)

    def unfinished(state: _State) -> Any:
        within = (state.count < maxiter) & (state.evaluations < most_evaluations)
        return ~state.converged & ~state.failed & ~small_decrease(state) & within

    def advance(state: _State) -> _State:
        step, s = _step(function, state, _quasi_newton(state.memory, state.gradient), maxls)
        return _State(
            x=state.x + s,
            value=step.value,
            gradient=step.gradient,
            previous_value=state.value,
            memory=_remember(state.memory, s, step.gradient - state.gradient),
            count=state.count + 1,
            evaluations=state.evaluations + step.count,
            converged=jnp.linalg.norm(step.gradient, ord=norm) < gtol,
            failed=step.failed,
        )

    rows = jnp.zeros((maxcor, x0.size), x0.dtype)
    one = jnp.ones((), x0.real.dtype)
    history = _History(rows, rows, jnp.zeros((maxcor,), one.dtype), one)
    last = lax.while_loop(unfinished, advance, _start(function, x0, history, norm, gtol))
    cases = (last.converged, last.count >= maxiter, last.evaluations >= most_evaluations)
    status = jnp.select([*cases, last.failed], [0, 1, 2, 5], 4)
    return OptimizeResults(
        x=last.x,
        success=last.converged & ~last.failed,
        status=status,
        fun=last.value,
        jac=last.gradient.conj(),
        hess_inv=None,
        nfev=last.evaluations,
        njev=last.evaluations,
        nit=last.count,
    )


_METHODS: dict[str, Callable[..., OptimizeResults]] = {
    "bfgs": _bfgs,
    "l-bfgs-experimental-do-not-rely-on-this": _lbfgs,
}


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A local minimum of fun(x, *args), a differentiable scalar function of a vector x, from x0.

    method: "BFGS"; options: maxiter, norm, gtol, line_search_maxiter.  TypeError where `args` is
    no tuple, ValueError for other methods.  `tol` has no effect.
    """
    if not isinstance(args, tuple):
        raise TypeError(
            f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}; write "
            "(args,)."
        )
    if method.lower() not in _METHODS:
        raise ValueError(f"Method {method} not recognized; use 'BFGS'.")
    return _METHODS[method.lower()](lambda x: fun(x, *args), jnp.asarray(x0), **(options or {}))
