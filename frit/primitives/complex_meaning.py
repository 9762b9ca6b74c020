"""What functions of complex numbers mean where NumPy is inaccurate, or unlike JAX at infinity.

With z = a + bi; the operands are complex128 here.  Elsewhere NumPy's functions, C99's, are meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[[Any], Any]


def join(real: Any, imag: Any) -> Any:
    """real + imag i, without the sum that would lose signs of zero and spread nan."""
    real, imag = np.broadcast_arrays(real, imag)
    result = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    result.real, result.imag = real, imag
    return result


def of_either(on_real: Function, on_complex: Function) -> Function:
    """The function that is one thing on real numbers and another on complex ones."""
    return lambda x: on_complex(x) if x.dtype.kind == "c" else on_real(x)


def exp(z: Any) -> Any:
    """e**a (cos b + i sin b), by halves of a so that nothing overflows before it must."""
    half = np.exp(z.real / 2)
    sine = np.where(z.imag == 0, z.imag, half * np.sin(z.imag) * half)
    return join(half * np.cos(z.imag) * half, sine)


def exp2(z: Any) -> Any:
    return exp(join(z.real * np.log(2), z.imag * np.log(2)))


def expm1(z: Any) -> Any:
    """expm1(a) cos b - 2 sin²(b/2) + i e**a sin b."""
    a, b = z.real, z.imag
    real = np.expm1(a) * np.cos(b) - 2 * np.square(np.sin(b / 2))
    return join(real, np.where(b == 0, b, np.exp(a) * np.sin(b)))


def log1p(z: Any) -> Any:
    """log|1 + z| + i atan2(b, 1 + a), with log1p(a (2 + a) + b²) / 2 where z is small."""
    a, b = z.real, z.imag
    near = np.log1p(a * (2 + a) + b * b) / 2
    far = np.log(np.hypot(1 + a, b))
    return join(np.where(np.abs(a) + np.abs(b) < 0.5, near, far), np.arctan2(b, 1 + a))


def _nan_at_corners(function: Function) -> Function:
    """`function`, and nan where both parts are infinite."""

    def meant(z: Any) -> Any:
        corner = np.isinf(z.real) & np.isinf(z.imag)
        return np.where(corner, complex(np.nan, np.nan), function(z))

    return meant


sin, cos = _nan_at_corners(np.sin), _nan_at_corners(np.cos)
sinh, cosh = _nan_at_corners(np.sinh), _nan_at_corners(np.cosh)


def tan(z: Any) -> Any:
    """tan z; nan at real infinities."""
    at_infinity = np.isinf(z.real) & (z.imag == 0)
    return np.where(at_infinity, complex(np.nan, np.nan), np.tan(z))


def tanh(z: Any) -> Any:
    """tanh z; the sign of a where it is large, whatever b is."""
    large = np.abs(z.real) > 40
    ends = join(np.copysign(1.0, z.real), np.copysign(0.0, np.sin(2 * z.imag)))
    return np.where(large, ends, np.tanh(z))


def square(z: Any) -> Any:
    """(a - b)(a + b) + 2abi: infinite, and not nan, where one part is."""
    return join((z.real - z.imag) * (z.real + z.imag), 2 * (z.real * z.imag))


def sign(z: Any) -> Any:
    """z / |z| by parts; z at 0."""
    size = np.abs(z)
    safe = np.where(size == 0, 1, size)
    return np.where(size == 0, z, join(z.real / safe, z.imag / safe))
