"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit import lax
from frit.ir import dtypes
from frit.numpy.jitted import jitted
from frit.numpy.operands import canonical_axis, check_no_out, ensure_array
from frit.numpy.promotion import constant_like, requested_dtype
from frit.numpy.reductions import widened_integer
from frit.numpy.selection import is_nan, where


def _accumulate(
    name: str,
    operation: Callable[..., Any],
    a: Any,
    axis: int | None,
    dtype: Any,
    *,
    in_place_of_nan: int | None = None,
    promote_integers: bool = False,
) -> Any:
    a = ensure_array(name, a)
    if axis is None or a.ndim == 0:
        a, axis = lax.reshape(a, (a.size,)), 0
    axis = canonical_axis(axis, a.ndim)
    if in_place_of_nan is not None:
        a = where(is_nan(a), constant_like(a, in_place_of_nan), a)
    if dtype is None:
        widen = promote_integers or dtypes.is_bool(a.dtype)
        result_dtype = computed = widened_integer(a.dtype) if widen else a.dtype
    else:
        result_dtype = requested_dtype(dtype, name)
        computed = result_dtype
        if dtypes.is_bool(result_dtype):
            a = a if dtypes.is_bool(a.dtype) else lax.ne(a, constant_like(a, 0))
            computed = widened_integer(result_dtype)
    result = operation(lax.convert_element_type(a, computed), axis)
    return lax.convert_element_type(result, result_dtype)


def _cumsum(x: Any, axis: int) -> Any:
    return lax.cumsum(x, axis)


def _cumprod(x: Any, axis: int) -> Any:
    return lax.cumprod(x, axis)


@jitted(static_argnames=("axis", "dtype"))
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running sum along `axis`, of the flattened array if it is None."""
    check_no_out("cumsum", out)
    return _accumulate("cumsum", _cumsum, a, axis, dtype)


@jitted(static_argnames=("axis", "dtype"))
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running product along `axis`, of the flattened array if it is None."""
    check_no_out("cumprod", out)
    return _accumulate("cumprod", _cumprod, a, axis, dtype)


@jitted(static_argnames=("axis", "dtype"))
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running sum along `axis`, nan counting as 0."""
    check_no_out("nancumsum", out)
    return _accumulate("nancumsum", _cumsum, a, axis, dtype, in_place_of_nan=0)


@jitted(static_argnames=("axis", "dtype"))
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running product along `axis`, nan counting as 1."""
    check_no_out("nancumprod", out)
    return _accumulate("nancumprod", _cumprod, a, axis, dtype, in_place_of_nan=1)


@jitted(static_argnames=("axis", "dtype"))
def accumulate_add(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running sum, small integers adding in the default int: `add.accumulate`."""
    check_no_out("cumulative_sum", out)
    return _accumulate("cumulative_sum", _cumsum, a, axis, dtype, promote_integers=True)


def _with_initial(
    name: str,
    operation: Callable[..., Any],
    first: int,
    x: Any,
    axis: Any,
    dtype: Any,
    initial: bool,
) -> Any:
    x = ensure_array(name, x)
    if x.ndim == 0:
        raise ValueError(
            f"The input must be non-scalar to take a {name.replace('_', ' ')}, however a scalar "
            "value or scalar array was given."
        )
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"The input array has rank {x.ndim}, however axis was not set to an explicit value."
                " The axis argument is only optional for one-dimensional arrays."
            )
        axis = 0
    axis = canonical_axis(axis, x.ndim)
    out = operation(x, axis=axis, dtype=dtype)
    if initial:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        out = lax.concatenate([lax.full(shape, first, out.dtype), out], axis)
    return out


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The running sum along `axis`, with a 0 in front if `include_initial`."""
    return _with_initial("cumulative_sum", accumulate_add, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The running product along `axis`, with a 1 in front if `include_initial`."""
    return _with_initial("cumulative_prod", cumprod, 1, x, axis, dtype, include_initial)
