"""Changes of element type, of bits read as another type, and the parts of complex numbers.

The transpose of real, imag, complex and conj treats a complex number as a pair of reals, with
JAX's convention that the cotangent of z = x + iy pairs with it as re(ct) x - im(ct) y.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.primitive import Params, Primitive
from frit.ir.types import ShapedArray, typeof
from frit.primitives import scalar_meaning as meaning
from frit.primitives.complex_meaning import join
from frit.primitives.elementwise import (
    Kind,
    check_dtype,
    complex_floating,
    constant,
    elementwise,
    floating,
    linear_unary,
    neg,
    real_dtype,
    same_type,
)
from frit.transforms.linear import (
    broadcast_to_type,
    instantiate,
    is_linear,
    is_zero,
    move_axis,
    unbroadcast,
)
from frit.transforms.rules import zero_tangent

# ----------------------------------------------------------------------------- convert_element_type


def _convert_types(x: Any, *, new_dtype: Any, weak_type: bool, sharding: Any = None) -> ShapedArray:
    for dtype in (x.dtype, new_dtype):
        if isinstance(dtype, dtypes.ExtendedDType):
            raise TypeError(
                f"cannot convert from {x.dtype} to {new_dtype}: keys are not numbers. "
                "random.key_data(key) gives their bits, random.wrap_key_data makes keys of bits."
            )
    return ShapedArray(x.shape, new_dtype, weak_type)


def _convert_evaluate(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    if new_dtype == dtypes.float0:
        return np.zeros(np.shape(x), dtypes.float0)
    return meaning.convert(x, new_dtype)


def _convert_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    result = convert_element_type(x, **params)
    zero = zero_tangent(result)
    if is_zero(t) or zero.aval.dtype == dtypes.float0 or typeof(t).dtype == dtypes.float0:  # type: ignore[attr-defined]
        return result, zero
    return result, convert_element_type(t, **params)


def _convert_transpose(ct: Any, x: Any, **_: Any) -> list[Any]:
    if not dtypes.is_inexact(x.dtype):
        return [None]
    back = {"new_dtype": x.dtype, "weak_type": x.aval.weak_type, "sharding": None}
    return [convert_element_type(ct, **back)]


def _convert_shown(eqn: Any) -> Params:
    return {key: value for key, value in eqn.params.items() if key != "sharding"}


convert_element_type = elementwise(
    "convert_element_type",
    _convert_evaluate,
    result_types=_convert_types,
    jvp=_convert_jvp,
    transpose=_convert_transpose,
    shown=_convert_shown,
)


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """x as `dtype`, or x itself where it is of that type already."""
    aval = typeof(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:  # type: ignore[attr-defined]
        return x
    if isinstance(x, np.generic | bool | int | float | complex) and not weak_type:
        number = np.asarray(x).astype(aval.dtype)  # type: ignore[attr-defined]
        return meaning.convert(number, np.dtype(dtype))[()]
    return convert_element_type(x, new_dtype=np.dtype(dtype), weak_type=weak_type, sharding=None)


# ----------------------------------------------------------------------------- bitcast_convert_type


def _bitcast_types(x: Any, *, new_dtype: Any) -> ShapedArray:
    old, new = x.dtype, new_dtype
    if old != new and any(dtypes.is_bool(d) or dtypes.is_complex(d) for d in (old, new)):
        raise TypeError(
            "lax.bitcast_convert_type does not support bool or complex values unless the operand "
            f"and destination types match. Got operand dtype={old}, new_dtype={new}. Consider "
            "using the arr.view() method instead."
        )
    old_bits, new_bits = meaning.bit_width(old), meaning.bit_width(new)
    if old_bits == new_bits:
        return ShapedArray(x.shape, new)
    if old_bits > new_bits:
        return ShapedArray((*x.shape, old_bits // new_bits), new)
    last = x.shape[-1] if x.shape else 1
    if not dims.same(last * old_bits, new_bits):
        raise ValueError(
            f"Attempting to convert array of shape {x.shape} from {old} of size {old_bits} bits to "
            f"{new} of size {new_bits} bits, but {last} * {old_bits} != {new_bits}: the last axis "
            "must hold the parts of one element."
        )
    return ShapedArray(x.shape[:-1], new)


def _bitcast_batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> Any:
    x = move_axis(operands[0], mapped[0], 0)
    return bitcast_convert_type(x, **params), 0


bitcast_convert_type = elementwise(
    "bitcast_convert_type",
    lambda x, new_dtype: meaning.bitcast(x, new_dtype),
    result_types=_bitcast_types,
    flat=True,
    batch=_bitcast_batch,
)


# --------------------------------------------------------------------------------- reduce_precision


def _reduce_precision_types(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    if operator.index(exponent_bits) < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if operator.index(mantissa_bits) < 0:
        raise ValueError(
            f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
        )
    check_dtype("reduce_precision", (floating,), x)
    return x


reduce_precision: Primitive = linear_unary(
    "reduce_precision",
    meaning.reduce_precision,
    (floating,),
    lambda ct, x, **params: reduce_precision(ct, **params),
    result_types=_reduce_precision_types,
)


# ------------------------------------------------------------------------ real, imag, complex, conj


_PARTS = (Kind("float32", map(np.dtype, ("f4",))), Kind("float64", map(np.dtype, ("f8",))))


def _complex_dtype(dtype: Any) -> np.dtype:
    return dtype if dtype.kind == "c" else np.dtype(f"c{dtype.itemsize * 2}")


def _zero_part(x: Any) -> Any:
    return constant(x, 0)


real = linear_unary(
    "real",
    lambda x: np.real(x),
    (complex_floating,),
    lambda ct, x: complex_(ct, _zero_part(ct)),
    result_dtype=real_dtype,
)

imag = linear_unary(
    "imag",
    lambda x: np.imag(x),
    (complex_floating,),
    lambda ct, x: complex_(_zero_part(ct), neg(ct)),
    result_dtype=real_dtype,
)


def _complex_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    result = complex_(*primals)
    if all(map(is_zero, tangents)):
        return result, zero_tangent(result)
    tangent = complex_(*map(instantiate, tangents))
    return result, broadcast_to_type(tangent, typeof(result))  # type: ignore[arg-type]


def _complex_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(real(ct), x.aval) if is_linear(x) else None,
        unbroadcast(imag(neg(ct)), y.aval) if is_linear(y) else None,
    ]


complex_: Primitive = elementwise(
    "complex",
    join,
    result_types=same_type("complex", _PARTS, _complex_dtype),
    jvp=_complex_jvp,
    transpose=_complex_transpose,
)


def _conj_evaluate(x: Any, *, input_dtype: Any) -> Any:
    return np.conj(x).astype(_complex_dtype(x.dtype))


def _conj_types(x: Any, *, input_dtype: Any) -> ShapedArray:
    check_dtype("conj", (*_PARTS, complex_floating), x)
    return x.update(dtype=_complex_dtype(x.dtype))


def _conj_transpose(ct: Any, x: Any, *, input_dtype: Any) -> Any:
    if dtypes.is_complex(np.dtype(input_dtype)):
        return conj(ct, input_dtype=typeof(ct).dtype)  # type: ignore[attr-defined]
    return real(ct)


conj = linear_unary("conj", _conj_evaluate, (), _conj_transpose, result_types=_conj_types)


def conjugate(x: Any) -> Any:
    """The conjugate of complex x; real x itself."""
    dtype = typeof(x).dtype  # type: ignore[attr-defined]
    return conj(x, input_dtype=dtype) if dtypes.is_complex(dtype) else x
