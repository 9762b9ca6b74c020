"""jax.scipy.signal: convolutions, trends and spectra of sampled signals."""

from frit.scipy.signal.convolutions import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
)
from frit.scipy.signal.spectra import csd, istft, stft, welch
from frit.scipy.signal.trends import detrend

__all__ = [
    "convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "istft",
    "stft", "welch",
]  # fmt: skip
