"""Elementwise functions of `lax`: JAX's names and signatures, thin over the primitives.

Operands of one function have one element type, and one rank or rank 0; nothing is promoted.  A
Python scalar counts as a weakly typed value of the default type of its kind.
"""

from __future__ import annotations

from frit.primitives import (
    arithmetic,
    comparison_and_bits,
    elementwise,
    special,
    transcendental,
)
from frit.primitives.arithmetic import RoundingMethod
from frit.primitives.transcendental import AccuracyMode, Tolerance

# ------------------------------------------------------------------------------------- arithmetic


def neg(x):
    """-x, element by element."""
    return elementwise.neg.bind(x)


def add(x, y):
    """x + y, element by element; x and y have one element type, and one rank or rank 0."""
    return elementwise.add.bind(x, y)


def sub(x, y):
    """x - y, element by element."""
    return elementwise.sub.bind(x, y)


def mul(x, y, *, out_dtype=None):
    """x * y, element by element; with `out_dtype`, both are converted to it first."""
    return elementwise.mul.bind(x, y, out_dtype=out_dtype)


def div(x, y):
    """x / y, element by element; of integers truncated towards zero, and -1 for division by 0."""
    return arithmetic.div.bind(x, y)


def rem(x, y):
    """The remainder of x / y with x's sign; of integers by 0, x."""
    return arithmetic.rem.bind(x, y)


def mulhi(x, y, /):
    """The upper half of the bits of the product of integers."""
    return arithmetic.mulhi.bind(x, y)


def max(x, y):
    """The larger of x and y, element by element; nan where either is."""
    return arithmetic.max_.bind(x, y)


def min(x, y):
    """The smaller of x and y, element by element; nan where either is."""
    return arithmetic.min_.bind(x, y)


def sign(x):
    """-1, 0 or 1 with the sign of x; nan and zeros as they are; x / |x| for complex x."""
    return arithmetic.sign.bind(x)


def abs(x):
    """|x|; real for complex x."""
    return arithmetic.abs_.bind(x)


def integer_pow(x, y):
    """x ** y for a fixed integer y, by repeated squaring."""
    return arithmetic.integer_pow.bind(x, y=y)


def square(x):
    """x * x."""
    return arithmetic.square.bind(x)


def reciprocal(x):
    """1 / x."""
    return integer_pow(x, -1)


def floor(x):
    """The largest whole number <= x."""
    return arithmetic.floor.bind(x)


def ceil(x):
    """The smallest whole number >= x."""
    return arithmetic.ceil.bind(x)


def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):
    """The whole number nearest to x; `rounding_method` says where a half goes."""
    method = RoundingMethod(rounding_method)
    return arithmetic.round_.bind(x, rounding_method=method)


def nextafter(x1, x2):
    """The float next to x1 in the direction of x2."""
    return arithmetic.nextafter.bind(x1, x2)


# --------------------------------------------------------------------- functions with an accuracy


def exp(x, *, accuracy=None):
    """e ** x."""
    return transcendental.exp.bind(x, accuracy=accuracy)


def exp2(x, *, accuracy=None):
    """2 ** x."""
    return transcendental.exp2.bind(x, accuracy=accuracy)


def expm1(x, *, accuracy=None):
    """e ** x - 1, accurate near 0."""
    return transcendental.expm1.bind(x, accuracy=accuracy)


def log(x, *, accuracy=None):
    """The natural logarithm; nan below 0, -inf at 0."""
    return transcendental.log.bind(x, accuracy=accuracy)


def log1p(x, *, accuracy=None):
    """log(1 + x), accurate near 0."""
    return transcendental.log1p.bind(x, accuracy=accuracy)


def tanh(x, *, accuracy=None):
    """The hyperbolic tangent."""
    return transcendental.tanh.bind(x, accuracy=accuracy)


def logistic(x, *, accuracy=None):
    """1 / (1 + e ** -x)."""
    return transcendental.logistic.bind(x, accuracy=accuracy)


def sin(x, *, accuracy=None):
    """The sine of x in radians."""
    return transcendental.sin.bind(x, accuracy=accuracy)


def cos(x, *, accuracy=None):
    """The cosine of x in radians."""
    return transcendental.cos.bind(x, accuracy=accuracy)


def tan(x, *, accuracy=None):
    """The tangent of x in radians."""
    return transcendental.tan.bind(x, accuracy=accuracy)


def sqrt(x, *, accuracy=None):
    """The square root; nan below 0."""
    return transcendental.sqrt.bind(x, accuracy=accuracy)


def rsqrt(x, *, accuracy=None):
    """1 / sqrt(x)."""
    return transcendental.rsqrt.bind(x, accuracy=accuracy)


def cbrt(x, *, accuracy=None):
    """The real cube root."""
    return transcendental.cbrt.bind(x, accuracy=accuracy)


# ------------------------------------------------------------------------------- other functions


def pow(x, y):
    """x ** y, of x's inexact type; y is of the same type or an integer."""
    return transcendental.pow_.bind(x, y)


def asin(x):
    """The angle in radians whose sine is x."""
    return transcendental.asin.bind(x)


def acos(x):
    """The angle in radians whose cosine is x."""
    return transcendental.acos.bind(x)


def atan(x):
    """The angle in radians whose tangent is x."""
    return transcendental.atan.bind(x)


def atan2(x, y):
    """The angle in radians of the point with ordinate x and abscissa y."""
    return transcendental.atan2.bind(x, y)


def sinh(x):
    """The hyperbolic sine."""
    return transcendental.sinh.bind(x)


def cosh(x):
    """The hyperbolic cosine."""
    return transcendental.cosh.bind(x)


def asinh(x):
    """The inverse of sinh."""
    return transcendental.asinh.bind(x)


def acosh(x):
    """The inverse of cosh, at least 0; nan below 1."""
    return transcendental.acosh.bind(x)


def atanh(x):
    """The inverse of tanh."""
    return transcendental.atanh.bind(x)


def erf(x):
    """The error function 2/sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return special.erf.bind(x)


def erfc(x):
    """1 - erf(x), accurate for large x."""
    return special.erfc.bind(x)


def erf_inv(x):
    """The inverse of erf."""
    return special.erf_inv.bind(x)


def lgamma(x):
    """log |gamma(x)|."""
    return special.lgamma.bind(x)


def digamma(x):
    """The derivative of log gamma(x)."""
    return special.digamma.bind(x)


def polygamma(m, x):
    """The m-th derivative of digamma(x)."""
    return special.polygamma.bind(m, x)


def igamma(a, x):
    """The regularized lower incomplete gamma function."""
    return special.igamma.bind(a, x)


def igammac(a, x):
    """1 - igamma(a, x), accurate where that is near 1."""
    return special.igammac.bind(a, x)


def igamma_grad_a(a, x):
    """The derivative of igamma(a, x) in a."""
    return special.igamma_grad_a.bind(a, x)


def random_gamma_grad(a, x):
    """The derivative in a of a sample x of Gamma(a, 1): -(dP/da) / (dP/dx) with P = igamma."""
    log_density = sub(sub(mul(sub(a, _like(a, 1)), log(x)), x), lgamma(a))
    return neg(div(igamma_grad_a(a, x), exp(log_density)))


def zeta(x, q):
    """Hurwitz' zeta function: the sum of (q + k) ** -x over k = 0, 1, …"""
    return special.zeta.bind(x, q)


def betainc(a, b, x):
    """The regularized incomplete beta function."""
    return special.regularized_incomplete_beta.bind(a, b, x)


def bessel_i0e(x):
    """exp(-|x|) I0(x), the scaled modified Bessel function of order 0."""
    return special.bessel_i0e.bind(x)


def bessel_i1e(x):
    """exp(-|x|) I1(x), the scaled modified Bessel function of order 1."""
    return special.bessel_i1e.bind(x)


# -------------------------------------------------------------------------- comparisons and bits


def eq(x, y):
    """x == y, element by element."""
    return comparison_and_bits.eq.bind(x, y)


def ne(x, y):
    """x != y, element by element."""
    return comparison_and_bits.ne.bind(x, y)


def ge(x, y):
    """x >= y, element by element."""
    return comparison_and_bits.ge.bind(x, y)


def gt(x, y):
    """x > y, element by element."""
    return comparison_and_bits.gt.bind(x, y)


def le(x, y):
    """x <= y, element by element."""
    return comparison_and_bits.le.bind(x, y)


def lt(x, y):
    """x < y, element by element."""
    return comparison_and_bits.lt.bind(x, y)


def is_finite(x):
    """Whether x is neither infinite nor nan."""
    return comparison_and_bits.is_finite.bind(x)


def bitwise_not(x):
    """The complement of each bit; of bool, not x."""
    return comparison_and_bits.not_.bind(x)


def bitwise_and(x, y):
    """The bits set in both."""
    return comparison_and_bits.and_.bind(x, y)


def bitwise_or(x, y):
    """The bits set in either."""
    return comparison_and_bits.or_.bind(x, y)


def bitwise_xor(x, y):
    """The bits set in one but not the other."""
    return comparison_and_bits.xor.bind(x, y)


def shift_left(x, y):
    """x with its bits moved up y places; 0 for y of the width or more."""
    return comparison_and_bits.shift_left.bind(x, y)


def shift_right_arithmetic(x, y):
    """x with its bits moved down y places, copies of the sign bit coming in."""
    return comparison_and_bits.shift_right_arithmetic.bind(x, y)


def shift_right_logical(x, y):
    """x with its bits moved down y places, zeros coming in."""
    return comparison_and_bits.shift_right_logical.bind(x, y)


def population_count(x):
    """The number of bits set."""
    return comparison_and_bits.population_count.bind(x)


def clz(x):
    """The number of zero bits above the highest one set."""
    return comparison_and_bits.clz.bind(x)


def select(pred, on_true, on_false):
    """on_true where pred holds, on_false elsewhere; pred has their shape or rank 0."""
    return comparison_and_bits.select_n.bind(pred, on_false, on_true)


def select_n(which, *cases):
    """cases[which], element by element; `which` is bool or integer, of their shape or rank 0."""
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return comparison_and_bits.select_n.bind(which, *cases)


def clamp(min, x, max):
    """x moved into the range from min to max; the bounds have x's shape or rank 0."""
    return comparison_and_bits.clamp.bind(min, x, max)


def _like(x, value):
    return elementwise.constant(x, value)


# --------------------------------------------------------------- the records, by JAX's other names

abs_p = arithmetic.abs_
acos_p = transcendental.acos
acosh_p = transcendental.acosh
add_p = elementwise.add
and_p = comparison_and_bits.and_
asin_p = transcendental.asin
asinh_p = transcendental.asinh
atan2_p = transcendental.atan2
atan_p = transcendental.atan
atanh_p = transcendental.atanh
bessel_i0e_p = special.bessel_i0e
bessel_i1e_p = special.bessel_i1e
cbrt_p = transcendental.cbrt
ceil_p = arithmetic.ceil
clamp_p = comparison_and_bits.clamp
clz_p = comparison_and_bits.clz
cos_p = transcendental.cos
cosh_p = transcendental.cosh
digamma_p = special.digamma
div_p = arithmetic.div
eq_p = comparison_and_bits.eq
eq_to_p = comparison_and_bits.eq_to
erf_inv_p = special.erf_inv
erf_p = special.erf
erfc_p = special.erfc
exp2_p = transcendental.exp2
exp_p = transcendental.exp
expm1_p = transcendental.expm1
floor_p = arithmetic.floor
ge_p = comparison_and_bits.ge
gt_p = comparison_and_bits.gt
igamma_grad_a_p = special.igamma_grad_a
igamma_p = special.igamma
igammac_p = special.igammac
integer_pow_p = arithmetic.integer_pow
is_finite_p = comparison_and_bits.is_finite
le_p = comparison_and_bits.le
le_to_p = comparison_and_bits.le_to
lgamma_p = special.lgamma
log1p_p = transcendental.log1p
log_p = transcendental.log
logistic_p = transcendental.logistic
lt_p = comparison_and_bits.lt
lt_to_p = comparison_and_bits.lt_to
max_p = arithmetic.max_
min_p = arithmetic.min_
mul_p = elementwise.mul
mulhi_p = arithmetic.mulhi
ne_p = comparison_and_bits.ne
neg_p = elementwise.neg
nextafter_p = arithmetic.nextafter
not_p = comparison_and_bits.not_
or_p = comparison_and_bits.or_
polygamma_p = special.polygamma
population_count_p = comparison_and_bits.population_count
pow_p = transcendental.pow_
regularized_incomplete_beta_p = special.regularized_incomplete_beta
rem_p = arithmetic.rem
round_p = arithmetic.round_
rsqrt_p = transcendental.rsqrt
select_n_p = comparison_and_bits.select_n
shift_left_p = comparison_and_bits.shift_left
shift_right_arithmetic_p = comparison_and_bits.shift_right_arithmetic
shift_right_logical_p = comparison_and_bits.shift_right_logical
sign_p = arithmetic.sign
sin_p = transcendental.sin
sinh_p = transcendental.sinh
sqrt_p = transcendental.sqrt
square_p = arithmetic.square
sub_p = elementwise.sub
tan_p = transcendental.tan
tanh_p = transcendental.tanh
xor_p = comparison_and_bits.xor
zeta_p = special.zeta

__all__ = [
    "AccuracyMode", "RoundingMethod", "Tolerance", "abs", "abs_p", "acos", "acos_p", "acosh",
    "acosh_p", "add", "add_p", "and_p", "asin", "asin_p", "asinh", "asinh_p", "atan", "atan2",
    "atan2_p", "atan_p", "atanh", "atanh_p", "bessel_i0e", "bessel_i0e_p", "bessel_i1e",
    "bessel_i1e_p", "betainc", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "cbrt", "cbrt_p", "ceil", "ceil_p", "clamp", "clamp_p", "clz", "clz_p", "cos", "cos_p",
    "cosh", "cosh_p", "digamma", "digamma_p", "div", "div_p", "eq", "eq_p", "eq_to_p", "erf",
    "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "exp", "exp2", "exp2_p", "exp_p",
    "expm1", "expm1_p", "floor", "floor_p", "ge", "ge_p", "gt", "gt_p", "igamma",
    "igamma_grad_a", "igamma_grad_a_p", "igamma_p", "igammac", "igammac_p", "integer_pow",
    "integer_pow_p", "is_finite", "is_finite_p", "le", "le_p", "le_to_p", "lgamma", "lgamma_p",
    "log", "log1p", "log1p_p", "log_p", "logistic", "logistic_p", "lt", "lt_p", "lt_to_p",
    "max", "max_p", "min", "min_p", "mul", "mul_p", "mulhi", "mulhi_p", "ne", "ne_p", "neg",
    "neg_p", "nextafter", "nextafter_p", "not_p", "or_p", "polygamma", "polygamma_p",
    "population_count", "population_count_p", "pow", "pow_p", "random_gamma_grad", "reciprocal",
    "regularized_incomplete_beta_p", "rem", "rem_p", "round", "round_p", "rsqrt", "rsqrt_p",
    "select", "select_n", "select_n_p", "shift_left", "shift_left_p", "shift_right_arithmetic",
    "shift_right_arithmetic_p", "shift_right_logical", "shift_right_logical_p", "sign",
    "sign_p", "sin", "sin_p", "sinh", "sinh_p", "sqrt", "sqrt_p", "square", "square_p", "sub",
    "sub_p", "tan", "tan_p", "tanh", "tanh_p", "xor_p", "zeta", "zeta_p",
]  # fmt: skip
