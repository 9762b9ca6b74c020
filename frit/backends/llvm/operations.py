"""How LLVM computes each operation of the loop language, total and lane by lane.

    registers   bool: i1 · integers: iN · float32, float64: themselves · float16, bfloat16: a float
                that holds a representable value, rounded after each operation
    memory      bool: one byte, 0 or 1 · float16, bfloat16: their 16 bits · others as in registers

LLVM's own operations are poison or trap at the edges (division by 0, wide shifts, nan to integer);
each is guarded here. No fast-math flags. Meanings: `docs/semantics.md`.
"""

from frit.backends.llvm import vector_math
from frit.backends.llvm.values import (
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    constant,
    integer,
    integer_like,
    zero,
)
from frit.codegen.scalars import element_type


class Scalar:
    """How one dtype is held: `register` and `memory` types, and what kind of number it is."""

    __slots__ = ("bits", "half", "is_bool", "is_float", "is_signed", "memory", "name", "register")

    def __init__(self, name, bits, register, memory, *, half=None):
        self.name = name
        self.bits = bits
        self.register = register
        self.memory = memory
        self.half = half
        self.is_bool = name == "bool"
        self.is_float = register.is_float
        self.is_signed = name.startswith("int")


SCALARS = {
    "bool": Scalar("bool", 8, I1, I8),
    "float16": Scalar("float16", 16, F32, I16, half="float16"),
    "bfloat16": Scalar("bfloat16", 16, F32, I16, half="bfloat16"),
    "float32": Scalar("float32", 32, F32, F32),
    "float64": Scalar("float64", 64, F64, F64),
    **{
        f"{sign}int{bits}": Scalar(f"{sign}int{bits}", bits, integer(bits), integer(bits))
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}


def scalar(dtype):
    """The `Scalar` of a dtype name; TypeError for what the machine code cannot hold."""
    try:
        return SCALARS[dtype]
    except KeyError:
        raise TypeError(f"no machine representation of dtype {dtype}") from None


class Operations:
    """Emits operations into one builder; `width` lanes may differ from call to call."""

    def __init__(self, builder, target):
        self.b = builder
        self.target = target

    def apply(self, op, dtype, operands, operand_dtypes, params):
        """The register of `op` on registers; dtypes are names."""
        kind = scalar(operand_dtypes[0])
        result = scalar(dtype)
        special = SPECIAL.get(op)
        if special is not None:
            return special(self, kind, result, operands, **params)
        if kind.is_float:
            return self.float_operation(op, kind, result, operands, params)
        method = INTEGER.get(op)
        if method is None:
            raise NotImplementedError(f"no machine code for {op} on {kind.name}")
        return method(self, kind, *operands, **params)

    def float_operation(self, op, kind, result, operands, params):
        method = FLOAT.get(op)
        if method is not None:
            value = method(self, kind, *operands, **params)
        else:
            value = self.math(op, kind, *operands)
        return self.rounded(value, kind) if result.half and op not in EXACT else value

    def math(self, name, kind, *operands):
        """A call of our own vector function `name`."""
        type = operands[0].type
        dtype = "float64" if type.element is F64 else "float32"
        symbol = vector_math.function(self.b.module, name, dtype, type.lanes)
        return self.b.call(symbol, type, operands)

    # Half-width floats.

    def rounded(self, value, kind):
        """A float rounded to the half-width format of `kind`, still as a float."""
        if kind.half == "bfloat16":
            return self.b.bitcast(self._bfloat_bits(value), value.type)
        return self.half_to_float(self.float_to_half(value))

    def _bfloat_bits(self, value):
        """The bits of `value` rounded to 8 bits of mantissa; the low 16 are 0."""
        b = self.b
        bits = b.bitcast(value, integer_like(value.type))
        odd = b.and_(b.lshr(bits, 16), 1)
        up = b.add(b.add(bits, 0x7FFF), odd)
        nan = b.or_(bits, 0x400000)
        return b.and_(b.select(b.is_nan(value), nan, up), -65536)

    def float_to_half(self, value):
        """The 16 bits of the float16 nearest to a float."""
        b = self.b
        if self.target.has_f16:
            half = b.fptrunc(value, F16.with_lanes(value.type.lanes))
            return b.bitcast(half, I16.with_lanes(value.type.lanes))
        # Adding a power of two that makes the last kept bit the unit rounds subnormals; the rest
        # is rounded by carrying into the dropped bits. Source: F. Giesen, float->half variants.
        bits = b.bitcast(value, integer_like(value.type))
        sign = b.and_(b.lshr(bits, 16), 0x8000)
        magnitude = b.and_(bits, 0x7FFFFFFF)
        tiny = b.fadd(b.bitcast(magnitude, value.type), 0.5)
        subnormal = b.sub(b.bitcast(tiny, bits.type), 0x3F000000)
        odd = b.and_(b.lshr(magnitude, 13), 1)
        rebased = b.add(b.add(magnitude, odd), 0xFFF - (112 << 23))
        normal = b.lshr(rebased, 13)
        result = b.select(b.icmp("ult", magnitude, 113 << 23), subnormal, normal)
        result = b.select(b.icmp("uge", magnitude, 0x477FF000), 0x7C00, result)
        result = b.select(b.icmp("ugt", magnitude, 0x7F800000), 0x7E00, result)
        return b.trunc(b.or_(result, sign), I16.with_lanes(value.type.lanes))

    def half_to_float(self, bits):
        """The float equal to a float16 given by its bits."""
        b = self.b
        lanes = bits.type.lanes
        if self.target.has_f16:
            return b.fpext(b.bitcast(bits, F16.with_lanes(lanes)), F32.with_lanes(lanes))
        wide = b.zext(bits, I32.with_lanes(lanes))
        sign = b.shl(b.and_(wide, 0x8000), 16)
        magnitude = b.shl(b.and_(wide, 0x7FFF), 13)
        scaled = b.fmul(b.bitcast(magnitude, F32.with_lanes(lanes)), 2.0**112)
        special = b.or_(magnitude, 0x7F800000)
        is_special = b.icmp("uge", magnitude, 0x0F800000)
        finite = b.bitcast(scaled, wide.type)
        return b.bitcast(b.or_(b.select(is_special, special, finite), sign), scaled.type)

    def narrowed(self, value):
        """A double as the float that rounds on to a half as the double itself would: to odd."""
        b = self.b
        near = b.fptrunc(value, F32.with_lanes(value.type.lanes))
        back = b.fpext(near, value.type)
        bits = b.bitcast(near, integer_like(near.type))
        inexact = b.fcmp("one", back, value)
        past = b.fcmp("ogt", b.fabs(back), b.fabs(value))
        toward_zero = b.select(past, b.sub(bits, 1), bits)
        odd = b.or_(toward_zero, 1)
        infinite = b.fcmp("oeq", b.fabs(value), float("inf"))
        odd = b.select(infinite, bits, odd)
        return b.bitcast(b.select(inexact, odd, bits), near.type)

    # Between memory and registers.

    def from_memory(self, kind, value):
        """The register of an element (or lanes) just loaded."""
        if kind.is_bool:
            return self.b.icmp("ne", value, 0)
        if kind.half == "bfloat16":
            wide = self.b.zext(value, I32.with_lanes(value.type.lanes))
            return self.b.bitcast(self.b.shl(wide, 16), F32.with_lanes(value.type.lanes))
        if kind.half:
            return self.half_to_float(value)
        return value

    def to_memory(self, kind, value):
        """The element (or lanes) to store for a register."""
        lanes = value.type.lanes
        if kind.is_bool:
            return self.b.zext(value, I8.with_lanes(lanes))
        if kind.half == "bfloat16":
            bits = self.b.bitcast(value, I32.with_lanes(lanes))
            return self.b.trunc(self.b.lshr(bits, 16), I16.with_lanes(lanes))
        if kind.half:
            return self.float_to_half(value)
        return value


# ------------------------------------------------------------------------------ shared by kinds


def _compare(ordered, unsigned):
    """A comparison: floats by an ordered predicate (ne by an unordered one), integers by sign."""

    def compare(o, kind, _, operands):
        x, y = operands
        if kind.is_float:
            return o.b.fcmp(("u" if ordered == "ne" else "o") + ordered, x, y)
        signed = unsigned if unsigned in ("eq", "ne") else f"{'su'[not kind.is_signed]}{unsigned}"
        return o.b.icmp(signed, x, y)

    return compare


def _total_order(predicate):
    """A comparison of floats by the total order of their bits: -nan lowest, +nan highest."""

    def compare(o, kind, _, operands):
        b = o.b
        if not kind.is_float:
            sign = "" if predicate == "eq" else "s" if kind.is_signed else "u"
            return b.icmp(sign + predicate, *operands)
        keys = []
        for value in operands:
            bits = b.bitcast(value, integer_like(value.type))
            flipped = b.xor(bits, (1 << (bits.type.bits - 1)) - 1)
            keys.append(b.select(b.icmp("slt", bits, 0), flipped, bits))
        return b.icmp(predicate if predicate == "eq" else f"s{predicate}", *keys)

    return compare


def _extreme(name, is_max):
    def extreme(o, kind, _, operands):
        if kind.is_float:
            return getattr(o.b, "maximum" if is_max else "minimum")(*operands)
        if kind.is_bool:
            return (o.b.or_ if is_max else o.b.and_)(*operands)
        return getattr(o.b, f"{'su'[not kind.is_signed]}{name}")(*operands)

    return extreme


_max, _min = _extreme("max", True), _extreme("min", False)


def _clamp(o, kind, result, operands):
    low, x, high = operands
    return _min(o, kind, result, [_max(o, kind, result, [x, low]), high])


def _select_n(o, kind, _, operands):
    which, *cases = operands
    if kind.is_bool:
        return o.b.select(which, cases[-1], cases[0])
    chosen = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        test = o.b.icmp("sle", which, number)
        chosen = o.b.select(test, cases[number], chosen)
    return chosen


def _convert(o, kind, result, operands, **_):
    (x,) = operands
    b, lanes = o.b, operands[0].type.lanes
    target = result.register.with_lanes(lanes)
    if kind.name == result.name:
        return x
    if result.is_bool:
        return b.fcmp("une", x, 0.0) if kind.is_float else b.icmp("ne", x, 0)
    if kind.is_float and result.is_float:
        return _convert_float(o, x, kind, result, target)
    if kind.is_float:
        return (
            b.saturating_fptosi(x, target) if result.is_signed else b.saturating_fptoui(x, target)
        )
    if result.is_float:
        cast = b.sitofp if kind.is_signed else b.uitofp
        if not result.half:
            return cast(x, target)
        if kind.bits < 32:
            return o.rounded(cast(x, target), result)
        # 32- and 64-bit integers pass a float64 (exact for 32 bits; for 64 the low bits only
        # matter as "inexact", and saturate to half's range long before they are lost).
        return o.rounded(o.narrowed(cast(x, F64.with_lanes(lanes))), result)
    if result.bits < kind.bits:
        return b.trunc(x, target)
    if kind.is_bool or result.bits > kind.bits:
        return (b.sext if kind.is_signed else b.zext)(x, target)
    return x


def _convert_float(o, x, kind, result, target):
    b = o.b
    if x.type.element is F64:
        if result.half:
            return o.rounded(o.narrowed(x), result)
        return b.fptrunc(x, target)
    if result.half and result.half != kind.half:
        return o.rounded(x, result)
    return b.fpext(x, target) if target.element is F64 else x


def _bitcast(o, kind, result, operands, **_):
    (x,) = operands
    return o.from_memory(
        result, o.b.bitcast(o.to_memory(kind, x), result.memory.with_lanes(x.type.lanes))
    )


def _is_finite(o, kind, _, operands):
    if not kind.is_float:
        return constant(I1.with_lanes(operands[0].type.lanes), True)
    return o.b.fcmp("olt", o.b.fabs(operands[0]), float("inf"))


SPECIAL = {
    "eq": _compare("eq", "eq"),
    "ne": _compare("ne", "ne"),
    "lt": _compare("lt", "lt"),
    "le": _compare("le", "le"),
    "gt": _compare("gt", "gt"),
    "ge": _compare("ge", "ge"),
    "eq_to": _total_order("eq"),
    "lt_to": _total_order("lt"),
    "le_to": _total_order("le"),
    "max": _max,
    "min": _min,
    "clamp": _clamp,
    "select_n": _select_n,
    "convert_element_type": _convert,
    "bitcast_convert_type": _bitcast,
    "is_finite": _is_finite,
    "copy": lambda o, kind, result, operands: operands[0],
}

# ----------------------------------------------------------------------------------- integers


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


def _repeated_squaring(multiply, x, power):
    """x ** power for a known power > 0."""
    result, base = None, x
    while power:
        if power & 1:
            result = base if result is None else multiply(result, base)
        power >>= 1
        if power:
            base = multiply(base, base)
    return result


def _integer_power(o, kind, x, y):
    if y == 0:
        return constant(x.type, 1)
    result = _repeated_squaring(o.b.mul, x, abs(y))
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

# ------------------------------------------------------------------------------------- floats


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
    result = _repeated_squaring(lambda p, q: _product(o, kind, p, q), x, abs(y))
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


def as_constant(kind, number, lanes):
    """The register holding a known number, in each of `lanes` lanes; floats are rounded once."""
    if kind.half:
        number = float(element_type(kind.name).type(number))
    elif not kind.is_float:
        number = int(number)
    return constant(kind.register.with_lanes(lanes), number)
