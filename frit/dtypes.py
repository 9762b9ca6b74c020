"""Element types: the names of jax.dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.ir import dtypes as _dtypes
from frit.ir.dtypes import (
    ExtendedDType,
    TypePromotionError,
    extended,
    float0,
    issubdtype,
    prng_key,
)
from frit.numpy.dtype_info import finfo, iinfo
from frit.numpy.dtype_objects import bfloat16, result_kind

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """`dtype` as it is where 64-bit types are enabled, else narrowed to 32 bits."""
    found = _dtypes.canonicalize(dtype)
    if isinstance(found, ExtendedDType) and not allow_extended_dtype:
        raise ValueError(f"Internal: canonicalize_dtype called on extended dtype {found}")
    return found


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The element type that arguments promote to; with whether it is weak, where asked."""
    found = result_kind(*args)
    return found if return_weak_type_flag else found[0]


def itemsize_bits(dtype: Any) -> int:
    """How many bits an element takes: 4 for int4, though it is stored in a byte."""
    found = _dtypes.as_dtype(dtype)
    if _dtypes.is_bool(found):
        return 8
    if _dtypes.is_integer(found):
        return int(iinfo(found).bits)
    if _dtypes.is_floating(found):
        return int(finfo(found).bits)
    return int(found.itemsize) * 8


def scalar_type_of(x: Any) -> type:
    """The Python type that stands for the kind of number in x: bool, int, float or complex."""
    found = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if _dtypes.is_bool(found):
        return bool
    if _dtypes.is_integer(found):
        return int
    if _dtypes.is_floating(found):
        return float
    if _dtypes.is_complex(found):
        return complex
    raise TypeError(f"Invalid scalar value {x}")
