"""What the elements of an array's type are to a kernel: a dtype by name, and a number of parts.

A complex number has two parts, real and imaginary, and a random key two words; in memory the parts
are a last axis.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from frit.errors import LoweringError
from frit.ir.dtypes import float0
from frit.ir.jaxpr import JaxprEqn

PLAIN_DTYPES = frozenset(
    [*"bool float16 bfloat16 float32 float64 int2 int4 uint2 uint4".split()]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + [f"float8_{form}" for form in "e3m4 e4m3 e5m2 e4m3fn e4m3fnuz e5m2fnuz e4m3b11fnuz".split()]
)
SMALL_FLOATS = frozenset(name for name in PLAIN_DTYPES if "float" in name) - {"float32", "float64"}
TWO_PARTS = {"complex64": "float32", "complex128": "float64"}


def storage(aval: Any) -> Any:
    """(shape, dtype name of a part, number of parts) of a type's elements.

    Elements of float0 take no memory: as values they are False, and nothing is read or stored.
    Raises LoweringError for element types without machine code, and for symbolic dimensions.
    """
    dtype, shape = aval.dtype, tuple(aval.shape)
    for extent in shape:
        if not isinstance(extent, int):
            raise LoweringError(
                f"cannot compile for the type {aval}: its dimension {extent} is symbolic. Trace it "
                "with arrays, or with types whose shapes are numbers."
            )
    if not isinstance(dtype, np.dtype):
        if getattr(dtype, "storage", None) is None:
            raise LoweringError(
                f"elements of type {dtype} have no machine code; convert them first"
            )
        return shape, "uint32", dtype.storage.itemsize // 4
    if dtype == float0:
        return shape, "bool", 1
    name = dtype.name
    if name in TWO_PARTS:
        return shape, TWO_PARTS[name], 2
    if name not in PLAIN_DTYPES:
        raise LoweringError(
            f"elements of type {name} have no machine code. Keep them as uint8, or convert to "
            "bfloat16 with .astype(jnp.bfloat16) outside of jit."
        )
    return shape, name, 1


def bits_of(dtype: str) -> Any:
    """Bits of an element by the name of its dtype; 8 for bool."""
    return 8 if dtype == "bool" else int(re.findall(r"\d+", dtype)[0])


def accumulator(dtype: str) -> Any:
    """The dtype in which sums and products of a dtype are kept: float32 for smaller floats."""
    return "float32" if dtype in SMALL_FLOATS else dtype


def no_machine_code(equation: JaxprEqn, why: Any, instead: Any) -> Any:
    """The error for an equation of types that its lowering does not know."""
    types = ", ".join(str(atom.aval) for atom in equation.invars)
    return LoweringError(
        f"{equation.primitive.name} of {types} has no machine code: {why}. Write {instead} instead."
    )
