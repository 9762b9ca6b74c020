"""Sums of numbers that are given by their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.api.custom import custom_jvp
from frit.ir import dtypes
from frit.numpy.operands import as_array, dtype_of
from frit.numpy.promotion import constant_like, convert, promote_args_inexact
from frit.numpy.selection import is_nan, where


def _log_sum(x1: Any, x2: Any) -> Any:
    """max(x1, x2) + log1p(exp(-|x1 - x2|)); the sum itself where that difference is nan."""
    if dtypes.is_complex(dtype_of(x1)):
        return _complex_log_sum(x1, x2)
    difference = lax.sub(x1, x2)
    smooth = lax.add(lax.max(x1, x2), lax.log1p(lax.exp(lax.neg(lax.abs(difference)))))
    return where(is_nan(difference), lax.add(x1, x2), smooth)


def _complex_log_sum(x1: Any, x2: Any) -> Any:
    first_is_larger = lax.gt(lax.real(x1), lax.real(x2))
    larger = where(first_is_larger, x1, x2)
    difference = where(first_is_larger, lax.sub(x2, x1), lax.sub(x1, x2))
    result = lax.add(larger, lax.log1p(lax.exp(difference)))
    nan = lax.bitwise_or(is_nan(lax.real(difference)), is_nan(lax.imag(difference)))
    result = where(nan, lax.add(x1, x2), result)
    turn = constant_like(lax.imag(result), 2 * np.pi)
    angle = lax.imag(result)
    turns = lax.round(lax.div(angle, turn), lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.complex(lax.real(result), lax.sub(angle, lax.mul(turns, turn)))


@custom_jvp
def _logaddexp(x1: Any, x2: Any) -> Any:
    return _log_sum(x1, x2)


def _share(x: Any, total: Any) -> Any:
    """exp(x - total), the part of the sum that is due to x; 1 where both are the same infinity."""
    real = lax.real(x) if dtypes.is_complex(dtype_of(x)) else x
    infinity = constant_like(real, np.inf)
    same = lax.bitwise_and(lax.eq(x, total), lax.eq(lax.abs(real), infinity))
    return where(same, constant_like(x, 1), lax.exp(lax.sub(x, total)))


def _logaddexp_jvp(primals: Any, tangents: Any) -> Any:
    (x1, x2), (t1, t2) = primals, tangents
    total = _logaddexp(x1, x2)
    from_first, from_second = lax.mul(t1, _share(x1, total)), lax.mul(t2, _share(x2, total))
    tangent = lax.add(from_first, from_second)
    return total, convert(tangent, dtype_of(total), total.weak_type)


_logaddexp.defjvp(_logaddexp_jvp)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(exp(x1) + exp(x2)), elementwise, without overflow."""
    x1, x2 = promote_args_inexact("logaddexp", x1, x2)
    return _logaddexp(as_array(x1), as_array(x2))


def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """log2(2**x1 + 2**x2), elementwise, without overflow."""
    x1, x2 = promote_args_inexact("logaddexp2", x1, x2)
    ln2 = constant_like(x1, np.log(2))
    return lax.div(_logaddexp(lax.mul(as_array(x1), ln2), lax.mul(as_array(x2), ln2)), ln2)
