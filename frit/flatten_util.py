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
    Inverses for trees of one structure and types are equal, so that they share traces.
    """
    leaves, tree = trees.flatten(pytree)
    if not leaves:
        from_nothing = np.zeros((0,), np.float32)
        return convert_element_type(from_nothing, np.float32), Unravel(tree, (), np.dtype("f4"))
    types: Any = tuple(typeof(x).strip_weak_type() for x in leaves)  # type: ignore[attr-defined]
    unravel = Unravel(tree, types, result_type(*leaves))
    flat = [
        reshape(convert_element_type(x, unravel.common), (n,))
        for x, n in zip(leaves, unravel.sizes, strict=True)
    ]
    return flat[0] if len(flat) == 1 else concatenate(flat, 0), unravel


class Unravel:
    """The inverse of `ravel_pytree`: a vector of all elements to the tree that has them."""

    def __init__(self, tree: trees.PyTreeDef, types: tuple[Any, ...], common: Any) -> None:
        self.tree, self.types, self.common = tree, types, common
        self.sizes = [int(np.prod(t.shape)) for t in types]

    def _identity(self) -> tuple[Any, ...]:
        return self.tree, self.types, self.common

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Unravel) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __call__(self, values: Any) -> Any:
        have: Any = typeof(values)
        if not self.types:
            return self.tree.unflatten([])
        if have.shape != (sum(self.sizes),):
            raise TypeError(
                f"unravel function given array of shape {have.shape}, but expected shape "
                f"({sum(self.sizes)},)"
            )
        mixed = any(t.dtype != self.common for t in self.types)
        if have.dtype != self.common and mixed:
            raise TypeError(
                f"unravel function given array of dtype {have.dtype}, but expected dtype "
                f"{self.common}"
            )
        parts, at = [], 0
        for t, n in zip(self.types, self.sizes, strict=True):
            part = reshape(slice_in_dim(values, at, at + n), t.shape)
            converts = mixed and t.dtype != have.dtype
            parts.append(convert_element_type(part, t.dtype) if converts else part)
            at += n
        return self.tree.unflatten(parts)
