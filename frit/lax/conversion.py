"""Functions of `lax` that change an element's type or reading, take its parts, or pass it on."""

from __future__ import annotations

import builtins
import operator
import warnings

import numpy as np

from frit import errors, trees
from frit.ir import dtypes
from frit.ir.dtypes import ExtendedDType
from frit.ir.primitive import Tracer
from frit.ir.types import ShapedArray, typeof
from frit.primitives import conversion, elementwise


def dtype(x):
    """The element type of a value, or of the values of a scalar type."""
    if isinstance(x, type):
        return dtypes.canonicalize(dtypes.as_dtype(x))
    return typeof(x).dtype


def stage(x, /):
    """x as a value of the running trace, or as an array where none runs."""
    return elementwise.stage.bind(x)


def convert_element_type(operand, new_dtype):
    """The operand as `new_dtype`: integers wrap, floats saturate to integers, nan becomes 0.

    A 64-bit type stands for its 32-bit kin unless 64-bit types are enabled.
    """
    if isinstance(new_dtype, ExtendedDType):
        return _convert_element_type(operand, new_dtype)
    return _convert_element_type(operand, _user_dtype(new_dtype, "convert_element_type"))


def _user_dtype(dtype, function):
    """The element type that a user named, narrowed to 32 bits with a warning where needed."""
    if dtype is None:
        raise TypeError(f"{function} needs a dtype, got None.")
    found = dtypes.as_dtype(dtype)
    if found not in dtypes.ARRAY_DTYPES and found != dtypes.float0:
        raise TypeError(f"{found} is not a valid dtype of arrays: only numbers are supported.")
    if found == dtypes.float0:
        return found
    return dtypes.canonicalize_asked(dtype, function)


def _convert_element_type(
    operand, new_dtype=None, weak_type=False, sharding=None, warn_on_complex_to_real_cast=True
):
    """The operand as `new_dtype` (None: its own), weakly typed or not; itself where it is that."""
    if hasattr(operand, "__jax_array__"):
        operand = operand.__jax_array__()
    if type(operand) is int and new_dtype is not None and new_dtype != dtypes.float0:
        operand = np.asarray(operand).astype(new_dtype)[()]  # may be beyond 64 bits: floats hold it
    aval = typeof(operand)
    assert isinstance(aval, ShapedArray)
    new_dtype = aval.dtype if new_dtype is None else new_dtype
    if isinstance(aval.dtype, ExtendedDType) and aval.dtype == new_dtype:
        return operand
    drops_imaginary = dtypes.is_complex(aval.dtype) and not dtypes.is_complex(new_dtype)
    if drops_imaginary and warn_on_complex_to_real_cast:
        message = "Casting complex values to real discards the imaginary part"
        warnings.warn(message, np.exceptions.ComplexWarning, stacklevel=3)
    same = aval.dtype == new_dtype and aval.weak_type == bool(weak_type)
    if isinstance(operand, (bool, int, float, builtins.complex, np.generic)):
        if same:
            return stage(operand)
        if not weak_type and new_dtype != dtypes.float0:
            number = np.asarray(operand).astype(aval.dtype)
            converted = conversion.convert_element_type.evaluate(number, new_dtype=new_dtype)
            return stage(np.asarray(converted)[()])
    elif same and not isinstance(operand, np.ndarray):
        return operand
    return conversion.convert_element_type.bind(
        operand, new_dtype=new_dtype, weak_type=bool(weak_type), sharding=sharding
    )


def bitcast_convert_type(operand, new_dtype):
    """The operand's bits read as `new_dtype`.

    Narrower elements add a last axis; wider ones take the last axis, which holds their parts.
    """
    dtype = _user_dtype(new_dtype, "bitcast_convert_type")
    return conversion.bitcast_convert_type.bind(operand, new_dtype=dtype)


def reduce_precision(operand, exponent_bits, mantissa_bits):
    """The operand rounded to a float format with so many bits, in its own type."""
    exponent_bits = _concrete_index(exponent_bits, "exponent_bits")
    mantissa_bits = _concrete_index(mantissa_bits, "mantissa_bits")
    return conversion.reduce_precision.bind(
        operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )


def _concrete_index(number, name):
    if isinstance(number, Tracer):
        raise errors.ConcretizationTypeError(
            number, f"The {name} argument of lax.reduce_precision must be known while tracing."
        )
    return operator.index(number)


def real(x):
    """The real part of complex x."""
    return conversion.real.bind(x)


def imag(x):
    """The imaginary part of complex x."""
    return conversion.imag.bind(x)


def complex(x, y):
    """x + iy, of reals of 32 or 64 bits."""
    return conversion.complex_.bind(x, y)


def conj(x):
    """The complex conjugate; of real x, x as a complex number."""
    return conversion.conj.bind(x, input_dtype=typeof(x).dtype)


def stop_gradient(x):
    """x, a constant to differentiation; x may be a tree of arrays."""
    return trees.map(_stop_gradient, x)


def _stop_gradient(x):
    if isinstance(typeof(x).dtype, ExtendedDType):
        return x
    return elementwise.stop_gradient.bind(x)


# ---------------------------------------------------------------- the records, by JAX's other names

bitcast_convert_type_p = conversion.bitcast_convert_type
complex_p = conversion.complex_
conj_p = conversion.conj
convert_element_type_p = conversion.convert_element_type
copy_p = elementwise.copy
imag_p = conversion.imag
real_p = conversion.real
reduce_precision_p = conversion.reduce_precision
stage_p = elementwise.stage
stop_gradient_p = elementwise.stop_gradient

__all__ = [
    "bitcast_convert_type", "bitcast_convert_type_p", "complex", "complex_p", "conj", "conj_p",
    "convert_element_type", "convert_element_type_p", "copy_p", "dtype", "imag", "imag_p", "real",
    "real_p", "reduce_precision", "reduce_precision_p", "stage", "stage_p", "stop_gradient",
    "stop_gradient_p",
]  # fmt: skip
