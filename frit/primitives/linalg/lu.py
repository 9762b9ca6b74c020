"""LU factors with row interchanges: x[permutation] = L U.

lu(x) = (L below and U on and above the diagonal, pivots, permutation).  In step i of the
elimination, rows i and pivots[i] were exchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.primitives.elementwise import add
from frit.primitives.linalg import lapack
from frit.primitives.linalg.matrices import (
    INT32,
    Failed,
    dtype_of,
    identity,
    identity_like,
    lower_triangle,
    matrix_primitive,
    part,
    product,
    rows_in_order,
    shape_of,
    smaller,
    upper_triangle,
)
from frit.primitives.linalg.triangular import solve_triangular
from frit.primitives.padding import padded_with_zeros
from frit.primitives.shapes import iota
from frit.primitives.sorting import sort
from frit.transforms.linear import broadcast_in_dim, is_zero
from frit.transforms.rules import not_differentiable, zero_tangent

# ------------------------------------------------------------------------ lu_pivots_to_permutation


def _permutation_shape(shape: Any, *, permutation_size: Any) -> Any:
    if not permutation_size >= shape[0]:
        raise ValueError(
            f"Output permutation size {permutation_size} has to exceed the trailing dimension of "
            f"the pivots. Got pivots size {shape[0]}"
        )
    return (permutation_size,)


def _permutation_evaluate(pivots: Any, *, permutation_size: int) -> Any:
    permutation = np.arange(permutation_size, dtype=INT32)
    for i, j in enumerate(pivots):
        permutation[[i, j]] = permutation[[j, i]]
    return permutation


class _Int32:
    name, members = "int32", (INT32,)


lu_pivots_to_permutation = matrix_primitive(
    "lu_pivots_to_permutation",
    ranks=(1,),
    shapes=_permutation_shape,
    evaluate=_permutation_evaluate,
    kinds=((_Int32,),),
    jvp=not_differentiable(lambda: lu_pivots_to_permutation),
)


# ----------------------------------------------------------------------------------------------- lu


def _lu_shapes(shape: Any) -> Any:
    m, n = shape
    return shape, (smaller(m, n),), (m,)


def _lu_evaluate(x: Any) -> Any:
    if x.size:
        factors, pivots, info = lapack.routine(x.dtype, "getrf")(x)
        if info < 0:
            raise Failed
    else:
        factors, pivots = x, np.arange(0, dtype=INT32)
    return factors, pivots, _permutation_evaluate(pivots, permutation_size=x.shape[0])


def _lu_jvp(primals: Any, tangents: Any) -> Any:
    """L' = L low(L^-1 x' U^-1), U' = up(L^-1 x' U^-1) U, of L and U made square."""
    (x,), (t,) = primals, tangents
    results = lu(x)
    factors, pivots, permutation = results
    whole = [zero_tangent(pivots), zero_tangent(permutation)]
    if is_zero(t):
        return results, [zero_tangent(factors), *whole]
    m, n = shape_of(x)[-2:]
    k = smaller(m, n)
    none = ((0, 0, 0),) * (len(shape_of(x)) - 2)
    lower = lower_triangle(part(factors, slice(None), slice(k)), -1)
    lower = padded_with_zeros(lower, (*none, (0, 0, 0), (0, m - k, 0)))
    lower = add(lower, identity_like(lower))
    upper = upper_triangle(part(factors, slice(k), slice(None)))
    upper = padded_with_zeros(upper, (*none, (0, n - k, 0), (0, 0, 0)))
    if n != k:
        extra = padded_with_zeros(identity(dtype_of(x), n - k, n - k), ((k, 0, 0),) * 2)
        rank = len(shape_of(x))
        extra = broadcast_in_dim(
            extra,
            shape=shape_of(upper),
            broadcast_dimensions=(rank - 2, rank - 1),
            sharding=None,
        )
        upper = add(upper, extra)
    left = solve_triangular(
        lower, rows_in_order(t, permutation), left_side=True, lower=True, unit_diagonal=True
    )
    both = solve_triangular(upper, left, left_side=False, lower=False)
    of_lower = product(lower, lower_triangle(both, -1))
    of_upper = product(upper_triangle(both), upper)
    return results, [add(of_lower, of_upper), *whole]


lu = matrix_primitive(
    "lu",
    ranks=(2,),
    shapes=_lu_shapes,
    element_types=lambda dtype: (dtype, INT32, INT32),
    evaluate=_lu_evaluate,
    multiple_results=True,
    jvp=_lu_jvp,
)


def solve_with_lu(factors: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """X with A X = b (trans = 0), A^T X = b (1) or A^H X = b (2), for A[permutation] = L U.

    b: columns; all operands have the same batch.
    """
    if trans == 0:
        x = rows_in_order(b, permutation)
        x = solve_triangular(factors, x, left_side=True, lower=True, unit_diagonal=True)
        return solve_triangular(factors, x, left_side=True, lower=False)
    if trans not in (1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    op = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
    x = solve_triangular(factors, b, lower=False, **op)
    x = solve_triangular(factors, x, lower=True, unit_diagonal=True, **op)
    return rows_in_order(x, _inverse_of(permutation))


def _inverse_of(permutation: Any) -> Any:
    shape = shape_of(permutation)
    axis = len(shape) - 1
    places = iota(dtype=INT32, shape=shape, dimension=axis, sharding=None)
    return sort(permutation, places, dimension=axis, is_stable=True, num_keys=1)[1]
