"""Choosing between two arrays, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array, dtype_of, operands, shape_of
from frit.numpy.promotion import broadcast_arrays, constant_like, promote_dtypes


@jitted
def _where(condition: Any, x: Any, y: Any) -> Any:
    condition, x, y = operands("where", condition, x, y)
    condition = to_bool(condition)
    x, y = promote_dtypes(x, y)
    if shape_of(condition) == ():
        x, y = broadcast_arrays(x, y)
    else:
        condition, x, y = broadcast_arrays(condition, x, y)
    if 0 in shape_of(x):
        return as_array(x)
    return lax.select(condition, x, y)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where `condition` holds and y elsewhere, all three broadcast together."""
    return _where(condition, x, y)


def to_bool(x: Any) -> Any:
    """Whether each element differs from zero."""
    if dtypes.is_bool(dtype_of(x)):
        return x
    return lax.ne(x, constant_like(x, 0))


def is_nan(x: Any) -> Any:
    return lax.ne(x, x)


def scalar(x: Any, value: Any) -> Any:
    """The number `value` as a NumPy scalar of x's element type."""
    return np.asarray(value).astype(dtype_of(x))[()]
