"""What may be an argument of frit.numpy: arrays, scalars, axes, shapes, and known values."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import errors
from frit.ir import dtypes
from frit.ir.primitive import Tracer, under_trace
from frit.ir.types import ShapedArray, typeof
from frit.runtime.array import Array, array_of
from frit.transforms.trace import by_reference, is_read_at_each_call

PYTHON_SCALARS = frozenset((bool, int, float, complex))

_known_classes: dict[type, bool] = {}


def is_array(x: Any) -> bool:
    """Whether `x` is a frit array: concrete or traced."""
    cls = type(x)
    known = _known_classes.get(cls)
    if known is None:
        known = _known_classes[cls] = issubclass(cls, (Array, Tracer))
    return known


def is_arraylike(x: Any) -> bool:
    """Whether `x` may be an operand of frit.numpy: lists, tuples and None may not."""
    return (
        is_array(x)
        or type(x) in PYTHON_SCALARS
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
    found = []
    for x in args:
        if not is_array(x) and type(x) not in PYTHON_SCALARS:
            check_arraylike(name, *args)
            x = as_operand(x)
        found.append(x)
    return found


def as_operand(x: Any) -> Any:
    if is_array(x) or type(x) in PYTHON_SCALARS:
        return x
    if hasattr(x, "__jax_array__"):
        return as_operand(x.__jax_array__())
    if isinstance(x, (np.ndarray, np.generic)):
        if under_trace() and is_read_at_each_call(x) and (traced := by_reference(x)) is not None:
            return traced
        held: Any = typeof(x)
        if x.dtype == held.dtype:
            return x
        dtypes.tell_narrowing(x.dtype, held.dtype, value=x)
        return x.astype(held.dtype)
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
    if is_array(x):
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
    held: Any = x if is_array(x) else typeof(x)
    return held.dtype


def shape_of(x: Any) -> tuple[Any, ...]:
    return x.shape if is_array(x) else np.shape(x)


def canonical_axis(axis: Any, rank: int) -> int:
    """`axis` counted from the front.  ValueError if it is out of bounds."""
    axis = errors.as_integer(axis, "an axis")
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


def as_shape(shape: Any) -> tuple[Any, ...]:
    """A shape given as a size or a sequence of sizes, as a tuple."""
    if isinstance(shape, (int, np.integer)) or hasattr(shape, "evaluate"):
        shape = (shape,)
    elif not isinstance(shape, (tuple, list)) and np.ndim(shape) == 0:
        shape = (shape,)
    return ShapedArray(tuple(shape), np.bool_).shape


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
