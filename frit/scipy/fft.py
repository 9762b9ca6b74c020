"""jax.scipy.fft: cosine transforms of type 2, by Fourier transforms of the same size.

    dct(x)[k]  = 2 sum(x[n] cos(pi k (2n + 1) / 2N))
    idct(X)[n] = (X[0] / 2 + sum(X[k] cos(pi k (2n + 1) / 2N))) / N

Source: Makhoul 1980: the even samples, then the odd ones backwards, are v; X = 2 Re(w fft(v)) with
w[k] = exp(-i pi k / 2N).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.numpy.operands import canonical_axes, canonical_axis, ensure_array
from frit.numpy.promotion import promote_dtypes_inexact, to_complex

__all__ = ["dct", "dctn", "idct", "idctn"]


def _check(name: str, type: int, norm: str | None) -> None:
    if type != 2:
        raise NotImplementedError("Only DCT type 2 is implemented.")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(
            f"jax.scipy.fft.{name}: norm={norm!r} is not implemented; use None, 'backward' or "
            "'ortho'."
        )


def _resized(x: Any, n: int | None, axis: int) -> Any:
    """x with n elements along `axis`, cut or filled with zeros."""
    if n is None:
        return x
    missing = [(0, n - x.shape[axis] if i == axis else 0, 0) for i in range(x.ndim)]
    return lax.pad(x, np.zeros((), x.dtype)[()], missing)


def _order(n: int) -> np.ndarray:
    """The even positions, then the odd ones backwards."""
    return np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])


def _along_last(values: np.ndarray, x: Any, dtype: Any) -> np.ndarray:
    """One value for each position along x's last axis, of x's rank."""
    return values.astype(dtype).reshape((1,) * (x.ndim - 1) + values.shape)


def _twiddles(x: Any, sign: int) -> np.ndarray:
    n = x.shape[-1]
    return _along_last(np.exp(sign * 0.5j * np.pi * np.arange(n) / n), x, to_complex(x.dtype))


def _first_apart(x: Any, first: float, others: float) -> np.ndarray:
    factors = np.full(x.shape[-1], others)
    factors[:1] = first
    return _along_last(factors, x, x.dtype)


def _orthonormal(x: Any) -> np.ndarray:
    """What makes the transform's matrix orthogonal."""
    n = x.shape[-1]
    return _first_apart(x, np.sqrt(1 / (4 * n)), np.sqrt(1 / (2 * n)))


def _forward(x: Any, norm: str | None) -> Any:
    spectrum = jnp.fft.fft(x[..., _order(x.shape[-1])], axis=-1)
    result = 2 * (spectrum * _twiddles(x, -1)).real
    return result * _orthonormal(result) if norm == "ortho" else result


def _backward(x: Any, norm: str | None) -> Any:
    if norm == "ortho":
        x = x / _orthonormal(x)
    halved = (x * _first_apart(x, 0.5, 1.0)).astype(to_complex(x.dtype))
    shuffled = jnp.fft.ifft(halved * _twiddles(x, 1), axis=-1).real
    return shuffled[..., np.argsort(_order(x.shape[-1]))]


def _along(
    transform: Callable[..., Any], x: Any, n: int | None, axis: int, norm: str | None
) -> Any:
    """`transform` along one axis, of the real and the imaginary part each."""
    if jnp.iscomplexobj(x):
        parts = (_along(transform, part, n, axis, norm) for part in (x.real, x.imag))
        return lax.complex(*parts)
    (x,) = promote_dtypes_inexact(x)
    axis = canonical_axis(axis, x.ndim)
    moved = jnp.moveaxis(_resized(x, n, axis), axis, -1)
    return jnp.moveaxis(transform(moved, norm), -1, axis)


def _along_axes(transform: Callable[..., Any], x: Any, s: Any, axes: Any, norm: Any) -> Any:
    if s is not None:
        s = list(s) if np.iterable(s) else [operator.index(s)]
        if len(s) > x.ndim:
            raise ValueError(f"s must have at most x.ndim ({x.ndim}) elements, got {len(s)}")
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = canonical_axes(tuple(axes) if np.iterable(axes) else axes, x.ndim)
    sizes = [None] * len(axes) if s is None else s
    for axis, n in zip(axes, sizes, strict=True):
        x = _along(transform, x, n, axis, norm)
    return x


def dct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The cosine transform along `axis`, cut or filled with zeros to size n first.

    `norm` "ortho" makes it orthogonal.  NotImplementedError for other types than 2.
    """
    x = ensure_array("dct", x)
    _check("dct", type, norm)
    return _along(_forward, x, n, axis, norm)


def idct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The inverse of `dct`."""
    x = ensure_array("idct", x)
    _check("idct", type, norm)
    return _along(_backward, x, n, axis, norm)


def dctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The cosine transform along several axes, by default all, of sizes s."""
    x = ensure_array("dctn", x)
    _check("dctn", type, norm)
    return _along_axes(_forward, x, s, axes, norm)


def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The inverse of `dctn`."""
    x = ensure_array("idctn", x)
    _check("idctn", type, norm)
    return _along_axes(_backward, x, s, axes, norm)
