"""Hyperbolic functions and their inverses.

sinh and cosh of n ln 2 + r by the addition theorem: (2**n -+ 2**-n) / 2 is exact, and nothing
cancels. The inverses are logarithms of pairs 1 + f whose f is exact to twice the precision.
"""

import math

from frit.backends.llvm.vector_math.definitions import vector_function
from frit.backends.llvm.vector_math.exponential import (
    expm1_pair,
    log_split,
    log_sum,
    reduce_exp,
)


def _doubles(kit, a):
    """(n, r, sinh_r, cosh_r, 2**n / 4, 2**-n / 4) of a = n ln 2 + r >= 0.

    sinh_r is sinh r - r, cosh_r is cosh r - 1.
    """
    # The bounds give n up to one past the largest exponent, and infinity only at the end.
    n, r, rest = reduce_exp(kit, a.smaller(710.5 if kit.double else 89.5))
    z = r * r
    sinh_r = (z * r).fma(kit.polynomial(z, kit.coefficients("sinh")), rest)
    cosh_r = (z * z).fma(kit.polynomial(z, kit.coefficients("cosh")), z * 0.5)
    up = kit.power_of_two(n - 2)
    # Far out the small power no longer matters, so it may stop where floats are still normal.
    down = kit.power_of_two(kit.bounded_below(-n - 2, 2 - kit.bias))
    return n, r, sinh_r, cosh_r, up, down


@vector_function("sinh", ulps=2)
def sinh(kit, x):
    """sinh a / 2 = odd (1 + cosh_r) + even (r + sinh_r); products of r with powers are exact."""
    n, r, sinh_r, cosh_r, up, down = _doubles(kit, abs(x))
    product, error = kit.fast_two_sum(up * r, down * r)
    odd, odd_low = kit.fast_two_sum(up, -down)
    high, low = kit.fast_two_sum(odd, product)
    rest = (up + down).fma(sinh_r, error + (low + odd_low))
    result = (high + odd.fma(cosh_r, rest)) * 2.0
    return n.equals(0).where(r + sinh_r, result).copysign(x)


@vector_function("cosh", ulps=2)
def cosh(kit, x):
    """cosh a / 2 = even (1 + cosh_r) + odd (r + sinh_r)."""
    _, r, sinh_r, cosh_r, up, down = _doubles(kit, abs(x))
    product, error = kit.fast_two_sum(up * r, -(down * r))
    even, even_low = kit.fast_two_sum(up, down)
    high, low = kit.fast_two_sum(even, product)
    rest = (up - down).fma(sinh_r, error + (low + even_low))
    return (high + even.fma(cosh_r, rest)) * 2.0


@vector_function("tanh", ulps=2)
def tanh(kit, x):
    a = abs(x)
    if not kit.double:
        z = x * x
        near = (x * z).fma(kit.polynomial(z, kit.coefficients("tanh")), x)
        far = 1.0 - 2.0 / (kit.call("exp", a.smaller(10.0) * 2.0) + 1.0)
        return (a < 0.7).where(near, far).copysign(x)
    # With m = expm1(-2a): tanh a = -m / (2 + m).
    high, low = expm1_pair(kit, a.smaller(22.0) * -2.0)
    below, rest = kit.fast_two_sum(kit.number(2.0), high)
    result, error = kit.quotient((-high, -low), (below, rest + low))
    return (result + error).copysign(x)


def _log_of_pair(kit, high, low, extra=None):
    """log(high + low) + extra ln 2."""
    return log_sum(kit, *log_split(kit, high, low, extra))


def _root_of_pair(kit, high, low):
    """The square root of a pair, as a pair; 0 gives 0."""
    root = high.sqrt()
    rest = kit.residual(root, root, high) + low
    return root, root.equals(0.0).where(0.0, rest / (root * 2.0))


def _large(kit):
    """Where squares no longer notice 1."""
    return 2.0 ** (kit.mantissa // 2 + 3)


def _log_of_double(kit, a, high, low):
    """log(high + low), or log(2a) where a is large."""
    large = a > _large(kit)
    high, low = large.where(a, high), large.where(0.0, low)
    extra = large.where(kit.integer(1), 0)
    return _log_of_pair(kit, high, low, extra)


@vector_function("asinh", ulps=2)
def asinh(kit, x):
    """log(a + sqrt(a**2 + 1)), the sums and the root as pairs."""
    a = abs(x)
    square, error = kit.two_product(a, a)
    high, low = kit.two_sum(square, kit.number(1.0))
    root, rest = _root_of_pair(kit, high, low + error)
    high, low = kit.two_sum(a, root)
    result = _log_of_double(kit, a, high, low + rest)
    result = (a < 2.0 ** (-kit.mantissa / 2 - 1)).where(a, result)
    return (a < math.inf).where(result, a + a).copysign(x)


@vector_function("acosh", ulps=2)
def acosh(kit, x):
    """log(x + sqrt(x**2 - 1)), the sums and the root as pairs."""
    square, error = kit.two_product(x, x)
    high, low = kit.two_sum(square, kit.number(-1.0))
    high, low = kit.two_sum(high, low + error)
    root, rest = _root_of_pair(kit, high, low)
    high, low = kit.two_sum(x, root)
    result = _log_of_double(kit, x, high, low + rest)
    result = (x < math.inf).where(result, x + x)
    return (x < 1.0).where(math.nan, result)


@vector_function("atanh", ulps=2)
def atanh(kit, x):
    """log((1 + a) / (1 - a)) / 2, the quotient as a pair."""
    a = abs(x)
    one = kit.number(1.0)
    high, low = kit.quotient(kit.two_sum(one, a), kit.two_sum(one, -a))
    result = _log_of_pair(kit, high, low) * 0.5
    result = (a < 2.0 ** (-kit.mantissa / 2 - 1)).where(a, result)
    result = a.equals(1.0).where(math.inf, result)
    return (a > 1.0).where(math.nan, result).copysign(x)
