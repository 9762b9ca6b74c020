"""How close matrices are to singular ones: cond, matrix_rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.numpy.comparisons import isnan
from frit.numpy.dtype_info import finfo
from frit.numpy.linalg.batches import jitted
from frit.numpy.linalg.decompositions import inexact_array, svd, svdvals
from frit.numpy.linalg.norms import norm
from frit.numpy.linalg.solving import inv
from frit.numpy.operands import ensure_array
from frit.numpy.reductions import amax
from frit.numpy.reductions import any as any_
from frit.numpy.reductions import sum as sum_
from frit.numpy.selection import where
from frit.numpy.shapes import expand_dims


@jitted(static_argnames=("p",))
def cond(x: Any, p: Any = None) -> Any:
    """The condition number of matrices: the norm of each times that of its inverse.

    p: an order of `norm`; None and 2 take the ratio of the largest and the smallest singular value.
    """
    x = ensure_array("cond", x)
    if x.ndim < 2:
        raise ValueError(
            f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={x.shape}"
        )
    if x.shape[-1] == 0 or x.shape[-2] == 0:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got arr.shape={x.shape}")
    if p is None or p == 2:
        s = svdvals(x)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = svdvals(x)
        ratio = s[..., -1] / s[..., 0]
    else:
        if x.shape[-2] != x.shape[-1]:
            raise ValueError(
                f"jnp.linalg.cond: for p={p}, array must be square; got arr.shape={x.shape}"
            )
        ratio = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    has_nan = any_(isnan(x), axis=(-2, -1))
    return where(isnan(ratio) & ~has_nan, np.inf, ratio)


@jitted(static_argnames=("hermitian",))
def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """How many singular values exceed `rtol`, by default max(m, n) * eps * the largest.

    tol: the older name of rtol.  Of a scalar or vector: whether an element is not 0.
    """
    if tol is not None:
        if rtol is not None:
            raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
        rtol = tol
    x = inexact_array("jnp.linalg.matrix_rank", M)
    if x.ndim < 2:
        return any_(x != 0).astype("int32")
    s = svd(x, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if rtol is None:
        rtol = amax(s, axis=-1) * s.dtype.type(max(x.shape[-2:])) * finfo(s.dtype).eps
    return sum_(s > expand_dims(rtol, np.ndim(rtol)), axis=-1)
