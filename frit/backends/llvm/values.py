"""Types and values of LLVM IR as small objects that know their own text.

    scalar = iN | half | bfloat | float | double | ptr | void
    type   = scalar | <lanes x scalar>
    value  = Value(text, type): "%12", "@symbol" or a constant such as "splat (float 0x...)"

Types are interned: two equal types are one object, so they compare by `is`. One lane means the
scalar itself, so that code written for any width also serves width 1.
"""

import struct

import numpy as np


class Type:
    """One interned LLVM type.

    text: as LLVM spells it. element: the scalar type (itself for a scalar). lanes: 1 for scalars.
    bits: size of the element in bits (64 for ptr, 0 for void). code: the mangling in intrinsic
    names, such as "v8f32".
    """

    __slots__ = ("bits", "code", "element", "is_float", "is_integer", "lanes", "text", "wider")

    def __init__(self, text, code, bits, kind, element=None, lanes=1):
        self.text = text
        self.code = code
        self.bits = bits
        self.is_float = kind == "float"
        self.is_integer = kind == "integer"
        self.element = element or self
        self.lanes = lanes
        self.wider = {1: self} if element is None else None

    @property
    def bytes(self):
        """Bytes that one element takes in memory (1 for i1)."""
        return (self.bits + 7) // 8

    def with_lanes(self, lanes):
        """The vector type of `lanes` such elements; the scalar type itself when lanes is 1."""
        element = self.element
        found = element.wider.get(lanes)
        if found is None:
            kind = "float" if element.is_float else "integer" if element.is_integer else "other"
            found = Type(
                f"<{lanes} x {element.text}>",
                f"v{lanes}{element.code}",
                element.bits,
                kind,
                element,
                lanes,
            )
            element.wider[lanes] = found
        return found

    def __repr__(self):
        return self.text


VOID = Type("void", "isVoid", 0, "other")
PTR = Type("ptr", "p0", 64, "other")
F16 = Type("half", "f16", 16, "float")
BF16 = Type("bfloat", "bf16", 16, "float")
F32 = Type("float", "f32", 32, "float")
F64 = Type("double", "f64", 64, "float")
I1, I8, I16, I32, I64, I128 = (
    Type(f"i{bits}", f"i{bits}", bits, "integer") for bits in (1, 8, 16, 32, 64, 128)
)
_INTEGERS = {type.bits: type for type in (I1, I8, I16, I32, I64, I128)}


def integer(bits):
    """The interned integer type of any number of bits."""
    found = _INTEGERS.get(bits)
    if found is None:
        found = _INTEGERS[bits] = Type(f"i{bits}", f"i{bits}", bits, "integer")
    return found


def integer_like(type):
    """The integer type with the bits and lanes of `type`: <8 x float> gives <8 x i32>."""
    return integer(type.bits).with_lanes(type.lanes)


def mask_like(type):
    """The type of a comparison of two values of `type`: i1 with as many lanes."""
    return I1.with_lanes(type.lanes)


class Value:
    """One SSA value, symbol or constant: its text and its type."""

    __slots__ = ("text", "type")

    def __init__(self, text, type):
        self.text = text
        self.type = type

    def __repr__(self):
        return f"{self.type.text} {self.text}"


def _float_text(element, number):
    """Exact text of a float constant: LLVM writes float as the bits of its value as a double."""
    if element is F64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if element is F32:
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if element is F16:
        with np.errstate(over="ignore"):
            return f"0xH{int(np.float16(number).view(np.uint16)):04X}"
    return f"0xR{_bfloat_bits(number):04X}"


def _bfloat_bits(number):
    """Bits of `number` rounded once to bfloat16, ties to even, from its double value."""
    if number != number:
        return 0x7FC0
    bits = struct.unpack("<Q", struct.pack("<d", number))[0]
    sign, magnitude = bits >> 63 << 15, abs(number)
    if magnitude == float("inf"):
        return sign | 0x7F80
    _, exponent = np.frexp(magnitude)
    quantum = 2.0 ** (max(int(exponent), -125) - 8)
    rounded = np.float32(np.rint(magnitude / quantum) * quantum)
    return sign | int(rounded.view(np.uint32)) >> 16


_CONSTANTS: dict = {}


def constant(type, number):
    """The constant `number` of `type`, in every lane; floats are rounded to the type once."""
    if not number or number != number:
        # 0.0 and -0.0 are equal but differ as constants, and nan is not equal to itself.
        return _constant(type, number)
    key = type, number
    found = _CONSTANTS.get(key)
    if found is None:
        if len(_CONSTANTS) > 10_000:
            _CONSTANTS.clear()
        found = _CONSTANTS[key] = _constant(type, number)
    return found


def _constant(type, number):
    element = type.element
    if element.is_float:
        text = _float_text(element, float(number))
    elif element.is_integer:
        number = int(number)
        if element is I1:
            text = "true" if number else "false"
        else:
            # Written as signed, so that either spelling of the same bits gives the same text.
            number &= (1 << element.bits) - 1
            text = str(number - (1 << element.bits) if number >> (element.bits - 1) else number)
    elif not number:
        text = "null"
    else:
        raise TypeError(f"a constant of type {type.text} can only be null, not {number!r}")
    if type.lanes > 1:
        text = "zeroinitializer" if text == "null" else f"splat ({element.text} {text})"
    return Value(text, type)


def constant_lanes(element, numbers):
    """A constant vector with one number for each lane; a scalar when there is one number."""
    numbers = tuple(numbers)
    if len(numbers) == 1:
        return constant(element, numbers[0])
    inside = ", ".join(f"{element.text} {constant(element, number).text}" for number in numbers)
    return Value(f"<{inside}>", element.with_lanes(len(numbers)))


def zero(type):
    """The value of `type` whose bits are all zero."""
    return Value("zeroinitializer", type) if type.lanes > 1 else constant(type, 0)


def poison(type):
    """A value nobody may look at, to start chains of `insert_element`."""
    return Value("poison", type)
