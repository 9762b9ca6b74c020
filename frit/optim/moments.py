"""Transformations that rescale gradients by moving averages of their powers: Adam and its kin.

    m_t = b1 m_{t-1} + (1 - b1) g_t          v_t = b2 v_{t-1} + (1 - b2) |g_t|^2
    m^_t = m_t / (1 - b1^t)                  v^_t = v_t / (1 - b2^t)

The formulas of the docstrings use these names; `eps` stands outside a root, `eps_root` inside.
"""

from typing import Any, NamedTuple

import frit.numpy as jnp
from frit import lax
from frit.optim import tree
from frit.optim.base import GradientTransformation, Updates, map_present
from frit.optim.numerics import abs_sq, canonicalize_dtype, safe_increment, zero_count
from frit.tree_util import tree_map


class ScaleByAdamState(NamedTuple):
    """The step count, and the two moments."""

    count: Any
    mu: Updates
    nu: Updates


def _over_root(mu_hat, nu_hat, eps, eps_root=0.0):
    """m / (sqrt(v + eps_root) + eps), leaf by leaf."""
    return map_present(lambda m, v: m / (jnp.sqrt(v + eps_root) + eps), mu_hat, nu_hat)


def _first_moment_hat(mu, updates, b1, count, nesterov):
    """m^_t, or Nesterov's b1 m_t / (1 - b1^(t+1)) + (1 - b1) g_t / (1 - b1^t)."""
    if not nesterov:
        return tree.bias_correction(mu, b1, count)
    return tree_map(
        lambda m, g: b1 * m + (1 - b1) * g,
        tree.bias_correction(mu, b1, safe_increment(count)),
        tree.bias_correction(updates, b1, count),
    )


def scale_by_adam(b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=False):
    """m^_t / (sqrt(v^_t + eps_root) + eps).

    mu_dtype: of the first moment (None: that of the parameters). nesterov: as in NAdam.
    Source: Kingma & Ba 2014, Adam; Dozat 2016, Incorporating Nesterov momentum into Adam.
    """
    mu_dtype = canonicalize_dtype(mu_dtype)

    def init(params):
        mu = tree.zeros_like(params, dtype=mu_dtype)
        return ScaleByAdamState(count=zero_count(), mu=mu, nu=tree.zeros_like(params))

    def update(updates, state, params=None):
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree.update_moment_per_elem_norm(updates, state.nu, b2, 2)
        count = safe_increment(state.count)
        mu_hat = _first_moment_hat(mu, updates, b1, count, nesterov)
        updates = _over_root(mu_hat, tree.bias_correction(nu, b2, count), eps, eps_root)
        nu = tree.cast_like(nu, state.nu)
        return updates, ScaleByAdamState(count=count, mu=tree.cast(mu, mu_dtype), nu=nu)

    return GradientTransformation(init, update)


class ScaleByAmsgradState(NamedTuple):
    """As of Adam, and the largest second moment so far."""

    count: Any
    mu: Updates
    nu: Updates
    nu_max: Updates


def scale_by_amsgrad(
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    eps_root=0.0,
    mu_dtype=None,
    bias_correction_mu=True,
    bias_correction_nu=True,
):
    """m^_t / (sqrt(max_s v^_s + eps_root) + eps): the scale never grows again.

    Source: Reddi, Kale & Kumar 2018, On the convergence of Adam and beyond.
    """
    mu_dtype = canonicalize_dtype(mu_dtype)

    def init(params):
        return ScaleByAmsgradState(
            count=zero_count(),
            mu=tree.zeros_like(params, dtype=mu_dtype),
            nu=tree.zeros_like(params),
            nu_max=tree.zeros_like(params),
        )

    def update(updates, state, params=None):
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree.update_moment_per_elem_norm(updates, state.nu, b2, 2)
        count = safe_increment(state.count)
        mu_hat = tree.bias_correction(mu, b1, count) if bias_correction_mu else mu
        nu_hat = tree.bias_correction(nu, b2, count) if bias_correction_nu else nu
        nu_max = tree_map(jnp.maximum, state.nu_max, nu_hat)
        updates = _over_root(mu_hat, nu_max, eps, eps_root)
        return updates, ScaleByAmsgradState(count, tree.cast(mu, mu_dtype), nu, nu_max)

    return GradientTransformation(init, update)


def scale_by_adamax(b1=0.9, b2=0.999, eps=1e-8):
    """m^_t / u_t with u_t = max(b2 u_{t-1}, |g_t| + eps). Source: Kingma & Ba 2014, section 7.1."""

    def init(params):
        return ScaleByAdamState(zero_count(), tree.zeros_like(params), tree.zeros_like(params))

    def update(updates, state, params=None):
        count = safe_increment(state.count)
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree.update_infinity_moment(updates, state.nu, b2, eps)
        updates = tree_map(lambda m, u: m / u, tree.bias_correction(mu, b1, count), nu)
        return updates, ScaleByAdamState(count=count, mu=mu, nu=nu)

    return GradientTransformation(init, update)


class ScaleByBeliefState(NamedTuple):
    """The step count, the first moment, and the moment of what it did not predict."""

    count: Any
    mu: Updates
    nu: Updates


def scale_by_belief(b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, *, nesterov=False):
    """m^_t / (sqrt(s^_t) + eps), s the moving average of (g - m)^2, plus eps_root each step.

    Source: Zhuang et al. 2020, AdaBelief optimizer.
    """

    def init(params):
        return ScaleByBeliefState(zero_count(), tree.zeros_like(params), tree.zeros_like(params))

    def update(updates, state, params=None):
        mu = tree.update_moment(updates, state.mu, b1, 1)
        surprise = tree.sub(updates, mu)
        nu = tree.update_moment_per_elem_norm(surprise, state.nu, b2, 2)
        nu = tree_map(lambda v: v + eps_root, nu)
        count = safe_increment(state.count)
        mu_hat = _first_moment_hat(mu, updates, b1, count, nesterov)
        updates = _over_root(mu_hat, tree.bias_correction(nu, b2, count), eps)
        return updates, ScaleByBeliefState(count=count, mu=mu, nu=nu)

    return GradientTransformation(init, update)


def scale_by_yogi(b1=0.9, b2=0.999, eps=1e-3, eps_root=0.0, initial_accumulator_value=1e-6):
    """As Adam, with v_t = v_{t-1} - (1 - b2) sign(v_{t-1} - g^2) g^2, which changes slowly.

    Source: Zaheer et al. 2018, Adaptive methods for nonconvex optimization.
    """

    def init(params):
        start = tree.full_like(params, initial_accumulator_value)
        return ScaleByAdamState(count=zero_count(), mu=start, nu=start)

    def update(updates, state, params=None):
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree_map(
            lambda g, v: v - (1 - b2) * jnp.sign(v - abs_sq(g)) * abs_sq(g), updates, state.nu
        )
        count = safe_increment(state.count)
        mu_hat = tree.bias_correction(mu, b1, count)
        updates = _over_root(mu_hat, tree.bias_correction(nu, b2, count), eps, eps_root)
        return updates, ScaleByAdamState(count=count, mu=mu, nu=nu)

    return GradientTransformation(init, update)


def scale_by_radam(b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, threshold=5.0, *, nesterov=False):
    """r_t m^_t / (sqrt(v^_t + eps_root) + eps), or m^_t while v is too uncertain (ro < threshold).

    r_t = sqrt((ro - 4)(ro - 2) ro_inf / ((ro_inf - 4)(ro_inf - 2) ro)), ro_inf = 2 / (1 - b2) - 1,
    ro = ro_inf - 2 t b2^t / (1 - b2^t). Source: Liu et al. 2020, On the variance of the
    adaptive learning rate and beyond.
    """
    ro_inf = 2.0 / (1.0 - b2) - 1.0

    def init(params):
        return ScaleByAdamState(zero_count(), tree.zeros_like(params), tree.zeros_like(params))

    def update(updates, state, params=None):
        mu = tree.update_moment(updates, state.mu, b1, 1)
        nu = tree.update_moment_per_elem_norm(updates, state.nu, b2, 2)
        count = safe_increment(state.count)
        decayed = b2**count
        ro = ro_inf - 2 * count * decayed / (1 - decayed)
        mu_hat = _first_moment_hat(mu, updates, b1, count, nesterov)
        nu_hat = tree.bias_correction(nu, b2, count)
        r = jnp.sqrt((ro - 4.0) * (ro - 2.0) * ro_inf / ((ro_inf - 4.0) * (ro_inf - 2.0) * ro))
        adapted = tree_map(
            lambda m, v: r.astype(m.dtype) * m / (jnp.sqrt(v + eps_root) + eps), mu_hat, nu_hat
        )
        updates = tree_map(lambda a, m: jnp.where(ro >= threshold, a, m), adapted, mu_hat)
        return updates, ScaleByAdamState(count=count, mu=mu, nu=nu)

    return GradientTransformation(init, update)


class ScaleByAdanState(NamedTuple):
    """Moments of the gradient, its difference and the look-ahead; the last gradient; the count."""

    m: Updates
    v: Updates
    n: Updates
    g: Updates
    t: Any


def scale_by_adan(b1=0.98, b2=0.92, b3=0.99, eps=1e-8, eps_root=0.0):
    """(m^_t + (1 - b2) v^_t) / (sqrt(n^_t + eps_root) + eps).

    v averages the differences d_t = g_t - g_{t-1}, n averages (g_t + (1 - b2) d_t)^2.
    Source: Xie et al. 2022, Adan: adaptive Nesterov momentum algorithm.
    """

    def init(params):
        m, v, n, g = (tree.zeros_like(params) for _ in range(4))
        return ScaleByAdanState(m=m, v=v, n=n, g=g, t=zero_count())

    def update(updates, state, params=None):
        g = updates
        change = tree.where(state.t == 0, tree.zeros_like(g), tree.sub(g, state.g))
        m = tree.update_moment(g, state.m, b1, 1)
        v = tree.update_moment(change, state.v, b2, 1)
        ahead = tree.add_scale(g, 1 - b2, change)
        n = tree.update_moment_per_elem_norm(ahead, state.n, b3, 2)
        t = safe_increment(state.t)
        u = tree.add_scale(tree.bias_correction(m, b1, t), 1 - b2, tree.bias_correction(v, b2, t))
        updates = _over_root(u, tree.bias_correction(n, b3, t), eps, eps_root)
        return updates, ScaleByAdanState(m=m, v=v, n=n, g=g, t=t)

    return GradientTransformation(init, update)


class ScaleByLionState(NamedTuple):
    """The step count and the moment."""

    count: Any
    mu: Updates


def scale_by_lion(b1=0.9, b2=0.99, mu_dtype=None, *, mode="hard", smooth_beta=1.0):
    """sign(b1 m_{t-1} + (1 - b1) g_t), with m averaged by b2.

    mode: "hard" (the sign), "smooth" (tanh of smooth_beta times it) or "refined" (itself below 1).
    Source: Chen et al. 2023, Symbolic discovery of optimization algorithms.
    """
    mu_dtype = canonicalize_dtype(mu_dtype)
    shapes = {
        "hard": jnp.sign,
        "smooth": lambda x: jnp.tanh(smooth_beta * x),
        "refined": lambda x: jnp.where(jnp.abs(x) < 1.0, x, jnp.sign(x)),
    }

    def init(params):
        return ScaleByLionState(zero_count(), tree.zeros_like(params, dtype=mu_dtype))

    def update(updates, state, params=None):
        if mode not in shapes:
            raise ValueError(
                f'Unknown lion mode: {mode}. It needs to be one of ["hard", "smooth", "refined"].'
            )
        shaped = tree_map(lambda g, m: shapes[mode]((1.0 - b1) * g + b1 * m), updates, state.mu)
        mu = tree.cast(tree.update_moment(updates, state.mu, b2, 1), mu_dtype)
        return shaped, ScaleByLionState(count=safe_increment(state.count), mu=mu)

    return GradientTransformation(init, update)


class ScaleByNovogradState(NamedTuple):
    """The step count, the first moment, and one second moment for each leaf."""

    count: Any
    mu: Updates
    nu: Updates


def scale_by_novograd(b1=0.9, b2=0.25, eps=1e-8, eps_root=0.0, weight_decay=0.0, mu_dtype=None):
    """m_t = b1 m_{t-1} + g_t / (sqrt(v_t + eps_root) + eps) + weight_decay p, v of leaf norms.

    The first step starts from its own gradient, without averaging.
    Source: Ginsburg et al. 2019, Stochastic gradient methods with layer-wise adaptive moments.
    """
    mu_dtype = canonicalize_dtype(mu_dtype)

    def init(params):
        nu = tree_map(lambda p: jnp.asarray(0.0, dtype=p.dtype), params)
        return ScaleByNovogradState(zero_count(), tree.zeros_like(params, dtype=mu_dtype), nu)

    def squared_norm(g):
        return jnp.linalg.norm(g) ** 2

    def first_nu(grads, nu):
        return tree_map(lambda g, v: squared_norm(g).astype(v.dtype), grads, nu)

    def next_nu(grads, nu):
        return tree.update_moment(tree_map(squared_norm, grads), nu, b2, 1)

    def step(g, p, v):
        return g / (jnp.sqrt(v + eps_root) + eps) + weight_decay * p

    def first_mu(grads, params, mu, nu):
        return tree_map(step, grads, params, nu)

    def next_mu(grads, params, mu, nu):
        return map_present(lambda m, u: b1 * m + u, mu, tree_map(step, grads, params, nu))

    def update(updates, state, params):
        count = safe_increment(state.count)
        is_first = count == 1
        nu = lax.cond(is_first, first_nu, next_nu, updates, state.nu)
        mu = lax.cond(is_first, first_mu, next_mu, updates, params, state.mu, nu)
        mu = tree.cast(mu, mu_dtype)
        return mu, ScaleByNovogradState(count=count, mu=mu, nu=nu)

    return GradientTransformation(init, update)
