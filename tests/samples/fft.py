"""Samples of discrete Fourier transforms."""

from frit.primitives.fft import FftType, fft
from tests.samples import Sample, complex_numbers, numbers


def _fft(x, kind, *lengths, **more):
    params = {"fft_type": kind, "fft_lengths": lengths}
    return Sample(fft, (x,), params, note=f"{kind.name}{lengths}", **more)


SAMPLES = [
    _fft(complex_numbers(5), FftType.FFT, 5),
    _fft(complex_numbers(2, 4, dtype="c16"), FftType.FFT, 2, 4),
    _fft(complex_numbers(3, 4), FftType.IFFT, 4),
    _fft(complex_numbers(2, 3, 4), FftType.IFFT, 3, 4),
    _fft(numbers(6), FftType.RFFT, 6),
    _fft(numbers(2, 5), FftType.RFFT, 5),
    _fft(numbers(3, 4, dtype="f8"), FftType.RFFT, 3, 4),
    _fft(complex_numbers(4), FftType.IRFFT, 6),
    _fft(complex_numbers(2, 3), FftType.IRFFT, 5),
    _fft(complex_numbers(3, 3, dtype="c16"), FftType.IRFFT, 3, 4),
    _fft(complex_numbers(0, 4), FftType.FFT, 4),
]
