"""Pytrees: nested containers flattened to leaves and rebuilt, over optree.

    flatten({"a": 1, "b": (2, None)})  ->  [1, 2], PyTreeDef({'a': *, 'b': (*, None)})

tuple, list, dict, OrderedDict, defaultdict, namedtuples and None are nodes, as are registered
classes; everything else is a leaf.  A path is a tuple of keys, one for each level.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import optree

_NAMESPACE = "frit"
_Leaf = Callable[[Any], bool] | None


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

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry = Any
KeyPath = tuple[Any, ...]


class _Registration(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, Any], Any]
    keyed: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None


_REGISTRY: dict[type, _Registration] = {}


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
            raise type(error)(_mismatch(str(error))) from None

    def children(self) -> list[PyTreeDef]:
        return [PyTreeDef(c) for c in self.spec.children()]

    def node_data(self) -> tuple[type, Any] | None:
        """The class of the outermost container and its metadata; None for a leaf."""
        if self.spec.is_leaf():
            return None
        kind = self.spec.type or type(None)
        leaves = [object()] * self.spec.num_leaves
        if kind in _REGISTRY:
            return kind, _metadata_of(self.spec)
        if kind in (dict, collections.OrderedDict):
            return kind, list(self.spec.entries())
        if kind is collections.defaultdict:
            return kind, (self.spec.unflatten(leaves).default_factory, list(self.spec.entries()))
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
            return _over(kind(range(len(specs))), specs)
        if kind in (dict, collections.OrderedDict):
            return _over(kind((k, i) for i, k in enumerate(data)), specs)
        if kind is collections.defaultdict:
            factory, keys = data
            return _over(kind(factory, ((k, i) for i, k in enumerate(keys))), specs)
        if kind in _REGISTRY:
            return _over(_REGISTRY[kind].unflatten(data, tuple(range(len(specs)))), specs)
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


def _metadata_of(spec: optree.PyTreeSpec) -> Any:
    example = optree.treespec_one_level(spec)
    children = [object()] * example.num_leaves
    return _REGISTRY[spec.type].flatten(example.unflatten(children))[1]


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


def _mismatch(text: str) -> str:
    return text.replace("PyTreeSpec", "PyTreeDef")


def _over(container: Any, children: Sequence[PyTreeDef]) -> PyTreeDef:
    """The structure of `container`, whose leaves 0, 1, … are replaced by `children`."""
    leaves, outer = flatten(container)
    trees = [children[i].spec.unflatten([0] * children[i].num_leaves) for i in leaves]
    return structure(outer.unflatten(trees))


def flatten(tree: Any, is_leaf: _Leaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, in order, and its structure.  `is_leaf` stops at containers."""
    try:
        leaves, spec = optree.tree_flatten(tree, is_leaf, namespace=_NAMESPACE)
    except TypeError as error:
        if "not supported between" in str(error):
            raise ValueError(
                f"Comparator raised exception while sorting pytree dictionary keys: {error}"
            ) from None
        raise
    return leaves, PyTreeDef(spec)


def leaves(tree: Any, is_leaf: _Leaf = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return optree.tree_leaves(tree, is_leaf, namespace=_NAMESPACE)


def structure(tree: Any, is_leaf: _Leaf = None) -> PyTreeDef:
    """The structure of a tree."""
    return PyTreeDef(optree.tree_structure(tree, is_leaf, namespace=_NAMESPACE))


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
    except (ValueError, TypeError) as error:
        place = first_difference(tree, other, is_leaf)
        raise type(error)(f"{error}" + (f" ({place})" if place else "")) from None


def first_difference(a: Any, b: Any, is_leaf: _Leaf = None) -> str:
    """Where the structures of two trees first differ, in words; empty where they agree."""

    def visit(x: Any, y: Any, path: KeyPath) -> str:
        if is_leaf is not None and is_leaf(x):
            return ""
        xs, ys = one_level(x), one_level(y)
        where = f"at {keystr(path)}" if path else "at the root"
        if xs is None:
            return ""
        if ys is None or type(x) is not type(y):
            return f"{where}: {type(x).__name__} against {type(y).__name__}"
        if [k for k, _ in xs] != [k for k, _ in ys]:
            return (
                f"{where}: a {type(x).__name__} of {len(xs)} against one of {len(ys)} entries"
                if len(xs) != len(ys)
                else f"{where}: keys {[str(k) for k, _ in xs]} against {[str(k) for k, _ in ys]}"
            )
        return next(
            (d for (k, p), (_, q) in zip(xs, ys, strict=True) if (d := visit(p, q, (*path, k)))), ""
        )

    return visit(a, b, ())


def one_level(tree: Any) -> list[tuple[Any, Any]] | None:
    """The children of the outermost container with their keys; None for a leaf."""
    kind = type(tree)
    if kind in _REGISTRY:
        entry = _REGISTRY[kind]
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
        try:
            keys = sorted(tree)
        except TypeError:
            keys = list(structure(tree).spec.entries())
        return [(DictKey(k), tree[k]) for k in keys]
    if kind is collections.OrderedDict:
        return [(DictKey(k), c) for k, c in tree.items()]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(GetAttrKey(n), getattr(tree, n)) for n in tree._fields]
    if structure(tree) == LEAF:
        return None
    children = optree.tree_children(tree, namespace=_NAMESPACE)
    return [(FlattenedIndexKey(i), c) for i, c in enumerate(children)]


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
    others = [definition.flatten_up_to(r) for r in rest]
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
        subtrees = definition.spec.flatten_up_to(tree)
    except (ValueError, TypeError) as error:
        raise ValueError(_mismatch(str(error))) from None
    for value, subtree in zip(values, subtrees, strict=True):
        result += [value] * structure(subtree).num_leaves
    return result


def is_node(tree: Any) -> bool:
    """Whether the outermost object is a container."""
    return one_level(tree) is not None


def _guard_class(kind: type) -> None:
    if not isinstance(kind, type):
        raise TypeError(f"a class is expected, got {kind!r}")
    if kind in _REGISTRY or kind in (
        tuple,
        list,
        dict,
        type(None),
        collections.OrderedDict,
        collections.defaultdict,
    ):
        raise ValueError(f"Duplicate custom PyTreeDef type registration for {kind}.")


def register_node(
    kind: type,
    flatten_function: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_function: Callable[[Any, Any], Any],
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Makes a class a container: `flatten(x) -> (children, metadata)`, and back."""
    _guard_class(kind)
    _REGISTRY[kind] = _Registration(flatten_function, unflatten_function, flatten_with_keys)
    optree.register_pytree_node(
        kind,
        lambda node: _checked(kind, flatten_function(node)),
        lambda meta, children: unflatten_function(meta.data, children),
        namespace=_NAMESPACE,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Meta:
    """A node's metadata, told apart by type as well as by value, and hashable if it is."""

    data: Any

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Meta) and bool(self.data == other.data)

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return repr(self.data)


def _checked(kind: type, result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise ValueError(
            f"The to_iterable function for a custom PyTree node should return a (children, aux_data)"
            f" tuple, got {result!r} for {kind.__name__}."
        )
    children, data = result
    return tuple(children), _Meta(data)


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


def transpose(outer: PyTreeDef, inner: PyTreeDef | None, tree: Any) -> Any:
    """A tree of `outer` of `inner`, turned into a tree of `inner` of `outer`."""
    values, definition = flatten(tree)
    if inner is None:
        subtrees = outer.flatten_up_to(tree)
        inner = structure(subtrees[0])
    expected = outer.compose(inner)
    if definition.num_leaves != outer.num_leaves * inner.num_leaves or definition != expected:
        raise TypeError(f"Mismatch\n{definition}\n != \n{expected}")
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


def subtree_leaves(tree: Any, is_leaf: _Leaf = None) -> Iterator[Any]:
    yield from leaves(tree, is_leaf)
