"""Decompositions: what the laws cannot say, since factors are free up to phases and signs."""

import numpy as np
import pytest

import frit
from frit import lax
from frit.lax import linalg

GENERATOR = np.random.default_rng(0)


def matrices(*shape, dtype="f8"):
    x = GENERATOR.normal(size=shape)
    return (x + 1j * GENERATOR.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def hermitian(n, dtype="f8"):
    x = matrices(n, n, dtype=dtype)
    return x @ x.conj().T + np.diag(np.arange(1.0, n + 1)).astype(dtype)


def adjoint(x):
    return np.asarray(x).conj().swapaxes(-1, -2)


def assert_derivative(function, *primals, along=None):
    """The derivative is that of finite differences; `function` must not depend on free phases."""
    with frit.enable_x64(True):
        tangents = along or [matrices(*x.shape, dtype=x.dtype.str[1:]) for x in primals]
        value, found = frit.jvp(function, primals, tuple(tangents))
        step = 1e-6
        above = function(*[x + step * t for x, t in zip(primals, tangents, strict=True)])
        below = function(*[x - step * t for x, t in zip(primals, tangents, strict=True)])
        difference = (np.asarray(above) - np.asarray(below)) / (2 * step)
        np.testing.assert_allclose(found, difference, rtol=1e-6, atol=1e-6)
        compiled = frit.jit(lambda *xs: frit.jvp(function, xs, tuple(tangents)))(*primals)
        np.testing.assert_allclose(compiled[0], value, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(compiled[1], found, rtol=1e-7, atol=1e-7)


KINDS = pytest.mark.parametrize("dtype", ["f8", "c16"])


@KINDS
def test_functions_of_the_spectrum_of_hermitian_matrices(dtype):
    def cube(x):
        v, w = linalg.eigh(x)
        return (v * w[..., None, :] ** 3) @ v.conj().T

    x, t = hermitian(4, dtype), hermitian(4, dtype)
    assert_derivative(cube, x, along=[t])
    with frit.enable_x64(True):
        np.testing.assert_allclose(cube(x), x @ x @ x, rtol=1e-9)


@KINDS
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_derivatives_of_singular_vectors(shape, dtype):
    def polar_factor(x):
        u, _, vh = linalg.svd(x, full_matrices=False)
        return u @ vh

    assert_derivative(polar_factor, matrices(*shape, dtype=dtype))


@KINDS
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_derivatives_of_qr(shape, full, dtype):
    x = matrices(*shape, dtype=dtype)
    if dtype == "f8":
        assert_derivative(lambda x: linalg.qr(x, full_matrices=full)[0], x)
        assert_derivative(lambda x: linalg.qr(x, full_matrices=full)[1], x)

    def basis_dependent(x):
        q, r = linalg.qr(x, full_matrices=full)
        return q.conj().T @ q, q @ r

    assert_derivative(lambda x: basis_dependent(x)[0], x)
    assert_derivative(lambda x: basis_dependent(x)[1], x)


@KINDS
def test_derivatives_of_eigenvalues_and_eigenvectors(dtype):
    x = matrices(4, 4, dtype=dtype)

    def eigenvalues(x):
        return linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]

    def projectors(x):
        w, left, right = linalg.eig(x, enable_eigvec_derivs=True)
        return right[:, None, :] * left.conj()[None, :, :] / (left.conj() * right).sum(0) * w

    assert_derivative(eigenvalues, x)
    assert_derivative(projectors, x)
    with frit.enable_x64(True):
        np.testing.assert_allclose(projectors(x).sum(-1), x, atol=1e-10)
        with pytest.raises(NotImplementedError, match="enable_eigvec_derivs"):
            frit.jvp(linalg.eig, (x,), (x,))


@KINDS
def test_derivatives_of_cholesky(dtype):
    assert_derivative(linalg.cholesky, hermitian(4, dtype), along=[hermitian(4, dtype)])


@pytest.mark.parametrize("decompose", [
    linalg.cholesky,
    lambda x: linalg.eigh(x)[1],
    lambda x: linalg.svd(x, compute_uv=False),
    lambda x: linalg.eig(x)[0],
    lambda x: linalg.schur(x)[0],
])  # fmt: skip
@pytest.mark.parametrize("wrap", [lambda f: f, frit.jit])
def test_what_fails_is_nan_and_its_neighbours_are_not(decompose, wrap):
    good = hermitian(3).astype("f4")
    found = np.asarray(wrap(decompose)(np.stack([good, good * np.nan, good])))
    assert np.isnan(found[1]).any() and not np.isnan(found[[0, 2]]).any()


def test_cholesky_of_what_is_not_positive_definite_is_nan():
    assert np.isnan(linalg.cholesky(-np.eye(3, dtype="f4"))).any()


def test_cholesky_update_is_the_factor_of_the_sum():
    r, w = np.linalg.cholesky(hermitian(4)).T.astype("f4"), matrices(4, dtype="f4")
    w[2] = 0
    for update in (linalg.cholesky_update, frit.jit(linalg.cholesky_update)):
        found = np.asarray(update(r, w))
        np.testing.assert_allclose(found.T @ found, r.T @ r + np.outer(w, w), rtol=1e-5)


@pytest.mark.parametrize("trans", [0, 1, 2])
@KINDS
def test_lu_solve(trans, dtype):
    with frit.enable_x64(True):
        a, b = matrices(2, 4, 4, dtype=dtype), matrices(1, 4, 3, dtype=dtype)
        factors, _, permutation = linalg.lu(a)
        x = np.asarray(linalg.lu_solve(factors, permutation, b, trans))
        op = [a, a.swapaxes(-1, -2), adjoint(a)][trans]
        np.testing.assert_allclose(op @ x, np.broadcast_to(b, x.shape), atol=1e-10)
        vectors = linalg.lu_solve(factors, permutation, b[..., 0], trans)
        np.testing.assert_allclose(vectors, x[..., 0], atol=1e-10)


def test_reflectors_multiply_as_their_product():
    a, c = matrices(5, 3, dtype="c8"), matrices(5, 5, dtype="c8")
    packed, taus = linalg.geqrf(a)
    q, r = (np.asarray(x) for x in linalg.qr(a))
    np.testing.assert_allclose(linalg.ormqr(packed, taus, c), q @ c, atol=1e-5)
    np.testing.assert_allclose(
        linalg.ormqr(packed, taus, c, left=False, transpose=True), c @ adjoint(q), atol=1e-5
    )
    np.testing.assert_allclose(linalg.householder_product(packed, taus), q[:, :3], atol=1e-5)
    np.testing.assert_allclose(q @ r, a, atol=1e-5)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_singular_tridiagonal_matrices(is_compiled):
    """A singular matrix gives nan; with perturbed pivots, its null vector, much enlarged."""
    one = np.ones(4, "f4")
    solve = lambda **more: linalg.tridiagonal_solve(-one, d, -one, one[:, None], **more)
    d = np.array([1, 2, 2, 1], "f4")
    run = frit.jit(solve, static_argnames="perturb_singular") if is_compiled else solve
    assert np.isnan(run(perturb_singular=False)).all()
    x = np.asarray(run(perturb_singular=True))[:, 0]
    np.testing.assert_allclose(x / x[0], one, rtol=1e-3)
    assert abs(x[0]) > 1e4


def test_qdwh():
    for x in (matrices(5, 3, dtype="c16"), matrices(3, 3)):
        with frit.enable_x64(True):
            for run in (linalg.qdwh, frit.jit(linalg.qdwh)):
                u, h, steps, converged = run(x)
                assert converged and 1 <= steps <= 7
                np.testing.assert_allclose(u @ h, x, atol=1e-12)
                np.testing.assert_allclose(adjoint(u) @ np.asarray(u), np.eye(3), atol=1e-12)
                assert np.linalg.eigvalsh(h).min() > 0


def test_one_matrix_for_many_right_sides_is_not_repeated():
    a, b = hermitian(3).astype("f4"), matrices(7, 3, 2, dtype="f4")
    solve = lambda b: linalg.triangular_solve(a, b, left_side=True, lower=True)
    text = str(frit.make_jaxpr(frit.vmap(solve))(b))
    assert "triangular_solve" in text and "f32[3,14]" in text and "f32[7,3,3]" not in text
    np.testing.assert_allclose(frit.vmap(solve)(b), np.linalg.solve(np.tril(a), b), rtol=1e-5)


x33, x34 = np.ones((3, 3), "f4"), np.ones((3, 4), "f4")


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: linalg.cholesky_p(x34), ValueError, "must be a square matrix"),
    (lambda: linalg.cholesky_p(x33[0]), TypeError, "must have rank at least 2"),
    (lambda: linalg.cholesky(x33.astype("i4")), TypeError, "does not accept dtype int32"),
    (lambda: linalg.lu(x33.astype("f2")), NotImplementedError, "Unsupported dtype float16"),
    (lambda: linalg.triangular_solve(x33, x34), ValueError, "Incompatible shapes"),
    (lambda: linalg.triangular_solve(x33, x33.astype("c8")), TypeError, "same dtypes"),
    (lambda: linalg.triangular_solve(np.ones((2, 3, 3), "f4"), np.ones((4, 3, 3), "f4")),
     TypeError, "same batch dimensions"),
    (lambda: linalg.eigh(x34, symmetrize_input=False), ValueError, r"shape \[..., n, n\]"),
    (lambda: linalg.eigh(x33, subset_by_index=(0, 1)), NotImplementedError, "subset_by_index"),
    (lambda: linalg.svd(x33, algorithm=linalg.SvdAlgorithm.JACOBI), NotImplementedError, "Jacobi"),
    (lambda: linalg.svd(x33, full_matrices=True, subset_by_index=(0, 1)), ValueError, "both"),
    (lambda: linalg.schur(x33, sort_eig_vals=True), NotImplementedError, "gees"),
    (lambda: linalg.householder_product(x34, x34[0, :1]), ValueError, "as many rows as columns"),
    (lambda: linalg.lu_solve(x33, np.arange(3), x34, trans=3), ValueError, "must be 0, 1, or 2"),
    (lambda: linalg.tridiagonal_solve(x33[0], x33[0], x33[0, :2], x33), TypeError, "same shape"),
    (lambda: linalg.qdwh(x34), ValueError, "M >= N"),
    (lambda: frit.jvp(lambda x: linalg.svd(x), (x34,), (x34,)), NotImplementedError, "full_mat"),
    (lambda: lax.fft(x33, "fftt", (3,)), ValueError, "Unknown FFT type 'fftt'"),
    (lambda: lax.fft(x33, 3.5, (3,)), TypeError, "Unknown FFT type value"),
    (lambda: lax.fft(x33.astype("c8"), "rfft", (3,)), ValueError, "only real valued"),
    (lambda: lax.fft(x33, "fft", (4,)), ValueError, "minor dimensions must be equal"),
    (lambda: lax.fft(x33, "fft", (3,) * 3), ValueError, "at least as many input dimensions"),
])  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
