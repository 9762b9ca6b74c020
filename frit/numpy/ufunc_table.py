"""The ufuncs with methods: elementwise functions with the reductions and updates that fit them."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy import comparisons, cumulative, log_sums, reductions, ufuncs
from frit.numpy.operands import as_array
from frit.numpy.ufunc_objects import ufunc


def _binary(function: Any, identity: Any, **methods: Any) -> ufunc:
    return ufunc(function, 2, 1, identity=identity, call=function, **methods)


def _through_int(a: Any, indices: Any, b: Any, method: str) -> Any:
    """Sums and products of bools are sums and products of integers, converted back."""
    a = as_array(a)
    if not dtypes.is_bool(a.dtype):
        return getattr(a.at[indices], method)(b)
    truth = lax.convert_element_type(lax.convert_element_type(b, np.bool_), np.int32)
    counted = getattr(lax.convert_element_type(a, np.int32).at[indices], method)(truth)
    return lax.convert_element_type(counted, np.bool_)


def _add_at(a: Any, indices: Any, b: Any) -> Any:
    return _through_int(a, indices, b, "add")


def _multiply_at(a: Any, indices: Any, b: Any) -> Any:
    return _through_int(a, indices, b, "mul")


def _subtract_at(a: Any, indices: Any, b: Any) -> Any:
    return as_array(a).at[indices].subtract(b)


negative = ufunc(ufuncs.negative, 1, 1, call=ufuncs.negative)
add = _binary(ufuncs.add, 0, reduce=reductions.sum, accumulate=cumulative.cumsum, at=_add_at)
multiply = _binary(
    ufuncs.multiply, 1, reduce=reductions.prod, accumulate=cumulative.cumprod, at=_multiply_at
)
subtract = _binary(ufuncs.subtract, None, at=_subtract_at)
minimum = _binary(ufuncs.minimum, None, reduce=reductions.reduce_min)
maximum = _binary(ufuncs.maximum, None, reduce=reductions.reduce_max)
bitwise_and = _binary(comparisons.bitwise_and, -1, reduce=reductions.reduce_bitwise_and)
bitwise_or = _binary(comparisons.bitwise_or, 0, reduce=reductions.reduce_bitwise_or)
bitwise_xor = _binary(comparisons.bitwise_xor, 0, reduce=reductions.reduce_bitwise_xor)
logical_and = _binary(comparisons.logical_and, True, reduce=reductions.reduce_logical_and)
logical_or = _binary(comparisons.logical_or, False, reduce=reductions.reduce_logical_or)
logical_xor = _binary(comparisons.logical_xor, False, reduce=reductions.reduce_logical_xor)
logaddexp = _binary(log_sums.logaddexp, -np.inf, reduce=reductions.logsumexp)
logaddexp2 = _binary(log_sums.logaddexp2, -np.inf, reduce=reductions.logsumexp2)
