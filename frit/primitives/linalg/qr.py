"""QR factors by Householder reflectors: x = q r, with q^H q = 1 and r upper triangular.

geqrf(x) = (r with the reflectors v_i below it, tau); q = product of 1 - tau_i v_i v_i^H.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.primitives.conversion import convert, real
from frit.primitives.elementwise import add, integer, neg, sub, times
from frit.primitives.linalg import lapack
from frit.primitives.linalg.lu import lu, solve_with_lu
from frit.primitives.linalg.matrices import (
    INEXACT,
    INT32,
    adjoint,
    dtype_of,
    identity_like,
    lower_triangle,
    matrix_primitive,
    part,
    product,
    rows_in_order,
    shape_of,
    smaller,
    transposed,
)
from frit.primitives.linalg.triangular import solve_triangular
from frit.primitives.padding import padded_with_zeros
from frit.primitives.shapes import concatenate
from frit.transforms.linear import is_zero
from frit.transforms.rules import zero_tangent

_ALL = slice(None)


def _work(found: Any) -> Any:
    """The results of a routine but for its last two, the workspace and the status."""
    return found[:-2]


# ----------------------------------------------------------------------------------- the reflectors


def _geqrf_evaluate(x: Any) -> Any:
    if not x.size:
        return x, np.zeros(0, x.dtype)
    return _work(lapack.routine(x.dtype, "geqrf")(x, lwork=x.shape[1] * lapack.BLOCK))


geqrf = matrix_primitive(
    "geqrf",
    ranks=(2,),
    shapes=lambda shape: (shape, (smaller(*shape),)),
    evaluate=_geqrf_evaluate,
    multiple_results=True,
)


def _geqp3_evaluate(x: Any, pivots: Any, **_: Any) -> Any:
    """Columns with a pivot that is not 0 are moved to the front, and the others chosen by size."""
    m, n = x.shape
    order, fixed = np.arange(n), 0
    for j in np.flatnonzero(pivots):
        order[fixed], order[j] = order[j], order[fixed]
        fixed += 1
    k = min(fixed, m)
    packed, taus = np.array(x[:, order]), np.zeros(min(m, n), x.dtype)
    if k:
        packed[:, :k], taus[:k] = _geqrf_evaluate(packed[:, :k])
        packed[:, k:] = _ormqr_evaluate(
            packed[:, :k], taus[:k], packed[:, k:], left=True, transpose=True
        )
    if k < min(m, n):
        size = 2 * (n - k) + (n - k + 1) * lapack.BLOCK
        rest, chosen, of_rest = _work(lapack.routine(x.dtype, "geqp3")(packed[k:, k:], lwork=size))
        packed[:k, k:] = packed[:k, k:][:, chosen - 1]
        packed[k:, k:], taus[k:] = rest, of_rest
        order[k:] = order[k:][chosen - 1]
    return packed, order + 1, taus


geqp3 = matrix_primitive(
    "geqp3",
    ranks=(2, 1),
    shapes=lambda shape, pivots, **_: (shape, pivots, (smaller(*shape),)),
    element_types=lambda dtype, **_: (dtype, INT32, dtype),
    evaluate=_geqp3_evaluate,
    kinds=(INEXACT, (integer,)),
    multiple_results=True,
)


def _product_shape(a_shape: Any, taus_shape: Any) -> Any:
    m, n = a_shape
    if m < n:
        raise ValueError(
            "The first argument to householder_product must have at least as many rows as "
            f"columns, got shape {a_shape}"
        )
    if taus_shape[0] > smaller(m, n):
        raise ValueError(
            "The second argument to householder_product must not have more rows than the minimum "
            "of the first argument's rows and columns."
        )
    return a_shape


def _product_evaluate(a: Any, taus: Any) -> Any:
    if not a.size:
        return a
    if not taus.size:
        return np.eye(*a.shape, dtype=a.dtype)
    return _work(
        lapack.routine(a.dtype, "orgqr", "ungqr")(a, taus, lwork=a.shape[1] * lapack.BLOCK)
    )[0]


householder_product = matrix_primitive(
    "householder_product", ranks=(2, 1), shapes=_product_shape, evaluate=_product_evaluate
)


def _ormqr_shape(
    a_shape: Any, taus_shape: Any, c_shape: Any, *, left: bool, transpose: bool
) -> Any:
    if not dims.same(c_shape[0 if left else 1], a_shape[0]):
        side = "rows as" if left else "columns as"
        more = "" if left else " has rows"
        raise ValueError(
            f"ormqr with left={left} expects c to have the same number of {side} the Householder "
            f"matrix a{more}. Got a shape {a_shape} and c shape {c_shape}."
        )
    return c_shape


def _ormqr_evaluate(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    if not c.size or not taus.size:
        return c
    adjoint_letter = "C" if a.dtype.kind == "c" else "T"
    found = lapack.routine(a.dtype, "ormqr", "unmqr")(
        "L" if left else "R",
        adjoint_letter if transpose else "N",
        np.asfortranarray(a[:, : len(taus)]),
        taus,
        c,
        (max(c.shape) + lapack.BLOCK + 1) * lapack.BLOCK,
    )
    return _work(found)[0]


ormqr = matrix_primitive("ormqr", ranks=(2, 1, 2), shapes=_ormqr_shape, evaluate=_ormqr_evaluate)


# ----------------------------------------------------------------------------------------------- qr


def _qr_shapes(shape: Any, *, pivoting: bool, full_matrices: bool, **_: Any) -> Any:
    m, n = shape
    k = m if full_matrices else smaller(m, n)
    return ((m, k), (k, n), (n,)) if pivoting else ((m, k), (k, n))


def _qr_evaluate(x: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any = None) -> Any:
    m, n = x.shape
    k = m if full_matrices else min(m, n)
    if not x.size:
        none = [np.zeros(n, INT32)] if pivoting else []
        return [np.eye(m, k, dtype=x.dtype), np.zeros((k, n), x.dtype), *none]
    if pivoting:
        packed, order, taus = _geqp3_evaluate(x, np.zeros(n, INT32))
    else:
        packed, taus = _geqrf_evaluate(x)
    basis = np.zeros((m, k), x.dtype)
    basis[:, : min(k, n)] = packed[:, :k]
    q = _product_evaluate(basis, taus)
    return [q, np.triu(packed[:k]), *([order - 1] if pivoting else [])]


def _thin_tangents(q: Any, r: Any, t: Any) -> tuple[Any, Any]:
    """q' and r' of x = q r with as many columns as r is wide.

    With w = q^H x' r^-1, q^H q' = low(w) - low(w)^H + i im(diag w) is anti-Hermitian and
    r' = (w - q^H q') r is upper triangular with a real diagonal: Walter, Lehmann, Lamour, "On
    evaluating higher-order derivatives of the QR decomposition", 2012.
    """
    scaled = solve_triangular(r, t, left_side=False, lower=False)
    w = product(adjoint(q), scaled)
    lower = lower_triangle(w, -1)
    turn = sub(lower, adjoint(lower))
    if dtypes.is_complex(dtype_of(w)):
        imaginary = sub(w, convert(real(w), dtype_of(w)))
        turn = add(turn, times(identity_like(turn), imaginary))
    of_q = add(product(q, sub(turn, w)), scaled)
    return of_q, product(sub(w, turn), r)


def _qr_jvp(
    primals: Any, tangents: Any, *, pivoting: bool, full_matrices: bool, **params: Any
) -> Any:
    (x,), (t,) = primals, tangents
    results = qr(x, pivoting=pivoting, full_matrices=full_matrices, **params)
    if is_zero(t):
        return results, [zero_tangent(y) for y in results]
    q, r, *order = results
    m, n = shape_of(x)[-2:]
    if pivoting:
        t = transposed(rows_in_order(transposed(t), order[0]))
    if m < n:
        of_q, of_r = _wide_tangents(q, r, t)
    elif full_matrices and m != n:
        of_q, of_r = _full_tangents(q, r, t)
    else:
        of_q, of_r = _thin_tangents(q, r, t)
    return results, [of_q, of_r, *map(zero_tangent, order)]


def _wide_tangents(q: Any, r: Any, t: Any) -> tuple[Any, Any]:
    """The square front decides q; what is right of it follows: r2' = q^H (x2' - q' r2)."""
    m = shape_of(q)[-2]
    front, rest = slice(m), slice(m, None)
    of_q, of_front = _thin_tangents(q, part(r, _ALL, front), part(t, _ALL, front))
    moved = sub(part(t, _ALL, rest), product(of_q, part(r, _ALL, rest)))
    of_rest = product(adjoint(q), moved)
    return of_q, concatenate(of_front, of_rest, dimension=len(shape_of(q)) - 1)


def _full_tangents(q: Any, r: Any, t: Any) -> tuple[Any, Any]:
    """The derivative of the columns of q beyond those of x, as LAPACK's reflectors choose them.

    q = [q1 q2] is a product of n reflectors, so q - 1 has rank n: with z = q_pn (q_nn - 1)^-1,
    q2 = [0; 1] + (q1 - [1; 0]) z^H, whose derivative is taken here.
    """
    m, n = shape_of(q)[-2], shape_of(r)[-1]
    axis = len(shape_of(q)) - 1
    front, rest = slice(n), slice(n, None)
    thin = part(q, _ALL, front)
    of_thin, of_r = _thin_tangents(thin, part(r, front, _ALL), t)
    top = part(thin, front, _ALL)
    factors, _, permutation = lu(sub(top, identity_like(top)))
    z_adjoint = solve_with_lu(factors, permutation, adjoint(part(thin, rest, _ALL)), trans=2)
    z = adjoint(z_adjoint)
    change = sub(part(of_thin, rest, _ALL), product(z, part(of_thin, front, _ALL)))
    carried = add(thin, product(part(q, _ALL, rest), z))
    of_rest = add(product(of_thin, z_adjoint), neg(product(carried, adjoint(change))))
    none = ((0, 0, 0),)
    padding = (*none * (axis - 1), (0, m - n, 0), *none)
    return concatenate(of_thin, of_rest, dimension=axis), padded_with_zeros(of_r, padding)


qr = matrix_primitive(
    "qr",
    ranks=(2,),
    shapes=_qr_shapes,
    element_types=lambda dtype, *, pivoting, **_: (dtype, dtype, INT32)[: 2 + pivoting],
    evaluate=_qr_evaluate,
    multiple_results=True,
    jvp=_qr_jvp,
)
