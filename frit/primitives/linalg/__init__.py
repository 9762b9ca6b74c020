"""Decompositions of matrices and solves with them, by LAPACK, over batches of matrices."""

from frit.primitives.linalg.cholesky import cholesky, cholesky_update, symmetric_product
from frit.primitives.linalg.eigen import eig, eigh, hessenberg, schur, tridiagonal
from frit.primitives.linalg.lu import lu, lu_pivots_to_permutation, solve_with_lu
from frit.primitives.linalg.qr import geqp3, geqrf, householder_product, ormqr, qr
from frit.primitives.linalg.svd import svd
from frit.primitives.linalg.triangular import triangular_solve, tridiagonal_solve

__all__ = [
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "geqp3",
    "geqrf",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qr",
    "schur",
    "solve_with_lu",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]
