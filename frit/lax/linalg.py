"""jax.lax.linalg: decompositions of matrices and solves with them, over batches of matrices."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

from frit.api.jitting import jit
from frit.api.mapping import vmap
from frit.ir import dims, dtypes
from frit.ir.primitive import under_trace
from frit.lax.contraction import dot_general
from frit.lax.conversion import stop_gradient
from frit.lax.operands import as_array, dtype_of, rank_of, shape_of
from frit.lax.polar import qdwh
from frit.lax.shapes import broadcast_in_dim, broadcast_shapes, expand_dims, squeeze
from frit.lax.solves import custom_linear_solve
from frit.primitives.elementwise import add
from frit.primitives.linalg import solve_with_lu
from frit.primitives.linalg.cholesky import cholesky as cholesky_p
from frit.primitives.linalg.cholesky import cholesky_update as cholesky_update_p
from frit.primitives.linalg.cholesky import symmetric_product as symmetric_product_p
from frit.primitives.linalg.eigen import EighImplementation, EigImplementation
from frit.primitives.linalg.eigen import eig as eig_p
from frit.primitives.linalg.eigen import eigh as eigh_p
from frit.primitives.linalg.eigen import hessenberg as hessenberg_p
from frit.primitives.linalg.eigen import schur as schur_p
from frit.primitives.linalg.eigen import tridiagonal as tridiagonal_p
from frit.primitives.linalg.lu import lu as lu_p
from frit.primitives.linalg.lu import lu_pivots_to_permutation as lu_pivots_to_permutation_p
from frit.primitives.linalg.matrices import lower_triangle, symmetrized, transposed
from frit.primitives.linalg.qr import geqp3 as geqp3_p
from frit.primitives.linalg.qr import geqrf as geqrf_p
from frit.primitives.linalg.qr import householder_product as householder_product_p
from frit.primitives.linalg.qr import ormqr as ormqr_p
from frit.primitives.linalg.qr import qr as qr_p
from frit.primitives.linalg.svd import SvdAlgorithm
from frit.primitives.linalg.svd import svd as svd_p
from frit.primitives.linalg.triangular import triangular_solve as triangular_solve_p
from frit.primitives.linalg.triangular import tridiagonal_solve as tridiagonal_solve_p
from frit.primitives.precision import Precision

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_p",
    "cholesky_update",
    "cholesky_update_p",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "geqp3",
    "geqp3_p",
    "geqrf",
    "geqrf_p",
    "hessenberg",
    "hessenberg_p",
    "householder_product",
    "householder_product_p",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "lu_solve",
    "ormqr",
    "ormqr_p",
    "qdwh",
    "qr",
    "qr_p",
    "schur",
    "schur_p",
    "solve",
    "svd",
    "svd_p",
    "symmetric_product",
    "symmetric_product_p",
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]

# ----------------------------------------------------------------------------------- decompositions


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """L, lower triangular with a positive diagonal, with x = L L^H.

    x: (…, n, n), Hermitian and positive definite, else the result is nan.  symmetrize_input: factor
    (x + x^H) / 2, so that derivatives treat both triangles alike; otherwise the upper is not read.
    """
    x = as_array(x)
    return lower_triangle(cholesky_p(symmetrized(x) if symmetrize_input else x))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper factor of R^T R + w w^T, for an upper triangular R: (n, n) and (n,)."""
    return cholesky_update_p(r_matrix, w_vector)


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """[eigenvalues, left vectors, right vectors] of matrices (…, n, n), those that are asked for.

    enable_eigvec_derivs: vectors are differentiable, as if the largest component of each stayed
    real, which holds for distinct eigenvalues only.
    """
    if use_magma is not None:
        warnings.warn(
            "use_magma is deprecated, please use implementation=EigImplementation.MAGMA instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    return eig_p(
        x,
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=compute_right_eigenvectors,
        enable_eigvec_derivs=enable_eigvec_derivs,
        implementation=implementation,
    )


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """(eigenvectors as columns, ascending real eigenvalues) of Hermitian matrices (…, n, n).

    lower: which triangle is read where not symmetrize_input.
    """
    x = as_array(x)
    v, w = eigh_p(
        symmetrized(x) if symmetrize_input else x,
        lower=lower,
        sort_eigenvalues=sort_eigenvalues,
        subset_by_index=subset_by_index,
        algorithm=implementation,
    )
    return v, w


def hessenberg(a: Any) -> tuple[Any, Any]:
    """(H with the reflectors below its first subdiagonal, taus) of matrices (…, n, n)."""
    form, taus = hessenberg_p(a)
    return form, taus


def householder_product(a: Any, taus: Any) -> Any:
    """The first columns of the product of reflectors, as geqrf returns them: (…, m, n), (…, k)."""
    return householder_product_p(a, taus)


def lu(x: Any) -> tuple[Any, Any, Any]:
    """(L and U in one matrix, pivots, permutation) with x[permutation] = L U, of (…, m, n)."""
    factors, pivots, permutation = lu_p(x)
    return factors, pivots, permutation


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The permutation of `permutation_size` rows that the exchanges `pivots` amount to."""
    return lu_pivots_to_permutation_p(pivots, permutation_size=operator.index(permutation_size))


def geqrf(a: Any) -> tuple[Any, Any]:
    """(R above, Householder reflectors below, their taus), as LAPACK stores them."""
    packed, taus = geqrf_p(a)
    return packed, taus


def geqp3(a: Any, jpvt: Any, *, use_magma: bool | None = None) -> tuple[Any, Any, Any]:
    """As geqrf with columns exchanged; the pivots count from 1, 0 marks a column free to move."""
    packed, pivots, taus = geqp3_p(a, jpvt, use_magma=use_magma)
    return packed, pivots, taus


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Q c, or c Q where not `left`, for the Q of reflectors of geqrf; Q^H where `transpose`."""
    return ormqr_p(a, taus, c, left=left, transpose=transpose)


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Any, ...]:
    """(Q, R) with x = Q R, or (Q, R, p) with x[:, p] = Q R where `pivoting`; of (…, m, n)."""
    return tuple(qr_p(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma))


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Any, ...]:
    """(T, Z) with x = Z T Z^H and T upper triangular, but for blocks of 2 where x is real."""
    return tuple(
        schur_p(
            x,
            compute_schur_vectors=compute_schur_vectors,
            sort_eig_vals=sort_eig_vals,
            select_callable=select_callable,
        )
    )


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """(U, s, V^H) with x = U diag(s) V^H and s descending; s alone where not compute_uv."""
    found = svd_p(
        x,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
        algorithm=algorithm,
    )
    if not compute_uv:
        return found[0]
    s, u, vh = found
    return u, s, vh


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """(reflectors, diagonal, off-diagonal, taus) of Hermitian matrices (…, n, n)."""
    packed, d, e, taus = tridiagonal_p(as_array(a), lower=lower)
    return packed, d, e, taus


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """alpha A A^T + beta C; its lower triangle on both sides where symmetrize_output."""
    result = symmetric_product_p(a_matrix, c_matrix, alpha=alpha, beta=beta)
    if symmetrize_output:
        result = add(lower_triangle(result), transposed(lower_triangle(result, -1)))
    return result


# ------------------------------------------------------------------------------------------- solves


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """X with op(a) X = b where `left_side`, else X op(a) = b.

    a: (…, n, n), of which one triangle is read; b: a matrix for each, or a vector.  op transposes
    and conjugates.  unit_diagonal: take the diagonal of a as 1.
    """
    is_vector = rank_of(b) == rank_of(a) - 1
    if is_vector:
        b = expand_dims(b, (-1 if left_side else -2,))
    x = triangular_solve_p(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a and dtypes.is_complex(dtype_of(a)),
        unit_diagonal=unit_diagonal,
    )
    return squeeze(x, (-1 if left_side else -2,)) if is_vector else x


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """X with T X = b for tridiagonal matrices T of diagonals (…, n); b: (…, n, k).

    dl[…, 0] and du[…, -1] are not read.  perturb_singular: replace pivots near zero.
    """
    return tridiagonal_solve_p(dl, d, du, b, perturb_singular=perturb_singular)


def _broadcast_batch(x: Any, batch: Any, rank: int) -> Any:
    """`x`, whose last `rank` axes are one member, for a whole batch."""
    shape = shape_of(x)
    wanted = (*batch, *shape[len(shape) - rank :])
    if wanted == shape:
        return x
    return broadcast_in_dim(x, wanted, range(len(wanted) - len(shape), len(wanted)))


def _lu_solve(lu: Any, permutation: Any, b: Any, trans: int) -> Any:
    size, shape = shape_of(lu), shape_of(b)
    if len(size) < 2 or not dims.same(size[-1], size[-2]):
        raise ValueError(f"last two dimensions of LU decomposition must be equal, got shape {size}")
    if len(shape) < 1:
        raise ValueError(f"b matrix must have rank >= 1, got shape {shape}")
    is_vector = len(size) == len(shape) + 1
    if is_vector and not dims.same(shape[-1], size[-1]):
        raise ValueError(
            "When LU decomposition matrix and b have the same number of dimensions, last axis of "
            f"LU decomposition matrix (shape {size}) and b array (shape {shape}) must match"
        )
    if not is_vector and not dims.same(shape[-2], size[-1]):
        raise ValueError(
            "When LU decomposition matrix and b different numbers of dimensions, last axis of LU "
            f"decomposition matrix (shape {size}) and second to last axis of b array (shape "
            f"{shape}) must match"
        )
    if is_vector:
        b = expand_dims(b, (-1,))
    batch = broadcast_shapes(size[:-2], shape_of(permutation)[:-1], shape_of(b)[:-2])
    x = solve_with_lu(
        _broadcast_batch(lu, batch, 2),
        _broadcast_batch(permutation, batch, 1),
        _broadcast_batch(b, batch, 2),
        trans,
    )
    return squeeze(x, (-1,)) if is_vector else x


_traced_lu_solve = jit(_lu_solve, static_argnums=(3,))


def lu_solve(lu: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """x with A x = b (trans = 0), A^T x = b (1) or A^H x = b (2), from the factors of lu(A).

    b: (…, n) or (…, n, k); batches broadcast.
    """
    solve_now = _traced_lu_solve if under_trace() else _lu_solve
    return solve_now(lu, permutation, b, trans)


def _times_vector(a: Any, x: Any) -> Any:
    """a x for each matrix and vector; batches broadcast."""
    batch = broadcast_shapes(shape_of(a)[:-2], shape_of(x)[:-1])
    a, x = _broadcast_batch(a, batch, 2), _broadcast_batch(x, batch, 1)
    matched = tuple(range(len(batch)))
    numbers = (((rank_of(a) - 1,), (rank_of(x) - 1,)), (matched, matched))
    return dot_general(a, x, numbers, precision=Precision.HIGHEST)


def check_solve_shapes(a: Any, b: Any) -> None:
    """ValueError unless a x = b makes sense."""
    shape, right = shape_of(a), shape_of(b)
    rank = len(shape)
    if not (
        rank >= 2
        and len(right) in (rank, rank - 1)
        and dims.same(shape[-1], shape[-2])
        and dims.same(shape[-1], right[rank - 2])
    ):
        raise ValueError(
            "The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or "
            f"b=[..., m]; got a={shape} and b={right}"
        )


def solve_implicitly(
    a: Any, b: Any, solve: Callable[[Any], Any], transpose_solve: Callable[[Any], Any] | None
) -> Any:
    """x with a x = b found by `solve`, differentiated as a solution of that equation.

    transpose_solve: None for a symmetric matrix.  Shapes are as in `solve`.
    """
    vector_or_columns = rank_of(a) == rank_of(b) + 1
    if not under_trace():
        return solve(b)

    def one(right: Any) -> Any:
        return custom_linear_solve(
            lambda x: _times_vector(a, x),
            right,
            solve=lambda _, y: solve(y),
            transpose_solve=None if transpose_solve is None else lambda _, y: transpose_solve(y),
            symmetric=transpose_solve is None,
        )

    if vector_or_columns:
        return one(b)
    return vmap(one, rank_of(b) - 1, max(rank_of(a), rank_of(b)) - 1)(b)


def broadcast_right_side(a: Any, b: Any) -> Any:
    """b with the batch of a."""
    shape = shape_of(b)
    own = (*shape_of(a)[:-1], 1)
    wanted = tuple(m if dims.same(n, 1) else n for m, n in zip(own, shape, strict=False))
    if wanted == shape:
        return b
    return broadcast_in_dim(b, wanted, range(len(shape)))


def solve(a: Any, b: Any) -> Any:
    """x with a x = b; a: (…, m, m), b: (…, m) or (…, m, k).  Differentiates by solving again."""
    check_solve_shapes(a, b)
    b = broadcast_right_side(a, b)
    factors, _, permutation = lu(stop_gradient(a))
    return solve_implicitly(
        a,
        b,
        lambda y: lu_solve(factors, permutation, y, trans=0),
        lambda y: lu_solve(factors, permutation, y, trans=1),
    )
