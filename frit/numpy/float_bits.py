"""Functions of a float's parts: sign, exponent and mantissa; and those with a hole at zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.api.custom import custom_jvp
from frit.ir import dtypes
from frit.ir.dtypes import float0
from frit.numpy.comparisons import isinf
from frit.numpy.dtype_info import finfo
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array, dtype_of, ensure_arrays, operands
from frit.numpy.promotion import (
    constant_like,
    convert,
    promote_args,
    promote_args_inexact,
    promote_dtypes_inexact,
)
from frit.numpy.selection import is_nan, scalar, where
from frit.numpy.ufuncs import exp2

_INTEGER_OF_BITS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


@jitted
def signbit(x: Any, /) -> Any:
    """Whether the sign bit of x is set, elementwise: also of -0.0 and of negative nan."""
    (x,) = promote_args("signbit", x)
    dtype = dtype_of(x)
    if dtypes.is_integer(dtype):
        return lax.lt(x, scalar(x, 0))
    if dtypes.is_bool(dtype):
        return lax.full_like(x, False, dtype=np.bool_)
    if not dtypes.is_floating(dtype):
        raise ValueError(f"jax.numpy.signbit is not well defined for {dtype}")
    if finfo(dtype).bits not in _INTEGER_OF_BITS:
        raise NotImplementedError(
            f"jax.numpy.signbit only supports 8, 16, 32, and 64-bit types, got {dtype}."
        )
    bits = lax.bitcast_convert_type(x, _INTEGER_OF_BITS[finfo(dtype).bits])
    return lax.lt(bits, constant_like(bits, 0))


@jitted
def copysign(x1: Any, x2: Any, /) -> Any:
    """abs(x1) with the sign of x2, elementwise."""
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if dtypes.is_complex(dtype_of(x1)):
        raise TypeError("copysign does not support complex-valued inputs")
    size = lax.abs(x1)
    return where(signbit(x2), lax.neg(size), size)


def nextafter(x: Any, y: Any, /) -> Any:
    """The float after x in the direction of y, elementwise."""
    return lax.nextafter(*promote_args_inexact("nextafter", x, y))


def spacing(x: Any, /) -> Any:
    """The distance from x to the next float away from zero, elementwise, with the sign of x."""
    (x,) = promote_args_inexact("spacing", x)
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    infinity = scalar(x, np.inf)
    if dtype == np.float16:
        return lax.sub(lax.nextafter(*promote_args("spacing", x, infinity)), x)
    step = lax.sub(lax.nextafter(x, copysign(infinity, x)), x)
    smallest = copysign(scalar(x, finfo(dtype).smallest_subnormal), x)
    return where(lax.eq(step, constant_like(step, 0)), smallest, step)


@custom_jvp
def _frexp(x: Any) -> tuple[Any, Any]:
    """Mantissa in [0.5, 1) and exponent, read off the bits; subnormals are scaled up first."""
    dtype = dtype_of(x)
    info = finfo(dtype)
    integer = _INTEGER_OF_BITS[info.bits]
    mask, bias = (1 << info.nexp) - 1, 1 - info.minexp
    small = lax.lt(lax.abs(x), constant_like(x, float(info.tiny)))
    scaled = where(small, lax.mul(x, constant_like(x, float(1 << info.nmant))), x)
    bits = lax.bitcast_convert_type(scaled, integer)
    field = lax.bitwise_and(lax.shift_right_arithmetic(bits, integer(info.nmant)), integer(mask))
    shift = where(small, integer(-info.nmant), integer(0))
    exponent = lax.add(shift, lax.sub(field, integer(bias - 1)))
    bits = lax.bitwise_and(bits, integer(~(mask << info.nmant)))
    bits = lax.bitwise_or(bits, integer((bias - 1) << info.nmant))
    mantissa = lax.bitcast_convert_type(bits, dtype)
    special = lax.bitwise_or(lax.bitwise_or(isinf(x), is_nan(x)), lax.eq(x, constant_like(x, 0)))
    exponent = where(special, integer(0), exponent)
    return where(special, x, mantissa), lax.convert_element_type(exponent, np.int32)


def _frexp_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    mantissa, exponent = frexp(x)
    slope = exp2(lax.neg(lax.convert_element_type(exponent, t.dtype)))
    return (mantissa, exponent), (lax.mul(t, slope), np.zeros(exponent.shape, float0))


_frexp.defjvp(_frexp_jvp)


@jitted
def frexp(x: Any, /) -> tuple[Any, Any]:
    """(m, e) with x = m * 2**e and 0.5 <= abs(m) < 1, elementwise; (x, 0) for 0, nan and inf."""
    (x,) = promote_dtypes_inexact(*operands("frexp", x))
    if dtypes.is_complex(dtype_of(x)):
        raise TypeError("frexp does not support complex-valued inputs")
    return _frexp(as_array(x))


@jitted
def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 * 2**x2, elementwise, without overflow in between."""
    x1, x2 = ensure_arrays("ldexp", x1, x2)
    if dtypes.is_complex(x1.dtype) or dtypes.is_inexact(x2.dtype):
        raise ValueError(f"ldexp not supported for input types {(x1.dtype, x2.dtype)}")
    (x1,) = promote_args_inexact("ldexp", x1)
    mantissa, exponent = frexp(x1)
    dtype = dtype_of(x1)
    exponent, x2 = promote_args(
        "ldexp", lax.convert_element_type(exponent, dtype), lax.convert_element_type(x2, dtype)
    )
    total = lax.add(exponent, x2)
    zero, one, two = (constant_like(total, n) for n in (0, 1, 2))
    mantissa, total = promote_args("ldexp", mantissa, total)
    positive = lax.gt(total, zero)  # the exponent may be one too large for 2**e, yet not the result
    mantissa = where(positive, lax.mul(mantissa, two), mantissa)
    total = where(positive, lax.sub(total, one), total)
    result = lax.mul(mantissa, lax.pow(two, total))
    unchanged = lax.bitwise_or(isinf(x1), lax.eq(x1, constant_like(x1, 0)))
    return where(unchanged, convert(x1, dtype), result)


def _sinc_derivative_at_zero(order: int, x: Any) -> Any:
    """The derivative of sin(x)/x at 0 of an order, in the shape of x; its slope is the next."""

    @custom_jvp
    def derivative(x: Any) -> Any:
        value = 0.0 if order % 2 else (-1.0) ** (order // 2) / (order + 1)
        return lax.full_like(x, value)

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return derivative(x), lax.mul(_sinc_derivative_at_zero(order + 1, x), t)

    derivative.defjvp(rule)
    return derivative(x)


@jitted
def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), elementwise; 1 at 0, where it differentiates to any order."""
    (x,) = promote_dtypes_inexact(*operands("sinc", x))
    at_zero = lax.eq(x, constant_like(x, 0))
    angle = lax.mul(constant_like(x, np.pi), x)
    safe = where(at_zero, constant_like(x, 1), angle)
    return where(
        at_zero, _sinc_derivative_at_zero(0, as_array(angle)), lax.div(lax.sin(safe), safe)
    )
