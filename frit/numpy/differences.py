"""Differences between neighbours, gradients, and integrals from samples."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy.cumulative import cumsum
from frit.numpy.jitted import jitted
from frit.numpy.joining import concatenate
from frit.numpy.operands import (
    as_array,
    canonical_axes,
    canonical_axis,
    ensure_array,
    ensure_arrays,
)
from frit.numpy.promotion import broadcast_to, constant_like, promote_dtypes, promote_dtypes_inexact
from frit.numpy.selection import where
from frit.numpy.shapes import moveaxis, ravel


def _edge(name: str, value: Any, a: Any, axis: int) -> Any:
    value = ensure_array(name, value)
    if value.ndim:
        return value
    return broadcast_to(value, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))


@jitted(static_argnames=("n", "axis"))
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The nth difference of neighbours along `axis`; for bools, whether they differ."""
    a = ensure_array("diff", a)
    n, axis = operator.index(n), operator.index(axis)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if a.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonical_axis(axis, a.ndim)
    parts = [a]
    if prepend is not None:
        parts.insert(0, _edge("diff", prepend, a, axis))
    if append is not None:
        parts.append(_edge("diff", append, a, axis))
    if len(parts) > 1:
        a = concatenate(parts, axis)
    lead = (slice(None),) * axis
    for _ in range(n):
        later, earlier = a[(*lead, slice(1, None))], a[(*lead, slice(None, -1))]
        a = (lax.ne if dtypes.is_bool(a.dtype) else lax.sub)(later, earlier)
    return a


@jitted
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in the flattened array, with ends added where given."""
    flat = ravel(ensure_array("ediff1d", ary))
    parts = [lax.sub(flat[1:], flat[:-1])]
    for place, value in ((0, to_begin), (2, to_end)):
        if value is not None:
            value = lax.convert_element_type(ravel(ensure_array("ediff1d", value)), flat.dtype)
            parts.insert(place, value)
    return concatenate(parts) if len(parts) > 1 else parts[0]


@jitted(static_argnames=("axis", "edge_order"))
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """The slopes of `f` along each axis: central differences, one-sided at the edges.

    varargs: the spacing, one for all axes or one for each: a number, or the coordinates.
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    a, *spacing = (as_array(x) for x in promote_dtypes_inexact(*ensure_arrays(
        "gradient", f, *varargs)))  # fmt: skip
    axes = canonical_axes(axis, a.ndim)
    if not axes:
        return []
    if min(a.shape[i] for i in axes) < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are "
            "required."
        )
    if len(spacing) not in (0, 1, len(axes)):
        raise TypeError(f"Invalid number of spacing arguments {len(spacing)} for axis={axis}")
    steps: Sequence[Any] = [1.0] * len(axes)
    if spacing:
        steps = spacing * len(axes) if len(spacing) == 1 else spacing
    found = [_slope(a, h, i) for i, h in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else found


def _slope(a: Any, h: Any, axis: int) -> Any:
    size = a.shape[axis]

    def part(x: Any, start: int, stop: int) -> Any:
        return lax.slice_in_dim(x, start, stop, axis=axis)

    first = part(a, 1, 2) - part(a, 0, 1)
    last = part(a, size - 1, size) - part(a, size - 2, size - 1)
    if np.ndim(h) == 0:
        inner = (part(a, 2, size) - part(a, 0, size - 2)) * 0.5 / h
        return concatenate((first / h, inner, last / h), axis=axis)
    if np.ndim(h) != 1:
        raise ValueError("Spacing arrays must be 1D arrays or scalars.")
    if h.shape[0] != size:
        raise ValueError(
            "Spacing arrays must have the same length as the dimension along which the gradient is "
            "calculated."
        )
    x = lax.reshape(h, tuple(size if i == axis else 1 for i in range(a.ndim)))
    gaps = part(x, 1, size) - part(x, 0, size - 1)
    before, after = part(gaps, 0, size - 2), part(gaps, 1, size - 1)
    inner = (
        -after / (before * (before + after)) * part(a, 0, size - 2)
        + (after - before) / (before * after) * part(a, 1, size - 1)
        + before / (after * (before + after)) * part(a, 2, size)
    )
    return concatenate(
        (first / part(gaps, 0, 1), inner, last / part(gaps, size - 2, size - 1)), axis=axis
    )


@jitted(static_argnames="axis")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of y along `axis` by the trapezoidal rule, at places x or with spacing dx."""
    if x is None:
        y = as_array(*promote_dtypes_inexact(ensure_array("trapezoid", y)))
        gaps = as_array(dx)
        if gaps.ndim:
            gaps = lax.expand_dims(gaps, range(y.ndim - gaps.ndim))
            gaps = moveaxis(gaps, axis, -1)
    else:
        y, x = promote_dtypes_inexact(*ensure_arrays("trapezoid", y, x))
        gaps = diff(x) if x.ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1)
    if gaps.ndim == 0 or gaps.shape[-1] == 1:
        gap = gaps if gaps.ndim == 0 else gaps[..., 0]
        return gap * (y.sum(-1) - 0.5 * (y[..., 0] + y[..., -1]))
    return 0.5 * (gaps * (y[..., 1:] + y[..., :-1])).sum(-1)


@jitted(static_argnames="axis")
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """p with multiples of `period` added so that no step along `axis` exceeds half of it."""
    p, period = promote_dtypes(ensure_array("unwrap", p), period)
    if dtypes.is_complex(p.dtype):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    axis = canonical_axis(axis, p.ndim)
    size = p.shape[axis]
    if size == 0:
        return p
    period = as_array(period)
    discont = period / 2 if discont is None else discont
    half = period // 2 if dtypes.is_integer(p.dtype) else period / 2
    step = diff(p, axis=axis)
    wrapped = (step + half) % period - half
    wrapped = where((wrapped == -half) & (step > 0), half, wrapped)
    correction = where(abs(step) < discont, constant_like(step, 0), wrapped - step)
    rest = lax.slice_in_dim(p, 1, size, axis=axis) + cumsum(correction, axis=axis)
    return concatenate((lax.slice_in_dim(p, 0, 1, axis=axis), rest), axis=axis)
