"""Comparisons, logic and shifts of bits, and choices among values.

Comparisons give bool.  `_to` names the total order of floats, where -0 < +0 and nan has a place.
select_n(which, *cases) and clamp(low, x, high) do not broadcast: which, low and high have x's shape
or rank 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir import dtypes
from frit.ir.primitive import Primitive, absent
from frit.ir.types import ShapedArray, typeof
from frit.primitives import scalar_meaning as meaning
from frit.primitives.elementwise import (
    ANY,
    BITS,
    ORDERED,
    broadcast_shapes,
    check_dtype,
    check_same_dtypes,
    constant,
    constant_array,
    elementwise,
    floating,
    integer,
    same_type,
)
from frit.transforms.linear import (
    axis_to_front,
    broadcast_in_dim,
    broadcast_to_type,
    instantiate,
    is_linear,
    is_zero,
)
from frit.transforms.rules import rank_of, zero_tangent

Rule = Callable[..., Any]


# -------------------------------------------------------------------------------------- comparisons


def _equality_types(name: str) -> Rule:
    """bool; the operands may also be keys, which are equal when all their bits are."""
    ordinary = same_type(name, ANY, dtypes.BOOL)

    def result_types(x: Any, y: Any) -> ShapedArray:
        if isinstance(x.dtype, dtypes.ExtendedDType) and x.dtype == y.dtype:
            return ShapedArray(broadcast_shapes(name, (x, y)), dtypes.BOOL)
        return ordinary(x, y)

    return result_types


def _compare(name: str, function: Rule, kinds: Any, **more: Any) -> Primitive:
    return elementwise(name, function, kinds, result_dtype=dtypes.BOOL, flat=True, **more)


# Operators, as ufuncs do not know the opaque elements of wide keys.
eq = _compare("eq", operator.eq, ANY, result_types=_equality_types("eq"), commutative=True)
ne = _compare("ne", operator.ne, ANY, result_types=_equality_types("ne"), commutative=True)
ge = _compare("ge", np.greater_equal, ORDERED)
gt = _compare("gt", np.greater, ORDERED)
le = _compare("le", np.less_equal, ORDERED)
lt = _compare("lt", np.less, ORDERED)
eq_to = _compare("eq_to", meaning.by_total_order(np.equal), ANY, commutative=True)
le_to = _compare("le_to", meaning.by_total_order(np.less_equal), ORDERED)
lt_to = _compare("lt_to", meaning.by_total_order(np.less), ORDERED)
is_finite = _compare("is_finite", np.isfinite, (floating,))


# --------------------------------------------------------------------------------------------- bits


not_ = elementwise("not", meaning.in_bytes(np.invert), BITS, flat=True)
and_ = elementwise("and", meaning.in_bytes(np.bitwise_and), BITS, flat=True, commutative=True)
or_ = elementwise("or", meaning.in_bytes(np.bitwise_or), BITS, flat=True, commutative=True)
xor = elementwise("xor", meaning.in_bytes(np.bitwise_xor), BITS, flat=True, commutative=True)
shift_left = elementwise("shift_left", meaning.shift_left, (integer,), flat=True)
shift_right_arithmetic = elementwise(
    "shift_right_arithmetic", meaning.shift_right_arithmetic, (integer,), flat=True
)
shift_right_logical = elementwise(
    "shift_right_logical", meaning.shift_right_logical, (integer,), flat=True
)
population_count = elementwise("population_count", meaning.population_count, (integer,), flat=True)
clz = elementwise("clz", meaning.count_leading_zeros, (integer,), flat=True)


# ----------------------------------------------------------------------------------------- select_n


def _select_types(which: Any, *cases: Any) -> ShapedArray:
    if not cases:
        raise TypeError("select must have at least one case")
    first = cases[0]
    if any(case.shape != first.shape for case in cases):
        shapes = ", ".join(str(case.shape) for case in cases)
        raise TypeError(f"select cases must have the same shapes, got [{shapes}].")
    if which.shape and which.shape != first.shape:
        raise TypeError(
            "select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{which.shape} but case shape {first.shape}."
        )
    check_same_dtypes("select", *cases)
    if not (dtypes.is_bool(which.dtype) or dtypes.is_integer(which.dtype)):
        raise TypeError(f"select `which` must be boolean or integer type, got {which.dtype}.")
    if dtypes.is_bool(which.dtype) and len(cases) > 2:
        raise TypeError("select with boolean `which` cannot have > 2 cases.")
    if all(case.weak_type for case in cases):
        return first
    return first.strip_weak_type()


def _select_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    result = select_n(*primals)
    which, *_ = primals
    if all(map(is_zero, tangents[1:])):
        return result, zero_tangent(result)
    return result, select_n(which, *map(instantiate, tangents[1:]))


def _select_transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    """Each case gets the cotangent where it was chosen, zeros elsewhere."""
    zeros = constant_array(ct, 0)
    boolean = dtypes.is_bool(typeof(which).dtype)  # type: ignore[attr-defined]

    def chosen(number: int) -> Any:
        if not boolean:
            return select_n(eq(which, constant(which, number)), zeros, ct)
        return select_n(which, ct, zeros) if number == 0 else select_n(which, zeros, ct)

    return [None, *(chosen(i) if is_linear(case) else None for i, case in enumerate(cases))]


def _select_batch(axis: Any, operands: Any, mapped: Any) -> Any:
    which, *cases = operands
    of_which, *of_cases = mapped
    scalar = rank_of(which) == (of_which is not None)
    scalar_cases = rank_of(cases[0]) == (of_cases[0] is not None)
    if len(set(of_cases)) == 1 and of_cases[0] is not None:
        if of_which == of_cases[0] and scalar == scalar_cases or scalar and of_which is None:
            return select_n(which, *cases), of_cases[0]
    cases = [axis_to_front(c, d, axis.size) for c, d in zip(cases, of_cases, strict=True)]
    if scalar and of_which is None:
        return select_n(which, *cases), 0
    return select_n(_aligned(which, of_which, scalar, cases[0], axis.size), *cases), 0


def _aligned(x: Any, mapped: int | None, scalar: bool, like: Any, size: Any) -> Any:
    """x with its mapped axis in front, spread over the shape of `like`, which has it there."""
    x = axis_to_front(x, mapped, size)
    shape = typeof(like).shape  # type: ignore[attr-defined]
    if not scalar or len(shape) == 1:
        return x
    return broadcast_in_dim(x, shape=shape, broadcast_dimensions=(0,), sharding=None)


select_n = Primitive(
    "select_n",
    result_types=_select_types,
    evaluate=meaning.choose,
    jvp=_select_jvp,
    transpose=_select_transpose,
    batch=_select_batch,
    pointwise=True,
)


def select(predicate: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where the predicate holds, on_false elsewhere."""
    return select_n(predicate, on_false, on_true)


# -------------------------------------------------------------------------------------------- clamp


def _clamp_types(low: Any, x: Any, high: Any) -> ShapedArray:
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise TypeError(
                f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                f"{name}.shape={bound.shape}, operand.shape={x.shape}."
            )
    for i, aval in enumerate((low, x, high)):
        check_dtype("clamp", ANY, aval, i)
    check_same_dtypes("clamp", low, x, high)
    return x.update(weak_type=low.weak_type and x.weak_type and high.weak_type)


def _kept_where(condition: Any, t: Any, result: Any) -> Any:
    t = broadcast_to_type(t, typeof(result))  # type: ignore[arg-type]
    condition = broadcast_to_type(condition, typeof(result))  # type: ignore[arg-type]
    return select(condition, t, constant_array(t, 0))


def _clamp_batch(axis: Any, operands: Any, mapped: Any) -> Any:
    low, x, high = operands
    of_low, of_x, of_high = mapped
    scalars = [rank_of(v) == (d is not None) for v, d in zip(operands, mapped, strict=True)]
    if of_x is not None and all(
        (d is None and scalar) or (d == of_x and scalar == scalars[1])
        for d, scalar in zip((of_low, of_high), (scalars[0], scalars[2]), strict=True)
    ):
        return clamp(low, x, high), of_x
    x = axis_to_front(x, of_x, axis.size)
    low, high = (
        bound if d is None and scalar else _aligned(bound, d, scalar, x, axis.size)
        for bound, d, scalar in ((low, of_low, scalars[0]), (high, of_high, scalars[2]))
    )
    return clamp(low, x, high), 0


clamp = elementwise(
    "clamp",
    meaning.clamp,
    result_types=_clamp_types,
    tangents=(
        lambda t, low, x, high, y: _kept_where(and_(gt(low, x), lt(low, high)), t, y),
        lambda t, low, x, high, y: _kept_where(and_(gt(x, low), lt(x, high)), t, y),
        lambda t, low, x, high, y: _kept_where(lt(high, x), t, y),
    ),
    transpose=absent("not linear"),
    batch=_clamp_batch,
)
