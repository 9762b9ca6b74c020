"""Arrays joined, repeated and taken apart along axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dims
from frit.ir.dims import Dim
from frit.numpy.creation import asarray, zeros_like
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_array,
    canonical_axis,
    check_arraylike,
    check_no_out,
    concrete,
    ensure_array,
    ensure_arrays,
    is_array,
)
from frit.numpy.promotion import promote_dtypes
from frit.numpy.shapes import atleast_1d, atleast_2d, atleast_3d, ravel, reshape


def _parts(name: str, arrays: Any, dtype: Any) -> list[Any]:
    """The arrays to join, in one element type."""
    if is_array(arrays) or isinstance(arrays, np.ndarray):
        arrays = list(as_array(arrays)) if arrays.ndim else []
    parts = ensure_arrays(name, *arrays)
    if dtype is not None:
        return [asarray(a, dtype=dtype) for a in parts]
    return promote_dtypes(*parts) if parts else []


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays joined along an existing axis; flattened first if `axis` is None."""
    if is_array(arrays) or isinstance(arrays, np.ndarray):
        return _concatenate_array(as_array(arrays), axis, dtype)
    parts = _parts("concatenate", arrays, dtype)
    if not parts:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    if np.ndim(parts[0]) == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    return lax.concatenate(parts, canonical_axis(axis, parts[0].ndim))


def _concatenate_array(a: Any, axis: int | None, dtype: Any) -> Any:
    """Concatenation of the rows of one array: a transpose and a reshape."""
    if dtype is not None:
        a = asarray(a, dtype=dtype)
    if a.ndim == 0 or a.shape[0] == 0:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return ravel(a)
    if a.ndim == 1:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonical_axis(axis, a.ndim - 1)
    order = (*range(1, axis + 1), 0, *range(axis + 1, a.ndim))
    count, *sizes = a.shape
    sizes[axis] = count * sizes[axis]
    return lax.reshape(lax.transpose(a, order), tuple(sizes))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an existing axis: `concatenate` by its array-API name."""
    check_arraylike("concat", *arrays)
    return concatenate(arrays, axis=axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape joined along a new axis."""
    check_no_out("stack", out)
    if is_array(arrays) or isinstance(arrays, np.ndarray):
        a = as_array(arrays)
        axis = canonical_axis(axis, a.ndim)
        return _concatenate_array(lax.expand_dims(a, (axis + 1,)), axis, dtype)
    if not len(arrays):
        raise ValueError("Need at least one array to stack.")
    parts = _parts("stack", arrays, dtype)
    shapes = [p.shape for p in parts]
    if any(s != shapes[0] for s in shapes):
        raise ValueError(
            f"All input arrays must have the same shape. Got {', '.join(map(str, shapes))}."
        )
    return lax.stack(parts, axis=axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of x along `axis`."""
    x = ensure_array("unstack", x)
    if x.ndim == 0:
        raise ValueError(
            "Unstack requires arrays with rank > 0, however a scalar array was passed."
        )
    return tuple(lax.unstack(x, axis=axis))


def _each(name: str, tup: Any, at_least: Any) -> Any:
    if is_array(tup) or isinstance(tup, np.ndarray):
        tup = list(as_array(tup))
    check_arraylike(name, *tup)
    return [at_least(m) for m in tup]


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined along the first axis; arrays of one axis are rows."""
    return concatenate(_each("vstack", tup, atleast_2d), axis=0, dtype=dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined along the second axis, or along the only one."""
    parts = _each("hstack", tup, atleast_1d)
    return concatenate(parts, axis=0 if parts[0].ndim == 1 else 1, dtype=dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays joined along the third axis."""
    return concatenate(_each("dstack", tup, atleast_3d), axis=2, dtype=dtype)


def column_stack(tup: Any) -> Any:
    """Arrays joined along the second axis; arrays of one axis are columns."""
    parts = _each("column_stack", tup, atleast_1d)
    return concatenate([p[:, None] if p.ndim == 1 else p for p in parts], axis=1)


@jitted(static_argnames="axis")
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`arr` and `values` joined along `axis`; flattened first if it is None."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis=axis)


@jitted
def block(arrays: Any) -> Any:
    """Nested lists of blocks joined: innermost lists along the last axis, the next along the one
    before, and so on."""
    depth = _depth(arrays)
    rank = max([depth, *(np.ndim(leaf) for leaf in _leaves(arrays))])
    return _block(arrays, rank, depth)


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise TypeError("jnp.block does not allow tuples, got " + str(arrays))
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("jnp.block does not allow empty list arguments")
    depths = {_depth(a) for a in arrays}
    if len(depths) > 1:
        raise ValueError("jnp.block: all lists must be nested equally deep")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return [x for a in arrays for x in _leaves(a)] if isinstance(arrays, list) else [arrays]


def _block(arrays: Any, rank: int, depth: int) -> Any:
    if isinstance(arrays, list):
        parts = [_block(a, rank, depth - 1) for a in arrays]
        return concatenate(parts, axis=-depth) if len(parts) > 1 else parts[0]
    a = ensure_array("block", arrays)
    return lax.expand_dims(a, range(rank - a.ndim)) if rank > a.ndim else a


# ---- apart --------------------------------------------------------------------------------------


def _split(name: str, ary: Any, indices_or_sections: Any, axis: int) -> list[Any]:
    ary = ensure_array(name, ary)
    axis = canonical_axis(concrete(axis, f"in jax.numpy.{name} argument `axis`"), ary.ndim)
    size = ary.shape[axis]
    where = concrete(indices_or_sections, f"in jax.numpy.{name} argument 1")
    if isinstance(where, (tuple, list)) or np.ndim(where) > 0:
        context = f"in jax.numpy.{name} argument 1"
        cuts = [i if isinstance(i, Dim) else operator.index(concrete(i, context)) for i in where]
        if not isinstance(size, Dim) and not any(isinstance(i, Dim) for i in cuts):
            cuts = [min(max(i + size if i < 0 else i, 0), size) for i in cuts]
        starts, ends = [0, *cuts], [*cuts, size]
        if not isinstance(size, Dim) and sorted(ends) != ends:  # NumPy gives empty pieces there
            return [
                lax.slice_in_dim(ary, a, max(a, b), axis=axis)
                for a, b in zip(starts, ends, strict=True)
            ]
        sizes = [b - a for a, b in zip(starts, ends, strict=True)]
        return list(lax.split(ary, sizes, axis=axis))
    sections = operator.index(where)
    part, rest = divmod(size, sections)
    if rest == 0:
        sizes = [part] * sections
    elif name == "array_split":
        sizes = [part + 1] * rest + [part] * (sections - rest)
    else:
        raise ValueError(f"array split does not result in an equal division: rest is {rest}")
    return list(lax.split(ary, sizes, axis=axis))


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """`ary` cut along `axis` into equal sections, or at the given indices."""
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """`ary` cut along `axis` into nearly equal sections, or at the given indices."""
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`ary` cut along its first axis."""
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`ary` cut along its second axis, or along the only one."""
    ary = ensure_array("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`ary` cut along its third axis."""
    return _split("dsplit", ary, indices_or_sections, 2)


# ---- repeated -----------------------------------------------------------------------------------


def tile(A: Any, reps: Any) -> Any:
    """`A` repeated as a whole, `reps` times along each axis."""
    A = ensure_array("tile", A)
    counts = tuple(reps) if np.iterable(reps) else (reps,)
    counts = tuple(r if isinstance(r, Dim) else operator.index(r) for r in counts)
    counts = (1,) * (A.ndim - len(counts)) + counts
    if len(counts) > A.ndim:
        A = lax.expand_dims(A, range(len(counts) - A.ndim))
    return lax.tile(A, counts)


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Each element of `a` repeated along `axis`, `repeats` times or as many as stand there for it.

    total_repeat_length: the size of that axis of the result, needed where `repeats` is traced; what
    is missing repeats the last element, what is too much is cut.
    """
    a = ensure_array("repeat", a)
    if axis is None:
        a, axis = ravel(a), 0
    if a.ndim == 0:
        a = lax.reshape(a, (1,))
    axis = canonical_axis(operator.index(axis), a.ndim)
    if total_repeat_length is None:
        repeats = (
            repeats
            if isinstance(repeats, Dim)
            else concrete(
                repeats,
                "When jit-compiling jnp.repeat, the total number of repeats must be static. To fix "
                "this, either specify a static value for `repeats`, or pass a static value to "
                "`total_repeat_length`.",
            )
        )
        if isinstance(repeats, Dim) or np.ndim(repeats) == 0:
            return _repeat_evenly(
                a, repeats if isinstance(repeats, Dim) else operator.index(repeats), axis
            )
        counts = np.asarray(repeats)
        if counts.ndim != 1 or counts.shape[0] not in (1, a.shape[axis]):
            raise ValueError(
                "repeats must be a scalar or have one entry for each element along the axis: got "
                f"shape {counts.shape} for an axis of size {a.shape[axis]}"
            )
        if counts.shape[0] == 1:
            return _repeat_evenly(a, int(counts[0]), axis)
        rows = np.repeat(np.arange(a.shape[axis], dtype=np.int32), counts)
        return a[(slice(None),) * axis + (rows,)]
    return _repeat_to_length(a, as_array(repeats), axis, total_repeat_length)


def _repeat_evenly(a: Any, count: Any, axis: int) -> Any:
    shape = list(a.shape)
    wide = [*shape[: axis + 1], count, *shape[axis + 1 :]]
    kept = [i for i in range(len(wide)) if i != axis + 1]
    shape[axis] = shape[axis] * count
    return lax.reshape(lax.broadcast_in_dim(a, tuple(wide), tuple(kept)), tuple(shape))


def _repeat_to_length(a: Any, repeats: Any, axis: int, length: int) -> Any:
    """Where in the result each element starts is marked, and the marks are counted."""
    size = a.shape[axis]
    if length == 0 or size == 0:
        return lax.full_like(a, 0, shape=(*a.shape[:axis], length, *a.shape[axis + 1 :]))
    repeats = lax.broadcast_in_dim(
        lax.reshape(repeats, (1,)) if repeats.ndim == 0 else repeats, (size,), (0,)
    )
    shifted = lax.concatenate([lax.full_like(repeats[:1], 0), repeats[:-1]], 0)
    starts = lax.cumsum(shifted, 0)
    marks = lax.full((length,), 0, np.int32).at[starts].add(1)
    rows = lax.sub(lax.cumsum(marks, 0), np.int32(1))
    return a[(slice(None),) * axis + (rows,)]


@jitted(static_argnames="new_shape")
def resize(a: Any, new_shape: Any) -> Any:
    """The elements of `a`, repeated or cut to fill `new_shape`."""
    sizes: Sequence[int] = (new_shape,) if np.ndim(new_shape) == 0 else tuple(new_shape)
    if any(s < 0 for s in sizes):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat = ravel(a)
    total = dims.product(sizes)
    if flat.size == 0 or total == 0:
        return zeros_like(flat, shape=tuple(sizes))
    return reshape(tile(flat, -(-total // flat.size))[:total], tuple(sizes))
