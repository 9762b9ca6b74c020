"""Bounds of indices: checked under the setting bounds="raise", at once or when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import config, errors
from frit.ir import dtypes
from frit.ir.dims import Dim
from frit.ir.primitive import Tracer
from frit.lax.operands import dtype_of
from frit.primitives.bounds import check_index, first_outside, out_of_bounds


def checks_bounds() -> bool:
    """Whether indices out of bounds raise."""
    return config.bounds.value == "raise"  # type: ignore[no-any-return]


def check_bounds(index: Any, axis: int, size: Any, *, window: Any = 1, wraps: bool = True) -> None:
    """IndexError, now or at run time, unless each index is one of an axis of `size`.

    index: integers, known or traced.  wraps: whether negative ones count from the end.  window:
    how many elements from the index on are asked for.  A symbolic size is not checked.
    """
    if not checks_bounds() or isinstance(size, Dim) or isinstance(window, Dim):
        return
    if isinstance(index, Dim) or not dtypes.is_integer(dtype_of(index)):
        return
    size, window = int(size), int(window)
    low, high = -size if wraps else 0, size - window
    place = errors.source_info()
    if isinstance(index, Tracer) and index.concrete() is None:
        check_index(index, dimension=int(axis), size=size, low=low, high=high, place=place)
        return
    known = index.concrete() if isinstance(index, Tracer) else index
    found = first_outside(np.asarray(known), low, high)
    if found is not None:
        raise out_of_bounds(found, axis, size, window, place)
