"""Polynomials from data and from roots, and their roots: the parts that need linear algebra."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from frit import lax
from frit.numpy import linalg
from frit.numpy.contraction import dot, outer
from frit.numpy.dtype_info import finfo
from frit.numpy.grids import vander
from frit.numpy.interpolation import convolve
from frit.numpy.jitted import jitted
from frit.numpy.joining import concatenate
from frit.numpy.moving import roll
from frit.numpy.operands import as_array, concrete, ensure_array, ensure_arrays
from frit.numpy.promotion import constant_like, promote_dtypes_inexact, to_complex
from frit.numpy.reductions import all as all_of
from frit.numpy.searching import argmin
from frit.numpy.selection import where
from frit.numpy.shapes import atleast_1d
from frit.numpy.taking import diag
from frit.numpy.ufuncs import sqrt


@jitted
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with the given roots; of a square matrix, its characteristic polynomial."""
    zeros = atleast_1d(as_array(*promote_dtypes_inexact(ensure_array("poly", seq_of_zeros))))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        zeros = linalg.eigvals(zeros)
    if zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    result = lax.full((1,) if zeros.shape[0] else (), 1, zeros.dtype)
    for k in range(zeros.shape[0]):
        factor = concatenate([lax.full((1,), 1, zeros.dtype), lax.neg(zeros[k : k + 1])])
        result = convolve(result, factor, mode="full")
    return result


@jitted
def _roots_no_zeros(p: Any) -> Any:
    """The eigenvalues of the companion matrix of p, whose first coefficient is not zero."""
    if p.shape[0] < 2:
        return lax.full((0,), 0, to_complex(p.dtype))
    below = diag(lax.full((p.shape[0] - 2,), 1, p.dtype), -1)
    return linalg.eigvals(below.at[0, :].set(-p[1:] / p[0]))


@jitted
def _roots_with_zeros(p: Any, leading: Any) -> Any:
    """The roots of p with `leading` zeros in front; as many of them are nan."""
    size = p.shape[0]
    p = where(leading == size, constant_like(p, 1), p)
    found = _roots_no_zeros(roll(p, -leading))
    found = lax.sort_key_val(lax.eq(found, constant_like(found, 0)), found)[1]
    known = lax.iota(np.dtype(np.int32), size - 1) < size - 1 - leading
    return where(known, found, constant_like(found, complex(np.nan, np.nan)))


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The roots of the polynomial p.

    strip_zeros: leading zeros are cut, for which p must be known; else that many roots are nan.
    """
    p = atleast_1d(as_array(*promote_dtypes_inexact(ensure_array("roots", p))))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if p.shape[0] < 2:
        return lax.full((0,), 0, to_complex(p.dtype))
    is_zero = lax.eq(p, constant_like(p, 0))
    first = argmin(is_zero)
    leading = where(all_of(is_zero), constant_like(first, p.shape[0]), first)
    if not strip_zeros:
        return _roots_with_zeros(p, leading)
    known = concrete(
        leading,
        "The error occurred in the jnp.roots() function. To use this within a JIT-compiled context,"
        " pass strip_zeros=False, but be aware that leading zeros will result in some returned "
        "roots being set to NaN.",
    )
    return _roots_no_zeros(p[int(known) :])


@jitted(static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The polynomial of degree `deg` nearest to the points (x, y): least squares, columns scaled.

    full: with residuals, rank, singular values and rcond; cov: with the covariance of the result.
    """
    x, y = ensure_arrays("polyfit", x, y)
    deg = operator.index(deg)
    _check_fit(x, y, deg)
    rcond = x.shape[0] * float(finfo(x.dtype).eps) if rcond is None else float(rcond)
    order = deg + 1
    lhs, rhs = vander(x, order), y
    if w is not None:
        w = as_array(*promote_dtypes_inexact(ensure_array("polyfit", w)))
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        lhs = lhs * w[:, None]
        rhs = rhs * (w[:, None] if rhs.ndim == 2 else w)
    scale = sqrt((lhs * lhs).sum(axis=0))
    lhs = lhs / scale[None, :]
    found, residuals, rank, singular = linalg.lstsq(lhs, rhs, rcond)
    found = found / (scale[:, None] if found.ndim > 1 else scale)
    if full:
        return found, residuals, rank, singular, as_array(rcond)
    if not cov:
        return found
    spread = linalg.inv(dot(lhs.T, lhs)) / outer(scale, scale)
    if cov == "unscaled":
        factor = lax.full((1,), 1, spread.dtype)
    else:
        if x.shape[0] <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = atleast_1d(residuals / (x.shape[0] - order))
    if y.ndim == 1:
        return found, spread * factor[None]
    return found, spread[:, :, None] * factor[None, None, :]


def _check_fit(x: Any, y: Any, deg: int) -> None:
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
