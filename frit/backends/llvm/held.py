"""How each dtype of the loop language is held in registers and in memory.

registers   bool: i1 · integers: iN · float32, float64: themselves · float16, bfloat16: a float
            that holds a representable value, rounded after each operation
memory      bool: one byte, 0 or 1 · float16, bfloat16: their 16 bits · others as in registers
"""

from frit.backends.llvm.small_types import FORMATS, NARROW_INTEGERS
from frit.backends.llvm.values import F32, F64, I1, I8, I16, constant, integer
from frit.codegen.scalars import element_type


class Scalar:
    """How one dtype is held: `register` and `memory` types, and what kind of number it is.

    half: the name of a float narrower than its register. narrow: the bits of such an integer.
    """

    __slots__ = (
        "bits", "half", "is_bool", "is_float", "is_signed", "memory", "name", "narrow", "register",
    )  # fmt: skip

    def __init__(self, name, bits, register, memory, *, half=None):
        self.name = name
        self.bits = bits
        self.register = register
        self.memory = memory
        self.half = half
        self.is_bool = name == "bool"
        self.is_float = register.is_float
        self.is_signed = name.startswith("int")
        self.narrow = NARROW_INTEGERS.get(name)


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
    **{name: Scalar(name, 8, F32, I8, half=name) for name in FORMATS},
    **{name: Scalar(name, 8, I8, I8) for name in NARROW_INTEGERS},
}


def scalar(dtype):
    """The `Scalar` of a dtype name; TypeError for what the machine code cannot hold."""
    try:
        return SCALARS[dtype]
    except KeyError:
        raise TypeError(f"no machine representation of dtype {dtype}") from None


def as_constant(kind, number, lanes):
    """The register holding a known number, in each of `lanes` lanes; floats are rounded once."""
    if kind.half:
        number = float(element_type(kind.name).type(number))
    elif not kind.is_float:
        number = int(number)
    return constant(kind.register.with_lanes(lanes), number)
