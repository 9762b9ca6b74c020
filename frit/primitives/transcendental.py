"""Roots, exponentials, logarithms, powers, and the circular and hyperbolic functions.

All are computed in double precision and rounded once, so the definition is within half an ulp in
float32.  Those with an `accuracy` parameter have it as JAX does: None, or a wish of the user's.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir import dtypes
from frit.ir.primitive import Primitive, ulps
from frit.ir.types import ShapedArray, typeof
from frit.primitives import complex_meaning
from frit.primitives import scalar_meaning as meaning
from frit.primitives.arithmetic import div, integer_pow, replace_zero, square
from frit.primitives.comparison_and_bits import eq, select
from frit.primitives.complex_meaning import of_either
from frit.primitives.conversion import convert
from frit.primitives.elementwise import (
    INEXACT,
    NUMBERS,
    add,
    broadcast_shapes,
    check_dtype,
    constant,
    constant_array,
    elementwise,
    floating,
    neg,
    same_type,
    shown_without,
    sub,
    times,
)
from frit.transforms.linear import broadcast_to_type

Rule = Callable[..., Any]

PLAIN: dict[str, Any] = {"accuracy": None}


class AccuracyMode(enum.Enum):
    """How closely a function of one operand is computed: the user's wish."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """The error that a user allows a function: absolute, relative, or in ulps."""

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        if atol < 0.0 or rtol < 0.0 or ulps < 0.0:
            raise ValueError("Tolerances must be non-negative.")
        if atol == 0.0 and rtol == 0.0 and ulps == 0:
            raise ValueError("At least one of atol, rtol, or ulps must be set.")
        self.atol, self.rtol, self.ulps = atol, rtol, ulps

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Tolerance) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.atol, self.rtol, self.ulps))

    def __repr__(self) -> str:
        return f"Tolerance(atol={self.atol}, rtol={self.rtol}, ulps={self.ulps})"


def _with_accuracy(
    name: str, function: Rule, kinds: Sequence[Any] = INEXACT, *, within: int = 2, **rules: Any
) -> Primitive:
    """A function of one operand with the parameter `accuracy`."""
    computed = meaning.in_float64(function)
    ordinary = same_type(name, kinds)
    return elementwise(
        name,
        lambda x, accuracy=None: computed(x),
        result_types=lambda x, *, accuracy: ordinary(x),
        accuracy=ulps(within),
        shown=shown_without("accuracy"),
        **rules,
    )


def _function(name: str, function: Rule, kinds: Sequence[Any] = INEXACT, **rules: Any) -> Primitive:
    """A function of one operand without parameters."""
    return elementwise(name, meaning.in_float64(function), kinds, accuracy=ulps(4), **rules)


# -------------------------------------------------------------------------------------------- roots


def _sqrt(x: Any, accuracy: Any = None) -> Any:
    if x.dtype.kind == "c":
        return meaning.in_float64(np.sqrt)(x)
    return meaning.in_float32(np.sqrt)(x)


_sqrt_types = same_type("sqrt", INEXACT)

sqrt = elementwise(
    "sqrt",
    _sqrt,
    result_types=lambda x, *, accuracy: _sqrt_types(x),
    slopes=(lambda x, y, accuracy: div(constant(x, 0.5), y),),
    shown=shown_without("accuracy"),
)

rsqrt = _with_accuracy(
    "rsqrt",
    lambda x: 1 / np.sqrt(x),
    slopes=(lambda x, y, accuracy: times(constant(x, -0.5), div(y, x)),),
)
cbrt = _with_accuracy(
    "cbrt",
    np.cbrt,
    (floating,),
    slopes=(lambda x, y, accuracy: times(constant(x, 1 / 3), integer_pow(y, y=-2)),),
)


# ------------------------------------------------------------------------- exponentials, logarithms


def _expm1_slope(x: Any, y: Any, accuracy: Any) -> Any:
    if accuracy is AccuracyMode.HIGHEST:
        return exp(x, accuracy=accuracy)
    return add(y, constant(y, 1))


exp = _with_accuracy(
    "exp", of_either(np.exp, complex_meaning.exp), slopes=(lambda x, y, accuracy: y,)
)
exp2 = _with_accuracy(
    "exp2",
    of_either(np.exp2, complex_meaning.exp2),
    tangents=(lambda t, x, y, accuracy: times(log(constant(x, 2), **PLAIN), times(t, y)),),
)
expm1 = _with_accuracy("expm1", of_either(np.expm1, complex_meaning.expm1), slopes=(_expm1_slope,))
log: Primitive = _with_accuracy("log", np.log, tangents=(lambda t, x, y, accuracy: div(t, x),))
log1p = _with_accuracy(
    "log1p",
    of_either(np.log1p, complex_meaning.log1p),
    tangents=(lambda t, x, y, accuracy: div(t, add(x, constant(x, 1))),),
)


# -------------------------------------------------------------------------------- tanh and logistic


def _tanh_tangent(t: Any, x: Any, y: Any, accuracy: Any) -> Any:
    """t (1 + y) (1 - y), or by logistics, which keep their accuracy where y rounds to 1."""
    if accuracy is AccuracyMode.HIGHEST:
        left = logistic(times(constant(x, 2), x), accuracy=accuracy)
        right = logistic(times(constant(x, -2), x), accuracy=accuracy)
        return times(t, times(constant(x, 4), times(left, right)))
    return times(add(t, times(t, y)), sub(constant(x, 1), y))


def _logistic_slope(x: Any, y: Any, accuracy: Any) -> Any:
    if accuracy is AccuracyMode.HIGHEST:
        return times(y, logistic(neg(x), **PLAIN))
    return times(y, sub(constant(y, 1), y))


tanh = _with_accuracy("tanh", of_either(np.tanh, complex_meaning.tanh), tangents=(_tanh_tangent,))
logistic = _with_accuracy("logistic", lambda x: 1 / (1 + np.exp(-x)), slopes=(_logistic_slope,))


# ------------------------------------------------------------------------------- circular functions


sin = _with_accuracy(
    "sin",
    of_either(np.sin, complex_meaning.sin),
    slopes=(lambda x, y, accuracy: cos(x, accuracy=accuracy),),
)
cos: Primitive = _with_accuracy(
    "cos",
    of_either(np.cos, complex_meaning.cos),
    tangents=(lambda t, x, y, accuracy: neg(times(t, sin(x, accuracy=accuracy))),),
)
tan = _with_accuracy(
    "tan",
    of_either(np.tan, complex_meaning.tan),
    within=4,
    slopes=(lambda x, y, accuracy: add(constant(x, 1), square(y)),),
)
asin = _function(
    "asin",
    np.arcsin,
    slopes=(lambda x, y: rsqrt(sub(constant(x, 1), square(x)), **PLAIN),),
)
acos = _function(
    "acos",
    np.arccos,
    slopes=(lambda x, y: neg(rsqrt(sub(constant(x, 1), square(x)), **PLAIN)),),
)
atan = _function(
    "atan",
    np.arctan,
    tangents=(lambda t, x, y: div(t, add(constant(x, 1), square(x))),),
)
atan2 = elementwise(
    "atan2",
    meaning.in_float64(meaning.arctan2),
    INEXACT,
    slopes=(
        lambda y, x, z: div(x, add(square(y), square(x))),
        lambda y, x, z: div(neg(y), add(square(y), square(x))),
    ),
    accuracy=ulps(4),
)


# ----------------------------------------------------------------------------- hyperbolic functions


sinh = _function("sinh", of_either(np.sinh, complex_meaning.sinh), slopes=(lambda x, y: cosh(x),))
cosh: Primitive = _function(
    "cosh", of_either(np.cosh, complex_meaning.cosh), slopes=(lambda x, y: sinh(x),)
)
asinh = _function(
    "asinh", np.arcsinh, slopes=(lambda x, y: rsqrt(add(square(x), constant(x, 1)), **PLAIN),)
)
acosh = _function(
    "acosh", np.arccosh, slopes=(lambda x, y: rsqrt(sub(square(x), constant(x, 1)), **PLAIN),)
)
atanh = _function(
    "atanh",
    np.arctanh,
    tangents=(
        lambda t, x, y: times(
            integer_pow(add(constant(x, 1), x), y=-1), div(t, sub(constant(x, 1), x))
        ),
    ),
)


# ---------------------------------------------------------------------------------------------- pow


def _pow_types(x: Any, y: Any) -> ShapedArray:
    check_dtype("pow", INEXACT, x, 0)
    check_dtype("pow", NUMBERS, y, 1)
    if not dtypes.is_integer(y.dtype) and x.dtype != y.dtype:
        raise TypeError(
            "the first argument to pow must have an inexact dtype (float or complex), and the "
            "second argument must have an inexact or integer dtype, and two inexact dtypes must "
            f"match, but got {x.dtype} and {y.dtype} respectively."
        )
    return ShapedArray(broadcast_shapes("pow", (x, y)), x.dtype, x.weak_type and y.weak_type)


_float_power = meaning.in_float64(np.power)


def _pow_evaluate(x: Any, y: Any) -> Any:
    return _float_power(x, y.astype(x.dtype))


def _pow_slope_of_base(x: Any, y: Any, z: Any) -> Any:
    """y x ** (y - 1); for whole y 0 where y is 0, so that 0 ** 0 has a slope."""
    aval = typeof(x)
    whole = dtypes.is_integer(typeof(y).dtype)  # type: ignore[attr-defined]
    if not whole:
        return times(y, pow_(x, sub(y, constant_array(y, 1))))
    y = convert(y, aval.dtype)  # type: ignore[attr-defined]
    x, y = (broadcast_to_type(v, typeof(v).update(shape=typeof(z).shape)) for v in (x, y))  # type: ignore[attr-defined]
    slope = times(replace_zero(y), pow_(x, sub(y, constant_array(y, 1))))
    return select(eq(y, constant(y, 0)), constant_array(y, 0), slope)


def _pow_slope_of_exponent(x: Any, y: Any, z: Any) -> Any:
    return times(log(replace_zero(x), **PLAIN), z)


pow_ = elementwise(
    "pow",
    _pow_evaluate,
    result_types=_pow_types,
    slopes=(_pow_slope_of_base, _pow_slope_of_exponent),
    accuracy=ulps(2),
)
