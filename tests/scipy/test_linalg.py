"""frit.scipy.linalg beside scipy.linalg, eager and compiled."""

import numpy as np
import pytest
import scipy.linalg

import frit
import frit.numpy as jnp
from frit.scipy import linalg

GENERATOR = np.random.default_rng(3)


def matrices(*shape, dtype="f4"):
    x = GENERATOR.normal(size=shape)
    return (x + 1j * GENERATOR.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def each(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def assert_same(name, *args, tolerance=1e-4, **kwargs):
    """Leading arrays are arguments of the compiled function, the rest is known to it."""
    expected = each(getattr(scipy.linalg, name)(*args, **kwargs))
    is_array = lambda x: isinstance(x, (np.ndarray, tuple))
    given = [a for a in args if is_array(a)]
    rest = args[len(given) :]
    function = lambda *xs: getattr(linalg, name)(*xs, *rest, **kwargs)
    for run in (function, frit.jit(function)):
        found = each(run(*given))
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            assert np.shape(x) == np.shape(y)
            np.testing.assert_allclose(x * 1, np.asarray(y) * 1, rtol=tolerance, atol=tolerance)


DTYPES = pytest.mark.parametrize("dtype", ["f4", "c8"])


@DTYPES
def test_decompositions(dtype):
    a, tall, wide = (matrices(*s, dtype=dtype) for s in ((4, 4), (5, 3), (3, 5)))
    h = a @ a.conj().T + np.eye(4, dtype=dtype)
    for lower in (True, False):
        assert_same("cholesky", h, lower=lower)
    for x in (a, tall, wide):
        assert_same("lu", x)
        assert_same("lu", x, permute_l=True)
        assert_same("svd", x, compute_uv=False)
        for mode in ("full", "economic", "r"):
            for pivoting in (False, True):
                assert_same("qr", x, mode=mode, pivoting=pivoting)
        for pivoting in (False, True):
            for conjugate in (False, True):
                k, m = min(x.shape), x.shape[0]
                for mode, c in (("left", (k, 2)), ("right", (2, m)), ("right", (m,))):
                    options = {"mode": mode, "pivoting": pivoting, "conjugate": conjugate}
                    assert_same("qr_multiply", x, matrices(*c, dtype=dtype), **options)
    assert_same("lu_factor", a)
    assert_same("eigh", h, eigvals_only=True)
    w, v = (np.asarray(x) for x in linalg.eigh(h))
    np.testing.assert_allclose(h @ v, v * w, atol=1e-4)
    assert_same("hessenberg", a, calc_q=True)
    for output in ("real", "complex"):
        form, vectors = (np.asarray(x) for x in linalg.schur(a, output=output))
        np.testing.assert_allclose(vectors @ form @ vectors.conj().T, a, atol=1e-4)
    form, vectors = (np.asarray(x) for x in linalg.rsf2csf(*linalg.schur(a)))
    np.testing.assert_allclose(vectors @ form @ vectors.conj().T, a, atol=1e-4)
    assert np.abs(np.tril(form, -1)).max() < 1e-5
    assert_same("polar", a)
    assert_same("polar", tall)
    assert_same("polar", wide, side="left")
    unitary, positive = linalg.polar(wide, method="svd")
    np.testing.assert_allclose(unitary @ positive, wide, atol=1e-4)


@DTYPES
def test_solves(dtype):
    a, b = matrices(4, 4, dtype=dtype), matrices(4, 3, dtype=dtype)
    h = a @ a.conj().T + np.eye(4, dtype=dtype)
    factors, pivots = scipy.linalg.lu_factor(a)
    for right in (b, b[:, 0]):
        for trans in (0, 1, 2):
            assert_same("lu_solve", (factors, pivots), right, trans=trans, tolerance=1e-3)
            for lower in (True, False):
                options = {"trans": trans, "lower": lower, "unit_diagonal": trans == 0}
                assert_same("solve_triangular", h, right, tolerance=1e-3, **options)
        for lower in (True, False):
            factor = linalg.cho_factor(h, lower=lower)
            for solve in (linalg.cho_solve, frit.jit(lambda c, b: linalg.cho_solve((c, lower), b))):
                x = solve(factor if solve is linalg.cho_solve else factor[0], right)
                np.testing.assert_allclose(h @ np.asarray(x), right, atol=1e-3)
        assert_same("solve", a, right, tolerance=1e-3)
        x = linalg.solve(h, right, assume_a="pos", lower=True)
        np.testing.assert_allclose(h @ np.asarray(x), right, atol=1e-3)
    assert_same("solve_sylvester", a, h, matrices(4, 4, dtype=dtype), tolerance=1e-3)
    for method in ("schur", "eigen"):
        c = matrices(4, 2, dtype=dtype)
        x = np.asarray(linalg.solve_sylvester(a, h[:2, :2], c, method=method))
        np.testing.assert_allclose(a @ x + x @ h[:2, :2], c, atol=1e-3)
    assert np.isnan(linalg.solve_sylvester(a, -a, a)).all()
    assert_same("det", a)
    assert_same("inv", a, tolerance=1e-3)


def test_solves_of_batches_broadcast():
    a, b = matrices(2, 3, 3), matrices(5, 1, 3, 2)
    a = a @ a.swapaxes(-1, -2) + np.eye(3, dtype="f4")
    expected = np.linalg.solve(a, b)
    np.testing.assert_allclose(linalg.solve(a, b), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        linalg.cho_solve(linalg.cho_factor(a), b), expected, rtol=1e-3, atol=1e-4
    )
    lower = np.tril(a)
    found = linalg.solve_triangular(lower, b, lower=True)
    np.testing.assert_allclose(found, np.linalg.solve(lower, b), rtol=1e-3, atol=1e-4)
    with pytest.warns(FutureWarning, match="batched 1D solves"):
        found = linalg.solve_triangular(lower, b[0, 0, :, 0] * np.ones((2, 1), "f4"), lower=True)
    assert found.shape == (2, 3)
    gradient = frit.grad(lambda a: linalg.solve(a, b[0, 0], assume_a="pos").sum())(a[0])
    expected = frit.grad(lambda a: linalg.solve(a, b[0, 0]).sum())(a[0])
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_exponentials(dtype):
    with frit.enable_x64(True):
        tolerance = 1e-4 if dtype in ("f4", "c8") else 1e-11
        for scale in (0.001, 0.1, 0.5, 1, 5):
            a = matrices(4, 4, dtype=dtype) * np.dtype(dtype).type(scale)
            expected = scipy.linalg.expm(a)
            bound = tolerance * np.abs(expected).max()
            np.testing.assert_allclose(linalg.expm(a), expected, atol=bound)
            upper = np.triu(a)
            expected = scipy.linalg.expm(upper)
            found = linalg.expm(upper, upper_triangular=True)
            np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
        stack = np.stack([a, upper]) / 5
        found = frit.jit(linalg.expm)(stack)
        np.testing.assert_allclose(found, [scipy.linalg.expm(x) for x in stack], atol=tolerance * 9)
        if dtype == "f8":
            e = matrices(4, 4, dtype=dtype)
            for x, y in zip(
                linalg.expm_frechet(a, e), scipy.linalg.expm_frechet(a, e), strict=True
            ):
                np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-7 * np.abs(y).max())
            assert np.isnan(linalg.expm(a, max_squarings=0)).all()
            gradient = frit.grad(lambda x: linalg.expm(x)[0, 1])(a)
            basis = np.zeros((4, 4))
            basis[1, 0] = 1
            expected = scipy.linalg.expm_frechet(a, basis, compute_expm=False).T
            np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@DTYPES
def test_functions_of_eigenvalues(dtype):
    a = matrices(5, 5, dtype=dtype)
    h = a @ a.conj().T + np.eye(5, dtype=dtype)
    for run in (linalg.sqrtm, frit.jit(linalg.sqrtm)):
        root = np.asarray(run(h))
        np.testing.assert_allclose(root @ root, h, rtol=1e-3, atol=1e-3)
    found = np.asarray(linalg.funm(a, jnp.exp))
    np.testing.assert_allclose(found, scipy.linalg.expm(a), rtol=1e-3, atol=1e-3)
    value, error = linalg.funm(a, jnp.exp, disp=False)
    np.testing.assert_allclose(value, found)
    assert 0 < error <= 1
    np.testing.assert_allclose(linalg.sqrtm(np.zeros((2, 2), "f4")), np.zeros((2, 2)))


def test_special_matrices():
    v, w = matrices(5), matrices(4)
    for name in ("toeplitz", "hankel"):
        for args in ((v,), (v, w), (matrices(4, dtype="c8"),)):
            assert_same(name, *args)
    assert_same("leslie", v, w)
    for n in (2, 3, 4, 5, 6):
        for name in ("circulant", "companion", "fiedler", "fiedler_companion"):
            assert_same(name, matrices(n))
    assert linalg.toeplitz(matrices(3, 1, 4), matrices(2, 5)).shape == (3, 2, 4, 5)
    for mode in ("full", "same", "valid"):
        for n in (1, 4, 5, 7):
            assert_same("convolution_matrix", v, n, mode=mode)
    assert_same("block_diag", matrices(2, 2), v, matrices(3, 1))
    assert linalg.block_diag().shape == (1, 0)
    for n in (1, 2, 5):
        assert_same("hilbert", n)
        assert_same("invhilbert", n)
        assert_same("dft", n)
        assert_same("helmert", n, full=True)
        for kind in ("symmetric", "lower", "upper"):
            assert_same("pascal", n, kind=kind)
            assert_same("invpascal", n, kind=kind)
    for n in (1, 2, 8):
        assert_same("hadamard", n)
        assert_same("dft", n, scale="sqrtn")


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_tridiagonal_eigenvalues(dtype):
    with frit.enable_x64(True):
        tolerance = 1e-10 if dtype == "f8" else 1e-4
        for n in (1, 2, 9):
            d, e = matrices(n, dtype=dtype).real.astype(dtype), matrices(n - 1, dtype=dtype)
            whole = np.diag(d) + np.diag(e, 1) + np.diag(e.conj(), -1)
            expected = np.linalg.eigvalsh(whole)
            found = linalg.eigh_tridiagonal(d, e, eigvals_only=True)
            np.testing.assert_allclose(found, expected, atol=tolerance)
            w, v = (np.asarray(x) for x in linalg.eigh_tridiagonal(d, e))
            np.testing.assert_allclose(whole @ v, v * w, atol=tolerance)
        for options in ({"eigvals_only": True}, {}):
            options |= {"select": "i", "select_range": (2, 4)}
            found = each(linalg.eigh_tridiagonal(d, e, **options))[0]
            np.testing.assert_allclose(found, expected[2:5], atol=tolerance)


A, B = matrices(3, 3), matrices(3, 4)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: linalg.qr(A, mode="x"), ValueError, "Unsupported QR decomposition mode"),
    (lambda: linalg.qr_multiply(A, B, mode="x"), ValueError, "mode must be"),
    (lambda: linalg.qr_multiply(A, B), ValueError, "not compatible for c @ Q"),
    (lambda: linalg.eigh(A, A), NotImplementedError, "Only the b=None case"),
    (lambda: linalg.schur(A, output="x"), ValueError, "'real' or 'complex'"),
    (lambda: linalg.rsf2csf(A, B), ValueError, "'Z' must be square"),
    (lambda: linalg.polar(A, side="x"), ValueError, "'right' or 'left'"),
    (lambda: linalg.polar(B), NotImplementedError, "only supports mxn"),
    (lambda: linalg.solve(A, A, assume_a="x"), ValueError, "Expected assume_a"),
    (lambda: linalg.solve_triangular(A, A, trans=3), ValueError, "Invalid 'trans'"),
    (lambda: linalg.solve_sylvester(A, B, A), ValueError, "Incompatible shapes for Sylvester"),
    (lambda: linalg.solve_sylvester(A, A, A, method="x"), ValueError, "Unrecognized method"),
    (lambda: linalg.expm(B), ValueError, "square matrix"),
    (lambda: linalg.sqrtm(A, blocksize=2), NotImplementedError, "Blocked"),
    (lambda: linalg.funm(B, jnp.exp), ValueError, "square"),
    (lambda: linalg.hadamard(3), ValueError, "power of 2"),
    (lambda: linalg.pascal(3, kind="x"), ValueError, "Expected kind"),
    (lambda: linalg.dft(3, scale="x"), ValueError, "scale must be"),
    (lambda: linalg.leslie(A[0], A[0]), ValueError, "Incorrect lengths"),
    (lambda: linalg.block_diag(np.ones((1, 1, 1), "f4")), ValueError, "at most 2 dimensions"),
    (lambda: linalg.convolution_matrix(A[0], 0), ValueError, "positive integer"),
    (lambda: linalg.eigh_tridiagonal(A[0], A[0, :2].astype("c8")), TypeError, "same dtype"),
    (lambda: linalg.eigh_tridiagonal(A[0], A[0, :2], select="v"), NotImplementedError, "'v'"),
])  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
