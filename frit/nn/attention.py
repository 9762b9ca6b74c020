"""Scaled dot-product attention.

    result = softmax(scale * query @ key^T + bias, where mask) @ value

Letters of shapes: B batch, T queries, S keys, N query heads, K key heads, G = N / K query heads
that share a key head, H size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.nn.normalization import logsumexp, softmax
from frit.numpy.operands import check_arraylike


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Each query's mean of values, weighted by the softmax of its products with the keys.

    query: (B, T, N, H) or (T, N, H); key and value: (B, S, K, H) or (S, K, H), where K divides N:
    N = K is multi-head attention, K = 1 multi-query, else grouped.  Result: as `query`.
    bias, mask: broadcast against (B, N, T, S); the bias is added to the logits, a False in the
    mask excludes the key.  `scale` is 1 / sqrt(H) by default.  `is_causal` lets query t see keys
    up to t.  `query_seq_lengths`, `key_value_seq_lengths`: (B,) int32, how many rows are no
    padding.  `local_window_size`: how many keys to the left and to the right a query sees.
    With `return_residual`, also the log of the softmax's denominators, of `query`'s shape without
    H.  Logits and softmax are computed in float32 at least.  ValueError where shapes or dtypes
    disagree.  Source: Vaswani et al. 2017; Ainslie et al. 2023 (grouped queries).
    """
    if implementation == "cudnn":
        raise NotImplementedError(
            "implementation='cudnn' needs a CUDA device, and arrays live on the CPU here: leave "
            "`implementation` out, or write implementation='xla'."
        )
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    shape = jnp.asarray(query).shape
    query, key, value, bias, mask = map(_with_four_axes, (query, key, value, bias, mask))
    query_lengths = _optional_array(query_seq_lengths)
    key_lengths = _optional_array(key_value_seq_lengths)
    _check_operands(query, key, value, bias, mask, query_lengths, key_lengths)
    if isinstance(local_window_size, int):
        local_window_size = (local_window_size, local_window_size)
    if scale is None:
        scale = 1.0 / np.sqrt(key.shape[-1])
    visible = _visible(
        query.shape[1], key.shape[1], is_causal, query_lengths, key_lengths, local_window_size
    )
    encoded, residual = _attend(query, key, value, bias, mask, visible, scale)
    if query_lengths is not None:
        rows = _before(query.shape[1], query_lengths)[:, :, None, None]
        encoded = encoded * rows.astype(encoded.dtype)
    encoded = jnp.reshape(encoded, shape)
    if return_residual:
        return encoded, lax.stop_gradient(jnp.reshape(residual, shape[:-1]))
    return encoded


# ---- operands -----------------------------------------------------------------------------------


def _optional_array(x: Any) -> Any:
    return None if x is None else jnp.asarray(x)


def _with_four_axes(x: Any) -> Any:
    if x is None:
        return None
    x = jnp.asarray(x)
    return jnp.expand_dims(x, tuple(range(4 - x.ndim))) if x.ndim < 4 else x


def _check(name: str, x: Any, shape: Sequence[Any], dtype: Any = None) -> None:
    """ValueError where x, if given, has not this shape (None: any size) and dtype (None: any)."""
    if x is None:
        return
    if x.ndim != len(shape):
        raise ValueError(f"{name} ndim should be {len(shape)}, but got {x.ndim}")
    if dtype is not None and x.dtype != dtype:
        raise ValueError(f"{name} dtype should be {dtype}, but got {x.dtype}")
    if any(wanted is not None and wanted != n for wanted, n in zip(shape, x.shape, strict=True)):
        wanted = [-1 if n is None else n for n in shape]
        raise ValueError(f"{name} shape should be {wanted}: but got {x.shape}")


def _check_operands(
    query: Any, key: Any, value: Any, bias: Any, mask: Any, query_lengths: Any, key_lengths: Any
) -> None:
    check_arraylike("dot_product_attention", query, key, value)
    _check("key", key, [None] * 4)
    b, s, k, h = key.shape
    _check("value", value, [b, s, k, h], key.dtype)
    _check("query", query, [b, None, None, h], key.dtype)
    _check("mask", mask, [None] * 4, np.dtype(bool))
    _check("bias", bias, [None] * 4)
    _check("query_seq_lengths", query_lengths, [b], np.dtype("int32"))
    _check("key_value_seq_lengths", key_lengths, [b], np.dtype("int32"))
    heads = query.shape[2]
    if heads % k != 0:
        raise ValueError(
            "The number of query heads must be a multiple of key/value heads, but got "
            f"{heads} vs {k}"
        )
    for name, x in (("bias", bias), ("mask", mask)):
        if x is not None and x.shape[1] not in (1, heads):
            raise ValueError(
                f"{name} shape should be [-1, {heads}, -1, -1] or have 1 head: but got {x.shape}"
            )


# ---- which keys a query sees --------------------------------------------------------------------


def _before(size: Any, lengths: Any) -> Any:
    """(B, size): whether the position is one of the first `lengths`."""
    return jnp.arange(size)[None, :] < lengths[:, None]


def _visible(
    t: Any, s: Any, is_causal: bool, query_lengths: Any, key_lengths: Any, window: Any
) -> Any:
    """What positions alone allow, to broadcast against (B, K, G, T, S); None for everything."""
    parts = []
    positions = jnp.arange(t), jnp.arange(s)
    queries, keys = positions[0][None, None, None, :, None], positions[1][None, None, None, None]
    if is_causal:
        parts.append(queries >= keys)
    if window is not None:
        left, right = window
        parts.append((queries <= keys + left) & (queries >= keys - right))
    if query_lengths is not None:
        parts.append(_before(t, query_lengths)[:, None, None, :, None])
    if key_lengths is not None:
        parts.append(_before(s, key_lengths)[:, None, None, None, :])
    return _conjunction(parts)


def _conjunction(parts: list[Any]) -> Any:
    result = None
    for part in parts:
        result = part if result is None else result & part
    return result


def _far_below(dtype: Any) -> Any:
    """A logit that no query prefers, and whose differences do not overflow."""
    largest = min(float(jnp.finfo(dtype).max), float(jnp.finfo(np.float32).max))
    return jnp.asarray(-0.7 * largest, dtype=dtype)


# ---- the computation ----------------------------------------------------------------------------


def _grouped(x: Any, key_heads: int, group: int) -> Any:
    """(b, N, t, s) as (b, K, G, t, s); a single head stays one."""
    if x is None:
        return None
    b, n, t, s = x.shape
    return jnp.expand_dims(x, 1) if n == 1 else jnp.reshape(x, (b, key_heads, group, t, s))


def _attend(
    query: Any, key: Any, value: Any, bias: Any, mask: Any, visible: Any, scale: Any
) -> tuple[Any, Any]:
    """The result (B, T, N, H), and the logarithm of the softmax's denominators (B, T, N)."""
    b, t, n, h = query.shape
    k = key.shape[2]
    query = jnp.reshape(query, (b, t, k, n // k, h))
    mask, bias = _grouped(mask, k, n // k), _grouped(bias, k, n // k)
    computed = jnp.promote_types(query.dtype, np.float32)
    logits = jnp.einsum("BTKGH,BSKH->BKGTS", query, key, preferred_element_type=computed)
    logits *= jnp.array(scale, dtype=logits.dtype)
    if bias is not None:
        logits = (logits + bias).astype(logits.dtype)
    seen = _conjunction([part for part in (mask, visible) if part is not None])
    if seen is not None:
        logits = jnp.where(seen, logits, _far_below(logits.dtype))
    logits = logits.astype(np.float32)
    weights = softmax(logits, axis=-1).astype(key.dtype)
    encoded = jnp.einsum("BKGTS,BSKH->BTKGH", weights, value)
    denominators = logsumexp(logits, axis=-1).astype(key.dtype)
    denominators = jnp.reshape(jnp.moveaxis(denominators, 3, 1), (b, t, n))
    return jnp.reshape(encoded, (b, t, n, h)), denominators
