"""ravel_pytree: a pytree of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frit import trees
from frit.ir.types import typeof
from frit.lax.conversion import convert_element_type
from frit.lax.indexing import slice_in_dim
from frit.lax.shapes import concatenate, reshape
from frit.numpy.dtype_objects import result_type

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All elements of a pytree of arrays as one vector, and the function that undoes it.

    Leaves of differing dtypes are promoted to a common one, and brought back by the inverse.
    """
    leaves, tree = trees.flatten(pytree)
    if not leaves:
        from_nothing = np.zeros((0,), np.float32)
        return convert_element_type(from_nothing, np.float32), lambda _: tree.unflatten([])
    types: Any = [typeof(x) for x in leaves]
    common = result_type(*leaves)
    sizes = [int(np.prod(t.shape)) for t in types]
    flat = [
        reshape(convert_element_type(x, common), (n,)) for x, n in zip(leaves, sizes, strict=True)
    ]
    vector = flat[0] if len(flat) == 1 else concatenate(flat, 0)

    def unravel(values: Any) -> Any:
        have: Any = typeof(values)
        if have.shape != (sum(sizes),):
            raise TypeError(
                f"unravel function given array of shape {have.shape}, but expected shape "
                f"({sum(sizes)},)"
            )
        mixed = any(t.dtype != common for t in types)
        if have.dtype != common and mixed:
            raise TypeError(
                f"unravel function given array of dtype {have.dtype}, but expected dtype {common}"
            )
        parts, at = [], 0
        for t, n in zip(types, sizes, strict=True):
            part = reshape(slice_in_dim(values, at, at + n), t.shape)
            parts.append(
                convert_element_type(part, t.dtype) if t.dtype != have.dtype and mixed else part
            )
            at += n
        return tree.unflatten(parts)

    return vector, unravel
