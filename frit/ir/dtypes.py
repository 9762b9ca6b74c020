"""Element types: JAX's set over numpy and ml_dtypes, and the lattice that says how they promote.

A Python scalar is weak: it adapts to the array it meets.  The lattice holds the weak int, float and
complex as nodes of their own, written here as the Python types `int`, `float` and `complex`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from frit import config

bfloat16 = ml_dtypes.bfloat16
float0 = np.dtype([("float0", np.void, 0)])

_SMALL_FLOATS = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float4_e2m1fn float8_e3m4 float8_e4m3 float8_e8m0fnu float8_e4m3b11fnuz float8_e4m3fn "
        "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
    ).split()
)
_BFLOAT16 = np.dtype(bfloat16)
FLOATS = (*_SMALL_FLOATS, _BFLOAT16, np.dtype("f2"), np.dtype("f4"), np.dtype("f8"))
COMPLEX = (np.dtype("c8"), np.dtype("c16"))
SIGNED = (
    np.dtype(ml_dtypes.int2),
    np.dtype(ml_dtypes.int4),
    *map(np.dtype, ("i1", "i2", "i4", "i8")),
)
UNSIGNED = (
    np.dtype(ml_dtypes.uint2), np.dtype(ml_dtypes.uint4), *map(np.dtype, ("u1", "u2", "u4", "u8"))
)  # fmt: skip
BOOL = np.dtype(bool)
ARRAY_DTYPES = frozenset((BOOL, *UNSIGNED, *SIGNED, *FLOATS, *COMPLEX))

SHORT_NAMES = {
    "float": "f", "bfloat": "bf", "uint": "u", "int": "i", "complex": "c", "key": "key"
}  # fmt: skip


class extended(np.generic):
    """Scalar class of element types that NumPy does not know, such as random keys."""


class prng_key(extended):
    """Scalar class of random keys."""


class ExtendedDType:
    """An element type whose elements are opaque bytes, moved but never computed with.

    `storage` is the NumPy type of those bytes; `name` what a jaxpr prints.
    """

    name: str
    storage: np.dtype
    type: type

    @property
    def itemsize(self) -> int:
        return self.storage.itemsize

    def tangent_dtype(self) -> DType:
        """The element type of tangents."""
        return float0

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two tangents of this element type."""
        raise NotImplementedError(f"values of element type {self} have no sum")

    def __repr__(self) -> str:
        return self.name


DType = Any  # np.dtype | ExtendedDType

_NARROWED = {
    np.dtype("i8"): np.dtype("i4"), np.dtype("u8"): np.dtype("u4"),
    np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8"),
}  # fmt: skip

PYTHON_SCALARS: dict[type, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    complex: "complex128",
}


# Called with the dtype that was asked for, the one that it became, who asked, and, where a NumPy
# array was converted without asking, that array.
on_narrowing: list[Callable[[DType, DType, str, Any], None]] = []


def tell_narrowing(asked: DType, found: DType, asker: str = "", value: Any = None) -> None:
    """Tells those who listen that 64 bits became 32."""
    for tell in on_narrowing:
        tell(asked, found, asker, value)


def short_name(dtype: DType) -> str:
    """`f32` for float32, as jaxprs print it."""
    name = str(dtype.name) if hasattr(dtype, "name") else str(dtype)
    if isinstance(dtype, ExtendedDType):
        return name
    if dtype == float0:
        return "float0"
    for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short)
    return name


def canonicalize(dtype: DType, *, allow_extended: bool = True) -> DType:
    """`dtype` as it is when 64-bit types are enabled, else narrowed to 32 bits."""
    if isinstance(dtype, ExtendedDType):
        return dtype
    dtype = as_dtype(dtype)
    if isinstance(dtype, ExtendedDType) or config.enable_x64.value:
        return dtype
    return _NARROWED.get(dtype, dtype)


def canonicalize_asked(dtype: Any, asker: str = "") -> DType:
    """`dtype` as a user wrote it for `asker`, canonical; with a warning where it is narrowed."""
    asked = as_dtype(dtype)
    found = canonicalize(asked)
    if found != asked and dtype not in (int, float, complex):
        tell_narrowing(asked, found, asker)
        where = f" requested in {asker}" if asker else ""
        warnings.warn(
            f"Explicitly requested dtype {asked}{where} is not available, and will be truncated to "
            f"dtype {found}. To enable more dtypes, set the jax_enable_x64 configuration option or "
            'the JAX_ENABLE_X64 shell environment variable: config.update("jax_enable_x64", True).',
            stacklevel=5,  # here, a check of arguments, the function, its wrapper, the user
        )
    return found


def as_dtype(dtype: Any) -> DType:
    """The element type that `dtype` names: a dtype, a scalar class, a Python type or a name."""
    if isinstance(dtype, ExtendedDType):
        return dtype
    if isinstance(dtype, np.dtype):
        return dtype
    if dtype is int or dtype is float or dtype is complex:
        return np.dtype(PYTHON_SCALARS[dtype])
    own = getattr(dtype, "dtype", None)
    if isinstance(own, ExtendedDType):
        return own
    if dtype == "bfloat16":
        return _BFLOAT16
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{dtype!r} is not a dtype ({error}). Give a scalar class such as jnp.float32, a name "
            "such as 'float32', or a NumPy dtype."
        ) from None


def python_scalar_dtype(kind: type) -> np.dtype:
    """The element type of a Python scalar of class `kind`, narrowed as the settings ask."""
    if config.enable_x64.value and config.default_dtype_bits.value == "32":
        return _NARROWED.get(np.dtype(PYTHON_SCALARS[kind]), np.dtype(PYTHON_SCALARS[kind]))
    return canonicalize(np.dtype(PYTHON_SCALARS[kind]))


def is_floating(dtype: DType) -> bool:
    return dtype in _FLOAT_SET


def is_complex(dtype: DType) -> bool:
    return not isinstance(dtype, ExtendedDType) and dtype.kind == "c"


def is_inexact(dtype: DType) -> bool:
    return is_floating(dtype) or is_complex(dtype)


def is_integer(dtype: DType) -> bool:
    return dtype in _INTEGER_SET


def is_bool(dtype: DType) -> bool:
    return not isinstance(dtype, ExtendedDType) and dtype == BOOL


_FLOAT_SET = frozenset(FLOATS)
_INTEGER_SET = frozenset((*SIGNED, *UNSIGNED))
_SIGNED_SET, _UNSIGNED_SET = frozenset(SIGNED), frozenset(UNSIGNED)


def issubdtype(a: Any, b: Any) -> bool:
    """Whether `a` lies below `b` in NumPy's hierarchy, extended by ml_dtypes and random keys."""
    if isinstance(a, ExtendedDType):
        scalar = a.type
        if isinstance(b, ExtendedDType):
            return a == b
        return isinstance(b, type) and issubclass(scalar, b)
    if isinstance(b, ExtendedDType):
        return False
    if isinstance(a, type) and issubclass(a, extended):
        return isinstance(b, type) and issubclass(a, b)
    if isinstance(b, type) and issubclass(b, extended):
        return False
    a_dtype = None if isinstance(a, type) and a in _ABSTRACT else as_dtype(a)
    if a_dtype is not None and a_dtype in ARRAY_DTYPES and isinstance(b, type) and b in _ABSTRACT:
        return any(a_dtype in members and issubclass(kind, b) for kind, members in _KINDS.items())
    if a_dtype is not None and not (isinstance(b, type) and b in _ABSTRACT):
        return a_dtype == as_dtype(b)
    return np.issubdtype(a, b)


_ABSTRACT = frozenset((
    np.generic, np.number, np.inexact, np.floating, np.complexfloating, np.integer,
    np.signedinteger, np.unsignedinteger, np.flexible, np.character,
))  # fmt: skip
_KINDS: dict[type, frozenset[np.dtype]] = {
    np.floating: _FLOAT_SET,
    np.complexfloating: frozenset(COMPLEX),
    np.signedinteger: _SIGNED_SET,
    np.unsignedinteger: _UNSIGNED_SET,
    np.bool_: frozenset((BOOL,)),
}


class TypePromotionError(ValueError):
    """The element types have no common type under the promotion rules in force."""


@functools.cache
def _upper_bounds(strict: bool, x64: bool) -> dict[Any, frozenset[Any]]:
    """For each node of the lattice, all nodes at or above it."""
    u2, u4, u8, u16, u32, u64 = UNSIGNED
    i2, i4, i8, i16, i32, i64 = SIGNED
    *small, bf16, f16, f32, f64 = FLOATS
    c64, c128 = COMPLEX
    if strict:
        edges: dict[Any, list[Any]] = {
            int: [float, *UNSIGNED, *SIGNED], float: [complex, *FLOATS], complex: [*COMPLEX],
            **{t: [] for t in ARRAY_DTYPES},
        }  # fmt: skip
    else:
        edges = {
            BOOL: [int], int: [u8, u2, u4, i8, i2, i4],
            u2: [], u4: [], i2: [], i4: [],
            u8: [i16, u16], u16: [i32, u32], u32: [i64, u64] if x64 else [i32, u64], u64: [float],
            i8: [i16], i16: [i32], i32: [i64], i64: [float],
            float: [*small, bf16, f16, complex], **{t: [] for t in small},
            bf16: [f32], f16: [f32], f32: [f64, c64], f64: [c128],
            complex: [c64], c64: [c128], c128: [],
        }  # fmt: skip
    bounds: dict[Any, frozenset[Any]] = {}

    def above(node: Any) -> frozenset[Any]:
        if node not in bounds:
            bounds[node] = frozenset((node,)).union(*map(above, edges[node]))
        return bounds[node]

    for node in edges:
        above(node)
    return bounds


@functools.lru_cache(4096)
def _least_upper_bound(nodes: frozenset[Any], strict: bool, x64: bool) -> Any:
    bounds = _upper_bounds(strict, x64)
    try:
        common = frozenset.intersection(*(bounds[n] for n in nodes))
    except KeyError as error:
        raise ValueError(
            f"{error.args[0]} is not a valid dtype for type promotion of frit arrays."
        ) from None
    least = [c for c in common if common <= bounds[c]]
    if len(least) == 1:
        return least[0]
    names = ", ".join(
        sorted(n.__name__ + " (weak)" if isinstance(n, type) else n.name for n in nodes)
    )
    if strict:
        raise TypePromotionError(
            f"Input dtypes ({names}) have no available implicit dtype promotion path when "
            "jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the desired "
            "output type, or set jax_numpy_dtype_promotion=standard."
        )
    raise TypePromotionError(
        f"Input dtypes ({names}) have no available implicit dtype promotion path. To avoid "
        "unintended promotion, 2- and 4-bit integers and 8-bit floats do not promote; convert "
        "explicitly with x.astype(...)."
    )


def promote(nodes: list[tuple[DType, bool]]) -> tuple[DType, bool]:
    """The common element type of `(dtype, weak)` pairs, and whether it is weak."""
    first = nodes[0]
    if all(n == first for n in nodes[1:]):
        return first if not is_bool(first[0]) else (first[0], False)
    if any(isinstance(d, ExtendedDType) for d, _ in nodes):
        raise TypePromotionError(
            f"random keys do not promote with other types: {', '.join(str(d) for d, _ in nodes)}. "
            "Use random.key_data(key) for their bits."
        )
    strict = config.numpy_dtype_promotion.value == "strict"
    x64 = config.enable_x64.value
    if strict and len({(d, w) for d, w in nodes if not w}) == 0:
        strict = False
    if all(weak for _, weak in nodes):
        # Only weak operands: Python's own order, and the result stays weak.
        bound = _least_upper_bound(frozenset(d for d, _ in nodes), False, x64)
        return canonicalize(as_dtype(bound)), not is_bool(as_dtype(bound))
    bound = _least_upper_bound(
        frozenset(_weak_node(d) if weak else d for d, weak in nodes), strict, x64
    )
    weak = isinstance(bound, type)
    return (canonicalize(np.dtype(PYTHON_SCALARS[bound])) if weak else bound), weak


def _weak_node(dtype: DType) -> Any:
    if is_bool(dtype):
        return dtype
    return complex if is_complex(dtype) else float if is_floating(dtype) else int


def tangent_dtype(dtype: DType) -> DType:
    """The element type of tangents: the same for real and complex numbers, float0 for all else."""
    if isinstance(dtype, ExtendedDType):
        return dtype.tangent_dtype()
    return dtype if is_inexact(dtype) else float0
