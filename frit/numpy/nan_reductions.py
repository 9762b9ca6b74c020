"""Reductions that leave nan out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy import reductions
from frit.numpy.jitted import jitted
from frit.numpy.operands import check_no_out, ensure_array
from frit.numpy.promotion import constant_like, convert, requested_dtype, to_inexact
from frit.numpy.reductions import check_where
from frit.numpy.selection import is_nan
from frit.numpy.selection import where as select
from frit.numpy.statistics import squared_size, var, variance_types

_STATIC = ("axis", "dtype", "keepdims")


def _without_nan(
    name: str,
    reduce: Callable[..., Any],
    a: Any,
    in_place: float,
    nan_if_all: bool,
    axis: Any,
    keepdims: bool,
    where: Any,
    **more: Any,
) -> Any:
    a = ensure_array(name, a)
    where = check_where(name, where)
    if not dtypes.is_inexact(a.dtype):
        return reduce(a, axis=axis, keepdims=keepdims, where=where, **more)
    filled = select(is_nan(a), constant_like(a, in_place), a)
    result = reduce(filled, axis=axis, keepdims=keepdims, where=where, **more)
    if not nan_if_all:
        return result
    empty = reductions.all(is_nan(a), axis=axis, keepdims=keepdims, where=where)
    return select(empty, constant_like(result, np.nan), result)


@jitted(static_argnames=("axis", "keepdims"))
def nanmin(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis` that is not nan; nan if all are."""
    check_no_out("nanmin", out)
    return _without_nan(
        "nanmin", reductions.min, a, np.inf, initial is None, axis, keepdims, where, initial=initial
    )


@jitted(static_argnames=("axis", "keepdims"))
def nanmax(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis` that is not nan; nan if all are."""
    check_no_out("nanmax", out)
    return _without_nan(
        "nanmax", reductions.max, a, -np.inf, initial is None, axis, keepdims, where,
        initial=initial,
    )  # fmt: skip


@jitted(static_argnames=_STATIC)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The sum over `axis`, nan counting as 0."""
    check_no_out("nansum", out)
    return _without_nan(
        "nansum", reductions.sum, a, 0, False, axis, keepdims, where, initial=initial, dtype=dtype
    )


@jitted(static_argnames=_STATIC)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product over `axis`, nan counting as 1."""
    check_no_out("nanprod", out)
    return _without_nan(
        "nanprod", reductions.prod, a, 1, False, axis, keepdims, where, initial=initial, dtype=dtype
    )


@jitted(static_argnames=_STATIC)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """The mean over `axis` of the elements that are not nan; nan if all are."""
    check_no_out("nanmean", out)
    a = ensure_array("nanmean", a)
    where = check_where("nanmean", where)
    if not dtypes.is_inexact(a.dtype):
        return reductions.mean(a, axis, dtype, out, keepdims, where=where)
    dtype = to_inexact(a.dtype) if dtype is None else requested_dtype(dtype, "nanmean")
    numbers = lax.bitwise_not(is_nan(a))
    number = reductions.sum(numbers, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    total = nansum(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return lax.div(total, number)


@jitted(static_argnames=_STATIC)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The variance over `axis` of the elements that are not nan; nan where too few are left."""
    check_no_out("nanvar", out)
    a = ensure_array("nanvar", a)
    where = check_where("nanvar", where)
    if dtype is not None:
        dtype = requested_dtype(dtype, "nanvar")
    computed, dtype = variance_types(a.dtype, dtype)
    a = lax.convert_element_type(a, computed)
    if not dtypes.is_inexact(a.dtype):
        return var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean)
    if mean is None:
        mean = nanmean(a, axis, dtype=computed, keepdims=True, where=where)
    else:
        mean = lax.convert_element_type(ensure_array("nanvar", mean), computed)
    distances = squared_size(select(is_nan(a), constant_like(a, 0), lax.sub(a, mean)))
    numbers = lax.bitwise_not(is_nan(a))
    number = reductions.sum(
        numbers, axis=axis, dtype=distances.dtype, keepdims=keepdims, where=where
    )
    number = lax.sub(number, convert(ddof, distances.dtype))
    too_few = lax.le(number, constant_like(number, 0))
    total = reductions.sum(distances, axis, keepdims=keepdims, where=where)
    divisor = select(too_few, constant_like(number, 1), number)
    result = select(too_few, constant_like(total, np.nan), lax.div(total, divisor))
    return lax.convert_element_type(result, dtype)


@jitted(static_argnames=_STATIC)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The square root of the variance over `axis` of the elements that are not nan."""
    check_no_out("nanstd", out)
    a = ensure_array("nanstd", a)
    where = check_where("nanstd", where)
    return lax.sqrt(
        nanvar(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean)
    )
