"""How LLVM computes each operation of the loop language, total and lane by lane.

Comparisons, choices and conversions are here; arithmetic is with its kind of number. LLVM's own
operations are poison or trap at the edges (division by 0, wide shifts, nan to integer); each is
guarded. No fast-math flags. How dtypes are held: `held.py`; meanings: `docs/semantics.md`.
"""

from frit.backends.llvm import small_types, vector_math
from frit.backends.llvm.float_operations import EXACT, FLOAT
from frit.backends.llvm.half_floats import HalfFloats
from frit.backends.llvm.held import scalar
from frit.backends.llvm.integer_operations import INTEGER
from frit.backends.llvm.values import F32, F64, I1, I8, I16, I32, constant, integer_like


class Operations(HalfFloats):
    """Emits operations into one builder; `width` lanes may differ from call to call."""

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
        if kind.narrow:
            return self.narrow_operation(method, op, kind, operands, params)
        return method(self, kind, *operands, **params)

    def narrow_operation(self, method, op, kind, operands, params):
        """An operation on integers of fewer bits than their register."""
        b, bits = self.b, kind.narrow
        if op in ("clz", "population_count", "shift_right_logical"):
            operands = (small_types.low_bits(b, operands[0], bits), *operands[1:])
        value = method(self, kind, *operands, **params)
        if op == "clz":
            value = b.sub(value, 8 - bits)
        return small_types.wrapped(b, value, bits, kind.is_signed)

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

    # Between memory and registers.

    def from_memory(self, kind, value):
        """The register of an element (or lanes) just loaded."""
        if kind.is_bool:
            return self.b.icmp("ne", value, 0)
        if kind.narrow:
            return small_types.wrapped(self.b, value, kind.narrow, kind.is_signed)
        if kind.half in small_types.FORMATS:
            return small_types.decode(self.b, value, kind.half)
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
        if kind.narrow:
            return small_types.low_bits(self.b, value, kind.narrow)
        if kind.half in small_types.FORMATS:
            return small_types.encode(self.b, value, kind.half)
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
    if kind.is_float and result.narrow:
        wide = b.saturating_fptosi(x, I32.with_lanes(lanes))
        return small_types.saturated(b, wide, result.narrow, result.is_signed)
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
    if result.narrow:
        same = x if x.type.element is I8 else (b.zext if kind.is_bool else b.trunc)(x, target)
        return small_types.wrapped(b, same, result.narrow, result.is_signed)
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
