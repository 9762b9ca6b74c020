"""Spectra of overlapping windowed segments, and signals put together from them.

frames[..., s, :] = signal[..., s step : s step + nperseg],   step = nperseg - noverlap
spectra[..., s, :] = fft(window * detrended frames) * scale
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit.numpy.operands import canonical_axis, check_arraylike, ensure_array
from frit.numpy.promotion import promote_dtypes_inexact, real_part_dtype, to_complex
from frit.scipy.signal.trends import detrend as remove_trend


@dataclass(frozen=True, slots=True)
class _Frames:
    """How a signal is cut: length of a frame, overlap with the next, size of its transform."""

    length: int
    overlap: int
    transform: int

    @property
    def step(self) -> int:
        return self.length - self.overlap


def _frames(length: int, overlap: int | None, transform: int | None) -> _Frames:
    """The frames.  ValueError where the numbers contradict each other."""
    if length < 1:
        raise ValueError("nperseg must be a positive integer")
    found = _Frames(
        length,
        length // 2 if overlap is None else int(overlap),
        length if transform is None else int(transform),
    )
    if found.transform < found.length:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    if found.overlap >= found.length:
        raise ValueError("noverlap must be less than nperseg.")
    return found


def _named_window(window: Any, length: int) -> np.ndarray:
    """A window of SciPy's by its name, periodic."""
    if isinstance(window, str) and window == "hann":
        return np.sin(np.pi * np.arange(length) / length) ** 2 if length > 1 else np.ones(1)
    from scipy.signal import get_window

    return get_window(window, length)


def _window(window: Any, length: int | None, size: int, dtype: Any) -> tuple[Any, int]:
    """The window as an array, and its length, at most the signal's size."""
    if isinstance(window, (str, tuple)):
        length = size if length is None else int(length)
        if length > size:
            warnings.warn(
                f"nperseg={length} is greater than input_length={size!r}, using nperseg={size}",
                stacklevel=4,
            )
            length = size
        return jnp.asarray(_named_window(window, max(length, 1)), dtype=dtype), length
    values = jnp.asarray(window, dtype=dtype)
    if values.ndim != 1:
        raise ValueError("window must be 1-D")
    if size < values.size:
        raise ValueError("window is longer than input signal")
    if length is not None and int(length) != values.size:
        raise ValueError("value specified for nperseg is different from length of window")
    return values, values.size


# ---- what stands beyond the ends ----------------------------------------------------------------


def _extended_oddly(x: Any, n: int) -> Any:
    """x turned around its ends: 2 x[0] - x[n:0:-1] before it, and likewise after."""
    if n < 1:
        return x
    if n > x.shape[-1] - 1:
        raise ValueError(
            f"The extension length n ({n}) is too big. It must not exceed x.shape[axis]-1, which "
            f"is {x.shape[-1] - 1}."
        )
    before = 2 * x[..., :1] - jnp.flip(x[..., 1 : n + 1], axis=-1)
    after = 2 * x[..., -1:] - jnp.flip(x[..., -(n + 1) : -1], axis=-1)
    return jnp.concatenate([before, x, after], axis=-1)


def _padded(mode: str) -> Callable[[Any, int], Any]:
    return lambda x, n: jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], mode)


_BOUNDARIES: dict[str | None, Callable[[Any, int], Any]] = {
    "even": _padded("reflect"),
    "odd": _extended_oddly,
    "constant": _padded("edge"),
    "zeros": _padded("constant"),
    None: lambda x, n: x,
}


def _with_zeros(x: Any, n: int) -> Any:
    """x with n zeros after it."""
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n)])


# ---- spectra ------------------------------------------------------------------------------------


def _detrender(detrend: Any, axis: int) -> Callable[[Any], Any]:
    if isinstance(detrend, str):
        return lambda x: remove_trend(x, type=detrend, axis=-1)
    if callable(detrend):
        if axis == -1:
            return detrend
        return lambda x: jnp.moveaxis(detrend(jnp.moveaxis(x, axis, -1)), -1, axis)
    if not detrend:
        return lambda x: x
    raise ValueError(f"Unsupported detrend type: {detrend}")


def _transformed(
    x: Any, window: Any, detrend: Callable[[Any], Any], frames: _Frames, one_sided: bool
) -> Any:
    """(..., frames, frequencies)"""
    starts = np.arange(0, x.shape[-1] - frames.length + 1, frames.step)
    cut = detrend(x[..., starts[:, None] + np.arange(frames.length)])
    windowed = cut * window.reshape((1,) * (cut.ndim - 1) + window.shape)
    if one_sided:
        return jnp.fft.rfft(windowed.real, n=frames.transform)
    return jnp.fft.fft(windowed, n=frames.transform)


def _scale(window: Any, fs: Any, scaling: str) -> Any:
    if scaling == "density":
        return 1.0 / (fs * jnp.sum(window * window))
    if scaling == "spectrum":
        return 1.0 / jnp.sum(window) ** 2
    raise ValueError(f"Unknown scaling: {scaling}")


def _matched(x: Any, y: Any) -> tuple[Any, Any]:
    """x and y with zeros after the shorter one."""
    n = max(x.shape[-1], y.shape[-1])
    return _with_zeros(x, n - x.shape[-1]), _with_zeros(y, n - y.shape[-1])


def _signals(x: Any, y: Any, axis: int) -> list[Any]:
    """The signals as floats with time along their last axis."""
    check_arraylike("spectral analysis", *([x] if y is None else [x, y]))
    signals = promote_dtypes_inexact(*(jnp.asarray(s) for s in ([x] if y is None else [x, y])))
    if y is not None and signals[0].ndim != signals[1].ndim:
        raise ValueError(
            f"two-arguments must have the same rank ({signals[0].ndim} vs {signals[1].ndim})."
        )
    signals = [jnp.moveaxis(s, axis, -1) for s in signals]
    try:
        jnp.broadcast_shapes(*(s.shape[:-1] for s in signals))
    except ValueError as error:
        raise ValueError("x and y cannot be broadcast together.") from error
    return signals


def _spectra(
    x: Any, y: Any, *, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
    return_onesided: bool, scaling: str, axis: int, power: bool, boundary: str | None = None,
    padded: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Frequencies, times, and spectra of x (or x and y): frequency along `axis`, time last."""
    if boundary not in _BOUNDARIES:
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: {list(_BOUNDARIES)}"
        )
    if nperseg is not None and int(nperseg) < 1:
        raise ValueError("nperseg must be a positive integer")
    axis = canonical_axis(axis, jnp.ndim(x))
    signals = _signals(x, y, axis)
    result_dtype = to_complex(signals[0].dtype)
    real_dtype = real_part_dtype(result_dtype)
    if any(s.size == 0 for s in signals):
        shape = list(jnp.broadcast_shapes(*(s.shape[:-1] for s in signals)))
        shape.insert(axis, min(s.shape[-1] for s in signals))
        empty = jnp.zeros(shape, real_dtype)
        return empty, empty, jnp.zeros(shape, result_dtype)
    values, length = _window(window, nperseg, signals[0].shape[-1], signals[0].dtype)
    frames = _frames(length, noverlap, nfft)
    if y is not None:
        signals = list(_matched(*signals))
    signals = [_BOUNDARIES[boundary](s, frames.length // 2) for s in signals]
    if padded:
        missing = -(signals[0].shape[-1] - frames.length) % frames.step % frames.length
        signals = [_with_zeros(s, missing) for s in signals]
    one_sided = return_onesided and not any(jnp.iscomplexobj(s) for s in signals)
    if return_onesided and not one_sided:
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=3)
    function = _detrender(detrend, axis if axis != signals[0].ndim - 1 else -1)
    parts = [_transformed(s, values, function, frames, one_sided) for s in signals]
    scale = _scale(values, fs, scaling)
    result = jnp.conjugate(parts[0]) * parts[-1] if power else parts[0]
    result = result * (scale if power else jnp.sqrt(scale)).astype(result.dtype)
    if one_sided and power:
        result = result.at[..., 1 : None if frames.transform % 2 else -1].multiply(2)
    half = frames.length / 2
    times = jnp.arange(half, signals[0].shape[-1] - half + 1, frames.step, dtype=real_dtype) / fs
    if boundary is not None:
        times = times - half / fs
    frequencies = (jnp.fft.rfftfreq if one_sided else jnp.fft.fftfreq)(
        frames.transform, 1 / fs, dtype=real_dtype
    )
    result = result.astype(result_dtype)
    if y is None and power:
        result = result.real
    return frequencies, times, jnp.moveaxis(result, -1, axis)


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """Frequencies, times, and the short-time Fourier transform of x, with times as last axis.

    fs: samples per unit of time; window: a name or an array; nperseg, noverlap, nfft: length of a
    frame, overlap, size of the transform; boundary: what is put at both ends ("even", "odd",
    "constant", "zeros" or None).
    """
    return _spectra(
        x, None, fs=fs, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft,
        detrend=detrend, return_onesided=return_onesided, scaling="spectrum", axis=axis,
        power=False, boundary=boundary, padded=padded,
    )  # fmt: skip


def _median_bias(n: int) -> float:
    """The expected median of n exponential numbers of mean 1, n odd."""
    even = np.arange(2.0, n, 2)
    return 1 + float(np.sum(1.0 / (even + 1) - 1.0 / even))


def _averaged(spectra: Any, average: str) -> Any:
    """Over the last axis, the frames."""
    if spectra.shape[-1] == 1:
        return spectra[..., 0]
    if average == "mean":
        return jnp.mean(spectra, axis=-1)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    bias = _median_bias(spectra.shape[-1])
    if jnp.iscomplexobj(spectra):
        real, imaginary = jnp.median(spectra.real, axis=-1), jnp.median(spectra.imag, axis=-1)
        return (real + 1j * imaginary) / bias
    return jnp.median(spectra, axis=-1) / bias


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Frequencies, and the cross power spectrum of x and y (None: x) averaged over frames.

    scaling: "density", per unit of frequency, or "spectrum"; average: "mean" or "median".  The
    rest as `stft`.  Source: Welch 1967.
    """
    frequencies, _, spectra = _spectra(
        x, y, fs=fs, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft,
        detrend=detrend, return_onesided=return_onesided, scaling=scaling, axis=axis, power=True,
    )  # fmt: skip
    if y is not None:
        spectra = spectra + 0j
    if spectra.ndim >= 2 and spectra.size > 0:
        spectra = _averaged(spectra, average)
    return frequencies, spectra


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Frequencies, and the power spectrum of x averaged over frames; arguments as `csd`."""
    frequencies, spectrum = csd(
        x, None, fs=fs, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft,
        detrend=detrend, return_onesided=return_onesided, scaling=scaling, axis=axis,
        average=average,
    )  # fmt: skip
    return frequencies, spectrum.real


# ---- back ---------------------------------------------------------------------------------------


def _overlap_and_add(frames: Any, step_size: int) -> Any:
    """(..., step (count - 1) + length): frames (..., count, length) added `step_size` apart."""
    check_arraylike("_overlap_and_add", frames)
    step_size = int(step_size)
    if frames.ndim < 2:
        raise ValueError("Input must have (..., frames, frame_length) shape.")
    *batch, count, length = frames.shape
    places = np.arange(count)[:, None] * step_size + np.arange(length)
    total = jnp.zeros((*batch, step_size * (count - 1) + length), frames.dtype)
    return total.at[..., places].add(frames)


def _reconstruction_window(window: Any, length: int, dtype: Any) -> Any:
    if isinstance(window, (str, tuple)):
        return jnp.asarray(_named_window(window, length), dtype=dtype)
    values = jnp.asarray(window)
    if values.ndim != 1:
        raise ValueError("window must be 1-D")
    if values.shape[0] != length:
        raise ValueError(f"window must have length of {length}")
    return values


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """Times, and the signal whose short-time Fourier transform comes closest to `Zxx`.

    The arguments are those that `stft` was given.  Source: Griffin & Lim 1984.
    """
    z = ensure_array("istft", Zxx)
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    freq_axis, time_axis = canonical_axis(freq_axis, z.ndim), canonical_axis(time_axis, z.ndim)
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    z = jnp.asarray(z, dtype=to_complex(z.dtype))
    default = 2 * (z.shape[freq_axis] - 1) if input_onesided else z.shape[freq_axis]
    length = int(nperseg or default)
    if length < 1:
        raise ValueError("nperseg must be a positive integer")
    size = int(nfft) if nfft is not None else default + (input_onesided and length == default + 1)
    if size < length:
        raise ValueError(f"FFT length ({size}) must be longer than nperseg ({length}).")
    overlap = int(noverlap or length // 2)
    if overlap >= length:
        raise ValueError("noverlap must be less than nperseg.")
    z = jnp.moveaxis(z, (freq_axis, time_axis), (-1, -2))
    frames = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, n=size)[..., :length]
    values = _reconstruction_window(window, length, frames.dtype)
    x = _put_together(frames, values, length - overlap, length // 2 if boundary else 0)
    if x.ndim > 1:
        x = jnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))
    times = jnp.arange(x.shape[0], dtype=real_part_dtype(to_complex(x.dtype))) / fs
    return times, x


def _put_together(frames: Any, window: Any, step: int, cut: int) -> Any:
    """The signal whose windowed frames come closest to `frames`, without `cut` at both ends."""
    aligned = window.reshape((1,) * (frames.ndim - 1) + window.shape)
    total = _overlap_and_add(frames * (aligned * jnp.sum(window)), step)
    count = frames.shape[-2]
    weights = _overlap_and_add(jnp.broadcast_to(window * window, (count, window.size)), step)
    weights = weights.reshape((1,) * (total.ndim - 1) + weights.shape)
    if cut:
        total, weights = total[..., cut:-cut], weights[..., cut:-cut]
    return total / jnp.where(weights > 1e-10, weights, 1.0)
