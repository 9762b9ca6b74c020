"""fft: discrete Fourier transforms over the last axes, of `fft_lengths`.

FFT, IFFT: complex to complex.  RFFT: real to the first half of the complex result.  IRFFT: back.
The inverses divide by the product of the lengths.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.primitive import Primitive, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.comparison_and_bits import eq, or_, select_n
from frit.primitives.conversion import conjugate
from frit.primitives.elementwise import constant, constant_array, times
from frit.primitives.shapes import iota
from frit.transforms.linear import move_axis
from frit.transforms.rules import linear_jvp


class FftType(enum.IntEnum):
    """Which transform: complex or real, forward or inverse."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_FUNCTIONS: dict[FftType, Callable[..., Any]] = {
    FftType.FFT: np.fft.fftn,
    FftType.IFFT: np.fft.ifftn,
    FftType.RFFT: np.fft.rfftn,
    FftType.IRFFT: np.fft.irfftn,
}


def _same(found: Any, wanted: Any) -> bool:
    return len(found) == len(wanted) and all(map(dims.same, found, wanted))


def _result_types(x: ShapedArray, *, fft_type: FftType, fft_lengths: Any) -> ShapedArray:
    count = len(fft_lengths)
    if count > x.ndim:
        raise ValueError(
            f"FFT input shape {x.shape} must have at least as many input dimensions as "
            f"fft_lengths {fft_lengths}."
        )
    lead, last = x.shape[: x.ndim - count], x.shape[x.ndim - count :]
    name = "FFT" if fft_type == FftType.IFFT else fft_type.name
    if fft_type == FftType.RFFT:
        if x.dtype not in (np.float32, np.float64):
            raise ValueError(f"RFFT input must be float32 or float64, got {x.dtype}")
        shape: Any = (*lead, *fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
        dtype = np.dtype(f"c{2 * x.dtype.itemsize}")
    elif not dtypes.is_complex(x.dtype):
        raise ValueError(f"{name} input must be complex64 or complex128, got {x.dtype}")
    elif fft_type == FftType.IRFFT:
        if not _same(last[:-1], fft_lengths[:-1]):
            raise ValueError(
                f"IRFFT input shape {x.shape} minor dimensions must be equal to all except the "
                f"last fft_length, got fft_lengths={fft_lengths}"
            )
        return x.update(shape=(*lead, *fft_lengths), dtype=np.dtype(f"f{x.dtype.itemsize // 2}"))
    else:
        shape, dtype = x.shape, x.dtype
    if not _same(last, fft_lengths):
        raise ValueError(
            f"{name} input shape {x.shape} minor dimensions must be equal to fft_lengths "
            f"{fft_lengths}"
        )
    return x.update(shape=shape, dtype=dtype)


def _evaluate(x: Any, *, fft_type: FftType, fft_lengths: Any) -> np.ndarray:
    x = np.asarray(x)
    aval: Any = typeof(x)
    result = _result_types(aval, fft_type=fft_type, fft_lengths=fft_lengths)
    if not x.size or not math.prod(result.shape):
        return np.zeros(result.shape, result.dtype)
    axes = tuple(range(-len(fft_lengths), 0))
    found = _FUNCTIONS[FftType(fft_type)](x, s=fft_lengths, axes=axes)
    return np.asarray(found).astype(result.dtype, copy=False)


def _weights(like: Any, length: int, twice: float) -> Any:
    """`twice` along the last axis, where a real transform leaves out the conjugate; 1 elsewhere."""
    aval: Any = typeof(like)
    shape = aval.shape
    last = len(shape) - 1
    place = iota(dtype=np.dtype("i4"), shape=shape, dimension=last, sharding=None)
    alone = eq(place, np.int32(0))
    if length % 2 == 0:
        alone = or_(alone, eq(place, np.int32(length // 2)))
    return select_n(alone, constant_array(like, twice), constant_array(like, 1))


def _transpose(ct: Any, x: Any, *, fft_type: FftType, fft_lengths: Any) -> list[Any]:
    """Complex transforms are symmetric matrices.  Of real ones, half of the result is left out."""
    total = math.prod(fft_lengths)
    if fft_type == FftType.RFFT:
        halved = times(conjugate(ct), _weights(ct, fft_lengths[-1], 0.5))
        back = fft(halved, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)
        return [times(constant(back, total), back)]
    if fft_type == FftType.IRFFT:
        there = fft(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
        weighted = times(there, _weights(there, fft_lengths[-1], 2))
        return [conjugate(times(constant(weighted, 1 / total), weighted))]
    return [fft(ct, fft_type=fft_type, fft_lengths=fft_lengths)]


def _batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> Any:
    return fft(move_axis(operands[0], mapped[0], 0), **params), 0


fft: Primitive = Primitive(
    "fft",
    result_types=_result_types,
    evaluate=_evaluate,
    jvp=linear_jvp(lambda: fft),
    transpose=_transpose,
    batch=_batch,
    accuracy=order,
)
