"""What scalar operations mean, on NumPy arrays: XLA's results where NumPy differs, and total.

Integers wrap; x div 0 = -1 (all ones), x rem 0 = x; shifts by the width or more give 0 or the sign;
float to integer saturates, and nan gives 0; max and min hand on nan and order -0 below +0.
float32 and smaller functions without an exact result are computed in float64 and rounded once.
Every operand is a NumPy array or scalar of its own type; warnings of NumPy are off in `quiet`.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from frit.ir import dtypes
from frit.primitives import complex_meaning
from frit.primitives.complex_meaning import join

Function = Callable[..., Any]

_NARROW = {  # the byte type that 2- and 4-bit integers compute in
    np.dtype(getattr(ml_dtypes, name)): np.dtype(wide)
    for name, wide in (("int2", "i1"), ("int4", "i1"), ("uint2", "u1"), ("uint4", "u1"))
}
_local = threading.local()


def _quiet_context() -> contextvars.Context:
    """A context of this thread in which NumPy does not warn: cheaper to enter than np.errstate."""
    context = contextvars.Context()
    context.run(lambda: np.seterr(all="ignore"))
    _local.context = context
    return context


def quiet(function: Function) -> Function:
    """`function` without NumPy's warnings: overflow, division by zero and nan are results here."""

    def evaluate(*xs: Any, **params: Any) -> Any:
        context = getattr(_local, "context", None) or _quiet_context()
        return context.run(function, *xs, **params)

    return evaluate


def is_float(x: Any) -> bool:
    return dtypes.is_floating(x.dtype)


def is_small_float(x: Any) -> bool:
    """Whether x holds floats of fewer than 32 bits."""
    return x.dtype.itemsize <= 2 and dtypes.is_floating(x.dtype)


def bit_width(dtype: np.dtype) -> int:
    """The number of bits of an element type: 4 for int4, though it is stored in a byte."""
    if dtypes.is_integer(dtype):
        return int(ml_dtypes.iinfo(dtype).bits)
    if dtype.itemsize == 1 and dtypes.is_floating(dtype):
        return int(ml_dtypes.finfo(dtype).bits)
    return dtype.itemsize * 8


def in_float64(function: Function) -> Function:
    """`function` computed in double precision and rounded once to the operands' type."""

    def computed(*xs: Any) -> Any:
        dtype = xs[0].dtype
        if dtype.kind == "c":
            return function(*[x.astype(np.complex128) for x in xs]).astype(dtype)
        return function(*[x.astype(np.float64) for x in xs]).astype(dtype)

    return computed


def in_float32(function: Function) -> Function:
    """`function`, in float32 and rounded once where the operands are floats of fewer bits."""

    def computed(*xs: Any) -> Any:
        if is_small_float(xs[0]):
            return function(*[x.astype(np.float32) for x in xs]).astype(xs[0].dtype)
        return function(*xs)

    return computed


def in_bytes(function: Function) -> Function:
    """`function`, on bytes and wrapped where the operands are integers of 2 or 4 bits."""

    def computed(*xs: Any) -> Any:
        wide = _NARROW.get(xs[0].dtype)
        if wide is None:
            return function(*xs)
        return np.asarray(function(*[x.astype(wide) for x in xs])).astype(xs[0].dtype)

    return computed


# --------------------------------------------------------------------------------------- arithmetic


def multiply(x: Any, y: Any) -> Any:
    """The product; of complex numbers (ac - bd) + (ad + bc)i, each product and sum rounded."""
    if x.dtype.kind != "c":
        return np.multiply(x, y)
    real = x.real * y.real - x.imag * y.imag
    return join(real, x.real * y.imag + x.imag * y.real)


@in_bytes
def negate(x: Any) -> Any:
    return np.negative(x)


@in_bytes
def divide(x: Any, y: Any) -> Any:
    """The quotient; of integers truncated, by 0 all ones, lowest / -1 wraps to itself."""
    if x.dtype.kind == "c":
        return _divide_complex(x, y)
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    quotient = np.floor_divide(x, y)
    if x.dtype.kind == "i":
        short = (x - quotient * y != 0) & ((x < 0) != (y < 0))
        quotient = quotient + short.astype(x.dtype)
    return np.where(y == 0, np.invert(np.zeros_like(x)), quotient)


def _divide_complex(x: Any, y: Any) -> Any:
    """The quotient in double precision; by zero, infinities with the signs of x * re(y)."""
    quotient = np.divide(x.astype(np.complex128), y.astype(np.complex128)).astype(x.dtype)
    if np.all(y):
        return quotient
    infinity = np.copysign(np.inf, y.real)
    return np.where(y == 0, join(infinity * x.real, infinity * x.imag), quotient)


@in_bytes
@in_float32
def remainder(x: Any, y: Any) -> Any:
    """x - y trunc(x / y), with x's sign; of integers by 0: x."""
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, y))


def _extreme(pick: Function, wanted_sign: bool) -> Function:
    """max or min; of two zeros the one with the wanted sign."""

    @in_bytes
    def extreme(x: Any, y: Any) -> Any:
        found = pick(x, y)
        if not is_float(x):
            return found
        zero = found == 0
        if not np.any(zero):
            return found
        wanted = np.where(np.signbit(x) == wanted_sign, x, y)
        return np.where(zero & (x == 0) & (y == 0), wanted, found)

    return extreme


maximum = _extreme(np.maximum, False)
minimum = _extreme(np.minimum, True)


@in_bytes
@in_float32
def sign(x: Any) -> Any:
    """-1, 0 or 1; nan and zeros are themselves; of complex numbers x / |x|."""
    if x.dtype.kind == "c":
        return in_float64(complex_meaning.sign)(x)
    if x.dtype.kind != "f":
        return np.sign(x)
    return np.where(np.isnan(x) | (x == 0), x, np.copysign(x.dtype.type(1), x))


@in_float32
def round_half_away(x: Any) -> Any:
    whole = np.trunc(x)
    up = (np.abs(x - whole) >= 0.5).astype(x.dtype)
    return np.copysign(np.abs(whole) + up, x)


def next_after(x: Any, y: Any) -> Any:
    """The neighbour of x towards y, and y where they are equal, which NumPy's float16 is not."""
    return np.where(x == y, y, np.nextafter(x, y))


def square(x: Any) -> Any:
    return in_float64(complex_meaning.square)(x) if x.dtype.kind == "c" else multiply(x, x)


def integer_power(x: Any, y: int) -> Any:
    """x ** y by repeated squaring, each product rounded; a negative y takes the reciprocal."""
    result, square, left = None, x, abs(y)
    while left:
        if left & 1:
            result = square if result is None else multiply(result, square)
        left >>= 1
        if left:
            square = multiply(square, square)
    if result is None:
        return np.ones_like(x)
    return divide(np.ones_like(result), result) if y < 0 else result


def multiply_high(x: Any, y: Any) -> Any:
    """The upper half of the bits of the product of integers."""
    if x.dtype.itemsize < 8:
        wide = np.dtype(f"{x.dtype.kind}{2 * x.dtype.itemsize}")
        return np.right_shift(x.astype(wide) * y.astype(wide), 8 * x.dtype.itemsize).astype(x.dtype)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a, b = x.astype(np.uint64), y.astype(np.uint64)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    high = a_high * b_high + (middle >> half) + ((a_low * b_high + (middle & low)) >> half)
    high = high.astype(x.dtype)
    if x.dtype.kind == "u":
        return high
    return high - np.where(x < 0, y, 0) - np.where(y < 0, x, 0)


def arctan2(y: Any, x: Any) -> Any:
    """The angle of (x, y); of complex numbers -i log((x + iy) / sqrt(x² + y²))."""
    if x.dtype.kind == "c":
        return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    return np.arctan2(y, x)


# ------------------------------------------------------------------------------ bits and comparison


def _unsigned(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _shift(x: Any, amount: Any, shifted: Function, beyond: Any) -> Any:
    """x shifted where `amount`, read as unsigned, is less than the width; `beyond` elsewhere."""
    over = _unsigned(amount) >= 8 * x.dtype.itemsize
    return np.where(over, beyond, shifted(x, np.where(over, 0, amount).astype(x.dtype)))


@in_bytes
def shift_left(x: Any, amount: Any) -> Any:
    return _shift(x, amount, np.left_shift, np.zeros_like(x))


def shift_right_logical(x: Any, amount: Any) -> Any:
    x_bits, zero = _unsigned(x), np.zeros_like(_unsigned(x))
    return _shift(x_bits, _unsigned(amount), np.right_shift, zero).view(x.dtype)


@in_bytes
def shift_right_arithmetic(x: Any, amount: Any) -> Any:
    signed = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    sign_bits = np.where(signed < 0, -1, 0).astype(signed.dtype)
    return _shift(signed, amount.view(signed.dtype), np.right_shift, sign_bits).view(x.dtype)


def population_count(x: Any) -> Any:
    return np.bitwise_count(_bits_of_integer(x)).astype(x.dtype)


def _bits_of_integer(x: Any) -> Any:
    """The bits as an unsigned number; of narrow integers without the repeated sign."""
    if x.dtype not in _NARROW:
        return _unsigned(x)
    return x.astype(_NARROW[x.dtype]).view(np.uint8) & ((1 << bit_width(x.dtype)) - 1)


def count_leading_zeros(x: Any) -> Any:
    bits = bit_width(x.dtype)
    unsigned = _bits_of_integer(x)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < 8 * unsigned.dtype.itemsize:
            unsigned = unsigned | (unsigned >> unsigned.dtype.type(shift))
    return (bits - np.bitwise_count(unsigned).astype(np.int64)).astype(x.dtype)


def total_order_key(x: Any) -> Any:
    """Integers in the total order of floats: -nan < -inf < … < -0 < +0 < … < +inf < +nan."""
    if not is_float(x):
        return x
    signed = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    return np.where(signed < 0, signed ^ np.iinfo(signed.dtype).max, signed)


def by_total_order(compare: Function) -> Function:
    return lambda x, y: compare(total_order_key(x), total_order_key(y))


@in_bytes
def clamp(low: Any, x: Any, high: Any) -> Any:
    return minimum(maximum(x, low), high)


def choose(which: Any, *cases: Any) -> Any:
    """The case that `which` numbers, element by element; outside the range, the first or last."""
    if len(cases) == 2 and which.dtype == bool:
        return np.where(which, cases[1], cases[0])
    index = np.clip(which.astype(np.int64), 0, len(cases) - 1)
    result = np.broadcast_arrays(cases[0], index)[0]
    for number, case in enumerate(cases[1:], start=1):
        result = np.where(index == number, case, result)
    return result


# --------------------------------------------------------------------------------------- conversion


def convert(x: Any, dtype: np.dtype) -> Any:
    """x as `dtype`: bool by `!= 0`, integers wrap, floats round once or saturate."""
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if x.dtype == dtype:
        return x
    if dtype.kind == "b":
        return x != 0
    if dtypes.is_integer(dtype) and is_float(x):
        return _saturate(x, dtype)
    if x.dtype in _NARROW and dtype in _NARROW:
        x = x.astype(_NARROW[x.dtype])
    if dtype.kind == "V" and dtype not in _NARROW and x.dtype.itemsize >= 4 and x.dtype != "f4":
        x = _to_odd(x.astype(np.float64))
    return x.astype(dtype)


def _to_odd(wide: Any) -> Any:
    """float64 to float32 with inexact results made odd, so that rounding on rounds once."""
    near = np.asarray(wide).astype(np.float32)
    back = near.astype(np.float64)
    toward = np.where(np.abs(back) > np.abs(wide), np.nextafter(near, np.float32(0)), near)
    odd = (toward.view(np.uint32) | np.uint32(1)).view(np.float32)
    return np.where((back == wide) | np.isnan(wide) | np.isinf(wide), near, odd)


def _saturate(x: Any, dtype: np.dtype) -> Any:
    """Floats towards zero to integers; nan to 0, what is beyond the range to its end."""
    limits = ml_dtypes.iinfo(dtype)
    wide = np.asarray(x).astype(np.float64)
    low, high = float(limits.min), float(limits.max)  # `high` may round up, out of the range
    inside = (wide > low - 1) & (wide < high if high >= 2.0**53 else wide < high + 1)
    whole = np.trunc(np.where(inside, wide, 0)).astype(np.uint64 if limits.min == 0 else np.int64)
    storage = np.dtype("u8" if limits.min == 0 else "i8")
    end = np.where(wide > 0, storage.type(limits.max), storage.type(limits.min))
    return np.where(inside, whole, np.where(np.isnan(wide), storage.type(0), end)).astype(dtype)


def bitcast(x: Any, dtype: np.dtype) -> Any:
    """The same bits as another type; a change of width adds or takes the last axis."""
    old, new = bit_width(x.dtype), bit_width(dtype)
    x = np.asarray(x)
    if old == new:
        return x.view(dtype)
    if x.dtype in _NARROW or dtype in _NARROW:
        return _bitcast_narrow(x, dtype, old, new)
    if old > new:
        return _contiguous(x)[..., None].view(dtype)
    return _contiguous(x).view(dtype)[..., 0]


def _contiguous(x: Any) -> Any:
    """x in row-major order, of the same rank: np.ascontiguousarray makes rank 0 rank 1."""
    return np.asarray(x, order="C")


def _bitcast_narrow(x: Any, dtype: np.dtype, old: int, new: int) -> Any:
    """`bitcast` where one side has 2 or 4 bits an element, by way of single bits, lowest first."""
    if x.dtype in _NARROW:
        x = x.astype(np.uint8)
    raw = _contiguous(x)[..., None].view(np.uint8)
    bits = np.unpackbits(raw, axis=-1, bitorder="little")[..., :old]
    if old > new:
        bits = bits.reshape(*x.shape, old // new, new)
    else:
        bits = bits.reshape(*x.shape[:-1], new)
    packed = np.packbits(bits, axis=-1, bitorder="little")
    if dtype in _NARROW:
        return packed[..., 0].astype(_NARROW[dtype]).astype(dtype)
    return _contiguous(packed).view(dtype)[..., 0]


def reduce_precision(x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """x rounded to a float format of fewer bits, ties to even; too large: inf; too small: 0."""
    if is_small_float(x):
        wide = reduce_precision(x.astype(np.float32), exponent_bits, mantissa_bits)
        return wide.astype(x.dtype)
    single = x.dtype.itemsize == 4
    exponent, mantissa, unsigned = (8, 23, np.uint32) if single else (11, 52, np.uint64)
    bits = x.view(unsigned)
    sign_bit = unsigned(1 << (exponent + mantissa))
    sign_of, magnitude = bits & sign_bit, bits & ~sign_bit
    infinity = unsigned(((1 << exponent) - 1) << mantissa)
    rounded = magnitude
    dropped = mantissa - mantissa_bits
    if dropped > 0:
        odd = (magnitude >> unsigned(dropped)) & unsigned(1)
        rounded = rounded + unsigned((1 << (dropped - 1)) - 1) + odd
        rounded = rounded & ~unsigned((1 << dropped) - 1)
    if exponent_bits < exponent:
        bias, new_bias = (1 << (exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        largest = unsigned(((bias + new_bias) << mantissa) | ((1 << mantissa) - 1))
        smallest = unsigned((bias - new_bias + 1) << mantissa)
        rounded = np.where(rounded > largest, infinity, rounded)
        rounded = np.where(rounded < smallest, unsigned(0), rounded)
    rounded = np.where(magnitude > infinity, magnitude, rounded)
    return (sign_of | rounded.astype(unsigned)).view(x.dtype)
