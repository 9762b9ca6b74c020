"""Limits of the element types: finfo of floats, iinfo of integers, for ml_dtypes too."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from frit.ir import dtypes


class finfo:
    """The limits of a floating element type: eps, tiny, max, min, bits, nexp, nmant …"""

    def __new__(cls, dtype: Any) -> Any:
        return _float_info(_dtype_of(dtype))


class iinfo:
    """The limits of an integer element type: min, max, bits."""

    def __new__(cls, dtype: Any) -> Any:
        return ml_dtypes.iinfo(_dtype_of(dtype))


@functools.cache
def _float_info(dtype: np.dtype) -> Any:
    return ml_dtypes.finfo(dtype)


def _dtype_of(x: Any) -> Any:
    own = getattr(x, "dtype", None)
    if isinstance(own, np.dtype):
        return own
    return dtypes.as_dtype(x if own is None or isinstance(x, type) else type(x))
