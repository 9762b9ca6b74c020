"""Elementwise primitives: the family helper, and the ring operations neg, add, sub, mul.

    elementwise(name, meaning, accepts…)      a primitive acting on each element by itself

Operands have one element type and one rank; an operand of rank 0 or an axis of size 1 is broadcast.
A member is a name, a meaning (NumPy) and either slopes, tangents or a rule of its own:

    slopes    for each operand `(*operands, result, **params) -> slope`; the tangent is t * slope
    tangents  for each operand `(t, *operands, result, **params) -> tangent`, where no product
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.primitive import (
    Accuracy,
    Interpreter,
    Params,
    Primitive,
    absent,
    bottom_interpreter,
    exact,
)
from frit.ir.types import ShapedArray, typeof
from frit.primitives import scalar_meaning as meaning
from frit.transforms.linear import (
    add_tangents,
    broadcast_to_type,
    full,
    is_linear,
    is_zero,
    unbroadcast,
)
from frit.transforms.rules import (
    batch_pointwise,
    linear_jvp,
    not_differentiable,
    per_linear_operand,
    zero_tangent,
)

Rule = Callable[..., Any]


class Kind:
    """A set of element types, by the name that messages use."""

    def __init__(self, name: str, members: Any) -> None:
        self.name, self.members = name, frozenset(members)

    def __repr__(self) -> str:
        return self.name


integer = Kind("integer", (*dtypes.SIGNED, *dtypes.UNSIGNED))
signed_integer = Kind("signedinteger", dtypes.SIGNED)
floating = Kind("floating", dtypes.FLOATS)
complex_floating = Kind("complexfloating", dtypes.COMPLEX)
boolean = Kind("bool", (dtypes.BOOL,))

INEXACT = (floating, complex_floating)
NUMBERS = (integer, floating, complex_floating)
BITS = (integer, boolean)
ORDERED = (integer, floating, boolean)
ANY = (integer, floating, complex_floating, boolean)

_NUMPY_NAMES = {  # the function of frit.numpy that promotes its operands
    "add": "add", "atan2": "arctan2", "div": "divide", "eq": "equal", "max": "maximum",
    "min": "minimum", "mul": "multiply", "ne": "not_equal", "nextafter": "nextafter",
    "pow": "float_power", "select": "where", "shift_left": "left_shift", "sub": "subtract",
    "shift_right_arithmetic": "right_shift", "shift_right_logical": "right_shift",
}  # fmt: skip


# --------------------------------------------------------------------------------- types of results


def check_dtype(name: str, kinds: Sequence[Kind], aval: Any, position: int | None = None) -> None:
    """TypeError unless the operand's element type is in one of `kinds`."""
    dtype = aval.dtype
    if any(dtype in kind.members for kind in kinds):
        return
    if dtype == dtypes.float0:
        at = "array" if position is None else f"at position {position}"
        raise TypeError(
            f"Called {name} with a float0 {at}. float0s do not support any operations by design: "
            "they are the tangents of integers and booleans, and hold no numbers. Perhaps a "
            "gradient with respect to an integer argument was taken; np.zeros_like(x, dtype=float) "
            "makes an array of zeros."
        )
    at = "" if position is None else f" at position {position}"
    raise TypeError(
        f"{name} does not accept dtype {dtype.name}{at}. Accepted dtypes{at} are subtypes of "
        f"{', '.join(kind.name for kind in kinds)}."
    )


def check_same_dtypes(name: str, *avals: Any) -> None:
    """TypeError unless all operands have one element type."""
    first = avals[0].dtype
    if all(aval.dtype == first for aval in avals):
        return
    tip = _NUMPY_NAMES.get(name)
    raise TypeError(
        f"lax.{name} requires arguments to have the same dtypes, got "
        f"{', '.join(a.dtype.name for a in avals)}."
        + (
            f" (Tip: jnp.{tip} is a similar function that does automatic type promotion on inputs)."
            if tip
            else ""
        )
    )


def broadcast_shapes(name: str, avals: Sequence[Any]) -> tuple[Any, ...]:
    """The shape of a result of operands of one rank or rank 0; axes of size 1 stretch."""
    shapes = [aval.shape for aval in avals if aval.shape]
    if not shapes:
        return ()
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    if len({len(shape) for shape in shapes}) != 1:
        raise TypeError(
            f"{name}: arrays must have the same number of dimensions, got "
            f"{{{', '.join(map(str, sorted({len(s) for s in shapes})))}}}. Ranks differ in "
            f"{', '.join(map(str, shapes))}; broadcast first, or use frit.numpy, which does."
        )
    result = []
    for sizes in zip(*shapes, strict=True):
        stretching = [size for size in sizes if not dims.same(size, 1)]
        if any(not dims.same(size, stretching[0]) for size in stretching):
            raise TypeError(
                f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}."
            )
        result.append(stretching[0] if stretching else 1)
    return tuple(result)


def same_type(name: str, kinds: Sequence[Kind], result_dtype: Any = None) -> Rule:
    """The type rule of one or more operands of one element type, in `kinds`.

    result_dtype: the result's element type, or a function of the operands'.
    """

    @functools.lru_cache(1024)
    def result_types(*avals: Any, **params: Any) -> ShapedArray:
        alone = len(avals) == 1
        for i, aval in enumerate(avals):
            check_dtype(name, kinds, aval, None if alone else i)
        if not alone:
            check_same_dtypes(name, *avals)
        first = avals[0]
        dtype = result_dtype(first.dtype) if callable(result_dtype) else result_dtype or first.dtype
        weak = all(aval.weak_type for aval in avals)
        shape = first.shape if alone else broadcast_shapes(name, avals)
        if shape is first.shape and weak == first.weak_type and dtype is first.dtype:
            return first
        return ShapedArray(shape, dtype, weak)

    return result_types


def real_dtype(dtype: Any) -> Any:
    """complex64 -> float32; real types are themselves."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


# ---------------------------------------------------------------------------------------- constants


def constant(like: Any, value: Any) -> Any:
    """The scalar `value` of the type of `like`, weak where that is weak."""
    aval = typeof(like)
    assert isinstance(aval, ShapedArray)
    if aval.weak_type:
        inexact = float if dtypes.is_floating(aval.dtype) else int
        kind = complex if dtypes.is_complex(aval.dtype) else inexact
        if dtypes.python_scalar_dtype(kind) == aval.dtype:
            return kind(value)
    return np.asarray(value).astype(aval.dtype)[()]


def constant_array(like: Any, value: Any) -> Any:
    """`value` in every element of an array of the type of `like`."""
    aval = typeof(like)
    assert isinstance(aval, ShapedArray)
    return full(aval, constant(like, value))


# --------------------------------------------------------------------------------------- the family


def _jvp_of_terms(primitive: Callable[[], Primitive], tangents: Sequence[Rule | None]) -> Rule:
    """The jvp rule whose tangent is the sum of the terms of the operands that have a tangent."""

    def jvp(primals: Sequence[Any], given: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        result = primitive()(*primals, **params)
        aval: Any = typeof(result)
        found = [
            broadcast_to_type(term(t, *primals, result, **params), aval)
            for term, t in zip(tangents, given, strict=True)
            if term is not None and not is_zero(t)
        ]
        if not found:
            return result, zero_tangent(result)
        return result, functools.reduce(add_tangents, found)

    return jvp


def _times_slope(slope: Rule) -> Rule:
    return lambda t, *operands, **params: times(t, slope(*operands, **params))


def shown_without(*names: str) -> Callable[[Any], Params]:
    """A `shown` rule that leaves the named parameters out where they are None."""
    return lambda eqn: {
        key: value for key, value in eqn.params.items() if key not in names or value is not None
    }


_NOT_LINEAR = absent("not linear")


def elementwise(
    name: str,
    evaluate: Rule,
    accepts: Sequence[Kind] = (),
    *,
    result_dtype: Any = None,
    result_types: Rule | None = None,
    slopes: Sequence[Rule | None] = (),
    tangents: Sequence[Rule | None] = (),
    flat: bool = False,
    jvp: Rule | None = None,
    transpose: Rule = _NOT_LINEAR,
    batch: Rule | None = None,
    accuracy: Accuracy = exact,
    commutative: bool = False,
    decompose: Rule | None = None,
    shown: Callable[[Any], Params] | None = None,
) -> Primitive:
    """A primitive acting on each element by itself; operands and result have one type.

    evaluate: the meaning on NumPy arrays of the operands' types; takes the parameters by keyword.
    flat: the derivative is zero wherever there is one.
    """

    def itself() -> Primitive:
        return primitive

    terms = tangents or [slope and _times_slope(slope) for slope in slopes]
    if jvp is None:
        jvp = not_differentiable(itself) if flat else _jvp_of_terms(itself, terms)
        if not flat and not terms:
            jvp = absent(f"Differentiation rule for '{name}' not implemented")
    primitive = Primitive(
        name,
        result_types=result_types or same_type(name, accepts, result_dtype),
        evaluate=meaning.quiet(evaluate),
        jvp=jvp,
        transpose=transpose,
        batch=batch or batch_pointwise(itself),
        pointwise=True,
        commutative=commutative,
        decompose=decompose,
        accuracy=accuracy,
        shown=shown,
    )
    return primitive


def linear_unary(
    name: str, evaluate: Rule, accepts: Sequence[Kind], transpose: Rule, **more: Any
) -> Primitive:
    """An elementwise primitive of one operand, linear in it: `transpose(ct, x, **params) -> ct`."""
    primitive = elementwise(
        name,
        evaluate,
        accepts,
        jvp=lambda primals, tangents, **params: _linear_jvp(primitive, primals, tangents, params),
        transpose=per_linear_operand(transpose),
        **more,
    )
    return primitive


def _linear_jvp(
    primitive: Primitive, primals: Any, tangents: Any, params: Params
) -> tuple[Any, Any]:
    if is_zero(tangents[0]):
        result = primitive(*primals, **params)
        return result, zero_tangent(result)
    return linear_jvp(lambda: primitive)(primals, tangents, **params)


# ------------------------------------------------------------------------------------ neg, add, sub


neg: Primitive = linear_unary("neg", meaning.negate, NUMBERS, lambda ct, x: neg(ct))


def _jvp_of_sum(primitive: Callable[[], Primitive], of_second: Rule) -> Rule:
    """The jvp rule of x + y and x - y: the same operation on the tangents."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        result = primitive()(*primals)
        dx, dy = tangents
        if is_zero(dx) and is_zero(dy):
            return result, zero_tangent(result)
        tangent = dx if is_zero(dy) else of_second(dy) if is_zero(dx) else primitive()(dx, dy)
        return result, broadcast_to_type(tangent, typeof(result))  # type: ignore[arg-type]

    return jvp


add: Primitive = elementwise(
    "add",
    np.add,
    NUMBERS,
    jvp=_jvp_of_sum(lambda: add, lambda t: t),
    transpose=per_linear_operand(
        lambda ct, x, y: unbroadcast(ct, x.aval), lambda ct, x, y: unbroadcast(ct, y.aval)
    ),
    commutative=True,
)

sub: Primitive = elementwise(
    "sub",
    np.subtract,
    NUMBERS,
    jvp=_jvp_of_sum(lambda: sub, lambda t: neg(t)),
    transpose=per_linear_operand(
        lambda ct, x, y: unbroadcast(ct, x.aval), lambda ct, x, y: unbroadcast(neg(ct), y.aval)
    ),
)


# ---------------------------------------------------------------------------------------------- mul


def _mul_types(x: Any, y: Any, *, out_dtype: Any) -> ShapedArray:
    if out_dtype is None:
        return _mul_same(x, y)
    check_dtype("mul", NUMBERS, x, 0)
    check_dtype("mul", NUMBERS, y, 1)
    weak = x.weak_type and y.weak_type
    return ShapedArray(broadcast_shapes("mul", (x, y)), dtypes.canonicalize(out_dtype), weak)


_mul_same = same_type("mul", NUMBERS)


def _mul_evaluate(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    if out_dtype is not None:
        dtype = dtypes.canonicalize(out_dtype)
        x, y = meaning.convert(x, dtype), meaning.convert(y, dtype)
    return meaning.multiply(x, y)


def _mul_transpose(ct: Any, x: Any, y: Any, *, out_dtype: Any) -> list[Any]:
    if is_linear(x) and is_linear(y):
        raise TypeError("mul of two linear values cannot be transposed: it is not linear in both.")
    operand = x if is_linear(x) else y
    own = None if out_dtype is None else operand.dtype
    product = mul(ct, y, out_dtype=own) if is_linear(x) else mul(x, ct, out_dtype=own)
    product = unbroadcast(product, operand.aval)
    return [product, None] if is_linear(x) else [None, product]


mul: Primitive = elementwise(
    "mul",
    _mul_evaluate,
    result_types=_mul_types,
    tangents=(
        lambda t, x, y, z, **p: mul(t, y, **p),
        lambda t, x, y, z, **p: mul(x, t, **p),
    ),
    transpose=_mul_transpose,
    commutative=True,
    shown=shown_without("out_dtype"),
)


def times(x: Any, y: Any) -> Any:
    """x * y, of one element type."""
    return mul(x, y, out_dtype=None)


# ----------------------------------------------------------------------- copy, stop_gradient, stage


copy: Primitive = Primitive(
    "copy",
    result_types=lambda x: x,
    evaluate=np.array,
    jvp=lambda primals, tangents: _linear_jvp(copy, primals, tangents, {}),
    transpose=lambda ct, x: [ct],
    batch=batch_pointwise(lambda: copy),
    pointwise=True,
)

stop_gradient: Primitive = Primitive(
    "stop_gradient",
    result_types=lambda x: x,
    evaluate=lambda x: x,
    jvp=not_differentiable(lambda: stop_gradient),
    batch=batch_pointwise(lambda: stop_gradient),
    pointwise=True,
)


def _enter_stage(interpreter: Interpreter, operands: Sequence[Any], params: Params) -> Any:
    """The operand as a value of the bottom interpreter; where it is traced, a scalar stays one."""
    while interpreter is not bottom_interpreter():
        if hasattr(interpreter, "atom"):
            return operands[0]
        interpreter = interpreter.parent
    return interpreter.apply(stage, operands, params)


stage: Primitive = Primitive(
    "stage",
    result_types=lambda x: x,
    evaluate=lambda x: x,
    jvp=lambda primals, tangents: (primals[0], tangents[0]),
    transpose=lambda ct, x: [ct],
    batch=batch_pointwise(lambda: stage),
    enter=_enter_stage,
    pointwise=True,
)
