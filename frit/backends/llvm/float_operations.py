"""Operations on floats that are a few instructions; functions are calls of `vector_math`."""

from frit.backends.llvm.integer_operations import repeated_squaring
from frit.backends.llvm.values import F64, constant, integer_like, zero


def _round(o, kind, x, rounding_method):
    return o.b.round_even(x) if int(rounding_method) == 1 else o.b.round_away(x)


def _float_sign(o, kind, x):
    b = o.b
    unsigned = b.copysign(constant(x.type, 1.0), x)
    return b.select(b.fcmp("une", b.fabs(x), 0.0), _keep_nan(o, x, unsigned), x)


def _keep_nan(o, x, value):
    return o.b.select(o.b.is_nan(x), x, value)


def _float_power(o, kind, x, y):
    if y == 0:
        return constant(x.type, 1.0)
    result = repeated_squaring(lambda p, q: _product(o, kind, p, q), x, abs(y))
    return result if y > 0 else o.b.fdiv(constant(x.type, 1.0), result)


def _product(o, kind, x, y):
    product = o.b.fmul(x, y)
    return o.rounded(product, kind) if kind.half else product


def _nextafter(o, kind, x, y):
    """The neighbour of x towards y: its bits one up or down; from 0 the least subnormal."""
    b = o.b
    if kind.half:
        bits, towards = o.to_memory(kind, x), o.to_memory(kind, y)
    else:
        whole = integer_like(x.type)
        bits, towards = b.bitcast(x, whole), b.bitcast(y, whole)
    top = 1 << (bits.type.bits - 1)
    away = b.xor(b.icmp("slt", bits, 0), b.fcmp("ogt", y, x))
    moved = b.select(away, b.add(bits, 1), b.sub(bits, 1))
    least = b.or_(b.and_(towards, top), 1)
    moved = b.select(b.fcmp("oeq", x, 0.0), least, moved)
    moved = b.select(b.fcmp("oeq", x, y), towards, moved)
    moved = o.from_memory(kind, moved) if kind.half else b.bitcast(moved, x.type)
    return b.select(b.fcmp("uno", x, y), b.fadd(x, y), moved)


def _reduce_precision(o, kind, x, exponent_bits, mantissa_bits):
    """x in a narrower format, ties to even; too large is inf, too small is 0."""
    b = o.b
    mantissa = 52 if x.type.element is F64 else 23
    exponent = x.type.bits - 1 - mantissa
    bits = b.bitcast(x, integer_like(x.type))
    top = 1 << (x.type.bits - 1)
    sign, size = b.and_(bits, top), b.and_(bits, top - 1)
    drop = mantissa - mantissa_bits
    if drop > 0:
        odd = b.and_(b.lshr(size, drop), 1)
        size = b.and_(b.add(b.add(size, (1 << (drop - 1)) - 1), odd), -(1 << drop))
    if exponent_bits < exponent:
        bias, narrow = (1 << (exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        largest = (bias + narrow) << mantissa | ((1 << mantissa) - 1)
        infinity = constant(size.type, ((1 << exponent) - 1) << mantissa)
        too_large = b.icmp("ugt", size, largest)
        too_small = b.icmp("ult", size, (bias - narrow + 1) << mantissa)
        size = b.select(too_small, zero(size.type), b.select(too_large, infinity, size))
    return _keep_nan(o, x, b.bitcast(b.or_(size, sign), x.type))


FLOAT = {
    "abs": lambda o, k, x: o.b.fabs(x),
    "add": lambda o, k, x, y: o.b.fadd(x, y),
    "ceil": lambda o, k, x: o.b.ceil(x),
    "div": lambda o, k, x, y: o.b.fdiv(x, y),
    "floor": lambda o, k, x: o.b.floor(x),
    "integer_pow": _float_power,
    "mul": lambda o, k, x, y: o.b.fmul(x, y),
    "neg": lambda o, k, x: o.b.fneg(x),
    "nextafter": _nextafter,
    "reduce_precision": _reduce_precision,
    "rem": lambda o, k, x, y: o.b.frem(x, y),
    "round": _round,
    "rsqrt": lambda o, k, x: o.b.fdiv(constant(x.type, 1.0), o.b.sqrt(x)),
    "sign": _float_sign,
    "sqrt": lambda o, k, x: o.b.sqrt(x),
    "square": lambda o, k, x: o.b.fmul(x, x),
    "sub": lambda o, k, x, y: o.b.fsub(x, y),
}

# Results that a half-width format holds whenever it holds the operands.
EXACT = frozenset("abs ceil floor neg round sign nextafter".split())
