"""Factors of matrices with SciPy's signatures; what concerns memory and checks is ignored."""

from __future__ import annotations

from functools import partial
from typing import Any

from frit import lax
from frit.api.jitting import jit
from frit.lax import linalg as lax_linalg
from frit.lax.polar import qdwh
from frit.numpy.contraction import matmul
from frit.numpy.creation import asarray, zeros
from frit.numpy.dtype_info import finfo
from frit.numpy.grids import eye, tril, triu
from frit.numpy.joining import stack
from frit.numpy.linalg.batches import jitted
from frit.numpy.linalg.decompositions import adjoint, eigvals
from frit.numpy.promotion import (
    broadcast_to,
    promote_dtypes_complex,
    promote_dtypes_inexact,
    to_complex,
)
from frit.numpy.selection import where
from frit.numpy.ufuncs import abs as abs_
from frit.numpy.ufuncs import hypot
from frit.numpy.vectorize import vectorize

_HIGHEST = lax.Precision.HIGHEST


def _inexact(a: Any) -> Any:
    return promote_dtypes_inexact(asarray(a))[0]


def _product(*factors: Any) -> Any:
    result = factors[0]
    for factor in factors[1:]:
        result = matmul(result, factor, precision=_HIGHEST)
    return result


# ------------------------------------------------------------------------------------- cholesky, lu


@jitted(static_argnames=("lower",))
def _cholesky(a: Any, lower: bool) -> Any:
    a = _inexact(a)
    factor = lax_linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """R with a = R^H R, or L with a = L L^H where `lower`, from that triangle of `a`."""
    return _cholesky(a, lower)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """(the factor of `cholesky`, lower), for cho_solve."""
    return cholesky(a, lower=lower), lower


@jitted(static_argnames=("overwrite_a", "check_finite"))
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """(L and U in one matrix, pivots), for lu_solve."""
    factors, pivots, _ = lax_linalg.lu(_inexact(a))
    return factors, pivots


@jitted(static_argnames=("permute_l", "overwrite_a", "check_finite"))
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """(P, L, U) with a = P L U, or (P L, U) where permute_l; of one matrix."""
    a = _inexact(a)
    factors, _, permutation = lax_linalg.lu(a)
    m, n = a.shape
    k = min(m, n)
    places = lax.broadcasted_iota(permutation.dtype, (m, m), 0)
    real = lax.real(a).dtype if a.dtype.kind == "c" else a.dtype
    p = (permutation[None, :] == places).astype(real)
    lower = tril(factors, -1)[:, :k] + eye(m, k, dtype=a.dtype)
    upper = triu(factors)[:k, :]
    if permute_l:
        return _product(p.astype(a.dtype), lower), upper
    return p, lower, upper


# ----------------------------------------------------------------------------------------------- qr


@jitted(static_argnames=("mode", "pivoting"))
def _qr(a: Any, mode: str, pivoting: bool) -> Any:
    if mode not in ("full", "r", "economic"):
        raise ValueError(
            f"Unsupported QR decomposition mode '{mode}': give 'full', 'r' or 'economic'."
        )
    found = lax_linalg.qr(_inexact(a), pivoting=pivoting, full_matrices=mode != "economic")
    return found[1:] if mode == "r" else found


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """(Q, R) with a = Q R, and P with a[:, P] = Q R where `pivoting`.

    mode: "full", Q square; "economic", Q of min(m, n) columns; "r", (R,) without Q.
    """
    return _qr(a, mode, pivoting)


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """(c Q, R) or, for mode "left", (Q c, R), without making the Q of qr(a, mode="economic").

    conjugate: with the conjugate of Q.  pivoting: (…, R, P).
    """
    a, c = promote_dtypes_inexact(asarray(a), asarray(c))
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    is_vector = c.ndim == 1
    if is_vector:
        c = c[:, None] if mode == "left" else c[None, :]
    m, n = a.shape[-2:]
    k = min(m, n)
    _check_multiplied(a, c, mode, k)
    batch = lax.broadcast_shapes(a.shape[:-2], c.shape[:-2])
    a = broadcast_to(a, batch + a.shape[-2:])
    c = broadcast_to(c, batch + c.shape[-2:])
    order = []
    if pivoting:
        packed, pivots, taus = lax_linalg.geqp3(a, zeros((*batch, n), "int32"))
        order = [pivots - 1]
    else:
        packed, taus = lax_linalg.geqrf(a)
    if m > n and mode == "left":
        c = lax.concatenate((c, zeros((*batch, m - k, c.shape[-1]), c.dtype)), c.ndim - 2)
    if conjugate:
        c = c.mT
    left = (mode == "left") != conjugate
    product = lax_linalg.ormqr(packed, taus, c, left=left, transpose=conjugate)
    if conjugate:
        product = product.mT
    if mode == "right":
        product = product[..., :k]
    return (product.ravel() if is_vector else product, triu(packed[..., :k, :]), *order)


def _check_multiplied(a: Any, c: Any, mode: str, k: int) -> None:
    if mode == "left" and c.shape[-2] != k:
        raise ValueError(
            f"Array shapes are not compatible for Q @ c operation: a has shape {a.shape} so Q has "
            f"{k} columns, but c has {c.shape[-2]} rows (expected {k})."
        )
    if mode == "right" and c.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"Array shapes are not compatible for c @ Q operation: a has shape {a.shape} so Q has "
            f"{a.shape[-2]} rows, but c has {c.shape[-1]} columns (expected {a.shape[-2]})."
        )


# --------------------------------------------------------------------------------- svd, eigh, polar


@jitted(static_argnames=("full_matrices", "compute_uv"))
def _svd(a: Any, *, full_matrices: bool, compute_uv: bool) -> Any:
    return lax_linalg.svd(_inexact(a), full_matrices=full_matrices, compute_uv=compute_uv)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """(U, s, V^H) with a = U diag(s) V^H and s descending; s alone where not compute_uv."""
    return _svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


@jitted(static_argnames=("lower", "eigvals_only", "eigvals", "type"))
def _eigh(a: Any, b: Any, lower: bool, eigvals_only: bool, eigvals: Any, type: int) -> Any:
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    v, w = lax_linalg.eigh(_inexact(a), lower=lower)
    return w if eigvals_only else (w, v)


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """(ascending eigenvalues, eigenvectors as columns) of a Hermitian matrix; or the values."""
    return _eigh(a, b, lower, eigvals_only, eigvals, type)


def _polar_of_one(a: Any, side: str, method: str, eps: Any, max_iterations: Any) -> Any:
    m, n = a.shape
    if method == "svd":
        u, s, vh = lax_linalg.svd(a, full_matrices=False)
        s = s.astype(u.dtype)
        if side == "right":
            return _product(u, vh), _product(adjoint(vh) * s, vh)
        return _product(u, vh), _product(u * s, adjoint(u))
    if method != "qdwh":
        raise ValueError(f"Unknown polar decomposition method {method}.")
    if m >= n and side == "right":
        return qdwh(a, eps=eps, max_iterations=max_iterations)[:2]
    if m < n and side == "left":
        unitary, positive = qdwh(adjoint(a), eps=eps, max_iterations=max_iterations)[:2]
        return adjoint(unitary), adjoint(positive)
    raise NotImplementedError(
        "method='qdwh' only supports mxn matrices where m < n where side='right' and m >= n "
        f"side='left', got {a.shape} with side={side!r}"
    )


@partial(jit, static_argnames=("side", "method", "eps", "max_iterations"))
def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """(U, P) with a = U P, U of orthonormal columns, P >= 0; a = P U for side "left".

    method: "qdwh", for full rank, m >= n on the right and m < n on the left; or "svd".
    """
    a = _inexact(a)
    if a.ndim < 2:
        raise ValueError("The input `a` must be at least a 2-D array.")
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    one = partial(_polar_of_one, side=side, method=method, eps=eps, max_iterations=max_iterations)
    square = "(n,n)" if side == "right" else "(m,m)"
    return vectorize(one, signature=f"(m,n)->(m,n),{square}")(a)


# -------------------------------------------------------------------------------- schur, hessenberg


@jitted(static_argnames=("output",))
def _schur(a: Any, output: str) -> tuple[Any, Any]:
    a = _inexact(a)
    return lax_linalg.schur(a.astype(to_complex(a.dtype)) if output == "complex" else a)


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """(T, Z) with a = Z T Z^H, T upper triangular: for "real" up to blocks of 2 rows."""
    if output not in ("real", "complex"):
        raise ValueError(
            f"Expected 'output' to be either 'real' or 'complex', got output={output!r}."
        )
    return _schur(a, output)


def _rotated(m: Any, form: Any, vectors: Any) -> tuple[Any, Any]:
    """The form with the block of rows m - 1 and m made triangular by a rotation."""
    n = form.shape[0]
    rows = lax.dynamic_slice_in_dim(form, m - 1, 2, 0)
    block = lax.dynamic_slice_in_dim(rows, m - 1, 2, 1)
    shift = eigvals(block)[0] - block[1, 1]
    below = block[1, 0]
    length = hypot(abs_(shift), abs_(below)).astype(form.dtype)
    cosine, sine = shift / length, below / length
    turn = stack([stack([cosine.conj(), sine]), stack([-sine, cosine])])
    places = lax.iota("int32", n)
    from_block, to_block = places >= m - 1, (places <= m)[:, None]
    rows = where(from_block, _product(turn, where(from_block, rows, 0)), rows)
    form = lax.dynamic_update_slice_in_dim(form, rows, m - 1, 0)
    columns = lax.dynamic_slice_in_dim(form, m - 1, 2, 1)
    columns = where(to_block, _product(where(to_block, columns, 0), adjoint(turn)), columns)
    form = lax.dynamic_update_slice_in_dim(form, columns, m - 1, 1)
    moved = _product(lax.dynamic_slice_in_dim(vectors, m - 1, 2, 1), adjoint(turn))
    return form, lax.dynamic_update_slice_in_dim(vectors, moved, m - 1, 1)


def _complex_schur_of_one(form: Any, vectors: Any) -> tuple[Any, Any]:
    n = form.shape[0]
    eps = finfo(form.dtype).eps

    def step(i: Any, state: Any) -> Any:
        m = n - i
        form, vectors = state
        near = abs_(form[m - 1, m - 1]) + abs_(form[m, m])
        coupled = abs_(form[m, m - 1]) > eps * near
        form, vectors = lax.cond(coupled, _rotated, lambda _, t, z: (t, z), m, form, vectors)
        return form.at[m, m - 1].set(0), vectors

    return lax.fori_loop(1, n, step, (form, vectors)) if n > 1 else (form, vectors)


@partial(jit, static_argnames=("check_finite",))
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form of Z T Z^T: the blocks of the real form T made triangular."""
    T, Z = promote_dtypes_complex(asarray(T), asarray(Z))
    for name, x in (("T", T), ("Z", Z)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Input '{name}' must be square.")
    if T.shape[-1] != Z.shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {Z.shape} vs. T: {T.shape}")
    return vectorize(_complex_schur_of_one, signature="(n,n),(n,n)->(n,n),(n,n)")(T, Z)


@jitted(static_argnames=("calc_q", "check_finite", "overwrite_a"))
def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """H, zero below its first subdiagonal, with a = Q H Q^H; (H, Q) where calc_q."""
    a = _inexact(a)
    n = a.shape[-1]
    if n == 0:
        return (a, a) if calc_q else a
    packed, taus = lax_linalg.hessenberg(a)
    form = triu(packed, -1)
    if not calc_q:
        return form
    inner = lax_linalg.householder_product(packed[..., 1:, :-1], taus)
    whole = lax.pad(inner, inner.dtype.type(0), ((0, 0, 0),) * (inner.ndim - 2) + ((1, 0, 0),) * 2)
    return form, whole.at[..., 0, 0].set(1)
