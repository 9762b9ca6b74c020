"""Reductions by segment: rows with equal ids are combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frit import numpy as jnp
from frit.lax.indexing import GatherScatterMode

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def _segment(
    name: str, method: str, identity: Callable[[Any], Any], reduce: Callable[..., Any],
    data: Any, ids: Any, num_segments: int | None, sorted_ids: bool, unique: bool,
    bucket_size: int | None, mode: Any,
) -> Any:  # fmt: skip
    data, ids = jnp.asarray(data), jnp.asarray(ids)
    if num_segments is None:
        num_segments = int(jnp.max(ids)) + 1
    num_segments = int(num_segments)
    if num_segments < 0:
        raise ValueError("num_segments must be non-negative.")
    if bucket_size is not None:
        count = -(-len(ids) // bucket_size)
        parts = [
            _segment(
                name, method, identity, reduce, data[i * bucket_size : (i + 1) * bucket_size],
                ids[i * bucket_size : (i + 1) * bucket_size], num_segments, sorted_ids, unique,
                None, mode,
            )
            for i in range(count)
        ]  # fmt: skip
        return reduce(jnp.stack(parts), axis=0)
    out = jnp.full((num_segments, *data.shape[ids.ndim :]), identity(data.dtype), data.dtype)
    update = getattr(out.at[ids], method)
    return update(
        data,
        indices_are_sorted=sorted_ids,
        unique_indices=unique,
        mode=GatherScatterMode.FILL_OR_DROP if mode is None else mode,
        wrap_negative_indices=False,
    )


def _lowest(dtype: Any) -> Any:
    if jnp.issubdtype(dtype, np.floating):
        return -np.inf
    return False if dtype == np.bool_ else jnp.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    if jnp.issubdtype(dtype, np.floating):
        return np.inf
    return True if dtype == np.bool_ else jnp.iinfo(dtype).max


def segment_sum(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
) -> Any:  # fmt: skip
    """The sum of the rows of each segment.

    data: (n, …); segment_ids: (n,) ints; result: (num_segments, …).

    Ids out of range are dropped; num_segments defaults to the largest id plus one.
    """
    return _segment(
        "segment_sum", "add", lambda dtype: 0, jnp.sum, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_prod(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
) -> Any:  # fmt: skip
    """The product of the rows of each segment; as `segment_sum`."""
    return _segment(
        "segment_prod", "multiply", lambda dtype: 1, jnp.prod, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_max(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
) -> Any:  # fmt: skip
    """The maximum of the rows of each segment (empty ones: the lowest value); as `segment_sum`."""
    return _segment(
        "segment_max", "max", _lowest, jnp.max, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_min(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
) -> Any:  # fmt: skip
    """The minimum of the rows of each segment (empty ones: the highest value); as `segment_sum`."""
    return _segment(
        "segment_min", "min", _highest, jnp.min, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip
