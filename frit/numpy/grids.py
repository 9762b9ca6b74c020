"""Grids of coordinates, and matrices that depend on row and column alone."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import config, lax
from frit.api.mapping import vmap
from frit.ir import dims, dtypes
from frit.ir.dims import Dim
from frit.numpy.creation import array, asarray, zeros_like
from frit.numpy.jitted import jitted
from frit.numpy.operands import (
    as_array,
    as_shape,
    check_arraylike,
    concrete,
    ensure_array,
    ensure_arrays,
)
from frit.numpy.promotion import (
    constant_like,
    convert,
    default_int,
    promote_dtypes,
    requested_dtype,
)
from frit.numpy.ranges import arange, linspace
from frit.numpy.searching import nonzero
from frit.numpy.shapes import expand_dims
from frit.numpy.ufuncs import power

_INT32 = np.dtype(np.int32)


def _as_size(n: Any, name: str) -> Any:
    return n if isinstance(n, Dim) else operator.index(concrete(n, name))


def _row_and_column(shape: tuple[Any, Any], dtype: Any = _INT32) -> tuple[Any, Any]:
    return lax.broadcasted_iota(dtype, shape, 0), lax.broadcasted_iota(dtype, shape, 1)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """An (N, M) matrix with ones on its kth diagonal, zeros elsewhere."""
    dtype = requested_dtype(float if dtype is None else dtype, "eye")
    offset = np.int32(min(max(k, -(2**31)), 2**31 - 1)) if isinstance(k, int) else as_array(k)
    if offset.shape != () or not dtypes.is_integer(offset.dtype):
        raise ValueError(f"k must be a scalar integer; got {k}")
    rows = _as_size(N, "argument of 'N' jnp.eye()")
    columns = rows if M is None else _as_size(M, "argument 'M' of jnp.eye()")
    if any(isinstance(n, int) and n < 0 for n in (rows, columns)):
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    i, j = _row_and_column((rows, columns), offset.dtype)
    return lax.convert_element_type(lax.eq(lax.add(i, offset), j), dtype)


def identity(n: Any, dtype: Any = None) -> Any:
    """The (n, n) matrix with ones on its diagonal, zeros elsewhere."""
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    """An (N, M) matrix with ones on and below its kth diagonal, zeros elsewhere."""
    dtype = np.dtype(np.float32) if dtype is None else requested_dtype(dtype, "tri")
    shape = as_shape((N, N if M is None else M))
    below = lax.ge(
        lax.add(lax.broadcasted_iota(_INT32, shape, 0), convert(k, _INT32)),
        lax.broadcasted_iota(_INT32, shape, 1),
    )
    return below if dtypes.is_bool(dtype) else lax.convert_element_type(below, dtype)


def _triangle(name: str, m: Any, k: int) -> tuple[Any, Any]:
    m = ensure_array(name, m)
    if m.ndim < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D")
    rows, columns = m.shape[-2:]
    mask = tri(rows, columns, k=k, dtype=np.bool_)
    if m.ndim > 2:
        mask = lax.broadcast(mask, m.shape[:-2])
    return m, mask


@jitted(static_argnames="k")
def tril(m: Any, k: int = 0) -> Any:
    """`m` with zeros above its kth diagonal."""
    m, mask = _triangle("tril", m, k)
    return lax.select(mask, m, zeros_like(m))


@jitted(static_argnames="k")
def triu(m: Any, k: int = 0) -> Any:
    """`m` with zeros below its kth diagonal."""
    m, mask = _triangle("triu", m, k - 1)
    return lax.select(mask, zeros_like(m), m)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The indices of an (n, m) matrix on and below its kth diagonal."""
    return _known(np.tril_indices(operator.index(n), operator.index(k), m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The indices of an (n, m) matrix on and above its kth diagonal."""
    return _known(np.triu_indices(operator.index(n), operator.index(k), m))


def _known(found: Sequence[np.ndarray]) -> Any:
    return tuple(as_array(i.astype(default_int())) for i in found)


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    check_arraylike(name, arr)
    shape = np.shape(arr)
    if len(shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return shape


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The indices of `arr` on and below its kth diagonal."""
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The indices of `arr` on and above its kth diagonal."""
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the diagonal of an array with `ndim` axes of size n."""
    n = operator.index(concrete(n, "'n' argument of jnp.diag_indices()"))
    ndim = operator.index(concrete(ndim, "'ndim' argument of jnp.diag_indices()"))
    if n < 0:
        raise ValueError(f"n argument to diag_indices must be nonnegative, got {n}")
    if ndim < 0:
        raise ValueError(f"ndim argument to diag_indices must be nonnegative, got {ndim}")
    return (lax.iota(default_int(), n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The indices of the diagonal of `arr`, whose axes have one size."""
    arr = ensure_array("diag_indices_from", arr)
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: int = 0, *, size: int | None = None
) -> tuple[Any, ...]:
    """The indices where mask_func(ones((n, n)), k) is nonzero."""
    return nonzero(mask_func(lax.full((n, n), 1, np.float32), k), size=size)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """The coordinates of a grid, an array for each axis; the first two axes exchanged for "xy"."""
    args = ensure_arrays("meshgrid", *xi)
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(a.ndim != 1 for a in args):
        raise ValueError(
            f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[a.shape for a in args]}"
        )
    swap = indexing == "xy" and len(args) >= 2
    if swap:
        args[0], args[1] = args[1], args[0]
    found = _grid(args, sparse)
    if swap:
        found[0], found[1] = found[1], found[0]
    return found


def _grid(axes: Sequence[Any], sparse: bool) -> list[Any]:
    full = tuple(a.shape[0] for a in axes)
    result = []
    for i, a in enumerate(axes):
        shape = tuple(s if j == i or not sparse else 1 for j, s in enumerate(full))
        result.append(lax.broadcast_in_dim(a, shape, (i,)))
    return result


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """The indices of every element of an array with the given sizes, stacked by axis."""
    dtype = requested_dtype(int if dtype is None else dtype, "indices")
    sizes = tuple(_as_size(d, "dimensions argument of jnp.indices") for d in dimensions)
    found = _grid([lax.iota(dtype, s) for s in sizes], sparse)
    if sparse:
        return tuple(found)
    return lax.stack(found, axis=0) if found else array([], dtype=dtype)


def ix_(*args: Any) -> tuple[Any, ...]:
    """Indices that together select a block: each argument along an axis of its own."""
    arrays = ensure_arrays("ix", *args)
    result = []
    for i, a in enumerate(arrays):
        if a.ndim != 1:
            raise ValueError(
                f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {a.shape}"
            )
        if dtypes.is_bool(a.dtype):
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        shape = [1] * len(arrays)
        shape[i] = a.shape[0]
        result.append(
            asarray(np.zeros(shape, default_int())) if a.size == 0 else lax.reshape(a, tuple(shape))
        )
    return tuple(result)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """function(i, j, ...) for the indices of every element of an array of `shape`."""
    sizes = as_shape(shape)
    mapped: Callable[..., Any] = lambda *coordinates: function(*coordinates, **kwargs)
    for i in range(len(sizes)):
        in_axes = tuple(0 if i == j else None for j in range(len(sizes)))
        mapped = vmap(mapped, in_axes=in_axes[::-1])
    return mapped(*(arange(s, dtype=dtype) for s in sizes))


@jitted(static_argnames=("N", "increasing"))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of x, from x**(N-1) down to 1, as the columns of a matrix."""
    x = ensure_array("vander", x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    count = x.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError("N must be nonnegative")
    exponents = lax.iota(x.dtype, count)
    if not increasing:
        exponents = lax.sub(constant_like(exponents, count - 1), exponents)
    return power(expand_dims(x, 1), expand_dims(exponents, 0))


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The index along each axis of an array of `shape` for places in the flattened array.

    Places out of bounds are clipped.
    """
    place = ensure_array("unravel_index", indices)
    sizes = tuple(shape) if np.iterable(shape) else (shape,)
    if any(np.ndim(s) != 0 for s in sizes):
        raise ValueError("unravel_index: shape should be a scalar or 1D sequence.")
    if not dtypes.is_integer(place.dtype):
        raise TypeError("only int indices permitted")
    total = dims.product(sizes)
    last = constant_like(place, total - 1)
    place = lax.select(
        lax.lt(place, constant_like(place, 0)), lax.add(place, constant_like(place, total)), place
    )
    place = lax.min(lax.max(place, constant_like(place, 0)), last)
    found = []
    for size in reversed(sizes):
        found.append(lax.rem(place, constant_like(place, size)))
        place = lax.div(place, constant_like(place, size))
    return tuple(found[::-1])


# ---- grids written with slices ------------------------------------------------------------------


def _axis_of(item: Any, name: str) -> Any:
    if not isinstance(item, slice):
        raise TypeError(f"mgrid and ogrid take slices, got {item!r}")
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    parts = ((start, "start"), (item.stop, "stop"), (step, "step"))
    bounds = [concrete(v, f"slice {part} of jnp.{name}") for v, part in parts]
    if isinstance(bounds[2], complex):
        return linspace(bounds[0], bounds[1], int(abs(bounds[2])))
    return arange(*bounds)


def _axes_of(key: tuple[Any, ...], name: str) -> list[Any]:
    axes = [_axis_of(k, name) for k in key]
    with config.numpy_dtype_promotion("standard"):  # the axes need not be of one type
        return promote_dtypes(*axes)


class _Mgrid:
    """Dense coordinates: mgrid[0:2, 0:3] has shape (2, 2, 3); a step 5j means five points."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _axis_of(key, "mgrid")
        if not key:
            return array([], dtype=default_int())
        return lax.stack(_grid(_axes_of(key, "mgrid"), sparse=False), axis=0)


class _Ogrid:
    """Open coordinates: ogrid[0:2, 0:3] is a list of arrays of shapes (2, 1) and (1, 3)."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _axis_of(key, "ogrid")
        return _grid(_axes_of(key, "ogrid"), sparse=True)


mgrid = _Mgrid()
ogrid = _Ogrid()


class IndexExpression:
    """s_[1:3, ...] is the index itself; index_exp gives a tuple always."""

    def __init__(self, as_tuple: bool) -> None:
        self.as_tuple = as_tuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self.as_tuple and not isinstance(item, tuple) else item


s_, index_exp = IndexExpression(as_tuple=False), IndexExpression(as_tuple=True)
