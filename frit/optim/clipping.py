"""Transformations that bound updates: by element, by leaf, by their norm as a whole."""

import frit.numpy as jnp
from frit import lax
from frit.api.mapping import vmap
from frit.optim import tree
from frit.optim.base import EmptyState, require_params, stateless
from frit.optim.numerics import abs_sq, check_same_shape
from frit.tree_util import tree_leaves, tree_map, tree_structure, tree_transpose

ClipState = ClipByGlobalNormState = AdaptiveGradClipState = EmptyState


def clip(max_delta):
    """Each element within [-max_delta, max_delta]."""
    return stateless(lambda updates, params: tree.clip(updates, -max_delta, max_delta))


def clip_by_block_rms(threshold):
    """Each leaf, divided so that its root mean square is at most `threshold`."""

    def clipped(u):
        return u / jnp.maximum(1.0, jnp.sqrt(jnp.mean(abs_sq(u))) / threshold)

    return stateless(lambda updates, params: tree_map(clipped, updates))


def clip_by_global_norm(max_norm):
    """All leaves by one factor, so that their norm together is at most `max_norm`.

    Source: Pascanu, Mikolov & Bengio 2012, On the difficulty of training recurrent networks.
    """

    def clipped(updates, params):
        norm = tree.norm(updates)
        within = jnp.squeeze(norm < max_norm)
        shrink = lambda g: lax.select(within, g, (g / norm.astype(g.dtype)) * max_norm)
        return tree_map(shrink, updates)

    return stateless(clipped)


def unitwise_norm(x, axis=None):
    """The norm of each output unit of a weight array, in x's shape.

    Units are: all of a vector, the last axis of a matrix or a stack, the last of a convolution.
    axis: the axes to sum over instead. Raises ValueError for a rank above 5.
    """
    if axis is not None:
        axes = axis
    elif jnp.squeeze(x).ndim <= 1:
        axes = None
    elif x.ndim in (2, 3):
        axes = 0
    elif x.ndim in (4, 5):
        axes = tuple(range(x.ndim - 1))
    else:
        raise ValueError(
            f"Expected parameter with shape in {(1, 2, 3, 4, 5)}, got {x.shape}. Use axis "
            "parameter to specify reduction axes for other shapes."
        )
    return jnp.broadcast_to(jnp.sqrt(jnp.sum(abs_sq(x), axis=axes, keepdims=True)), x.shape)


def unitwise_clip(g_norm, max_norm, grad, div_eps=1e-6):
    """`grad`, where its norm is max_norm or more scaled to max_norm."""
    check_same_shape(g_norm=g_norm, max_norm=max_norm)
    check_same_shape(g_norm=g_norm, grad=grad)
    return jnp.where(g_norm < max_norm, grad, grad * (max_norm / jnp.maximum(g_norm, div_eps)))


def adaptive_grad_clip(clipping, eps=1e-3, axis=None):
    """Each unit's gradient, its norm at most `clipping` times the norm of its parameters (or eps).

    Source: Brock et al. 2021, High-performance large-scale image recognition without normalization.
    """

    def clipped(updates, params):
        norms = lambda t: tree_map(lambda x: unitwise_norm(x, axis=axis), t)
        limits = tree_map(lambda x: clipping * jnp.maximum(x, eps), norms(require_params(params)))
        return tree_map(unitwise_clip, norms(updates), limits, updates)

    return stateless(clipped)


def _check_batched(name, grads):
    leaves = tree_leaves(grads)
    size = leaves[0].shape[:1]
    if not all(g.ndim >= 1 and g.shape[:1] == size for g in leaves):
        raise ValueError(
            f"Unlike other transforms, `{name}` expects `grads` to have a batch dimension in the "
            f"0th axis; got shapes: {[g.shape for g in leaves]}. Per-example gradients come from "
            "vmap(grad(loss), in_axes=(None, 0))(params, batch)."
        )


def per_example_global_norm_clip(grads, l2_norm_clip):
    """`(sum of the examples' clipped gradients, how many were clipped)`.

    grads: leaves `(batch, ...)`, each example clipped to norm `l2_norm_clip` over all leaves.
    """
    _check_batched("per_example_global_norm_clip", grads)
    norms = vmap(tree.norm)(grads)
    factors = jnp.nan_to_num(jnp.minimum(l2_norm_clip / norms, 1.0), nan=1.0)
    clipped = tree_map(lambda g: jnp.tensordot(factors, g, axes=1), grads)
    return clipped, jnp.sum(factors < 1.0)


def per_example_layer_norm_clip(grads, global_l2_norm_clip, uniform=True):
    """`(sum of clipped gradients, how many were clipped)` leaf by leaf.

    The squared norm is shared among leaves, equally or (uniform=False) by their sizes.
    Source: McMahan et al. 2018, A general approach to adding differential privacy.
    """
    _check_batched("per_example_layer_norm_clip", grads)
    leaves = tree_leaves(grads)
    if uniform:
        shares = tree_map(lambda g: 1.0 / len(leaves), grads)
    else:
        total = sum(g[0].size for g in leaves)
        shares = tree_map(lambda g: g[0].size / total, grads)
    pairs = tree_map(
        lambda g, share: per_example_global_norm_clip(g, global_l2_norm_clip * share**0.5),
        grads,
        shares,
    )
    return tree_transpose(tree_structure(grads), tree_structure((0, 0)), pairs)
