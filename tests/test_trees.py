"""Pytrees: structures, paths, and what is said where trees do not fit."""

from __future__ import annotations

import collections
import dataclasses
import functools
import time

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import flatten_util, tree_util, trees

Point = collections.namedtuple("Point", "x y")
Vector = collections.namedtuple("Vector", "x y")


@pytest.mark.parametrize(
    ("expected", "given", "text"),
    [
        ([1, 2], [1], "List arity mismatch: 1 != 2; list: [1]."),
        ((1,), (1, 2), "Tuple arity mismatch: 2 != 1; tuple: (1, 2)."),
        ([1], 7, "Expected list, got 7."),
        ((1,), [7], "Expected tuple, got [7]."),
        ({"a": [1]}, {"a": (7,)}, "Expected list, got (7,)."),
        ({"a": 1}, {"b": 1}, "Dict key mismatch; expected keys: ['a']; present keys: ['b']."),
        (Point(1, 2), (1, 2), "Expected named tuple, got (1, 2)."),
        (Point(1, 2), Vector(1, 2), "Named tuple type mismatch: expected type: "),
        (None, 1, "Expected None, got 1."),
        (tree_util.Partial(max, 1), 3, "Custom node type mismatch: expected type: "),
        (tree_util.Partial(max, 1), tree_util.Partial(min, 1), "Mismatch custom node data: "),
    ],
)
def test_flatten_up_to_tells_the_first_difference(expected, given, text):
    with pytest.raises(ValueError) as error:
        tree_util.tree_structure(expected).flatten_up_to(given)
    assert str(error.value).startswith(text)


@pytest.mark.parametrize(
    ("prefix", "full", "text"),
    [
        ((1, 2), [1, 2], "different types at key path\n    in_axes"),
        ([[1]], [[2, 3]], "different lengths of list at key path\n    in_axes[0]"),
        ({"a": 1}, {"a": 2, "b": 3}, "so the symmetric difference on key sets is\n    b"),
        ([{1: 2}], [{3: 4}], "different pytree metadata at key path\n    in_axes[0]"),
    ],
)
def test_prefix_errors_tell_the_path(prefix, full, text):
    (error,) = trees.prefix_errors(prefix, full)
    assert text in str(error("in_axes"))


def test_prefix_errors_are_as_many_as_the_differences():
    assert len(trees.prefix_errors(((1,), (2,)), ([3], [4]))) == 2
    assert trees.prefix_errors((1, 2), ((11, 12, 13), 2)) == []


def test_tree_map_names_the_place_that_differs():
    with pytest.raises(ValueError, match=r"different types at key path\n    tree_map tree\[1\]"):
        jax.tree.map(lambda x, y: x, [1, (2,)], [1, [2]])
    with pytest.raises(ValueError, match="different lengths of list at key path"):
        jax.tree.broadcast([1, 2], [1])


def test_equality_errors():
    differences = list(trees.equality_errors([1, {"a": 2}], [1, {"b": 2}]))
    ((path, _, _, why),) = differences
    assert tree_util.keystr(path) == "[1]"
    assert why == "the pytree node metadata does not match"
    assert list(trees.equality_errors({"a": 1}, {"a": 2})) == []
    assert "lengths do not match" in trees.equality_text([1], [1, 2])


def test_keys_of_different_kinds_hash_apart():
    assert hash(tree_util.FlattenedIndexKey(1)) != hash(tree_util.SequenceKey(1))
    assert tree_util.keystr((tree_util.SequenceKey(0), tree_util.GetAttrKey("w"))) == "[0].w"


def test_partial_of_a_partial_stays_whole():
    outer = tree_util.Partial(functools.partial(divmod, 7), 2)
    assert outer.args == (2,)
    assert outer() == (3, 1)
    other = tree_util.Partial(functools.partial(divmod, 7), 2)
    assert outer.func == other.func and hash(outer.func) == hash(other.func)
    assert tree_util.tree_structure(outer) == tree_util.tree_structure(other)


def test_metadata_of_a_structure_needs_no_object():
    class Strict:
        def __init__(self, x):
            self.x = float(x)

    tree_util.register_pytree_node(Strict, lambda s: ((s.x,), "meta"), lambda m, xs: Strict(*xs))
    assert tree_util.tree_structure(Strict(1.0)).node_data() == (Strict, "meta")


def test_is_tree_node_takes_a_class():
    for kind in (list, dict, tuple, type(None), Point, tree_util.Partial):
        assert tree_util.is_tree_node(kind)
    assert not tree_util.is_tree_node(int)


def test_transpose_counts_leaves():
    outer, inner = tree_util.tree_structure([0, 0]), tree_util.tree_structure((0, 0))
    assert tree_util.tree_transpose(outer, inner, [(1, 2), (3, 4)]) == ([1, 3], [2, 4])
    with pytest.raises(TypeError, match="Mismatch"):
        tree_util.tree_transpose(outer, inner, [(1, 2)])


def test_children_must_be_iterable():
    class Bad:
        pass

    tree_util.register_pytree_node(Bad, lambda _: (7, 7), lambda *_: Bad())
    with pytest.raises(ValueError, match=r"where 'children' is iterable, got \(7, 7\)"):
        tree_util.tree_flatten(Bad())


def test_arrays_as_metadata_are_told_of():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        scale: jax.Array = dataclasses.field(metadata={"static": True})

    first = tree_util.tree_structure(Layer(jnp.arange(4)))
    second = tree_util.tree_structure(Layer(jnp.arange(4)))
    with pytest.raises(ValueError, match="checking equality of metadata fields of pytree"):
        assert first == second


def test_static_fields():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        weight: float
        name: str = jax.tree.static(default="dense")

    assert jax.tree.leaves(Layer(1.0)) == [1.0]
    assert jax.tree.static(metadata={"unit": "m"}).metadata == {"static": True, "unit": "m"}


def test_registering_a_dataclass_checks_its_fields():
    @dataclasses.dataclass
    class Pair:
        x: int
        y: int

    with pytest.raises(ValueError, match="must not overlap.*Overlapping fields: {'x'}"):
        tree_util.register_dataclass(Pair, data_fields=["x", "y"], meta_fields=["x"])
    with pytest.raises(TypeError, match="must both be specified when either is specified"):
        tree_util.register_dataclass(Pair, data_fields=["x"])
    with pytest.raises(ValueError, match="Missing fields: {'y'}"):
        tree_util.register_dataclass(Pair, data_fields=["x"], meta_fields=[])


def test_unravel_functions_of_equal_trees_are_equal():
    tree = {"a": jnp.arange(3.0), "b": (jnp.ones((2, 2)),)}
    flat, unravel = flatten_util.ravel_pytree(tree)
    _, again = flatten_util.ravel_pytree(jax.tree.map(lambda x: x + 1, tree))
    assert unravel == again and hash(unravel) == hash(again)
    assert flat.shape == (7,)
    np.testing.assert_array_equal(unravel(flat)["b"][0], np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"given array of shape \(3,\), but expected shape \(7,\)"):
        unravel(jnp.ones(3))


def test_deques_and_c_named_tuples_have_paths():
    for tree, size in (collections.deque([1, 2]), 2), (time.gmtime(0), 9):
        assert len(jax.tree.leaves(tree)) == size
        keys = [tree_util.keystr(path) for path, _ in tree_util.tree_leaves_with_path(tree)]
        assert keys == [f"[<flat index {i}>]" for i in range(size)]
