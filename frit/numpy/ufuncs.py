"""Elementwise functions: NumPy's ufuncs, over frit.lax.

Each promotes its operands to one type (`promotion`), then is one or a few lax operations.  The
functions with methods such as `add.at` are wrapped in `ufunc_table`.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy.comparisons import (  # noqa: F401 - they are ufuncs too
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    equal,
    greater,
    greater_equal,
    invert,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    named,
    not_equal,
    right_shift,
)
from frit.numpy.creation import asarray
from frit.numpy.dtype_info import finfo
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_array,
    as_operand,
    check_arraylike,
    dtype_of,
    ensure_array,
    is_concrete,
    operands,
)
from frit.numpy.promotion import (
    constant_like,
    convert,
    default_float,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    promote_shapes,
)
from frit.numpy.selection import scalar, where

Function = Callable[..., Any]


def _inexact(name: str, operation: Function, doc: str) -> Function:
    """A function of one number; integers become floats."""

    def function(x: Any, /) -> Any:
        return operation(*promote_args_inexact(name, x))

    return named(function, name, f"{doc}, elementwise; integers become floats.")


exp = _inexact("exp", lax.exp, "e to the power x")
exp2 = _inexact("exp2", lax.exp2, "2 to the power x")
expm1 = _inexact("expm1", lax.expm1, "exp(x) - 1, accurate near 0")
log = _inexact("log", lax.log, "The natural logarithm of x")
log1p = _inexact("log1p", lax.log1p, "log(1 + x), accurate near 0")
sqrt = _inexact("sqrt", lax.sqrt, "The square root of x")
cbrt = _inexact("cbrt", lax.cbrt, "The cube root of x")
sin = _inexact("sin", lax.sin, "The sine of x, in radians")
cos = _inexact("cos", lax.cos, "The cosine of x, in radians")
tan = _inexact("tan", lax.tan, "The tangent of x, in radians")
arcsin = _inexact("arcsin", lax.asin, "The inverse sine of x, in radians")
arccos = _inexact("arccos", lax.acos, "The inverse cosine of x, in radians")
arctan = _inexact("arctan", lax.atan, "The inverse tangent of x, in radians")
sinh = _inexact("sinh", lax.sinh, "The hyperbolic sine of x")
cosh = _inexact("cosh", lax.cosh, "The hyperbolic cosine of x")
tanh = _inexact("tanh", lax.tanh, "The hyperbolic tangent of x")
arcsinh = _inexact("arcsinh", lax.asinh, "The inverse hyperbolic sine of x")
arctanh = _inexact("arctanh", lax.atanh, "The inverse hyperbolic tangent of x")
asin = _inexact("asin", lax.asin, "The inverse sine of x, in radians")
acos = _inexact("acos", lax.acos, "The inverse cosine of x, in radians")
atan = _inexact("atan", lax.atan, "The inverse tangent of x, in radians")
asinh = _inexact("asinh", lax.asinh, "The inverse hyperbolic sine of x")
atanh = _inexact("atanh", lax.atanh, "The inverse hyperbolic tangent of x")


@jitted
def arccosh(x: Any, /) -> Any:
    """The inverse hyperbolic cosine of x, elementwise; its real part is not negative."""
    result = lax.acosh(*promote_args_inexact("arccosh", x))
    if dtypes.is_complex(result.dtype):
        negative_side = lax.lt(lax.real(result), constant_like(lax.real(result), 0))
        result = where(negative_side, lax.neg(result), result)
    return result


def acosh(x: Any, /) -> Any:
    """The inverse hyperbolic cosine of x, elementwise; its real part is not negative."""
    return arccosh(*promote_args("acosh", x))


def log2(x: Any, /) -> Any:
    """The logarithm of x to base 2, elementwise."""
    (x,) = promote_args_inexact("log2", x)
    if dtypes.is_complex(dtype_of(x)):
        r = lax.log(x)
        ln2 = lax.log(constant_like(lax.real(r), 2))
        return lax.complex(lax.div(lax.real(r), ln2), lax.div(lax.imag(r), ln2))
    return lax.div(lax.log(x), lax.log(scalar(x, 2)))


def log10(x: Any, /) -> Any:
    """The logarithm of x to base 10, elementwise."""
    (x,) = promote_args_inexact("log10", x)
    r = lax.log(x)
    factor = 0.4342944819032518  # 1 / log(10)
    if dtypes.is_complex(dtype_of(x)):
        re, im = lax.real(r), lax.imag(r)
        return lax.complex(
            lax.mul(re, constant_like(re, factor)), lax.mul(im, constant_like(im, factor))
        )
    return lax.mul(r, scalar(r, factor))


# ---- signs and parts ----------------------------------------------------------------------------


def fabs(x: Any, /) -> Any:
    """The absolute value of a real x as a float, elementwise."""
    (x,) = operands("fabs", x)
    if dtypes.is_complex(dtype_of(x)):
        raise TypeError("ufunc 'fabs' does not support complex dtypes; use jnp.abs")
    return lax.abs(*promote_args_inexact("fabs", x))


def negative(x: Any, /) -> Any:
    """-x, elementwise.  TypeError for bools."""
    return lax.neg(*promote_args("negative", x))


def positive(x: Any, /) -> Any:
    """x itself, as an array."""
    return as_array(*promote_args("positive", x))


def sign(x: Any, /) -> Any:
    """-1, 0 or 1 by the sign of x, elementwise; x / abs(x) for complex x."""
    return lax.sign(*promote_args("sign", x))


def _is_whole(dtype: Any) -> bool:
    return dtypes.is_integer(dtype) or dtypes.is_bool(dtype)


def floor(x: Any, /) -> Any:
    """The largest whole number not above x, elementwise; integers stay as they are."""
    x = ensure_array("floor", x)
    return x if _is_whole(x.dtype) else lax.floor(*promote_args_inexact("floor", x))


def ceil(x: Any, /) -> Any:
    """The smallest whole number not below x, elementwise; integers stay as they are."""
    x = ensure_array("ceil", x)
    return x if _is_whole(x.dtype) else lax.ceil(*promote_args_inexact("ceil", x))


@jitted
def trunc(x: Any, /) -> Any:
    """The whole number nearest to x towards 0, elementwise; integers stay as they are."""
    x = ensure_array("trunc", x)
    if _is_whole(x.dtype):
        return x
    return where(lax.lt(x, constant_like(x, 0)), ceil(x), floor(x))


@jitted
def rint(x: Any, /) -> Any:
    """x rounded to the nearest whole number, halves to even, elementwise."""
    x = ensure_array("rint", x)
    if _is_whole(x.dtype):
        return lax.convert_element_type(x, default_float())
    if dtypes.is_complex(x.dtype):
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def absolute(x: Any, /) -> Any:
    """The absolute value of x, elementwise; real for complex x."""
    x = as_operand(x) if not isinstance(x, (list, tuple)) else x
    check_arraylike("absolute", x)
    dtype = dtype_of(x)
    if dtypes.is_bool(dtype) or dtypes.issubdtype(dtype, np.unsignedinteger):
        return as_array(x)
    return lax.abs(x)


def abs(x: Any, /) -> Any:
    """The absolute value of x, elementwise; real for complex x."""
    return absolute(x)


def conjugate(x: Any, /) -> Any:
    """The complex conjugate of x, elementwise; x itself where it is real."""
    x = ensure_array("conjugate", x)
    return lax.conj(x) if dtypes.is_complex(x.dtype) else x


def conj(x: Any, /) -> Any:
    """The complex conjugate of x, elementwise; x itself where it is real."""
    return conjugate(x)


def real(val: Any, /) -> Any:
    """The real part of `val`, elementwise."""
    val = ensure_array("real", val)
    return lax.real(val) if dtypes.is_complex(val.dtype) else val


def imag(val: Any, /) -> Any:
    """The imaginary part of `val`, elementwise; zeros where it is real."""
    val = ensure_array("imag", val)
    return lax.imag(val) if dtypes.is_complex(val.dtype) else lax.full_like(val, 0)


@jitted(static_argnames="deg")
def angle(z: Any, deg: bool = False) -> Any:
    """The angle of z in the complex plane, in radians or, if `deg`, in degrees."""
    (z,) = promote_args_inexact("angle", z)
    x, y = (real(z), imag(z)) if dtypes.is_complex(dtype_of(z)) else (z, lax.full_like(z, 0))
    result = lax.atan2(y, x)
    return rad2deg(result) if deg else result


# ---- arithmetic ---------------------------------------------------------------------------------


def add(x: Any, y: Any, /) -> Any:
    """x + y, elementwise; logical or of bools."""
    x, y = promote_args("add", x, y)
    return lax.bitwise_or(x, y) if dtypes.is_bool(dtype_of(x)) else lax.add(x, y)


def subtract(x: Any, y: Any, /) -> Any:
    """x - y, elementwise.  TypeError for bools."""
    return lax.sub(*promote_args("subtract", x, y))


def multiply(x: Any, y: Any, /) -> Any:
    """x * y, elementwise; logical and of bools."""
    x, y = promote_args("multiply", x, y)
    return lax.bitwise_and(x, y) if dtypes.is_bool(dtype_of(x)) else lax.mul(x, y)


def true_divide(x1: Any, x2: Any, /) -> Any:
    """x1 / x2, elementwise; integers become floats."""
    return lax.div(*promote_args_inexact("true_divide", x1, x2))


def divide(x1: Any, x2: Any, /) -> Any:
    """x1 / x2, elementwise; integers become floats."""
    return true_divide(x1, x2)


@jitted
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The largest whole number not above x1 / x2, elementwise; 0 for an integer divided by 0."""
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    dtype = dtype_of(x1)
    if dtypes.is_complex(dtype):
        raise TypeError("floor_divide does not support complex-valued inputs")
    if not dtypes.is_integer(dtype):
        return _float_divmod(x1, x2)[0]
    zero = constant_like(x2, 0)
    by_zero = lax.eq(x2, zero)
    quotient = lax.div(x1, x2)
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        signs_differ = lax.ne(lax.sign(x1), lax.sign(x2))
        below = lax.bitwise_and(signs_differ, lax.ne(lax.rem(x1, x2), zero))
        quotient = where(below, lax.sub(quotient, constant_like(quotient, 1)), quotient)
    return where(by_zero, constant_like(quotient, 0), quotient)


@jitted
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """floor_divide(x1, x2) and remainder(x1, x2)."""
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if dtypes.is_integer(dtype_of(x1)):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


def _float_divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Floor quotient and remainder of floats, as CPython's float.__divmod__ finds them.

    The remainder is exact; the quotient is that of x1 without its remainder, so it is whole.
    """
    zero = constant_like(x2, 0)
    remainder = lax.rem(x1, x2)
    whole = where(lax.eq(x2, zero), x1, lax.sub(x1, remainder))
    quotient = lax.div(whole, x2)
    adjust = lax.bitwise_and(lax.ne(remainder, zero), lax.ne(lax.sign(x2), lax.sign(remainder)))
    remainder = lax.select(adjust, lax.add(remainder, x2), remainder)
    quotient = lax.select(adjust, lax.sub(quotient, constant_like(quotient, 1)), quotient)
    return lax.round(quotient), remainder


@jitted
def remainder(x1: Any, x2: Any, /) -> Any:
    """x1 modulo x2, elementwise, with the sign of x2; 0 for an integer modulo 0."""
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    zero = constant_like(x1, 0)
    if dtypes.is_integer(dtype_of(x2)):
        x2 = where(lax.eq(x2, zero), constant_like(x2, 1), x2)
    rest = lax.rem(x1, x2)
    is_rest = lax.ne(rest, zero)
    adjust = lax.bitwise_and(lax.ne(lax.lt(rest, zero), lax.lt(x2, zero)), is_rest)
    return lax.select(adjust, lax.add(rest, x2), rest)


def mod(x1: Any, x2: Any, /) -> Any:
    """x1 modulo x2, elementwise, with the sign of x2; 0 for an integer modulo 0."""
    return remainder(x1, x2)


@jitted
def fmod(x1: Any, x2: Any, /) -> Any:
    """The remainder of x1 / x2, elementwise, with the sign of x1; 0 for an integer modulo 0."""
    x1, x2 = promote_args_numeric("fmod", x1, x2)
    if dtypes.is_integer(dtype_of(x2)):
        x2 = where(lax.eq(x2, constant_like(x2, 0)), constant_like(x2, 1), x2)
    return lax.rem(x1, x2)


@jitted
def modf(x: Any, /, out: Any = None) -> tuple[Any, Any]:
    """The fractional and the whole part of x, elementwise, both with the sign of x."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.modf is not supported.")
    (x,) = promote_args_inexact("modf", x)
    whole = where(lax.ge(x, constant_like(x, 0)), floor(x), ceil(x))
    return lax.sub(x, whole), whole


def square(x: Any, /) -> Any:
    """x * x, elementwise."""
    return lax.square(*promote_dtypes_numeric(*operands("square", x)))


def reciprocal(x: Any, /) -> Any:
    """1 / x, elementwise; integers become floats."""
    (x,) = promote_dtypes_inexact(*operands("reciprocal", x))
    return lax.integer_pow(x, -1)


def power(x1: Any, x2: Any, /) -> Any:
    """x1 to the power x2, elementwise.  TypeError for integers to a known negative power.

    A known integer exponent multiplies out (`lax.integer_pow`), so that x ** 2 is exact and
    differentiates at 0.  Integers to a traced power take six squarings: more would overflow.
    """
    x1, x2 = operands("power", x1, x2)
    if is_concrete(x2):
        try:
            exponent = operator.index(x2)
        except TypeError:
            pass
        else:
            (base,) = promote_dtypes_numeric(x1)
            return lax.integer_pow(base, exponent)
    x1, x2 = promote_shapes("power", x1, x2)
    base, exponent = promote_args_numeric("power", x1, x2)
    if dtypes.is_integer(dtype_of(base)):
        return _integer_power(base, exponent)
    if dtypes.is_inexact(dtype_of(x1)) and dtypes.is_integer(dtype_of(x2)):
        return lax.pow(x1, x2)
    return lax.pow(base, exponent)


def pow(x1: Any, x2: Any, /) -> Any:
    """x1 to the power x2, elementwise; see `power`."""
    return power(x1, x2)


def _integer_power(base: Any, exponent: Any) -> Any:
    zero, one = constant_like(exponent, 0), constant_like(exponent, 1)
    vanishes = lax.bitwise_and(lax.eq(base, zero), lax.ne(exponent, zero))
    result = where(vanishes, zero, one)
    for _ in range(6):
        result = where(lax.bitwise_and(exponent, one), lax.mul(result, base), result)
        base = lax.mul(base, base)
        exponent = lax.shift_right_logical(exponent, one)
    return result


def float_power(x: Any, y: Any, /) -> Any:
    """x to the power y in floating point, elementwise."""
    return lax.pow(*promote_args_inexact("float_power", x, y))


def maximum(x: Any, y: Any, /) -> Any:
    """The larger of x and y, elementwise; nan where either is nan."""
    return lax.max(*promote_args("maximum", x, y))


def minimum(x: Any, y: Any, /) -> Any:
    """The smaller of x and y, elementwise; nan where either is nan."""
    return lax.min(*promote_args("minimum", x, y))


@jitted
def fmax(x1: Any, x2: Any) -> Any:
    """The larger of x1 and x2, elementwise; the other one where one is nan."""
    x1, x2 = operands("fmax", x1, x2)
    return where(logical_or(greater(x1, x2), isnan(x2)), x1, x2)


@jitted
def fmin(x1: Any, x2: Any) -> Any:
    """The smaller of x1 and x2, elementwise; the other one where one is nan."""
    x1, x2 = operands("fmin", x1, x2)
    return where(logical_or(less(x1, x2), isnan(x2)), x1, x2)


def arctan2(x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x2, x1), in radians between -pi and pi, elementwise."""
    return lax.atan2(*promote_args_inexact("arctan2", x1, x2))


def atan2(x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x2, x1), in radians between -pi and pi, elementwise."""
    return arctan2(*promote_args("atan2", x1, x2))


@jitted
def hypot(x1: Any, x2: Any, /) -> Any:
    """The length sqrt(x1**2 + x2**2), elementwise, without overflow in between."""
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if dtypes.is_complex(dtype_of(x1)):
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs. Please convert to real "
            "values first, such as by using abs(x)"
        )
    x1, x2 = lax.abs(x1), lax.abs(x2)
    is_infinite = lax.bitwise_or(isposinf(x1), isposinf(x2))
    long, short = maximum(x1, x2), minimum(x1, x2)
    is_zero = lax.eq(long, constant_like(long, 0))
    ratio = lax.div(short, where(is_zero, constant_like(long, 1), long))
    one = constant_like(long, 1)
    result = where(is_zero, long, lax.mul(long, lax.sqrt(lax.add(one, lax.square(ratio)))))
    return where(is_infinite, constant_like(result, np.inf), result)


def deg2rad(x: Any, /) -> Any:
    """x degrees in radians, elementwise."""
    (x,) = promote_args_inexact("deg2rad", x)
    return lax.mul(x, constant_like(x, np.pi / 180))


def rad2deg(x: Any, /) -> Any:
    """x radians in degrees, elementwise."""
    (x,) = promote_args_inexact("rad2deg", x)
    return lax.mul(x, constant_like(x, 180 / np.pi))


def radians(x: Any, /) -> Any:
    """x degrees in radians, elementwise."""
    return deg2rad(x)


def degrees(x: Any, /) -> Any:
    """x radians in degrees, elementwise."""
    return rad2deg(x)


@jitted
def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 where x1 < 0, 1 where x1 > 0, x2 where x1 is 0, elementwise."""
    x1, x2 = promote_dtypes_inexact(*operands("heaviside", x1, x2))
    zero, one = scalar(x1, 0), scalar(x1, 1)
    at_zero_or_nan = where(isnan(x1), x1, x2)
    return where(lax.lt(x1, zero), zero, where(lax.gt(x1, zero), one, at_zero_or_nan))


@jitted
def bitwise_count(x: Any, /) -> Any:
    """How many bits of abs(x) are 1, elementwise, as uint8."""
    (x,) = promote_args_numeric("bitwise_count", x)
    return lax.convert_element_type(lax.population_count(absolute(x)), np.uint8)


# ---- complex and special numbers -----------------------------------------------------------------


@jitted
def iscomplex(x: Any) -> Any:
    """Whether the imaginary part of x is nonzero, elementwise."""
    part = imag(x)
    return lax.ne(part, constant_like(part, 0))


@jitted
def isreal(x: Any) -> Any:
    """Whether the imaginary part of x is zero, elementwise."""
    part = imag(x)
    return lax.eq(part, constant_like(part, 0))


def _scalar_type_of(x: Any) -> Any:
    return asarray(x).dtype if isinstance(x, (list, tuple)) else dtype_of(as_operand(x))


def iscomplexobj(x: Any) -> bool:
    """Whether x has a complex element type."""
    if x is None:
        return False
    try:
        return builtins.bool(dtypes.issubdtype(x.dtype, np.complexfloating))
    except AttributeError:
        return builtins.bool(dtypes.issubdtype(_scalar_type_of(x), np.complexfloating))


def isrealobj(x: Any) -> bool:
    """Whether x has an element type that is not complex."""
    return not iscomplexobj(x)


@jitted
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """x with nan replaced by `nan`, infinities by `posinf` and `neginf` (the extreme floats)."""
    del copy
    x = ensure_array("nan_to_num", x)
    if not dtypes.is_inexact(x.dtype):
        return x
    if dtypes.is_complex(x.dtype):
        return lax.complex(
            nan_to_num(lax.real(x), nan=nan, posinf=posinf, neginf=neginf),
            nan_to_num(lax.imag(x), nan=nan, posinf=posinf, neginf=neginf),
        )
    info = finfo(x.dtype)
    posinf = convert(float(info.max), x.dtype) if posinf is None else posinf
    neginf = convert(float(info.min), x.dtype) if neginf is None else neginf
    out = where(isnan(x), convert(nan, x.dtype), x)
    out = where(isposinf(out), convert(posinf, x.dtype), out)
    return where(isneginf(out), convert(neginf, x.dtype), out)
