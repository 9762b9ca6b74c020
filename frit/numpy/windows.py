"""Window functions: weights over M points that fall towards both ends."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from frit import lax
from frit.numpy.interpolation import i0
from frit.numpy.operands import concrete
from frit.numpy.promotion import default_float
from frit.numpy.ufuncs import absolute, cos, sqrt


def _window(name: str, M: Any, weights: Callable[[Any, int], Any]) -> Any:
    size = operator.index(concrete(M, f"M argument of jnp.{name}"))
    dtype = default_float()
    if size <= 1:
        return lax.full((max(size, 0),), 1, dtype)
    return weights(lax.iota(dtype, size), size)


def bartlett(M: int) -> Any:
    """The triangular window: 1 - |2n - M + 1| / (M - 1)."""
    return _window("bartlett", M, lambda n, m: 1 - absolute(2 * n + 1 - m) / (m - 1))


def blackman(M: int) -> Any:
    """The Blackman window: 0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))."""

    def weights(n: Any, m: int) -> Any:
        first, second = cos(2 * np.pi * n / (m - 1)), cos(4 * np.pi * n / (m - 1))
        return 0.42 - 0.5 * first + 0.08 * second

    return _window("blackman", M, weights)


def hamming(M: int) -> Any:
    """The Hamming window: 0.54 - 0.46 cos(2 pi n / (M - 1))."""
    return _window("hamming", M, lambda n, m: 0.54 - 0.46 * cos(2 * np.pi * n / (m - 1)))


def hanning(M: int) -> Any:
    """The Hann window: 0.5 (1 - cos(2 pi n / (M - 1)))."""
    return _window("hanning", M, lambda n, m: 0.5 * (1 - cos(2 * np.pi * n / (m - 1))))


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window: i0(beta sqrt(1 - (2n / (M - 1) - 1)**2)) / i0(beta)."""

    def weights(n: Any, m: int) -> Any:
        half = 0.5 * (m - 1)
        return i0(beta * sqrt(1 - ((n - half) / half) ** 2)) / i0(beta)

    return _window("kaiser", M, weights)
