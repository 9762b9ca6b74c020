"""Functions that relate each element to the others along an axis."""

from __future__ import annotations

from typing import Any

import frit.numpy as jnp
from frit import lax
from frit.numpy.jitted import jitted
from frit.numpy.operands import check_arraylike, check_arraylike_or_none, ensure_array
from frit.numpy.reductions import Axis, count
from frit.numpy.softmax import log_softmax as log_softmax
from frit.numpy.softmax import logsumexp as logsumexp
from frit.numpy.softmax import softmax as softmax


@jitted(static_argnames=("axis", "keepdims"))
def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) over `axis`, without overflow; over the elements where `where` is True."""
    x = ensure_array("logmeanexp", x)
    log_sum = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    number = count(x, axis, keepdims, where, log_sum.dtype)
    return log_sum - jnp.log(number)


@jitted(static_argnames=("axis", "algorithm"))
def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """(x - mean) / sqrt(variance + epsilon), both taken over `axis` unless given.

    The variance is mean(x**2) - mean**2 when `algorithm` is "fast", and mean((x - mean)**2), which
    does not cancel for large means, when it is "stable".
    """
    check_arraylike("standardize", x)
    check_arraylike_or_none("standardize", mean, variance, where)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        variance = _variance(x, axis, mean, where, algorithm)
    return jnp.subtract(x, mean) * lax.rsqrt(variance + epsilon)


def _variance(x: Any, axis: Axis, mean: Any, where: Any, algorithm: str) -> Any:
    if algorithm == "stable":
        return jnp.mean(jnp.square(jnp.subtract(x, mean)), axis, keepdims=True, where=where)
    if algorithm == "fast":
        mean_square = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
        return jnp.clip(mean_square - jnp.square(mean), 0)  # rounding may bring it below 0
    raise ValueError(f"Unknown algorithm '{algorithm}'. Expected 'fast' or 'stable'.")
