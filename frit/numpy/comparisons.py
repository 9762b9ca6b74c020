"""Elementwise comparison, logic, bits, and the kinds of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy.jitted import jitted
from frit.numpy.operands import dtype_of, operands
from frit.numpy.promotion import promote_args, promote_args_numeric
from frit.numpy.selection import scalar, to_bool, where

Function = Callable[..., Any]


def named(function: Function, name: str, doc: str) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def equal(x: Any, y: Any, /) -> Any:
    """Whether x == y, elementwise."""
    return lax.eq(*promote_args("equal", x, y))


def not_equal(x: Any, y: Any, /) -> Any:
    """Whether x != y, elementwise."""
    return lax.ne(*promote_args("not_equal", x, y))


def _ordered(name: str, operation: Function, symbol: str) -> Function:
    """A comparison by size; complex numbers compare by real, then by imaginary part."""

    def function(x: Any, y: Any, /) -> Any:
        x, y = promote_args(name, x, y)
        if not dtypes.is_complex(dtype_of(x)):
            return operation(x, y)
        x_real, y_real = lax.real(x), lax.real(y)
        return where(
            lax.eq(x_real, y_real), operation(lax.imag(x), lax.imag(y)), operation(x_real, y_real)
        )

    return named(
        function, name, f"Whether x {symbol} y, elementwise; complex numbers in lexical order."
    )


greater = _ordered("greater", lax.gt, ">")
greater_equal = _ordered("greater_equal", lax.ge, ">=")
less = _ordered("less", lax.lt, "<")
less_equal = _ordered("less_equal", lax.le, "<=")


def logical_and(x: Any, y: Any, /) -> Any:
    """Whether both x and y are nonzero, elementwise."""
    return lax.bitwise_and(*map(to_bool, promote_args("logical_and", x, y)))


def logical_or(x: Any, y: Any, /) -> Any:
    """Whether x or y is nonzero, elementwise."""
    return lax.bitwise_or(*map(to_bool, promote_args("logical_or", x, y)))


def logical_xor(x: Any, y: Any, /) -> Any:
    """Whether just one of x and y is nonzero, elementwise."""
    return lax.bitwise_xor(*map(to_bool, promote_args("logical_xor", x, y)))


def logical_not(x: Any, /) -> Any:
    """Whether x is zero, elementwise."""
    return lax.bitwise_not(*map(to_bool, promote_args("logical_not", x)))


def bitwise_and(x: Any, y: Any, /) -> Any:
    """x & y, elementwise."""
    return lax.bitwise_and(*promote_args("bitwise_and", x, y))


def bitwise_or(x: Any, y: Any, /) -> Any:
    """x | y, elementwise."""
    return lax.bitwise_or(*promote_args("bitwise_or", x, y))


def bitwise_xor(x: Any, y: Any, /) -> Any:
    """x ^ y, elementwise."""
    return lax.bitwise_xor(*promote_args("bitwise_xor", x, y))


def _bitwise_not(name: str) -> Function:
    def function(x: Any, /) -> Any:
        return lax.bitwise_not(*promote_args(name, x))

    return named(function, name, "~x, elementwise: every bit flipped.")


invert = _bitwise_not("invert")
bitwise_not = _bitwise_not("bitwise_not")
bitwise_invert = _bitwise_not("bitwise_invert")


def _left_shift(name: str) -> Function:
    def function(x: Any, y: Any, /) -> Any:
        return lax.shift_left(*promote_args_numeric(name, x, y))

    return named(function, name, "x << y, elementwise.")


left_shift = _left_shift("left_shift")
bitwise_left_shift = _left_shift("bitwise_left_shift")


def right_shift(x1: Any, x2: Any, /) -> Any:
    """x1 >> x2, elementwise; signed integers keep their sign."""
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    unsigned = dtypes.issubdtype(dtype_of(x1), np.unsignedinteger)
    return (lax.shift_right_logical if unsigned else lax.shift_right_arithmetic)(x1, x2)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    """x1 >> x2, elementwise; signed integers keep their sign."""
    return right_shift(x1, x2)


def isnan(x: Any, /) -> Any:
    """Whether x is nan, elementwise."""
    (x,) = operands("isnan", x)
    return lax.ne(x, x)


def isfinite(x: Any, /) -> Any:
    """Whether x is neither nan nor infinite, elementwise."""
    (x,) = operands("isfinite", x)
    dtype = dtype_of(x)
    if dtypes.is_floating(dtype):
        return lax.is_finite(x)
    if dtypes.is_complex(dtype):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.full_like(x, True, dtype=np.bool_)


@jitted
def isinf(x: Any, /) -> Any:
    """Whether x is infinite, elementwise."""
    (x,) = operands("isinf", x)
    dtype = dtype_of(x)
    if dtypes.is_floating(dtype):
        return lax.eq(lax.abs(x), scalar(x, np.inf))
    if dtypes.is_complex(dtype):
        return lax.bitwise_or(isinf(lax.real(x)), isinf(lax.imag(x)))
    return lax.full_like(x, False, dtype=np.bool_)


def _is_infinity(name: str, infinity: float) -> Function:
    def function(x: Any, /, out: Any = None) -> Any:
        if out is not None:
            raise NotImplementedError("The 'out' argument to isneginf/isposinf is not supported.")
        (x,) = operands(name, x)
        dtype = dtype_of(x)
        if dtypes.is_floating(dtype):
            return lax.eq(x, scalar(x, infinity))
        if dtypes.is_complex(dtype):
            raise ValueError("isposinf/isneginf are not well defined for complex types")
        return lax.full_like(x, False, dtype=np.bool_)

    return named(function, name, f"Whether x is {infinity}, elementwise.")


isposinf = _is_infinity("isposinf", np.inf)
isneginf = _is_infinity("isneginf", -np.inf)
