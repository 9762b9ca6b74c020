"""Decompositions by LAPACK: they reconstruct their operand, for every dtype and in batches."""

import numpy as np
import pytest
import scipy.linalg

from frit.codegen import lapack
from frit.config import enable_x64
from frit.ir.types import ShapedArray
from tests.runtime.compiled import compile_checked, trace

DTYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(autouse=True)
def wide_types():
    with enable_x64(True):
        yield


def matrices(*shape, dtype="float32", seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.standard_normal(shape)
    return x.astype(dtype)


def run(function, *arrays):
    """The results of a function of traced operands, compiled."""
    types = [ShapedArray(a.shape, a.dtype) for a in arrays]

    def listed(*xs):
        found = function(*xs)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    return compile_checked(trace(listed, *types)).run(list(arrays))


def close(x, y):
    single = np.dtype(x.dtype).name in ("float32", "complex64")
    np.testing.assert_allclose(x, y, atol=2e-4 if single else 1e-10, rtol=1e-3)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (2, 3)])
class TestEach:
    def test_cholesky(self, dtype, batch):
        x = matrices(*batch, 5, 5, dtype=dtype)
        x = x @ adjoint(x) + 5 * np.eye(5, dtype=dtype)
        (factor,) = run(lapack.cholesky, x)
        close(factor @ adjoint(factor), x)
        assert np.all(np.triu(factor, 1) == 0)

    def test_lu(self, dtype, batch):
        for shape in ((5, 5), (6, 4), (3, 5)):
            x = matrices(*batch, *shape, dtype=dtype)
            factors, pivots, order = run(lapack.lu, x)
            m, n = shape
            k = min(m, n)
            low = np.tril(factors[..., :, :k], -1) + np.eye(m, k, dtype=dtype)
            high = np.triu(factors[..., :k, :])
            close(low @ high, np.take_along_axis(x, order[..., None], axis=-2))
            assert pivots.shape == (*batch, k)

    @pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
    @pytest.mark.parametrize("full", [False, True])
    def test_qr(self, dtype, batch, shape, full):
        x = matrices(*batch, *shape, dtype=dtype)
        q, r = run(lambda x: lapack.qr(x, pivoting=False, full_matrices=full), x)
        assert q.shape[-1] == (shape[0] if full else min(shape))
        close(q @ r, x)
        close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*batch, *q.shape[-1:] * 2)))
        q, r, order = run(lambda x: lapack.qr(x, pivoting=True, full_matrices=full), x)
        close(q @ r, np.take_along_axis(x, order[..., None, :], axis=-1))

    def test_eigh(self, dtype, batch):
        x = matrices(*batch, 5, 5, dtype=dtype)
        x = x + adjoint(x)
        for lower in (True, False):
            one_side = np.tril(x) if lower else np.triu(x)
            vectors, values = run(lambda x, lower=lower: lapack.eigh(x, lower=lower), one_side)
            close(x @ vectors, vectors * values[..., None, :].astype(dtype))
            assert np.all(np.diff(values) >= 0)

    @pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
    @pytest.mark.parametrize("full", [False, True])
    def test_svd(self, dtype, batch, shape, full):
        x = matrices(*batch, *shape, dtype=dtype)
        s, u, v = run(lambda x: lapack.svd(x, full_matrices=full, compute_uv=True), x)
        k = min(shape)
        close((u[..., :k] * s[..., None, :].astype(dtype)) @ v[..., :k, :], x)
        assert u.shape[-1] == (shape[0] if full else k)
        (alone,) = run(lambda x: lapack.svd(x, full_matrices=full, compute_uv=False), x)
        close(alone, s)

    def test_triangular_solve(self, dtype, batch):
        a = matrices(*batch, 4, 4, dtype=dtype) + 4 * np.eye(4, dtype=dtype)
        for left in (True, False):
            b = matrices(*batch, *((4, 3) if left else (3, 4)), dtype=dtype, seed=1)
            for lower in (True, False):
                for turn, conjugate in ((False, False), (True, False), (True, True), (False, True)):
                    for unit in (True, False):
                        (x,) = run(
                            lambda a, b, o=(left, lower, turn, conjugate, unit): (
                                lapack.triangular_solve(
                                    a, b, left_side=o[0], lower=o[1], transpose_a=o[2],
                                    conjugate_a=o[3], unit_diagonal=o[4],
                                )
                            ),
                            a, b,
                        )  # fmt: skip
                        t = np.tril(a) if lower else np.triu(a)
                        if unit:
                            t = t - t * np.eye(4) + np.eye(4)
                        t = np.conj(t) if conjugate else t
                        t = np.swapaxes(t, -1, -2) if turn else t
                        close(t @ x if left else x @ t, b)

    def test_schur_and_hessenberg(self, dtype, batch):
        x = matrices(*batch, 5, 5, dtype=dtype)
        options = {"compute_schur_vectors": True, "sort_eig_vals": False, "select_callable": None}
        form, vectors = run(lambda x: lapack.schur(x, **options), x)
        close(vectors @ form @ adjoint(vectors), x)
        form, taus = run(lapack.hessenberg, x)
        close(np.trace(form, axis1=-2, axis2=-1), np.trace(x, axis1=-2, axis2=-1))
        assert taus.shape == (*batch, 4)

    def test_tridiagonal(self, dtype, batch):
        x = matrices(*batch, 5, 5, dtype=dtype)
        x = x + adjoint(x)
        _, d, e, _ = run(lambda x: lapack.tridiagonal(x, lower=True), x)
        small = np.zeros((*batch, 5, 5))
        rows = np.arange(5)
        small[..., rows, rows] = d
        small[..., rows[1:], rows[:-1]] = small[..., rows[:-1], rows[1:]] = e
        close(np.linalg.eigvalsh(small), np.linalg.eigvalsh(x).astype(d.dtype))

    def test_tridiagonal_solve(self, dtype, batch):
        dl, d, du = (matrices(*batch, 5, dtype=dtype, seed=k) for k in range(3))
        d = d + 5
        rhs = matrices(*batch, 5, 2, dtype=dtype, seed=4)
        (x,) = run(lapack.tridiagonal_solve, dl, d, du, rhs)
        full = np.zeros((*batch, 5, 5), dtype)
        rows = np.arange(5)
        full[..., rows, rows] = d
        full[..., rows[1:], rows[:-1]] = dl[..., 1:]
        full[..., rows[:-1], rows[1:]] = du[..., :-1]
        close(full @ x, rhs)


def test_what_fails_is_nan():
    x = np.stack([np.eye(3), -np.eye(3)])
    (factor,) = run(lapack.cholesky, x)
    assert np.isfinite(factor[0]).all()
    assert np.isnan(factor[1]).any()


def test_reflectors_multiply():
    x, c = matrices(5, 3), matrices(5, 2, seed=1)
    packed, taus = run(lapack.geqrf, x)
    q = scipy.linalg.qr(x)[0]
    (found,) = run(
        lambda a, t, c: lapack.ormqr(a, t, c, left=True, transpose=True), packed, taus, c
    )
    close(np.abs(found), np.abs(q.T @ c))
