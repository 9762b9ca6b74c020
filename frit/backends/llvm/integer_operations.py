"""Operations on integers and bools; LLVM's poison and traps at the edges are guarded away."""

from frit.backends.llvm.values import constant, zero


def repeated_squaring(multiply, x, power):
    """x ** power for a known power > 0."""
    result, base = None, x
    while power:
        if power & 1:
            result = base if result is None else multiply(result, base)
        power >>= 1
        if power:
            base = multiply(base, base)
    return result


def _safe_divisor(o, kind, x, y):
    """(y made harmless, where y is 0, where the division would overflow)."""
    b = o.b
    by_zero = b.icmp("eq", y, 0)
    bad = by_zero
    overflow = None
    if kind.is_signed:
        overflow = b.icmp("eq", y, -1)
        bad = b.or_(by_zero, overflow)
    return b.select(bad, constant(y.type, 1), y), by_zero, overflow


def _integer_div(o, kind, x, y):
    b = o.b
    divisor, by_zero, overflow = _safe_divisor(o, kind, x, y)
    quotient = (b.sdiv if kind.is_signed else b.udiv)(x, divisor)
    if overflow is not None:
        quotient = b.select(overflow, b.neg(x), quotient)
    return b.select(by_zero, constant(x.type, -1), quotient)


def _integer_rem(o, kind, x, y):
    b = o.b
    divisor, by_zero, _ = _safe_divisor(o, kind, x, y)
    rest = (b.srem if kind.is_signed else b.urem)(x, divisor)
    return b.select(by_zero, x, rest)


def _known_power(y):
    """log2 of a constant operand if it is a power of two, else None."""
    text = y.text.removeprefix(f"splat ({y.type.element.text} ").removesuffix(")")
    if not text.isdigit():
        return None
    number = int(text)
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None


def _floordiv(o, kind, x, y):
    """Floor of x / y; 0 where y is 0."""
    b = o.b
    power = _known_power(y)
    if power is not None:
        return b.ashr(x, power)
    divisor, by_zero, overflow = _safe_divisor(o, kind, x, y)
    quotient = b.sdiv(x, divisor)
    rest = b.srem(x, divisor)
    inexact = b.icmp("ne", rest, 0)
    opposite = b.icmp("slt", b.xor(x, divisor), 0)
    quotient = b.add(quotient, b.sext(b.and_(inexact, opposite), x.type))
    quotient = b.select(overflow, b.neg(x), quotient)
    return b.select(by_zero, zero(x.type), quotient)


def _mod(o, kind, x, y):
    power = _known_power(y)
    if power is not None:
        return o.b.and_(x, (1 << power) - 1)
    return o.b.sub(x, o.b.mul(_floordiv(o, kind, x, y), y))


def _shift(opcode):
    """A shift that gives 0, or the sign, for amounts outside of the word."""

    def shift(o, kind, x, y):
        b = o.b
        within = b.icmp("ult", y, x.type.bits)
        if opcode == "ashr":
            return b.ashr(x, b.select(within, y, constant(x.type, x.type.bits - 1)))
        shifted = getattr(b, opcode)(x, b.select(within, y, zero(y.type)))
        return b.select(within, shifted, zero(x.type))

    return shift


def _integer_sign(o, kind, x):
    b = o.b
    if not kind.is_signed:
        return b.zext(b.icmp("ne", x, 0), x.type)
    return b.smax(b.smin(x, constant(x.type, 1)), constant(x.type, -1))


def _integer_power(o, kind, x, y):
    if y == 0:
        return constant(x.type, 1)
    result = repeated_squaring(o.b.mul, x, abs(y))
    return result if y > 0 else _integer_div(o, kind, constant(x.type, 1), result)


INTEGER = {
    "abs": lambda o, k, x: o.b.abs(x) if k.is_signed else x,
    "add": lambda o, k, x, y: o.b.or_(x, y) if k.is_bool else o.b.add(x, y),
    "and": lambda o, k, x, y: o.b.and_(x, y),
    "clz": lambda o, k, x: o.b.ctlz(x),
    "div": _integer_div,
    "floordiv": _floordiv,
    "integer_pow": _integer_power,
    "mod": _mod,
    "mul": lambda o, k, x, y: o.b.and_(x, y) if k.is_bool else o.b.mul(x, y),
    "neg": lambda o, k, x: o.b.neg(x),
    "not": lambda o, k, x: o.b.not_(x),
    "or": lambda o, k, x, y: o.b.or_(x, y),
    "population_count": lambda o, k, x: o.b.ctpop(x),
    "rem": _integer_rem,
    "shift_left": _shift("shl"),
    "shift_right_arithmetic": _shift("ashr"),
    "shift_right_logical": _shift("lshr"),
    "sign": _integer_sign,
    "square": lambda o, k, x: o.b.mul(x, x),
    "sub": lambda o, k, x, y: o.b.sub(x, y),
    "xor": lambda o, k, x, y: o.b.xor(x, y),
}
