"""Cholesky factors of positive definite matrices, their updates, and symmetric products.

cholesky(x) = L with x = L L^H, reads the lower triangle of x, and is nan where x is not positive
definite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.ir import dims
from frit.primitives.arithmetic import div
from frit.primitives.elementwise import add, constant, floating, times
from frit.primitives.linalg import lapack
from frit.primitives.linalg.matrices import (
    Failed,
    check_square,
    dtype_of,
    identity,
    lower_triangle,
    matrix_primitive,
    product,
    shape_of,
    transposed,
)
from frit.primitives.linalg.recurrences import update_factor
from frit.primitives.linalg.triangular import solve_triangular
from frit.transforms.linear import broadcast_in_dim, is_zero
from frit.transforms.rules import zero_tangent

# ----------------------------------------------------------------------------------------- cholesky


def _cholesky_shape(shape: Any) -> Any:
    check_square(shape, f"The input to cholesky must be a square matrix. Got shape {shape}.")
    return shape


def _cholesky_evaluate(x: Any) -> Any:
    if not x.size:
        return x
    factor, info = lapack.routine(x.dtype, "potrf")(x.T, lower=0, clean=1)
    if info:
        raise Failed
    return factor.T


def _lower_half(x: Any) -> Any:
    """The lower triangle with its diagonal halved: x = h + h^H for Hermitian x."""
    lower = lower_triangle(x)
    n = shape_of(x)[-1]
    halves = add(constant(x, 1), identity(dtype_of(x), n, n))
    if len(shape_of(x)) > 2:
        rank = len(shape_of(x))
        halves = broadcast_in_dim(
            halves, shape=shape_of(x), broadcast_dimensions=(rank - 2, rank - 1), sharding=None
        )
    return div(lower, halves)


def _cholesky_jvp(primals: Any, tangents: Any) -> Any:
    """L' = L h(L^-1 x' L^-H), h the lower half: Murray, "Differentiation of the Cholesky
    decomposition", 2016."""
    (x,), (t,) = primals, tangents
    factor = lower_triangle(cholesky(x))
    if is_zero(t):
        return factor, zero_tangent(factor)
    half = solve_triangular(
        factor, t, left_side=False, lower=True, transpose_a=True, conjugate_a=True
    )
    whole = solve_triangular(factor, half, left_side=True, lower=True)
    return factor, product(factor, _lower_half(whole))


cholesky = matrix_primitive(
    "cholesky", ranks=(2,), shapes=_cholesky_shape, evaluate=_cholesky_evaluate, jvp=_cholesky_jvp
)


# ---------------------------------------------------------------------------------- cholesky_update


def _update_shape(r_shape: Any, w_shape: Any) -> Any:
    if not dims.same(r_shape[0], r_shape[1]) or not dims.same(w_shape[0], r_shape[1]):
        raise ValueError(
            "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the "
            f"same size as input. Got shapes {r_shape} and {w_shape} instead"
        )
    return r_shape


def _update_evaluate(r: Any, w: Any) -> Any:
    """A rotation of each row of R with w removes one element of w: R'^T R' = R^T R + w w^T."""
    r, w = np.array(r), np.array(w)
    for k in range(len(w)):
        length = np.hypot(r[k, k], w[k])
        cosine, sine = (r[k, k] / length, w[k] / length) if w[k] else (1, 0)
        r[k], w = cosine * r[k] + sine * w, cosine * w - sine * r[k]
    return r


cholesky_update = matrix_primitive(
    "cholesky_update",
    ranks=(2, 1),
    shapes=_update_shape,
    evaluate=_update_evaluate,
    kinds=((floating,), (floating,)),
    decompose=update_factor,
    batched=False,
)


# -------------------------------------------------------------------------------- symmetric_product


def _symmetric_shape(a_shape: Any, c_shape: Any, **_: Any) -> Any:
    if not dims.same(a_shape[0], c_shape[1]) or not dims.same(c_shape[0], c_shape[1]):
        raise ValueError(
            "symmetric_update expects a rectangular matrix of shape (m, n) and a square matrix of "
            f"shape (n, n). Got shapes {a_shape} and {c_shape}."
        )
    return c_shape


def _symmetric_evaluate(a: Any, c: Any, *, alpha: Any, beta: Any) -> Any:
    return (alpha * (a @ a.T) + beta * c).astype(c.dtype)


def _symmetric_decompose(a: Any, c: Any, *, alpha: Any, beta: Any) -> Any:
    square = times(constant(a, alpha), product(a, transposed(a)))
    return add(square, times(constant(c, beta), c))


symmetric_product = matrix_primitive(
    "symmetric_product",
    ranks=(2, 2),
    shapes=_symmetric_shape,
    evaluate=_symmetric_evaluate,
    kinds=((floating,), (floating,)),
    decompose=_symmetric_decompose,
)
