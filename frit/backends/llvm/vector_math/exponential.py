"""Exponentials and logarithms.

exp(x) = 2**n (1 + p) with n = round(x / ln 2), p = expm1(x - n ln 2), |x - n ln 2| <= ln(2) / 2.
log(x) = k ln 2 + log(1 + f) with x = 2**k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2).
"""

import math

from frit.backends.llvm.vector_math.definitions import vector_function

_INFINITY = math.inf

# ln 2 as a sum whose first part has so few bits that its product with an exponent is exact.
LN2_PARTS = {
    True: (float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")),
    False: (float.fromhex("0x1.62e0000000000p-1"), float.fromhex("0x1.0bfbe80000000p-15")),
}
LN2_PAIR = {
    True: (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56")),
    False: (float.fromhex("0x1.62e4300000000p-1"), float.fromhex("-0x1.05c6100000000p-29")),
}
INVERSE_LN2 = 1.4426950408889634


def exp_range(kit):
    """(low, high) beyond which exp is 0 or infinite in the kit's type."""
    return (-746.0, 710.0) if kit.double else (-104.5, 89.5)


def reduce_exp(kit, x, low=None):
    """(n as integers, r, r's low part): x + low = n ln 2 + r; nan gives nan."""
    high_part, low_part = LN2_PARTS[kit.double]
    whole, bits = kit.nearest_whole(x * INVERSE_LN2)
    first = whole.fma(-high_part, x)
    product = whole * low_part
    r = first - product
    rest = (first - r) - product
    if low is not None:
        # low may be many ulps of r, and what follows is of first order in the rest.
        r, rest = kit.two_sum(r, rest + low)
    return bits, r, rest


def exp_parts(kit, x, low=None):
    """(n, p): exp(x + low) = 2**n (1 + p), p a pair, for x within `exp_range`."""
    bits, r, rest = reduce_exp(kit, x, low)
    tail = (r * r).fma(kit.polynomial(r, kit.coefficients("exp")), rest.fma(r, rest))
    return bits, kit.fast_two_sum(r, tail)


def exp_of_pair(kit, x, low):
    """exp(x + low) rounded nearly once, for any x, |low| being small against 1."""
    smallest, largest = exp_range(kit)
    inside = (x > smallest) & (x < largest)
    n, p = exp_parts(kit, x.larger(smallest).smaller(largest), inside.where(low, 0.0))
    return kit.scale(1.0 + (p[0] + p[1]), n)


@vector_function("exp", ulps=2)
def exp(kit, x):
    smallest, largest = exp_range(kit)
    high_part, low_part = LN2_PARTS[kit.double]
    x = x.larger(smallest).smaller(largest)
    whole, n = kit.nearest_whole(x * INVERSE_LN2)
    r = whole.fma(-low_part, whole.fma(-high_part, x))
    p = (r * r).fma(kit.polynomial(r, kit.coefficients("exp")), r)
    return kit.scale(1.0 + p, n)


@vector_function("exp2", ulps=2)
def exp2(kit, x):
    smallest, largest = (-1080.0, 1025.0) if kit.double else (-152.0, 129.0)
    x = x.larger(smallest).smaller(largest)
    whole, n = kit.nearest_whole(x)
    fraction = x - whole
    high, low = LN2_PAIR[kit.double]
    r, error = kit.two_product(fraction, high)
    rest = fraction.fma(low, error)
    p = r + (r * r).fma(kit.polynomial(r, kit.coefficients("exp")), rest)
    return kit.scale(1.0 + p, n)


def expm1_pair(kit, x):
    """expm1(x) as a pair, for x from where it is -1 up to where 2**-n still is a normal float."""
    n, (p, low) = exp_parts(kit, x)
    scale = kit.power_of_two(n)
    high, rest = kit.two_sum(scale - 1.0, scale * p)
    return kit.fast_two_sum(high, rest + scale * low)


@vector_function("expm1", ulps=2)
def expm1(kit, x):
    smallest, largest = (-40.0, 710.0) if kit.double else (-20.0, 89.5)
    bounded = x.larger(smallest).smaller(largest)
    n, (p, low) = exp_parts(kit, bounded)
    # 2**n (1 + p) - 1 = 2**n (p + (1 - 2**-n)); far out 2**-n no longer matters.
    high, rest = kit.two_sum(1.0 - kit.power_of_two(kit.bounded_below(-n, 1 - kit.bias)), p)
    result = kit.scale(high + (rest + low), n)
    # Near 0 the sum is p itself, but for the sign of zero.
    return result.copysign(x)


def log_split(kit, x, low=None, extra=None):
    """(k as floats, f, f's low part): x + low = 2**(k - extra) (1 + f), for x > 0."""
    exponent, m = kit.normalized(x)
    f = m - 1.0
    rest = None
    if low is not None:
        # f is 0 or, being a multiple of an ulp, greater than the scaled low part.
        f, rest = kit.fast_two_sum(f, kit.scale(low, -exponent))
    k = kit.to_float(exponent if extra is None else exponent + extra)
    return k, f, rest


def log_sum(kit, k, f, rest):
    """k ln 2 + log(1 + f + rest), rounded nearly once; k = 0 keeps full relative accuracy."""
    high_part, low_part = LN2_PARTS[kit.double]
    half_square = f * f * 0.5
    if kit.double:
        s = f / (f + 2.0)
        z = s * s
        series = z * kit.polynomial(z, kit.coefficients("log"))
        tail = s * (half_square + series)
    else:
        tail = f * f * f * kit.polynomial(f, kit.coefficients("log_direct"))
    if rest is not None:
        # d log(1 + f) = rest / (1 + f), of which two terms are plenty.
        tail = tail + rest * (1.0 - f + f * f)
    tail = k.fma(low_part, tail - half_square)
    high, error = kit.fast_two_sum(k * high_part, f)
    return high + (error + tail)


def log1p_excess(kit, f):
    """log(1 + f) - f for -0.29 < f < 0.41, to full relative accuracy, in f64."""
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    return s * (half_square + z * kit.polynomial(z, kit.coefficients("log"))) - half_square


def log_edges(result, x):
    """The logarithm's values at 0, below 0, at infinity and nan, put into `result`."""
    # The sum makes a signalling nan quiet.
    result = (x < _INFINITY).where(result, x + x)
    result = x.equals(0.0).where(-_INFINITY, result)
    return (x < 0.0).where(math.nan, result)


@vector_function("log", ulps=1)
def log(kit, x):
    return log_edges(log_sum(kit, *log_split(kit, x)), x)


@vector_function("log1p", ulps=2)
def log1p(kit, x):
    high, low = kit.two_sum(kit.number(1.0), x)
    result = log_edges(log_sum(kit, *log_split(kit, high, low)), high)
    # Also keeps -0 and numbers whose square vanishes.
    return (abs(x) < 2.0 ** -(kit.mantissa + 2)).where(x, result)


@vector_function("log2", ulps=2)
def log2(kit, x):
    """Exact at powers of two: k + log(1 + f) / ln 2, the quotient as a pair."""
    k, f, _ = log_split(kit, x)
    high, low = kit.two_product(log_sum(kit, kit.number(0.0), f, None), kit.number(INVERSE_LN2))
    total, error = kit.fast_two_sum(k, high)
    return log_edges(total + (error + low), x)


@vector_function("logistic", ulps=2)
def logistic(kit, x):
    """1 / (1 + exp(-x)), by exp(-|x|), so that small results keep their digits."""
    smallest, _ = exp_range(kit)
    n, (p, low) = exp_parts(kit, (-abs(x)).larger(smallest))
    small = kit.scale(1.0 + (p + low), n)
    below, lost = kit.fast_two_sum(kit.number(1.0), small)
    negative = x < 0.0
    result = negative.where(small, 1.0) / below
    # What the sum lost, times 1 / (1 + exp(-|x|)), which is the result or 1 - the result.
    return (-(result * lost)).fma(negative.where(1.0 - result, result), result)
