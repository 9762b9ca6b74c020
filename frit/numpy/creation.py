"""New arrays: from Python and NumPy values, and filled with one value.

What makes an array from lists infers one element type for all leaves, by promotion, weak scalars
included; an array holding traced elements is stacked from them.
"""

from __future__ import annotations

import types as python_types
import warnings
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.ir.dtypes import ExtendedDType
from frit.ir.primitive import Tracer
from frit.ir.types import typeof
from frit.numpy.operands import (
    as_array,
    as_operand,
    as_shape,
    check_arraylike,
    dtype_of,
    is_array,
    shape_of,
)
from frit.numpy.promotion import broadcast_to, convert, default_float, requested_dtype
from frit.primitives.elementwise import copy as copy_primitive


def array(
    object: Any,
    dtype: Any = None,
    *args: Any,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array of the numbers in `object`: a number, an array, or nested lists of these.

    dtype: asked for, or promoted from all elements; a lone Python number stays weak.
    TypeError for what is not numeric, ValueError for None and for ragged lists.
    """
    if args:
        if len(args) > 3:
            raise TypeError(
                f"array() takes at most 5 positional arguments but {len(args) + 2} were given"
            )
        for name, value, default in zip(
            ("copy", "order", "ndmin"), (copy, order, ndmin), (True, "K", 0), strict=True
        ):
            if value != default and len(args) > ("copy", "order", "ndmin").index(name):
                raise TypeError(f"array() got multiple values for argument '{name}'")
        warnings.warn(
            "Passing the copy, order, and ndmin arguments to jnp.array positionally is deprecated. "
            "Use keyword arguments instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        given: list[Any] = [*args, *(copy, order, ndmin)[len(args) :]]
        copy, order, ndmin = given
    if order not in (None, "K"):
        raise NotImplementedError("Only implemented for order='K'")
    if dtype is not None:
        dtype = requested_dtype(dtype, "array")
    result = _array(object, dtype, copy)
    missing = ndmin - result.ndim
    return lax.expand_dims(result, range(missing)) if missing > 0 else result


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`a` as an array, itself if it is one already; see `array`."""
    if order not in (None, "K"):
        raise NotImplementedError("Only implemented for order='K'")
    if dtype is not None:
        dtype = requested_dtype(dtype, "asarray")
    return _array(a, dtype, bool(copy))


def _array(object: Any, dtype: Any, copy: bool) -> Any:
    if hasattr(object, "__jax_array__"):
        object = object.__jax_array__()
    if is_array(object):
        if dtype is not None and (object.dtype != dtype or object.weak_type):
            return convert(object, dtype)
        return _copied(object) if copy else object
    if isinstance(object, (list, tuple)):
        return _from_sequence(object, dtype)
    if isinstance(object, range):
        return _from_sequence(list(object), dtype)
    if object is None:
        raise ValueError("None is not a valid value for jnp.array")
    if isinstance(object, (bool, int, float, complex)):
        if dtype is None:
            return as_array(object)
        return as_array(_checked(np.asarray(object, _storage(dtype)), dtype))
    if not isinstance(object, (np.ndarray, np.generic)):
        object = _from_foreign(object)
    typeof(object)  # TypeError for strings and objects
    if dtype is not None and object.dtype != dtype:
        held: Any = typeof(object)
        if held.dtype in (dtype, object.dtype) and is_array(traced := as_operand(object)):
            return convert(traced, dtype)
        object = object.astype(_storage(dtype))
    return as_array(object)


def _copied(x: Any) -> Any:
    return copy_primitive(x) if isinstance(x, Tracer) else x.__copy__()


def _storage(dtype: Any) -> Any:
    if isinstance(dtype, ExtendedDType):
        raise TypeError(f"arrays of {dtype} cannot be made from numbers; see random.key")
    return dtype


def _checked(value: np.ndarray, dtype: Any) -> np.ndarray:
    return value if value.dtype == dtype else value.astype(dtype)


def _from_foreign(object: Any) -> np.ndarray:
    """The contents of an object that NumPy can read: the buffer protocol or `__array__`."""
    if isinstance(object, str) or not (
        hasattr(object, "__array__")
        or hasattr(object, "__array_interface__")
        or _has_buffer(object)
    ):
        raise TypeError(
            f"Value {str(object)!r} with dtype {np.asarray(object).dtype} is not a valid JAX array "
            "type. Only arrays of numeric types are supported."
        )
    return np.asarray(object)


def _has_buffer(object: Any) -> bool:
    try:
        memoryview(object)
    except TypeError:
        return False
    return True


def _leaves(object: Any, found: list[Any]) -> list[Any]:
    if isinstance(object, (list, tuple)):
        for element in object:
            _leaves(element, found)
    else:
        found.append(object.__jax_array__() if hasattr(object, "__jax_array__") else object)
    return found


def _from_sequence(object: Any, dtype: Any) -> Any:
    leaves = _leaves(object, [])
    for leaf in leaves:
        if leaf is None:
            raise ValueError("None is not a valid value for jnp.array")
    if dtype is None:
        dtype = _common_dtype(leaves)
    if any(is_array(leaf) for leaf in leaves):
        return _stacked(object, dtype)
    return as_array(np.asarray(object, dtype=_storage(dtype)))


def _common_dtype(leaves: list[Any]) -> Any:
    if not leaves:
        return default_float()
    kinds: dict[tuple[Any, bool], None] = {}
    for leaf in leaves:
        is_typed = isinstance(leaf, (bool, int, float, complex)) or is_array(leaf)
        known: Any = typeof(leaf if is_typed else np.asarray(leaf))
        kinds[known.dtype, known.weak_type] = None
    return dtypes.promote(list(kinds))[0]


def _stacked(object: Any, dtype: Any) -> Any:
    if not isinstance(object, (list, tuple)):
        return _array(object, dtype, False)
    if not object:
        return as_array(np.zeros((0,), dtype))
    parts = [_stacked(element, dtype) for element in object]
    if len({p.shape for p in parts}) > 1:
        raise ValueError(
            "setting an array element with a sequence: all elements of a nested list must have one "
            f"shape, got {[p.shape for p in parts][:8]}"
        )
    return lax.concatenate([lax.expand_dims(p, (0,)) for p in parts], 0)


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of `a`."""
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """x with elements of `dtype`; nan becomes 0 and too large floats saturate in integers."""
    check_arraylike("astype", x)
    x = as_array(x)
    if dtype is None:
        dtype = float
    if dtypes.issubdtype(dtype, dtypes.extended) or isinstance(x.dtype, ExtendedDType):
        return lax.convert_element_type(x, dtypes.as_dtype(dtype))
    wanted = requested_dtype(dtype, "astype")
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(wanted):
        if dtypes.is_bool(wanted):
            return lax.ne(x, np.asarray(0).astype(x.dtype)[()])
        warnings.warn(
            "Casting from complex to real dtypes will soon raise a ValueError. Please first use "
            "jnp.real or jnp.imag to take the real/imaginary component of your input.",
            DeprecationWarning,
            stacklevel=3,
        )
    result = lax.convert_element_type(x, wanted)
    return _copied(result) if copy and result is x else result


# ---- filled -------------------------------------------------------------------------------------


def _check_shape_argument(name: str, shape: Any, dtype: Any) -> None:
    if isinstance(shape, python_types.GeneratorType):
        raise TypeError("expected sequence object with len >= 0 or a single integer")
    if isinstance(dtype, int) and not isinstance(dtype, bool) and isinstance(shape, int):
        raise TypeError(
            f"Cannot interpret '{dtype}' as a data type.\n\nDid you accidentally write "
            f"`jax.numpy.{name}({shape}, {dtype})` when you meant "
            f"`jax.numpy.{name}(({shape}, {dtype}))`, i.e. with a single tuple argument for the "
            "shape?"
        )


def _filled(name: str, shape: Any, value: Any, dtype: Any) -> Any:
    _check_shape_argument(name, shape, dtype)
    shape = as_shape(shape)
    if any(isinstance(s, int) and s < 0 for s in shape):
        raise TypeError(f"{name}: every size of a shape must be nonnegative, got {shape}")
    return lax.full(shape, value, requested_dtype(float if dtype is None else dtype, name))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros."""
    return _filled("zeros", shape, 0, dtype)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of ones."""
    return _filled("ones", shape, 1, dtype)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros: there are no uninitialised arrays."""
    return _filled("empty", shape, 0, dtype)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """An array filled with `fill_value`, which broadcasts to `shape`."""
    if dtype is not None:
        dtype = requested_dtype(dtype, "full")
    check_arraylike("full", fill_value)
    fill_value = as_operand(fill_value)
    if shape_of(fill_value) == ():
        return lax.full(as_shape(shape), fill_value, dtype)
    return broadcast_to(asarray(fill_value, dtype), shape)


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    if not (hasattr(a, "dtype") and hasattr(a, "shape")):
        check_arraylike(name, a)
        a = as_operand(a)
    if dtype is not None:
        dtype = requested_dtype(dtype, name)
    filled = lax.full_like(a, value, dtype, None if shape is None else as_shape(shape))
    return as_array(filled)  # a scalar stays a literal in jaxprs


def zeros_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Zeros with the shape and element type of `a`, where not told otherwise."""
    return _like("zeros_like", a, 0, dtype, shape)


def ones_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Ones with the shape and element type of `a`, where not told otherwise."""
    return _like("ones_like", a, 1, dtype, shape)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros with the shape and element type of `prototype`, where not told otherwise."""
    return _like("empty_like", prototype, 0, dtype, shape)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`fill_value` in the shape and element type of `a`, where not told otherwise."""
    check_arraylike("full_like", 0, fill_value)
    fill_value = as_operand(fill_value)
    if shape_of(fill_value) == ():
        return _like("full_like", a, fill_value, dtype, shape)
    if not (hasattr(a, "dtype") and hasattr(a, "shape")):
        a = as_array(a)
    wanted = a.shape if shape is None else shape
    return broadcast_to(asarray(fill_value, dtype_of(a) if dtype is None else dtype), wanted)


# ---- from bytes and files -----------------------------------------------------------------------


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """The numbers whose bytes are in `buffer`."""
    return asarray(np.frombuffer(buffer, dtype=np.dtype(dtype), count=count, offset=offset))


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """Not implemented, as a file changes what a pure function returns; use np.fromfile."""
    raise NotImplementedError(
        "jnp.fromfile() is not implemented because it may be non-pure and thus unsafe for use with "
        "JIT and other transformations. Consider using jnp.asarray(np.fromfile(...)) instead, "
        "although care should be taken if np.fromfile is used within jit, vmap or grad."
    )


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """Not implemented, as an iterator changes what a pure function returns; use np.fromiter."""
    raise NotImplementedError(
        "jnp.fromiter() is not implemented because it may be non-pure and thus unsafe for use with "
        "JIT and other transformations. Consider using jnp.asarray(np.fromiter(...)) instead, "
        "although care should be taken if np.fromiter is used within jit, vmap or grad."
    )


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """The numbers written in `string`, separated by `sep`."""
    return asarray(np.fromstring(string, dtype=np.dtype(dtype), count=count, sep=sep))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array that `x` exports through DLPack."""
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            "from_dlpack expects an object with a __dlpack__ method (an array of NumPy, PyTorch, "
            f"CuPy …), got {type(x).__name__}. Raw capsules are not accepted."
        )
    try:
        return asarray(np.from_dlpack(x))
    except BufferError as error:
        raise TypeError(f"from_dlpack: {type(x).__name__} cannot be exported ({error}).") from None


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """The array(s) saved in a .npy or .npz file."""
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == np.dtype("V2"):  # how NumPy saves bfloat16
        found = found.view(dtypes.bfloat16)
    return asarray(found) if found.dtype in dtypes.ARRAY_DTYPES else found


save, savez = np.save, np.savez
