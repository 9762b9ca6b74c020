"""Special functions: gamma, beta, zeta, Bessel and the error functions, by SciPy in float64."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from frit.ir.primitive import Primitive, ulps
from frit.ir.types import typeof
from frit.primitives import scalar_meaning as meaning
from frit.primitives.arithmetic import abs_, integer_pow, sign, square
from frit.primitives.comparison_and_bits import gt, select
from frit.primitives.elementwise import (
    add,
    constant,
    constant_array,
    elementwise,
    floating,
    neg,
    sub,
    times,
)
from frit.primitives.transcendental import PLAIN, exp, log, log1p

Rule = Callable[..., Any]


class _SciPy:
    """scipy.special, imported when one of its functions is first called: it takes a while."""

    def __getattr__(self, name: str) -> Rule:
        return lambda *arrays: getattr(importlib.import_module("scipy.special"), name)(*arrays)


_scipy = _SciPy()


def _special(name: str, function: Rule, *, within: int = 16, **rules: Any) -> Primitive:
    computed = meaning.in_float64(function)
    return elementwise(name, computed, (floating,), accuracy=ulps(within), **rules)


# ----------------------------------------------------------------------------------- error function


def _gauss(factor: float, exponent: Rule) -> Rule:
    """The tangent `factor t exp(exponent(x, y))`."""
    return lambda t, x, y: times(constant(x, factor), times(t, exp(exponent(x, y), **PLAIN)))


erf = _special(
    "erf",
    _scipy.erf,
    within=2,
    tangents=(_gauss(2 / np.sqrt(np.pi), lambda x, y: neg(square(x))),),
)
erfc = _special(
    "erfc",
    _scipy.erfc,
    within=4,
    tangents=(_gauss(-2 / np.sqrt(np.pi), lambda x, y: neg(square(x))),),
)
erf_inv = _special(
    "erf_inv",
    _scipy.erfinv,
    tangents=(_gauss(np.sqrt(np.pi) / 2, lambda x, y: square(y)),),
)


# -------------------------------------------------------------------------------- gamma and its kin


def _digamma(x: Any) -> Any:
    """psi(x); nan at the poles 0, -1, -2, …"""
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, _scipy.digamma(x))


def _lgamma(x: Any) -> Any:
    """log |gamma(x)|; +inf at the poles and both infinities."""
    return np.where(np.isinf(x), np.inf, _scipy.gammaln(x))


def _polygamma(order: Any, x: Any) -> Any:
    """(-1)**(m + 1) m! zeta(m + 1, x); psi(x) for m = 0; nan where m is no whole number >= 0."""
    valid = (order >= 0) & (order == np.floor(order))
    m = np.where(valid, order, 0)
    odd = np.where(m % 2 == 1, 1.0, -1.0)
    high = odd * _scipy.gamma(m + 1) * _scipy.zeta(m + 1, x)
    return np.where(valid, np.where(m == 0, _digamma(x), high), np.nan)


def _gradient_of_igamma(a: Any, x: Any) -> Any:
    """dP(a, x)/da by central differences of fourth order, of whichever of P and 1 - P is small."""
    step = np.minimum(1e-3 * np.maximum(1, a), a / 4)

    def difference(function: Rule) -> Any:
        near = function(a + step, x) - function(a - step, x)
        far = function(a + 2 * step, x) - function(a - 2 * step, x)
        return (8 * near - far) / (12 * step)

    slope = np.where(x < a, difference(_scipy.gammainc), -difference(_scipy.gammaincc))
    return np.where((a <= 0) | (x < 0), np.nan, np.where((x == 0) | np.isinf(x), 0, slope))


def _density(a: Any, x: Any) -> Any:
    """exp(-x) x ** (a - 1) / gamma(a), the slope of igamma in x."""
    decay = neg(x)
    power = times(sub(a, constant_array(a, 1)), log(x, **PLAIN))
    return exp(sub(add(decay, power), lgamma(a)), **PLAIN)


lgamma = _special("lgamma", _lgamma, slopes=(lambda x, y: digamma(x),))
digamma: Primitive = _special(
    "digamma", _digamma, slopes=(lambda x, y: polygamma(constant(x, 1), x),)
)


def _slope_unknown(message: str) -> Rule:
    def tangent(*_: Any) -> Any:
        raise ValueError(message)

    return tangent


polygamma: Primitive = _special(
    "polygamma",
    _polygamma,
    slopes=(
        _slope_unknown("polygamma gradient with respect to m is not supported"),
        lambda m, x, y: polygamma(add(m, constant(m, 1)), x),
    ),
)
igamma_grad_a = _special("igamma_grad_a", _gradient_of_igamma, within=64)
igamma = _special(
    "igamma",
    _scipy.gammainc,
    slopes=(lambda a, x, y: igamma_grad_a(a, x), lambda a, x, y: _density(a, x)),
)
igammac = _special(
    "igammac",
    _scipy.gammaincc,
    tangents=(
        lambda t, a, x, y: neg(times(t, igamma_grad_a(a, x))),
        lambda t, a, x, y: neg(times(t, _density(a, x))),
    ),
)
zeta = _special("zeta", _scipy.zeta)


def _betainc_slope(a: Any, b: Any, x: Any, y: Any) -> Any:
    """x ** (a - 1) (1 - x) ** (b - 1) / beta(a, b)."""
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    of_rest = times(sub(b, constant(b, 1)), log1p(neg(x), **PLAIN))
    of_x = times(sub(a, constant(a, 1)), log(x, **PLAIN))
    return exp(sub(add(of_rest, of_x), log_beta), **PLAIN)


_BETAINC_UNKNOWN = _slope_unknown("Betainc gradient with respect to a and b not supported.")

regularized_incomplete_beta = _special(
    "regularized_incomplete_beta",
    _scipy.betainc,
    tangents=(
        _BETAINC_UNKNOWN,
        _BETAINC_UNKNOWN,
        lambda t, a, b, x, y: times(_betainc_slope(a, b, x, y), t),
    ),
)


# ------------------------------------------------------------------------------------------- Bessel


def _i1e_slope(x: Any, y: Any) -> Any:
    """i0e(x) - y (sign(x) + 1/x); 1/2 at 0."""
    eps = float(ml_dtypes.finfo(typeof(x).dtype).eps)  # type: ignore[attr-defined]
    ordinary = gt(abs_(x), constant(x, eps))
    safe = select(ordinary, x, constant_array(x, eps))
    order_0 = bessel_i0e(safe)
    slope = sub(order_0, times(y, add(sign(safe), integer_pow(safe, y=-1))))
    return select(ordinary, slope, constant_array(x, 0.5))


bessel_i0e = _special(
    "bessel_i0e",
    _scipy.i0e,
    within=4,
    slopes=(lambda x, y: sub(bessel_i1e(x), times(sign(x), y)),),
)
bessel_i1e: Primitive = _special("bessel_i1e", _scipy.i1e, within=4, slopes=(_i1e_slope,))
