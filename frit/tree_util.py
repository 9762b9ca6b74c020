"""Public functions on pytrees, under the names of jax.tree_util."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from frit import trees
from frit.trees import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    keystr,
)

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all_leaves", "build_tree", "default_registry", "flatten_one_level",
    "flatten_one_level_with_keys", "is_tree_node", "keystr", "register_dataclass",
    "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast",
    "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure",
    "tree_transpose", "tree_unflatten", "treedef_children", "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip

tree_flatten = trees.flatten
tree_unflatten = trees.unflatten
tree_leaves = trees.leaves
tree_structure = trees.structure
tree_map = trees.map
tree_all = trees.all_true
tree_transpose = trees.transpose
tree_broadcast = trees.broadcast
tree_flatten_with_path = trees.flatten_with_path
tree_map_with_path = trees.map_with_path
is_tree_node = trees.is_node_class
equality_errors = trees.equality_errors
register_pytree_node = trees.register_node
register_pytree_with_keys = trees.register_with_keys


def tree_leaves_with_path(
    tree: Any, is_leaf: Any = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Pairs of path and leaf."""
    return trees.flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


_NO_START = object()


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _NO_START,
    is_leaf: Any = None,
) -> Any:
    """The leaves folded from the left, from `initializer` if it is given."""
    start = () if initializer is _NO_START else (initializer,)
    return trees.reduce(function, tree, *start, is_leaf=is_leaf)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _NO_START,
    is_leaf: Any = None,
) -> Any:
    """The leaves combined by an associative function, as a balanced tree of calls."""
    values = trees.leaves(tree, is_leaf)
    if not values:
        if identity is _NO_START:
            raise TypeError("Must specify identity for parallel reduction of an empty tree.")
        return identity
    while len(values) > 1:
        pairs = [operation(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + ([values[-1]] if len(values) % 2 else [])
    return values[0]


def all_leaves(iterable: Iterable[Any], is_leaf: Any = None) -> bool:
    """Whether no element is a container."""
    if is_leaf is not None:
        return all(is_leaf(x) or trees.structure(x) == trees.LEAF for x in iterable)
    return all(trees.structure(x) == trees.LEAF for x in iterable)


class Registry:
    """The containers that trees are made of: jax has several registries, frit one."""

    def flatten(self, tree: Any, is_leaf: Any = None) -> tuple[list[Any], PyTreeDef]:
        """The leaves of a tree, and its structure."""
        return trees.flatten(tree, is_leaf)

    def __contains__(self, kind: type) -> bool:
        return trees.is_node_class(kind)


default_registry = Registry()


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children of the outermost container, and its metadata.  ValueError for a leaf."""
    children, data = flatten_one_level_with_keys(tree)
    return [c for _, c in children], data


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """As `flatten_one_level`, with the key of each child."""
    children = trees.one_level(tree)
    if children is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    return children, trees.metadata(tree)


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of such trees."""
    return trees.structure_of_children(tuple, list(treedefs))


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    return treedef.unflatten(trees.leaves(xs))


def register_pytree_node_class(cls: type) -> type:
    """Decorator: makes a class with `tree_flatten` and `tree_unflatten` a container."""
    trees.register_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: type) -> type:
    """Decorator: makes a class with `tree_flatten_with_keys` and `tree_unflatten` a container."""
    flatten = (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    trees.register_with_keys(
        cls,
        lambda x: x.tree_flatten_with_keys(),  # type: ignore[attr-defined]
        cls.tree_unflatten,  # type: ignore[attr-defined]
        flatten,
    )
    return cls


def register_static(cls: type) -> type:
    """Makes a hashable class a container without leaves: it is part of the structure."""
    trees.register_with_keys(cls, lambda x: ((), x), lambda x, _: x)
    return cls


def register_dataclass(
    nodetype: type,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type:
    """Makes a class with named fields a container: data fields are children, meta fields metadata.

    For a dataclass both may be left out: a field is data unless marked
    `field(metadata=dict(static=True))`.
    """
    if data_fields is None or meta_fields is None:
        if (data_fields is None) != (meta_fields is None):
            raise TypeError(
                "register_dataclass: data_fields and meta_fields must both be specified when "
                f"either is specified. Got data_fields={data_fields!r} meta_fields={meta_fields!r}."
            )
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required when nodetype is not "
                f"a dataclass. Got nodetype={nodetype}."
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in drop_fields]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
    data_fields, meta_fields = tuple(data_fields), tuple(meta_fields)
    if overlap := set(data_fields) & set(meta_fields):
        raise ValueError(
            "data_fields and meta_fields must not overlap: a field is a child or metadata. "
            f"Overlapping fields: {overlap}"
        )
    if dataclasses.is_dataclass(nodetype):
        expected = {f.name for f in dataclasses.fields(nodetype) if f.init} - set(drop_fields)
        given = set(data_fields) | set(meta_fields)
        if expected != given:
            missing = f" Missing fields: {expected - given}." if expected - given else ""
            extra = f" Unexpected fields: {given - expected}." if given - expected else ""
            raise ValueError(
                "data_fields and meta_fields must include all dataclass fields with ``init=True`` "
                f"and only them.{missing}{extra} Add them to drop_fields to suppress this error."
            )

    def flatten_with_keys(x: Any) -> Any:
        return (
            [(GetAttrKey(n), getattr(x, n)) for n in data_fields],
            tuple(getattr(x, n) for n in meta_fields),
        )

    def unflatten(meta: Any, data: Any) -> Any:
        fields = dict(zip((*meta_fields, *data_fields), (*meta, *data), strict=True))
        return nodetype(**fields)

    trees.register_with_keys(nodetype, flatten_with_keys, unflatten)
    return nodetype


class _Whole:
    """A functools.partial as one function: another partial of it does not merge with it.

    Two of the same function and arguments are equal, so that they share traces.
    """

    def __init__(self, function: functools.partial) -> None:
        self.function = function

    def _parts(self) -> tuple[Any, ...]:
        f = self.function
        return f.func, f.args, tuple(f.keywords.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self._parts())

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, functools.partial):
            other = _Whole(other)
        return isinstance(other, _Whole) and self._parts() == other._parts()

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial):
    """functools.partial as a container: the arguments are children, the function metadata.

    >>> from frit import tree_util
    >>> add = tree_util.Partial(lambda a, b: a + b, 1.0)
    >>> tree_util.tree_leaves(add), add(2.0)
    ([1.0], 3.0)
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Partial:
        whole = _Whole(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, whole, *args, **kwargs)


def _partial_flatten(p: Partial) -> Any:
    return (
        [(GetAttrKey("args"), p.args), (GetAttrKey("keywords"), p.keywords)],
        p.func,
    )


trees.register_with_keys(
    Partial,
    _partial_flatten,
    lambda function, children: Partial(function, *children[0], **children[1]),
)
