"""What each operation of the loop language means, on NumPy scalars or vectors of lanes.

Total: no operand is undefined. Integers wrap; x / 0 is -1 and x % 0 is x; shifts by too much give 0
or the sign; float to integer saturates, and nan gives 0; max and min hand on nan and order -0 below
+0. Half-width floats round after each operation, which is computed in float32. Functions without an
exact result are computed in float64 and rounded, so they are within 1 ulp of the true value.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from scipy import special

_SMALL = {name: np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16",)}


def element_type(name):
    """The NumPy dtype called `name`."""
    return _SMALL.get(name) or np.dtype(name)


def evaluate(op, numbers, dtype, params):
    """`op` of NumPy scalars or equal vectors, as `dtype`."""
    numbers = [np.asarray(number) for number in numbers]
    result = np.asarray(OPERATIONS[op](*numbers, **params))
    return result.astype(element_type(dtype), copy=False)[()]


def is_float(x):
    """Whether x holds floats, the half-width ones included."""
    return x.dtype.kind == "f" or x.dtype in _SMALL.values()


def _wide(function):
    """`function` computed in float64."""
    return lambda *xs, **params: function(*(x.astype(np.float64) for x in xs))


def _integer_div(x, y):
    """Truncated; by 0: -1 (all ones); the lowest number / -1 wraps to itself."""
    safe = np.where((y == 0) | ((y == -1) & (x.dtype.kind == "i")), 1, y).astype(x.dtype)
    rest = np.fmod(x, safe).astype(x.dtype)
    quotient = ((x - rest) // safe).astype(x.dtype)
    if x.dtype.kind == "i":
        quotient = np.where(y == -1, (np.zeros_like(x) - x).astype(x.dtype), quotient)
    all_ones = np.invert(np.zeros_like(x))
    return np.where(y == 0, all_ones, quotient)


def _integer_rem(x, y):
    safe = np.where((y == 0) | ((y == -1) & (x.dtype.kind == "i")), 1, y).astype(x.dtype)
    rest = np.where((y == -1) & (x.dtype.kind == "i"), 0, np.fmod(x, safe))
    return np.where(y == 0, x, rest)


def _div(x, y):
    return np.divide(x, y) if is_float(x) else _integer_div(x, y)


def _rem(x, y):
    return np.fmod(x, y) if is_float(x) else _integer_rem(x, y)


def _floordiv(x, y):
    safe = np.where(y == 0, 1, y)
    return np.where(y == 0, 0, np.floor_divide(x, safe))


def _mod(x, y):
    return x - _floordiv(x, y) * y


def _extreme(pick, zero_sign):
    """max or min; of two zeros the one of the wanted sign."""

    def extreme(x, y):
        if not is_float(x):
            return pick(x, y)
        both_zero = (x == 0) & (y == 0)
        zero = np.where(np.signbit(x) == zero_sign, x, y)
        return np.where(both_zero, zero, pick(x, y))

    return extreme


_max = _extreme(np.maximum, False)
_min = _extreme(np.minimum, True)


def _bits(x):
    return x.dtype.itemsize * 8


def _shift(x, y, shifted, beyond):
    amount = y.astype(np.uint64) if x.dtype.itemsize == 8 else y.astype(f"u{x.dtype.itemsize}")
    over = amount >= _bits(x)
    safe = np.where(over, 0, amount).astype(x.dtype)
    return np.where(over, beyond, shifted(x, safe)).astype(x.dtype)


def _shift_right_logical(x, y):
    unsigned = x.view(f"u{x.dtype.itemsize}")
    shifted = _shift(unsigned, y.view(f"u{x.dtype.itemsize}"), np.right_shift, 0)
    return shifted.view(x.dtype)


def _shift_right_arithmetic(x, y):
    signed = x.view(f"i{x.dtype.itemsize}")
    sign = np.where(signed < 0, -1, 0).astype(signed.dtype)
    return _shift(signed, y.view(signed.dtype), np.right_shift, sign).view(x.dtype)


def _shift_left(x, y):
    return _shift(x, y, np.left_shift, 0)


def _population_count(x):
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}"))


def _clz(x):
    unsigned = x.view(f"u{x.dtype.itemsize}")
    bits = _bits(x)
    return np.vectorize(lambda n: bits - int(n).bit_length(), otypes=[x.dtype])(unsigned)


def convert(x, new_dtype, **_):
    """x as `new_dtype`: bool by `!= 0`, integers wrap, floats round once or saturate."""
    new = element_type(str(new_dtype))
    if new.kind == "b":
        return x != 0
    if is_float(x) and new.kind in "iu":
        wide = x.astype(np.float64)
        low, high = np.iinfo(new).min, np.iinfo(new).max
        inside = (wide >= float(low)) & (wide < float(high) + (new.itemsize < 8))
        number = np.trunc(np.where(inside, wide, 0)).astype(new)
        bound = np.where(wide > 0, new.type(high), new.type(low))
        return np.where(inside, number, np.where(np.isnan(wide), new.type(0), bound)).astype(new)
    if new in _SMALL.values() and x.dtype.itemsize >= 4 and x.dtype != np.float32:
        return _round_odd(x.astype(np.float64)).astype(new)
    return x.astype(new)


def _round_odd(wide):
    """float64 to float32, inexact results made odd, so that rounding again rounds once."""
    near = wide.astype(np.float32)
    back = near.astype(np.float64)
    toward = np.where(np.abs(back) > np.abs(wide), np.nextafter(near, np.float32(0)), near)
    odd = (toward.view(np.uint32) | 1).view(np.float32)
    inexact = (back != wide) & ~np.isnan(wide) & np.isfinite(toward)
    return np.where(inexact, odd, toward).astype(np.float32)


def _bitcast(x, new_dtype, **_):
    return x.view(element_type(str(new_dtype)))


def _integer_pow(x, y):
    """x ** y by repeated squaring, y a known int; a negative y takes the reciprocal."""
    result, base, left = None, x, abs(y)
    while left:
        if left & 1:
            result = base if result is None else (result * base).astype(x.dtype)
        left >>= 1
        if left:
            base = (base * base).astype(x.dtype)
    if result is None:
        return np.ones_like(x)
    return (x.dtype.type(1) / result).astype(x.dtype) if y < 0 else result


def _pow(x, y):
    if is_float(x):
        return np.power(x.astype(np.float64), y.astype(np.float64))
    power = np.vectorize(lambda b, e: pow(int(b), int(e), 2**64) if e >= 0 else 0, otypes=[object])
    return _wrap(power(x, y), x.dtype)


def _wrap(numbers, dtype):
    bits = dtype.itemsize * 8
    mask = (1 << bits) - 1
    unsigned = np.vectorize(lambda n: int(n) & mask, otypes=[f"u{dtype.itemsize}"])(numbers)
    return unsigned.view(dtype)


def _round(x, rounding_method):
    if int(rounding_method) == 1:
        return np.rint(x)
    wide = x.astype(np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide)


def _sign(x):
    if not is_float(x):
        return np.sign(x)
    return np.where(np.isnan(x) | (x == 0), x, np.copysign(x.dtype.type(1), x))


def _total_key(x):
    """Integers in the total order of floats: -nan < -inf < ... < -0 < +0 < ... < +nan."""
    signed = x.view(f"i{x.dtype.itemsize}")
    low = np.iinfo(signed.dtype).max
    return np.where(signed < 0, signed ^ low, signed)


def _total(compare):
    return lambda x, y: compare(_total_key(x), _total_key(y)) if is_float(x) else compare(x, y)


def _clamp(low, x, high):
    return _min(_max(x, low), high)


def _select_n(which, *cases):
    index = which.astype(np.int64)
    return np.choose(np.clip(index, 0, len(cases) - 1), cases)


def _reduce_precision(x, exponent_bits, mantissa_bits):
    """x rounded to a float format of fewer bits, ties to even; too large becomes inf."""
    bits, mantissa = {2: (16, 10), 4: (32, 23), 8: (64, 52)}[x.dtype.itemsize]
    if x.dtype in _SMALL.values():
        mantissa = 7
    exponent = bits - 1 - mantissa
    unsigned = x.view(f"u{x.dtype.itemsize}").astype(object)
    sign_bit = 1 << (bits - 1)

    def one(u):
        u = int(u)
        sign, magnitude = u & sign_bit, u & (sign_bit - 1)
        infinity = ((1 << exponent) - 1) << mantissa
        if magnitude > infinity:
            return u
        drop = mantissa - mantissa_bits
        if drop > 0:
            magnitude += (1 << (drop - 1)) - 1 + ((magnitude >> drop) & 1)
            magnitude &= ~((1 << drop) - 1)
        if exponent_bits < exponent:
            bias, new_bias = (1 << (exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
            if magnitude > ((bias + new_bias) << mantissa | ((1 << mantissa) - 1)):
                magnitude = infinity
            elif magnitude < (bias - new_bias + 1) << mantissa:
                magnitude = 0
        return sign | magnitude

    return np.vectorize(one, otypes=[f"u{x.dtype.itemsize}"])(unsigned).view(x.dtype)


def _gamma_grad(a, x):
    """d igamma(a, x) / da, by central differences of fourth order in float64."""
    step = 1e-4 * np.maximum(1, np.abs(a))

    def at(k):
        return special.gammainc(a + k * step, x)

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


OPERATIONS = {
    "abs": np.abs,
    "acos": _wide(np.arccos),
    "acosh": _wide(np.arccosh),
    "add": np.add,
    "and": np.bitwise_and,
    "asin": _wide(np.arcsin),
    "asinh": _wide(np.arcsinh),
    "atan": _wide(np.arctan),
    "atan2": _wide(np.arctan2),
    "atanh": _wide(np.arctanh),
    "bessel_i0e": _wide(special.i0e),
    "bessel_i1e": _wide(special.i1e),
    "bitcast_convert_type": _bitcast,
    "cbrt": _wide(np.cbrt),
    "ceil": np.ceil,
    "clamp": _clamp,
    "clz": _clz,
    "convert_element_type": convert,
    "copy": lambda x: x,
    "cos": _wide(np.cos),
    "cosh": _wide(np.cosh),
    "digamma": _wide(special.digamma),
    "div": _div,
    "eq": np.equal,
    "eq_to": _total(np.equal),
    "erf": _wide(special.erf),
    "erf_inv": _wide(special.erfinv),
    "erfc": _wide(special.erfc),
    "exp": _wide(np.exp),
    "exp2": _wide(np.exp2),
    "expm1": _wide(np.expm1),
    "floor": np.floor,
    "floordiv": _floordiv,
    "ge": np.greater_equal,
    "gt": np.greater,
    "igamma": _wide(special.gammainc),
    "igamma_grad_a": _wide(_gamma_grad),
    "igammac": _wide(special.gammaincc),
    "integer_pow": _integer_pow,
    "is_finite": np.isfinite,
    "le": np.less_equal,
    "le_to": _total(np.less_equal),
    "lgamma": _wide(special.gammaln),
    "log": _wide(np.log),
    "log1p": _wide(np.log1p),
    "logistic": _wide(special.expit),
    "lt": np.less,
    "lt_to": _total(np.less),
    "max": _max,
    "min": _min,
    "mod": _mod,
    "mul": np.multiply,
    "ne": np.not_equal,
    "neg": np.negative,
    "nextafter": lambda x, y: np.where(x == y, y, np.nextafter(x, y)),
    "not": np.invert,
    "or": np.bitwise_or,
    "polygamma": _wide(lambda n, x: special.polygamma(n, x)),
    "population_count": _population_count,
    "pow": _pow,
    "reduce_precision": _reduce_precision,
    "regularized_incomplete_beta": _wide(special.betainc),
    "rem": _rem,
    "round": _round,
    "rsqrt": _wide(lambda x: 1 / np.sqrt(x)),
    "select_n": _select_n,
    "shift_left": _shift_left,
    "shift_right_arithmetic": _shift_right_arithmetic,
    "shift_right_logical": _shift_right_logical,
    "sign": _sign,
    "sin": _wide(np.sin),
    "sinh": _wide(np.sinh),
    "sqrt": lambda x: np.sqrt(x),
    "square": lambda x: x * x,
    "sub": np.subtract,
    "tan": _wide(np.tan),
    "tanh": _wide(np.tanh),
    "xor": np.bitwise_xor,
    "zeta": _wide(special.zeta),
}
