"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from frit import lax
from frit.numpy.dtype_info import finfo
from frit.numpy.editing import trim_zeros
from frit.numpy.interpolation import convolve
from frit.numpy.jitted import jitted
from frit.numpy.joining import concatenate
from frit.numpy.operands import as_array, concrete, ensure_array, ensure_arrays
from frit.numpy.promotion import broadcast_to, promote_dtypes, promote_dtypes_inexact
from frit.numpy.shapes import atleast_1d


@jitted(static_argnames="unroll")
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The value of the polynomial p at x: Horner's scheme."""
    p, x = promote_dtypes(*ensure_arrays("polyval", p, x))
    shape = lax.broadcast_shapes(p.shape[1:], x.shape)
    start = lax.full(shape, 0, x.dtype)

    def step(y: Any, c: Any) -> tuple[Any, None]:
        return lax.convert_element_type(broadcast_to(y * x + c, shape), x.dtype), None

    return lax.scan(step, start, p, unroll=unroll)[0]


@jitted
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    a1, a2 = promote_dtypes(*ensure_arrays("polyadd", a1, a2))
    long, short = (a1, a2) if a1.shape[0] >= a2.shape[0] else (a2, a1)
    rest = long.shape[0] - short.shape[0]
    return concatenate([long[:rest], long[rest:] + short]) if rest else long + short


@jitted
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    a1, a2 = promote_dtypes(*ensure_arrays("polysub", a1, a2))
    return polyadd(a1, -a2)


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials."""
    a1, a2 = (as_array(a) for a in promote_dtypes_inexact(*ensure_arrays("polymul", a1, a2)))
    if trim_leading_zeros and (a1.shape[0] > 1 or a2.shape[0] > 1):
        a1, a2 = trim_zeros(a1, trim="f"), trim_zeros(a2, trim="f")
    a1, a2 = (a if a.shape[0] else lax.full((1,), 0, a.dtype) for a in (a1, a2))
    return convolve(a1, a2, mode="full")


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """The quotient and the remainder of two polynomials: long division."""
    u, v = (as_array(a) for a in promote_dtypes_inexact(*ensure_arrays("polydiv", u, v)))
    steps = u.shape[0] - v.shape[0] + 1
    quotient = lax.full((max(steps, 1),), 0, u.dtype)
    scale = 1 / v[0]
    for k in range(steps):
        factor = scale * u[k]
        quotient = quotient.at[k].set(factor)
        u = u.at[k : k + v.shape[0]].add(-factor * v)
    if trim_leading_zeros:
        u = _without_tiny(u)
    return quotient, u


def _without_tiny(u: Any) -> Any:
    """`u` from its first coefficient that rounding does not explain."""
    tolerance = float(np.sqrt(finfo(u.dtype).eps))
    known = np.abs(np.asarray(concrete(u, "polydiv with trim_leading_zeros=True")))
    large = np.nonzero(~(known <= tolerance))[0]  # nan is not explained by rounding
    return u[int(large[0]) :] if large.size else u[:0]


@jitted(static_argnames="m")
def polyder(p: Any, m: int = 1) -> Any:
    """The mth derivative of the polynomial p."""
    p = as_array(*promote_dtypes_inexact(ensure_array("polyder", p)))
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    if m == 0:
        return p
    powers = np.arange(m, p.shape[0])
    factors = np.prod([powers - i for i in range(m)], axis=0)[::-1]
    return p[: max(p.shape[0] - m, 0)] * factors.astype(p.dtype)


@jitted(static_argnames="m")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The mth integral of the polynomial p, with the constants k."""
    p, k = promote_dtypes_inexact(*ensure_arrays("polyint", p, 0 if k is None else k))
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = atleast_1d(k)
    if k.shape[0] == 1:
        k = lax.broadcast_in_dim(k[0], (m,), ())
    if k.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    if m == 0:
        return as_array(p)
    powers = np.arange(p.shape[0] + m)
    divisors = np.prod([np.maximum(1, powers - i) for i in range(m)], axis=0)[::-1]
    return concatenate((p, k)) / divisors.astype(p.dtype)
