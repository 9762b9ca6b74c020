"""How operands of differing type and rank become operands of one type.

    promote_args("add", i32[3], 1.5)   ->   f32[3], 1.5:f32[]

A Python scalar stays a rank-0 scalar of the common type, so a jaxpr shows it as a literal; it is
never broadcast.  Operands of rank 0 are left so; those of rank 1 and more get equal ranks.

A *kind* is a pair (element type, weak).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from frit import config, lax
from frit.ir import dtypes
from frit.ir.dtypes import ExtendedDType, float0
from frit.ir.types import typeof
from frit.numpy.operands import (  # noqa: F401 - the vocabulary of arguments, for importers too
    PYTHON_SCALARS,
    LiteralArray,
    as_array,
    as_operand,
    as_shape,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    check_arraylike_or_none,
    check_no_out,
    concrete,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_array,
    is_arraylike,
    is_concrete,
    operands,
    shape_of,
)

Kind = tuple[Any, bool]


def kind_of(x: Any) -> Kind:
    """The element type of an operand, and whether it is weak.  OverflowError for a long int."""
    cls = type(x)
    if is_array(x):
        aval = x.aval
        return aval.dtype, aval.weak_type
    if cls is float or cls is bool or (cls is int and -0x80000000 <= x <= 0x7FFFFFFF):
        return dtypes.python_scalar_dtype(cls), cls is not bool
    found: Any = typeof(x)
    return found.dtype, found.weak_type


@functools.lru_cache(4096)
def _common_kind(kinds: tuple[Kind, ...], settings: Any) -> Kind:
    """The kind that `kinds` promote to under the settings in force."""
    return dtypes.promote(list(kinds))


def common_kind(kinds: Iterable[Kind]) -> Kind:
    settings = config.enable_x64.value, config.numpy_dtype_promotion.value
    return _common_kind(tuple(kinds), settings)


def common_type(*args: Any) -> Kind:
    """The element type that operands promote to, and whether it is weak."""
    return common_kind(map(kind_of, args))


# ---- element types ------------------------------------------------------------------------------


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """`x` with element type `dtype`, weak or not; Python scalars become scalars, not arrays."""
    if type(x) is LiteralArray:
        x = x.__jax_array__()
    return _converted_from(x, kind_of(x), dtype, weak_type)


def _converted_from(x: Any, kind: Kind, dtype: Any, weak_type: bool) -> Any:
    if type(x) in PYTHON_SCALARS:
        return _convert_scalar(x, dtype, weak_type)
    if kind[0] == dtype and kind[1] == weak_type:
        return x
    if isinstance(x, np.generic) and not weak_type and not isinstance(dtype, ExtendedDType):
        return x.astype(dtype)
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def _convert_scalar(x: Any, dtype: Any, weak_type: bool) -> Any:
    if weak_type:
        scalar = _scalar_class(dtype)
        if dtypes.python_scalar_dtype(scalar) == dtype:
            return scalar(x)
        return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=True, sharding=None)
    try:
        return dtype.type(x)
    except (OverflowError, TypeError):  # an int that wraps around, or a number cut to its real part
        return np.asarray(x).astype(dtype)[()]


@functools.cache
def _scalar_class(dtype: Any) -> type:
    """The Python class of numbers of the kind of `dtype`."""
    if dtypes.is_bool(dtype):
        return bool
    if dtypes.is_complex(dtype):
        return complex
    return float if dtypes.is_floating(dtype) else int


def constant_like(x: Any, value: Any) -> Any:
    """The scalar `value` in x's element type, weak where `x` is: a literal in a jaxpr."""
    return convert(value, *kind_of(x))


def _itself(dtype: Any) -> Any:
    return dtype


def _numeric(dtype: Any) -> Any:
    return np.dtype(np.int32) if dtypes.is_bool(dtype) else dtype


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


def _promote(args: Sequence[Any], adjust: Any) -> list[Any]:
    args = [x.__jax_array__() if type(x) is LiteralArray else x for x in args]
    kinds = [kind_of(x) for x in args]
    dtype, weak = common_kind(kinds)
    dtype = adjust(dtype)
    return [_converted_from(x, k, dtype, weak) for x, k in zip(args, kinds, strict=True)]


def promote_dtypes(*args: Any) -> list[Any]:
    """Operands in their common element type."""
    return list(args) if len(args) < 2 else _promote(args, _itself)


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """Operands in their common element type, bool replaced by int."""
    return _promote(args, _numeric)


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Operands in their common element type, integers and bool replaced by float."""
    return _promote(args, to_inexact)


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """Operands in the complex element type that holds their common one."""
    return _promote(args, to_complex)


# ---- ranks and shapes ---------------------------------------------------------------------------


def promote_shapes(name: str, *args: Any) -> list[Any]:
    """Operands of equal rank, or of rank 0."""
    ranks = {len(shape_of(x)) for x in args if type(x) not in PYTHON_SCALARS}
    ranks.discard(0)
    if len(ranks) < 2:
        return list(args)
    if config.numpy_rank_promotion.value != "allow":
        _report_rank_promotion(name, [shape_of(x) for x in args])
    rank = len(lax.broadcast_shapes(*(shape_of(x) for x in args)))
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
    if missing < 0:
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={found} shape={shape}"
        )
    if any(s != t and not _is_one(s) for s, t in zip(found, shape[missing:], strict=True)):
        raise ValueError(
            f"Incompatible shapes for broadcasting: {tuple(found)} and requested shape {shape}"
        )
    kept = [i for i, s in enumerate(found) if s == shape[missing + i]]
    if len(kept) < len(found):
        x = lax.squeeze(x, [i for i in range(len(found)) if i not in kept])
    return lax.broadcast_in_dim(x, shape, tuple(missing + i for i in kept))


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


# ---- both together ------------------------------------------------------------------------------


def _check_kinds(name: str, args: Sequence[Any]) -> None:
    """TypeError for float0, and for random keys beside other types."""
    kinds = [kind_of(x)[0] for x in args]
    if float0 in kinds:
        raise TypeError(
            f"Called {name} with a float0 array. float0s do not support any operations by design, "
            "because they are not compatible with non-trivial vector spaces. You can use "
            "np.zeros_like(x, dtype=float) to cast a float0 array to a regular array of zeros. If "
            "you did not expect a float0, you may have taken a gradient with respect to an integer."
        )
    if len(set(kinds)) > 1 and any(isinstance(k, ExtendedDType) for k in kinds):
        raise TypeError(f"{name} does not accept dtypes {', '.join(map(str, kinds))}.")


def _is_plain(x: Any) -> bool:
    """Whether `x` is a Python scalar, or an array of numbers or bools."""
    if type(x) in PYTHON_SCALARS:
        return True
    dtype = x.dtype if hasattr(x, "dtype") else None
    return dtype in dtypes.ARRAY_DTYPES


def _promote_args(name: str, args: Sequence[Any], adjust: Any) -> list[Any]:
    found = operands(name, *args)
    if not all(map(_is_plain, found)):
        _check_kinds(name, found)
    return promote_shapes(name, *_promote(found, adjust))


def promote_args(name: str, *args: Any) -> list[Any]:
    """Operands of one element type and of compatible rank."""
    return _promote_args(name, args, _itself)


def promote_args_numeric(name: str, *args: Any) -> list[Any]:
    """Operands of one numeric element type (bool becomes int32) and of compatible rank."""
    return _promote_args(name, args, _numeric)


def promote_args_inexact(name: str, *args: Any) -> list[Any]:
    """Operands of one floating or complex element type and of compatible rank."""
    return _promote_args(name, args, to_inexact)


def promote_args_complex(name: str, *args: Any) -> list[Any]:
    """Operands of one complex element type and of compatible rank."""
    return _promote_args(name, args, to_complex)


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
            "JAX only supports number, bool, and string dtypes, and frit only number and bool, got "
            f"dtype {asked} in {name}"
        )
    return dtypes.canonicalize_asked(dtype, name)
