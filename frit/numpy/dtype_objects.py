"""Element types as objects: jnp.float32 and its kin, and questions about element types.

jnp.float32 is a class: jnp.float32(3) is an array, np.dtype(jnp.float32) its dtype, it equals
np.float32 and NumPy scalars of that type are its instances.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from frit.ir import dtypes
from frit.ir.dtypes import ExtendedDType
from frit.ir.types import shaped_type
from frit.numpy.creation import asarray


class ScalarMeta(type):
    """The class of element-type objects."""

    dtype: np.dtype

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: Any) -> bool:
        return cls is other or bool(cls.dtype.type == other)

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __call__(cls, x: Any = 0) -> Any:
        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(name: str, scalar: type) -> ScalarMeta:
    return ScalarMeta(name, (object,), {"dtype": np.dtype(scalar), "__module__": "frit.numpy"})


bool_ = _scalar_type("bool", np.bool_)
int1, uint1 = _scalar_type("int1", ml_dtypes.int1), _scalar_type("uint1", ml_dtypes.uint1)
float6_e2m3fn = _scalar_type("float6_e2m3fn", ml_dtypes.float6_e2m3fn)
float6_e3m2fn = _scalar_type("float6_e3m2fn", ml_dtypes.float6_e3m2fn)
uint2, uint4 = _scalar_type("uint2", ml_dtypes.uint2), _scalar_type("uint4", ml_dtypes.uint4)
int2, int4 = _scalar_type("int2", ml_dtypes.int2), _scalar_type("int4", ml_dtypes.int4)
uint8, uint16 = _scalar_type("uint8", np.uint8), _scalar_type("uint16", np.uint16)
uint32, uint64 = _scalar_type("uint32", np.uint32), _scalar_type("uint64", np.uint64)
int8, int16 = _scalar_type("int8", np.int8), _scalar_type("int16", np.int16)
int32, int64 = _scalar_type("int32", np.int32), _scalar_type("int64", np.int64)
float4_e2m1fn = _scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float8_e3m4 = _scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e8m0fnu = _scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
float8_e4m3fn = _scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
bfloat16 = _scalar_type("bfloat16", ml_dtypes.bfloat16)
float16, float32 = _scalar_type("float16", np.float16), _scalar_type("float32", np.float32)
float64 = _scalar_type("float64", np.float64)
complex64 = _scalar_type("complex64", np.complex64)
complex128 = _scalar_type("complex128", np.complex128)

single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128


def result_kind(*args: Any) -> tuple[Any, bool]:
    """The element type that arrays, scalars and dtypes promote to, and whether it is weak."""
    if not args:
        raise ValueError("at least one array or dtype is required")
    return dtypes.promote([_kind_of(a) for a in args])


def result_type(*args: Any) -> Any:
    """The element type that arrays, scalars and dtypes promote to together."""
    return result_kind(*args)[0]


def _kind_of(x: Any) -> tuple[Any, bool]:
    if x is int or x is float or x is complex:
        return dtypes.python_scalar_dtype(x), True
    if isinstance(x, (type, str, np.dtype, ExtendedDType)):
        return dtypes.canonicalize(x), False
    if x is None:
        return dtypes.canonicalize(np.float64), False
    if isinstance(x, (list, tuple)):
        raise TypeError(
            f"result_type takes arrays, scalars and dtypes, got {x!r} of type {type(x)}"
        )
    found: Any = shaped_type(x)
    return found.dtype, getattr(found, "weak_type", False)


def promote_types(a: Any, b: Any) -> Any:
    """The element type that two element types promote to."""
    kinds = []
    for x in (a, b):
        weak = x is int or x is float or x is complex
        kinds.append((dtypes.python_scalar_dtype(x), True) if weak else (dtypes.as_dtype(x), False))
    found, weak = dtypes.promote(kinds)
    return _WEAK[found.kind] if weak else found


_WEAK = {"i": np.dtype(np.int64), "f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether the element type arg1 lies below arg2 in NumPy's hierarchy."""
    return dtypes.issubdtype(arg1, arg2)


can_cast = np.can_cast
dtype = np.dtype

_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (np.bool_,),
    "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,),
    "real floating": (np.floating,),
    "complex floating": (np.complexfloating,),
    "numeric": (np.number,),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether `dtype` is of a kind, such as "integral" or "real floating", or one of several."""
    found = dtypes.as_dtype(dtype)
    for wanted in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(wanted, str) and wanted not in _KINDS:
            try:
                same = found == np.dtype(wanted)
            except TypeError:
                raise ValueError(
                    f"Unrecognized kind='{wanted}' expected one of {list(_KINDS)}, or a compatible "
                    "input for jnp.dtype()"
                ) from None
        elif isinstance(wanted, str):
            same = any(dtypes.issubdtype(found, k) for k in _KINDS[wanted])
        else:
            same = found == dtypes.as_dtype(wanted)
        if same:
            return True
    return False
