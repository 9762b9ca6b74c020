"""Classes as rows of zeros and a one."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import frit.numpy as jnp
from frit import lax
from frit.ir.dims import Dim
from frit.numpy.jitted import jitted
from frit.numpy.operands import canonical_axis, concrete
from frit.numpy.promotion import default_float


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1) -> Any:
    """An array with a new `axis` of size `num_classes`: 1 at the index x, 0 elsewhere.

    x: (...) integers.  Indices out of range, negative ones among them, give rows of zeros.
    `axis` may name a mapped axis, of size `num_classes`: each member of the map then gets its
    column.
    """
    num_classes = _size(num_classes)
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.integer):
        warnings.warn(
            f"jax.nn.one_hot input should be integer-typed; got dtype={x.dtype}",
            DeprecationWarning,
            stacklevel=2,
        )
    return _one_hot(x, num_classes, dtype=default_float() if dtype is None else dtype, axis=axis)


def _size(num_classes: Any) -> Any:
    context = "The error arose in jax.nn.one_hot argument `num_classes`."
    size = concrete(num_classes, context)
    return size if isinstance(size, Dim) else operator.index(size)


@jitted(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, num_classes: int, *, dtype: Any, axis: Any) -> Any:
    if isinstance(axis, str) or not hasattr(axis, "__index__"):
        return _column_of_named_axis(x, num_classes, dtype, axis)
    position = canonical_axis(axis, x.ndim + 1)
    shape = [1] * x.ndim
    shape.insert(position, num_classes)
    labels = lax.expand_dims(x, (position,))
    classes = lax.broadcasted_iota(x.dtype, shape, position)
    return (labels == classes).astype(dtype)


def _column_of_named_axis(x: Any, num_classes: int, dtype: Any, axis: Any) -> Any:
    size = lax.axis_size(axis)
    if num_classes != size:
        raise ValueError(
            f"Expected num_classes to match the size of axis {axis}, but {num_classes} != {size}"
        )
    return jnp.asarray(x == lax.axis_index(axis), dtype=dtype)
