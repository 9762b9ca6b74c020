"""What each operation of the loop language means: `evaluate` of its primitive, on lanes of NumPy.

Beside the primitives there are two operations for indices, on int64:

    floordiv   floor of x / y; 0 where y is 0
    mod        x - y × floordiv(x, y)
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from frit.ir.dtypes import is_floating
from frit.ir.primitive import Primitive
from frit.primitives import (
    arithmetic,
    comparison_and_bits,
    conversion,
    elementwise,
    precision,
    shapes,
    special,
    transcendental,
)

_MODULES = (
    arithmetic, comparison_and_bits, conversion, elementwise, precision, shapes, special,
    transcendental,
)  # fmt: skip


def element_type(name: str) -> Any:
    """The NumPy dtype called `name`."""
    extended = getattr(ml_dtypes, name, None)
    return np.dtype(name if extended is None else extended)


def evaluate(op: str, numbers: Any, dtype: str, params: Any) -> Any:
    """`op` of NumPy scalars or equal vectors, as `dtype`."""
    numbers = [np.asarray(number) for number in numbers]
    if "new_dtype" in params:
        params = {"new_dtype": element_type(str(params["new_dtype"]))}
    result = np.asarray(OPERATIONS[op](*numbers, **params))
    return result.astype(element_type(dtype), copy=False)[()]


def is_float(x: Any) -> Any:
    """Whether x holds floats, those of 8 and 16 bits included."""
    return is_floating(x.dtype)


def _floordiv(x: Any, y: Any) -> Any:
    return np.where(y == 0, 0, np.floor_divide(x, np.where(y == 0, 1, y)))


OPERATIONS = {
    primitive.name: primitive.evaluate
    for module in _MODULES
    for primitive in vars(module).values()
    if isinstance(primitive, Primitive)
}
OPERATIONS["floordiv"] = _floordiv
OPERATIONS["mod"] = lambda x, y: x - _floordiv(x, y) * y
