"""x.at[index].set(value) and its kin: a new array that differs from x at an index.

    x.at[i].set(v)    add, subtract, multiply (mul), divide, power, min, max, apply(f), get()

Each is one scatter: with the same parse and plan of the index as x[index], `value` broadcast to the
shape of x[index].  Indices out of bounds are dropped, unless `mode` says otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from frit import config, lax
from frit.ir import dtypes
from frit.ir.types import typeof
from frit.numpy.dtype_info import iinfo
from frit.numpy.index_entries import parse
from frit.numpy.index_plan import plan_gather
from frit.numpy.indexing import check_entries, take_index
from frit.numpy.operands import as_array, as_operand, check_arraylike, dtype_of
from frit.numpy.promotion import broadcast_to, convert, promote_dtypes
from frit.numpy.ufuncs import power, true_divide


class IndexUpdateHelper:
    """x.at: index it to choose the elements to update."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """x.at[index]: the elements chosen; its methods give new arrays."""

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x[index], where indices out of bounds give `fill_value` if mode is "fill"."""
        if mode is None and fill_value is not None:
            mode = "fill"
        return take_index(
            self.array, self.index, indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices, mode=mode, fill_value=fill_value,
            wrap_negative_indices=wrap_negative_indices,
        )  # fmt: skip

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x with func applied once for each time that an element is indexed."""

        def scatter_apply(x: Any, indices: Any, y: Any, numbers: Any, **kwargs: Any) -> Any:
            return lax.scatter_apply(x, indices, func, numbers, update_shape=np.shape(y), **kwargs)

        return scatter(
            self.array, self.index, lax.full_like(self.array, 0, shape=()), scatter_apply,
            indices_are_sorted, unique_indices, mode, wrap_negative_indices,
        )  # fmt: skip

    def divide(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x with the chosen elements divided by `values`."""
        divisors = scatter(
            lax.full_like(self.array, 1), self.index, values, lax.scatter_mul,
            indices_are_sorted, unique_indices, mode, wrap_negative_indices,
        )  # fmt: skip
        return true_divide(self.array, divisors)

    def power(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x with the chosen elements raised to the power `values`."""
        exponents = scatter(
            lax.full_like(self.array, 1), self.index, values, lax.scatter_mul,
            indices_are_sorted, unique_indices, mode, wrap_negative_indices,
        )  # fmt: skip
        return power(self.array, exponents)


def _update(name: str, operation: str, doc: str) -> Callable[..., Any]:
    def method(
        self: IndexUpdateRef,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        return scatter(
            self.array, self.index, values, getattr(lax, operation), indices_are_sorted,
            unique_indices, mode, wrap_negative_indices,
        )  # fmt: skip

    method.__name__, method.__qualname__ = name, f"IndexUpdateRef.{name}"
    method.__doc__ = doc
    return method


for _name, _operation, _doc in (
    ("set", "scatter", "x with the chosen elements replaced by `values`."),
    ("add", "scatter_add", "x with `values` added to the chosen elements."),
    ("subtract", "scatter_sub", "x with `values` subtracted from the chosen elements."),
    ("multiply", "scatter_mul", "x with the chosen elements multiplied by `values`."),
    ("mul", "scatter_mul", "x with the chosen elements multiplied by `values`."),
    ("min", "scatter_min", "x with the chosen elements at most `values`."),
    ("max", "scatter_max", "x with the chosen elements at least `values`."),
):
    setattr(IndexUpdateRef, _name, _update(_name, _operation, _doc))


def _as_update(x: Any, values: Any) -> Any:
    check_arraylike("scatter", values)
    dtype = x.dtype
    if isinstance(values, int) and dtypes.is_integer(dtype):
        limits = iinfo(dtype)
        if limits.min <= values <= limits.max:
            return np.asarray(values).astype(dtype)[()]
    return as_operand(values)


def _warn_if_unsafe(x: Any, values: Any) -> None:
    found: Any = typeof(values)
    if isinstance(x.dtype, dtypes.ExtendedDType) or found.dtype == x.dtype:
        return
    wide = dtypes.promote([(x.dtype, False), (found.dtype, found.weak_type)])[0]
    if wide != x.dtype:
        warnings.warn(
            "scatter inputs have incompatible types: cannot safely cast value from dtype="
            f"{found.dtype} to dtype={x.dtype} with jax_numpy_dtype_promotion="
            f"{config.numpy_dtype_promotion.value}. In future JAX releases this will result in an "
            "error.",
            FutureWarning,
            stacklevel=4,
        )


def scatter(
    x: Any,
    index: Any,
    values: Any,
    operation: Callable[..., Any],
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """x with `values`, broadcast to the shape of x[index], scattered there by `operation`."""
    x = as_array(x)
    dtype, weak_type = x.dtype, x.weak_type
    values = _as_update(x, values)
    _warn_if_unsafe(x, values)
    entries = parse(index, x.shape)
    if mode is None:
        check_entries(entries, x.shape, wrap_negative_indices)
    plan = plan_gather(entries, x.shape, wrap_negative_indices)
    if 0 in plan.result_shape:
        return x
    if not isinstance(dtype, dtypes.ExtendedDType):
        x, values = promote_dtypes(x, values)
    values = broadcast_to(values, plan.result_shape)
    if plan.new:
        values = lax.squeeze(values, plan.new)
    if plan.reverse:
        values = lax.rev(values, plan.reverse)
    if plan.flags:
        x = lax.expand_dims(x, plan.flags)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=plan.numbers.offset_dims,
        inserted_window_dims=plan.numbers.collapsed_slice_dims,
        scatter_dims_to_operand_dims=plan.numbers.start_index_map,
    )
    out = operation(
        x, plan.indices, values, numbers,
        indices_are_sorted=indices_are_sorted or plan.distinct,
        unique_indices=unique_indices or plan.distinct, mode=mode,
    )  # fmt: skip
    if plan.flags:
        out = lax.squeeze(out, plan.flags)
    return convert(out, dtype, weak_type) if dtype_of(out) != dtype or weak_type else out
