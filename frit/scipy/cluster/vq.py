"""jax.scipy.cluster.vq: vector quantization."""

from __future__ import annotations

from typing import Any

import frit.numpy as jnp
from frit.numpy.operands import check_arraylike
from frit.numpy.promotion import promote_dtypes_inexact

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """For each observation the index of the nearest code, and the distance to it.

    obs: (n, d) or (n,); code_book: (k, d) or (k,).  `check_finite` has no effect.  ValueError
    where the ranks differ or exceed 2.
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    obs, codes = promote_dtypes_inexact(jnp.asarray(obs), jnp.asarray(code_book))
    if obs.ndim != codes.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if obs.ndim == 1:
        obs, codes = obs[:, None], codes[:, None]
    if obs.ndim != 2:
        raise ValueError("ndim different than 1 or 2 are not supported")
    distances = jnp.linalg.norm(obs[:, None, :] - codes[None, :, :], axis=-1)
    return jnp.argmin(distances, axis=-1), jnp.min(distances, axis=-1)
