"""The Hurwitz zeta function and polygamma functions, in f64.

zeta(s, q) = sum of (q + k)**-s over k < N, and from w = q + N on Euler and Maclaurin's formula:
w**(1-s)/(s-1) + w**-s (1/2 + sum over j of B(2j)/(2j)! s (s+1) ... (s+2j-2) / w**(2j-1)).
"""

import math
from fractions import Fraction

from frit.backends.llvm.vector_math.definitions import vector_function

_TERMS = 12
_START = 10.0
_LIMIT = 10000


def _bernoulli(count):
    """The Bernoulli numbers B(0), B(1), ..., exactly."""
    numbers = []
    for n in range(count):
        total = sum(math.comb(n + 1, k) * numbers[k] for k in range(n))
        numbers.append(Fraction(1) if n == 0 else -total / (n + 1))
    return numbers


_RATIOS = [
    float(number / math.factorial(2 * j))
    for j, number in enumerate(_bernoulli(2 * _TERMS + 1)[::2])
]
_FACTORIALS = [float(math.factorial(n)) for n in range(171)]


def _power(kit, w, low, exponent):
    """(w + low)**exponent, low being at most an ulp of w."""
    power = kit.call("pow", w, exponent)
    slope = exponent * (low / w)
    return (abs(slope) < 1.0).where(power.fma(slope, power), power)


def _tail(kit, s, w, low):
    """The sum of (w + low + k)**-s over k >= 0 for w >= 10."""
    power = _power(kit, w, low, 1.0 - s)
    inverse = 1.0 / w
    factor = s * inverse
    total = kit.number(0.5)
    for j in range(1, _TERMS + 1):
        total = total + factor * _RATIOS[j]
        grown = s + (2.0 * j - 1.0)
        factor = factor * ((grown * inverse) * ((grown + 1.0) * inverse))
    result = power / (s - 1.0) + (power * inverse) * total
    return power.equals(0.0).where(power, result)


@vector_function("zeta", ulps=16, operands=2, f32_by_f64=True)
def zeta(kit, s, q):
    """The sum of (q + k)**-s over k >= 0.

    Infinite at s = 1 and at poles where s is even, nan for s < 1, at other poles, where a negative
    base has a fractional exponent, and for q < -10000, which would take as many terms.
    """
    s_safe, q_safe = (s > 1.0).where(s, 2.0), (q > -float(_LIMIT)).where(q, 1.0)

    def add_term(turn, total, w, low):
        total = total + _power(kit, w, low, -s_safe)
        w, low = kit.two_sum(q_safe, turn)
        return (turn < _START) | (w < _START), total, w, low

    everywhere = ~s_safe.is_nan()
    none = kit.number(0.0)
    total, w, low = kit.repeat_while(
        everywhere, [none, q_safe, none], add_term, _LIMIT + 2 * int(_START)
    )
    result = total + _tail(kit, s_safe, w, low)
    result = total.equals(math.inf).where(total, result)
    even = kit.is_whole(s * 0.5)
    pole = (q <= 0.0) & kit.is_whole(q)
    result = pole.where(even.where(kit.number(math.inf), math.nan), result)
    outside = (s < 1.0) | ((q < 0.0) & ~kit.is_whole(s)) | ~(q > -float(_LIMIT))
    result = (outside & ~(pole & even)).where(math.nan, result)
    result = (s.is_nan() | q.is_nan()).where(math.nan, result)
    return s.equals(1.0).where(math.inf, result)


@vector_function("polygamma", ulps=16, operands=2, f32_by_f64=True)
def polygamma(kit, n, x):
    """The derivative of order n of digamma: (-1)**(n+1) n! zeta(n + 1, x); nan for other n.

    Above order 170, where n! overflows, by logarithms, and 0 where zeta underflows.
    """
    whole = (n >= 0.0) & kit.is_whole(n)
    series = kit.call("zeta", n + 1.0, x)
    small = n <= 170.0
    _, index = kit.nearest_whole((whole & small).where(n, 0.0))
    product = series * kit.table_polynomial("factorials", _FACTORIAL_ROWS, index, n)
    large = kit.call("exp", kit.call("lgamma", n + 1.0) + kit.call("log", series))
    result = small.where(product, large)
    odd = ~kit.is_whole(n * 0.5)
    result = odd.where(result, -result)
    result = n.equals(0.0).where(kit.call("digamma", x), result)
    return whole.where(result, math.nan)


_FACTORIAL_ROWS = tuple((number,) for number in _FACTORIALS)
