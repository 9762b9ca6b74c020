"""What the functions of frit.lax do to their arguments before they bind a primitive.

They take arrays, NumPy arrays and Python scalars, shapes of integers and symbolic sizes, and axes
counted from either end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from frit import errors
from frit.ir import dims, dtypes
from frit.ir.jaxpr import DebugInfo
from frit.ir.primitive import Tracer
from frit.ir.types import ShapedArray, shaped_type, typeof
from frit.primitives.elementwise import stage
from frit.transforms.trace import trace_to_jaxpr

_FOREIGN = (bool, int, float, complex, np.ndarray, np.generic)


def aval_of(x: Any) -> ShapedArray:
    """The type of an operand, or of anything with a shape and a dtype."""
    return shaped_type(x)  # type: ignore[return-value]


def shape_of(x: Any) -> tuple[Any, ...]:
    return aval_of(x).shape


def rank_of(x: Any) -> int:
    return len(aval_of(x).shape)


def dtype_of(x: Any) -> Any:
    return aval_of(x).dtype


def is_array(x: Any) -> bool:
    """Whether `x` is an array of frit or a tracer: a function may return it as it is."""
    return not isinstance(x, _FOREIGN) and not hasattr(x, "__jax_array__")


def as_array(x: Any) -> Any:
    """`x` as an array; a scalar stays one while a jaxpr is traced."""
    if hasattr(x, "__jax_array__"):
        x = x.__jax_array__()
    typeof(x)
    return x if is_array(x) else stage(x)


def as_shape(shape: Any) -> tuple[Any, ...]:
    """A `shape` argument as a tuple of ints and symbolic sizes.  TypeError for anything else."""
    if isinstance(shape, dims.Dim) or not isinstance(shape, Iterable):
        shape = (shape,)
    return dims.check_shape(tuple(shape))


def as_axis(axis: Any, rank: int) -> int:
    """An axis counted from the front.  ValueError where there is no such axis."""
    index = errors.as_integer(axis, "an axis")
    if not -rank <= index < rank:
        raise ValueError(f"axis {index} is out of bounds for array of dimension {rank}")
    return index + rank if index < 0 else index


def as_size(x: Any) -> Any:
    """A static integer or a symbolic size."""
    return x if isinstance(x, dims.Dim) else errors.as_integer(x, "a size")


def as_sizes(xs: Any) -> tuple[Any, ...]:
    return tuple(as_size(x) for x in errors.as_sequence(xs, "sizes"))


def as_indices(axes: Any) -> tuple[int, ...]:
    """Axes as a tuple of ints; one alone may stand for itself."""
    found = axes if isinstance(axes, Iterable) else (axes,)
    return tuple(errors.as_integer(a, "an axis") for a in errors.as_sequence(found, "axes"))


def user_dtype(dtype: Any, name: str) -> Any:
    """A `dtype` argument, narrowed as the settings ask.  TypeError for what is not a dtype."""
    try:
        found = dtypes.canonicalize(dtype)
    except TypeError:
        raise TypeError(f"{name}: {dtype!r} is not a dtype") from None
    return found


def scalar_constant(x: Any, value: Any) -> Any:
    """`value` as a scalar of the element type of `x`."""
    return np.asarray(value).astype(dtype_of(x))[()]


def traced_without_tracers(
    function: Callable[..., Sequence[Any]], types: Sequence[Any], name: str = ""
) -> tuple[Any, list[Any]]:
    """The jaxpr of a combination of scalars, and its constants, which no transform may own.

    NotImplementedError where the function reads a traced value of its surroundings.
    """
    jaxpr, consts = trace_to_jaxpr(function, types, DebugInfo(function=name) if name else None)
    captured = [c for c in consts if isinstance(c, Tracer)]
    if captured:
        raise NotImplementedError(
            "Reduction computations can't close over Tracers: the function that combines elements "
            f"reads {captured[0]}, a traced value from outside. Combine with such a value before "
            "or after the reduction."
        )
    return jaxpr, consts
