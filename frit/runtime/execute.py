"""Runs a closed jaxpr on arrays: compiles it once, then calls the machine code.

The one door from interpreters to the compiler.
"""

from __future__ import annotations

import sys
import time
import warnings
import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import config, errors
from frit.errors import JaxRuntimeError
from frit.ir.dtypes import float0
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.types import ShapedArray
from frit.runtime import events, number_checks
from frit.runtime.array import Array
from frit.runtime.pipeline import compile_jaxpr
from frit.runtime.tapes import adopt, is_tape, settle

_programs: weakref.WeakKeyDictionary[ClosedJaxpr, dict[Any, Any]] = weakref.WeakKeyDictionary()


def contents(value: Any, aval: Any) -> np.ndarray:
    """What an operand holds, as NumPy reads it: it may be a strided view."""
    if type(value) is Array:
        return value._data
    if hasattr(value, "__jax_array__"):
        return contents(value.__jax_array__(), aval)
    return np.asarray(value, aval.storage_dtype)


def storage(value: Any, aval: Any) -> np.ndarray:
    """The buffer of an operand; an Array that was a strided view holds a copy from then on."""
    data = contents(value, aval)
    if type(value) is Array and not data.flags.c_contiguous:
        data = value._contents = np.ascontiguousarray(data)
    return data


def execute(
    closed: ClosedJaxpr,
    operands: Sequence[Any],
    donated: Sequence[bool] | None = None,
    checked: bool = True,
) -> list[Any]:
    """The results of `closed` on operands, as Arrays; donated ones are given up.

    checked: whether NaN and inf are looked for here, where the settings ask.
    """
    if config.no_execution.value:
        raise RuntimeError(
            f"frit tried to execute the program {closed.jaxpr.debug_info.function}, but the "
            "no_execution config option is set."
        )
    buffers = [storage(x, t) for x, t in zip(operands, closed.in_avals, strict=True)]
    given = None
    checked = checked and number_checks.is_asked()
    if donated is not None and any(donated):
        _check_donated(operands, donated)
        _warn_unusable(closed, donated)
        given = tuple(
            d and not checked and type(x) is Array and _is_exclusive(x)
            for x, d in zip(operands, donated, strict=True)
        )
    results = program_of(closed, given).run(buffers)
    if checked:
        number_checks.check_program(closed, buffers, results)
    if donated is not None:
        for x, d in zip(operands, donated, strict=True):
            if d and type(x) is Array:
                x.delete()
    arrays = [wrap(r, t) for r, t in zip(results, closed.out_avals, strict=True)]
    if any(map(is_tape, closed.out_avals)):
        settle()
    return arrays


def _check_donated(operands: Sequence[Any], donated: Sequence[bool]) -> None:
    """RuntimeError where a donated array is given twice: it would be read after it was given up."""
    counts = Counter(id(x) for x in operands if type(x) is Array)
    for x, d in zip(operands, donated, strict=True):
        if d and type(x) is Array and counts[id(x)] > 1:
            raise JaxRuntimeError(
                "Attempt to use a buffer that was previously donated in the same call: an array of "
                f"type {x.aval.str_short()} is donated and given as another argument as well, as in"
                " f(donate(a), a). Donate a copy, or do not donate the argument."
            )


_warned: weakref.WeakKeyDictionary[ClosedJaxpr, set[Any]] = weakref.WeakKeyDictionary()


def _warn_unusable(closed: ClosedJaxpr, donated: Sequence[bool]) -> None:
    """Warns, once a program, of donated buffers that no result can take."""
    told = _warned.setdefault(closed, set())
    if (flags := tuple(donated)) in told:
        return
    told.add(flags)
    free = Counter((t.shape, t.dtype) for t in closed.out_avals if isinstance(t, ShapedArray))
    unusable = []
    for t, d in zip(closed.in_avals, donated, strict=True):
        if d and isinstance(t, ShapedArray):
            if free[t.shape, t.dtype] > 0:
                free[t.shape, t.dtype] -= 1
            else:
                unusable.append(t.strip_weak_type().str_short())
    if unusable:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(unusable)}. A donated buffer can "
            "hold a result of the same shape and dtype; these found none.",
            stacklevel=errors.user_stack_level(),
        )


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
        start = time.perf_counter()
        program = known[key] = compile_jaxpr(closed, donated)
        events.tell(
            "compile",
            function=closed.jaxpr.debug_info.function,
            types=closed.in_avals,
            closed=closed,
            seconds=time.perf_counter() - start,
        )
    return program


def known_program(closed: ClosedJaxpr) -> Any:
    """The program that was compiled of a closed jaxpr, if any was."""
    return next(iter(_programs.get(closed, {}).values()), None)


def wrap(data: np.ndarray, aval: Any) -> Any:
    """A result as an Array; of float0, a NumPy array, as nothing computes with it."""
    assert isinstance(aval, ShapedArray), aval
    if aval.dtype == float0:
        return np.zeros(aval.shape, float0)
    if is_tape(aval):
        made = Array(data, aval)
        adopt(made, data)
        return made
    return Array(data, aval)
