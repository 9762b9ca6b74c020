"""Incomplete gamma and beta functions and the derivatives that sampling needs, in f64.

P(a, x) = x**a exp(-x) / gamma(a + 1) * (1 + x/(a+1) + x**2/((a+1)(a+2)) + ...)       x <= max(1, a)
Q(a, x) = x**a exp(-x) / gamma(a) * 1/(b0 + a1/(b1 + a2/(b2 + ...)))                  beyond
          with bk = x + 1 - a + 2k and ak = k (a - k)                    (DLMF 8.7.1, 8.9.2)
I_x(a, b) = x**a (1-x)**b / (a B(a, b)) * 1/(1 + d1/(1 + d2/...))        (DLMF 8.17.22)

Factors before the sums are written as deviances, a (log(1 + m) - m), so that large parameters do
not cancel. Derivatives with respect to a are carried along term by term.
"""

import math

from frit.backends.llvm.vector_math.definitions import vector_function
from frit.backends.llvm.vector_math.exponential import exp_of_pair, log1p_excess
from frit.backends.llvm.vector_math.gamma import stirling_excess
from frit.backends.llvm.vector_math.power import log_pair

_TOLERANCE = 2.0**-54
_SCALE = 2.0**300
_LIMIT = 20000


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


def _gamma_series(kit, lanes, a, x):
    """(sum, its derivative by a) of x**n / ((a+1) ... (a+n)) over n >= 0, in lanes of the mask."""

    def add_term(turn, term, slope, total, total_slope):
        inverse = 1.0 / (a + turn)
        ratio = x * inverse
        term = term * ratio
        slope = slope.fma(ratio, -(term * inverse))
        total, total_slope = total + term, total_slope + slope
        more = (term > total * _TOLERANCE) | (abs(slope) > abs(total_slope) * _TOLERANCE)
        return more, term, slope, total, total_slope

    one, none = kit.number(1.0), kit.number(0.0)
    carries = kit.repeat_while(lanes, [one, none, one, none], add_term, _LIMIT)
    return carries[2], carries[3]


def _gamma_fraction(kit, lanes, a, x):
    """(continued fraction, its derivative by a), in lanes of the mask."""

    def take_step(k, upper, lower, upper_before, lower_before, *rest):
        slopes, (fraction, slope) = rest[:4], rest[4:]
        upper_slope, lower_slope, upper_slope_before, lower_slope_before = slopes
        b = start + k * 2.0
        c = k * (a - k)
        next_upper = upper.fma(b, upper_before * c)
        next_lower = lower.fma(b, lower_before * c)
        next_upper_slope = upper_slope.fma(b, upper_slope_before * c) + upper_before.fma(k, -upper)
        next_lower_slope = lower_slope.fma(b, lower_slope_before * c) + lower_before.fma(k, -lower)
        inverse = 1.0 / next_lower
        found = next_upper * inverse
        found_slope = (next_upper_slope - found * next_lower_slope) * inverse
        more = (abs(found - fraction) > abs(found) * _TOLERANCE) | (
            abs(found_slope - slope) > abs(found_slope) * _TOLERANCE
        )
        state = [next_upper, next_lower, upper, lower]
        state += [next_upper_slope, next_lower_slope, upper_slope, lower_slope]
        scale = (abs(next_lower) > _SCALE).where(kit.number(1 / _SCALE), 1.0)
        return more, *(value * scale for value in state), found, found_slope

    start = x + 1.0 - a
    one, none = kit.number(1.0), kit.number(0.0)
    inverse = 1.0 / start
    begin = [one, start, none, one, none, -one, none, none, inverse, inverse * inverse]
    carries = kit.repeat_while(lanes, begin, take_step, _LIMIT)
    return carries[8], carries[9]


def _gamma_regions(kit, a, x):
    """(inside, far, safe a, safe x): where the formulas hold, and operands harmless elsewhere."""
    inside = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    safe_a, safe_x = inside.where(a, 1.0), inside.where(x, 0.5)
    return inside, (safe_x > 1.0) & (safe_x > safe_a), safe_a, safe_x


def _gamma_limits(kit, a, x, inside, result, *, lower, upper):
    """The result at the ends: `lower` where P is 0, `upper` where it is 1, nan outside."""
    low = (a > 0.0) & (x >= 0.0) & (x.equals(0.0) | (a.equals(math.inf) & (x < math.inf)))
    high = (a >= 0.0) & (a < math.inf) & (x > 0.0) & (x.equals(math.inf) | a.equals(0.0))
    ends = high.where(kit.number(upper), low.where(kit.number(lower), math.nan))
    return inside.where(result, ends)


def _incomplete_gamma(kit, a, x, *, complement):
    inside, far, a_safe, x_safe = _gamma_regions(kit, a, x)
    factor = _gamma_factor(kit, a_safe, x_safe)
    total, _ = _gamma_series(kit, ~far, a_safe, x_safe)
    fraction, _ = _gamma_fraction(kit, far, a_safe, x_safe)
    value = factor * far.where(fraction * a_safe, total)
    other = far if not complement else ~far
    result = other.where(1.0 - value, value)
    ends = dict(lower=1.0, upper=0.0) if complement else dict(lower=0.0, upper=1.0)
    return _gamma_limits(kit, a, x, inside, result, **ends)


@vector_function("igamma", ulps=16, cost=2000, operands=2, f32_by_f64=True)
def igamma(kit, a, x):
    """P(a, x), the regularized lower incomplete gamma function."""
    return _incomplete_gamma(kit, a, x, complement=False)


@vector_function("igammac", ulps=16, cost=2000, operands=2, f32_by_f64=True)
def igammac(kit, a, x):
    """Q(a, x) = 1 - P(a, x)."""
    return _incomplete_gamma(kit, a, x, complement=True)


def _gamma_slopes(kit, far, a, x):
    """dP/da over x**a exp(-x) / gamma(a + 1)."""
    total, total_slope = _gamma_series(kit, ~far, a, x)
    fraction, fraction_slope = _gamma_fraction(kit, far, a, x)
    above = kit.call("log", x) - kit.call("digamma", far.where(a, a + 1.0))
    near = total.fma(above, total_slope)
    return far.where(-(fraction.fma(above, fraction_slope)) * a, near)


@vector_function("igamma_grad_a", ulps=64, cost=3000, operands=2, f32_by_f64=True)
def igamma_grad_a(kit, a, x):
    """The derivative of P(a, x) with respect to a."""
    inside, far, a_safe, x_safe = _gamma_regions(kit, a, x)
    result = _gamma_factor(kit, a_safe, x_safe) * _gamma_slopes(kit, far, a_safe, x_safe)
    at_zero = (a > 0.0) & (a < math.inf) & x.equals(0.0)
    return inside.where(result, at_zero.where(kit.number(0.0), math.nan))


@vector_function("random_gamma_grad", ulps=64, cost=3000, operands=2, f32_by_f64=True)
def random_gamma_grad(kit, a, x):
    """dx/da of a gamma sample x of shape a: -(dP/da) / (dP/dx); the common factor cancels."""
    inside, far, a_safe, x_safe = _gamma_regions(kit, a, x)
    result = _gamma_slopes(kit, far, a_safe, x_safe) * -(x_safe / a_safe)
    at_zero = (a > 0.0) & (a < math.inf) & x.equals(0.0)
    return inside.where(result, at_zero.where(kit.number(0.0), math.nan))


def _beta_fraction(kit, lanes, a, b, x):
    """1/(1 + d1/(1 + d2/...)), two steps a turn, in lanes of the mask."""

    def take_steps(m, upper, lower, upper_before, lower_before, fraction):
        twice = a + m * 2.0
        # d of odd index 2m - 1, then of even index 2m.
        odd = -(a + m - 1.0) * (a + b + m - 1.0) * x / ((twice - 2.0) * (twice - 1.0))
        even = m * (b - m) * x / ((twice - 1.0) * twice)
        upper_before, upper = upper, upper_before.fma(odd, upper)
        lower_before, lower = lower, lower_before.fma(odd, lower)
        upper_before, upper = upper, upper_before.fma(even, upper)
        lower_before, lower = lower, lower_before.fma(even, lower)
        found = upper / lower
        more = abs(found - fraction) > abs(found) * _TOLERANCE
        size = abs(lower)
        scale = (size > _SCALE).where(
            kit.number(1 / _SCALE), (size < 1 / _SCALE).where(kit.number(_SCALE), 1.0)
        )
        state = (upper, lower, upper_before, lower_before)
        return more, *(value * scale for value in state), found

    one, none = kit.number(1.0), kit.number(0.0)
    return kit.repeat_while(lanes, [one, one, none, one, one], take_steps, _LIMIT)[4]


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


@vector_function("regularized_incomplete_beta", ulps=64, cost=3000, operands=3, f32_by_f64=True)
def regularized_incomplete_beta(kit, a, b, x):
    """I_x(a, b), the distribution function of the beta distribution; nan unless 0 <= x <= 1."""
    inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < math.inf) & (b < math.inf)
    a_safe, b_safe, x_safe = (inside.where(operand, 0.5) for operand in (a, b, x))
    y_pair = kit.two_sum(kit.number(1.0), -x_safe)
    # The fraction converges fast left of the mean; right of it, I_x(a, b) = 1 - I_y(b, a).
    swap = x_safe * (a_safe + b_safe + 2.0) > a_safe + 1.0
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
