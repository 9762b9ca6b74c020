"""Where two trees differ, in words: the texts of errors about structures that do not fit.

flatten_mismatch   a structure, and a tree that it should be a prefix of
prefix_errors      a tree of which the leaves stand at or above those of another
equality_errors    two trees that should have the same structure
"""

from __future__ import annotations

import collections
import difflib
from collections.abc import Callable, Iterator
from typing import Any

from frit.tree_nodes import KeyPath, keystr, metadata, one_level

_Leaf = Callable[[Any], bool] | None

# ------------------------------------------------------------------------- flattening up to


def flatten_mismatch(definition: Any, tree: Any) -> str:
    """Where `tree` first fails to have the containers of `definition`; empty where it has them."""
    data = definition.node_data()
    if data is None:
        return ""
    kind, meta = data
    text = _kind_mismatch(kind, tree) or _node_mismatch(kind, meta, definition, tree)
    if text:
        return text
    children = [c for _, c in one_level(tree) or ()]
    return next(
        (
            found
            for d, c in zip(definition.children(), children, strict=True)
            if (found := flatten_mismatch(d, c))
        ),
        "",
    )


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _kind_mismatch(kind: type, tree: Any) -> str:
    if kind is type(None) and tree is not None:
        return (
            f"Expected None, got {tree!r}.\n\nNone is a container without leaves, so it only "
            "matches None. Where it stands for a missing value, write jax.tree.map(lambda x, y: "
            "None if x is None else f(x, y), a, b, is_leaf=lambda x: x is None)."
        )
    if kind in (tuple, list, dict) and type(tree) is not kind:
        return f"Expected {kind.__name__}, got {tree!r}."
    if kind in (tuple, list, dict, type(None)) or type(tree) is kind:
        return ""
    if not _is_named_tuple(kind):
        return f"Custom node type mismatch: expected type: {kind}, value: {tree!r}."
    if not _is_named_tuple(type(tree)):
        return f"Expected named tuple, got {tree!r}."
    return f"Named tuple type mismatch: expected type: {kind}, tuple: {tree!r}."


def _node_mismatch(kind: type, meta: Any, definition: Any, tree: Any) -> str:
    found, count = metadata(tree), len(definition.children())
    if kind is dict:
        if list(found) != list(meta):
            return f"Dict key mismatch; expected keys: {meta}; present keys: {list(found)}."
        return ""
    if kind in (collections.OrderedDict, collections.defaultdict):
        meta = tuple(meta) if kind is collections.OrderedDict else (meta[0], tuple(meta[1]))
    if found != meta:
        return f"Mismatch custom node data: {meta} != {found}; value: {tree!r}."
    have = len(one_level(tree) or ())
    if have == count:
        return ""
    if kind in (tuple, list):
        name = kind.__name__
        return f"{name.capitalize()} arity mismatch: {have} != {count}; {name}: {tree!r}."
    return f"Custom type arity mismatch: {have} != {count}; value: {tree!r}."


# ----------------------------------------------------------------------------- prefix trees


def prefix_errors(
    prefix: Any, full: Any, is_leaf: _Leaf = None
) -> list[Callable[[str], ValueError]]:
    """What keeps `prefix` from being a prefix of `full`: functions from its name to an error."""
    return list(_prefix_errors((), prefix, full, is_leaf))


def _prefix_errors(
    path: KeyPath, prefix: Any, full: Any, is_leaf: _Leaf
) -> Iterator[Callable[[str], ValueError]]:
    mine = None if is_leaf is not None and is_leaf(prefix) else one_level(prefix)
    if mine is None:
        return
    theirs = one_level(full)
    difference = _prefix_difference(prefix, mine, full, theirs)
    if difference is not None:
        headline, text = difference
        yield lambda name: ValueError(
            f"pytree structure error: {headline} at key path\n    {name}{keystr(path)}\n"
            f"At that key path, the prefix pytree {name} has a subtree of type{text}"
        )
        return
    for (key, a), (_, b) in zip(mine, theirs or (), strict=True):
        yield from _prefix_errors((*path, key), a, b, is_leaf)


def _prefix_difference(prefix: Any, mine: Any, full: Any, theirs: Any) -> tuple[str, str] | None:
    """In which way the outermost containers differ, as a headline and the rest of a text."""
    kind = type(prefix)
    if kind is not type(full):
        return "different types", (
            f"\n    {kind}\nbut at the same key path the full pytree has a subtree of different "
            f"type\n    {type(full)}."
        )
    if len(mine) != len(theirs) and kind in (tuple, list):
        return f"different lengths of {kind.__name__}", (
            f" {kind.__name__} of length {len(mine)}, but the full pytree has a subtree of the "
            f"same type but of length {len(theirs)}."
        )
    if len(mine) != len(theirs):
        names, others = ([_key_text(k) for k, _ in pairs] for pairs in (mine, theirs))
        only = sorted(set(names) ^ set(others))
        return "different numbers of pytree children", (
            f"\n    {kind}\nwith {len(names)} child keys\n    {' '.join(names)}\nbut at the same "
            f"key path the full pytree has a subtree of the same type but with {len(others)} child "
            f"keys\n    {' '.join(others)}\nso the symmetric difference on key sets is\n    "
            f"{' '.join(only)}"
        )
    a, b = metadata(prefix), metadata(full)
    if _differ(a, b):
        lines = difflib.ndiff(str(a).splitlines(), str(b).splitlines())
        return "different pytree metadata", (
            f"\n    {kind}\nwith metadata\n    {a}\nbut at the same key path the full pytree has a "
            f"subtree of the same type but with metadata\n    {b}\nso the diff in the metadata at "
            "these pytree nodes is\n    " + "\n    ".join(line.rstrip("\n") for line in lines)
        )
    return None


def _key_text(key: Any) -> str:
    return str(getattr(key, "key", getattr(key, "name", key)))


def _differ(a: Any, b: Any) -> bool:
    return not (a is b or bool(a == b))


# ------------------------------------------------------------------------- equal structures


def equality_errors(
    tree1: Any, tree2: Any, is_leaf: _Leaf = None
) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Where two trees differ in structure: path, what is there in each, and how they differ."""
    yield from _equality_errors((), tree1, tree2, is_leaf)


def _equality_errors(
    path: KeyPath, a: Any, b: Any, is_leaf: _Leaf
) -> Iterator[tuple[KeyPath, str, str, str]]:
    xs = None if is_leaf is not None and is_leaf(a) else one_level(a)
    ys = None if is_leaf is not None and is_leaf(b) else one_level(b)
    if xs is None and ys is None:
        return
    kind = type(a)
    if kind is not type(b):
        yield path, str(kind), str(type(b)), "their Python types differ"
        return
    xs, ys = xs or [], ys or []
    if len(xs) != len(ys) and kind in (tuple, list):
        name = kind.__name__
        yield (
            path,
            f"{name} of length {len(xs)}",
            f"{name} of length {len(ys)}",
            "the lengths do not match",
        )
        return
    if len(xs) != len(ys):
        only = {_key_text(k) for k, _ in xs} ^ {_key_text(k) for k, _ in ys}
        yield (
            path,
            f"{kind} with {_children(len(xs))}",
            f"{kind} with {_children(len(ys))}",
            "the numbers of children do not match"
            + (f", with the symmetric difference of key sets: {_set_text(only)}" if only else ""),
        )
        return
    first, second = metadata(a), metadata(b)
    if _differ(first, second):
        yield (
            path,
            f"{kind} with pytree metadata {first}",
            f"{kind} with pytree metadata {second}",
            "the pytree node metadata does not match",
        )
        return
    for (key, x), (_, y) in zip(xs, ys, strict=True):
        yield from _equality_errors((*path, key), x, y, is_leaf)


def _children(count: int) -> str:
    return f"{count} child" if count == 1 else f"{count} children"


def _set_text(names: set[str]) -> str:
    return "{" + ", ".join(map(repr, sorted(names))) + "}"


def equality_text(tree1: Any, tree2: Any, what: str = "") -> str:
    """The differences of two trees as lines of a message; empty where they have one structure."""
    return "\n".join(
        f"  * {what or 'the value'}{_at(path)} is a {a} in one and a {b} in the other, so {why}."
        for path, a, b, why in equality_errors(tree1, tree2)
    )


def _at(path: KeyPath) -> str:
    return f" at path {keystr(path)}" if path else ""
