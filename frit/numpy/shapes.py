"""The same elements in another shape or order of axes."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dims
from frit.ir.dims import Dim
from frit.numpy import promotion
from frit.numpy.creation import array
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_shape,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    ensure_array,
    ensure_arrays,
)


def _shape_of(name: str, a: Any) -> tuple[Any, ...]:
    if hasattr(a, "shape"):
        return a.shape
    try:
        check_arraylike(name, a)
    except TypeError as error:
        warnings.warn(
            f"{error} In a future JAX release this will be an error.",
            DeprecationWarning,
            stacklevel=3,
        )
    return a.__jax_array__().shape if hasattr(a, "__jax_array__") else np.shape(a)


def shape(a: Any) -> tuple[Any, ...]:
    """The sizes of the axes of `a`."""
    return _shape_of("shape", a)


def ndim(a: Any) -> int:
    """How many axes `a` has."""
    return a.ndim if hasattr(a, "ndim") else len(_shape_of("ndim", a))


def size(a: Any, axis: Any = None) -> Any:
    """How many elements `a` has, along `axis` if given."""
    sizes = _shape_of("size", a)
    axes = canonical_axes(axis, len(sizes), allow_duplicates=True)
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in size: {axis}")
    return dims.product(sizes[i] for i in axes)


def isscalar(element: Any) -> bool:
    """Whether `element` is a number or an array without axes."""
    if np.isscalar(element):
        return True
    if hasattr(element, "__jax_array__"):
        element = element.__jax_array__()
    return hasattr(element, "dtype") and np.ndim(element) == 0 and not isinstance(element, type)


def iterable(y: Any) -> bool:
    """Whether one can iterate over `y`."""
    return np.iterable(y)


def _as_axes(axis: Any) -> tuple[int, ...]:
    try:
        return (operator.index(axis),)
    except TypeError:
        return tuple(operator.index(a) for a in axis)


def reshape(
    a: Any, shape: Any, order: str = "C", *, copy: Any = None, out_sharding: Any = None
) -> Any:
    """`a` with the given shape, of which one size may be -1.  TypeError where sizes differ."""
    a = ensure_array("reshape", a)
    new = resolve_shape(a.shape, shape)
    if order == "F":
        reversed_axes = tuple(range(a.ndim))[::-1]
        flipped = lax.reshape(lax.transpose(a, reversed_axes), new[::-1])
        return lax.transpose(flipped, tuple(range(len(new)))[::-1])
    if order not in ("C", "A"):
        if order == "K":
            raise NotImplementedError("np.reshape order=K is not implemented")
        raise ValueError(f"Unexpected value for 'order' argument: {order}.")
    return a if new == a.shape else lax.reshape(a, new)


def resolve_shape(old: tuple[Any, ...], shape: Any) -> tuple[Any, ...]:
    """`shape` as a tuple, its -1 replaced by what the number of elements leaves for it."""
    if isinstance(shape, (int, np.integer, Dim)):
        shape = (shape,)
    elif not isinstance(shape, (tuple, list)) and np.ndim(shape) == 0:
        shape = (shape,)
    new = dims.check_shape(tuple(shape))
    unknown = [i for i, s in enumerate(new) if isinstance(s, int) and s == -1]
    if len(unknown) > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {new}")
    total = dims.product(old)
    if unknown:
        rest = dims.product(s for i, s in enumerate(new) if i not in unknown)
        if rest == 0 or total % rest != 0:
            raise TypeError(
                f"cannot reshape array of shape {old} (size {total}) into shape {new}: the product "
                f"of specified dimension sizes ({rest}) should evenly divide {total}"
            )
        return tuple(total // rest if i in unknown else s for i, s in enumerate(new))
    if dims.product(new) != total:
        raise TypeError(
            f"cannot reshape array of shape {old} (size {total}) into shape {new} (size "
            f"{dims.product(new)})"
        )
    return new


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """`a` as an array of one axis."""
    a = ensure_array("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshape(a, (a.size,), order)


def squeeze(a: Any, axis: Any = None) -> Any:
    """`a` without the axes of size 1, or without those among `axis`."""
    a = ensure_array("squeeze", a)
    if axis is None:
        axes = tuple(i for i, s in enumerate(a.shape) if isinstance(s, int) and s == 1)
    else:
        axes = _as_axes(axis)
    return lax.squeeze(a, axes) if axes else a


def expand_dims(a: Any, axis: Any) -> Any:
    """`a` with new axes of size 1, at the places `axis` of the result."""
    return lax.expand_dims(ensure_array("expand_dims", a), _as_axes(axis))


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """`a` with its axes in the order `axes`, reversed by default."""
    a = ensure_array("transpose", a)
    if axes is None:
        order: Sequence[int] = range(a.ndim)[::-1]
    else:
        order = [canonical_axis(i, a.ndim) for i in axes]
    return lax.transpose(a, tuple(order))


def permute_dims(a: Any, /, axes: Sequence[int]) -> Any:
    """`a` with its axes in the order `axes`."""
    return transpose(ensure_array("permute_dims", a), axes)


def matrix_transpose(x: Any, /) -> Any:
    """x with its last two axes exchanged."""
    x = ensure_array("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(
            f"x must be at least two-dimensional for matrix_transpose; got ndim={x.ndim}"
        )
    return lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`a` with two axes exchanged."""
    a = ensure_array("swapaxes", a)
    order = list(range(a.ndim))
    i, j = canonical_axis(axis1, a.ndim), canonical_axis(axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return lax.transpose(a, tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`a` with axes `source` moved to the places `destination`, the others in their order."""
    a = ensure_array("moveaxis", a)
    sources = [canonical_axis(i, a.ndim) for i in _as_axes(source)]
    places = [canonical_axis(i, a.ndim) for i in _as_axes(destination)]
    if len(sources) != len(places):
        raise ValueError(f"Inconsistent number of elements: {len(sources)} vs {len(places)}")
    if len(set(sources)) != len(sources) or len(set(places)) != len(places):
        raise ValueError(f"repeated axis in moveaxis: {source} to {destination}")
    order = [i for i in range(a.ndim) if i not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return lax.transpose(a, tuple(order))


@jitted(static_argnames=("axis", "start"))
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`a` with `axis` moved to stand before axis `start`."""
    a = ensure_array("rollaxis", a)
    axis = canonical_axis(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise ValueError(f"start={start} must satisfy {-a.ndim}<=start<={a.ndim}")
    start = start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - (start > axis))


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """`array` repeated along new and singleton axes to have `shape`."""
    return promotion.broadcast_to(ensure_array("broadcast_to", array), shape)


def broadcast_arrays(*args: Any) -> list[Any]:
    """The arguments broadcast to their common shape."""
    return promotion.broadcast_arrays(*ensure_arrays("broadcast_arrays", *args))


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape that arrays of the given shapes broadcast to.  ValueError if there is none."""
    if not shapes:
        return ()
    return lax.broadcast_shapes(*(as_shape(s) for s in shapes))


def _at_least(name: str, rank: int, doc: str) -> Any:
    def function(*arys: Any) -> Any:
        check_arraylike(name, *arys)
        found = [_with_rank(array(a, copy=False), rank) for a in arys]
        return found[0] if len(found) == 1 else found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return jitted(function)


def _with_rank(a: Any, rank: int) -> Any:
    if rank == 3 and a.ndim in (1, 2):
        return lax.expand_dims(a, (0, 2) if a.ndim == 1 else (2,))
    missing = rank - a.ndim
    return lax.expand_dims(a, range(missing)) if missing > 0 else a


atleast_1d = _at_least("atleast_1d", 1, "Each argument with at least one axis.")
atleast_2d = _at_least("atleast_2d", 2, "Each argument with at least two axes.")
atleast_3d = _at_least("atleast_3d", 3, "Each argument with at least three axes.")
