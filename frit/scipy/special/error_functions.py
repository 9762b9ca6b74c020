"""The error function and its kin: scaled, complex, Dawson's; the normal distribution; Owen's T."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.custom import custom_jvp
from frit.ir import dtypes
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array
from frit.numpy.promotion import promote_args_complex, promote_args_inexact
from frit.scipy.special import coefficients
from frit.scipy.special.arguments import real_arguments, set_slopes, single_or_double
from frit.scipy.special.pieces import evaluate, narrow_computed_wide


def erf(x: Any) -> Any:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    (x,) = promote_args_inexact("erf", x)
    return lax.erf(as_array(x))


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate for large x."""
    (x,) = promote_args_inexact("erfc", x)
    return lax.erfc(as_array(x))


def erfinv(x: Any) -> Any:
    """The inverse of erf; infinite at -1 and 1, nan outside."""
    (x,) = promote_args_inexact("erfinv", x)
    return lax.erf_inv(as_array(x))


def erfcx(x: Any) -> Any:
    """exp(x**2) erfc(x), which does not underflow for large x; also complex."""
    (x,) = promote_args_inexact("erfcx", x)
    x = as_array(x)
    if dtypes.is_complex(x.dtype):
        return _wofz(lax.complex(-x.imag, x.real))
    return _erfcx(x)


@custom_jvp
def _erfcx(x: Any) -> Any:
    return narrow_computed_wide(_scaled_complement, as_array(x))


set_slopes(_erfcx, lambda result, x: 2 * x * result - 2 / math.sqrt(math.pi))


def _scaled_complement(x: Any) -> Any:
    """By its series on x >= 0, where (1 + 2 x) erfcx(x) is smooth in (x - 4) / (x + 4).

    Source: Shepherd & Laframboise 1981.
    """
    size = lax.abs(x)
    t = 1 - 8 / (size + 4)
    right = evaluate(coefficients.SCALED_COMPLEMENT, t) / (1 + 2 * size)
    return jnp.where(x >= 0, right, jnp.where(jnp.isnan(x), x, 2 * jnp.exp(x * x) - right))


# ---- the complex error function -----------------------------------------------------------------


def _weideman(count: int) -> tuple[float, np.ndarray]:
    """L and the coefficients of Weideman's series of `count` terms, highest power first."""
    scale = np.sqrt(count / np.sqrt(2))
    half = 2 * count
    theta = np.arange(-half + 1, half) * np.pi / half
    t = scale * np.tan(theta / 2)
    samples = np.concatenate([[0.0], np.exp(-(t**2)) * (scale**2 + t**2)])
    spectrum = np.fft.fft(np.fft.fftshift(samples)).real / (2 * half)
    return float(scale), spectrum[count:0:-1]


_WEIDEMAN_SCALE, _WEIDEMAN_COEFFICIENTS = _weideman(44)


def _wofz_above(z: Any) -> Any:
    """w(z) for Im z >= 0.  Source: Weideman 1994, equation 38."""
    i_z = lax.complex(-z.imag, z.real)
    below = _WEIDEMAN_SCALE - i_z
    ratio = (_WEIDEMAN_SCALE + i_z) / below
    series = jnp.polyval(jnp.asarray(_WEIDEMAN_COEFFICIENTS, dtype=z.dtype), ratio)
    return 2 * series / (below * below) + (1 / math.sqrt(math.pi)) / below


@custom_jvp
def _wofz(z: Any) -> Any:
    z = as_array(z)
    above = z.imag >= 0
    upper = _wofz_above(jnp.where(above, z, -z))
    return jnp.where(above, upper, 2 * jnp.exp(-z * z) - upper)


set_slopes(_wofz, lambda result, z: -2 * z * result + 2j / math.sqrt(math.pi))


def wofz(z: Any) -> Any:
    """The Faddeeva function exp(-z**2) erfc(-i z), complex."""
    (z,) = promote_args_complex("wofz", z)
    return _wofz(as_array(z))


def dawsn(x: Any) -> Any:
    """Dawson's integral exp(-x**2) times the integral of exp(t**2) from 0 to x."""
    (x,) = real_arguments("dawsn", x)
    return _dawsn(x)


@custom_jvp
def _dawsn(x: Any) -> Any:
    return narrow_computed_wide(_dawson, as_array(x))


set_slopes(_dawsn, lambda result, x: 1 - 2 * x * result)


def _dawson(x: Any) -> Any:
    square = x * x
    near = x * evaluate(coefficients.DAWSON, square)
    divisor = jnp.where(square > 25, x, 1)
    far = evaluate(coefficients.DAWSON_FAR, 1 / (divisor * divisor)) / (2 * divisor)
    return jnp.where(jnp.isnan(x), x, jnp.where(square > 25, far, near))


# ---- the normal distribution --------------------------------------------------------------------


def ndtr(x: Any) -> Any:
    """The standard normal cdf.  x: float32 or float64, else TypeError."""
    return _ndtr(single_or_double(x))


def _ndtr(x: Any) -> Any:
    half_sqrt_2 = x.dtype.type(np.sqrt(0.5))
    w = x * half_sqrt_2
    size = lax.abs(w)
    tail = lax.erfc(size)
    return 0.5 * jnp.where(size < half_sqrt_2, 1 + lax.erf(w), jnp.where(w > 0, 2 - tail, tail))


# Numerators and denominators of Wichura 1988, "Algorithm AS 241", lowest power first: near the
# median in 0.425**2 - (p - 1/2)**2, in the tails in sqrt(-log p) - 1.6, and in that - 5.
_MEDIAN = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def _ratio(pair: Any, x: Any) -> Any:
    above, below = (jnp.polyval(np.array(c[::-1], x.dtype), x) for c in pair)
    return above / below


@custom_jvp
@jitted
def _ndtri(p: Any) -> Any:
    p = as_array(p)
    offset = p - 0.5
    smaller = jnp.minimum(p, 1 - p)
    inside = smaller > 0
    root = jnp.sqrt(-jnp.log(jnp.where(inside, smaller, 0.25)))
    central = offset * _ratio(_MEDIAN, jnp.maximum(0.180625 - offset * offset, 0))
    tail = jnp.where(root <= 5, _ratio(_TAIL, root - 1.6), _ratio(_FAR_TAIL, root - 5))
    outer = jnp.where(offset < 0, -tail, tail)
    result = jnp.where(jnp.abs(offset) <= 0.425, central, outer)
    edge = jnp.where(p == 0, -np.inf, jnp.where(p == 1, np.inf, np.nan)).astype(p.dtype)
    return jnp.where(inside, result, edge)


set_slopes(_ndtri, lambda result, p: jnp.exp(0.5 * result * result) * math.sqrt(2 * math.pi))


def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`, the standard normal quantile; infinite at 0 and 1, nan outside.

    p: float32 or float64, else TypeError.  Source: Wichura 1988, algorithm AS 241.
    """
    return _ndtri(single_or_double(p))


def _check_series_order(order: Any) -> None:
    if not isinstance(order, int):
        raise TypeError("series_order must be a Python integer.")
    if order < 0:
        raise ValueError("series_order must be non-negative.")
    if order > 30:
        raise ValueError("series_order must be <= 30.")


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), accurate in both tails.  x: float32 or float64, else TypeError.

    On the left it is log(erfcx(-x / sqrt 2) / 2) - x**2 / 2, for every x, so that `series_order`,
    the number of terms of an asymptotic series, is checked (0 to 30) but has no effect.
    """
    _check_series_order(series_order)
    return _log_ndtr(single_or_double(x))


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    x = as_array(x)
    left = x < -1
    w = x.dtype.type(np.sqrt(0.5)) * jnp.where(left, -x, 0)
    tail = jnp.log(0.5 * _scaled_complement(w)) - w * w
    right = jnp.where(left, 0, x)
    middle = jnp.where(right > 1, jnp.log1p(-_ndtr(-right)), jnp.log(_ndtr(right)))
    return jnp.where(left, tail, middle)


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    result = _log_ndtr(x)
    log_density = -0.5 * x * x - 0.5 * math.log(2 * math.pi)
    return result, t * jnp.exp(log_density - result)


# ---- Owen's T -----------------------------------------------------------------------------------

# The positive half of a Gauss-Legendre rule of 26 points: it integrates even functions on [0, 1].
_NODES, _WEIGHTS = (part[13:] for part in np.polynomial.legendre.leggauss(26))


def _owens_t_inside(h: Any, a: Any) -> Any:
    """T(h, a) for 0 <= a <= 1.  Source: Patefield & Tandy 2000, method T5."""
    rule = (1,) * a.ndim + _NODES.shape
    r = jnp.square(a)[..., None] * (_NODES**2).astype(a.dtype).reshape(rule)
    integrand = jnp.exp(-0.5 * jnp.square(h)[..., None] * (1 + r)) / (1 + r)
    weights = (_WEIGHTS / (2 * np.pi)).astype(a.dtype).reshape(rule)
    return a * jnp.sum(integrand * weights, axis=-1)


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    h, a = as_array(h), as_array(a)
    h, size = jnp.abs(h), jnp.abs(a)
    steep = size > 1
    inner_a = jnp.where(steep, 1 / jnp.where(steep, size, 1), size)
    inner = _owens_t_inside(jnp.where(steep, size * h, h), inner_a)
    at_h, at_ah = h * math.sqrt(0.5), size * h * math.sqrt(0.5)
    near = 0.25 - 0.25 * lax.erf(at_h) * lax.erf(at_ah)
    tail_h, tail_ah = lax.erfc(at_h), lax.erfc(at_ah)
    far = 0.25 * (tail_h + tail_ah - tail_h * tail_ah)
    outer = jnp.where(size * h <= 0.67, near, far) - inner
    return jnp.sign(a) * jnp.where(steep, outer, inner)


@_owens_t.defjvp
def _owens_t_jvp(primals: Any, tangents: Any) -> Any:
    (h, a), (th, ta) = map(as_array, primals), tangents
    slope_h = -jnp.exp(-0.5 * h * h) * lax.erf(a * h * math.sqrt(0.5)) / math.sqrt(8 * math.pi)
    slope_a = jnp.exp(-0.5 * (a * a + 1) * h * h) / (2 * np.pi * (a * a + 1))
    return _owens_t(h, a), slope_h * th + slope_a * ta


def owens_t(h: Any, a: Any) -> Any:
    """The chance that X > h and 0 < Y < a X, for independent standard normal X and Y."""
    return _owens_t(*jnp.broadcast_arrays(*real_arguments("owens_t", h, a)))
