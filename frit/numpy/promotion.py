"""How operands of differing type and rank become operands of one type.

    promote_args("add", i32[3], 1.5)   ->   f32[3], 1.5:f32[]

A Python scalar stays a rank-0 scalar of the common type, so a jaxpr shows it as a literal; it is
never broadcast.  Operands of rank 0 are left so; those of rank 1 and more get equal ranks.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from frit import config, errors, lax
from frit.ir import dtypes
from frit.ir.dtypes import ExtendedDType, float0
from frit.ir.primitive import Tracer, under_trace
from frit.ir.types import ShapedArray, typeof
from frit.runtime.array import Array, array_of

_PYTHON_KINDS = frozenset((bool, int, float, complex))
_FRIT_TYPES = (Array, Tracer)


def is_array(x: Any) -> bool:
    """Whether `x` is a frit array: concrete or traced."""
    return isinstance(x, _FRIT_TYPES)


def is_arraylike(x: Any) -> bool:
    """Whether `x` may be an operand of frit.numpy: lists, tuples and None may not."""
    return (
        isinstance(x, _FRIT_TYPES)
        or isinstance(x, np.ndarray)
        or hasattr(x, "__jax_array__")
        or np.isscalar(x)
    )


def check_arraylike(name: str, *args: Any) -> None:
    """TypeError that names the first of `args` that is no array or scalar."""
    for position, x in enumerate(args):
        if not is_arraylike(x):
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position "
                f"{position}."
            )


def check_arraylike_or_none(name: str, *args: Any) -> None:
    for position, x in enumerate(args):
        if x is not None and not is_arraylike(x):
            raise TypeError(
                f"{name} requires ndarray, scalar, or None arguments, got {type(x)} at position "
                f"{position}."
            )


def check_no_out(name: str, out: Any) -> None:
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


def operands(name: str, *args: Any) -> list[Any]:
    """`args` checked, with `__jax_array__` called and NumPy's 64 bits narrowed as settings ask."""
    check_arraylike(name, *args)
    return [as_operand(x) for x in args]


def as_operand(x: Any) -> Any:
    if isinstance(x, _FRIT_TYPES) or type(x) in _PYTHON_KINDS:
        return x
    if hasattr(x, "__jax_array__"):
        return as_operand(x.__jax_array__())
    if isinstance(x, (np.ndarray, np.generic)):
        dtype = typeof(x).dtype
        return x if x.dtype == dtype else x.astype(dtype)
    return x


class LiteralArray(Array):
    """A scalar made while a jaxpr is traced: an array to its users, a literal in the jaxpr."""

    __slots__ = ("_number",)

    def __init__(self, number: Any) -> None:
        array = array_of(number)
        super().__init__(array.__array__(), array.aval)
        self._number = number

    def __jax_array__(self) -> Any:
        return self._number


def as_array(x: Any) -> Any:
    """`x`, an array-like, as a frit array; Python scalars stay weak."""
    x = as_operand(x)
    if isinstance(x, _FRIT_TYPES):
        return x
    if under_trace() and np.ndim(x) == 0:
        return LiteralArray(x[()] if isinstance(x, np.ndarray) else x)
    return array_of(x)


def ensure_array(name: str, x: Any) -> Any:
    """`x` as a frit array.  TypeError if it is not array-like."""
    check_arraylike(name, x)
    return as_array(x)


def ensure_arrays(name: str, *args: Any) -> list[Any]:
    check_arraylike(name, *args)
    return [as_array(x) for x in args]


def dtype_of(x: Any) -> Any:
    """The element type of an operand."""
    return x.dtype if isinstance(x, _FRIT_TYPES) else typeof(x).dtype


def shape_of(x: Any) -> tuple[Any, ...]:
    return x.shape if isinstance(x, _FRIT_TYPES) else np.shape(x)


def is_weak(x: Any) -> bool:
    return bool(typeof(x).weak_type)


# ---- element types ------------------------------------------------------------------------------


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """`x` with element type `dtype`, weak or not; Python scalars become scalars, not arrays."""
    if type(x) is LiteralArray:
        x = x.__jax_array__()
    if type(x) in _PYTHON_KINDS:
        return _convert_scalar(x, dtype, weak_type)
    found = typeof(x)
    if found.dtype == dtype and found.weak_type == weak_type:
        return x
    if isinstance(x, np.generic) and not weak_type and not isinstance(dtype, ExtendedDType):
        return x.astype(dtype)
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def _convert_scalar(x: Any, dtype: Any, weak_type: bool) -> Any:
    if weak_type:
        kind = _scalar_kind(dtype)
        if dtypes.python_scalar_dtype(kind) == dtype:
            return kind(x)
        return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=True, sharding=None)
    typeof(x)  # OverflowError where it does not fit
    return np.asarray(x).astype(dtype)[()]


def _scalar_kind(dtype: Any) -> type:
    if dtypes.is_bool(dtype):
        return bool
    if dtypes.is_complex(dtype):
        return complex
    return float if dtypes.is_floating(dtype) else int


def constant_like(x: Any, value: Any) -> Any:
    """The scalar `value` in x's element type, weak where `x` is: a literal in a jaxpr."""
    found = typeof(x)
    return convert(value, found.dtype, found.weak_type)


def common_type(*args: Any) -> tuple[Any, bool]:
    """The element type that operands promote to, and whether it is weak."""
    found = [typeof(x) for x in args]
    return dtypes.promote([(t.dtype, t.weak_type) for t in found])


def promote_dtypes(*args: Any) -> list[Any]:
    """Operands in their common element type."""
    if len(args) < 2:
        return list(args)
    return _converted(args, *common_type(*args))


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """Operands in their common element type, bool replaced by int."""
    dtype, weak = common_type(*args)
    return _converted(args, np.dtype("int32") if dtypes.is_bool(dtype) else dtype, weak)


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Operands in their common element type, integers and bool replaced by the default float."""
    dtype, weak = common_type(*args)
    return _converted(args, to_inexact(dtype), weak)


def promote_dtypes_complex(*args: Any) -> list[Any]:
    dtype, weak = common_type(*args)
    return _converted(args, to_complex(dtype), weak)


def _converted(args: Sequence[Any], dtype: Any, weak: bool) -> list[Any]:
    return [convert(x, dtype, weak) for x in args]


def default_float() -> Any:
    return dtypes.python_scalar_dtype(float)


def default_int() -> Any:
    return dtypes.python_scalar_dtype(int)


def to_inexact(dtype: Any) -> Any:
    """`dtype` itself if floating or complex; float64 for 64-bit integers, else float32."""
    if isinstance(dtype, ExtendedDType) or dtypes.is_inexact(dtype):
        return dtype
    return np.dtype("float64" if dtype in _LONG else "float32")


_LONG = frozenset((np.dtype("int64"), np.dtype("uint64")))


def to_complex(dtype: Any) -> Any:
    inexact = to_inexact(dtype)
    if dtypes.is_complex(inexact):
        return inexact
    return np.dtype("complex128" if inexact == np.float64 else "complex64")


def real_part_dtype(dtype: Any) -> Any:
    """float32 for complex64, float64 for complex128, else `dtype`."""
    if not dtypes.is_complex(dtype):
        return dtype
    return np.dtype("float32" if dtype == np.complex64 else "float64")


# ---- ranks and shapes ---------------------------------------------------------------------------


def promote_shapes(name: str, *args: Any) -> list[Any]:
    """Operands of equal rank, or of rank 0."""
    ranks = {len(shape_of(x)) for x in args} - {0}
    if len(ranks) < 2:
        return list(args)
    if config.numpy_rank_promotion.value != "allow":
        _report_rank_promotion(name, [shape_of(x) for x in args])
    shapes = [shape_of(x) for x in args]
    rank = len(lax.broadcast_shapes(*shapes))
    return [_with_rank(x, rank) for x in args]


def _with_rank(x: Any, rank: int) -> Any:
    missing = rank - len(shape_of(x))
    return lax.expand_dims(x, range(missing)) if missing else x


def _report_rank_promotion(name: str, shapes: Iterable[tuple[Any, ...]]) -> None:
    text = " ".join(map(str, shapes))
    if config.numpy_rank_promotion.value == "warn":
        warnings.warn(
            f"Following NumPy automatic rank promotion for {name} on shapes {text}. Set the "
            "jax_numpy_rank_promotion config option to 'allow' to disable this warning; or give "
            "the operands equal ranks, as with x[None, :].",
            stacklevel=5,
        )
    else:
        raise ValueError(
            f"Operands could not be broadcast together for {name} on shapes {text} and with the "
            "config option jax_numpy_rank_promotion='raise'. Give the operands equal ranks, as "
            "with x[None, :]."
        )


def broadcast_arrays(*args: Any) -> list[Any]:
    """Operands broadcast to their common shape."""
    shapes = [shape_of(x) for x in args]
    if all(s == shapes[0] for s in shapes):
        return list(args)
    shape = lax.broadcast_shapes(*shapes)
    return [broadcast_to(x, shape) for x in args]


def broadcast_to(x: Any, shape: Any) -> Any:
    """`x` repeated along new and singleton axes to have `shape`."""
    x = as_operand(x)
    found = shape_of(x)
    shape = as_shape(shape)
    if found == shape:
        return as_array(x)
    missing = len(shape) - len(found)
    if missing < 0 or any(
        s != t and not _is_one(s) for s, t in zip(found, shape[missing:], strict=True)
    ):
        raise ValueError(
            f"Incompatible shapes for broadcasting: {tuple(found)} and requested shape {shape}"
        )
    kept = [i for i, s in enumerate(found) if s == shape[missing + i]]
    if len(kept) < len(found):
        x = lax.squeeze(x, [i for i in range(len(found)) if i not in kept])
    return lax.broadcast_in_dim(x, shape, tuple(missing + i for i in kept))


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def as_shape(shape: Any) -> tuple[Any, ...]:
    """A shape given as a size or a sequence of sizes, as a tuple."""
    if isinstance(shape, (int, np.integer)) or hasattr(shape, "evaluate"):
        shape = (shape,)
    elif not isinstance(shape, (tuple, list)) and np.ndim(shape) == 0:
        shape = (shape,)
    return ShapedArray(tuple(shape), np.bool_).shape


# ---- both together ------------------------------------------------------------------------------


def _checked(name: str, args: Sequence[Any]) -> list[Any]:
    found = operands(name, *args)
    kinds = [dtype_of(x) for x in found]
    if float0 in kinds:
        raise TypeError(
            f"Called {name} with a float0 array. float0s do not support any operations by design, "
            "because they are not compatible with non-trivial vector spaces. You can use "
            "np.zeros_like(x, dtype=float) to cast a float0 array to a regular array of zeros. If "
            "you did not expect a float0, you may have taken a gradient with respect to an integer."
        )
    if len(set(kinds)) > 1 and any(isinstance(k, ExtendedDType) for k in kinds):
        raise TypeError(f"{name} does not accept dtypes {', '.join(map(str, kinds))}.")
    return found


def promote_args(name: str, *args: Any) -> list[Any]:
    """Operands of one element type and of compatible rank."""
    if len(args) == 2 and isinstance(args[0], _FRIT_TYPES) and isinstance(args[1], _FRIT_TYPES):
        x, y = args
        if x.ndim == y.ndim and x.dtype == y.dtype and x.weak_type == y.weak_type:
            return _checked(name, args) if x.dtype == float0 else [x, y]
    return promote_shapes(name, *promote_dtypes(*_checked(name, args)))


def promote_args_numeric(name: str, *args: Any) -> list[Any]:
    """Operands of one numeric element type (bool becomes int32) and of compatible rank."""
    return promote_shapes(name, *promote_dtypes_numeric(*_checked(name, args)))


def promote_args_inexact(name: str, *args: Any) -> list[Any]:
    """Operands of one floating or complex element type and of compatible rank."""
    return promote_shapes(name, *promote_dtypes_inexact(*_checked(name, args)))


def promote_args_complex(name: str, *args: Any) -> list[Any]:
    return promote_shapes(name, *promote_dtypes_complex(*_checked(name, args)))


# ---- what users ask for -------------------------------------------------------------------------


def requested_dtype(dtype: Any, name: str) -> Any:
    """The element type `dtype` names, narrowed with a warning where 64 bits are not enabled."""
    if dtype is None:
        raise TypeError(f"{name}: dtype must be specified.")
    asked = dtypes.as_dtype(dtype)
    if isinstance(asked, ExtendedDType) or asked == float0:
        return asked
    if asked not in dtypes.ARRAY_DTYPES:
        raise TypeError(
            f"JAX only supports number, bool, and prng_key dtypes, got dtype {asked} in {name}"
        )
    found = dtypes.canonicalize(asked)
    if found != asked and dtype not in (int, float, complex):
        warnings.warn(
            f"Explicitly requested dtype {asked} requested in {name} is not available, and will be "
            f"truncated to dtype {found}. To enable more dtypes, set the jax_enable_x64 "
            "configuration option or the JAX_ENABLE_X64 shell environment variable. See "
            "https://github.com/jax-ml/jax#current-gotchas for more.",
            stacklevel=4,
        )
    return found


def canonical_axis(axis: Any, rank: int) -> int:
    """`axis` counted from the front.  ValueError if it is out of bounds."""
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis + rank if axis < 0 else axis


def canonical_axes(axis: Any, rank: int, *, allow_duplicates: bool = False) -> tuple[int, ...]:
    """Axes given as None (all), an int or a sequence, counted from the front."""
    if axis is None:
        return tuple(range(rank))
    if not isinstance(axis, (tuple, list, range, np.ndarray)):
        return (canonical_axis(axis, rank),)
    axes = tuple(canonical_axis(a, rank) for a in axis)
    if not allow_duplicates and len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes


def concrete(x: Any, context: str) -> Any:
    """The number(s) of `x`.  ConcretizationTypeError with `context` if it is traced."""
    if isinstance(x, Tracer):
        value = x.concrete()
        if value is None:
            raise errors.ConcretizationTypeError(x, context)
        return value
    return x


def is_concrete(x: Any) -> bool:
    """Whether the numbers of `x` are known now."""
    return not isinstance(x, Tracer) or x.concrete() is not None
