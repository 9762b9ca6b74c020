"""Integrals without closed form: exponential, sine and cosine, Fresnel's, and the dilogarithm.

Each is a series near 0 and elementary functions times series in 1 / x far away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.custom import custom_jvp
from frit.numpy.dtype_info import finfo
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array
from frit.numpy.promotion import promote_args_inexact
from frit.scipy.special import coefficients
from frit.scipy.special.arguments import real_arguments, set_slopes, single_or_double
from frit.scipy.special.gamma_functions import gammaln
from frit.scipy.special.pieces import evaluate, narrow_computed_wide

# ---- exponential integrals ----------------------------------------------------------------------


def _e1(x: Any) -> Any:
    """The integral of exp(-t) / t from x > 0."""
    small = jnp.where(x <= 1, x, 1)
    near = (
        small * evaluate(coefficients.ENTIRE_EXPONENTIAL_INTEGRAL, small)
        - np.euler_gamma
        - jnp.log(small)
    )
    large = jnp.where(x <= 1, 1, x)
    far = evaluate(coefficients.EXPONENTIAL_INTEGRAL_SCALED, 1 / large) * jnp.exp(-large) / large
    return jnp.where(x <= 1, near, far)


def _ei(x: Any) -> Any:
    """The principal value of the integral of exp(t) / t up to x > 0."""
    small = jnp.where(x <= 6, x, 1)
    series = -evaluate(coefficients.GROWING_EXPONENTIAL_INTEGRAL, small)
    near = np.euler_gamma + jnp.log(small) - small * series
    large = jnp.where(x <= 6, 6, x)
    far = evaluate(coefficients.GROWING_SCALED, 1 / large) * (jnp.exp(large) / large)
    return jnp.where(x <= 6, near, jnp.where(large == np.inf, np.inf, far))


@custom_jvp
@jitted
def expi(x: Any) -> Any:
    """Ei(x), the principal value of the integral of exp(t) / t from -inf to x; -inf at 0."""
    (x,) = real_arguments("expi", x)
    return narrow_computed_wide(
        lambda x: jnp.where(x < 0, -_e1(jnp.where(x < 0, -x, 1)), _ei(jnp.where(x < 0, 1, x))),
        x,
    )


set_slopes(expi, lambda result, x: jnp.exp(x) / x)


def exp1(x: Any) -> Any:
    """E1(x), the integral of exp(-t) / t from x to inf; inf at 0, nan below."""
    (x,) = real_arguments("exp1", x)
    return _exp1(x)


@custom_jvp
@jitted
def _exp1(x: Any) -> Any:
    x = as_array(x)

    def wide(x: Any) -> Any:
        return jnp.where(x < 0, np.nan, _e1(jnp.where(x < 0, 1, x)))

    return narrow_computed_wide(wide, x)


set_slopes(_exp1, lambda result, x: -jnp.exp(-x) / x)


def _expn_series(n: Any, x: Any) -> Any:
    """E_n(x) for n >= 1, 0 < x <= 1.  Source: DLMF 8.19.8."""
    steps = 22 if finfo(x.dtype).bits == 64 else 14
    # (-x)**(n - 1) / (n - 1)! (psi(n) - log x) - sum((-x)**k / (k! (k - n + 1)), k != n - 1)
    sign = jnp.where(n % 2 == 1, 1.0, -1.0)
    power = sign * jnp.exp((n - 1) * jnp.log(x) - gammaln(n))
    total = power * (lax.digamma(n) - jnp.log(x))
    term = jnp.ones_like(x)
    for k in range(steps):
        gap = k - n + 1
        total = total - jnp.where(gap == 0, 0, term / jnp.where(gap == 0, 1, gap))
        term = -term * x / (k + 1)
    return total


def _expn_fraction(n: Any, x: Any) -> Any:
    """E_n(x) for x > 1, n >= 1, by its continued fraction.  Source: DLMF 8.19.17, Lentz 1976."""
    steps = 90 if finfo(x.dtype).bits == 64 else 45
    b = x + n
    c, d = jnp.full_like(x, 1e30), 1 / b

    def step(i: Any, state: Any) -> Any:
        b, c, d, h = state
        i = jnp.asarray(i, x.dtype)
        a = -i * (n - 1 + i)
        b = b + 2
        d = 1 / (a * d + b)
        c = b + a / c
        return b, c, d, h * c * d

    return lax.fori_loop(1, steps + 1, step, (b, c, d, d))[3] * jnp.exp(-x)


def _expn(n: Any, x: Any) -> Any:
    usual = (x > 0) & (n >= 1)
    safe_n, safe_x = jnp.where(usual, n, 1), jnp.where(usual, x, 1)
    series = _expn_series(safe_n, jnp.minimum(safe_x, 1))
    fraction = _expn_fraction(safe_n, jnp.maximum(safe_x, 1))
    at_zero = jnp.where(n < 2, np.inf, 1 / jnp.where(n < 2, 1, n - 1))
    order_0 = jnp.exp(-x) / jnp.where(x == 0, 1, x)
    result = jnp.where(safe_x > 1, fraction, series)
    result = jnp.where(n == 0, order_0, result)
    result = jnp.where(x == 0, at_zero, result)
    result = jnp.where(x == np.inf, 0, result)
    return jnp.where((n < 0) | (x < 0) | jnp.isnan(x) | jnp.isnan(n), np.nan, result)


@jitted
def _expn_of(n: Any, x: Any) -> Any:
    n, x = jnp.broadcast_arrays(*real_arguments("expn", n, x))
    return _expn(n, x).astype(x.dtype)


def expn(n: Any, x: Any) -> Any:
    """E_n(x), the integral of exp(-x t) / t**n from t = 1 to inf; nan for x < 0 or n < 0."""
    return _expn_rule(n, x)


@custom_jvp
def _expn_rule(n: Any, x: Any) -> Any:
    return _expn_of(n, x)


@_expn_rule.defjvp
def _expn_jvp(primals: Any, tangents: Any) -> Any:
    (n, x), t = map(as_array, primals), tangents[1]
    return _expn_of(n, x), -t * _expn_of(n - 1, x)


# ---- sine and cosine integrals ------------------------------------------------------------------


@custom_jvp
@jitted
def sici(x: Any) -> tuple[Any, Any]:
    """Si(x), the integral of sin(t) / t from 0, and Ci(x), that of -cos(t) / t to infinity.

    Ci of negative x is Ci(-x), and nan at -inf.  ValueError for complex x.
    """
    (x,) = promote_args_inexact("sici", x)
    x = as_array(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise ValueError(f"Argument `x` to sici must be real-valued. Got dtype {x.dtype}.")
    if finfo(x.dtype).bits < 32:
        wide = _sici(x.astype(np.float32))
        return wide[0].astype(x.dtype), wide[1].astype(x.dtype)
    return _sici(x)


def _sici(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    is_near = size <= 4
    near, far = jnp.where(is_near, size, 1), jnp.where(is_near, 4, size)
    v = near * near
    sine_near = near * evaluate(coefficients.SINE_INTEGRAL, v)
    cosine_near = np.euler_gamma + jnp.log(near) + v * evaluate(coefficients.COSINE_INTEGRAL, v)
    w = 1 / (far * far)
    f = evaluate(coefficients.SINE_AUXILIARY, w) / far
    g = evaluate(coefficients.COSINE_AUXILIARY, w) * w
    angle = jnp.where(far == np.inf, 0, far)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    si = jnp.where(is_near, sine_near, np.pi / 2 - f * cosine - g * sine)
    ci = jnp.where(is_near, cosine_near, f * sine - g * cosine)
    ci = jnp.where(x == -np.inf, np.nan, ci)
    nan = jnp.isnan(x)
    return jnp.where(nan, x, jnp.sign(x) * si), jnp.where(nan, x, ci)


@sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> Any:
    x, t = as_array(primals[0]), tangents[0]
    safe = jnp.where(x == 0, 1, x)
    sine = jnp.where(x == 0, 1, jnp.sin(safe) / safe)
    return sici(x), (t * sine, t * jnp.cos(x) / x)


# ---- Fresnel's integrals ------------------------------------------------------------------------


def _quarter_turns(x: Any) -> Any:
    """x**2 modulo 4, more exact than x's type can hold x**2: the square of x's upper half apart."""
    split = 4097.0 if finfo(x.dtype).bits == 32 else 134217729.0
    scaled = x * split
    high = scaled - (scaled - x)
    low = x - high
    return lax.rem(high * high, jnp.full_like(x, 4)) + (2 * high + low) * low


@custom_jvp
@jitted
def fresnel(x: Any) -> tuple[Any, Any]:
    """S(x) and C(x), the integrals of sin and cos of pi t**2 / 2 from 0 to x."""
    (x,) = real_arguments("fresnel", x)
    if finfo(x.dtype).bits < 32:
        wide = _fresnel(x.astype(np.float32))
        return wide[0].astype(x.dtype), wide[1].astype(x.dtype)
    return _fresnel(x)


def _fresnel(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    is_near = size <= 8**0.25
    near, far = jnp.where(is_near, size, 1), jnp.where(is_near, 2, size)
    v = jnp.square(near * near)
    s_near = near**3 * evaluate(coefficients.FRESNEL_SINE, v)
    c_near = near * evaluate(coefficients.FRESNEL_COSINE, v)
    w = 1 / (far * far)
    f = evaluate(coefficients.FRESNEL_FIRST_AUXILIARY, w) / (np.pi * far)
    g = evaluate(coefficients.FRESNEL_SECOND_AUXILIARY, w) * w / (np.pi**2 * far)
    angle = np.pi / 2 * _quarter_turns(jnp.where(far > 1e8, 0, far))
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    s = jnp.where(is_near, s_near, 0.5 - f * cosine - g * sine)
    c = jnp.where(is_near, c_near, 0.5 + f * sine - g * cosine)
    nan, sign = jnp.isnan(x), jnp.sign(x)
    return jnp.where(nan, x, sign * s), jnp.where(nan, x, sign * c)


@fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    x, t = as_array(primals[0]), tangents[0]
    angle = np.pi / 2 * _quarter_turns(x)
    return fresnel(x), (t * jnp.sin(angle), t * jnp.cos(angle))


# ---- the dilogarithm ----------------------------------------------------------------------------


def spence(x: Any) -> Any:
    """The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x; nan below 0.

    x: float32 or float64, else TypeError.
    """
    return _spence(single_or_double(x))


@custom_jvp
@jitted
def _spence(x: Any) -> Any:
    """By reflections x -> 1 / x and x -> 1 - x to the series about 1."""
    x = as_array(x)
    inside = jnp.where(x > 0, x, 1)
    inverted = inside > 1.5
    y = jnp.where(inverted, 1 / inside, inside)
    reflected = y < 0.5
    w = jnp.where(reflected, -y, y - 1)
    series = -w * evaluate(coefficients.DILOGARITHM, w)
    log_y = jnp.log(y)
    rest = jnp.log1p(-jnp.where(reflected, y, 0))
    series = jnp.where(reflected, np.pi**2 / 6 - log_y * rest - series, series)
    series = jnp.where(inverted, -0.5 * log_y * log_y - series, series)
    edge = jnp.where(x == 0, np.pi**2 / 6, np.nan)
    return jnp.where(x > 0, series, edge).astype(x.dtype)


set_slopes(
    _spence,
    lambda result, x: jnp.where(x == 1, -1, jnp.log(x) / (1 - jnp.where(x == 1, 0, x))),
)
