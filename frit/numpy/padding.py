"""pad: an array with elements added before and after along each axis.

Every mode works axis by axis, so that corners are padding of padding.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.ir.dims import Dim
from frit.numpy import reductions
from frit.numpy.creation import asarray
from frit.numpy.jitted import jitted
from frit.numpy.joining import repeat
from frit.numpy.operands import as_array, concrete, ensure_array, is_array
from frit.numpy.promotion import broadcast_to, convert
from frit.numpy.quantiles import median
from frit.numpy.ranges import linspace
from frit.numpy.rounding import round as round_to_even
from frit.numpy.vectorize import apply_along_axis

Pairs = tuple[tuple[Any, Any], ...]

_KEYWORDS: dict[str, tuple[str, ...]] = {
    "empty": (), "edge": (), "wrap": (), "constant": ("constant_values",),
    "linear_ramp": ("end_values",), "maximum": ("stat_length",), "mean": ("stat_length",),
    "median": ("stat_length",), "minimum": ("stat_length",), "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}  # fmt: skip
_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": reductions.max, "minimum": reductions.min, "mean": reductions.mean, "median": median
}  # fmt: skip


def _pairs(values: Any, rank: int, name: str) -> Pairs:
    """A (before, after) pair for each axis, from one value, one pair, or all."""
    if isinstance(values, dict):
        values = [values.get(i, values.get(i - rank, (0, 0))) for i in range(rank)]
    if isinstance(values, Dim):
        return ((values, values),) * rank
    values = concrete(values, f"{name} argument of jnp.pad")
    rows = values if isinstance(values, (tuple, list)) else np.asarray(values)
    if np.ndim(rows) == 0 and not isinstance(rows, (tuple, list)):
        value = rows.item() if isinstance(rows, np.ndarray) else rows
        return ((value, value),) * rank
    table = _as_table(list(rows), name)
    if len(table) == 1 and len(table[0]) == 1:
        return ((table[0][0], table[0][0]),) * rank
    if len(table) == 1 and len(table[0]) == 2:
        return (table[0],) * rank
    if len(table) == rank and all(len(row) == 2 for row in table):
        return tuple(table)
    raise ValueError(
        f"jnp.pad: {name} with nd={rank} has unsupported shape {np.shape(rows)}. Valid shapes are "
        f"({rank}, 2), (1, 2), (2,), (1,), or ()."
    )


def _as_table(rows: list[Any], name: str) -> list[Any]:
    def known(v: Any) -> Any:
        v = concrete(v, f"{name} argument of jnp.pad")
        return v.item() if isinstance(v, (np.ndarray, np.generic)) or is_array(v) else v

    nested = [isinstance(r, (tuple, list)) or np.ndim(r) > 0 for r in rows]
    if any(nested) and not all(nested):
        raise TypeError(f"`{name}` entries must be the same shape: {rows}")
    if not any(nested):
        return [tuple(known(r) for r in rows)]
    table = [tuple(known(v) for v in r) for r in rows]
    if (
        any(isinstance(v, (tuple, list)) for row in table for v in row)
        or len({len(row) for row in table}) > 1
    ):
        raise TypeError(f"`{name}` entries must be the same shape: {rows}")
    return table


def _count(width: Any) -> int | Dim:
    return width if isinstance(width, Dim) else operator.index(width)


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """`array` with elements added before and after along each axis.

    pad_width: how many: a number, a (before, after) pair, or a pair for each axis.
    mode: "constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "mean",
    "median", "minimum", "empty", or a function(vector, widths, axis, kwargs) of each padded vector.
    """
    array = ensure_array("pad", array)
    widths = _pairs(pad_width, array.ndim, "pad_width")
    for pair in widths:
        if not all(isinstance(w, (int, np.integer, Dim)) for w in pair):
            raise TypeError("`pad_width` must be of integral type.")
    widths = tuple((_count(before), _count(after)) for before, after in widths)
    if any(isinstance(w, int) and w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return _pad_by_function(array, widths, mode, kwargs)
    if mode not in _KEYWORDS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unsupported = set(kwargs) - set(_KEYWORDS[mode])
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    lengths = kwargs.get("stat_length")
    if lengths is not None:
        lengths = _pairs(lengths, array.ndim, "stat_length")
    return _pad(
        array, widths, mode, kwargs.get("constant_values", 0), lengths,
        _pairs(kwargs.get("end_values", 0), array.ndim, "end_values") if mode == "linear_ramp"
        else None,
        kwargs.get("reflect_type", "even"),
    )  # fmt: skip


@jitted(static_argnames=("pad_width", "mode", "stat_length", "end_values", "reflect_type"))
def _pad(
    array: Any,
    pad_width: Pairs,
    mode: str,
    constant_values: Any,
    stat_length: Pairs | None,
    end_values: Pairs | None,
    reflect_type: str,
) -> Any:
    if array.ndim == 0:
        return array
    match mode:
        case "constant":
            return _pad_constant(array, pad_width, constant_values)
        case "reflect" | "symmetric":
            return _pad_mirrored(array, pad_width, mode == "reflect", reflect_type == "odd")
        case "maximum" | "minimum" | "mean" | "median":
            return _pad_statistic(array, pad_width, _STATISTICS[mode], stat_length)
        case "linear_ramp":
            return _pad_ramp(array, pad_width, end_values)
    along = {"wrap": _wrapped, "edge": _edges, "empty": _zeros}[mode]
    for axis, widths in enumerate(pad_width):
        before, after = along(array, axis, widths)
        array = lax.concatenate([before, array, after], axis)
    return array


def _part(a: Any, axis: int, start: Any, stop: Any) -> Any:
    return lax.slice_in_dim(a, start, stop, axis=axis)


def _pad_constant(array: Any, widths: Pairs, values: Any) -> Any:
    values = as_array(asarray(values))
    values = convert(values, array.dtype, array.weak_type)
    if values.ndim == 0 or values.size == 1:
        value = values if values.ndim == 0 else lax.reshape(values, ())
        return lax.pad(array, value, [(low, high, 0) for low, high in widths])
    values = broadcast_to(values, (array.ndim, 2))
    none = [(0, 0, 0)] * array.ndim
    for axis, (low, high) in enumerate(widths):
        for side, config in ((0, (low, 0, 0)), (1, (0, high, 0))):
            array = lax.pad(array, values[axis, side], [*none[:axis], config, *none[axis + 1 :]])
    return array


def _check_not_empty(size: Any, widths: tuple[Any, Any], mode: str) -> None:
    if size == 0 and any(widths):
        raise ValueError(f"Cannot apply '{mode}' padding to empty axis")


def _wrapped(a: Any, axis: int, widths: tuple[Any, Any]) -> tuple[Any, Any]:
    size = a.shape[axis]
    _check_not_empty(size, widths, "wrap")
    before, after = widths
    if size == 0:
        return a, a
    repeats, rest = divmod(before, size)
    left = lax.concatenate([_part(a, axis, size - rest, size), *[a] * repeats], axis)
    repeats, rest = divmod(after, size)
    return left, lax.concatenate([*[a] * repeats, _part(a, axis, 0, rest)], axis)


def _edges(a: Any, axis: int, widths: tuple[Any, Any]) -> tuple[Any, Any]:
    size = a.shape[axis]
    _check_not_empty(size, widths, "edge")
    if size == 0:
        return a, a
    first, last = _part(a, axis, 0, 1), _part(a, axis, size - 1, size)
    return repeat(first, widths[0], axis=axis), repeat(last, widths[1], axis=axis)


def _zeros(a: Any, axis: int, widths: tuple[Any, Any]) -> tuple[Any, Any]:
    before, after = (
        lax.full_like(a, 0, shape=(*a.shape[:axis], w, *a.shape[axis + 1 :])) for w in widths
    )
    return before, after


def _pad_mirrored(array: Any, widths: Pairs, skip_edge: bool, odd: bool) -> Any:
    """Mirror images of the array at its ends, as often as needed; negated about the edge if odd."""
    for axis, (before, after) in enumerate(widths):
        size = array.shape[axis]
        _check_not_empty(size, (before, after), "reflect" if skip_edge else "symmetric")
        for at_start, missing in ((True, before), (False, after)):
            while missing > 0:
                # the part that is mirrored grows with the array, as in NumPy
                offset = 1 if skip_edge and size > 1 else 0
                step = min(missing, size - offset)
                missing -= step
                length = array.shape[axis]
                if at_start:
                    edge = _part(array, axis, 0, 1)
                    image = _part(array, axis, offset, offset + step)
                else:
                    edge = _part(array, axis, length - 1, length)
                    image = _part(array, axis, length - offset - step, length - offset)
                image = lax.rev(image, (axis,))
                if odd:
                    image = 2 * edge - image
                array = lax.concatenate([image, array] if at_start else [array, image], axis)
    return array


def _pad_ramp(array: Any, widths: Pairs, ends: Pairs | None) -> Any:
    assert ends is not None
    for axis, (before, after) in enumerate(widths):
        size = array.shape[axis]
        first = lax.squeeze(_part(array, axis, 0, 1), (axis,))
        last = lax.squeeze(_part(array, axis, size - 1, size), (axis,))
        up, down = (
            linspace(end, edge, width, endpoint=False, dtype=array.dtype, axis=axis)
            for end, edge, width in zip(ends[axis], (first, last), (before, after), strict=True)
        )
        array = lax.concatenate([up, array, lax.rev(down, (axis,))], axis)
    return array


def _pad_statistic(
    array: Any, widths: Pairs, statistic: Callable[..., Any], lengths: Pairs | None
) -> Any:
    for axis, pair in enumerate(widths):
        size = array.shape[axis]
        parts = [array, array]
        if lengths is not None:
            before, after = lengths[axis]
            if before == 0 or after == 0:
                raise ValueError("stat_length of 0 yields no value for padding")
            before, after = min(before, size), min(after, size)
            parts = [_part(array, axis, 0, before), _part(array, axis, size - after, size)]
        values = [statistic(p, axis=axis, keepdims=True) for p in parts]
        if dtypes.is_integer(array.dtype):
            values = [round_to_even(v) for v in values]
        values = [lax.convert_element_type(v, array.dtype) for v in values]
        before, after = (repeat(v, w, axis=axis) for v, w in zip(values, pair, strict=True))
        array = lax.concatenate([before, array, after], axis)
    return array


def _pad_by_function(
    array: Any, widths: Pairs, function: Callable[..., Any], kwargs: dict[str, Any]
) -> Any:
    padded = _pad_constant(array, widths, 0)
    for axis in range(padded.ndim):
        padded = apply_along_axis(function, axis, padded, widths[axis], axis, kwargs)
    return padded
