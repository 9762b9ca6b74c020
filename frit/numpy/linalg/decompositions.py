"""Factors of matrices: cholesky, qr, svd, eig, eigh, and the values alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from frit import lax
from frit.lax import linalg as lax_linalg
from frit.numpy.linalg.batches import jitted
from frit.numpy.operands import ensure_array
from frit.numpy.promotion import promote_args_inexact
from frit.numpy.shapes import matrix_transpose
from frit.numpy.taking import take_along_axis


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    Q: Any
    R: Any


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


def inexact_array(name: str, x: Any) -> Any:
    """`x` as an array of floating or complex numbers.  TypeError if it is not array-like."""
    return promote_args_inexact(name, ensure_array(name, x))[0]


def adjoint(x: Any) -> Any:
    """Each matrix transposed and conjugated."""
    return matrix_transpose(x).conj()


@jitted(static_argnames=("upper", "symmetrize_input"))
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """L with a = L L^H, or the adjoint of L where `upper`; nan where `a` is not positive definite.

    symmetrize_input: factor (a + a^H) / 2; otherwise only the lower triangle is read.
    """
    a = inexact_array("jnp.linalg.cholesky", a)
    factor = lax_linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


@jitted(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """(U, S, Vh) with a = U diag(S) Vh and S descending; S alone where not compute_uv.

    full_matrices: U and Vh are square.  hermitian: `a` is, and eigh computes the result.
    """
    a = inexact_array("jnp.linalg.svd", a)
    if hermitian:
        return _svd_of_hermitian(a, compute_uv, subset_by_index)
    found = lax_linalg.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    return SVDResult(*found) if compute_uv else found


def _svd_of_hermitian(a: Any, compute_uv: bool, subset_by_index: Any) -> Any:
    """Singular values are the sizes of eigenvalues; the signs go to Vh."""
    vectors, values = lax_linalg.eigh(a, subset_by_index=subset_by_index)
    s = lax.abs(values)
    last = s.ndim - 1
    if not compute_uv:
        return lax.rev(lax.sort(s, dimension=last), (last,))
    places = lax.broadcasted_iota("int32", s.shape, last)
    ordered = lax.sort((s, places, lax.sign(values)), dimension=last, num_keys=1)
    s, places, sign = (lax.rev(x, (last,)) for x in ordered)
    u = take_along_axis(vectors, places[..., None, :], axis=-1)
    return SVDResult(u, s, adjoint(u * sign[..., None, :].astype(u.dtype)))


def svdvals(x: Any, /) -> Any:
    """The singular values, descending."""
    return svd(ensure_array("jnp.linalg.svdvals", x), compute_uv=False, hermitian=False)


@jitted(static_argnames=("mode",))
def qr(a: Any, mode: str = "reduced") -> Any:
    """(Q, R) with a = Q R.

    mode: "reduced" (or "full"), Q of min(m, n) columns; "complete", Q square; "r", R alone; "raw",
    Householder reflectors, transposed, and their taus.
    """
    a = inexact_array("jnp.linalg.qr", a)
    if mode == "raw":
        packed, taus = lax_linalg.geqrf(a)
        return QRResult(matrix_transpose(packed), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(
            f"Unsupported QR decomposition mode '{mode}': give 'reduced', 'complete', 'r' or 'raw'."
        )
    q, r = lax_linalg.qr(a, pivoting=False, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def eig(a: Any) -> EigResult:
    """(complex eigenvalues, eigenvectors as columns) of a general square matrix."""
    a = inexact_array("jnp.linalg.eig", a)
    w, v = lax_linalg.eig(a, compute_left_eigenvectors=False)
    return EigResult(w, v)


@jitted
def eigvals(a: Any) -> Any:
    """The complex eigenvalues of a general square matrix."""
    a = inexact_array("jnp.linalg.eigvals", a)
    return lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@jitted(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """(ascending eigenvalues, eigenvectors as columns) of a Hermitian matrix.

    UPLO: the triangle that is read, "L" or "U", where not symmetrize_input.
    """
    a = ensure_array("jnp.linalg.eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    a = inexact_array("jnp.linalg.eigh", a)
    v, w = lax_linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@jitted(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """The ascending eigenvalues of a Hermitian matrix."""
    a = inexact_array("jnp.linalg.eigvalsh", a)
    return eigh(a, UPLO, symmetrize_input=symmetrize_input).eigenvalues
