"""Losses of real targets and of directions: elementwise unless they say otherwise."""

import frit.numpy as jnp
from frit.optim.numerics import check_floating, check_same_shape


def squared_error(predictions, targets=None):
    """(prediction - target)^2; without targets, the square of `predictions`.

    Raises ValueError where the shapes differ.
    """
    check_floating(predictions=predictions)
    if targets is None:
        return predictions**2
    check_same_shape(predictions=predictions, targets=targets)
    return (predictions - targets) ** 2


def l2_loss(predictions, targets=None):
    """(prediction - target)^2 / 2, whose gradient is the difference."""
    return 0.5 * squared_error(jnp.asarray(predictions), targets)


def huber_loss(predictions, targets=None, *, delta=1.0):
    """d^2 / 2 for |d| <= delta, delta (|d| - delta / 2) beyond. Source: Huber 1964."""
    check_floating(predictions=predictions)
    distance = jnp.abs(predictions if targets is None else predictions - targets)
    quadratic = jnp.minimum(distance, delta)
    return 0.5 * quadratic**2 + delta * (distance - quadratic)


def log_cosh(predictions, targets=None):
    """log(cosh(prediction - target)), which does not overflow."""
    check_floating(predictions=predictions)
    errors = predictions if targets is None else predictions - targets
    return jnp.logaddexp(errors, -errors) - jnp.log(2.0).astype(errors.dtype)


def cosine_similarity(predictions, targets, *, epsilon=0.0, axis=-1, where=None):
    """The cosine of the angle between vectors along `axis`: shape without it.

    epsilon: the least squared norm to divide by; above 0 it keeps gradients finite at 0.
    """
    check_floating(predictions=predictions, targets=targets)

    def unit(x):
        squared = jnp.square(x).sum(axis=axis, where=where, keepdims=True)
        return x / jnp.sqrt(squared.clip(epsilon))

    return (unit(predictions) * unit(targets)).sum(axis=axis, where=where)


def cosine_distance(predictions, targets, *, epsilon=0.0, axis=-1, where=None):
    """1 - cosine_similarity."""
    check_floating(predictions=predictions, targets=targets)
    similarity = cosine_similarity(predictions, targets, epsilon=epsilon, axis=axis, where=where)
    return 1.0 - similarity


def triplet_margin_loss(
    anchors, positives, negatives, axis=-1, norm_degree=2, margin=1.0, eps=1e-6
):
    """max(d(anchor, positive) - d(anchor, negative) + margin, 0), d the distance along `axis`.

    Source: Balntas et al. 2016, Learning shallow convolutional feature descriptors.
    """
    check_floating(anchors=anchors, positives=positives, negatives=negatives)

    def distance(others):
        powers = jnp.power(anchors - others, norm_degree).sum(axis)
        return jnp.power(powers + eps, 1 / norm_degree)

    return jnp.maximum(distance(positives) - distance(negatives) + margin, 0)
