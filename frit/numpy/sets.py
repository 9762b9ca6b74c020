"""Sets as sorted arrays without repetition.

With `size` the result has that many elements and may be traced: the surplus is cut, what is missing
is `fill_value` (by default the smallest element for `unique`).
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from frit import lax
from frit.ir import dims, dtypes
from frit.numpy import reductions
from frit.numpy.creation import asarray
from frit.numpy.cumulative import cumsum
from frit.numpy.jitted import jitted
from frit.numpy.joining import concatenate
from frit.numpy.operands import canonical_axis, concrete, ensure_array, ensure_arrays
from frit.numpy.promotion import constant_like, default_int, promote_dtypes
from frit.numpy.searching import nonzero, searchsorted
from frit.numpy.selection import is_nan, where
from frit.numpy.shapes import moveaxis, ravel
from frit.numpy.sorting import lexsort

_HINT = (
    "To make jnp.unique() compatible with JIT and other transforms, you can specify a concrete"
    " value for the size argument, which will determine the output size."
)


@jitted(static_argnames=("axis", "equal_nan"))
def _unique_sorted_mask(ar: Any, axis: int, equal_nan: bool) -> tuple[Any, Any, Any]:
    """The slices along `axis` sorted, whether each differs from the one before, and the order."""
    slices = moveaxis(ar, axis, 0)
    if dtypes.is_complex(slices.dtype):  # a nan in either part is the same nan
        slices = where(is_nan(slices), constant_like(slices, np.nan), slices)
    count, *rest = slices.shape
    width = dims.product(rest)
    if width == 0 or count == 0:
        count = min(count, 1)
        order = lax.full((count,), 0, default_int())
        return slices[:count], lax.full((count,), True, np.bool_), order
    columns = lax.reshape(slices, (count, width))
    order = lexsort([columns[:, i] for i in range(width - 1, -1, -1)])
    slices = slices[order]
    differs = lax.ne(slices[1:], slices[:-1])
    if dtypes.is_inexact(slices.dtype) and equal_nan:
        both = lax.bitwise_and(is_nan(slices[1:]), is_nan(slices[:-1]))
        differs = lax.bitwise_and(differs, lax.bitwise_not(both))
    differs = reductions.any(differs, axis=tuple(range(1, slices.ndim)))
    return slices, lax.concatenate([lax.full((1,), True, np.bool_), differs], 0), order


class Found(NamedTuple):
    """What `unique` found: the values and where they are."""

    values: Any
    indices: Any
    inverse: Any
    counts: Any
    number: Any


def _find_unique(ar: Any, axis: int, equal_nan: bool, size: int | None, fill_value: Any) -> Found:
    axis = canonical_axis(axis, ar.ndim)
    if ar.shape[axis] == 0 and size and fill_value is None:
        raise ValueError(
            "jnp.unique: for zero-sized input with nonzero size argument, fill_value must be "
            "specified"
        )
    slices, mask, order = _unique_sorted_mask(ar, axis, equal_nan)
    total = mask.shape[0]
    number = reductions.sum(mask)
    if size is None:
        concrete(mask, "The error arose in jnp.unique(). " + _HINT)
        places = nonzero(mask)[0]
        starts = concatenate([places, lax.full((1,), total, places.dtype)])
    else:
        starts = nonzero(mask, size=size + 1, fill_value=total)[0]
        places = nonzero(mask, size=size)[0]
    counts = lax.sub(starts[1:], starts[:-1])
    if total == 0:
        shape = (size or 0, *slices.shape[1:])
        values = lax.full_like(slices, 0 if fill_value is None else fill_value, shape=shape)
        indices = order
    else:
        values, indices = slices[places], order[places]
        if size is not None and fill_value is not None:
            known = lax.lt(lax.iota(default_int(), size), number)
            values = where(
                lax.expand_dims(known, range(1, values.ndim)),
                values,
                asarray(fill_value, dtype=values.dtype),
            )
    running = cumsum(mask)
    ranks = (
        lax.sub(running, constant_like(running, 1)) if total else lax.full((0,), 0, default_int())
    )
    inverse = lax.full((total,), 0, ranks.dtype).at[order].set(ranks)
    if total != ar.shape[axis]:
        inverse = lax.full((ar.shape[axis],), 0, default_int())
        counts = lax.full((min(ar.shape[axis], 1),), ar.shape[axis], default_int())
    return Found(moveaxis(values, 0, axis), indices, inverse, counts, number)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The different elements of `ar`, sorted; or its different slices along `axis`.

    With them, where asked: the index of the first of each, for each element the place of its value,
    and how many there are of each.
    """
    ar = ensure_array("unique", ar)
    if size is None:
        concrete(ar, "The error arose for the first argument of jnp.unique(). " + _HINT)
    else:
        size = operator.index(
            concrete(size, "The error arose for the size argument of jnp.unique(). " + _HINT)
        )
    shape = ar.shape
    if axis is None:
        ar = ravel(ar)
    found = _find_unique(ar, axis or 0, equal_nan, size, fill_value)
    result = [found.values]
    if return_index:
        result.append(found.indices)
    if return_inverse:
        result.append(lax.reshape(found.inverse, shape) if axis is None else found.inverse)
    if return_counts:
        result.append(found.counts)
    return result[0] if len(result) == 1 else tuple(result)


class UniqueAllResult(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAllResult:
    """The different elements of x, their first indices, the inverse and the counts."""
    return UniqueAllResult(
        *unique(
            ensure_array("unique_all", x), return_index=True, return_inverse=True,
            return_counts=True, equal_nan=False, size=size, fill_value=fill_value,
        )
    )  # fmt: skip


def unique_counts(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueCountsResult:
    """The different elements of x, and how many there are of each."""
    return UniqueCountsResult(
        *unique(
            ensure_array("unique_counts", x), return_counts=True, equal_nan=False, size=size,
            fill_value=fill_value,
        )
    )  # fmt: skip


def unique_inverse(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueInverseResult:
    """The different elements of x, and for each element the place of its value."""
    return UniqueInverseResult(
        *unique(
            ensure_array("unique_inverse", x), return_inverse=True, equal_nan=False, size=size,
            fill_value=fill_value,
        )
    )  # fmt: skip


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements of x."""
    return unique(
        ensure_array("unique_values", x), equal_nan=False, size=size, fill_value=fill_value
    )


# ---- membership ---------------------------------------------------------------------------------

_MEMBERSHIP = ("auto", "compare_all", "binary_search", "sort")


@jitted(static_argnames=("assume_unique", "invert", "method"))
def _in1d(
    ar1: Any, ar2: Any, invert: bool, method: str = "auto", assume_unique: bool = False
) -> Any:
    first, second = promote_dtypes(*(ravel(a) for a in ensure_arrays("in1d", ar1, ar2)))
    if method not in _MEMBERSHIP:
        raise ValueError(f"method={method!r} is not implemented; options are {_MEMBERSHIP}")
    if first.shape[0] == 0 or second.shape[0] == 0:
        return lax.full(first.shape, invert, np.bool_)
    if method in ("auto", "compare_all"):
        equal = lax.eq(first[:, None], second[None, :])
        member = reductions.any(equal, axis=-1)
    else:
        second = lax.sort(second)
        place = searchsorted(second, first, method="sort" if method == "sort" else "scan")
        last = constant_like(place, second.shape[0] - 1)
        member = lax.eq(first, second[lax.min(place, lax.full_like(place, last))])
    return lax.bitwise_not(member) if invert else member


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Whether each of `element` is among `test_elements`."""
    element, tests = ensure_arrays("isin", element, test_elements)
    member = _in1d(element, tests, invert=invert, method=method, assume_unique=assume_unique)
    return lax.reshape(member, element.shape)


# ---- operations on two sets ---------------------------------------------------------------------


def _two(name: str, ar1: Any, ar2: Any, size: int | None) -> tuple[Any, Any]:
    """Both sets flattened in one element type; known, unless the size of the result is."""
    first, second = ensure_arrays(name, ar1, ar2)
    if size is None:
        for a in (first, second):
            concrete(a, f"The error arose in {name}(); give it a static `size` to trace it.")
    first, second = promote_dtypes(ravel(first), ravel(second))
    return first, second


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The elements of either set."""
    return unique(concatenate(_two("union1d", ar1, ar2, size)), size=size, fill_value=fill_value)


def _selected(values: Any, mask: Any, size: int, fill_value: Any) -> Any:
    """The values where `mask` holds, `size` of them; what is missing is `fill_value`."""
    if values.shape[0] == 0:
        return lax.full_like(values, 0 if fill_value is None else fill_value, shape=(size,))
    places = nonzero(mask, size=size)[0]
    known = lax.lt(lax.iota(default_int(), size), reductions.sum(mask))
    chosen = values[places]
    if fill_value is None:
        fill_value = where(known[0], chosen[0], constant_like(chosen, 0)) if size else 0
    return where(known, chosen, asarray(fill_value, dtype=chosen.dtype))


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of the first set that are not in the second."""
    first, second = ensure_arrays("setdiff1d", ar1, ar2)
    if size is None:
        concrete(first, "The error arose in setdiff1d()")
    else:
        size = operator.index(concrete(size, "The error arose in setdiff1d()"))
    first, second = ravel(first), ravel(second)
    number: Any = first.shape[0]
    if not assume_unique and first.shape[0]:
        found = _find_unique(first, 0, True, None if size is None else first.shape[0], None)
        first, number = found.values, found.number
    mask = _in1d(first, second, invert=True, assume_unique=assume_unique)
    if size is None:
        return first[mask]
    mask = lax.bitwise_and(mask, lax.iota(default_int(), first.shape[0]) < number)
    return _selected(first, mask, size, 0 if fill_value is None else fill_value)


def _joined(first: Any, second: Any, assume_unique: bool, size: int | None) -> tuple[Any, ...]:
    """Both sets in one sorted array: values, whether each counts, its index and its set."""
    parts = []
    for which, a in enumerate((first, second)):
        positions = lax.iota(default_int(), a.shape[0])
        counts = lax.full(a.shape, True, np.bool_)
        if not assume_unique and a.shape[0]:
            found = _find_unique(a, 0, True, None if size is None else a.shape[0], None)
            a, positions = found.values, found.indices
            counts = lax.iota(default_int(), a.shape[0]) < found.number
        parts.append((a, counts, positions, lax.full(a.shape, which, default_int())))
    values, counts, positions, source = (
        lax.concatenate(list(p), 0) for p in zip(*parts, strict=True)
    )
    idle, values, source, positions = lax.sort(
        (lax.bitwise_not(counts), values, source, positions), dimension=0, num_keys=3
    )
    return values, lax.bitwise_not(idle), positions, source


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of just one of the two sets."""
    first, second = _two("setxor1d", ar1, ar2, size)
    values, counts, _, _ = _joined(first, second, assume_unique, size)
    if values.shape[0] == 0:
        return values if size is None else _selected(values, counts, size, fill_value)
    border = lax.full((1,), True, np.bool_)
    differs = lax.bitwise_or(lax.ne(values[1:], values[:-1]), lax.ne(counts[1:], counts[:-1]))
    alone = lax.bitwise_and(
        lax.concatenate([border, differs], 0), lax.concatenate([differs, border], 0)
    )
    alone = lax.bitwise_and(alone, counts)
    return values[alone] if size is None else _selected(values, alone, size, fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of both sets; where asked, with their first indices in each."""
    first, second = _two("intersect1d", ar1, ar2, size)
    values, counts, positions, _ = _joined(first, second, assume_unique, size)
    if values.shape[0] < 2:
        shared = lax.full((max(values.shape[0] - 1, 0),), False, np.bool_)
    else:
        shared = lax.bitwise_and(lax.eq(values[1:], values[:-1]), counts[1:])
    if size is None:
        found = nonzero(shared)[0]
        both = values[found]
        return (both, positions[found], positions[found + 1]) if return_indices else both
    both = _selected(values[:-1], shared, size, fill_value)
    if not return_indices:
        return both
    known = lax.lt(lax.iota(default_int(), size), reductions.sum(shared))
    found = nonzero(shared, size=size)[0]
    return (
        both,
        where(known, positions[found], constant_like(positions, first.shape[0])),
        where(known, positions[found + 1], constant_like(positions, second.shape[0])),
    )
