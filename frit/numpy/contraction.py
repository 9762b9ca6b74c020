"""Products of matrices and tensors, each one lax.dot_general."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.ir.types import typeof
from frit.numpy.jitted import jitted
from frit.numpy.operands import canonical_axes, canonical_axis, check_no_out, ensure_arrays
from frit.numpy.promotion import common_type, convert, promote_dtypes, requested_dtype
from frit.numpy.shapes import expand_dims, moveaxis, ravel
from frit.numpy.ufuncs import conjugate, multiply


def result_element(name: str, asked: Any, *args: Any) -> tuple[Any, bool]:
    """The element type of a contraction's result, and whether it is weak."""
    if asked is None:
        return common_type(*args)
    return requested_dtype(asked, name), False


def contract(
    a: Any, b: Any, numbers: Any, precision: Any, element: tuple[Any, bool], **more: Any
) -> Any:
    """dot_general with a result of the element type `element`."""
    dtype, weak_type = element
    result = lax.dot_general(
        a, b, numbers, precision=precision, preferred_element_type=dtype, **more
    )
    return convert(result, dtype, weak_type)


def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The sum of products over the last axis of `a` and the last but one (or only) axis of `b`."""
    a, b = ensure_arrays("dot", a, b)
    element = result_element("dot", preferred_element_type, a, b)
    if a.ndim == 0 or b.ndim == 0:
        summed: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    else:
        summed = ((a.ndim - 1,), (0 if b.ndim == 1 else b.ndim - 2,))
    return contract(a, b, (summed, ((), ())), precision, element)


def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The matrix product over the last two axes, the leading axes broadcast together.

    a: (..., n, k) or (k,); b: (..., k, m) or (k,).  A leading axis of size 1, or a missing one, is
    left out of the contraction; the other operand's axis is then free.
    """
    a, b = ensure_arrays("matmul", a, b)
    for i, x in enumerate((a, b)):
        if x.ndim < 1:
            raise ValueError(
                f"matmul input operand {i} must have ndim at least 1, but it has ndim {x.ndim}"
            )
    element = result_element("matmul", preferred_element_type, a, b)
    lead_a, lead_b = a.shape[:-2], b.shape[:-2]
    rank = max(len(lead_a), len(lead_b))
    lead_a = (None,) * (rank - len(lead_a)) + lead_a
    lead_b = (None,) * (rank - len(lead_b)) + lead_b
    squeeze_a: list[int] = []
    squeeze_b: list[int] = []
    ones: list[int] = []
    batch_a: list[int] = []
    batch_b: list[int] = []
    shared: list[int] = []
    only_a: list[int] = []
    only_b: list[int] = []
    for i, (s, t) in enumerate(zip(lead_a, lead_b, strict=True)):
        at_a, at_b = i - lead_a.count(None), i - lead_b.count(None)
        if s is None:
            only_b.append(i)
        elif t is None:
            only_a.append(i)
        elif _is_one(s) and _is_one(t):
            squeeze_a.append(at_a)
            squeeze_b.append(at_b)
            ones.append(i)
        elif _is_one(s):
            only_b.append(i)
            squeeze_a.append(at_a)
        elif _is_one(t):
            only_a.append(i)
            squeeze_b.append(at_b)
        elif s == t:
            batch_a.append(at_a - len(squeeze_a))
            batch_b.append(at_b - len(squeeze_b))
            shared.append(i)
        else:
            raise ValueError(
                f"Incompatible types for matmul arguments: {typeof(a)} and {typeof(b)}"
            )
    if a.ndim > 1:
        only_a.append(rank)
    if b.ndim > 1:
        only_b.append(rank + (a.ndim > 1))
    order = np.argsort([*shared, *only_a, *only_b])
    is_matrix = b.ndim > 1
    a = lax.squeeze(a, squeeze_a) if squeeze_a else a
    b = lax.squeeze(b, squeeze_b) if squeeze_b else b
    summed = ((a.ndim - 1,), (b.ndim - 1 - is_matrix,))
    numbers = (summed, (tuple(batch_a), tuple(batch_b)))
    result = contract(a, b, numbers, precision, element)
    result = lax.transpose(result, tuple(int(i) for i in order))
    return lax.expand_dims(result, ones) if ones else result


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


@jitted
def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrix times vector: (..., n, m), (..., m) -> (..., n)."""
    x1, x2 = ensure_arrays("matvec", x1, x2)
    return lax.squeeze(matmul(x1, expand_dims(x2, -1)), (-1,)) if x2.ndim > 1 else matmul(x1, x2)


@jitted
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Conjugate of a vector times matrix: (..., n), (..., n, m) -> (..., m)."""
    x1, x2 = ensure_arrays("vecmat", x1, x2)
    x1 = conjugate(x1)
    return lax.squeeze(matmul(expand_dims(x1, -2), x2), (-2,)) if x1.ndim > 1 else matmul(x1, x2)


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of products of all elements, those of `a` conjugated."""
    a, b = ensure_arrays("vdot", a, b)
    if dtypes.is_complex(a.dtype):
        a = conjugate(a)
    return dot(
        ravel(a), ravel(b), precision=precision, preferred_element_type=preferred_element_type
    )


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The sums of products along `axis`, x1 conjugated, the other axes broadcast together."""
    x1, x2 = ensure_arrays("jnp.vecdot", x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"axes must match; got shapes {x1.shape} and {x2.shape} with axis={axis}")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    product = matmul(
        expand_dims(conjugate(x1), -2), expand_dims(x2, -1), precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip
    return lax.squeeze(product, (-2, -1))


def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The sum of products over axes of `a` and `b`: the last and first `axes`, or two lists."""
    a, b = ensure_arrays("tensordot", a, b)
    element = result_element("tensordot", preferred_element_type, a, b)
    if isinstance(axes, (int, np.integer)):
        if axes > min(a.ndim, b.ndim):
            raise TypeError(
                f"Number of tensordot axes (axes {axes}) exceeds input ranks ({a.shape} and "
                f"{b.shape})"
            )
        summed = (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes)))
    elif isinstance(axes, (tuple, list)) and len(axes) == 2:
        summed = _pairs(a, b, *axes)
    else:
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of "
            "ints."
        )
    return contract(a, b, (summed, ((), ())), precision, element)


def _pairs(a: Any, b: Any, first: Any, second: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(first, int) and isinstance(second, int):
        return (canonical_axis(first, a.ndim),), (canonical_axis(second, b.ndim),)
    if not (isinstance(first, (tuple, list)) and isinstance(second, (tuple, list))):
        raise TypeError(
            "tensordot requires both axes lists to be either ints, tuples or lists, got "
            f"{first} and {second}"
        )
    if len(first) != len(second):
        raise TypeError(
            f"tensordot requires axes lists to have equal length, got {first} and {second}."
        )
    return canonical_axes(tuple(first), a.ndim), canonical_axes(tuple(second), b.ndim)


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of products over the last axis of both."""
    a, b = ensure_arrays("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        if preferred_element_type is not None:
            a, b = (lax.convert_element_type(x, preferred_element_type) for x in (a, b))
        return multiply(a, b)
    return tensordot(
        a, b, (-1, -1), precision=precision, preferred_element_type=preferred_element_type
    )


def outer(a: Any, b: Any, out: None = None) -> Any:
    """The products of every element of `a` with every element of `b`."""
    check_no_out("outer", out)
    a, b = promote_dtypes(*ensure_arrays("outer", a, b))
    return multiply(expand_dims(ravel(a), 1), expand_dims(ravel(b), 0))


@jitted
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: blocks of `b`, each multiplied by an element of `a`."""
    a, b = promote_dtypes(*ensure_arrays("kron", a, b))
    rank = max(a.ndim, b.ndim)
    a = lax.expand_dims(a, range(rank - a.ndim))
    b = lax.expand_dims(b, range(rank - b.ndim))
    shape = tuple(s * t for s, t in zip(a.shape, b.shape, strict=True))
    wide_a = lax.expand_dims(a, range(1, 2 * rank, 2))
    wide_b = lax.expand_dims(b, range(0, 2 * rank, 2))
    return lax.reshape(multiply(wide_a, wide_b), shape)


@jitted(static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross product of vectors of 2 or 3 components; its third component alone for 2 and 2."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = ensure_arrays("cross", a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    (a0, a1, a2), (b0, b1, b2) = _components(a), _components(b)
    parts = promote_dtypes(a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)
    return moveaxis(lax.stack(parts, axis=0), 0, axisc)


def _components(a: Any) -> list[Any]:
    first, second = a[..., 0], a[..., 1]
    return [first, second, a[..., 2] if a.shape[-1] == 3 else lax.full_like(first, 0)]
