"""Operands at the edges for scalar operations whose results are exact; needs NumPy alone.

`cases()` gives key -> (name in lax, operands, keyword arguments).  The results of JAX are in
tests/data/elementwise/scalars.npz, which tools/golden_elementwise.py writes.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

inf, nan = float("inf"), float("nan")

_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 2.0, -2.0, 3.0, 0.3, -0.7, 10.0,
    -7.3, inf, -inf, nan, 100.0, -100.0, 1e-3,
]  # fmt: skip
_WIDE = [*_FLOATS, 1e5, -1e5, 3e9, -3e9, 1e20, -1e20, 0.49999997, 8388609.0, 2.0**31, -(2.0**31)]
_INTEGERS = (0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 100, -1, -2, -3, -5, -8, -32, -100)
_COMPLEX = [complex(a, b) for a in (0.0, 1.0, -1.5, 0.3) for b in (0.0, 1.0, -2.0)]

WIDE_FLOATS = ("float32", "float64")
FLOATS = (*WIDE_FLOATS, "float16", "bfloat16")
INTEGERS = ("int8", "int32", "int64", "uint8", "uint32")
NARROW = ("int4", "uint4", "int2")
COMPLEX = ("complex64", "complex128")
ALL = (*FLOATS, *INTEGERS, *NARROW, *COMPLEX, "bool", "float8_e4m3fn")

_UNARY = {
    "neg": (*FLOATS, *INTEGERS, *NARROW, *COMPLEX),
    "sign": (*FLOATS, *INTEGERS),
    "abs": (*FLOATS, "int8", "int32", "int64"),
    "square": (*FLOATS, *INTEGERS),
    "sqrt": FLOATS, "floor": FLOATS, "ceil": FLOATS, "is_finite": FLOATS,
    "bitwise_not": (*INTEGERS, *NARROW, "bool"),
    "population_count": INTEGERS, "clz": INTEGERS,
}  # fmt: skip
_BINARY = {
    **dict.fromkeys(("add", "sub", "mul"), (*FLOATS, *INTEGERS, *NARROW, *COMPLEX)),
    "div": (*FLOATS, *INTEGERS, *NARROW),
    "rem": (*FLOATS, *INTEGERS),
    **dict.fromkeys(("max", "min"), (*FLOATS, *INTEGERS, *NARROW, "bool", "complex64")),
    **dict.fromkeys(
        ("shift_left", "shift_right_arithmetic", "shift_right_logical", "mulhi"), INTEGERS
    ),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), (*INTEGERS, *NARROW, "bool")),
    **dict.fromkeys(("eq", "ne"), (*FLOATS, *INTEGERS, *NARROW, *COMPLEX, "bool")),
    **dict.fromkeys(("lt", "le", "gt", "ge"), (*FLOATS, *INTEGERS, *NARROW, "bool")),
    "nextafter": FLOATS,
}


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def values(name: str) -> np.ndarray:
    """The edge values of an element type."""
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([False, True])
    if name in COMPLEX:
        return np.array(_COMPLEX, dtype)
    if name in (*INTEGERS, *NARROW):
        limits = ml_dtypes.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        chosen = {*(i for i in _INTEGERS if low <= i <= high), low, low + 1, high - 1, high}
        return np.array(sorted(chosen), "u8" if low == 0 else "i8").astype(dtype)
    return np.array(_WIDE if name in WIDE_FLOATS else _FLOATS).astype(dtype)


def combinations(name: str, count: int) -> list[np.ndarray]:
    """All combinations of `count` edge values, as that many operands."""
    xs = values(name)
    return [xs[i] for i in np.indices((len(xs),) * count).reshape(count, -1)]


def cases() -> dict[str, tuple[str, list[np.ndarray], dict[str, Any]]]:
    found: dict[str, tuple[str, list[np.ndarray], dict[str, Any]]] = {}
    for count, table in ((1, _UNARY), (2, _BINARY)):
        for name, kinds in table.items():
            for kind in kinds:
                found[f"{name} {kind}"] = (name, combinations(kind, count), {})
    for kind in FLOATS:
        for method in (0, 1):
            found[f"round {kind} {method}"] = ("round", [values(kind)], {"rounding_method": method})
        for bits in ((5, 10), (8, 7), (4, 3), (2, 1)):
            given = dict(zip(("exponent_bits", "mantissa_bits"), bits, strict=True))
            found[f"reduce_precision {kind} {bits}"] = ("reduce_precision", [values(kind)], given)
    for kind in (*WIDE_FLOATS, *INTEGERS):
        for y in (-3, -1, 0, 1, 2, 3, 5, 10):
            if y >= 0 or kind in WIDE_FLOATS:
                found[f"integer_pow {kind} {y}"] = ("integer_pow", [values(kind)], {"y": y})
    for old in ALL:
        for new in ALL:
            key = f"convert_element_type {old} {new}"
            found[key] = ("convert_element_type", [values(old)], {"new_dtype": dtype_of(new)})
    for kind in ("float32", "int32"):
        found[f"clamp {kind}"] = ("clamp", combinations(kind, 3), {})
    return found


def bits(x: np.ndarray) -> np.ndarray:
    """x as unsigned integers, with every nan the same: a form that files hold and `==` compares."""
    x = np.array(x)
    if x.dtype in map(dtype_of, NARROW):
        return x.astype(np.int8).view(np.uint8)
    if x.dtype.kind in "fcV":
        x[np.isnan(x)] = nan
        x = x.view(real_of(x.dtype))
        x[np.isnan(x)] = nan
    return x.view(f"u{x.dtype.itemsize}")


def real_of(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
