"""Incomplete gamma and beta functions and the derivatives that sampling needs, in f64.

P(a, x) = x**a exp(-x) / gamma(a + 1) * (1 + x/(a+1) + x**2/((a+1)(a+2)) + ...)       x <= max(1, a)
Q(a, x) = x**a exp(-x) / gamma(a) * 1/(b0 + a1/(b1 + a2/(b2 + ...)))                  beyond
          with bk = x + 1 - a + 2k and ak = k (a - k)                    (DLMF 8.7.1, 8.9.2)
for a up to 1e6, and expansions in 1/a above (large_gamma.py);
I_x(a, b) = x**a (1-x)**b / (a B(a, b)) * 1/(1 + d1/(1 + d2/...))        (DLMF 8.17.22)

Factors before the sums are written as deviances, a (log(1 + m) - m), so that large parameters do
not cancel. Derivatives with respect to a are carried along term by term.
"""

import math

from frit.backends.llvm.vector_math.definitions import vector_function
from frit.backends.llvm.vector_math.exponential import exp_of_pair, log1p_excess
from frit.backends.llvm.vector_math.gamma import lgamma_of_positive, stirling_excess
from frit.backends.llvm.vector_math.large_gamma import gamma_of_large, sample_slope_of_large
from frit.backends.llvm.vector_math.power import log_pair

_TOLERANCE = 2.0**-56
_LIMIT = 20000
_LARGE = 1e6


def _deviance(kit, a, x, excess):
    """a log(x / a) - excess as a pair, for positive a and a pair x, excess = x - a being a pair."""
    m = excess[0] / a
    near = (m > -0.29) & (m < 0.41)
    series = a * log1p_excess(kit, near.where(m, 0.0))
    none = kit.number(0.0)
    logarithm = log_pair(kit, *kit.quotient(x, (a, none)))
    direct = kit.pair_product((a, none), logarithm)
    direct = kit.pair_sum(direct, (-excess[0], -excess[1]))
    return near.where(series, direct[0]), near.where(none, direct[1])


def _gamma_factor(kit, a, x):
    """x**a exp(-x) / gamma(a + 1), for finite a > 0 and x > 0."""
    exponent, low = _deviance(kit, a, (x, kit.number(0.0)), kit.two_sum(x, -a))
    exponent, error = kit.two_sum(exponent, -stirling_excess(kit, a))
    return exp_of_pair(kit, exponent, error + low) / (a * (2 * math.pi)).sqrt()


def _gamma_series(kit, lanes, a, x, *, slopes=False):
    """The sum of x**n / ((a+1) ... (a+n)) over n >= 0 in lanes of the mask.

    slopes: (the sum, its derivative by a) instead.
    """

    def add_term(n, term, total, *slope):
        inverse = 1.0 / (a + n)
        ratio = x * inverse
        term = term * ratio
        total = total + term
        more = term > total * _TOLERANCE
        if not slopes:
            return more, term, total
        one, all = slope
        one = one.fma(ratio, -(term * inverse))
        all = all + one
        return more | (abs(one) > abs(all) * _TOLERANCE), term, total, one, all

    one, none = kit.number(1.0), kit.number(0.0)
    start = [one, one, none, none] if slopes else [one, one]
    carries = kit.repeat_while(lanes, start, add_term, _LIMIT)
    return (carries[1], carries[3]) if slopes else carries[1]


def _next_of_sum(coefficient, ratio, term):
    """(ratio, term) after the next coefficient c of a continued fraction 1/(1 + c1/(1 + c2/...)).

    The fraction is the sum of the terms, each the last times its ratio; where coefficients are
    negative, all terms are positive (Euler; Gautschi 1979, section 4).
    """
    part = coefficient * (ratio + 1.0)
    ratio = -part / (part + 1.0)
    return ratio, term * ratio


def _gamma_fraction(kit, lanes, a, x, *, slopes=False):
    """1/(b0 + a1/(b1 + ...)) in lanes of the mask; slopes: (it, its derivative by a) instead."""

    def add_term(k, ratio, term, total, *slope):
        b = start + k * 2.0
        inverse = 1.0 / ((b - 2.0) * b)
        coefficient = (k * (a - k)) * inverse
        new_ratio, new_term = _next_of_sum(coefficient, ratio, term)
        total = total + new_term
        more = abs(new_term) > abs(total) * _TOLERANCE
        if not slopes:
            return more, new_ratio, new_term, total
        ratio_slope, term_slope, total_slope = slope
        coefficient_slope = (k + coefficient * (b * 2.0 - 2.0)) * inverse
        below = 1.0 / (coefficient.fma(ratio + 1.0, 1.0))
        part_slope = coefficient_slope.fma(ratio + 1.0, coefficient * ratio_slope)
        ratio_slope = -part_slope * (below * below)
        term_slope = ratio_slope.fma(term, new_ratio * term_slope)
        total_slope = total_slope + term_slope
        more = more | (abs(term_slope) > abs(total_slope) * _TOLERANCE)
        return more, new_ratio, new_term, total, ratio_slope, term_slope, total_slope

    start = x + 1.0 - a
    inverse = 1.0 / start
    one, none = kit.number(1.0), kit.number(0.0)
    begin = [none, one, one] + ([none] * 3 if slopes else [])
    carries = kit.repeat_while(lanes, begin, add_term, _LIMIT)
    fraction = carries[2] * inverse
    if not slopes:
        return fraction
    return fraction, (carries[5] + fraction) * inverse


def _gamma_complement_near_zero(kit, lanes, a, x):
    """Q(a, x) for a < 1 and x <= 1, where 1 - P would cancel.

    With u = a log x - lgamma(1 + a): -expm1(u) - exp(u) a sum of (-x)**n / ((a + n) n!), n >= 1.
    """

    def add_term(n, power, total):
        power = power * (-x / n)
        term = power / (a + n)
        total = total + term
        return abs(term) > abs(total) * _TOLERANCE, power, total

    one, none = kit.number(1.0), kit.number(0.0)
    _, total = kit.repeat_while(lanes, [one, none], add_term, 60)
    _, above = lgamma_of_positive(kit, a, kit.call("log", a))
    less = kit.call("expm1", a * kit.call("log", x) - above)
    return -less - (less + 1.0) * (a * total)


def _gamma_regions(kit, a, x):
    """(inside, near, far, safe a, safe x): where the formulas, the series, the fraction hold.

    The operands are harmless outside. Large a is neither near nor far.
    """
    inside = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    safe_a, safe_x = inside.where(a, 1.0), inside.where(x, 0.5)
    far = (safe_x > 1.0) & (safe_x > safe_a)
    small = safe_a <= _LARGE
    return inside, small & ~far, small & far, safe_a, safe_x


def _gamma_limits(kit, a, x, inside, result, *, lower, upper):
    """The result at the ends: `lower` where P is 0, `upper` where it is 1, nan outside."""
    low = (a > 0.0) & (x >= 0.0) & (x.equals(0.0) | (a.equals(math.inf) & (x < math.inf)))
    high = (a >= 0.0) & (a < math.inf) & (x > 0.0) & (x.equals(math.inf) | a.equals(0.0))
    ends = high.where(kit.number(upper), low.where(kit.number(lower), math.nan))
    return inside.where(result, ends)


def _incomplete_gamma(kit, a, x, *, complement):
    inside, near, far, a_safe, x_safe = _gamma_regions(kit, a, x)
    factor = _gamma_factor(kit, a_safe, x_safe)
    total = _gamma_series(kit, near, a_safe, x_safe)
    fraction = _gamma_fraction(kit, far, a_safe, x_safe)
    value = factor * far.where(fraction * a_safe, total)
    other = far if not complement else ~far
    result = other.where(1.0 - value, value)
    if complement:
        tiny = (a_safe < 1.0) & (x_safe <= 1.0)
        result = kit.where_rare(
            tiny, result, lambda: _gamma_complement_near_zero(kit, tiny, a_safe, x_safe)
        )
    result = kit.where_rare(
        a_safe > _LARGE,
        result,
        lambda: gamma_of_large(kit, a_safe, x_safe, complement=complement),
    )
    ends = dict(lower=1.0, upper=0.0) if complement else dict(lower=0.0, upper=1.0)
    return _gamma_limits(kit, a, x, inside, result, **ends)


@vector_function("igamma", ulps=16, operands=2, f32_by_f64=True)
def igamma(kit, a, x):
    """P(a, x), the regularized lower incomplete gamma function."""
    return _incomplete_gamma(kit, a, x, complement=False)


@vector_function("igammac", ulps=16, operands=2, f32_by_f64=True)
def igammac(kit, a, x):
    """Q(a, x) = 1 - P(a, x)."""
    return _incomplete_gamma(kit, a, x, complement=True)


def _gamma_slopes(kit, near, far, a, x):
    """dP/da over x**a exp(-x) / gamma(a + 1)."""
    total, total_slope = _gamma_series(kit, near, a, x, slopes=True)
    fraction, fraction_slope = _gamma_fraction(kit, far, a, x, slopes=True)
    above = kit.call("log", x) - kit.call("digamma", far.where(a, a + 1.0))
    low = total.fma(above, total_slope)
    result = far.where(-(fraction.fma(above, fraction_slope)) * a, low)
    large = a > _LARGE
    return kit.where_rare(large, result, lambda: sample_slope_of_large(kit, a, x) * -(a / x))


@vector_function("igamma_grad_a", ulps=32, operands=2, f32_by_f64=True)
def igamma_grad_a(kit, a, x):
    """The derivative of P(a, x) with respect to a; see `random_gamma_grad` for large a."""
    inside, near, far, a_safe, x_safe = _gamma_regions(kit, a, x)
    factor = _gamma_factor(kit, a_safe, x_safe)
    result = factor * _gamma_slopes(kit, near, far, a_safe, x_safe)
    at_zero = (a > 0.0) & (a < math.inf) & x.equals(0.0)
    return inside.where(result, at_zero.where(kit.number(0.0), math.nan))


@vector_function("random_gamma_grad", ulps=32, operands=2, f32_by_f64=True)
def random_gamma_grad(kit, a, x):
    """dx/da of a gamma sample x of shape a: -(dP/da) / (dP/dx); the common factor cancels.

    Above a = 1e6 the relative error is about 1e-11, for x within some deviations of a.
    """
    inside, near, far, a_safe, x_safe = _gamma_regions(kit, a, x)
    result = _gamma_slopes(kit, near, far, a_safe, x_safe) * -(x_safe / a_safe)
    at_zero = (a > 0.0) & (a < math.inf) & x.equals(0.0)
    return inside.where(result, at_zero.where(kit.number(0.0), math.nan))


def _beta_fraction(kit, lanes, a, b, x):
    """1/(1 + d1/(1 + d2/...)), two terms a turn, in lanes of the mask."""

    def add_terms(m, ratio, term, total):
        twice = a + m * 2.0
        # d of odd index 2m - 1, then of even index 2m.
        odd = -(a + m - 1.0) * (a + b + m - 1.0) * x / ((twice - 2.0) * (twice - 1.0))
        even = m * (b - m) * x / ((twice - 1.0) * twice)
        ratio, first = _next_of_sum(odd, ratio, term)
        ratio, second = _next_of_sum(even, ratio, first)
        total = total + (first + second)
        size = abs(total) * _TOLERANCE
        return (abs(first) > size) | (abs(second) > size), ratio, second, total

    one, none = kit.number(1.0), kit.number(0.0)
    return kit.repeat_while(lanes, [none, one, one], add_terms, _LIMIT)[2]


def _beta_factor(kit, a, b, x, y):
    """x**a y**b / B(a, b) for pairs x and y = 1 - x, as exp of deviances from the mean."""
    total, none = a + b, kit.number(0.0)
    first, error = kit.two_product(x[0], b)
    second, other = kit.two_product(y[0], a)
    # a ((a + b) x / a - 1), which is -b ((a + b) y / b - 1)
    high, low = kit.two_sum(first, -second)
    low = low + (error - other) + (x[1] * b - y[1] * a)
    excess = kit.fast_two_sum(high, low)
    exponent = _deviance(kit, a, kit.pair_sum((a, none), excess), excess)
    excess = -excess[0], -excess[1]
    other = _deviance(kit, b, kit.pair_sum((b, none), excess), excess)
    rest = stirling_excess(kit, total) - stirling_excess(kit, a) - stirling_excess(kit, b)
    exponent = kit.pair_sum(kit.pair_sum(exponent, other), (rest, none))
    root = (a * (b / total) * (1 / (2 * math.pi))).sqrt()
    return exp_of_pair(kit, *exponent) * root


@vector_function("regularized_incomplete_beta", ulps=64, operands=3, f32_by_f64=True)
def regularized_incomplete_beta(kit, a, b, x):
    """I_x(a, b), the distribution function of the beta distribution; nan unless 0 <= x <= 1."""
    inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < math.inf) & (b < math.inf)
    a_safe, b_safe, x_safe = (inside.where(operand, 0.5) for operand in (a, b, x))
    y_pair = kit.two_sum(kit.number(1.0), -x_safe)
    # Right of the mean I_x(a, b) = 1 - I_y(b, a), where the difference does not cancel; near 0 and
    # 1 the fraction would converge too slowly between the mean and a point a little off it.
    middle = (x_safe > 1e-3) & (x_safe < 0.999)
    more = middle.where(kit.number(0.0), 1.0)
    swap = x_safe * (a_safe + b_safe + more * 2.0) > a_safe + more
    p, q = swap.where(b_safe, a_safe), swap.where(a_safe, b_safe)
    u = swap.where(y_pair[0], x_safe), swap.where(y_pair[1], 0.0)
    v = swap.where(x_safe, y_pair[0]), swap.where(0.0, y_pair[1])
    fraction = _beta_fraction(kit, inside, p, q, u[0])
    value = _beta_factor(kit, p, q, u, v) * fraction / p
    result = swap.where(1.0 - value, value)
    return inside.where(result, _beta_limits(kit, a, b, x))


def _beta_limits(kit, a, b, x):
    """All weight is at 0 (a is 0 or b infinite) or at 1 (the reverse); nan where it is at both."""
    defined = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    at_zero = a.equals(0.0) | b.equals(math.inf)
    at_one = b.equals(0.0) | a.equals(math.inf)
    defined = defined & ~(at_zero & at_one)
    one = (x.equals(1.0) | (at_zero & (x > 0.0))).where(kit.number(1.0), 0.0)
    return defined.where(one, math.nan)
