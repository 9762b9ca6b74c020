"""The logarithm of the gamma function and its derivative.

Tables of polynomials on [1, 8), Stirling's series (DLMF 5.11) above, one step of the recurrence
below 1, the reflection formula (DLMF 5.5.3) for negative x. All in f64.
"""

import math

from frit.backends.llvm.vector_math.coefficients import DIGAMMA_ROOT, TABLES
from frit.backends.llvm.vector_math.definitions import vector_function
from frit.backends.llvm.vector_math.trigonometric import (
    pi_pair,
    sine_from,
)

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_TABLE_START, _TABLE_WIDTH, _TABLE_ROWS = 1.0, 0.5, 14
_LARGE = 8.0


def _place(kit, a, small):
    """The place in the tables on [1, 8) of a, or of 1 + a where `small`, a rounding to itself."""
    shift = small.where(kit.number(0.0), _TABLE_START)
    scaled = ((a - shift) * 2.0 - 0.5).larger(0.0).smaller(_TABLE_ROWS - 1.0)
    whole, row = kit.nearest_whole(scaled)
    row = kit.bounded_above(kit.bounded_below(row, 0), _TABLE_ROWS - 1)
    return row, a - shift - 0.25 - whole * 0.5


def stirling_rest(kit, x):
    """lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2) for x >= 8."""
    inverse = 1.0 / x
    return inverse * kit.polynomial(inverse * inverse, kit.coefficients("stirling"))


def stirling_excess(kit, x):
    """The same difference for any finite x > 0: by a table below 8, by the recurrence below 1."""
    small, large = x < 1.0, x >= _LARGE
    row, t = _place(kit, x, small)
    middle = kit.table_polynomial("stirling_table", TABLES["stirling"], row, t)
    step = (x + 0.5) * kit.call("log1p", 1.0 / small.where(x, 1.0)) - 1.0
    result = small.where(middle + step, middle)
    return large.where(stirling_rest(kit, x.larger(_LARGE)), result)


def lgamma_of_positive(kit, a, logarithm):
    """(lgamma(a), lgamma(1 + a)) for a >= 0, given log(a)."""
    small, large = a < 1.0, a >= _LARGE
    row, t = _place(kit, a, small)
    # (x - 1)(x - 2) of x = a or x = 1 + a, exact near its zeros.
    factor = small.where(a * (a - 1.0), (a - 1.0) * (a - 2.0))
    middle = factor * kit.table_polynomial("lgamma_table", TABLES["lgamma"], row, t)
    tall = large.where(a, _LARGE)
    outer = (tall - 0.5) * (logarithm - 1.0) + ((_HALF_LOG_2PI - 0.5) + stirling_rest(kit, tall))
    result = large.where(outer, middle)
    return (
        small.where(result - logarithm, result),
        small.where(result, result + logarithm),
    )


def _half_turns(kit, a):
    """a minus the nearest whole number, for a >= 0, exactly; infinity gives nan."""
    fractional = a < 2.0**52
    return fractional.where(a - ((a + 2.0**52) - 2.0**52), a - a)


def _quarters(kit, x):
    """(quarter turns, r, low) of the angle pi x, |x| <= 1/2, as `sine_from` takes it."""
    whole, quarters = kit.nearest_whole(x * 2.0)
    rest = x - whole * 0.5
    high, low = pi_pair(kit, 1.0)
    r, error = kit.two_product(rest, high)
    return quarters, r, rest.fma(low, error)


@vector_function("lgamma", ulps=8, f32_by_f64=True)
def lgamma(kit, x):
    """log |gamma(x)|; infinite at 0, -1, -2, ...

    Near its zeros on the negative axis the error is absolute: about an ulp of 1.
    """
    a = abs(x)
    logarithm = kit.call("log", a)
    result, above = lgamma_of_positive(kit, a, logarithm)
    negative = x < 0.0

    def reflected():
        # gamma(-a) gamma(1 + a) = -pi / sin(pi a)
        sine = abs(sine_from(kit, *_quarters(kit, _half_turns(kit, a))))
        other = -kit.call("log", sine * (1 / math.pi)) - above
        tiny = a < 2.0**-60
        return sine.equals(0.0).where(math.inf, tiny.where(-logarithm, other))

    result = kit.where_rare(negative, result, reflected)
    return a.equals(math.inf).where(math.inf, result)


@vector_function("digamma", ulps=8, f32_by_f64=True)
def digamma(kit, x):
    """The derivative of lgamma, digamma(-a) = digamma(1 + a) + pi / tan(pi a).

    nan at 0, -1, -2, ... and -inf, as in lax. Near its zeros on the negative axis the error is
    absolute: about an ulp of 1.
    """
    a = abs(x)
    small, large = a < 1.0, a >= _LARGE
    row, t = _place(kit, a, small)
    polynomial = kit.table_polynomial("digamma_table", TABLES["digamma"], row, t)
    # The first rows, on [1, 2), are divided by x - root, so that the zero is exact.
    high, low = DIGAMMA_ROOT
    near = (a - small.where(kit.number(high - 1.0), high)) - low
    middle = (row < 2).where(polynomial * near, polynomial)
    tall = large.where(a, _LARGE)
    inverse = 1.0 / tall
    square = inverse * inverse
    outer = kit.call("log", tall) - inverse.fma(
        0.5, square * kit.polynomial(square, kit.coefficients("digamma"))
    )
    base = large.where(outer, middle)
    inverse = 1.0 / a
    # digamma(1 + a): what the reflection needs, and the way down to a below 1.
    above = small.where(base, base + inverse)
    result = small.where(base - inverse, base)

    def reflected():
        quarters, r, rest = _quarters(kit, _half_turns(kit, a))
        cosine = sine_from(kit, quarters + 1, r, rest)
        return above + (cosine / sine_from(kit, quarters, r, rest)) * math.pi

    result = kit.where_rare(x < 0.0, result, reflected)
    pole = (x <= 0.0) & ~(abs(_half_turns(kit, a)) > 0.0)
    return pole.where(math.nan, result)
