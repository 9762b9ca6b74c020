"""Rounding, clipping and comparing up to rounding."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.ir.dtypes import ExtendedDType
from frit.numpy import comparisons, reductions, ufuncs
from frit.numpy.creation import asarray
from frit.numpy.dtype_info import finfo
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_array,
    check_arraylike,
    check_no_out,
    dtype_of,
    ensure_array,
    shape_of,
)
from frit.numpy.promotion import (
    constant_like,
    convert,
    promote_args,
    promote_args_inexact,
    real_part_dtype,
)


@jitted
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """`arr` with elements below `min` replaced by `min`, and those above `max` by `max`."""
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    check_arraylike("clip", arr)
    if any(ufuncs.iscomplexobj(t) for t in (arr, min, max)):
        raise ValueError(
            "Clip received a complex value either through the input or the min/max keywords. "
            "Complex values have no ordering and cannot be clipped. Please convert to a real value "
            "or array by taking the real or imaginary components via jax.numpy.real/imag "
            "respectively."
        )
    if min is not None:
        arr = ufuncs.maximum(min, arr)
    if max is not None:
        arr = ufuncs.minimum(max, arr)
    return as_array(arr)


@jitted(static_argnames="decimals")
def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """`a` rounded to `decimals` digits after the point, halves to even."""
    check_no_out("round", out)
    a = ensure_array("round", a)
    decimals = operator.index(decimals)
    if dtypes.is_integer(a.dtype):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return a
    if dtypes.is_bool(a.dtype):
        return lax.convert_element_type(a, np.float32)
    if decimals > np.log10(float(finfo(a.dtype).max)):
        return a
    if dtypes.is_complex(a.dtype):
        return lax.complex(_round_float(lax.real(a), decimals), _round_float(lax.imag(a), decimals))
    return _round_float(a, decimals)


def _round_float(x: Any, decimals: int) -> Any:
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return lax.round(x, even)
    dtype = dtype_of(x)
    wide = lax.convert_element_type(x, np.float32) if dtype == np.float16 else x
    factor = constant_like(wide, 10.0**decimals)
    result = lax.div(lax.round(lax.mul(wide, factor), even), factor)
    return lax.convert_element_type(result, dtype) if dtype == np.float16 else result


@jitted(static_argnames="decimals")
def around(a: Any, decimals: int = 0, out: None = None) -> Any:
    """`a` rounded to `decimals` digits after the point: `round` by another name."""
    return round(a, decimals, out)


@jitted(static_argnames="equal_nan")
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol * |b|, elementwise; infinities are close if equal."""
    a, b = promote_args("isclose", a, b)
    if isinstance(dtype_of(a), ExtendedDType):
        return lax.eq(a, b)
    a, b = promote_args_inexact("isclose", a, b)
    real = real_part_dtype(dtype_of(a))
    rtol, atol = (
        convert(t, real) if np.ndim(t) == 0 else lax.convert_element_type(t, real)
        for t in (rtol, atol)
    )
    both_nan = comparisons.logical_and(comparisons.isnan(a), comparisons.isnan(b))
    allowed = ufuncs.add(atol, ufuncs.multiply(rtol, lax.abs(b)))
    in_range = lax.le(*promote_args("isclose", lax.abs(lax.sub(a, b)), allowed))
    close = comparisons.logical_or(
        lax.eq(a, b), comparisons.logical_and(comparisons.isfinite(b), in_range)
    )
    return comparisons.logical_or(close, both_nan) if equal_nan else close


@jitted(static_argnames="equal_nan")
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements of `a` and `b` are close; see `isclose`."""
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))


def _same(a1: Any, a2: Any, equal_nan: bool) -> Any:
    equal = comparisons.equal(a1, a2)
    if equal_nan:
        equal = comparisons.logical_or(
            equal, comparisons.logical_and(comparisons.isnan(a1), comparisons.isnan(a2))
        )
    return reductions.all(equal)


def _as_arrays(a1: Any, a2: Any) -> tuple[Any, Any] | None:
    try:
        return asarray(a1), asarray(a2)
    except (TypeError, ValueError):
        return None


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have the same shape and elements; nan equals nan if `equal_nan`."""
    arrays = _as_arrays(a1, a2)
    if arrays is None or arrays[0].shape != arrays[1].shape:
        return as_array(np.bool_(False))
    return _same(*arrays, equal_nan)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays broadcast to the same shape and elements."""
    arrays = _as_arrays(a1, a2)
    try:
        assert arrays is not None
        lax.broadcast_shapes(*map(shape_of, arrays))
    except (AssertionError, TypeError, ValueError):
        return as_array(np.bool_(False))
    return _same(*arrays, equal_nan=False)
