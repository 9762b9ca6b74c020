"""Rounding floats to float16 and bfloat16 and back, in hardware or by integer arithmetic."""

from frit.backends.llvm import small_types
from frit.backends.llvm.values import F16, F32, I16, I32, integer_like


class HalfFloats:
    """Emits conversions of half-width floats into one builder."""

    def __init__(self, builder, target):
        self.b = builder
        self.target = target

    def rounded(self, value, kind):
        """A float rounded to the half-width format of `kind`, still as a float."""
        if kind.half == "bfloat16":
            return self.b.bitcast(self._bfloat_bits(value), value.type)
        if kind.half in small_types.FORMATS:
            code = small_types.encode(self.b, value, kind.half)
            return small_types.decode(self.b, code, kind.half)
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
