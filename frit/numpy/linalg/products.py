"""Products of vectors and matrices, and their diagonals, with the array API's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from frit.numpy import contraction, taking
from frit.numpy.einsum import einsum
from frit.numpy.operands import ensure_array, ensure_arrays
from frit.numpy.shapes import matrix_transpose as matrix_transpose


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of 3 components along `axis`."""
    x1, x2 = ensure_arrays("jnp.linalg.cross", x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"x1.shape[axis]={x1.shape[axis]} and x2.shape[axis]={x2.shape[axis]}"
        )
    return contraction.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """The products of every element of one vector with every element of another."""
    x1, x2 = ensure_arrays("jnp.linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x1.ndim} x2.ndim={x2.ndim}"
        )
    return x1[:, None] * x2[None, :]


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The sums of products of vectors along `axis`, the first conjugated."""
    x1, x2 = ensure_arrays("jnp.linalg.vecdot", x1, x2)
    return contraction.vecdot(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )


def matmul(
    x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The products of matrices in the last two axes."""
    x1, x2 = ensure_arrays("jnp.linalg.matmul", x1, x2)
    return contraction.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The sums of products over `axes`: a count of last and first axes, or a pair of lists."""
    x1, x2 = ensure_arrays("jnp.linalg.tensordot", x1, x2)
    return contraction.tensordot(
        x1, x2, axes=axes, precision=precision, preferred_element_type=preferred_element_type
    )


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the matrices in the last two axes."""
    x = ensure_array("jnp.linalg.diagonal", x)
    return taking.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the matrices in the last two axes."""
    x = ensure_array("jnp.linalg.trace", x)
    return taking.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of several matrices, in the cheapest order; the first and last may be vectors."""
    given = ensure_arrays("jnp.linalg.multi_dot", *arrays)
    shapes = [a.shape for a in given]
    if len(given) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(given)}")
    ends = given[0].ndim in (1, 2) and given[-1].ndim in (1, 2)
    if not ends or any(a.ndim != 2 for a in given[1:-1]):
        raise ValueError(
            "multi_dot: input arrays must all be two-dimensional, except for the first and last "
            f"array which may be 1 or 2 dimensional. Got array shapes {shapes}"
        )
    if any(a.shape[-1] != b.shape[0] for a, b in pairwise(given)):
        raise ValueError(
            "multi_dot: last dimension of each array must match first dimension of following "
            f"array. Got array shapes {shapes}"
        )
    letters: list[Any] = [(i, i + 1) for i in range(len(given))]
    if given[0].ndim == 1:
        letters[0] = letters[0][1:]
    if given[-1].ndim == 1:
        letters[-1] = letters[-1][:1]
    operands = [x for pair in zip(given, letters, strict=True) for x in pair]
    return einsum(*operands, optimize="auto", precision=precision)
