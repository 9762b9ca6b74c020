"""Reductions of an array along axes: sum, prod, max, min, all, any, mean and their kin.

    result = op(initial, reduce(op, where(mask, convert(a), identity), axes))

16-bit floats are summed in 32 bits.  A string among the axes names an axis of an enclosing vmap.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit import errors, lax
from frit.ir import dims, dtypes
from frit.ir.primitive import axis_size
from frit.numpy.dtype_info import finfo, iinfo
from frit.numpy.jitted import jitted
from frit.numpy.log_sums import logaddexp
from frit.numpy.operands import (
    as_array,
    canonical_axis,
    check_no_out,
    concrete,
    ensure_array,
    shape_of,
)
from frit.numpy.promotion import (
    broadcast_to,
    constant_like,
    convert,
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    requested_dtype,
    to_inexact,
)
from frit.numpy.selection import where as select

Axis = Any  # None | int | str | sequence of these


@dataclass(frozen=True, slots=True)
class _Reduction:
    """How one function reduces numbers and bools, from which identity and which operands."""

    name: str
    over: Callable[..., Any]
    join: Callable[..., Any]
    identity: Any
    over_bool: Callable[..., Any] | None = None
    join_bool: Callable[..., Any] | None = None
    has_identity: bool = True
    prepare: Callable[[Any], Any] = as_array
    in_single_precision: bool = False
    across: Callable[..., Any] | None = None


def check_where(name: str, where: Any) -> Any:
    """`where` as an array of bools, or None."""
    if where is None:
        return None
    where = ensure_array(name, where)
    if where.dtype != bool:
        raise ValueError(
            f"jnp.{name}: where must be None or a boolean array; got where.dtype={where.dtype}."
        )
    return where


def static_axes(axis: Axis) -> Axis:
    """`axis` as None, an int, or a tuple of ints and names.  An error if it is traced."""
    if axis is None or isinstance(axis, (int, str)):
        return axis
    axis = concrete(axis, "The axis argument must be known statically.")
    try:
        return operator.index(axis)
    except TypeError:
        axes = errors.as_sequence(axis, "an axis that is not an integer")
        return tuple(a if isinstance(a, str) else errors.as_integer(a, "an axis") for a in axes)


def split_axes(axis: Axis, rank: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positional axes, counted from the front, and the names among `axis`."""
    if axis is None:
        return tuple(range(rank)), ()
    axes = axis if isinstance(axis, (tuple, list, np.ndarray)) else (axis,)
    positions = tuple(canonical_axis(a, rank) for a in axes if not isinstance(a, str))
    names = tuple(a for a in axes if isinstance(a, str))
    if len(set(positions)) != len(positions) or len(set(names)) != len(names):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return positions, names


def widened_integer(dtype: Any) -> Any:
    """The type that small integers and bools add in: the default int or its unsigned twin."""
    default = dtypes.python_scalar_dtype(int)
    if dtypes.is_bool(dtype):
        return default
    if dtypes.is_integer(dtype) and iinfo(dtype).bits < iinfo(default).bits:
        unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
        return np.dtype(f"uint{iinfo(default).bits}") if unsigned else default
    return dtype


def single_precision(dtype: Any) -> Any:
    """float32 for narrower floats, else `dtype`."""
    narrow = dtypes.is_floating(dtype) and finfo(dtype).bits < 32
    return np.dtype(np.float32) if narrow else dtype


def identity_of(dtype: Any, value: Any) -> Any:
    """`value` in `dtype`; infinities become the extreme numbers where there are none."""
    if dtypes.is_bool(dtype):
        return np.bool_(value > 0)
    if np.isinf(value):
        if dtypes.is_integer(dtype):
            value = int(iinfo(dtype).min if value < 0 else iinfo(dtype).max)
        elif dtypes.is_floating(dtype) and not np.isinf(np.asarray(np.inf).astype(dtype)):
            value = finfo(dtype).min if value < 0 else finfo(dtype).max
    return np.asarray(value).astype(dtype)[()]


def _reduce(
    r: _Reduction,
    a: Any,
    axis: Axis,
    *,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = False,
) -> Any:
    check_no_out(r.name, out)
    a = ensure_array(r.name, a)
    where = check_where(r.name, where)
    if initial is None and not r.has_identity and where is not None:
        raise ValueError(
            f"reduction operation {r.name} does not have an identity, so to use a where mask one "
            "has to specify 'initial'"
        )
    a = r.prepare(a)
    axes, names = split_axes(static_axes(axis), a.ndim)
    if initial is None and not r.has_identity and builtins.any(a.shape[i] == 0 for i in axes):
        raise ValueError(f"zero-size array to reduction operation {r.name} which has no identity")
    if dtype is None:
        result_dtype = widened_integer(a.dtype) if promote_integers else a.dtype
    else:
        result_dtype = requested_dtype(dtype, r.name)
    computed = (
        single_precision(result_dtype) if r.in_single_precision and dtype is None else result_dtype
    )
    over, join = r.over, r.join
    if dtypes.is_bool(computed):
        over, join = r.over_bool or over, r.join_bool or join
    a = lax.convert_element_type(a, computed)
    if where is not None:
        a = select(where, a, identity_of(computed, r.identity))
    result = over(a, axes) if axes else a
    if names:
        if r.across is None:
            raise NotImplementedError(f"Named reductions not implemented for jnp.{r.name}()")
        result = r.across(result, names)
    if initial is not None:
        if shape_of(initial) != ():
            raise ValueError(
                f"initial value must be a scalar. Got array of shape {shape_of(initial)}"
            )
        result = join(convert(initial, computed), result)
    if keepdims:
        result = lax.expand_dims(result, axes)
    return lax.convert_element_type(result, result_dtype)


def _to_bool(a: Any) -> Any:
    return lax.convert_element_type(lax.real(a) if dtypes.is_complex(a.dtype) else a, np.bool_)


def _to_number(a: Any) -> Any:
    return as_array(*promote_dtypes_numeric(a))


def _integers_only(a: Any) -> Any:
    if not (dtypes.is_integer(a.dtype) or dtypes.is_bool(a.dtype)):
        raise ValueError(f"integer argument required; got dtype={a.dtype}")
    return a


def _across(name: str) -> Callable[..., Any]:
    return lambda x, names: getattr(lax, name)(x, names)


_SUM = _Reduction(
    "sum", lax.reduce_sum, lax.add, 0, lax.reduce_or, lax.bitwise_or,
    prepare=_to_number, in_single_precision=True, across=_across("psum"),
)  # fmt: skip
_PROD = _Reduction(
    "prod", lax.reduce_prod, lax.mul, 1, lax.reduce_and, lax.bitwise_and,
    prepare=_to_number, in_single_precision=True,
)  # fmt: skip
_MAX = _Reduction(
    "max", lax.reduce_max, lax.max, -np.inf, has_identity=False, across=_across("pmax")
)
_MIN = _Reduction(
    "min", lax.reduce_min, lax.min, np.inf, has_identity=False, across=_across("pmin")
)
_ALL = _Reduction("all", lax.reduce_and, lax.bitwise_and, True, prepare=_to_bool)
_ANY = _Reduction("any", lax.reduce_or, lax.bitwise_or, False, prepare=_to_bool)
_BITWISE_AND = _Reduction(
    "reduce_bitwise_and", lax.reduce_and, lax.bitwise_and, -1, prepare=_integers_only
)
_BITWISE_OR = _Reduction(
    "reduce_bitwise_or", lax.reduce_or, lax.bitwise_or, 0, prepare=_integers_only
)
_BITWISE_XOR = _Reduction(
    "reduce_bitwise_xor", lax.reduce_xor, lax.bitwise_xor, 0, prepare=_integers_only
)
_LOGICAL_AND = _Reduction(
    "reduce_logical_and", lax.reduce_and, lax.bitwise_and, True, prepare=_to_bool
)
_LOGICAL_OR = _Reduction(
    "reduce_logical_or", lax.reduce_or, lax.bitwise_or, False, prepare=_to_bool
)
_LOGICAL_XOR = _Reduction(
    "reduce_logical_xor", lax.reduce_xor, lax.bitwise_xor, False, prepare=_to_bool
)


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The sum over `axis`; small integers add in the default int, float16 in float32."""
    return _reduce(
        _SUM, a, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where,
        promote_integers=promote_integers,
    )  # fmt: skip


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The product of elements over `axis`."""
    return _reduce(
        _PROD, a, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where,
        promote_integers=promote_integers,
    )  # fmt: skip


def max(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis`; nan if there is one.  ValueError where there is none."""
    return _reduce(_MAX, a, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def min(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis`; nan if there is one.  ValueError where there is none."""
    return _reduce(_MIN, a, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def amax(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis`: `max` by another name."""
    return max(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def amin(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis`: `min` by another name."""
    return min(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def all(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether all elements over `axis` are nonzero."""
    return _reduce(_ALL, a, axis, out=out, keepdims=keepdims, where=where)


def any(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether any element over `axis` is nonzero."""
    return _reduce(_ANY, a, axis, out=out, keepdims=keepdims, where=where)


def _ufunc_reduction(reduction: _Reduction) -> Callable[..., Any]:
    """A reduction with the arguments of `ufunc.reduce`."""

    def reduce(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        return _reduce(
            reduction, a, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial,
            where=where,
        )  # fmt: skip

    return reduce


reduce_max = _ufunc_reduction(_MAX)
reduce_min = _ufunc_reduction(_MIN)
reduce_bitwise_and = _ufunc_reduction(_BITWISE_AND)
reduce_bitwise_or = _ufunc_reduction(_BITWISE_OR)
reduce_bitwise_xor = _ufunc_reduction(_BITWISE_XOR)
reduce_logical_and = _ufunc_reduction(_LOGICAL_AND)
reduce_logical_or = _ufunc_reduction(_LOGICAL_OR)
reduce_logical_xor = _ufunc_reduction(_LOGICAL_XOR)


def element_count(a: Any, axis: Axis) -> Any:
    """How many elements a reduction of `a` over `axis` joins, mapped axes included."""
    positions, names = split_axes(static_axes(axis), a.ndim)
    return dims.product([a.shape[i] for i in positions] + [axis_size(n) for n in names])


def count(a: Any, axis: Axis, keepdims: bool, where: Any, dtype: Any) -> Any:
    """The number of elements joined, as a number or, with a mask, an array of `dtype`."""
    if where is None:
        return size_as_value(element_count(a, axis), dtype)
    return sum(broadcast_to(where, a.shape), axis, dtype=dtype, keepdims=keepdims)


def size_as_value(size: Any, dtype: Any) -> Any:
    """A size as a number of `dtype`: known now or, if it is symbolic, when the program runs."""
    if isinstance(size, int):
        return np.asarray(size).astype(dtype)[()]
    return lax.convert_element_type(lax.dimension_as_value(size), dtype)


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """The arithmetic mean over `axis`; nan where there are no elements."""
    a = ensure_array("mean", a)
    where = check_where("mean", where)
    check_no_out("mean", out)
    result_dtype = to_inexact(a.dtype) if dtype is None else requested_dtype(dtype, "mean")
    computed = single_precision(result_dtype) if dtype is None else result_dtype
    number = count(a, axis, keepdims, where, computed)
    total = sum(a, axis, dtype=computed, keepdims=keepdims, where=where)
    return lax.convert_element_type(lax.div(total, number), result_dtype)


@jitted(static_argnames=("axis", "keepdims"))
def _ptp(a: Any, axis: Axis, keepdims: bool) -> Any:
    return lax.sub(max(a, axis=axis, keepdims=keepdims), min(a, axis=axis, keepdims=keepdims))


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest minus the smallest element over `axis`."""
    check_no_out("ptp", out)
    return _ptp(ensure_array("ptp", a), axis=static_axes(axis), keepdims=keepdims)


@jitted(static_argnames=("axis", "keepdims"))
def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements over `axis` are nonzero."""
    a = ensure_array("count_nonzero", a)
    nonzero = lax.ne(a, constant_like(a, 0))
    return sum(nonzero, axis=axis, dtype=dtypes.python_scalar_dtype(int), keepdims=keepdims)


def logsumexp(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """log of the sum of exponentials over `axis`, m + log(sum(exp(a - m))) with m the maximum."""
    check_no_out("logaddexp.reduce", out)
    a = as_array(*promote_dtypes_inexact(ensure_array("logsumexp", a)))
    where = check_where("logsumexp", where)
    axis = static_axes(axis)
    real = lax.real(a) if dtypes.is_complex(a.dtype) else a
    peak = max(real, axis=axis, keepdims=True, where=where, initial=-np.inf)
    peak = lax.stop_gradient(lax.select(lax.is_finite(peak), peak, lax.full_like(peak, 0)))
    terms = lax.exp(lax.sub(a, lax.convert_element_type(peak, a.dtype)))
    total = sum(terms, axis=axis, keepdims=keepdims, where=where)
    if not keepdims:
        peak = lax.squeeze(peak, split_axes(axis, a.ndim)[0])
    result = lax.add(lax.log(total), lax.convert_element_type(peak, total.dtype))
    return result if initial is None else logaddexp(initial, result)


def logsumexp2(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """log2 of the sum of powers of 2 over `axis`."""
    a = as_array(*promote_dtypes_inexact(ensure_array("logsumexp2", a)))
    ln2 = float(np.log(2))
    result = logsumexp(
        lax.mul(a, constant_like(a, ln2)), axis=axis, dtype=dtype, out=out, keepdims=keepdims,
        initial=None if initial is None else initial * ln2, where=where,
    )  # fmt: skip
    return lax.div(result, constant_like(result, ln2))
