"""What a container is: the registry of classes, the keys of their children, one level at a time.

tuple, list, dict, OrderedDict, defaultdict, namedtuples and None are containers, as are registered
classes, deques and C's named tuples (`time.struct_time`); everything else is a leaf.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import optree

NAMESPACE = "frit"


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """A place in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    @property
    def key(self) -> int:
        return self.idx


@dataclass(frozen=True, slots=True)
class DictKey:
    """A place in a dict."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """A field of a named tuple or a registered class."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """A child of a class that was registered without keys."""

    key: int

    def __hash__(self) -> int:
        return hash(("flat", self.key))

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry = Any
KeyPath = tuple[Any, ...]


class Registration(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, Any], Any]
    keyed: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None


REGISTRY: dict[type, Registration] = {}


def keystr(path: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """The text of a path, as one would write it in Python: `['w'][0].bias`."""
    if simple:
        return separator.join(_simple(k) for k in path)
    return separator.join(str(k) for k in path)


def _simple(key: Any) -> str:
    for attribute in ("name", "idx", "key"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def one_level(tree: Any) -> list[tuple[Any, Any]] | None:
    """The children of the outermost container with their keys; None for a leaf."""
    kind = type(tree)
    if kind in REGISTRY:
        entry = REGISTRY[kind]
        if entry.keyed is not None:
            children, _ = entry.keyed(tree)
            return [(k, c) for k, c in children]
        children, _ = entry.flatten(tree)
        return [(FlattenedIndexKey(i), c) for i, c in enumerate(children)]
    if tree is None:
        return []
    if kind is tuple or kind is list:
        return [(SequenceKey(i), c) for i, c in enumerate(tree)]
    if kind in (dict, collections.defaultdict):
        return [(DictKey(k), tree[k]) for k in _sorted_keys(tree)]
    if kind is collections.OrderedDict:
        return [(DictKey(k), c) for k, c in tree.items()]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(GetAttrKey(n), getattr(tree, n)) for n in tree._fields]
    spec = optree.tree_structure(tree, namespace=NAMESPACE)
    if spec.is_leaf():
        return None
    inside = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)[0]
    return [(FlattenedIndexKey(i), c) for i, c in enumerate(inside)]


def _sorted_keys(mapping: Any) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        return list(optree.tree_structure(mapping, namespace=NAMESPACE).entries())


def metadata(tree: Any) -> Any:
    """What the outermost container is besides its children: the keys of a dict, for example."""
    kind = type(tree)
    if kind in REGISTRY:
        return REGISTRY[kind].flatten(tree)[1]
    if kind is dict:
        return tuple(_sorted_keys(tree))
    if kind is collections.OrderedDict:
        return tuple(tree)
    if kind is collections.defaultdict:
        return tree.default_factory, tuple(_sorted_keys(tree))
    return None


def is_node_class(kind: type) -> bool:
    """Whether objects of a class are containers."""
    return (
        kind in REGISTRY
        or kind in _BUILT_IN
        or (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


_BUILT_IN = (tuple, list, dict, type(None), collections.OrderedDict, collections.defaultdict)


def _guard_class(kind: type) -> None:
    if not isinstance(kind, type):
        raise TypeError(f"a class is expected, got {kind!r}")
    if kind in REGISTRY or kind in _BUILT_IN:
        raise ValueError(f"Duplicate custom PyTreeDef type registration for {kind}.")


def register_node(
    kind: type,
    flatten_function: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_function: Callable[[Any, Any], Any],
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Makes a class a container: `flatten(x) -> (children, metadata)`, and back."""
    _guard_class(kind)
    REGISTRY[kind] = Registration(flatten_function, unflatten_function, flatten_with_keys)

    def rebuild(meta: Any, children: Any) -> Any:
        return unflatten_function(meta.data, children)

    optree.register_pytree_node(
        kind,
        lambda node: _checked(kind, flatten_function(node)),
        rebuild,
        namespace=NAMESPACE,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Meta:
    """A node's metadata, told apart by type as well as by value, and hashable if it is."""

    data: Any

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, _Meta):
            return False
        try:
            return self.data is other.data or bool(self.data == other.data)
        except Exception as error:
            raise ValueError(
                "Exception raised while checking equality of metadata fields of pytree. Make sure "
                "that metadata fields are hashable and have simple equality semantics. (Note: "
                f"arrays cannot be passed as metadata fields!) {error}"
            ) from error

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return repr(self.data)


def _checked(kind: type, result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise ValueError(
            "The to_iterable function for a custom PyTree node should return a (children, aux_data)"
            f" tuple, got {result!r} for {kind.__name__}."
        )
    children, data = result
    try:
        return tuple(children), _Meta(data)
    except TypeError:
        raise ValueError(
            "The to_iterable function for a custom PyTree node should return a (children, aux_data)"
            f" tuple where 'children' is iterable, got {result!r} for {kind.__name__}."
        ) from None


def register_with_keys(
    kind: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_function: Callable[[Any, Any], Any],
    flatten_function: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Makes a class a container whose children have keys."""

    def without_keys(node: Any) -> tuple[Iterable[Any], Any]:
        children, data = flatten_with_keys(node)
        return [c for _, c in children], data

    register_node(kind, flatten_function or without_keys, unflatten_function, flatten_with_keys)
