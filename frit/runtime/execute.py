"""Runs a closed jaxpr on arrays: compiles it once, then calls the machine code.

The one door from interpreters to the compiler.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import config
from frit.ir.jaxpr import ClosedJaxpr, evaluate_closed
from frit.ir.types import ShapedArray
from frit.runtime.array import Array

_programs: weakref.WeakKeyDictionary[ClosedJaxpr, Any] = weakref.WeakKeyDictionary()


def storage(value: Any, aval: Any) -> np.ndarray:
    """The NumPy buffer of an operand."""
    if type(value) is Array:
        return value._data
    if hasattr(value, "__jax_array__"):
        return storage(value.__jax_array__(), aval)
    return np.asarray(value, aval.storage_dtype)


def execute(
    closed: ClosedJaxpr, operands: Sequence[Any], donated: Sequence[bool] | None = None
) -> list[Any]:
    """The results of `closed` on operands, as Arrays; donated ones are given up."""
    buffers = [storage(x, t) for x, t in zip(operands, closed.in_avals, strict=True)]
    results = evaluate_closed(closed, *buffers)
    if donated is not None:
        for x, d in zip(operands, donated, strict=True):
            if d and type(x) is Array:
                x.delete()
    return [wrap(r, t) for r, t in zip(results, closed.out_avals, strict=True)]


def wrap(data: np.ndarray, aval: Any) -> Any:
    assert isinstance(aval, ShapedArray), aval
    return Array(data, aval)
