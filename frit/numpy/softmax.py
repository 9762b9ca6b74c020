"""Sums of exponentials along axes, and what divides by them: shared by nn and scipy.special.

logsumexp(x)   = m + log(sum(exp(x - m))),   m = max(x), a constant to derivatives
softmax(x)     = exp(x - m) / sum(exp(x - m))
log_softmax(x) = x - m - log(sum(exp(x - m)))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.api.custom import custom_jvp
from frit.config import debug_nans, softmax_custom_jvp
from frit.ir import dtypes
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array, check_arraylike, ensure_array
from frit.numpy.promotion import promote_args_inexact
from frit.numpy.reductions import Axis, max, split_axes, static_axes, sum
from frit.numpy.selection import where as select


def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b * exp(a))) over `axis`, without overflow; b is 1 where it is None.

    A negative sum of reals gives nan, unless `return_sign`: then the result is the pair
    (log |sum|, sign of the sum).
    Source: Blanchard, Higham & Higham 2021, algorithm 3.1.
    """
    if where is not None:
        a = select(where, a, 0)
    if b is None:
        (a,) = promote_args_inexact("logsumexp", a)
        a = as_array(a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
        a = select(lax.ne(b, lax.full_like(b, 0)), a, -np.inf)
    positions, names = split_axes(static_axes(axis), a.ndim)
    axes = (*positions, *names)
    peak = max(a.real, axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    peak = lax.stop_gradient(lax.select(lax.is_finite(peak), peak, lax.full_like(peak, 0)))
    shift = peak if keepdims else lax.expand_dims(peak, positions)
    terms = lax.exp(lax.sub(a, shift.astype(a.dtype)))
    if b is not None:
        terms = lax.mul(terms, b)
    total = sum(terms, axis=axes, keepdims=keepdims, where=where)
    return _log_of_sum(total, peak, signed=b is not None, return_sign=return_sign)


def _log_of_sum(total: Any, peak: Any, signed: bool, return_sign: bool) -> Any:
    sign = lax.sign(total)
    if return_sign or not dtypes.is_complex(total.dtype):
        total = lax.abs(total)
    result = lax.add(lax.log(total), peak.astype(total.dtype))
    if return_sign:
        return result, sign
    if signed and not dtypes.is_complex(result.dtype):
        with debug_nans(False):  # this nan is an answer
            result = select(sign < 0, np.asarray(np.nan).astype(result.dtype)[()], result)
    return result


@jitted(static_argnames=("axis",))
def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """The logarithm of `softmax`: x - logsumexp(x); -inf where `where` is False."""
    x = ensure_array("log_softmax", x)
    peak = max(x, axis, where=where, initial=-np.inf, keepdims=True)
    kept = x if where is None else select(where, x, -np.inf)
    shifted = kept - lax.stop_gradient(peak)
    total = sum(_exp(shifted), axis, where=where, keepdims=True)
    result = shifted - lax.log(total)
    return result if where is None else select(where, result, -np.inf)


def _exp(x: Any) -> Any:
    return lax.exp(*promote_args_inexact("exp", x))


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) over `axis`: positive numbers whose sum is 1; 0 where `where` is False.

    All x along the axis -inf gives nan.
    """
    if softmax_custom_jvp.value:
        return _softmax_with_rule(x, axis, where, -np.inf)
    return _softmax(x, axis, where, -np.inf)


def _softmax(x: Any, axis: Axis, where: Any, initial: Any) -> Any:
    check_arraylike("softmax", x)
    peak = max(x, axis, where=where, initial=initial, keepdims=True)
    kept = as_array(x) if where is None else select(where, x, initial)
    unnormalized = _exp(kept - lax.stop_gradient(peak))
    result = unnormalized / sum(unnormalized, axis, where=where, keepdims=True)
    return result if where is None else select(where, result, 0)


_softmax_with_rule = custom_jvp(_softmax, nondiff_argnums=(1,))


@_softmax_with_rule.defjvp
def _softmax_jvp(axis: Axis, primals: Any, tangents: Any) -> Any:
    x, where, initial = primals
    y = _softmax_with_rule(x, axis, where, initial)
    t = tangents[0]
    return y, y * (t - sum(y * t, axis, where=where, keepdims=True))
