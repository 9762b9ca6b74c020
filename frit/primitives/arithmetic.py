"""Division, remainders, powers by whole numbers, extremes, signs and rounding."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.ir import dtypes
from frit.ir.primitive import Primitive, ulps
from frit.ir.types import ShapedArray, typeof
from frit.primitives import scalar_meaning as meaning
from frit.primitives.comparison_and_bits import (
    and_,
    eq,
    ge,
    select,
    shift_right_arithmetic,
    shift_right_logical,
)
from frit.primitives.conversion import conjugate, convert, convert_element_type, real
from frit.primitives.elementwise import (
    ANY,
    NUMBERS,
    add,
    check_dtype,
    complex_floating,
    constant,
    constant_array,
    elementwise,
    floating,
    integer,
    neg,
    real_dtype,
    same_type,
    signed_integer,
    times,
)
from frit.transforms.linear import is_linear, unbroadcast

# ------------------------------------------------------------------------------ integer_pow, square


def _integer_pow_types(x: Any, *, y: int) -> Any:
    check_dtype("integer_pow", NUMBERS, x)
    if y < 0 and dtypes.is_integer(x.dtype):
        raise TypeError(f"Integers cannot be raised to negative powers, got integer_pow({x}, {y})")
    return x


def _integer_pow_tangent(t: Any, x: Any, result: Any, *, y: int) -> Any:
    if y == 0:
        return constant_array(t, 0)
    if y == 1:
        return t
    return times(t, times(constant(x, y), x if y == 2 else integer_pow(x, y=y - 1)))


integer_pow = elementwise(
    "integer_pow",
    meaning.integer_power,
    result_types=_integer_pow_types,
    tangents=(_integer_pow_tangent,),
)

square = elementwise(
    "square",
    meaning.square,
    NUMBERS,
    slopes=(lambda x, y: times(constant(x, 2), x),),
)


# ----------------------------------------------------------------------------------------- div, rem


def _div_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    if is_linear(y):
        raise TypeError("div is not linear in its divisor, so it cannot be transposed there.")
    return [unbroadcast(div(ct, y), x.aval), None]


div: Primitive = elementwise(
    "div",
    meaning.divide,
    NUMBERS,
    tangents=(
        lambda t, x, y, z: div(t, y),
        lambda t, x, y, z: times(times(neg(t), x), integer_pow(y, y=-2)),
    ),
    transpose=_div_transpose,
)

rem = elementwise(
    "rem",
    meaning.remainder,
    (integer, floating),
    tangents=(
        lambda t, x, y, z: t,
        lambda t, x, y, z: times(neg(t), times(sign(div(x, y)), floor(abs_(div(x, y))))),
    ),
)


def _of_type(dtype: Any, number: int) -> Any:
    """`number` as `dtype`, by an equation: 64-bit types exist inside programs at all settings."""
    small = np.uint32(number)
    return convert_element_type(small, new_dtype=np.dtype(dtype), weak_type=False, sharding=None)


def _mulhi_decomposed(x: Any, y: Any) -> Any:
    """The product in twice the width, shifted down; of 64 bits by products of halves."""
    dtype = typeof(x).dtype  # type: ignore[attr-defined]
    if dtype.itemsize == 8:
        return _mulhi_of_halves(x, y, dtype)
    wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
    product = times(convert(x, wide), convert(y, wide))
    return convert(shift_right_logical(product, _of_type(wide, 8 * dtype.itemsize)), dtype)


def _mulhi_of_halves(x: Any, y: Any, dtype: Any) -> Any:
    """Schoolbook multiplication with digits of 32 bits; signed numbers are corrected at the end."""
    a, b = convert(x, np.uint64), convert(y, np.uint64)
    up = lambda n: shift_right_logical(n, _of_type(np.uint64, 32))
    down = lambda n: and_(n, _of_type(np.uint64, 2**32 - 1))
    middle = add(times(up(a), down(b)), up(times(down(a), down(b))))
    carry = up(add(times(down(a), up(b)), down(middle)))
    high = convert(add(add(times(up(a), up(b)), up(middle)), carry), dtype)
    if dtype.kind == "u":
        return high
    sign_of = lambda n: shift_right_arithmetic(n, _of_type(dtype, 63))
    return add(high, add(times(sign_of(x), y), times(sign_of(y), x)))


mulhi = elementwise(
    "mulhi",
    meaning.multiply_high,
    (integer,),
    flat=True,
    commutative=True,
    decompose=_mulhi_decomposed,
)


# ---------------------------------------------------------------------------------------- sign, abs


sign: Primitive = elementwise("sign", meaning.sign, NUMBERS, flat=True)

_ABS_KINDS = (signed_integer, floating, complex_floating)
_abs_same = same_type("abs", _ABS_KINDS, real_dtype)


def _abs_types(x: Any) -> ShapedArray:
    if x.dtype in (dtypes.SIGNED[0], dtypes.SIGNED[1]):
        raise TypeError(
            f"abs does not accept dtype {x.dtype.name}. Support for narrow-width integers is "
            "limited to basic arithmetic and type casting; convert to int8 first."
        )
    return _abs_same(x)


def _abs_tangent(t: Any, x: Any, size: Any) -> Any:
    dtype = typeof(x).dtype  # type: ignore[attr-defined]
    if not dtypes.is_complex(dtype):
        return select(ge(x, constant(x, 0)), t, neg(t))
    return real(times(t, div(conjugate(x), replace_zero(convert(size, dtype)))))


def replace_zero(x: Any) -> Any:
    """x, with 1 in place of 0."""
    return select(eq(x, constant(x, 0)), constant_array(x, 1), x)


abs_: Primitive = elementwise(
    "abs",
    meaning.in_bytes(np.abs),
    result_types=_abs_types,
    tangents=(_abs_tangent,),
    accuracy=ulps(1),
)


# ----------------------------------------------------------------------------------------- max, min


def _balanced(x: Any, result: Any, other: Any) -> Any:
    """1 where x is the result, 1/2 where the other is too, 0 elsewhere."""
    chosen = select(eq(x, result), constant_array(result, 1), constant_array(result, 0))
    ties = select(eq(other, result), constant_array(result, 2), constant_array(result, 1))
    return div(chosen, ties)


_extreme_slopes: Sequence[Any] = (
    lambda x, y, z: _balanced(x, z, y),
    lambda x, y, z: _balanced(y, z, x),
)
max_ = elementwise("max", meaning.maximum, ANY, slopes=_extreme_slopes, commutative=True)
min_ = elementwise("min", meaning.minimum, ANY, slopes=_extreme_slopes, commutative=True)


# ----------------------------------------------------------------------------------------- rounding


class RoundingMethod(enum.IntEnum):
    """Where `round` takes a number halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _round_types(x: Any, *, rounding_method: RoundingMethod) -> Any:
    check_dtype("round", (floating,), x)
    return x


def _round_evaluate(x: Any, *, rounding_method: RoundingMethod) -> Any:
    if rounding_method == RoundingMethod.AWAY_FROM_ZERO:
        return meaning.round_half_away(x)
    return meaning.in_float32(np.rint)(x)


floor: Primitive = elementwise("floor", meaning.in_float32(np.floor), (floating,), flat=True)
ceil = elementwise("ceil", meaning.in_float32(np.ceil), (floating,), flat=True)
round_ = elementwise("round", _round_evaluate, result_types=_round_types, flat=True)
nextafter = elementwise("nextafter", meaning.next_after, (floating,))
