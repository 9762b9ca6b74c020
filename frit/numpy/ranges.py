"""Numbers at regular distances: arange, linspace, logspace, geomspace."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.ir.dims import Dim
from frit.numpy.dtype_info import finfo
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_array,
    canonical_axis,
    check_arraylike_or_none,
    concrete,
    ensure_arrays,
)
from frit.numpy.promotion import (
    broadcast_arrays,
    broadcast_to,
    common_type,
    constant_like,
    convert,
    default_int,
    real_part_dtype,
    requested_dtype,
    to_inexact,
)
from frit.numpy.ufuncs import log10, power, sign, subtract


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The numbers from start (0 if only one argument is given) until before stop, by step.

    Arguments must be known: the result's shape depends on them.
    """
    first = "stop" if stop is None and step is None else "start"
    if dtype is not None:
        dtype = requested_dtype(dtype, "arange")
    given = {first: start, "stop" if first == "start" else "": stop, "step": step}
    if any(isinstance(value, Dim) for value in given.values()):
        return _symbolic_range(start, stop, step, dtype)
    check_arraylike_or_none("arange", start, stop, step)
    start, stop, step = (
        concrete(value, f"It arose in the jnp.arange argument '{name}'")
        for value, name in ((start, first), (stop, "stop"), (step, "step"))
    )
    for name, value in ((first, start), ("stop", stop), ("step", step)):
        if value is not None and np.ndim(value) != 0:
            raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={value}")
        if isinstance(value, complex) or np.iscomplexobj(value):
            raise ValueError(
                "Passing complex start/stop/step to jnp.arange is no longer supported: got "
                f"{name}={value}"
            )
    if dtype is None:
        dtype = common_type(*(v for v in (start, stop, step) if v is not None))[0]
    if stop is None:
        start, stop = 0, start
    return _range(_number(start), _number(stop), _number(step), dtype)


def _number(x: Any) -> Any:
    return x if x is None or isinstance(x, (bool, int, float)) else np.asarray(x).item()


def _range(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    if step is None:
        size = max(0, int(np.ceil(stop - start)))
        numbers = lax.iota(dtype, size)
        return numbers if start == 0 else lax.add(convert(start, dtype), numbers)
    size = max(0, int(np.ceil((stop - start) / step)))
    narrow = dtypes.is_floating(dtype) and finfo(dtype).bits < 32
    working = np.dtype(np.float32) if narrow else dtype
    steps = lax.mul(convert(step, working), lax.iota(working, size))
    return lax.convert_element_type(lax.add(convert(start, working), steps), dtype)


def _symbolic_range(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if not isinstance(step, int) or step == 0:
        raise ValueError(f"arange over a symbolic size takes a known integer step, got {step}")
    distance = stop - start if step > 0 else start - stop
    size = (distance + abs(step) - 1) // abs(step)
    dtype = default_int() if dtype is None else dtype
    numbers = lax.iota(dtype, size)
    if (start, step) == (0, 1):
        return numbers
    scaled = lax.mul(convert(step, dtype), numbers)
    offset = start if isinstance(start, int) else lax.dimension_as_value(start)
    return lax.add(convert(offset, dtype), scaled)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers evenly spaced from start to stop, stop included if `endpoint`."""
    num = operator.index(concrete(num, "'num' argument of jnp.linspace"))
    axis = operator.index(concrete(axis, "'axis' argument of jnp.linspace"))
    return _linspace(start, stop, num, endpoint, retstep, dtype, axis)


@jitted(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = ensure_arrays("linspace", start, stop)
    if dtype is None:
        dtype = to_inexact(common_type(start, stop)[0])
    else:
        dtype = requested_dtype(dtype, "linspace")
    computed = to_inexact(dtype)
    start, stop = (lax.convert_element_type(x, computed) for x in (start, stop))
    shape = list(lax.broadcast_shapes(start.shape, stop.shape))
    first, last = broadcast_to(start, shape), broadcast_to(stop, shape)
    axis = axis + len(shape) + 1 if axis < 0 else axis
    shape.insert(axis, 1)
    intervals = num - 1 if endpoint else num
    nan = constant_like(start, np.nan)
    if num > 1:
        delta = lax.div(subtract(stop, start), constant_like(start, intervals))
        real = real_part_dtype(computed)
        along = [1] * len(shape)
        along[axis] = intervals
        parts = lax.reshape(lax.iota(real, intervals), along)
        parts = lax.convert_element_type(lax.div(parts, convert(intervals, real)), computed)
        rest = lax.sub(constant_like(parts, 1), parts)
        out = lax.add(
            lax.mul(lax.reshape(first, shape), rest), lax.mul(lax.reshape(last, shape), parts)
        )
        if endpoint:
            out = lax.concatenate([out, lax.expand_dims(last, (axis,))], axis)
    elif num == 1:
        delta = as_array(nan) if endpoint else subtract(stop, start)
        out = lax.reshape(first, shape)
    else:
        delta = as_array(nan)
        shape[axis] = 0
        out = lax.full(shape, 0, computed)
    if dtypes.is_integer(dtype):
        out = lax.floor(out)
    result = lax.convert_element_type(out, dtype)
    return (result, delta) if retstep else result


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers from base**start to base**stop, evenly spaced on a logarithmic scale."""
    num = operator.index(concrete(num, "'num' argument of jnp.logspace"))
    return _logspace(start, stop, num, endpoint, base, dtype, operator.index(axis))


@jitted(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(
    start: Any, stop: Any, num: int, endpoint: bool, base: Any, dtype: Any, axis: int
) -> Any:
    start, stop = ensure_arrays("logspace", start, stop)
    if dtype is None:
        dtype = to_inexact(common_type(start, stop)[0])
    else:
        dtype = requested_dtype(dtype, "logspace")
    computed = to_inexact(dtype)
    start, stop = (lax.convert_element_type(x, computed) for x in (start, stop))
    exponents = linspace(start, stop, num, endpoint=endpoint, axis=axis)
    return lax.convert_element_type(power(base, exponents), dtype)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` numbers from start to stop, each the same multiple of the one before."""
    num = operator.index(concrete(num, "'num' argument of jnp.geomspace"))
    return _geomspace(start, stop, num, endpoint, dtype, operator.index(axis))


@jitted(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    start, stop = ensure_arrays("geomspace", start, stop)
    if dtype is None:
        dtype = to_inexact(common_type(start, stop)[0])
    else:
        dtype = requested_dtype(dtype, "geomspace")
    computed = to_inexact(dtype)
    start, stop = (lax.convert_element_type(x, computed) for x in (start, stop))
    start, stop = broadcast_arrays(start, stop)
    direction = sign(start)
    first, last = (log10(lax.div(x, direction)) for x in (start, stop))
    sizes = logspace(first, last, num, endpoint=endpoint, dtype=computed, axis=0)
    result = lax.mul(lax.broadcast_in_dim(direction, sizes.shape, range(1, sizes.ndim)), sizes)
    axis = canonical_axis(axis, result.ndim)
    if axis:
        result = lax.transpose(result, (*range(1, axis + 1), 0, *range(axis + 1, result.ndim)))
    return lax.convert_element_type(result, dtype)
