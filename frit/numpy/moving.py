"""Elements moved along axes: flip, roll, rotate."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from frit import lax
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_array,
    canonical_axes,
    canonical_axis,
    concrete,
    ensure_array,
    is_concrete,
)
from frit.numpy.reductions import static_axes
from frit.numpy.shapes import ravel, transpose


@jitted(static_argnames="axis")
def _flip(m: Any, axis: Any = None) -> Any:
    return lax.rev(m, canonical_axes(axis, m.ndim))


def flip(m: Any, axis: Any = None) -> Any:
    """`m` in reverse order along `axis`, by default along all axes."""
    return _flip(ensure_array("flip", m), static_axes(axis))


def flipud(m: Any) -> Any:
    """`m` in reverse order along its first axis."""
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    """`m` in reverse order along its second axis."""
    return flip(m, 1)


@jitted(static_argnames=("k", "axes"))
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """`m` turned by k quarter turns, from the first of `axes` towards the second."""
    m = ensure_array("rot90", m)
    if m.ndim < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument "
            f"of shape {m.shape}, which has ndim {m.ndim}"
        )
    first, second = (canonical_axis(a, m.ndim) for a in axes)
    if first == second:
        raise ValueError("Axes must be different")
    order = list(range(m.ndim))
    order[first], order[second] = order[second], order[first]
    match k % 4:
        case 0:
            return m
        case 1:
            return transpose(flip(m, second), order)
        case 2:
            return flip(flip(m, first), second)
        case _:
            return flip(transpose(m, order), second)


@jitted(static_argnames=("shift", "axis"))
def _roll_static(a: Any, shift: Any, axis: Any) -> Any:
    for i, s in zip(*np.broadcast_arrays(axis, shift), strict=True):
        size = a.shape[i]
        if size == 0:
            continue
        cut = -int(s) % size
        a = lax.concatenate(
            [
                lax.slice_in_dim(a, cut, size, axis=int(i)),
                lax.slice_in_dim(a, 0, cut, axis=int(i)),
            ],
            int(i),
        )
    return a


@jitted(static_argnames="axis")
def _roll_dynamic(a: Any, shift: Any, axis: Any) -> Any:
    shape = np.broadcast_shapes(shift.shape, np.shape(axis))
    if len(shape) != 1:
        raise ValueError("'shift' and 'axis' arguments to roll must be scalars or 1D arrays")
    shifts = lax.broadcast_in_dim(shift, shape, (0,) if shift.ndim else ())
    for n, i in enumerate(np.broadcast_to(axis, shape)):
        axis_index, size = int(i), a.shape[int(i)]
        by = lax.convert_element_type(shifts[n], np.int32) % max(size, 1)
        twice = lax.concatenate((a, a), axis_index)
        a = lax.dynamic_slice_in_dim(twice, size - by, size, axis=axis_index)
    return a


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`a` shifted along `axis`, what leaves at the end coming in at the start; flat if None."""
    a = ensure_array("roll", a)
    if axis is None:
        return lax.reshape(roll(ravel(a), shift, 0), a.shape)
    axes = canonical_axes(static_axes(axis), a.ndim, allow_duplicates=True)
    if is_concrete(shift) and all(map(is_concrete, shift if np.ndim(shift) else ())):
        known = (
            np.asarray(concrete(shift, ""))
            if np.ndim(shift) == 0
            else np.asarray([operator.index(s) for s in shift])
        )
        return _roll_static(a, tuple(int(s) for s in np.atleast_1d(known)), axes)
    if isinstance(shift, (tuple, list)):
        shift = lax.concatenate([lax.reshape(as_array(s), (1,)) for s in shift], 0)
    return _roll_dynamic(a, as_array(shift), axes)
