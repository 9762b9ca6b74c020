"""Interpolation, convolution, and the Bessel function of the Kaiser window."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.api.custom import custom_jvp
from frit.ir import dtypes
from frit.numpy.dtype_info import finfo
from frit.numpy.jitted import jitted
from frit.numpy.joining import concatenate
from frit.numpy.moving import flip
from frit.numpy.operands import as_array, ensure_arrays
from frit.numpy.promotion import (
    constant_like,
    promote_args_inexact,
    promote_dtypes,
    promote_dtypes_inexact,
)
from frit.numpy.rounding import clip
from frit.numpy.searching import searchsorted
from frit.numpy.selection import where
from frit.numpy.ufuncs import conjugate


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """The value at x of the line through the points (xp, fp), xp rising.

    left, right: the values outside, by default those at the ends; "extrapolate" continues the line.
    period: x and xp count modulo this, and xp need not rise.
    """
    for side, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(
                f"the only valid string value of `{side}` is 'extrapolate', but got: {value!r}"
            )
    beyond = [v if isinstance(v, str) else None for v in (left, right)]
    values = [None if isinstance(v, str) else v for v in (left, right)]
    return _interp(x, xp, fp, *values, period, *beyond)


@jitted(static_argnames=("left_mode", "right_mode"))
def _interp(
    x: Any,
    xp: Any,
    fp: Any,
    left: Any,
    right: Any,
    period: Any,
    left_mode: str | None,
    right_mode: str | None,
) -> Any:
    x, xp, fp = ensure_arrays("interp", x, xp, fp)
    if xp.shape != fp.shape or xp.ndim != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = (as_array(v) for v in promote_dtypes_inexact(x, xp))
    fp = as_array(*promote_dtypes_inexact(fp))
    if dtypes.is_complex(x.dtype):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        if np.ndim(period) != 0:
            raise ValueError(f"period must be a scalar; got {period}")
        period = abs(period)
        x, xp = x % period, xp % period
        xp, fp = lax.sort_key_val(xp, fp)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    i = clip(searchsorted(xp, x, side="right"), 1, xp.shape[0] - 1)
    start, height = xp[i - 1], fp[i - 1]
    width = xp[i] - start
    flat = abs(width) <= float(np.spacing(finfo(xp.dtype).eps))
    share = (x - start) / where(flat, constant_like(width, 1), width)
    result = where(flat, height, height + share * (fp[i] - height))
    if period is not None:
        return result
    if left_mode is None:
        result = where(x < xp[0], fp[0] if left is None else left, result)
    if right_mode is None:
        result = where(x > xp[-1], fp[-1] if right is None else right, result)
    return result


@jitted(static_argnames=("mode", "op", "precision", "preferred_element_type"))
def _conv(
    x: Any, y: Any, mode: str, op: str, precision: Any, preferred_element_type: Any = None
) -> Any:
    """Sums of products of x with y laid over it at each place; of y reversed, for a convolution."""
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{op}() only support 1-dimensional inputs.")
    promote = promote_dtypes_inexact if preferred_element_type is None else promote_dtypes
    x, y = (as_array(v) for v in promote(x, y))
    if x.shape[0] == 0 or y.shape[0] == 0:
        raise ValueError(f"{op}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    if op == "correlate":
        y = conjugate(y)
    swapped = x.shape[0] < y.shape[0]
    if swapped:
        x, y = y, x
    if op == "convolve":
        y = flip(y)
    size = y.shape[0]
    padding = {
        "valid": (0, 0), "same": (size // 2, size - size // 2 - 1), "full": (size - 1, size - 1)
    }.get(mode)  # fmt: skip
    if padding is None:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    result = lax.conv_general_dilated(
        x[None, None, :], y[None, None, :], (1,), [padding], precision=precision,
        preferred_element_type=preferred_element_type,
    )[0, 0]  # fmt: skip
    return result[::-1] if swapped and op == "correlate" else result


@jitted(static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(
    a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The convolution of two vectors; mode: "full", "same" (as the longer one) or "valid"."""
    a, v = ensure_arrays("convolve", a, v)
    return _conv(a, v, mode, "convolve", precision, preferred_element_type)


@jitted(static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The correlation of two vectors, v conjugated; mode: "valid", "same" or "full"."""
    a, v = ensure_arrays("correlate", a, v)
    return _conv(a, v, mode, "correlate", precision, preferred_element_type)


@custom_jvp
def _i0(x: Any) -> Any:
    size = lax.abs(x)
    return lax.mul(lax.exp(size), lax.bessel_i0e(size))


def _i0_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    slope = lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))
    return _i0(x), lax.mul(t, slope)


_i0.defjvp(_i0_jvp)


@jitted
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind and order 0, elementwise."""
    (x,) = promote_args_inexact("i0", x)
    x = as_array(x)
    if not dtypes.is_floating(x.dtype):
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {x.dtype}")
    return _i0(x)
