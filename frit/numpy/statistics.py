"""Averages, spreads and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy import reductions
from frit.numpy.contraction import dot
from frit.numpy.creation import full
from frit.numpy.jitted import jitted
from frit.numpy.joining import concatenate
from frit.numpy.operands import as_array, canonical_axes, check_no_out, ensure_array, ensure_arrays
from frit.numpy.promotion import (
    broadcast_to,
    constant_like,
    convert,
    promote_args_inexact,
    promote_dtypes_inexact,
    real_part_dtype,
    requested_dtype,
    to_inexact,
)
from frit.numpy.reductions import (
    check_where,
    count,
    element_count,
    mean,
    single_precision,
    size_as_value,
    static_axes,
)
from frit.numpy.rounding import clip
from frit.numpy.selection import where as select
from frit.numpy.shapes import atleast_2d
from frit.numpy.taking import diag
from frit.numpy.ufuncs import imag, iscomplexobj, real, sqrt, true_divide


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """The mean over `axis`, weighted if `weights` are given; with their sum if `returned`."""
    axis = static_axes(axis)
    if weights is None:
        a = as_array(*promote_dtypes_inexact(ensure_array("average", a)))
        result = mean(a, axis=axis, keepdims=keepdims)
        total = as_array(size_as_value(element_count(a, axis), result.dtype))
    else:
        a, weights = promote_dtypes_inexact(*ensure_arrays("average", a, weights))
        if a.shape != weights.shape:
            weights = _aligned_weights(a, axis, weights)
        total = reductions.sum(weights, axis=axis, keepdims=keepdims)
        result = reductions.sum(a * weights, axis=axis, keepdims=keepdims) / total
    if not returned:
        return result
    return result, total if total.shape == result.shape else broadcast_to(total, result.shape)


def _aligned_weights(a: Any, axis: Any, weights: Any) -> Any:
    if axis is None:
        raise ValueError("Axis must be specified when shapes of a and weights differ.")
    axes = canonical_axes(axis, a.ndim)
    if weights.shape != tuple(a.shape[i] for i in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    shape = tuple(s if i in axes else 1 for i, s in enumerate(a.shape))
    order = tuple(int(i) for i in np.argsort(axes))
    return lax.reshape(lax.transpose(weights, order), shape)


def _correction(correction: Any, ddof: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def variance_types(a_dtype: Any, dtype: Any) -> tuple[Any, Any]:
    """The type that a variance is computed in, and the type of the result."""
    if dtype is not None:
        if dtypes.is_complex(a_dtype) and not dtypes.is_complex(dtype):
            raise ValueError(
                "jax.numpy.var does not yet support real dtype parameters when computing the "
                "variance of an array of complex values."
            )
        return single_precision(dtype), dtype
    if not dtypes.is_inexact(a_dtype):
        return single_precision(to_inexact(a_dtype)), to_inexact(a_dtype)
    return single_precision(a_dtype), real_part_dtype(a_dtype)


def squared_size(x: Any) -> Any:
    """|x|^2, elementwise: a real number."""
    return lax.real(lax.mul(x, lax.conj(x))) if dtypes.is_complex(x.dtype) else lax.square(x)


@jitted(static_argnames=("axis", "dtype", "keepdims"))
def _var(
    a: Any,
    *,
    axis: Any = None,
    dtype: Any = None,
    correction: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    a_mean: Any = None,
) -> Any:
    where = check_where("var", where)
    if dtype is not None:
        dtype = requested_dtype(dtype, "var")
    computed, dtype = variance_types(a.dtype, dtype)
    a = lax.convert_element_type(a, computed)
    if a_mean is None:
        a_mean = mean(a, axis, dtype=computed, keepdims=True, where=where)
    else:
        a_mean = lax.convert_element_type(ensure_array("var", a_mean), computed)
    distances = squared_size(lax.sub(a, a_mean))
    computed = distances.dtype
    normalizer = count(a, axis, keepdims, where, computed)
    normalizer = lax.sub(normalizer, convert(correction, computed))
    total = reductions.sum(distances, axis, dtype=computed, keepdims=keepdims, where=where)
    result = lax.convert_element_type(lax.div(total, normalizer), dtype)
    return select(lax.gt(normalizer, constant_like(normalizer, 0)), result, np.nan)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The mean squared distance to the mean over `axis`, divided by the count less `ddof`."""
    check_no_out("var", out)
    return _var(
        ensure_array("var", a), axis=static_axes(axis), dtype=dtype,
        correction=_correction(correction, ddof), keepdims=keepdims, where=where, a_mean=mean,
    )  # fmt: skip


@jitted(static_argnames=("axis", "dtype", "keepdims"))
def _std(
    a: Any,
    *,
    axis: Any = None,
    dtype: Any = None,
    correction: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    if dtype is not None:
        dtype = requested_dtype(dtype, "std")
        if not dtypes.is_inexact(dtype):
            raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    return lax.sqrt(
        _var(
            a, axis=axis, dtype=dtype, correction=correction, keepdims=keepdims, where=where,
            a_mean=mean,
        )
    )  # fmt: skip


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The square root of the variance over `axis`."""
    check_no_out("std", out)
    return _std(
        ensure_array("std", a), axis=static_axes(axis), dtype=dtype,
        correction=_correction(correction, ddof), keepdims=keepdims, where=where, mean=mean,
    )  # fmt: skip


def _weights(name: str, given: Any, samples: int) -> Any:
    given = ensure_array("cov", given)
    if given.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if given.shape[0] != samples:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    return abs(given)


@jitted(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """The covariances of the rows of `m` (and `y`): sum of products of distances to the means.

    fweights: how often each sample was seen; aweights: how much each counts.
    """
    given = promote_args_inexact("cov", *([m] if y is None else [m, y]))
    given = [as_array(g) for g in given]
    for name, g in zip(("m", "y"), given, strict=False):
        if g.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is not None and not dtypes.is_inexact(dtypes.as_dtype(dtype)):
        raise ValueError(f"cov: dtype must be a subclass of float or complex; got dtype={dtype!r}")
    rows = [
        g2.T if not rowvar and (g.ndim != 1 if i == 0 else g2.shape[0] != 1) else g2
        for i, (g, g2) in enumerate((g, atleast_2d(g)) for g in given)
    ]
    x = rows[0]
    if x.shape[0] == 0:
        return lax.full((0, 0), 0, x.dtype)
    if len(rows) > 1:
        x = concatenate(rows, axis=0)
    if x.shape[1] == 0:
        return full(() if x.shape[0] == 1 else (x.shape[0], x.shape[0]), np.nan, dtype=x.dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    w = None
    if fweights is not None:
        w = _weights("fweights", fweights, x.shape[1])
        if not dtypes.is_integer(w.dtype):
            raise TypeError("fweights must be integer.")
    if aweights is not None:
        aweights = _weights("aweights", aweights, x.shape[1])
        w = aweights if w is None else w * aweights
    if dtype is not None:
        x = x.astype(dtype)
        w = None if w is None else w.astype(dtype)
    centre, total = average(x, axis=1, weights=w, returned=True)
    total = total[0]
    if w is None:
        norm: Any = x.shape[1] - ddof
    elif ddof == 0:
        norm = total
    elif aweights is None:
        norm = total - ddof
    else:
        norm = total - ddof * reductions.sum(w * aweights) / total
    x = x - centre[:, None]
    other = x if w is None else x * w[None, :]
    result = true_divide(dot(x, other.T.conj()), norm)
    return result.squeeze()


@jitted(static_argnames=("rowvar", "dtype"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The correlations of the rows of x (and y): covariances over standard deviations."""
    if dtype is not None and not dtypes.is_inexact(dtypes.as_dtype(dtype)):
        raise ValueError(
            f"corrcoef: dtype must be a subclass of float or complex; got dtype={dtype!r}"
        )
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = lax.convert_element_type(sqrt(real(diag(c))), c.dtype)
    c = c / deviation[:, None] / deviation[None, :]
    if iscomplexobj(c):
        return lax.complex(clip(real(c), -1, 1), clip(imag(c), -1, 1))
    return clip(real(c), -1, 1)
