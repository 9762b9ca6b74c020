"""Elements of less than a byte's worth of meaning: 8-bit floats, and 2- and 4-bit integers.

    float8 in a register    a float that holds a representable value; in memory its byte
    int4 in a register      an i8, sign or zero extended; in memory the low bits of a byte

A float is encoded by integer rounding (ties to even) and decoded by a table of 256 floats, which
ml_dtypes defines. Formats differ in what lies beyond their largest number: infinity and nan (ieee),
nan alone with all bits set (fn), or nan in place of -0 (fnuz).
"""

from functools import cache

import ml_dtypes
import numpy as np

from frit.backends.llvm.values import F32, I8, I64, constant, integer_like

FORMATS = {
    "float8_e3m4": "ieee",
    "float8_e4m3": "ieee",
    "float8_e5m2": "ieee",
    "float8_e4m3fn": "fn",
    "float8_e4m3fnuz": "fnuz",
    "float8_e5m2fnuz": "fnuz",
    "float8_e4m3b11fnuz": "fnuz",
}
NARROW_INTEGERS = {"int2": 2, "int4": 4, "uint2": 2, "uint4": 4}


@cache
def _format(name):
    """(mantissa bits, exponent bias, largest code, code of what is larger, code of nan)."""
    info = ml_dtypes.finfo(name)
    dtype = np.dtype(getattr(ml_dtypes, name))
    codes = np.array([info.max, np.inf, np.nan], np.float32).astype(dtype).view(np.uint8)
    largest, infinite, nan = (int(code) & 0x7F for code in codes)
    if FORMATS[name] == "fnuz":
        infinite = nan = 0x80
    return int(info.nmant), 1 - int(info.minexp), largest, infinite, nan


def encode(b, value, name):
    """The byte of the float8 nearest to a float."""
    mantissa, bias, largest, infinite, nan = _format(name)
    drop = 23 - mantissa
    bits = b.bitcast(value, integer_like(value.type))
    size = b.and_(bits, 0x7FFFFFFF)
    odd = b.and_(b.lshr(size, drop), 1)
    rounded = b.lshr(b.add(b.add(size, (1 << (drop - 1)) - 1), odd), drop)
    normal = b.sub(rounded, (127 - bias) << mantissa)
    small = b.fmul(b.fabs(value), 2.0 ** (bias - 1 + mantissa))
    least = 2.0 ** (1 - bias)
    is_small = b.fcmp("olt", b.fabs(value), least)
    whole = b.fptoui(b.round_even(b.select(is_small, small, 0.0)), size.type)
    code = b.select(is_small, whole, normal)
    code = b.select(b.icmp("sgt", code, largest), constant(code.type, infinite), code)
    sign = b.and_(b.lshr(bits, 24), 0x80)
    if FORMATS[name] == "fnuz":
        sign = b.select(b.icmp("eq", code, 0), constant(sign.type, 0), sign)
    code = b.or_(code, sign)
    code = b.select(b.is_nan(value), constant(code.type, nan), code)
    return b.trunc(code, I8.with_lanes(value.type.lanes))


def decode(b, code, name):
    """The float equal to a float8 given by its byte."""
    numbers = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float32)
    table = b.module.constant_array(f"frit.{name}", F32, numbers.tolist())
    lanes = code.type.lanes
    place = b.gep(table, b.zext(code, I64.with_lanes(lanes)), F32)
    if lanes == 1:
        return b.load(F32, place)
    return b.gather(F32.with_lanes(lanes), place)


def wrapped(b, value, bits, is_signed):
    """An i8 reduced to its low bits and extended again."""
    if not is_signed:
        return b.and_(value, (1 << bits) - 1)
    return b.ashr(b.shl(value, 8 - bits), 8 - bits)


def low_bits(b, value, bits):
    """The bits of a narrow integer, zero extended."""
    return b.and_(value, (1 << bits) - 1)


def saturated(b, value, bits, is_signed):
    """An i32 moved into the range of a narrow integer."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    bounded = b.smax(b.smin(value, constant(value.type, high)), constant(value.type, low))
    return b.trunc(bounded, I8.with_lanes(value.type.lanes))
