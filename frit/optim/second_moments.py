"""Transformations that rescale gradients by their size alone, without momentum: RMSProp's kin."""

import functools
from typing import Any, NamedTuple

import frit.numpy as jnp
from frit import lax
from frit.optim import tree
from frit.optim.base import GradientTransformation, Updates
from frit.optim.numerics import abs_sq, safe_increment, zero_count
from frit.tree_util import tree_leaves, tree_map


class ScaleByRssState(NamedTuple):
    """The sum of squares of all gradients so far."""

    sum_of_squares: Updates


def scale_by_rss(initial_accumulator_value=0.1, eps=1e-7):
    """g_t / sqrt(s_t + eps), s_t the sum of all g^2 so far (0 where that is 0).

    Source: Duchi, Hazan & Singer 2011, Adaptive subgradient methods.
    """

    def init(params):
        return ScaleByRssState(tree.full_like(params, initial_accumulator_value))

    def update(updates, state, params=None):
        sums = tree_map(lambda g, s: abs_sq(g) + s, updates, state.sum_of_squares)
        inverse_roots = tree_map(lambda s: jnp.where(s > 0, lax.rsqrt(s + eps), 0.0), sums)
        return tree.mul(inverse_roots, updates), ScaleByRssState(sum_of_squares=sums)

    return GradientTransformation(init, update)


class ScaleByRmsState(NamedTuple):
    """The second moment."""

    nu: Updates


class ScaleByRmsWithCountState(NamedTuple):
    """The second moment, and the step count that corrects its bias."""

    count: Any
    nu: Updates


def scale_by_rms(decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt=True, bias_correction=False):
    """g_t / sqrt(v_t + eps), or g_t / (sqrt(v_t) + eps), v the moving average of g^2.

    Source: Hinton 2012, Neural networks for machine learning, lecture 6e.
    """

    def init(params):
        nu = tree.full_like(params, initial_scale)
        return (
            ScaleByRmsWithCountState(zero_count(), nu) if bias_correction else ScaleByRmsState(nu)
        )

    def update(updates, state, params=None):
        nu = tree.update_moment_per_elem_norm(updates, state.nu, decay, 2)
        if bias_correction:
            count = safe_increment(state.count)
            new_state = ScaleByRmsWithCountState(count=count, nu=nu)
            nu = tree.bias_correction(nu, decay, count)
        else:
            new_state = ScaleByRmsState(nu)
        return _times_inverse_root(nu, eps, eps_in_sqrt, updates), new_state

    return GradientTransformation(init, update)


def _times_inverse_root(variance, eps, eps_in_sqrt, updates):
    if eps_in_sqrt:
        scaling = tree_map(lambda v: lax.rsqrt(v + eps), variance)
    else:
        scaling = tree_map(lambda v: 1 / (jnp.sqrt(v) + eps), variance)
    return tree.mul(scaling, updates)


class ScaleByRStdDevState(NamedTuple):
    """The two moments."""

    mu: Updates
    nu: Updates


class ScaleByRStdDevWithCountState(NamedTuple):
    """The two moments, and the step count that corrects their bias."""

    count: Any
    mu: Updates
    nu: Updates


def scale_by_stddev(
    decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt=True, bias_correction=False
):
    """As `scale_by_rms` with the variance v_t - m_t^2 for v_t: the centered form of RMSProp."""

    def init(params):
        mu, nu = tree.zeros_like(params), tree.full_like(params, initial_scale)
        if bias_correction:
            return ScaleByRStdDevWithCountState(zero_count(), mu, nu)
        return ScaleByRStdDevState(mu, nu)

    def update(updates, state, params=None):
        mu = tree.update_moment(updates, state.mu, decay, 1)
        nu = tree.update_moment_per_elem_norm(updates, state.nu, decay, 2)
        if bias_correction:
            count = safe_increment(state.count)
            new_state = ScaleByRStdDevWithCountState(count=count, mu=mu, nu=nu)
            mu, nu = (tree.bias_correction(moment, decay, count) for moment in (mu, nu))
        else:
            new_state = ScaleByRStdDevState(mu, nu)
        variance = tree_map(lambda m, v: v - abs_sq(m), mu, nu)
        return _times_inverse_root(variance, eps, eps_in_sqrt, updates), new_state

    return GradientTransformation(init, update)


class ScaleByAdaDeltaState(NamedTuple):
    """The moving averages of squared gradients and of squared updates."""

    e_g: Updates
    e_x: Updates


def scale_by_adadelta(rho=0.9, eps=1e-6):
    """x_t = sqrt(E[x^2]_{t-1} + eps) / sqrt(E[g^2]_t + eps) g_t. Source: Zeiler 2012, Adadelta."""

    def init(params):
        return ScaleByAdaDeltaState(tree.zeros_like(params), tree.zeros_like(params))

    def update(updates, state, params=None):
        e_g = tree.update_moment(updates, state.e_g, rho, 2)
        updates = tree_map(
            lambda g, eg, ex: jnp.sqrt(ex + eps) / jnp.sqrt(eg + eps) * g, updates, e_g, state.e_x
        )
        return updates, ScaleByAdaDeltaState(e_g, tree.update_moment(updates, state.e_x, rho, 2))

    return GradientTransformation(init, update)


class ScaleBySM3State(NamedTuple):
    """For each leaf, a bound for each index of each axis; and the momentum."""

    mu: Updates
    nu: Updates


def scale_by_sm3(b1=0.9, b2=1.0, eps=1e-8):
    """g / sqrt(s + eps) with momentum b1; s bounds the sum of g^2, one number per axis index.

    Memory grows with the sum, not the product, of a leaf's sizes. Not for complex parameters.
    Source: Anil et al. 2019, Memory-efficient adaptive optimization.
    """
    weight = 1.0 - b2 if b2 != 1.0 else 1.0

    def init(params):
        if any(jnp.iscomplexobj(x) for x in tree_leaves(params)):
            raise ValueError(
                "This transformation does not support complex parameters: keep real and imaginary "
                "parts as two real leaves."
            )
        mu = tree_map(lambda p: [jnp.zeros(n, p.dtype) for n in p.shape], params)
        return ScaleBySM3State(mu, tree.zeros_like(params))

    def accumulate(g, bounds):
        covers = [
            bound.reshape([1] * i + [-1] + [1] * (g.ndim - i - 1)) for i, bound in enumerate(bounds)
        ]
        return weight * g**2 + b2 * functools.reduce(jnp.minimum, covers)

    def new_bounds(s):
        if s.ndim < 2:
            return [s] * s.ndim
        return [jnp.max(s, axis=[j for j in range(s.ndim) if j != i]) for i in range(s.ndim)]

    def update(updates, state, params=None):
        sums = tree_map(accumulate, updates, state.mu)
        scaled = tree_map(lambda g, s: g * jnp.where(s > 0, lax.rsqrt(s + eps), 0.0), updates, sums)
        nu = tree.update_moment(scaled, state.nu, b1, 1)
        return nu, ScaleBySM3State(mu=tree_map(new_bounds, sums), nu=nu)

    return GradientTransformation(init, update)
