"""jax.numpy.fft: discrete Fourier transforms with NumPy's names and normalizations."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.ir import dtypes
from frit.lax.fourier import FftType
from frit.lax.fourier import fft as lax_fft
from frit.numpy.creation import array, asarray
from frit.numpy.moving import roll
from frit.numpy.operands import ensure_array
from frit.numpy.padding import pad
from frit.numpy.promotion import default_float, real_part_dtype, to_inexact
from frit.numpy.ranges import arange
from frit.numpy.shapes import moveaxis
from frit.numpy.ufuncs import conj

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_MOST_AXES = 3  # of one lax.fft


def _scale(name: str, norm: str, lengths: Sequence[int]) -> float:
    """What a transform is multiplied by for its normalization `norm`."""
    if norm not in ("backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    total = float(np.prod(np.asarray(lengths, float)))
    factor = {"backward": 1.0, "ortho": total**0.5, "forward": total}[norm]
    return factor if name.startswith("i") else 1 / factor


def _checked_lengths(s: Any, axes: Any) -> tuple[int, ...] | None:
    if s is None:
        return None
    lengths = tuple(map(operator.index, s))
    if any(n <= 0 for n in lengths):
        raise ValueError("Shape should be positive.")
    if axes is not None and len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return lengths


def _fitted(x: Any, lengths: Sequence[int], kind: FftType) -> Any:
    """x cut or padded with zeros along its last axes to what a transform of `lengths` reads."""
    sizes = list(lengths)
    if kind == FftType.IRFFT:
        sizes[-1] = sizes[-1] // 2 + 1
    lead = x.ndim - len(sizes)
    shape = (*x.shape[:lead], *sizes)
    x = x[tuple(slice(n) for n in shape)]
    if x.shape == shape:
        return x
    return pad(x, [(0, n - found) for n, found in zip(shape, x.shape, strict=True)])


def _own_lengths(x: Any, axes: Sequence[int], kind: FftType) -> tuple[int, ...]:
    lengths = [x.shape[axis] for axis in axes]
    if kind == FftType.IRFFT and lengths:
        lengths[-1] = max(0, 2 * (lengths[-1] - 1))
    return tuple(lengths)


def _transform(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    full_name = f"jax.numpy.fft.{name}"
    x = ensure_array(full_name, a)
    lengths = _checked_lengths(s, axes)
    given = axes
    if axes is None:
        axes = range(x.ndim - (x.ndim if lengths is None else len(lengths)), x.ndim)
    if len(axes) != len(set(axes)):
        raise ValueError(f"{full_name} does not support repeated axes. Got axes {axes}.")
    if given is not None:
        axes = tuple(range(x.ndim - len(axes), x.ndim))
        x = moveaxis(x, given, axes)
    if lengths is None:
        lengths = _own_lengths(x, axes, kind)
    else:
        x = _fitted(x, lengths, kind)
    result = _over_axes(x, kind, lengths)
    if norm is not None:
        result = result * result.dtype.type(_scale(name, norm, lengths))
    return result if given is None else moveaxis(result, axes, given)


def _over_axes(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    """The transform over the last axes; of many axes a few at a time.

    A real transform acts on the last axis, so it goes first, and its inverse last.
    """
    if len(lengths) <= _MOST_AXES:
        return lax_fft(x, kind, lengths)
    count = 2 if len(lengths) == 4 else _MOST_AXES
    first = x.ndim - len(lengths)
    others = tuple(range(first, x.ndim - count))
    moved = tuple(range(first + count, x.ndim))

    def rest(y: Any, kind: FftType) -> Any:
        return moveaxis(
            _over_axes(moveaxis(y, others, moved), kind, lengths[:-count]), moved, others
        )

    if kind in (FftType.RFFT, FftType.FFT):
        return rest(lax_fft(x, kind, lengths[-count:]), FftType.FFT)
    return lax_fft(rest(x, FftType.IFFT), kind, lengths[-count:])


def _over_one(name: str, kind: FftType, a: Any, n: Any, axis: Any, norm: str | None) -> Any:
    if isinstance(axis, (list, tuple)):
        full_name = f"jax.numpy.fft.{name}"
        raise ValueError(
            f"{full_name} does not support multiple axes. Please use {full_name}n. Got axis = "
            f"{axis}."
        )
    return _transform(
        name, kind, a, None if n is None else [n], None if axis is None else [axis], norm
    )


def _over_two(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    if len(axes) != 2:
        raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes}.")
    return _transform(name, kind, a, s, axes, norm)


# ----------------------------------------------------------------------------------- the transforms
# s, n: the lengths to cut or pad to, by default those of the array; of irfft 2 (m - 1).
# norm: "backward" (None) divides inverses by the length, "forward" the others, "ortho" each by its
# root.


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transform along `axis`: sum over j of a[j] exp(-2 pi i j k / n)."""
    return _over_one("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse transform along `axis`."""
    return _over_one("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The first n // 2 + 1 elements of the transform of real numbers."""
    return _over_one("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The n real numbers whose rfft is `a`."""
    return _over_one("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real transform of a signal that is Hermitian in time, given by its first half."""
    a = conj(a)
    size = _one_size("hfft", a, axis)
    result = _over_one("hfft", FftType.IRFFT, a, n, axis, norm)
    return result * ((size - 1) * 2 if n is None else n)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of hfft."""
    a = asarray(a)
    size = _one_size("ihfft", a, axis)
    result = _over_one("ihfft", FftType.RFFT, a, n, axis, norm)
    return conj(result) * (1 / (size if n is None else n))


def _one_size(name: str, a: Any, axis: Any) -> Any:
    if isinstance(axis, (list, tuple)):
        _over_one(name, FftType.FFT, a, None, axis, None)
    return a.shape[axis]


def fft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The transform over two axes."""
    return _over_two("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse transform over two axes."""
    return _over_two("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The transform of real numbers over two axes, of which the last is halved."""
    return _over_two("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of rfft2."""
    return _over_two("irfft2", FftType.IRFFT, a, s, axes, norm)


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The transform over `axes`, by default all, or the last len(s)."""
    return _transform("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse transform over `axes`."""
    return _transform("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The transform of real numbers over `axes`, of which the last is halved."""
    return _transform("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse of rfftn."""
    return _transform("irfftn", FftType.IRFFT, a, s, axes, norm)


# -------------------------------------------------------------------------------------- frequencies


def _check_spacing(name: str, n: Any, d: Any) -> None:
    if isinstance(n, (list, tuple)):
        raise ValueError(
            f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {list(n)}."
        )
    if isinstance(d, (list, tuple)):
        raise ValueError(
            f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {list(d)}."
        )


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the elements of fft, for n samples `d` apart: 0, 1, …, -1 over n d."""
    _check_spacing("fftfreq", n, d)
    wanted = dtype or default_float()
    working = real_part_dtype(to_inexact(dtypes.as_dtype(wanted)))
    places = arange(n, dtype=working)
    signed = (places + n // 2) % n - n // 2
    return (signed.astype(working) / array(d * n, dtype=working)).astype(wanted)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the elements of rfft, for n samples `d` apart: 0, 1, … over n d."""
    _check_spacing("rfftfreq", n, d)
    wanted = dtype or default_float()
    return arange(0, n // 2 + 1, dtype=wanted) / array(d * n, dtype=wanted)


def _shifts(x: Any, axes: Any, direction: int) -> tuple[Any, Any]:
    """How far to roll, and along which axes, to bring the frequency 0 to the middle (or back)."""
    if axes is None:
        axes = tuple(range(x.ndim))
    if isinstance(axes, int):
        return direction * (x.shape[axes] // 2), axes
    return [direction * (x.shape[axis] // 2) for axis in axes], axes


def fftshift(x: Any, axes: Any = None) -> Any:
    """`x` with the frequency 0 moved from the front to the middle."""
    x = ensure_array("fftshift", x)
    return roll(x, *_shifts(x, axes, 1))


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of fftshift."""
    x = ensure_array("ifftshift", x)
    return roll(x, *_shifts(x, axes, -1))
