"""Samples of decompositions, solves and Fourier transforms of small well-conditioned matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.lax import linalg
from frit.primitives.fft import FftType, fft
from tests.samples import Sample, complex_numbers, equation_of, numbers


def _symmetric(x: Any) -> list[Any]:
    flipped = lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    return [lax.mul(lax.add(x, flipped), lax.full_like(x, 0.5))]


def positive(n: int, *batch: int, seed: int = 0) -> np.ndarray:
    """A symmetric positive definite matrix with distinct eigenvalues."""
    x = numbers(*batch, n, n, seed=seed, low=-1, high=1, dtype="f8")
    found = x @ np.swapaxes(x, -1, -2) / n + np.diag(np.arange(1.0, n + 1))
    return ((found + np.swapaxes(found, -1, -2)) / 2).astype("f4")


def general(m: int, n: int, *batch: int, seed: int = 0) -> np.ndarray:
    """A matrix that is far from singular."""
    return (numbers(*batch, m, n, seed=seed, low=-0.5, high=0.5) + 2 * np.eye(m, n)).astype("f4")


def _of(function: Any, operands: Any, name: str, **more: Any) -> Sample:
    return equation_of(function, operands, name, tolerance=1e-4, **more)


SAMPLES = [
    _of(lambda x: linalg.cholesky(x, symmetrize_input=False), (positive(3),), "cholesky",
        prepare=_symmetric),
    _of(lambda x: linalg.cholesky(x, symmetrize_input=False), (positive(2, 2),), "cholesky",
        prepare=_symmetric),
    _of(linalg.lu, (general(3, 3),), "lu"),
    _of(linalg.lu, (general(3, 2, 2),), "lu"),
    _of(lambda x: linalg.qr(x, full_matrices=False), (general(3, 3),), "qr"),
    _of(lambda x: linalg.qr(x, full_matrices=False), (general(4, 2, 2),), "qr"),
    _of(lambda x: linalg.eigh(x, symmetrize_input=False), (positive(3),), "eigh",
        prepare=_symmetric),
    _of(lambda x: linalg.svd(x, full_matrices=False), (general(3, 3),), "svd"),
    _of(lambda x: linalg.svd(x, compute_uv=False), (general(4, 3, 2),), "svd"),
    _of(lambda a, b: linalg.triangular_solve(a, b, left_side=True, lower=True),
        (general(3, 3), numbers(3, 2)), "triangular_solve"),
    _of(lambda a, b: linalg.triangular_solve(a, b, lower=False, transpose_a=True),
        (general(3, 3, 2), numbers(2, 2, 3)), "triangular_solve"),
    _of(linalg.tridiagonal_solve,
        (numbers(4) / 8, numbers(4, seed=1) + 2, numbers(4, seed=2) / 8, numbers(4, 2, seed=3)),
        "tridiagonal_solve"),
    Sample(fft, (complex_numbers(2, 4),), {"fft_type": FftType.FFT, "fft_lengths": (4,)}),
    Sample(fft, (complex_numbers(2, 4),), {"fft_type": FftType.FFT, "fft_lengths": (2, 4)}),
    Sample(fft, (complex_numbers(4),), {"fft_type": FftType.IFFT, "fft_lengths": (4,)}),
    Sample(fft, (numbers(2, 5),), {"fft_type": FftType.RFFT, "fft_lengths": (5,)}),
    Sample(fft, (complex_numbers(3),), {"fft_type": FftType.IRFFT, "fft_lengths": (4,)}),
]  # fmt: skip
