"""Convolutions and correlations of signals in any number of dimensions.

    convolve(a, b)[n] = sum(a[k] b[n - k]),   correlate(a, b)[n] = sum(a[k] conj(b[k - n]))

mode "full": wherever they meet; "same": the middle part, of a's shape; "valid": where one covers
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.numpy.operands import canonical_axes, check_arraylike
from frit.numpy.promotion import promote_dtypes_inexact

_MODES = ("full", "same", "valid")


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")


def _second_covers_first(first: Any, second: Any) -> bool:
    """Whether `second` is the larger.  ValueError where neither covers the other."""
    pairs = list(zip(first.shape, second.shape, strict=True))
    if all(m >= n for m, n in pairs):
        return all(m <= n for m, n in pairs)
    if all(m <= n for m, n in pairs):
        return True
    raise ValueError(
        "One input must be smaller than the other in every dimension, but they have shapes "
        f"{first.shape} and {second.shape}."
    )


def _convolve(first: Any, second: Any, mode: str, precision: Any) -> Any:
    _check_mode(mode)
    first, second = promote_dtypes_inexact(jnp.asarray(first), jnp.asarray(second))
    if first.ndim != second.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions")
    if first.size == 0 or second.size == 0:
        raise ValueError(
            f"zero-size arrays not supported in convolutions, got shapes {first.shape} and "
            f"{second.shape}."
        )
    wanted = first.shape
    if _second_covers_first(first, second):
        first, second = second, first
    sizes = second.shape
    if mode == "valid":
        padding = [(0, 0)] * len(sizes)
    else:
        padding = [(n - 1, n - 1) for n in sizes]
    result = lax.conv_general_dilated(
        first[None, None], jnp.flip(second)[None, None], (1,) * len(sizes), padding,
        precision=precision,
    )[0, 0]  # fmt: skip
    return _centred(result, wanted) if mode == "same" else result


def _centred(x: Any, shape: Sequence[int]) -> Any:
    """The middle of x, of the given shape; the odd element is cut at the end."""
    starts = [(n - m) // 2 for n, m in zip(x.shape, shape, strict=True)]
    return lax.slice(x, starts, [s + m for s, m in zip(starts, shape, strict=True)])


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The convolution of arrays of one rank; `method` "direct" (also "auto") or "fft"."""
    if method == "fft":
        return fftconvolve(in1, in2, mode=mode)
    if method not in ("direct", "auto"):
        raise ValueError(f"Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    return _convolve(in1, in2, mode, precision)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The cross-correlation of arrays of one rank."""
    return convolve(in1, jnp.flip(jnp.conj(in2)), mode, method, precision)


def _check_two_dimensional(name: str, in1: Any, in2: Any, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")
    if np.ndim(in1) != 2 or np.ndim(in2) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Any:
    """The convolution of matrices, zeros around them."""
    _check_two_dimensional("convolve2d", in1, in2, boundary, fillvalue)
    return _convolve(in1, in2, mode, precision)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Any:
    """The cross-correlation of matrices, zeros around them."""
    _check_two_dimensional("correlate2d", in1, in2, boundary, fillvalue)
    in1, in2 = jnp.asarray(in1), jnp.asarray(in2)
    if mode == "same":
        # The middle of the mirrored result: where one element must go, it goes at the start.
        return jnp.flip(_convolve(jnp.flip(in1), jnp.conj(in2), mode, precision))
    return _convolve(in1, jnp.flip(jnp.conj(in2)), mode, precision)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | None = None) -> Any:
    """The convolution along `axes` (all, by default) by Fourier transforms; other axes match."""
    check_arraylike("fftconvolve", in1, in2)
    first, second = promote_dtypes_inexact(jnp.asarray(in1), jnp.asarray(in2))
    if first.ndim != second.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    _check_mode(mode)
    axes = canonical_axes(axes if axes is None or np.ndim(axes) == 0 else tuple(axes), first.ndim)
    others = [i for i in range(first.ndim) if i not in axes]
    if any(first.shape[i] != second.shape[i] for i in others):
        raise ValueError(
            f"mapped axes must have same shape; got in1.shape={first.shape!r} "
            f"in2.shape={second.shape!r} axes={axes!r}"
        )
    sizes = [(first.shape[i], second.shape[i]) for i in axes]
    full = [m + n - 1 for m, n in sizes]
    if all(m == 1 or n == 1 for m, n in sizes):
        result = first * second
    else:
        is_complex = jnp.iscomplexobj(first)
        forward, backward = (
            (jnp.fft.fftn, jnp.fft.ifftn) if is_complex else (jnp.fft.rfftn, jnp.fft.irfftn)
        )
        spectrum = forward(first, full, axes=axes) * forward(second, full, axes=axes)
        result = backward(spectrum, full, axes=axes).astype(first.dtype)
    return _centred(result, _result_shape(first.shape, second.shape, axes, mode))


def _result_shape(
    first: Sequence[int], second: Sequence[int], axes: Sequence[int], mode: str
) -> list[int]:
    shape = list(first)
    if mode == "valid":
        smaller = all(first[i] >= second[i] for i in axes)
        if not smaller and not all(first[i] <= second[i] for i in axes):
            raise ValueError(
                "For 'valid' mode, One input must be at least as large as the other in every "
                "dimension."
            )
    for i in axes:
        if mode == "full":
            shape[i] = first[i] + second[i] - 1
        elif mode == "valid":
            shape[i] = abs(first[i] - second[i]) + 1
    return shape
