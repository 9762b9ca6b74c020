"""Losses of classes and distributions. Reduced over the class axis only; not averaged."""

import operator

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.custom import custom_jvp
from frit.numpy.softmax import log_softmax, logsumexp, softmax
from frit.optim.numerics import check_floating, check_integer, check_same_shape


def _log_sigmoid(x):
    """log(1 / (1 + exp(-x))), exact where it is near 0 and where it is near x."""
    return -jnp.logaddexp(-x, 0.0)


def _one_hot(labels, count, dtype):
    return (labels[..., None] == jnp.arange(count)).astype(dtype)


def sigmoid_binary_cross_entropy(logits, labels):
    """-(label log p + (1 - label) log(1 - p)), p = sigmoid(logit), elementwise."""
    check_floating(logits=logits)
    labels = jnp.astype(labels, logits.dtype)
    return -labels * _log_sigmoid(logits) - (1.0 - labels) * _log_sigmoid(-logits)


def sigmoid_focal_loss(logits, labels, *, alpha=None, gamma=2.0):
    """The binary cross entropy times (1 - p_t)^gamma, p_t the probability of the label.

    alpha: the weight of label 1, 1 - alpha that of label 0 (None: both 1).
    Source: Lin et al. 2017, Focal loss for dense object detection.
    """
    check_floating(logits=logits)
    labels = jnp.astype(labels, logits.dtype)
    miss = _softplus_mix(logits, labels)
    loss = sigmoid_binary_cross_entropy(logits, labels) * jnp.exp(gamma * miss)
    if alpha is None:
        return loss
    return (alpha * labels + (1.0 - alpha) * (1.0 - labels)) * loss


def _softplus_mix(logits, labels):
    """log(p (1 - label) + (1 - p) label), in logarithms throughout."""
    log_p, log_q = _log_sigmoid(logits), _log_sigmoid(-logits)
    peak = lax.stop_gradient(jnp.maximum(log_p, log_q))
    mixed = (1 - labels) * jnp.exp(log_p - peak) + labels * jnp.exp(log_q - peak)
    return jnp.log(mixed) + peak


def softmax_cross_entropy(logits, labels, axis=-1, where=None):
    """-sum(labels * log_softmax(logits)) over `axis`: labels are distributions.

    where: which classes take part. An infinite logit with label 0 gives nan; see
    `safe_softmax_cross_entropy`.
    """
    check_floating(logits=logits)
    where = _with_axis(where, logits, axis)
    log_probabilities = log_softmax(logits, axis, where)
    return -(labels * log_probabilities).sum(axis, where=where)


def _with_axis(where, logits, axis):
    if where is not None and where.ndim != logits.ndim:
        return jnp.expand_dims(where, axis)
    return where


@custom_jvp
def _weighted_log_softmax(x, weights):
    """weights * log_softmax(x), 0 where the weight is 0, even of -inf."""
    log_probabilities = log_softmax(x)
    return jnp.where(weights != 0.0, weights * log_probabilities, jnp.zeros_like(x))


@_weighted_log_softmax.defjvp
def _(primals, tangents):
    x, weights = primals
    dx, dweights = tangents
    log_probabilities = log_softmax(x)
    expected = jnp.sum(dx * jnp.exp(log_probabilities), axis=-1, keepdims=True)
    tangent = weights * dx - weights * expected + dweights * log_probabilities
    return _weighted_log_softmax(x, weights), tangent


def safe_softmax_cross_entropy(logits, labels):
    """As `softmax_cross_entropy` over the last axis, with 0 * log 0 = 0, also in the gradient."""
    check_floating(logits=logits)
    return -jnp.sum(_weighted_log_softmax(logits, labels), axis=-1)


def softmax_cross_entropy_with_integer_labels(logits, labels, axis=-1, where=None):
    """logsumexp(logits) - logits[label] over `axis`: each label is the index of its class.

    logits: `(..., classes)`; labels: integers `(...)`. axis: an int, or a tuple of axes that
    together index the class. Raises TypeError for labels that are not integers.
    """
    check_floating(logits=logits)
    check_integer(labels=labels)
    where = _with_axis(where, logits, axis)
    if isinstance(axis, tuple):
        logits, where, axis = _classes_last(logits, where, axis)
    elif isinstance(axis, int):
        axis = _checked_axis(axis, logits.ndim)
    else:
        raise ValueError(
            "Keyword argument 'axis' must be of type 'int' or 'tuple[int, ...]' but actual type is "
            f"{type(axis)}."
        )
    chosen = jnp.take_along_axis(logits, jnp.expand_dims(labels, axis), axis=axis).take(
        0, axis=axis
    )
    loss = logsumexp(logits, axis, where=where) - chosen
    return loss if where is None else jnp.where(jnp.any(where, axis), loss, 0.0)


def _checked_axis(axis, rank):
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


def _classes_last(logits, where, axes):
    """Logits (and mask) with the class axes moved behind the others and merged into one."""
    class_axes = tuple(_checked_axis(axis, logits.ndim) for axis in axes)
    batch_axes = tuple(i for i in range(logits.ndim) if i not in class_axes)

    def moved(x):
        x = x.transpose(batch_axes + class_axes)
        return x.reshape((*x.shape[: len(batch_axes)], -1))

    return moved(logits), None if where is None else moved(where), len(batch_axes)


def poly_loss_cross_entropy(logits, labels, *, epsilon=2.0, axis=-1, where=None):
    """Cross entropy + epsilon (1 - p_label). Source: Leng et al. 2022, PolyLoss."""
    check_floating(logits=logits, labels=labels)
    misses = jnp.sum(labels * (1 - softmax(logits, axis, where)), axis=axis, where=where)
    return softmax_cross_entropy(logits, labels, axis, where) + epsilon * misses


def hinge_loss(predictor_outputs, targets):
    """max(0, 1 - output * target), targets -1 or 1."""
    return jnp.maximum(0, 1 - predictor_outputs * targets)


def perceptron_loss(predictor_outputs, targets):
    """max(0, -output * target), targets -1 or 1. Source: Rosenblatt 1958."""
    check_same_shape(predictor_outputs=predictor_outputs, targets=targets)
    return jnp.maximum(0, -predictor_outputs * targets)


def multiclass_hinge_loss(scores, labels):
    """max(scores + 1 - one_hot(label)) - scores[label] over the last axis.

    Source: Crammer & Singer 2001.
    """
    one_hot = _one_hot(labels, scores.shape[-1], scores.dtype)
    return jnp.max(scores + 1.0 - one_hot, axis=-1) - jnp.sum(scores * one_hot, axis=-1)


def multiclass_perceptron_loss(scores, labels):
    """max(scores) - scores[label] over the last axis. Source: Collins 2002."""
    one_hot = _one_hot(labels, scores.shape[-1], scores.dtype)
    return jnp.max(scores, axis=-1) - jnp.sum(scores * one_hot, axis=-1)


def kl_divergence(log_predictions, targets, axis=-1, where=None):
    """sum(target (log target - log_prediction)) over `axis`, with 0 log 0 = 0."""
    check_floating(log_predictions=log_predictions, targets=targets)
    log_targets = jnp.where(targets == 0, 0, jnp.log(targets))
    return jnp.sum(targets * (log_targets - log_predictions), axis=axis, where=where)


def kl_divergence_with_log_targets(log_predictions, log_targets, axis=-1, where=None):
    """sum(exp(log_target) (log_target - log_prediction)) over `axis`."""
    check_floating(log_predictions=log_predictions, log_targets=log_targets)
    loss = jnp.exp(log_targets) * (log_targets - log_predictions)
    return jnp.sum(loss, axis=axis, where=where)


def generalized_kl_divergence(log_predictions, targets, axis=-1, where=None):
    """kl_divergence + sum(prediction - target), for measures that need not sum to 1."""
    excess = jnp.sum(jnp.exp(log_predictions) - targets, axis=axis, where=where)
    return kl_divergence(log_predictions, targets, axis=axis, where=where) + excess


convex_kl_divergence = generalized_kl_divergence


def smooth_labels(labels, alpha, *, axis=-1, where=None):
    """(1 - alpha) labels + alpha / classes. Source: Szegedy et al. 2016, Rethinking Inception."""
    check_floating(labels=labels)
    if where is None:
        classes = np.shape(labels)[axis]
    else:
        classes = jnp.sum(where, axis, keepdims=True)
    return (1.0 - alpha) * labels + alpha / classes
