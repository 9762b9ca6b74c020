"""Sine, cosine, tangent and their inverses.

x = n pi/2 + r with |r| <= pi/4, r a pair. Up to a bound by pi/2 in three parts (Cody & Waite): with
FMA the first step is exact and the second is a pair. Beyond it by the product of x's significand
with 192 bits of 2/pi (Payne & Hanek 1983), a scalar function for the rare lanes that need it.
"""

import math

from frit.backends.llvm.builder import F64, I64, I128, constant
from frit.backends.llvm.vector_math.coefficients import PI_HALF_PARTS, TWO_OVER_PI_WORDS
from frit.backends.llvm.vector_math.definitions import scalar_helper, vector_function

_TWO_OVER_PI = 2.0 / math.pi


def _bound(kit):
    """Up to where three parts of pi/2 are enough."""
    return 2.0**28 if kit.double else 1e5


def _reduce_near(kit, x):
    """(n, r, r's low part) of x = n pi/2 + r for |x| within the bound."""
    first, second, third = PI_HALF_PARTS["f64" if kit.double else "f32"]
    whole, bits = kit.nearest_whole(x * _TWO_OVER_PI)
    start = kit.residual(whole, kit.number(first), x)
    product, error = kit.two_product(whole, kit.number(second))
    r, rest = kit.two_sum(start, -product)
    low = whole.fma(-third, rest - error)
    return bits, *kit.fast_two_sum(r, low)


def _reduce_far(kit, x):
    """The same for any finite x with |x| > 1, in a scalar f64 kit, by integers of 64 bits."""
    builder = kit.builder
    bits = x.bits()
    exponent = ((bits >> 52) & 0x7FF) - 1075
    significand = (bits & ((1 << 52) - 1)) | (1 << 52)
    # x = significand 2**exponent; of 2/pi drop the bits that only make multiples of 4.
    first = exponent + 62
    word, shift = first >> 6, first & 63
    base = builder.module.constant_array("frit.two_over_pi", I64, TWO_OVER_PI_WORDS)
    words = [
        builder.load(I64, builder.gep(base, (word + offset).value, I64)) for offset in range(4)
    ]
    top, middle, bottom = (
        kit.wrap(builder.fshl(words[i], words[i + 1], shift.value)) for i in range(3)
    )
    # The product modulo 4, in units of 2**-126, as two words.
    high, low = _wide_product(kit, significand, middle)
    carry, _ = _wide_product(kit, significand, bottom)
    low = low + carry
    overflow = kit.wrap(builder.icmp("ult", low.value, carry.value))
    high = high + significand * top + overflow.where(kit.integer(1), 0)
    # The top two bits are the quarter turns, rounded to nearest; the rest is a signed fraction.
    quarters = (high + (1 << 61)) >> 62
    high = high - (quarters << 62)
    negative = high < 0
    high = negative.where(~high + low.equals(0).where(kit.integer(1), 0), high)
    low = negative.where(-low, low)
    # No double is so close to a multiple of pi/2 that the high word is 0.
    zeros = kit.wrap(builder.ctlz(high.value))
    leading = builder.fshl(high.value, low.value, zeros.value)
    following = (low << (zeros & 63)).value
    trailing = kit.wrap(builder.fshl(leading, following, constant(I64, 53))) >> 11
    leading = kit.wrap(leading) >> 11
    scale = kit.power_of_two(-51 - zeros)
    fraction = kit.wrap(builder.sitofp(leading.value, F64)) * scale
    rest = kit.wrap(builder.sitofp(trailing.value, F64)) * (scale * 2.0**-53)
    half_pi, half_pi_low, _ = PI_HALF_PARTS["f64"]
    r, error = kit.two_product(fraction, kit.number(half_pi))
    error = fraction.fma(half_pi_low, rest.fma(half_pi, error))
    r, rest = kit.fast_two_sum(r, error)
    flip = (x < 0.0) ^ negative
    quarters = (x < 0.0).where(-quarters, quarters)
    return quarters, flip.where(-r, r), flip.where(-rest, rest)


def _wide_product(kit, x, y):
    """(high, low) words of the unsigned product of two words."""
    builder = kit.builder
    product = builder.mul(builder.zext(x.value, I128), builder.zext(y.value, I128))
    high = builder.trunc(builder.lshr(product, 64), I64)
    return kit.wrap(high), kit.wrap(builder.trunc(product, I64))


def _sine_of(kit, r, low):
    """sin(r + low)."""
    z = r * r
    tail = (z * r) * kit.polynomial(z, kit.coefficients("sin"))
    return r + (tail + low * (1.0 - 0.5 * z))


def _cosine_of(kit, r, low):
    """cos(r + low)."""
    z = r * r
    half = z * 0.5
    high = 1.0 - half
    rest = (1.0 - high) - half
    tail = (z * z).fma(kit.polynomial(z, kit.coefficients("cos")), rest - r * low)
    return high + tail


def sine_from(kit, quarter, r, low):
    """sin(quarter pi/2 + r + low)."""
    odd = (quarter & 1).equals(1)
    result = odd.where(_cosine_of(kit, r, low), _sine_of(kit, r, low))
    sign = (quarter & 2) << (kit.element.bits - 2)
    return kit.float_of(result.bits() ^ sign)


def tangent_from(kit, quarter, r, low):
    """tan(quarter pi/2 + r + low), sine over cosine as pairs."""
    z = r * r
    tail = (z * r) * kit.polynomial(z, kit.coefficients("sin"))
    sine = kit.fast_two_sum(r, tail + low * (1.0 - 0.5 * z))
    square, error = kit.two_product(r, r)
    high, rest = kit.fast_two_sum(kit.number(1.0), square * -0.5)
    tail = (z * z).fma(kit.polynomial(z, kit.coefficients("cos")), rest - error * 0.5 - r * low)
    cosine = kit.fast_two_sum(high, tail)
    odd = (quarter & 1).equals(1)
    top = [odd.where(-c, s) for s, c in zip(sine, cosine, strict=True)]
    bottom = [odd.where(s, c) for s, c in zip(sine, cosine, strict=True)]
    high, low = kit.quotient(top, bottom)
    return high + low


def _circular(kit, x, name, finish, turn=0):
    """A circular function: `finish` of the reduced argument, far lanes in a scalar function.

    turn: quarter turns to add, by which sine and cosine share one scalar function.
    """
    far = abs(x) > _bound(kit)
    quarters, r, low = _reduce_near(kit, far.where(0.0, x))
    result = finish(kit, quarters + turn, r, low)

    def replace():
        return kit.each_lane(_far_helper(kit, name, finish), x, kit.number(turn))

    return kit.where_rare(far, result, replace)


def _far_helper(kit, name, finish):
    """A scalar function of x and quarter turns for |x| beyond the bound: infinities give nan."""

    def formula(scalar, x, turn):
        wide = scalar if scalar.double else scalar.in_double()
        wide.digits = 53
        finite = abs(x) < math.inf
        # Other lanes come along too; they must not index outside the table.
        operand = (finite & (abs(x) > 1.0)).where(x, 1e30)
        operand = operand if scalar.double else operand.to(F64)
        quarters, r, low = _reduce_far(wide, operand)
        more = scalar.wrap(scalar.builder.fptosi(turn.value, I64))
        result = finish(wide, quarters + more, r, low)
        result = result if scalar.double else result.to(scalar.element)
        return finite.where(result, math.nan)

    symbol = f"frit.{name}.far.{kit.element.code}"
    return scalar_helper(kit.builder.module, symbol, kit.element, 2, formula)


@vector_function("sin", ulps=2)
def sin(kit, x):
    result = _circular(kit, x, "sine", sine_from)
    return x.equals(0.0).where(x, result)


@vector_function("cos", ulps=2)
def cos(kit, x):
    return _circular(kit, x, "sine", sine_from, turn=1)


@vector_function("tan", ulps=2)
def tan(kit, x):
    result = _circular(kit, x, "tangent", tangent_from)
    return (abs(x) < 2.0 ** (-kit.mantissa / 2 - 2)).where(x, result)


def _arctangent_of_quotient(kit, low_side, high_side):
    """(base, rest): atan(b / a) = base + rest as pairs, for pairs with 0 <= b <= a.

    Above tan(pi/8) by atan(b/a) = pi/4 + atan((b - a) / (b + a)).
    """
    (b, b_low), (a, a_low) = low_side, high_side
    upper = b > a * 0.41421356237309503
    difference, d_low = kit.two_sum(b, -a)
    total, t_low = kit.two_sum(b, a)
    top = upper.where(difference, b), upper.where(d_low + (b_low - a_low), b_low)
    bottom = upper.where(total, a), upper.where(t_low + (b_low + a_low), a_low)
    t, rest = kit.quotient(top, bottom)
    z = t * t
    tail = (z * t).fma(kit.polynomial(z, kit.coefficients("atan")), rest * (1.0 - z))
    high, low = pi_pair(kit, 0.25)
    return (upper.where(high, kit.number(0.0)), upper.where(low, kit.number(0.0))), (t, tail)


def pi_pair(kit, factor):
    """factor * pi as a pair of constants; factor: a power of two."""
    first, second, third = PI_HALF_PARTS["f64" if kit.double else "f32"]
    return kit.number(first * 2.0 * factor), kit.number((second + third) * 2.0 * factor)


def _add_small(kit, base, t, tail):
    """base + t + tail, for a pair `base` that is 0 or larger than t."""
    high, low = kit.fast_two_sum(base[0], t)
    return kit.fast_two_sum(high, low + (tail + base[1]))


def _arctangent(kit, b, a, swap):
    """atan(b / a) as a pair, or its complement to pi/2 in lanes of the mask."""
    base, (t, tail) = _arctangent_of_quotient(kit, b, a)
    pair = _add_small(kit, base, t, tail)
    half = pi_pair(kit, 0.5)
    return _complement(kit, half, swap, pair)


def _complement(kit, base, mask, pair):
    """base - pair in lanes of the mask, else pair; base being the greater."""
    start = mask.where(base[0], kit.number(0.0)), mask.where(base[1], kit.number(0.0))
    high, low = mask.where(-pair[0], pair[0]), mask.where(-pair[1], pair[1])
    total, rest = kit.fast_two_sum(start[0], high)
    return kit.fast_two_sum(total, rest + (low + start[1]))


@vector_function("atan", ulps=1)
def atan(kit, x):
    a = abs(x)
    inverted = a > 1.0
    one, none = kit.number(1.0), kit.number(0.0)
    # Beyond this bound the result no longer changes; it keeps infinity out of the pairs.
    bounded = a.smaller(2.0 ** (kit.mantissa + 5))
    b, low = inverted.where(one, bounded), none
    result, error = _arctangent(kit, (b, low), (inverted.where(bounded, one), none), inverted)
    result = result + error
    return (a < 2.0 ** (-kit.mantissa / 2 - 1)).where(a, result).copysign(x)


@vector_function("atan2", ulps=2, operands=2)
def atan2(kit, y, x):
    b, a = abs(y), abs(x)
    inverted = b > a
    small, large = inverted.where(a, b), inverted.where(b, a)
    # Only the quotient matters: inf / inf counts as 1, 0 / 0 as 0; exponents move to the middle.
    both = small.equals(math.inf)
    infinite = large.equals(math.inf)
    small = infinite.where(both.where(kit.number(1.0), 0.0), small)
    large = infinite.where(1.0, large.equals(0.0).where(1.0, large))
    shift = kit.bias // 4
    huge, tiny = large > 2.0 ** (3 * shift), large < 2.0 ** (-shift)
    factor = huge.where(
        kit.number(2.0 ** (-2 * shift)), tiny.where(kit.number(2.0 ** (2 * shift)), 1.0)
    )
    none = kit.number(0.0)
    pair = _arctangent(kit, (small * factor, none), (large * factor, none), inverted)
    behind = x.bits() < 0
    high, low = _complement(kit, pi_pair(kit, 1.0), behind, pair)
    result = (high + low).copysign(y)
    return (x.is_nan() | y.is_nan()).where(x + y, result)


def _arcsine_series(kit, z, x, rest):
    """asin(x + rest) - x for z = x**2 <= 1/4."""
    return (z * x).fma(kit.polynomial(z, kit.coefficients("asin")), rest)


def _half_angle(kit, a):
    """(root, its low part) of sqrt((1 - a) / 2), for 1/2 <= a <= 1."""
    z = (1.0 - a) * 0.5
    root = z.sqrt()
    rest = kit.residual(root, root, z) / (root * 2.0)
    return z, root, root.equals(0.0).where(0.0, rest)


@vector_function("asin", ulps=1)
def asin(kit, x):
    """x + x**3 P(x**2) up to 1/2, else pi/2 - 2 asin(sqrt((1 - x) / 2))."""
    a = abs(x)
    far = a > 0.5
    z, root, rest = _half_angle(kit, a)
    square = far.where(z, a * a)
    start, low = far.where(root, a), far.where(rest, 0.0)
    tail = _arcsine_series(kit, square, start, low)
    high, error = pi_pair(kit, 0.5)
    total, lost = kit.fast_two_sum(high, start * -2.0)
    outer = total + (lost + (error - tail * 2.0))
    return far.where(outer, start + tail).copysign(x)


@vector_function("acos", ulps=1)
def acos(kit, x):
    """pi/2 - asin(x) up to 1/2, else 2 asin(sqrt((1 - |x|) / 2)), and pi minus it for x < 0."""
    a = abs(x)
    far = a > 0.5
    z, root, rest = _half_angle(kit, a)
    square = far.where(z, a * a)
    start, low = far.where(root, -x), far.where(rest, 0.0)
    tail = _arcsine_series(kit, square, start, low)
    start, tail = far.where(start * 2.0, start), far.where(tail * 2.0, tail)
    negative = x < 0.0
    mirrored = far & negative
    start, tail = mirrored.where(-start, start), mirrored.where(-tail, tail)
    half, full = pi_pair(kit, 0.5), pi_pair(kit, 1.0)
    nothing = kit.number(0.0)
    base = [
        far.where(negative.where(whole, nothing), part)
        for whole, part in zip(full, half, strict=True)
    ]
    high, lost = kit.fast_two_sum(base[0], start)
    return high + (lost + (base[1] + tail))
