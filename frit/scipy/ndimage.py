"""jax.scipy.ndimage: values of an array between its elements."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.ir import dtypes
from frit.numpy.jitted import jitted

__all__ = ["map_coordinates"]


def _mirrored(index: Any, size: int) -> Any:
    """d c b | a b c d | c b a: the edge is not repeated."""
    last = size - 1
    return jnp.abs((index + last) % (2 * last) - last)


def _reflected(index: Any, size: int) -> Any:
    """c b a | a b c d | d c b: the edge is repeated."""
    return jnp.floor_divide(_mirrored(2 * index + 1, 2 * size + 1) - 1, 2)


# What stands beyond the edges: each maps any index to one inside.
_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirrored,
    "reflect": _reflected,
}


def _rounded(x: Any) -> Any:
    """x to the nearest whole number, halves away from zero."""
    return x if dtypes.is_integer(x.dtype) else lax.round(x)


def _nearest_node(coordinate: Any) -> list[tuple[Any, Any]]:
    return [(_rounded(coordinate).astype(np.int32), coordinate.dtype.type(1))]


def _neighbours(coordinate: Any) -> list[tuple[Any, Any]]:
    lower = jnp.floor(coordinate)
    share = coordinate - lower
    index = lower.astype(np.int32)
    return [(index, 1 - share), (index + 1, share)]


_NODES = {0: _nearest_node, 1: _neighbours}


def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Any:
    """`input` at fractional coordinates, one array for each of its axes; result: their shape.

    order: 0, the nearest element, or 1, linear interpolation.  mode: what stands beyond the edges:
    "constant" (`cval`), "nearest", "wrap", "mirror" or "reflect".  ValueError for a wrong number
    of coordinates, NotImplementedError for other orders and modes.
    """
    return _map_coordinates(input, list(coordinates), order, mode, cval)


@jitted(static_argnames=("order", "mode", "cval"))
def _map_coordinates(input: Any, coordinates: Any, order: int, mode: str, cval: Any) -> Any:
    array = jnp.asarray(input)
    cval = jnp.asarray(cval, array.dtype)
    if len(coordinates) != array.ndim:
        raise ValueError(
            "coordinates must be a sequence of length input.ndim, but "
            f"{len(coordinates)} != {array.ndim}"
        )
    if mode not in _MODES:
        raise NotImplementedError(
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently "
            f"supported modes are {set(_MODES)}."
        )
    if order not in _NODES:
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1")
    nodes = [_NODES[order](jnp.asarray(c)) for c in coordinates]
    total: Any = None
    for corner in itertools.product(*nodes):
        weight = functools.reduce(operator.mul, [w for _, w in corner])
        term = weight * _at(array, [i for i, _ in corner], mode, cval)
        total = term if total is None else total + term
    if dtypes.is_integer(array.dtype):
        total = _rounded(total)
    return total.astype(array.dtype)


def _at(array: Any, indices: list[Any], mode: str, cval: Any) -> Any:
    inside = tuple(
        _MODES[mode](index, size) for index, size in zip(indices, array.shape, strict=True)
    )
    if mode != "constant":
        return array[inside]
    valid = functools.reduce(
        operator.and_,
        [(i >= 0) & (i < size) for i, size in zip(indices, array.shape, strict=True)],
    )
    return jnp.where(valid, array[inside], cval)
