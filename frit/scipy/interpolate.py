"""jax.scipy.interpolate: values between the points of a grid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import tree_util
from frit.numpy.operands import check_arraylike
from frit.numpy.promotion import promote_dtypes_inexact

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")


def _check_method(method: str) -> str:
    if method not in _METHODS:
        raise ValueError(f"method {method!r} is not defined; use one of {_METHODS}")
    return method


def _as_points(points: Any, dimensions: int) -> Any:
    """Sample points as an array (..., dimensions), given so or as a tuple of coordinate arrays."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return jnp.stack(jnp.broadcast_arrays(*points), axis=-1).astype(float)
    check_arraylike("RegularGridInterpolator", points)
    points = jnp.asarray(points)
    return points.reshape(-1, dimensions) if points.ndim == 1 else points


@tree_util.register_pytree_node_class
class RegularGridInterpolator:
    """A function of points, from values on the grid that ascending `points` along each axis span.

    points: a sequence of arrays (n_i,); values: (n_1, …, n_d, ...).  method: "linear" or
    "nearest".  Outside the grid the result is `fill_value`, or extrapolated where that is None.
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        self.method = _check_method(method)
        self.bounds_error = bounds_error
        if bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT")
        check_arraylike("RegularGridInterpolator", values, *points)
        (values,) = promote_dtypes_inexact(jnp.asarray(values))
        if len(points) > values.ndim:
            raise ValueError(
                f"there are {len(points)} point arrays, but values has {values.ndim} dimensions"
            )
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            fill_value = jnp.asarray(fill_value)
            if not np.can_cast(fill_value.dtype, values.dtype, casting="same_kind"):
                raise ValueError(
                    "fill_value must be either 'None' or of a type compatible with values"
                )
        self.fill_value = fill_value
        self.grid = tuple(jnp.asarray(p) for p in points)
        self.values = values

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points xi: (..., d), or a tuple of d arrays; result: (..., *values)."""
        method = self.method if method is None else _check_method(method)
        d = len(self.grid)
        xi = _as_points(xi, d)
        if xi.shape[-1] != d:
            raise ValueError(
                f"the requested sample points xi have dimension {xi.shape[-1]}, but this "
                f"RegularGridInterpolator has dimension {d}"
            )
        leading = xi.shape[:-1]
        columns = xi.reshape(-1, d).T
        cells = [_cell(x, g) for x, g in zip(columns, self.grid, strict=True)]
        result = self._linear(cells) if method == "linear" else self._nearest(cells)
        if self.fill_value is not None:
            outside = jnp.zeros(columns.shape[1], bool)
            for x, g in zip(columns, self.grid, strict=True):
                outside = outside | (x < g[0]) | (x > g[-1])
            result = jnp.where(self._aligned(outside), self.fill_value, result)
        return result.reshape(leading + self.values.shape[d:])

    def _aligned(self, x: Any) -> Any:
        """x, an array (points,), to broadcast against the trailing axes of the values."""
        return x.reshape(x.shape + (1,) * (self.values.ndim - len(self.grid)))

    def _linear(self, cells: list[tuple[Any, Any]]) -> Any:
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = 1.0
            for side, (_, share) in zip(corner, cells, strict=True):
                weight = weight * (share if side else 1 - share)
            index = tuple(i + side for side, (i, _) in zip(corner, cells, strict=True))
            total = total + self.values[index] * self._aligned(weight)
        return total

    def _nearest(self, cells: list[tuple[Any, Any]]) -> Any:
        return self.values[tuple(jnp.where(share <= 0.5, i, i + 1) for i, share in cells)]

    def tree_flatten(self) -> tuple[Any, Any]:
        return (self.grid, self.values, self.fill_value), (self.method, self.bounds_error)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> RegularGridInterpolator:
        made = cls.__new__(cls)
        made.method, made.bounds_error = aux_data
        made.grid, made.values, made.fill_value = children
        return made


def _cell(x: Any, grid: Any) -> tuple[Any, Any]:
    """The grid cell of each x, and how far x lies in it, from 0 to 1 (beyond where outside)."""
    index = jnp.clip(jnp.searchsorted(grid, x) - 1, 0, grid.size - 2)
    return index, (x - grid[index]) / (grid[index + 1] - grid[index])
