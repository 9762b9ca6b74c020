"""Hypergeometric functions 1F1 and 2F1 of real arguments.

    1F1(a; b; x)    = sum((a)_k / (b)_k x**k / k!)
    2F1(a, b; c; x) = sum((a)_k (b)_k / (c)_k x**k / k!),   (a)_k = a (a + 1) … (a + k - 1)

All elements advance together until the last series has converged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.custom import custom_jvp
from frit.numpy.dtype_info import finfo
from frit.numpy.jitted import jitted
from frit.scipy.special.arguments import real_arguments, set_slopes
from frit.scipy.special.gamma_functions import digamma, gamma, gammaln, gammasgn

_MOST_TERMS = 20_000

Ratio = Callable[[Any], Any]


def _series(first: Any, ratio: Ratio, weight: Ratio | None = None, terms: int = _MOST_TERMS) -> Any:
    """sum(weight(k) t_k), t_0 = first, t_(k+1) = ratio(k) t_k, until terms no longer count.

    The first terms may vanish or be small by chance: two in a row must be negligible.
    """
    precision = float(finfo(first.dtype).eps) / 2
    one = jnp.ones_like(first)

    def weighted(k: Any, term: Any) -> Any:
        return term if weight is None else weight(k) * term

    def unfinished(state: Any) -> Any:
        k, _, _, active = state
        return (k < terms) & jnp.any(active)

    def advance(state: Any) -> Any:
        k, total, term, active = state
        index = k.astype(first.dtype)
        following = ratio(index) * term
        change = weighted(index + 1, following)
        beyond = weighted(index + 2, ratio(index + 1) * following)
        larger = jnp.maximum(jnp.abs(change), jnp.abs(beyond))
        counts = larger > precision * jnp.abs(total)
        total = jnp.where(active, total + change, total)
        return k + 1, total, jnp.where(active, following, term), active & counts

    start = jnp.zeros((), int), weighted(0 * one, first), first, jnp.ones_like(first, dtype=bool)
    return lax.while_loop(unfinished, advance, start)[1]


# ---- Kummer's function 1F1 ----------------------------------------------------------------------


def _kummer_ratio(a: Any, b: Any, x: Any) -> Ratio:
    return lambda k: (a + k) / (b + k) * x / (k + 1)


def _kummer(a: Any, b: Any, x: Any) -> Any:
    """1F1 by its series; for x < 0 by exp(x) 1F1(b - a; b; -x), whose terms do not cancel."""
    negative = x < 0
    top, size = jnp.where(negative, b - a, a), jnp.abs(x)
    near = _series(jnp.ones_like(x), _kummer_ratio(top, b, jnp.minimum(size, 100)))
    far = _kummer_far(top, b, jnp.maximum(size, 100))
    value = jnp.where(size < 100, near, far)
    return jnp.where(negative, jnp.exp(x) * value, value)


def _kummer_far(a: Any, b: Any, x: Any) -> Any:
    """gamma(b) / gamma(a) exp(x) x**(a - b) (1 + …) for large x.  Source: DLMF 13.7.1."""
    series = _series(
        jnp.ones_like(x), lambda k: (b - a + k) * (1 - a + k) / ((k + 1) * x), terms=40
    )
    log_size = gammaln(b) - gammaln(a) + x + (a - b) * jnp.log(x)
    vanishes = (a <= 0) & (a == jnp.round(a))
    sign = gammasgn(b) * jnp.where(vanishes, 0, gammasgn(jnp.where(vanishes, 1, a)))
    return sign * jnp.exp(log_size) * series


@custom_jvp
@jitted
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's confluent hypergeometric function 1F1(a; b; x); inf where b is 0, unless a is."""
    a, b, x = jnp.broadcast_arrays(*real_arguments("hyp1f1", a, b, x))
    pole = (b == 0) & (a != 0)
    value = _kummer(a, jnp.where(b == 0, 1, b), x)
    value = jnp.where((a == b) & (a != 0), jnp.exp(x), value)
    return jnp.where(a == 0, 1, jnp.where(pole, np.inf, value)).astype(x.dtype)


def _kummer_slope(weight_of: Callable[..., Ratio]) -> Callable[..., Any]:
    """The derivative in a parameter: each term times the change of its logarithm."""

    @jitted
    def slope(a: Any, b: Any, x: Any) -> Any:
        a, b, x = jnp.broadcast_arrays(*real_arguments("hyp1f1", a, b, x))
        return _series(jnp.ones_like(x), _kummer_ratio(a, b, x), weight_of(a, b))

    return slope


_kummer_slope_a = _kummer_slope(lambda a, b: lambda k: digamma(a + k) - digamma(a))
_kummer_slope_b = _kummer_slope(lambda a, b: lambda k: digamma(b) - digamma(b + k))

set_slopes(
    hyp1f1,
    lambda result, a, b, x: _kummer_slope_a(a, b, x),
    lambda result, a, b, x: _kummer_slope_b(a, b, x),
    lambda result, a, b, x: a / b * hyp1f1(a + 1, b + 1, x),
)


# ---- Gauss' function 2F1 ------------------------------------------------------------------------


def _gauss_ratio(a: Any, b: Any, c: Any, x: Any) -> Ratio:
    def ratio(k: Any) -> Any:
        top = (a + k) * (b + k)
        bottom = jnp.where(c + k == 0, 1, c + k) * (k + 1)
        return jnp.where(top == 0, 0, top / bottom * x)

    return ratio


def _gauss_series(a: Any, b: Any, c: Any, x: Any) -> Any:
    return _series(jnp.ones_like(x), _gauss_ratio(a, b, c, x))


def _is_whole(x: Any) -> Any:
    return jnp.abs(x - jnp.round(x)) < 50 * float(finfo(x.dtype).eps)


def _gauss_near_one(a: Any, b: Any, c: Any, x: Any) -> Any:
    """For x close to 1 and c - a - b not whole, by series in 1 - x.  Source: DLMF 15.8.4."""
    d, s = c - a - b, 1 - x
    first = gamma(d) / (gamma(c - a) * gamma(c - b)) * _gauss_series(a, b, 1 - d, s)
    second = s**d * (gamma(-d) / (gamma(a) * gamma(b))) * _gauss_series(c - a, c - b, 1 + d, s)
    return gamma(c) * (first + second)


def _inverse_gamma(x: Any) -> Any:
    """1 / gamma(x), which is 0 at the poles."""
    pole = (x <= 0) & (x == jnp.round(x))
    return jnp.where(pole, 0, 1 / gamma(jnp.where(pole, 1, x)))


def _gauss_logarithmic(a: Any, b: Any, m: Any, x: Any) -> Any:
    """2F1(a, b; a + b + m; x) for whole m >= 0 and x close to 1.  Source: DLMF 15.8.10."""
    s = 1 - x
    # The sum of m terms: (a)_k (b)_k / (k! (1 - m)_k) s**k, k < m
    finite_ratio = _gauss_ratio(a, b, 1 - m, s)
    finite = _series(
        jnp.where(m > 0, 1, 0).astype(x.dtype),
        lambda k: jnp.where(k + 1 < m, finite_ratio(k), 0),
    )
    finite = finite * gamma(jnp.maximum(m, 1)) * _inverse_gamma(a + m) * _inverse_gamma(b + m)
    top_a, top_b = a + m, b + m

    def weight(k: Any) -> Any:
        found = jnp.log(s) - digamma(k + 1) - digamma(k + m + 1)
        return found + digamma(top_a + k) + digamma(top_b + k)

    sign = jnp.where(jnp.mod(m, 2) == 0, 1.0, -1.0).astype(x.dtype)
    first = sign * s**m * _inverse_gamma(m + 1) * _inverse_gamma(a) * _inverse_gamma(b)
    endless = _series(
        jnp.ones_like(x),
        lambda k: (top_a + k) * (top_b + k) / ((k + 1) * (m + k + 1)) * s,
        weight,
    )
    return gamma(a + b + m) * (finite - first * endless)


def _gauss_below_one(a: Any, b: Any, c: Any, x: Any) -> Any:
    """2F1 for 0 <= x < 1 and c no pole."""
    d = c - a - b
    ends = ((a <= 0) & (a == jnp.round(a))) | ((b <= 0) & (b == jnp.round(b)))
    close = (x > 0.9) & ~ends
    whole = _is_whole(d)
    far = jnp.where(close, 0.5, x)
    plain = _gauss_series(a, b, c, far)
    general = close & ~whole
    near = _gauss_near_one(
        jnp.where(general, a, 0.3), jnp.where(general, b, 0.4), jnp.where(general, c, 1.2),
        jnp.where(general, x, 0.95),
    )  # fmt: skip
    # A negative whole difference becomes positive by Euler's transformation.
    flip = d < 0
    left, right = jnp.where(flip, c - a, a), jnp.where(flip, c - b, b)
    special = close & whole
    logarithmic = _gauss_logarithmic(
        jnp.where(special, left, 0.3), jnp.where(special, right, 0.4),
        jnp.where(special, jnp.round(jnp.abs(d)), 0), jnp.where(special, x, 0.95),
    )  # fmt: skip
    logarithmic = jnp.where(flip, (1 - x) ** d, 1) * logarithmic
    return jnp.where(special, logarithmic, jnp.where(general, near, plain))


def _gauss_anywhere(a: Any, b: Any, c: Any, x: Any) -> Any:
    """2F1 for x < 1: negative x by Pfaff's transformation x -> x / (x - 1), DLMF 15.8.1."""
    negative = x < 0
    inner = jnp.where(negative, x / jnp.where(negative, x - 1, 1), x)
    value = _gauss_below_one(a, jnp.where(negative, c - b, b), c, inner)
    factor = jnp.where(negative, (1 - jnp.where(negative, x, 0)) ** -a, 1)
    return factor * value


@custom_jvp
@jitted
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss' hypergeometric function 2F1(a, b; c; x) for x <= 1; inf where it diverges.

    Between the series' regimes, where c - a - b is close to a whole number and x to 1, digits are
    lost.
    """
    a, b, c, x = jnp.broadcast_arrays(*real_arguments("hyp2f1", a, b, c, x))
    d = c - a - b
    pole = (c <= 0) & (c == jnp.round(c))
    inside = (x < 1) & ~pole
    value = _gauss_anywhere(
        jnp.where(inside, a, 1), jnp.where(inside, b, 1), jnp.where(inside, c, 3),
        jnp.where(inside, x, 0.5),
    )  # fmt: skip
    at_one = gamma(c) * gamma(d) * _inverse_gamma(c - a) * _inverse_gamma(c - b)
    at_one = jnp.where(d > 0, at_one, np.inf)
    value = jnp.where(x == 1, at_one, jnp.where(inside, value, np.inf))
    trivial = (x == 0) | (((a == 0) | (b == 0)) & (c != 0))
    value = jnp.where(trivial, 1, value)
    nan = jnp.isnan(a) | jnp.isnan(b) | jnp.isnan(c) | jnp.isnan(x)
    return jnp.where(nan, np.nan, value).astype(x.dtype)


def _gauss_slope(weight_of: Callable[..., Ratio]) -> Callable[..., Any]:
    """The derivative in a parameter: each term times the change of its logarithm."""

    @jitted
    def slope(a: Any, b: Any, c: Any, x: Any) -> Any:
        a, b, c, x = jnp.broadcast_arrays(*real_arguments("hyp2f1", a, b, c, x))
        return _series(jnp.ones_like(x), _gauss_ratio(a, b, c, x), weight_of(a, b, c))

    return slope


_gauss_slope_a = _gauss_slope(lambda a, b, c: lambda k: digamma(a + k) - digamma(a))
_gauss_slope_b = _gauss_slope(lambda a, b, c: lambda k: digamma(b + k) - digamma(b))
_gauss_slope_c = _gauss_slope(lambda a, b, c: lambda k: digamma(c) - digamma(c + k))

set_slopes(
    hyp2f1,
    lambda result, a, b, c, x: _gauss_slope_a(a, b, c, x),
    lambda result, a, b, c, x: _gauss_slope_b(a, b, c, x),
    lambda result, a, b, c, x: _gauss_slope_c(a, b, c, x),
    lambda result, a, b, c, x: a * b / c * hyp2f1(a + 1, b + 1, c + 1, x),
)
