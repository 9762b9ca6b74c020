"""What the functions of vector math are, and how far a float is from that.

REFERENCES[name](*floats)    -> an mpmath number, exact to the working precision
IN_DOUBLE[name](*arrays)     -> NumPy's or scipy's f64, far closer than f32 can tell
"""

import math

import mpmath
import numpy as np
import scipy.special


def ulp_of(exact, dtype):
    """The spacing of `dtype` at an mpmath number."""
    info = np.finfo(dtype)
    if exact == 0 or not mpmath.isfinite(exact):
        exponent = info.minexp
    else:
        exponent = max(mpmath.frexp(exact)[1] - 1, info.minexp)
    return mpmath.mpf(2) ** (exponent - info.nmant)


def error_in_ulps(got, exact, dtype, least=0):
    """|got - exact| in ulps of exact, or of `least` if that is greater.

    Infinite where one is nan or the infinities differ.
    """
    if mpmath.isnan(exact) or np.isnan(got):
        return 0.0 if mpmath.isnan(exact) and np.isnan(got) else np.inf
    info = np.finfo(dtype)
    largest = mpmath.mpf(float(info.max)) + mpmath.mpf(2) ** (info.maxexp - info.nmant - 2)
    if np.isinf(got) or mpmath.isinf(exact):
        limit = mpmath.mpf(float(info.max)) * (1 - mpmath.mpf(2) ** -info.nmant)
        agree = np.isinf(got) and abs(exact) >= min(limit, largest) and (got > 0) == (exact > 0)
        return 0.0 if agree else np.inf
    return float(abs(mpmath.mpf(float(got)) - exact) / ulp_of(max(abs(exact), least), dtype))


def _real(function):
    """An mpmath function as one of floats that gives nan for complex results and poles."""

    def called(*operands):
        if any(map(math.isnan, operands)):
            return mpmath.nan
        try:
            result = function(*map(mpmath.mpf, operands))
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence):
            return mpmath.nan
        return mpmath.nan if isinstance(result, mpmath.mpc) else result

    return called


def _at_infinity(function, plus, minus):
    """The function, with its limits at the infinities, where mpmath has none."""

    def called(x):
        if mpmath.isinf(x):
            return mpmath.mpf(plus if x > 0 else minus)
        return function(x)

    return called


def _power(x, y):
    """C99's pow of two floats; mpmath has complex results and no signed zeros."""
    with np.errstate(all="ignore"):
        plain = float(np.float64(x) ** np.float64(y))
    if x == 0 or y == 0 or x == 1 or math.isnan(plain) or math.isinf(x) or math.isinf(y):
        return mpmath.mpf(plain)
    logarithm = y * mpmath.log(abs(mpmath.mpf(x)))
    if abs(logarithm) > 2000:
        return mpmath.mpf(plain)
    result = mpmath.exp(logarithm)
    return -result if x < 0 and y % 2 else result


def _atan2(y, x):
    if math.isfinite(x) and math.isfinite(y) and x and y:
        return mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))
    quarters = np.arctan2(y, x) / (np.pi / 4)
    return mpmath.pi / 4 * round(float(quarters)) if quarters == quarters else mpmath.nan


def _reciprocal_root(x):
    if x == 0:
        return mpmath.inf * math.copysign(1, x)
    return 1 / mpmath.sqrt(mpmath.mpf(x)) if x > 0 else mpmath.nan


def _bounded(function, limit, beyond):
    """The function up to |x| = limit, `beyond(x)` past it, where mpmath is slow or overflows."""
    return lambda x: function(x) if mpmath.isnan(x) or abs(x) <= limit else beyond(x)


def _inverse_erf(x):
    if abs(x) == 1:
        return x * mpmath.inf
    return mpmath.erfinv(x) if abs(x) < 1 else mpmath.nan


def _lgamma(x):
    if mpmath.isinf(x) or (x <= 0 and x == mpmath.floor(x)):
        return mpmath.inf
    return mpmath.loggamma(x).real


def _digamma(x):
    if mpmath.isinf(x) or (x <= 0 and x == mpmath.floor(x)):
        return mpmath.mpf("inf" if x > 0 else "nan")
    return mpmath.digamma(x)


def _igamma_slope(a, x):
    return mpmath.diff(lambda a: mpmath.gammainc(a, 0, x, regularized=True), a)


def _zeta(s, q):
    # mpmath bounds the absolute error.
    with mpmath.workdps(150):
        return mpmath.zeta(s, q)


def _bessel(order, x):
    if mpmath.isinf(x):
        return mpmath.mpf(0)
    if abs(x) < 1e5:
        return mpmath.exp(-abs(x)) * mpmath.besseli(order, x)
    # Hankel's expansion, DLMF 10.40.1
    a, mu, total, term = abs(x), 4 * order * order, mpmath.mpf(1), mpmath.mpf(1)
    for k in range(1, 12):
        term *= -(mu - (2 * k - 1) ** 2) / (k * 8 * a)
        total += term
    return total / mpmath.sqrt(2 * mpmath.pi * a) * (mpmath.sign(x) if order else 1)


_SATURATED = {
    "exp": _bounded(mpmath.exp, 2000, lambda x: mpmath.inf if x > 0 else mpmath.mpf(0)),
    "exp2": _bounded(
        lambda x: mpmath.mpf(2) ** x, 3000, lambda x: mpmath.inf if x > 0 else mpmath.mpf(0)
    ),
    "expm1": _bounded(mpmath.expm1, 2000, lambda x: mpmath.inf if x > 0 else mpmath.mpf(-1)),
    "logistic": _bounded(
        lambda x: 1 / (1 + mpmath.exp(-x)), 2000, lambda x: mpmath.mpf(int(x > 0))
    ),
    "tanh": _bounded(mpmath.tanh, 200, mpmath.sign),
    "sinh": _bounded(mpmath.sinh, 2000, lambda x: x * mpmath.inf),
    "cosh": _bounded(mpmath.cosh, 2000, lambda x: mpmath.inf),
    "erf": _bounded(mpmath.erf, 40, mpmath.sign),
    "erfc": _bounded(mpmath.erfc, 40, lambda x: mpmath.mpf(2 if x < 0 else 0)),
}

REFERENCES = {
    **{name: _real(function) for name, function in _SATURATED.items()},
    "log": _real(lambda x: mpmath.log(x) if x else -mpmath.inf),
    "log2": _real(lambda x: mpmath.log(x, 2) if x else -mpmath.inf),
    "log1p": _real(lambda x: mpmath.log1p(x) if x != -1 else -mpmath.inf),
    "sin": _real(_at_infinity(mpmath.sin, "nan", "nan")),
    "cos": _real(_at_infinity(mpmath.cos, "nan", "nan")),
    "tan": _real(_at_infinity(mpmath.tan, "nan", "nan")),
    "asin": _real(lambda x: mpmath.asin(x) if abs(x) <= 1 else mpmath.nan),
    "acos": _real(lambda x: mpmath.acos(x) if abs(x) <= 1 else mpmath.nan),
    "atan": _real(mpmath.atan),
    "asinh": _real(_at_infinity(mpmath.asinh, "inf", "-inf")),
    "acosh": _real(lambda x: mpmath.acosh(x) if x >= 1 else mpmath.nan),
    "atanh": _real(
        lambda x: mpmath.nan if abs(x) > 1 else x * mpmath.inf if abs(x) == 1 else mpmath.atanh(x)
    ),
    "atan2": _atan2,
    "pow": _power,
    "sqrt": _real(lambda x: mpmath.sqrt(x) if x >= 0 else mpmath.nan),
    "rsqrt": _reciprocal_root,
    "cbrt": _real(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)) if mpmath.isfinite(x) else x),
    "erf_inv": _real(_inverse_erf),
    "lgamma": _real(_lgamma),
    "digamma": _real(_digamma),
    "bessel_i0e": _real(lambda x: _bessel(0, x)),
    "bessel_i1e": _real(lambda x: _bessel(1, x)),
    "igamma": _real(lambda a, x: mpmath.gammainc(a, 0, x, regularized=True)),
    "igammac": _real(lambda a, x: mpmath.gammainc(a, x, regularized=True)),
    "igamma_grad_a": _real(_igamma_slope),
    "random_gamma_grad": _real(
        lambda a, x: -_igamma_slope(a, x) * mpmath.gamma(a) * mpmath.exp(x) / x ** (a - 1)
    ),
    "regularized_incomplete_beta": _real(
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True)
    ),
    "zeta": _real(_zeta),
    "polygamma": _real(lambda n, x: mpmath.polygamma(int(n), x)),
}  # fmt: skip


def least_magnitude(name, point):
    """The least size of a result that counts; below, the function is ill conditioned.

    lgamma and digamma cross zero between all their poles on the negative axis, where they are a
    difference of terms of this size.
    """
    if name not in ("lgamma", "digamma") or not -math.inf < point[0] < 0:
        return 0
    size = abs(point[0])
    logarithm = abs(math.log(size))
    return 1 + (min(size, 1e300) * logarithm if name == "lgamma" else logarithm)


# ---- in double precision ------------------------------------------------------------------------


def _inverse_erf_in_double(x):
    """scipy's, which takes a hundred times as long outside of its domain."""
    inside = np.abs(x) <= 1
    return np.where(inside, scipy.special.erfinv(np.where(inside, x, 0)), np.nan)


IN_DOUBLE = {
    **{name: getattr(np, name) for name in "exp exp2 expm1 log log1p log2 sin cos tan".split()},
    **{name: getattr(np, name) for name in "tanh sinh cosh sqrt cbrt".split()},
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erf_inv": _inverse_erf_in_double,
    "logistic": scipy.special.expit,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
