"""Eigenvalues and the reductions that lead to them: eigh, eig, schur, hessenberg, tridiagonal.

eigh(x) = (v, w) with x v = v w, w ascending, from one triangle of a Hermitian x
eig(x) = (w, left vectors, right vectors) of a general x, complex throughout
schur(x) = (t, z) with x = z t z^H, t upper triangular up to blocks of 2 for real x
hessenberg, tridiagonal: the reduced matrix with the Householder reflectors in its zeros, and taus
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from frit.ir import dims
from frit.ir.primitive import absent
from frit.primitives.arithmetic import abs_, div, integer_pow
from frit.primitives.comparison_and_bits import eq
from frit.primitives.conversion import complex_, conjugate, convert, imag, real
from frit.primitives.elementwise import add, neg, sub, times
from frit.primitives.linalg import lapack
from frit.primitives.linalg.lu import lu, solve_with_lu
from frit.primitives.linalg.matrices import (
    INT32,
    Failed,
    adjoint,
    check_square,
    columns,
    complex_of,
    diagonal_of,
    dtype_of,
    identity_like,
    matrix_primitive,
    product,
    real_part_of,
    real_parts,
    scaled_columns,
    shape_of,
    symmetrized,
    transposed,
)
from frit.primitives.reductions import argmax
from frit.primitives.shapes import iota
from frit.transforms.linear import is_zero, reduce_sum
from frit.transforms.rules import zero_tangent


class EighImplementation(enum.Enum):
    """How eigh is computed; LAPACK's QR iteration is the one on CPUs."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class EigImplementation(enum.Enum):
    """How eig is computed; LAPACK is the one on CPUs."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def _gaps(w: Any) -> Any:
    """w[j] - w[i] in row i and column j, and 1 on the diagonal."""
    n = shape_of(w)[-1]
    rows = columns(w, n)
    return sub(add(identity_like(rows), rows), transposed(rows))


def _inverse_gaps(w: Any) -> Any:
    """1 / (w[j] - w[i]) in row i and column j, and 0 on the diagonal."""
    gaps = _gaps(w)
    return sub(integer_pow(gaps, y=-1), identity_like(gaps))


# --------------------------------------------------------------------------------------------- eigh


def _eigh_shapes(shape: Any, *, subset_by_index: Any, algorithm: Any, **_: Any) -> Any:
    check_square(
        shape,
        f"Argument to symmetric eigendecomposition must have shape [..., n, n], got shape {shape}",
    )
    n = shape[0]
    _check_eigh(n, subset_by_index, algorithm)
    return (n, n), (n,)


def _check_eigh(n: Any, subset_by_index: Any, algorithm: Any) -> None:
    if subset_by_index not in (None, (0, n)):
        raise NotImplementedError("subset_by_index not supported on CPU and GPU")
    if algorithm == EighImplementation.QDWH:
        raise NotImplementedError("QDWH implementation is only supported on TPU")
    if algorithm == EighImplementation.JACOBI:
        raise NotImplementedError("Jacobi implementation is not supported on CPU")


def _eigh_evaluate(
    x: Any, *, lower: bool, subset_by_index: Any, algorithm: Any, sort_eigenvalues: bool
) -> Any:
    if not x.size:
        return x, np.zeros(0)
    n = len(x)
    is_complex = x.dtype.kind == "c"
    size = n * n + 2 * n if is_complex else 2 * n * n + 6 * n + 1
    w, v, info = lapack.routine(x.dtype, "syevd", "heevd")(
        x, lower=lower, lwork=size + n * lapack.BLOCK
    )
    if info:
        raise Failed
    return v, w


def _eigh_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    """w' = diag(p), v' = v (f * p), where p = v^H x' v and f holds the inverse gaps."""
    (x,), (t,) = primals, tangents
    if is_zero(t):
        results = eigh(x, **params)
        return results, [zero_tangent(y) for y in results]
    v, w = results = eigh(symmetrized(x), **params)
    rotated = product(product(adjoint(v), t), v)
    of_v = product(v, times(_inverse_gaps(convert(w, dtype_of(x))), rotated))
    return results, [of_v, diagonal_of(real_parts(rotated))]


eigh = matrix_primitive(
    "eigh",
    ranks=(2,),
    shapes=_eigh_shapes,
    element_types=lambda dtype, **_: (dtype, real_part_of(dtype)),
    evaluate=_eigh_evaluate,
    multiple_results=True,
    jvp=_eigh_jvp,
)


# ---------------------------------------------------------------------------------------------- eig


def _eig_shapes(
    shape: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> Any:
    check_square(shape, f"The input to eig must be a square matrix. Got shape {shape}.")
    return (shape[:1], *(shape,) * (compute_left_eigenvectors + compute_right_eigenvectors))


def _eig_dtypes(
    dtype: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> Any:
    count = 1 + compute_left_eigenvectors + compute_right_eigenvectors
    return (complex_of(dtype),) * count


def _eig_evaluate(
    x: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> Any:
    wanted = compute_left_eigenvectors, compute_right_eigenvectors
    if not x.size:
        return [np.zeros(0), *(x,) * sum(wanted)]
    if not np.isfinite(x).all():
        raise Failed
    *w, left, right, info = lapack.routine(x.dtype, "geev")(x, *wanted)
    if info:
        raise Failed
    vectors = [v for v, asked in zip((left, right), wanted, strict=True) if asked]
    if x.dtype.kind == "c":
        return [w[0], *vectors]
    return [w[0] + 1j * w[1], *(_unpacked(v, w[1]) for v in vectors)]


def _unpacked(v: Any, w_imaginary: Any) -> Any:
    """Complex vectors from real ones: of a conjugate pair, LAPACK gives the real and the imaginary
    part of the first in two columns."""
    result = v.astype(complex_of(v.dtype))
    for j in np.flatnonzero(w_imaginary > 0):
        result[:, j] = v[:, j] + 1j * v[:, j + 1]
        result[:, j + 1] = v[:, j] - 1j * v[:, j + 1]
    return result


def _solved(a: Any, b: Any) -> Any:
    factors, _, permutation = lu(a)
    return solve_with_lu(factors, permutation, b)


def _sum_rows(x: Any) -> Any:
    return reduce_sum(x, axes=(len(shape_of(x)) - 2,), out_sharding=None)


def _of_vectors(w: Any, v: Any, t: Any) -> tuple[Any, Any]:
    """w' and v' of right eigenvectors of norm 1 whose largest component is real.

    v' = v (f * p) + v c, with p = v^-1 x' v; the complex factors c keep the normalization.
    """
    p = product(_solved(v, t), v)
    moved = product(v, times(_inverse_gaps(w), p))
    axis = len(shape_of(v)) - 2
    largest = argmax(abs_(v), axes=(axis,), index_dtype=INT32)
    places = iota(dtype=INT32, shape=shape_of(v), dimension=axis, sharding=None)
    mask = convert(eq(places, columns(largest, shape_of(v)[-2])), dtype_of(v))
    growth = real(_sum_rows(times(conjugate(v), moved)))
    turn = div(imag(_sum_rows(times(mask, moved))), real(_sum_rows(times(mask, v))))
    return diagonal_of(p), add(moved, scaled_columns(v, complex_(neg(growth), neg(turn))))


def _eig_jvp(
    primals: Any,
    tangents: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    **params: Any,
) -> Any:
    (x,), (t,) = primals, tangents
    params |= {
        "compute_left_eigenvectors": compute_left_eigenvectors,
        "enable_eigvec_derivs": enable_eigvec_derivs,
    }
    if is_zero(t):
        results = eig(x, compute_right_eigenvectors=compute_right_eigenvectors, **params)
        return results, [zero_tangent(y) for y in results]
    any_vectors = compute_left_eigenvectors or compute_right_eigenvectors
    if any_vectors and not enable_eigvec_derivs:
        raise NotImplementedError(
            "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the "
            "input that JAX cannot check (see the enable_eigvec_derivs argument to "
            "jax.lax.linalg.eig). Pass enable_eigvec_derivs=True to jax.lax.linalg.eig to opt in. "
            "See https://github.com/jax-ml/jax/issues/2748 for discussion."
        )
    found = eig(x, compute_right_eigenvectors=True, **params)
    w, right = found[0], found[-1]
    t = convert(t, dtype_of(w))
    if not any_vectors:
        change = times(_solved(right, t), transposed(right))
        return [w], [reduce_sum(change, axes=(len(shape_of(change)) - 1,), out_sharding=None)]
    of_w, of_right = _of_vectors(w, right, t)
    results, moved = [w], [of_w]
    if compute_left_eigenvectors:
        results.append(found[1])
        moved.append(_of_vectors(conjugate(w), found[1], adjoint(t))[1])
    if compute_right_eigenvectors:
        results.append(right)
        moved.append(of_right)
    return results, moved


eig = matrix_primitive(
    "eig",
    ranks=(2,),
    shapes=_eig_shapes,
    element_types=_eig_dtypes,
    evaluate=_eig_evaluate,
    multiple_results=True,
    jvp=_eig_jvp,
)


# --------------------------------------------------------------------------------------- reductions

_NO_JVP = "no derivative is known to JAX either; differentiate eigh, eig or qr"


def _schur_shapes(shape: Any, *, compute_schur_vectors: bool, sort_eig_vals: bool, **_: Any) -> Any:
    if sort_eig_vals:
        raise NotImplementedError("The sort feature of LAPACK's gees routine is not implemented.")
    check_square(shape, f"The input to schur must be a square matrix. Got shape {shape}.")
    return (shape,) * (1 + compute_schur_vectors)


def _schur_evaluate(
    x: Any, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> Any:
    if not x.size:
        return (x,) * (1 + compute_schur_vectors)
    found = lapack.routine(x.dtype, "gees")(
        lambda *_: None, x, compute_v=compute_schur_vectors, sort_t=0, lwork=len(x) * lapack.BLOCK
    )
    form, vectors, info = found[0], found[-3], found[-1]
    if info:
        raise Failed
    return (form, vectors)[: 1 + compute_schur_vectors]


schur = matrix_primitive(
    "schur",
    ranks=(2,),
    shapes=_schur_shapes,
    element_types=lambda dtype, *, compute_schur_vectors, **_: (
        (dtype,) * (1 + compute_schur_vectors)
    ),
    evaluate=_schur_evaluate,
    multiple_results=True,
    jvp=absent(_NO_JVP),
)


def _hessenberg_shapes(shape: Any) -> Any:
    check_square(
        shape, f"Argument to Hessenberg reduction must have shape [..., n, n], got shape {shape}"
    )
    return shape, (shape[-1] - 1,)


def _hessenberg_evaluate(x: Any) -> Any:
    if len(x) < 2:
        return x, np.zeros(len(x) - 1, x.dtype)
    form, taus, info = lapack.routine(x.dtype, "gehrd")(
        x, lwork=(len(x) + lapack.BLOCK + 1) * lapack.BLOCK
    )
    if info:
        raise Failed
    return form, taus[: len(x) - 1]


hessenberg = matrix_primitive(
    "hessenberg",
    ranks=(2,),
    shapes=_hessenberg_shapes,
    evaluate=_hessenberg_evaluate,
    multiple_results=True,
    jvp=absent(_NO_JVP),
)


def _tridiagonal_shapes(shape: Any, **_: Any) -> Any:
    if not dims.same(shape[0], shape[1]) or dims.same(shape[1], 0):
        raise ValueError(f"The input to tridiagonal must be a square matrix. Got shape {shape}.")
    n = shape[0]
    return shape, (n,), (n - 1,), (n - 1,)


def _tridiagonal_dtypes(dtype: Any, **_: Any) -> Any:
    return dtype, real_part_of(dtype), real_part_of(dtype), dtype


def _tridiagonal_evaluate(x: Any, *, lower: bool) -> Any:
    *found, info = lapack.routine(x.dtype, "sytrd", "hetrd")(
        x, lower=lower, lwork=len(x) * lapack.BLOCK
    )
    if info:
        raise Failed
    return found


tridiagonal = matrix_primitive(
    "tridiagonal",
    ranks=(2,),
    shapes=_tridiagonal_shapes,
    element_types=_tridiagonal_dtypes,
    evaluate=_tridiagonal_evaluate,
    multiple_results=True,
    jvp=absent(_NO_JVP),
)
