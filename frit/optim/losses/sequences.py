"""Losses of sequences and of pairs: CTC, and the contrastive loss NT-Xent."""

import frit.numpy as jnp
from frit import lax
from frit.numpy.softmax import log_softmax
from frit.optim.losses.classification import _one_hot
from frit.optim.losses.regression import cosine_similarity
from frit.optim.numerics import check_floating, check_same_shape


def ctc_loss(logits, logit_paddings, labels, label_paddings, *, blank_id=0, log_epsilon=-100000.0):
    """-log of the probability of each label sequence, over all its alignments: `(batch,)`.

    logits `(batch, frames, classes)`, labels `(batch, length)`; paddings are 1.0 where an entry is
    padding. Source: Graves et al. 2006, Connectionist temporal classification.
    """
    loss, _, _ = ctc_loss_with_forward_probs(
        logits,
        logit_paddings,
        labels,
        label_paddings,
        blank_id=blank_id,
        log_epsilon=log_epsilon,
    )
    return loss


def ctc_loss_with_forward_probs(
    logits, logit_paddings, labels, label_paddings, *, blank_id=0, log_epsilon=-100000.0
):
    """`(ctc_loss, log alpha of blank states, log alpha of label states)`.

    State n of the first, `(frames, batch, length + 1)`, has seen n labels and then a blank; of the
    second, `(frames, batch, length)`, has just seen label n. log_epsilon stands for log 0.
    """
    check_same_shape(labels=labels, label_paddings=label_paddings)
    check_same_shape(logits=logits[..., 0], logit_paddings=logit_paddings)
    batch, _, classes = logits.shape
    length = labels.shape[1]
    if labels.shape[0] != batch:
        raise ValueError(f"Expected `labels` to have batch size {batch}, got {labels.shape[0]}.")
    log_probabilities = log_softmax(logits)
    lengths = length - jnp.sum(label_paddings, axis=1).astype(jnp.int32)
    repeats = (labels[:, :-1] == labels[:, 1:]).astype(jnp.float32)
    repeats = jnp.pad(repeats, ((0, 0), (0, 1)))
    blank = jnp.transpose(log_probabilities[:, :, blank_id : blank_id + 1], (1, 0, 2))
    one_hot = _one_hot(labels, classes, log_probabilities.dtype)
    emit = jnp.transpose(jnp.einsum("btk,bnk->btn", log_probabilities, one_hot), (1, 0, 2))

    def enter_blank(phi, arriving):
        return jnp.concatenate([phi[:, :1], jnp.logaddexp(phi[:, 1:], arriving)], axis=-1)

    def step(carry, frame):
        phi, label_states = carry
        emit_now, blank_now, padding = frame
        # A label that repeats the one before it needs a blank between them.
        reachable = enter_blank(phi, label_states + log_epsilon * repeats)
        next_labels = jnp.logaddexp(reachable[:, :-1] + emit_now, label_states + emit_now)
        next_phi = enter_blank(
            reachable + blank_now, label_states + blank_now + log_epsilon * (1.0 - repeats)
        )
        padding = padding.reshape((batch, 1))
        carry = (
            padding * phi + (1.0 - padding) * next_phi,
            padding * label_states + (1.0 - padding) * next_labels,
        )
        return carry, carry

    start = (
        jnp.full((batch, length + 1), log_epsilon).at[:, 0].set(0.0),
        jnp.full((batch, length), log_epsilon),
    )
    frames = emit, blank, logit_paddings.transpose((1, 0))
    _, (phi, label_states) = lax.scan(step, start, frames)
    final = enter_blank(phi[-1], label_states[-1])
    phi = phi.at[-1].set(final)
    at_end = _one_hot(lengths, length + 1, final.dtype)
    return -jnp.einsum("bn,bn->b", final, at_end), phi, label_states


def ntxent(embeddings, labels, temperature=0.07):
    """The mean over pairs of one label of -log softmax(similarity / temperature): a scalar.

    embeddings `(batch, features)`, labels `(batch,)`. Each pair is set against all of other labels.
    Source: Chen et al. 2020, A simple framework for contrastive learning.
    """
    check_floating(embeddings=embeddings)
    if labels.shape[0] != embeddings.shape[0]:
        raise ValueError(
            "Labels and embeddings must have the same leading dimension, found "
            f"{labels.shape[0]} for labels and {embeddings.shape[0]} for embeddings."
        )
    similarity = cosine_similarity(
        embeddings[None], embeddings[:, None], epsilon=jnp.finfo(embeddings.dtype).eps
    )
    similarity = similarity / temperature
    same = labels[:, None] == labels[None, :]
    is_pair = jnp.logical_and(same, jnp.logical_not(jnp.eye(labels.shape[0], dtype=bool)))
    others = jnp.where(same, -jnp.inf, similarity)
    pairs = jnp.where(is_pair, similarity, -jnp.inf)
    peak = lax.stop_gradient(jnp.max(jnp.maximum(others, pairs), axis=1, keepdims=True))
    total = jnp.sum(jnp.exp(others - peak), axis=1, keepdims=True) + jnp.exp(pairs - peak)
    log_probability = pairs - peak - jnp.log(total)
    return -jnp.where(is_pair, log_probability, 0.0).sum() / is_pair.sum()
