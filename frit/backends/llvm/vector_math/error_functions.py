"""The error function, its complement and its inverse.

erf(x) = x (1 + P(x**2)) for |x| < 1; erfc(x) = exp(-x**2) C(t) / (1 + 2x) for x > 0, with
t = (x - 4) / (x + 4) and x**2 as a pair, keeps full relative accuracy until it underflows.
"""

import math

from frit.backends.llvm.builder import F32, F64
from frit.backends.llvm.vector_math.coefficients import TABLES
from frit.backends.llvm.vector_math.definitions import vector_function
from frit.backends.llvm.vector_math.exponential import exp_parts, log_split, log_sum


def _complement(kit, a):
    """erfc(a) for a >= 0, in f64."""
    a = a.smaller(28.0)
    square, error = kit.two_product(a, a)
    t, rest = kit.quotient((a - 4.0, kit.number(0.0)), kit.two_sum(a, kit.number(4.0)))
    first, *others = kit.coefficients("erfcx")
    slope = kit.polynomial(t, others)
    high, low = kit.two_product(t, slope)
    high, lost = kit.fast_two_sum(kit.number(first), high)
    below = kit.two_sum(a * 2.0, kit.number(1.0))
    scaled, more = kit.quotient((high, lost + (low + rest * slope)), below)
    n, (p, p_low) = exp_parts(kit, -square, -error)
    return kit.scale(scaled + (scaled * p + (more.fma(p, more) + scaled * p_low)), n)


def _series(kit, x):
    """erf(x) - x for |x| < 1."""
    return x * kit.polynomial(x * x, kit.coefficients("erf"))


@vector_function("erf", ulps=2)
def erf(kit, x):
    a = abs(x)
    near = x + _series(kit, x)
    if kit.double:
        far = 1.0 - _complement(kit, a)
    else:
        bounded = a.smaller(4.1)
        far = 1.0 - kit.call("exp", kit.polynomial(bounded, kit.coefficients("log_erfc")))
    return (a < 1.0).where(near, far.copysign(x))


@vector_function("erfc", ulps=2)
def erfc(kit, x):
    if not kit.double:
        return _erfc_in_double(kit.in_double(), x.to(F64)).to(F32)
    return _erfc_in_double(kit, x)


def _erfc_in_double(kit, x):
    a = abs(x)
    far = _complement(kit, a)
    far = (x < 0.0).where(2.0 - far, far)
    return (a < 0.5).where(1.0 - (x + _series(kit, x)), far)


@vector_function("erf_inv", ulps=2, f32_by_f64=True)
def erf_inv(kit, x):
    """x P(x**2) up to 3/4, else by a table in sqrt(-log(1 - |x|)); infinite at +-1, nan beyond."""
    a = abs(x)
    z = x * x
    constant_term, *others = kit.coefficients("erf_inv")
    # One rounding at the end, of the large term.
    near = x.fma(constant_term, x * (z * kit.polynomial(z, others)))
    rest = ((a > 0.75) & (a < 1.0)).where(1.0 - a, 0.25)
    square = -log_sum(kit, *log_split(kit, rest))
    s = square.sqrt()
    error = kit.residual(s, s, square) / (s * 2.0)
    whole, row = kit.nearest_whole((s - 1.17) * (1 / 0.62) - 0.5)
    row = kit.bounded_above(kit.bounded_below(row, 0), 7)
    far = kit.table_polynomial("erf_inv", TABLES["erf_inv"], row, (s - whole * 0.62 - 1.48) + error)
    result = (a > 0.75).where(far.copysign(x), near)
    result = a.equals(1.0).where(kit.number(math.inf).copysign(x), result)
    return ((a > 1.0) | x.is_nan()).where(math.nan, result)
