"""Pytrees: nested containers flattened to leaves and rebuilt, over optree.

    flatten({"a": 1, "b": (2, None)})  ->  [1, 2], PyTreeDef({'a': *, 'b': (*, None)})

tuple, list, dict, OrderedDict, defaultdict, namedtuples and None are nodes, as are registered
classes, deques and C's named tuples; everything else is a leaf.  A path is a tuple of keys, one
for each level.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import optree

from frit.tree_differences import (
    equality_errors,
    equality_text,
    flatten_mismatch,
    prefix_errors,
)
from frit.tree_nodes import (
    NAMESPACE,
    REGISTRY,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    is_node_class,
    keystr,
    metadata,
    one_level,
    register_node,
    register_with_keys,
)

__all__ = [
    "LEAF", "REGISTRY", "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath",
    "PyTreeDef", "SequenceKey", "all_true", "broadcast", "broadcast_prefix", "equality_errors",
    "equality_text", "flatten", "flatten_with_path", "is_node_class", "keystr", "leaves", "map",
    "map_with_path", "metadata", "one_level", "paths", "prefix_errors", "reduce", "register_node",
    "register_with_keys", "structure", "structure_of_children", "transpose", "unflatten",
]  # fmt: skip

_Leaf = Callable[[Any], bool] | None


class PyTreeDef:
    """The structure of a pytree: its containers, without its leaves."""

    __slots__ = ("spec",)

    def __init__(self, spec: optree.PyTreeSpec) -> None:
        self.spec = spec

    @property
    def num_leaves(self) -> int:
        return self.spec.num_leaves

    @property
    def num_nodes(self) -> int:
        return self.spec.num_nodes

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with `leaves`.  ValueError where their number differs."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.spec.num_leaves:
            few = len(leaves) < self.spec.num_leaves
            raise ValueError(
                f"Too {'few' if few else 'many'} leaves for PyTreeDef; expected "
                f"{self.spec.num_leaves}, got {len(leaves)}."
            )
        return self.spec.unflatten(leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of `tree` that stand where this structure has leaves."""
        try:
            return self.spec.flatten_up_to(tree)
        except (ValueError, TypeError) as error:
            raise ValueError(flatten_mismatch(self, tree) or str(error)) from None

    def children(self) -> list[PyTreeDef]:
        return [PyTreeDef(c) for c in self.spec.children()]

    def node_data(self) -> tuple[type, Any] | None:
        """The class of the outermost container and its metadata; None for a leaf."""
        if self.spec.is_leaf():
            return None
        kind = self.spec.type or type(None)
        data = _outer_data(self.spec)
        if kind in REGISTRY:
            return kind, data.data
        if kind in (dict, collections.OrderedDict):
            return kind, list(data)
        if kind is collections.defaultdict:
            return kind, (data[0], tuple(data[1]))
        return kind, None

    @staticmethod
    def make_from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Sequence[PyTreeDef]
    ) -> PyTreeDef:
        """The structure whose outermost container is told by `node_data`."""
        if node_data is None:
            return LEAF
        kind, data = node_data
        specs = list(children)
        if kind is type(None):
            return structure(None)
        if kind is tuple or kind is list:
            return structure_of_children(kind, specs)
        if kind in (dict, collections.OrderedDict):
            return _over(kind((k, i) for i, k in enumerate(data)), specs)
        if kind is collections.defaultdict:
            factory, keys = data
            return _over(kind(factory, ((k, i) for i, k in enumerate(keys))), specs)
        if kind in REGISTRY:
            return _over(REGISTRY[kind].unflatten(data, tuple(range(len(specs)))), specs)
        return _over(kind(*range(len(specs))), specs)

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """The structure with `inner` in place of each leaf."""
        return PyTreeDef(self.spec.compose(inner.spec))

    def walk(self, node: Callable[..., Any], leaf: Callable[..., Any] | None, leaves: Any) -> Any:
        """Folds the structure: `leaf` of each leaf, `node(children, data)` of each container."""
        given = iter(leaves)

        def visit(definition: PyTreeDef) -> Any:
            data = definition.node_data()
            if data is None:
                value = next(given)
                return value if leaf is None else leaf(value)
            return node(tuple(visit(c) for c in definition.children()), data[1])

        return visit(self)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PyTreeDef) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)

    def __reduce__(self) -> Any:
        return _rebuild, (self.spec.unflatten([_LeafMark()] * self.spec.num_leaves),)

    def __str__(self) -> str:
        return f"PyTreeDef({_text(self)})"

    __repr__ = __str__


class _LeafMark:
    """Stands for a leaf in a pickled structure."""


def _rebuild(example: Any) -> PyTreeDef:
    return structure(example)


def _outer_data(spec: optree.PyTreeSpec) -> Any:
    """What optree holds about the outermost container."""
    outer: Any = spec.one_level()
    found: list[Any] = []
    outer.walk([0] * outer.num_leaves, lambda kind, data, children: found.append(data), None)
    return found[0]


def _text(definition: PyTreeDef) -> str:
    data = definition.node_data()
    if data is None:
        return "*"
    kind, meta = data
    inner = [_text(c) for c in definition.children()]
    if kind is type(None):
        return "None"
    if kind is tuple:
        return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
    if kind is list:
        return f"[{', '.join(inner)}]"
    if kind is dict:
        return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(meta, inner, strict=True)) + "}"
    name = kind.__name__
    if kind is collections.OrderedDict:
        return f"CustomNode({name}[{tuple(meta)}], [{', '.join(inner)}])"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return f"CustomNode(namedtuple[{name}], [{', '.join(inner)}])"
    return f"CustomNode({name}[{meta}], [{', '.join(inner)}])"


def structure_of_children(kind: Any, children: Sequence[PyTreeDef]) -> PyTreeDef:
    """The structure of a list or tuple (`kind`) of such trees."""
    return _over(kind(range(len(children))), children)


def _over(container: Any, children: Sequence[PyTreeDef]) -> PyTreeDef:
    """The structure of `container`, whose leaves 0, 1, … are replaced by `children`."""
    leaves, outer = flatten(container)
    trees = [children[i].spec.unflatten([0] * children[i].num_leaves) for i in leaves]
    return structure(outer.unflatten(trees))


def flatten(tree: Any, is_leaf: _Leaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, in order, and its structure.  `is_leaf` stops at containers."""
    try:
        leaves, spec = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    except TypeError as error:
        if "not supported between" in str(error):
            raise ValueError(
                f"Comparator raised exception while sorting pytree dictionary keys: {error}"
            ) from None
        raise
    return leaves, PyTreeDef(spec)


def leaves(tree: Any, is_leaf: _Leaf = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)


def structure(tree: Any, is_leaf: _Leaf = None) -> PyTreeDef:
    """The structure of a tree."""
    return PyTreeDef(optree.tree_structure(tree, is_leaf, namespace=NAMESPACE))


def unflatten(definition: PyTreeDef, leaf_values: Iterable[Any]) -> Any:
    """The tree of structure `definition` with the given leaves."""
    return definition.unflatten(leaf_values)


LEAF = structure(0)


def map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _Leaf = None) -> Any:
    """`function` of each leaf of `tree`, and of the subtrees at its place in each of `rest`."""
    values, definition = flatten(tree, is_leaf)
    columns = [values]
    for other in rest:
        columns.append(_flatten_like(definition, tree, other, is_leaf))
    return definition.unflatten([function(*xs) for xs in zip(*columns, strict=True)])


def _flatten_like(definition: PyTreeDef, tree: Any, other: Any, is_leaf: _Leaf) -> list[Any]:
    try:
        return definition.flatten_up_to(other)
    except ValueError as error:
        found = prefix_errors(tree, other, is_leaf)
        raise (found[0]("tree_map tree") if found else error) from None


def flatten_with_path(
    tree: Any, is_leaf: _Leaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Pairs of path and leaf, and the structure."""
    found: list[tuple[KeyPath, Any]] = []

    def stops(path: KeyPath, node: Any) -> bool:
        if is_leaf is None:
            return False
        return is_leaf(path, node) if is_leaf_takes_path else is_leaf(node)  # type: ignore[call-arg]

    def visit(node: Any, path: KeyPath) -> None:
        children = None if stops(path, node) else one_level(node)
        if children is None:
            found.append((path, node))
        else:
            for key, child in children:
                visit(child, (*path, key))

    visit(tree, ())
    if is_leaf_takes_path and is_leaf is not None:
        ids = {id(leaf) for _, leaf in found}
        return found, structure(tree, lambda node: id(node) in ids)
    return found, structure(tree, is_leaf)


def paths(tree: Any, is_leaf: _Leaf = None) -> list[KeyPath]:
    return [p for p, _ in flatten_with_path(tree, is_leaf)[0]]


def map_with_path(
    function: Callable[..., Any], tree: Any, *rest: Any,
    is_leaf: _Leaf = None, is_leaf_takes_path: bool = False,
) -> Any:  # fmt: skip
    """`function(path, leaf, *others)` of each leaf of `tree`."""
    pairs, definition = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [_flatten_like(definition, tree, r, is_leaf) for r in rest]
    columns = zip(*others, strict=True) if others else ((),) * len(pairs)
    return definition.unflatten(
        [function(p, x, *xs) for (p, x), xs in zip(pairs, columns, strict=True)]
    )


def broadcast(prefix: Any, tree: Any, is_leaf: _Leaf = None) -> Any:
    """The tree of `tree`'s structure whose leaves are those of `prefix` that stand above them."""
    return structure(tree, is_leaf).unflatten(broadcast_prefix(prefix, tree, is_leaf))


def broadcast_prefix(prefix: Any, tree: Any, is_leaf: _Leaf = None) -> list[Any]:
    """For each leaf of `tree`, the leaf of `prefix` that stands at or above it.

    ValueError where `prefix` is not a prefix of `tree`.
    """
    result: list[Any] = []
    values, definition = flatten(prefix, is_leaf)
    try:
        subtrees = definition.flatten_up_to(tree)
    except ValueError as error:
        found = prefix_errors(prefix, tree, is_leaf)
        raise (found[0]("broadcast_prefix prefix_tree") if found else error) from None
    for value, subtree in zip(values, subtrees, strict=True):
        result += [value] * structure(subtree).num_leaves
    return result


def transpose(outer: PyTreeDef, inner: PyTreeDef | None, tree: Any) -> Any:
    """A tree of `outer` of `inner`, turned into a tree of `inner` of `outer`."""
    values, definition = flatten(tree)
    if inner is None:
        subtrees = outer.flatten_up_to(tree)
        inner = structure(subtrees[0])
    # Only the number of leaves is compared: metadata may tell of the leaves (a cached structure).
    if definition.num_leaves != outer.num_leaves * inner.num_leaves:
        raise TypeError(f"Mismatch\n{definition}\n != \n{outer.compose(inner)}")
    rows = [values[i : i + inner.num_leaves] for i in range(0, len(values), inner.num_leaves or 1)]
    columns = zip(*rows, strict=True) if rows else ()
    return inner.unflatten([outer.unflatten(c) for c in columns])


def reduce(
    function: Callable[[Any, Any], Any], tree: Any, *start: Any, is_leaf: _Leaf = None
) -> Any:
    """The leaves folded from the left."""
    return functools.reduce(function, leaves(tree, is_leaf), *start)


def all_true(tree: Any, is_leaf: _Leaf = None) -> bool:
    return all(leaves(tree, is_leaf))
