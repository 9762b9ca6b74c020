"""Functions on pytrees, under the short names of jax.tree."""

import dataclasses
from typing import Any

from frit.tree_util import tree_all as all
from frit.tree_util import tree_broadcast as broadcast
from frit.tree_util import tree_flatten as flatten
from frit.tree_util import tree_flatten_with_path as flatten_with_path
from frit.tree_util import tree_leaves as leaves
from frit.tree_util import tree_leaves_with_path as leaves_with_path
from frit.tree_util import tree_map as map
from frit.tree_util import tree_map_with_path as map_with_path
from frit.tree_util import tree_reduce as reduce
from frit.tree_util import tree_reduce_associative as reduce_associative
from frit.tree_util import tree_structure as structure
from frit.tree_util import tree_transpose as transpose
from frit.tree_util import tree_unflatten as unflatten

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map",
    "map_with_path", "reduce", "reduce_associative", "static", "structure", "transpose",
    "unflatten",
]  # fmt: skip


def static(*, metadata: Any = None, **options: Any) -> Any:
    """A field of a dataclass that is metadata of the container: part of its structure.

    options: those of `dataclasses.field`.

    >>> import dataclasses, frit as jax
    >>> @jax.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: jax.Array
    ...     name: str = jax.tree.static(default="dense")
    >>> jax.tree.leaves(Layer(1.0))
    [1.0]
    """
    return dataclasses.field(metadata={"static": True, **(metadata or {})}, **options)
