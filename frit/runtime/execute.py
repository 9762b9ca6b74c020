"""Runs a closed jaxpr on arrays: compiles it once, then calls the machine code.

The one door from interpreters to the compiler.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import config
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.types import ShapedArray
from frit.runtime.array import Array
from frit.runtime.pipeline import compile_jaxpr

_programs: weakref.WeakKeyDictionary[ClosedJaxpr, dict[Any, Any]] = weakref.WeakKeyDictionary()


def storage(value: Any, aval: Any) -> np.ndarray:
    """The buffer of an operand; an Array that was a strided view holds a copy from then on."""
    if type(value) is Array:
        data = value._data
        if not data.flags.c_contiguous:
            data = value._contents = np.ascontiguousarray(data)
        return data
    if hasattr(value, "__jax_array__"):
        return storage(value.__jax_array__(), aval)
    return np.asarray(value, aval.storage_dtype)


def execute(
    closed: ClosedJaxpr, operands: Sequence[Any], donated: Sequence[bool] | None = None
) -> list[Any]:
    """The results of `closed` on operands, as Arrays; donated ones are given up."""
    buffers = [storage(x, t) for x, t in zip(operands, closed.in_avals, strict=True)]
    given = None
    if donated is not None and any(donated):
        given = tuple(
            d and type(x) is Array and _is_exclusive(x)
            for x, d in zip(operands, donated, strict=True)
        )
    results = program_of(closed, given).run(buffers)
    if donated is not None:
        for x, d in zip(operands, donated, strict=True):
            if d and type(x) is Array:
                x.delete()
    return [wrap(r, t) for r, t in zip(results, closed.out_avals, strict=True)]


def _is_exclusive(array: Array) -> bool:
    """Whether nothing else reads the array's buffer: no view of it is alive anywhere."""
    data = array._data
    return (
        data.flags.writeable
        and data.flags.c_contiguous
        and not isinstance(data.base, np.ndarray)
        and sys.getrefcount(data) <= _OWN_REFERENCES
    )


_OWN_REFERENCES = 3  # the array's, the local variable's, and that of the question


def program_of(closed: ClosedJaxpr, donated: tuple[bool, ...] | None = None) -> Any:
    """The compiled program of a closed jaxpr, kept for as long as the jaxpr lives."""
    known = _programs.setdefault(closed, {})
    key = (donated, config.backend.value, config.fast_math.value)
    program = known.get(key)
    if program is None:
        program = known[key] = compile_jaxpr(closed, donated)
    return program


def wrap(data: np.ndarray, aval: Any) -> Any:
    assert isinstance(aval, ShapedArray), aval
    return Array(data, aval)
