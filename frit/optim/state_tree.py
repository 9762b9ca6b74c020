"""Parts of an optimizer's state by name: of a field of a NamedTuple, of the tuple, or a dict's key.

A path tells where a value was found: keys as in `tree_util`, and `NamedTupleKey(tuple, field)`.
"""

import dataclasses
import functools

from frit import tree_util
from frit.tree_util import tree_leaves_with_path, tree_map


@tree_util.register_pytree_node_class
class ParamsPlaceholder:
    """Stands for the parameters in `init`, to see which parts of the state mirror them."""

    def tree_flatten(self):
        return (), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        del aux, children
        return cls()


@dataclasses.dataclass(frozen=True)
class NamedTupleKey:
    """The step of a path into the field `name` of a NamedTuple."""

    tuple_name: str
    name: str

    def __str__(self):
        return f"{self.tuple_name}.{self.name}"


def map_params(initable, f, state, /, *rest, transform_non_params=None, is_leaf=None):
    """`f` applied to the leaves of `state` that mirror parameters; the others as they are.

    initable: the transformation, or its `init`. rest: further trees like the parameters.
    transform_non_params: applied to the other leaves.
    """
    init = getattr(initable, "init", initable)

    def apply(marker, value):
        if isinstance(marker, ParamsPlaceholder):
            return tree_map(f, value, *rest, is_leaf=is_leaf)
        return value if transform_non_params is None else transform_non_params(value)

    return tree_map(
        apply,
        init(ParamsPlaceholder()),
        state,
        is_leaf=lambda x: isinstance(x, ParamsPlaceholder),
    )


def get_all_with_path(tree, key, filtering=None):
    """All `(path, value)` whose name is `key`, outermost first; those that `filtering` keeps."""
    found = _find(tree, key)
    return found if filtering is None else [(p, v) for p, v in found if filtering(p, v)]


def get(tree, key, default=None, filtering=None):
    """The one value named `key`, or `default`. KeyError where there are several."""
    found = get_all_with_path(tree, key, filtering)
    if len(found) > 1:
        places = ", ".join(tree_util.keystr(path) for path, _ in found)
        raise KeyError(
            f"Found multiple values for '{key}' in {tree}: at {places}. Choose one with filtering, "
            "or take all with get_all_with_path."
        )
    return found[0][1] if found else default


def set(tree, filtering=None, /, **values):
    """The tree with the values of these names replaced. KeyError for a name that it has not."""
    for key in values:
        if not get_all_with_path(tree, key, filtering):
            chosen = " given the filtering operation" if filtering else ""
            raise KeyError(f"Found no values matching '{key}'{chosen} in {tree}")
    return _replace((), tree, values, filtering)


def _replace(path, node, values, filtering):
    def wanted(name, child_path, child):
        return name in values and (filtering is None or filtering(child_path, child))

    has_any = functools.partial(_has_names, names=tuple(values))
    if not has_any(node):
        leaves = tree_leaves_with_path(node, is_leaf=lambda x: x is not node and has_any(x))
        structure = tree_util.tree_structure(node, is_leaf=lambda x: x is not node and has_any(x))
        replaced = [
            _replace((*path, *inner), leaf, values, filtering) if has_any(leaf) else leaf
            for inner, leaf in leaves
        ]
        return tree_util.tree_unflatten(structure, replaced)
    if _is_named_tuple(node) and wanted(type(node).__name__, path, node):
        return values[type(node).__name__]
    children = {}
    for child_path, name, child in _children(path, node):
        if wanted(name, child_path, child):
            children[name] = values[name]
        else:
            children[name] = _replace(child_path, child, values, filtering)
    return node._replace(**children) if _is_named_tuple(node) else type(node)(children)


def _find(tree, key, path=()):
    found = []
    for inner, node in _leaves(tree, functools.partial(_has_names, names=(key,))):
        here = (*path, *inner)
        if not _has_names(node, (key,)):
            continue
        if _is_named_tuple(node) and type(node).__name__ == key:
            found.append((here, node))
        for child_path, name, child in _children(here, node):
            if name == key:
                found.append((child_path, child))
            found += _find(child, key, child_path)
    return found


def _leaves(tree, is_leaf, path=()):
    """Leaves with paths, where steps into NamedTuples carry the tuple's name."""
    found = []
    stop = lambda x: is_leaf(x) or _is_named_tuple(x)
    for inner, node in tree_leaves_with_path(tree, is_leaf=stop):
        here = (*path, *inner)
        if is_leaf(node) or not _is_named_tuple(node):
            found.append((here, node))
        else:
            for child_path, _, child in _children(here, node):
                found += _leaves(child, is_leaf, child_path)
    return found


def _is_named_tuple(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _has_names(node, names):
    if _is_named_tuple(node):
        return any(name in node._fields or name == type(node).__name__ for name in names)
    return isinstance(node, dict) and any(name in node for name in names)


def _children(path, node):
    """(path, name, child) of a NamedTuple or a dict."""
    if _is_named_tuple(node):
        kind = type(node).__name__
        return [
            ((*path, NamedTupleKey(kind, name)), name, getattr(node, name)) for name in node._fields
        ]
    return [((*path, tree_util.DictKey(name)), name, child) for name, child in node.items()]
