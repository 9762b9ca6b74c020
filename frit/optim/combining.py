"""Transformations made of transformations: one after another, or each on its part of the tree."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

import frit.numpy as jnp
from frit.optim.base import (
    GradientTransformationExtraArgs,
    OptState,
    set_to_zero,
    with_extra_args_support,
)
from frit.optim.state_tree import ParamsPlaceholder
from frit.tree_util import tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten


def chain(*args):
    """The transformations one after another; the state is the tuple of theirs."""
    transforms = [with_extra_args_support(t) for t in args]

    def init(params):
        return tuple(t.init(params) for t in transforms)

    def update(updates, state, params=None, **extra_args):
        if len(transforms) != len(state):
            raise ValueError(
                "The number of updates and states has to be the same in chain! Got "
                f"{len(transforms)} transformations and {len(state)} states: make the state with "
                "this chain's own init(params)."
            )
        new_state = []
        for transform, part in zip(transforms, state, strict=True):
            updates, part = transform.update(updates, part, params, **extra_args)
            new_state.append(part)
        return updates, tuple(new_state)

    return GradientTransformationExtraArgs(init, update)


def named_chain(*args):
    """As `chain`, of pairs `(name, transformation)`; the state is a dict by name."""
    names = [name for name, _ in args]
    if len(set(names)) != len(names):
        raise ValueError(f"Named transformations must have unique names, but got {names}")
    transforms = [(name, with_extra_args_support(t)) for name, t in args]

    def init(params):
        return OrderedDict((name, t.init(params)) for name, t in transforms)

    def update(updates, state, params=None, **extra_args):
        new_state = OrderedDict()
        for name, t in transforms:
            updates, new_state[name] = t.update(updates, state[name], params, **extra_args)
        return updates, new_state

    return GradientTransformationExtraArgs(init, update)


class MaskedNode(NamedTuple):
    """What stands for a leaf that is masked out: an empty subtree."""


class MaskedState(NamedTuple):
    """The inner state."""

    inner_state: Any


def masked(inner, mask, *, mask_compatible_extra_args=False):
    """`inner` on the leaves where `mask` is True; the others pass unchanged.

    mask: a tree of booleans like (or a prefix of) the params, or a function of them that gives it.
    mask_compatible_extra_args: whether extra arguments with the tree of the updates are masked too.
    """
    inner = with_extra_args_support(inner)

    def mask_of(tree):
        return mask(tree) if _is_function(mask) else mask

    def apply_mask(mask_tree, tree):
        return tree_map(lambda keep, x: x if keep else MaskedNode(), mask_tree, tree)

    def init(params):
        if isinstance(params, ParamsPlaceholder):
            return MaskedState(inner.init(params))
        return MaskedState(inner.init(apply_mask(mask_of(params), params)))

    def update(updates, state, params=None, **extra_args):
        mask_tree = mask_of(updates)
        structure = tree_structure(updates)
        if mask_compatible_extra_args:
            extra_args = {
                name: apply_mask(mask_tree, x) if tree_structure(x) == structure else x
                for name, x in extra_args.items()
            }
        kept, inner_state = inner.update(
            apply_mask(mask_tree, updates),
            state.inner_state,
            None if params is None else apply_mask(mask_tree, params),
            **extra_args,
        )
        merged = tree_map(lambda keep, new, old: new if keep else old, mask_tree, kept, updates)
        return merged, MaskedState(inner_state)

    return GradientTransformationExtraArgs(init, update)


def _is_function(mask):
    """Whether the mask is a function, not a tree (which may be callable, as a module is)."""
    leaves = tree_leaves(tree_map(callable, mask))
    return len(leaves) > 0 and all(leaves)


class PartitionState(NamedTuple):
    """The states by label."""

    inner_states: Mapping[Hashable, OptState]


MultiTransformState = PartitionState


def partition(transforms, param_labels, *, mask_compatible_extra_args=False):
    """For each leaf, the transformation that its label names.

    transforms: a dict by label. param_labels: a tree of labels like (or a prefix of) the params, or
    a function of them that gives it. Raises ValueError for a label without a transformation.
    """
    transforms = {label: with_extra_args_support(t) for label, t in transforms.items()}

    def labels_of(tree):
        return param_labels(tree) if callable(param_labels) else param_labels

    def parts(labels):
        for group, transform in transforms.items():
            mask = tree_map(lambda label: label == group, labels)
            options = {"mask_compatible_extra_args": mask_compatible_extra_args}
            yield group, masked(transform, mask, **options)

    def init(params):
        labels = labels_of(params)
        used = set(tree_leaves(labels))
        if not used.issubset(transforms):
            raise ValueError(
                "Some parameters have no corresponding transformation.\n"
                f"Parameter labels: {sorted(used, key=str)} \n"
                f"Transforms keys: {sorted(transforms, key=str)} \n"
                "Add the missing labels; set_to_zero() keeps parameters as they are."
            )
        return PartitionState({group: t.init(params) for group, t in parts(labels)})

    def update(updates, state, params=None, **extra_args):
        new_states = {}
        for group, t in parts(labels_of(updates)):
            inner = state.inner_states[group]
            updates, new_states[group] = t.update(updates, inner, params, **extra_args)
        return updates, PartitionState(new_states)

    return GradientTransformationExtraArgs(init, update)


multi_transform = partition


def freeze(mask):
    """Zero updates for the leaves where `mask` is True."""
    return masked(set_to_zero(), mask)


def selective_transform(optimizer, *, freeze_mask):
    """`optimizer` on the leaves where `freeze_mask` is False, zero updates on the others."""
    labels = tree_map(lambda frozen: "freeze" if frozen else "train", freeze_mask)
    return partition({"train": optimizer, "freeze": set_to_zero()}, lambda params: labels)


def flatten(inner):
    """`inner` on all leaves as one vector: fewer and larger operations; one state for all."""
    inner = with_extra_args_support(inner)

    def as_vector(tree):
        return jnp.concatenate([jnp.reshape(x, [-1]) for x in tree_leaves(tree)])

    def as_tree(like, vector):
        leaves, structure = tree_flatten(like)
        ends = np.cumsum([np.size(x) for x in leaves])[:-1]
        pieces = jnp.split(vector, [int(end) for end in ends])
        return tree_unflatten(
            structure, [jnp.reshape(p, x.shape) for p, x in zip(pieces, leaves, strict=True)]
        )

    def update(updates, state, params=None, **extra_args):
        params = None if params is None else as_vector(params)
        vector, state = inner.update(as_vector(updates), state, params, **extra_args)
        return as_tree(updates, vector), state

    return GradientTransformationExtraArgs(lambda params: inner.init(as_vector(params)), update)
