"""Powers and roots.

pow(x, y) = exp(y log |x|) with the logarithm as a pair of about 68 bits, since exp turns an
absolute error of its argument into a relative one of the result.
"""

import math

from frit.backends.llvm.builder import F32, F64
from frit.backends.llvm.vector_math.definitions import vector_function
from frit.backends.llvm.vector_math.exponential import (
    LN2_PAIR,
    exp_of_pair,
    log_split,
    log_sum,
)


def log_pair(kit, x, low=None):
    """log(x + low) as a pair of about 68 bits, for finite x > 0, in f64."""
    k, f, rest = log_split(kit, x, low)
    rest = kit.number(0.0) if rest is None else rest
    below, below_low = kit.fast_two_sum(kit.number(2.0), f)
    s = kit.quotient((f, rest), (below, below_low + rest))
    z = kit.pair_product(s, s)
    # log(1 + f) = 2 s + s z (2/3 + z Q(z)); only 2/3 and above need a pair.
    rest = z[0] * kit.polynomial(z[0], kit.coefficients("log_pair"))
    third = kit.pair_constant((2 / 3, float.fromhex("0x1.5555555555555p-55")))
    inner = kit.fast_two_sum(third[0], rest)
    inner = inner[0], inner[1] + third[1]
    series = kit.pair_product(kit.pair_product(s, z), inner)
    total = kit.pair_sum((s[0] * 2.0, s[1] * 2.0), series)
    high, low = LN2_PAIR[True]
    scaled, error = kit.two_product(k, kit.number(high))
    return kit.pair_sum((scaled, k.fma(low, error)), total)


def _whole_and_odd(kit, y):
    """Masks: y is an integer (infinity is one), y is an odd integer."""
    bits = abs(y).bits()
    exponent = (bits >> kit.mantissa) - kit.bias
    # How many bits of the significand stand behind the point, kept inside one word.
    behind = kit.bounded_below(kit.mantissa - exponent, 0)
    behind = kit.bounded_above(behind, kit.mantissa + 1)
    significand = (bits & ((1 << kit.mantissa) - 1)) | (1 << kit.mantissa)
    fraction = significand & ((kit.integer(1) << behind) - 1)
    whole = fraction.equals(0) | y.equals(0.0)
    odd = whole & ((significand >> behind) & 1).equals(1) & (exponent < kit.mantissa + 1)
    return whole, odd


def _power_edges(kit, x, y, result):
    """C99's results of pow for zeros, infinities, nan and negative x, put into |x|**y."""
    whole, odd = _whole_and_odd(kit, y)
    a = abs(x)
    up = y > 0.0
    ends = a.equals(0.0).where(up.where(kit.number(0.0), math.inf), result)
    result = a.equals(math.inf).where(up.where(kit.number(math.inf), 0.0), ends)
    negative = x.bits() < 0
    result = (negative & odd).where(-result, result)
    outside = (x < 0.0) & ~whole & (a < math.inf)
    result = outside.where(math.nan, result)
    result = (x.is_nan() | y.is_nan()).where(x + y, result)
    return (y.equals(0.0) | x.equals(1.0)).where(1.0, result)


@vector_function("pow", ulps=1, operands=2)
def pow(kit, x, y):
    wide = kit if kit.double else kit.in_double()
    a, exponent = abs(x), y
    if not kit.double:
        a, exponent = a.to(F64), y.to(F64)
    # Beyond 2**65 the result is 0, 1 or infinite for every x; infinities would spoil pairs.
    exponent = exponent.larger(-(2.0**65)).smaller(2.0**65)
    a = (a < math.inf).where(a, 1.0)
    if kit.double:
        high, low = log_pair(wide, a)
        product, error = wide.two_product(high, exponent)
        result = exp_of_pair(wide, product, low.fma(exponent, error))
    else:
        result = exp_of_pair(wide, log_sum(wide, *log_split(wide, a)) * exponent, wide.number(0.0))
        result = result.to(F32)
    return _power_edges(kit, x, y, result)


@vector_function("sqrt", ulps=1)
def sqrt(kit, x):
    return x.sqrt()


@vector_function("rsqrt", ulps=2)
def rsqrt(kit, x):
    return 1.0 / x.sqrt()


@vector_function("cbrt", ulps=2)
def cbrt(kit, x):
    """A quartic start on the significand, then Halley's iteration (once for f32, twice for f64)."""
    a = abs(x)
    exponent, m = kit.normalized(a)
    # Division by 3 with a positive numerator, exact for the exponents of floats.
    shifted = exponent + 3072
    third = (shifted * 21846) >> 16
    left = shifted - third * 3
    m_scaled = kit.power_of_two(left) * m
    factor = left.equals(1).where(
        2.0 ** (1 / 3), left.equals(2).where(kit.number(2.0 ** (2 / 3)), 1.0)
    )
    root = kit.polynomial(m, kit.coefficients("cbrt")) * factor
    for _ in range(2 if kit.double else 1):
        cube = root * root * root
        root = root - root * ((cube - m_scaled) / (cube * 2.0 + m_scaled))
    # The cube root of a float is never subnormal.
    result = root * kit.power_of_two(third - 1024)
    result = ((a > 0.0) & (a < math.inf)).where(result, a + a)
    return result.copysign(x)
