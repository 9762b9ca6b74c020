"""Sizes of vectors and matrices: norm, vector_norm, matrix_norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.numpy.jitted import jitted
from frit.numpy.linalg.decompositions import inexact_array, svd
from frit.numpy.operands import canonical_axis, ensure_array
from frit.numpy.promotion import real_part_dtype
from frit.numpy.reductions import amax, amin
from frit.numpy.reductions import sum as sum_
from frit.numpy.shapes import expand_dims, moveaxis
from frit.numpy.ufuncs import abs as abs_
from frit.numpy.ufuncs import conj, power, real, sqrt


def _root_of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    return sqrt(sum_(real(x * conj(x)), axis=axis, keepdims=keepdims))


@jitted(static_argnames=("ord", "axis", "keepdims"))
def norm(
    x: Any,
    ord: int | str | None = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Any:
    """The norm of vectors along `axis`, or of matrices in two axes.

    ord: of vectors any p; of matrices None or "fro", "nuc", 1, -1, 2, -2, inf, -inf.  Without axis
    and ord, the root of the sum of squares of all elements.
    """
    x = inexact_array("jnp.linalg.norm", x)
    if axis is None and ord is None:
        return _root_of_squares(x, None, keepdims)
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = tuple(
            canonical_axis(a, x.ndim) for a in (axis if isinstance(axis, tuple) else (axis,))
        )
    if len(axes) == 1:
        return vector_norm(x, ord=2 if ord is None else ord, axis=axes, keepdims=keepdims)
    if len(axes) == 2:
        return _norm_of_matrices(x, ord, axes, keepdims)
    raise ValueError(
        f"Improper number of axes for norm: axis={axes}. Pass one axis to compute a vector-norm, "
        "or two axes to compute a matrix-norm."
    )


def _norm_of_matrices(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    row, column = axes
    if ord is None or ord in ("f", "fro"):
        return _root_of_squares(x, axes, keepdims)
    if ord in ("nuc", 2, -2):
        s = svd(moveaxis(x, axes, (-2, -1)), compute_uv=False)
        if ord == "nuc":
            size = sum_(s, axis=-1)
        else:
            size = amax(s, axis=-1, initial=0) if ord == 2 else amin(s, axis=-1)
        return expand_dims(size, axes) if keepdims else size
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    summed, compared = (row, column) if ord in (1, -1) else (column, row)
    sums = sum_(abs_(x), axis=summed, keepdims=keepdims)
    if not keepdims and compared > summed:
        compared -= 1
    if ord > 0:
        return amax(sums, axis=compared, keepdims=keepdims, initial=0)
    return amin(sums, axis=compared, keepdims=keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: str | int = "fro") -> Any:
    """The norm of each matrix in the last two axes."""
    x = ensure_array("jnp.linalg.matrix_norm", x)
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


def vector_norm(
    x: Any,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: int | str = 2,
) -> Any:
    """The p-norm over `axis`, with p = `ord`; for 0 the count of elements that are not 0."""
    x = ensure_array("jnp.linalg.vector_norm", x)
    if ord is None or ord == 2:
        return _root_of_squares(x, axis, keepdims)
    if ord == np.inf:
        return amax(abs_(x), axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return amin(abs_(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return sum_(x != 0, dtype=real_part_dtype(x.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum_(abs_(x), axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        hint = {"inf": "Use 'jax.numpy.inf' instead.", "-inf": "Use '-jax.numpy.inf' instead."}
        raise ValueError(f"Invalid order '{ord}' for vector norm.{hint.get(ord, '')}")
    sizes = abs_(x)
    exponent = sizes.dtype.type(ord)
    total = sum_(power(sizes, exponent), axis=axis, keepdims=keepdims)
    return power(total, sizes.dtype.type(1 / ord))
