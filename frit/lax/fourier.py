"""jax.lax.fft: discrete Fourier transforms over the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.api.jitting import jit
from frit.ir import dtypes
from frit.ir.primitive import under_trace
from frit.lax.operands import as_array, dtype_of
from frit.primitives.conversion import convert
from frit.primitives.fft import FftType
from frit.primitives.fft import fft as fft_p

__all__ = ["FftType", "fft", "fft_p"]


def _type_of(fft_type: Any) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    if not isinstance(fft_type, str):
        raise TypeError(
            f"Unknown FFT type value '{fft_type}': give an lax.FftType or its name as a string."
        )
    if fft_type.upper() not in FftType.__members__ or not (
        fft_type.isupper() or fft_type.islower()
    ):
        raise ValueError(f"Unknown FFT type '{fft_type}'")
    return FftType[fft_type.upper()]


def _inexact(dtype: Any) -> np.dtype:
    if dtypes.is_inexact(dtype):
        return dtype
    return np.dtype("f8" if dtype in (np.int64, np.uint64) else "f4")


def _fft(x: Any, fft_type: Any, fft_lengths: Sequence[int]) -> Any:
    kind = _type_of(fft_type)
    x = as_array(x)
    dtype = _inexact(dtype_of(x))
    if kind == FftType.RFFT:
        if dtypes.is_complex(dtype):
            raise ValueError("only real valued inputs supported for rfft")
        x = convert(x, dtype)
    else:
        x = convert(x, np.dtype("c16" if dtype in (np.float64, np.complex128) else "c8"))
    if not len(fft_lengths):
        return x
    return fft_p(x, fft_type=kind, fft_lengths=tuple(fft_lengths))


_fft.__name__ = "fft"
_traced = jit(_fft, static_argnums=(1, 2))


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """The transform of `x` over its last len(fft_lengths) axes.

    fft_type: FFT, IFFT (complex), RFFT (real input, result of fft_lengths[-1] // 2 + 1 elements) or
    IRFFT (its inverse, a result of fft_lengths[-1] elements), or one of these names.
    """
    if under_trace():
        return _traced(x, fft_type, tuple(fft_lengths))
    return _fft(x, fft_type, fft_lengths)
