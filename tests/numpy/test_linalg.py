"""frit.numpy.linalg beside numpy.linalg: eager, compiled, and differentiated where NumPy is not."""

import numpy as np
import pytest

import frit
from frit.numpy import linalg

GENERATOR = np.random.default_rng(1)


def matrices(*shape, dtype="f4"):
    x = GENERATOR.normal(size=shape)
    return (x + 1j * GENERATOR.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def positive(*shape, dtype="f4"):
    x = matrices(*shape, dtype=dtype)
    return x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)


def each(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def assert_same(name, *args, tolerance=2e-5, **kwargs):
    expected = each(getattr(np.linalg, name)(*args, **kwargs))
    function = lambda *xs: getattr(linalg, name)(*xs, **kwargs)
    arrays = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    given = [args[i] for i in arrays]

    def of_arrays(*xs):
        full = list(args)
        for i, x in zip(arrays, xs, strict=True):
            full[i] = x
        return function(*full)

    for run in (of_arrays, frit.jit(of_arrays)):
        found = each(run(*given))
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            assert x.shape == np.shape(y)
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


A, B = matrices(2, 4, 4), matrices(2, 4, 3)
DTYPES = pytest.mark.parametrize("dtype", ["f4", "c8"])


@DTYPES
def test_functions_of_one_matrix(dtype):
    a, h = matrices(2, 4, 4, dtype=dtype), positive(2, 4, 4, dtype=dtype)
    assert_same("cholesky", h)
    for name in ("det", "slogdet", "inv", "pinv", "svdvals"):
        assert_same(name, a, tolerance=2e-4)
    for uplo in ("L", "U"):
        assert_same("eigvalsh", h, uplo)
    for n in (-3, 0, 1, 2, 3, 5):
        assert_same("matrix_power", a, n, tolerance=2e-3)
    for p in (None, 1, -1, 2, -2, "fro", "nuc", np.inf, -np.inf):
        assert_same("cond", a, p, tolerance=2e-3)
    for n in (1, 2, 3):
        assert_same("det", a[..., :n, :n])
        assert_same("slogdet", a[..., :n, :n])
    for shape in ((2, 4, 3), (3, 4), (0, 3), (2, 3, 0)):
        assert_same("pinv", matrices(*shape, dtype=dtype), tolerance=2e-4)


@DTYPES
def test_decompositions_multiply_to_their_matrix(dtype):
    for shape in ((2, 4, 3), (3, 4), (3, 3)):
        x = matrices(*shape, dtype=dtype)
        for full in (True, False):
            u, s, vh = (np.asarray(y) for y in linalg.svd(x, full_matrices=full))
            k = s.shape[-1]
            product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
            np.testing.assert_allclose(product, x, atol=1e-5)
        for mode in ("reduced", "complete"):
            q, r = (np.asarray(y) for y in linalg.qr(x, mode))
            np.testing.assert_allclose(q @ r, x, atol=1e-5)
            np.testing.assert_allclose(linalg.qr(x, "r"), np.linalg.qr(x, "r"), atol=1e-5)
    found, expected = linalg.qr(x, "raw"), np.linalg.qr(x, "raw")
    np.testing.assert_allclose(found.Q, expected[0], atol=1e-5)
    h = positive(3, 3, dtype=dtype)
    w, v = linalg.eigh(h)
    np.testing.assert_allclose(h @ np.asarray(v), np.asarray(v) * np.asarray(w), atol=1e-4)
    u, s, vh = (np.asarray(y) for y in linalg.svd(h - 3 * np.eye(3, dtype=dtype), hermitian=True))
    np.testing.assert_allclose((u * s) @ vh, h - 3 * np.eye(3), atol=1e-4)
    assert (np.diff(s) <= 0).all()
    w, v = (np.asarray(y) for y in linalg.eig(x))
    np.testing.assert_allclose(x @ v, v * w, atol=1e-4)
    np.testing.assert_allclose(np.sort(linalg.eigvals(x)), np.sort(w), atol=1e-5)


def test_solve_broadcasts_batches():
    for a, b in ((A, B), (A[0], B), (A, B[0]), (A[:, None], B), (A[0], B[0, :, 0])):
        assert_same("solve", a, b, tolerance=2e-4)
    vectors = np.stack([np.linalg.solve(a, B[0, :, 0]) for a in A])
    np.testing.assert_allclose(linalg.solve(A, B[0, :, 0]), vectors, rtol=1e-4, atol=1e-5)


def test_norms():
    x = matrices(3, 4, 5)
    for order in (None, 1, -1, 2, -2, "fro", "nuc", np.inf, -np.inf):
        for axes in ((0, 1), (2, 0), (-1, 1)):
            for keepdims in (False, True):
                assert_same("norm", x, order, axes, keepdims)
        assert_same("norm", x[0], order)
    for order in (None, 0, 1, 2, 3, 0.5, -1, np.inf, -np.inf):
        assert_same("norm", x, order, 1)
        assert_same("vector_norm", x, axis=(0, 2), ord=2 if order is None else order)
    assert_same("norm", x)
    assert_same("matrix_norm", x, keepdims=True)


def test_least_squares_and_rank():
    for shape in ((5, 3), (3, 5), (4, 4)):
        a = matrices(*shape)
        a[:, 1] = a[:, 0]
        found = linalg.lstsq(a, matrices(shape[0], 2), numpy_resid=True)
        expected = np.linalg.lstsq(a, matrices(shape[0], 2), rcond=None)
        assert int(found[2]) == expected[2] and found[1].shape == expected[1].shape
        assert_same("matrix_rank", a)
    a, b = matrices(5, 3), matrices(5)
    x, residuals, rank, s = frit.jit(linalg.lstsq)(a, b)
    expected = np.linalg.lstsq(a, b, rcond=None)
    for y, z in zip((x, residuals, rank, s), expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-4, atol=1e-5)
    assert_same("matrix_rank", np.zeros(3, "f4"))
    assert_same("matrix_rank", A, 0.5)


def test_tensors_and_products():
    assert_same("tensorinv", matrices(4, 6, 8, 3), tolerance=1e-3)
    assert_same("tensorsolve", matrices(6, 4, 2, 3, 4), matrices(6, 4), tolerance=1e-3)
    for axes in ((0, 2), (2, 0)):
        a, b = matrices(3, 2, 2, 3), matrices(2, 3)
        assert_same("tensorsolve", a, b, axes=axes, tolerance=1e-3)
    assert_same("tensorsolve", matrices(2, 3, 6), matrices(2, 3))
    found = linalg.multi_dot([A[0], A[1], B[0], B[0, 0]])
    np.testing.assert_allclose(found, A[0] @ A[1] @ B[0] @ B[0, 0], rtol=1e-4)
    u, v = matrices(3), matrices(3)
    for name, args in (("cross", (u, v)), ("outer", (u, v)), ("vecdot", (u, v))):
        assert_same(name, *args)
    for name in ("trace", "diagonal", "matrix_transpose"):
        assert_same(name, A)
    assert_same("matmul", A, B)
    assert_same("tensordot", A, B, axes=[[0, 2], [0, 1]])


# ------------------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("rank", [4, 3, 2])
def test_the_gradient_of_det_is_the_matrix_of_cofactors(rank):
    """Also of singular matrices; of one of rank n - 2, all cofactors are zero."""
    u, _, vh = np.linalg.svd(matrices(4, 4))
    s = np.array([3.0, 2, 1.5, 1])
    s[rank:] = 0
    x = ((u * s) @ vh).astype("f4")
    cofactors = np.array([
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1).astype("f8"))
         for j in range(4)] for i in range(4)
    ])  # fmt: skip
    for gradient in (frit.grad(linalg.det), frit.jit(frit.grad(linalg.det))):
        np.testing.assert_allclose(gradient(x), cofactors, atol=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3])
@DTYPES
def test_the_derivative_of_slogdet(n, dtype):
    x, t = matrices(n, n, dtype=dtype), matrices(n, n, dtype=dtype)
    (sign, size), (turn, growth) = frit.jvp(linalg.slogdet, (x,), (t,))
    change = np.trace(np.linalg.solve(x, t))
    np.testing.assert_allclose(growth, change.real, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(turn, 1j * change.imag * np.asarray(sign), rtol=1e-4, atol=1e-5)
    if dtype == "f4":
        found = linalg.slogdet(x, method="qr")
        np.testing.assert_allclose(found, np.linalg.slogdet(x), rtol=1e-5, atol=1e-6)


def test_slogdet_of_a_singular_matrix():
    sign, size = linalg.slogdet(np.zeros((3, 3), "f4"))
    assert sign == 0 and size == -np.inf


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_the_derivative_of_pinv(shape):
    x, t = matrices(*shape, dtype="f8"), matrices(*shape, dtype="f8")
    with frit.enable_x64(True):
        _, found = frit.jvp(linalg.pinv, (x,), (t,))
        step = 1e-6
        difference = (np.linalg.pinv(x + step * t) - np.linalg.pinv(x - step * t)) / (2 * step)
        np.testing.assert_allclose(found, difference, rtol=1e-5, atol=1e-6)


def test_gradients_of_solve():
    a, b = matrices(3, 3), matrices(3)
    loss = lambda a, b: (linalg.solve(a, b) ** 2).sum()
    of_a, of_b = frit.grad(loss, argnums=(0, 1))(a, b)
    x = np.linalg.solve(a, b)
    expected = np.linalg.solve(a.T, 2 * x)
    np.testing.assert_allclose(of_b, expected, rtol=1e-4)
    np.testing.assert_allclose(of_a, -np.outer(expected, x), rtol=1e-4, atol=1e-5)
    over_batch = frit.vmap(frit.grad(loss), in_axes=(0, None))(np.stack([a, a.T]), b)
    np.testing.assert_allclose(over_batch[0], of_a, rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: linalg.det(B), ValueError, r"must have shape \[..., n, n\]"),
    (lambda: linalg.slogdet(B), ValueError, r"must have shape \[..., n, n\]"),
    (lambda: linalg.slogdet(A, method="svd"), ValueError, "Unknown slogdet method"),
    (lambda: linalg.slogdet(A.astype("c8"), method="qr"), NotImplementedError, "complex"),
    (lambda: linalg.inv(B), ValueError, "must have shape"),
    (lambda: linalg.solve(A[0, 0], B), ValueError, "at least two dimensional"),
    (lambda: linalg.solve(A, B[0, :3]), ValueError, "arguments to solve must have shapes"),
    (lambda: linalg.solve(A, np.ones((2, 4), "f4")), ValueError, "Prior to JAX v0.5.0"),
    (lambda: linalg.eigh(A, UPLO="X"), ValueError, "UPLO must be"),
    (lambda: linalg.qr(A, mode="x"), ValueError, "Unsupported QR decomposition mode"),
    (lambda: linalg.matrix_power(A, 1.5), TypeError, "exponent must be an integer"),
    (lambda: linalg.matrix_power(B, 2), TypeError, "must be square"),
    (lambda: linalg.norm(A, 3, (1, 2)), ValueError, "Invalid order"),
    (lambda: linalg.norm(A, 2), ValueError, "Improper number of axes"),
    (lambda: linalg.norm(A[0, 0], "inf"), ValueError, "Use 'jax.numpy.inf'"),
    (lambda: linalg.multi_dot([A[0]]), ValueError, "at least two arrays"),
    (lambda: linalg.multi_dot([A[0], B[0, :3]]), ValueError, "must match"),
    (lambda: linalg.pinv(A, rtol=1, rcond=1), ValueError, "only one of"),
    (lambda: linalg.matrix_rank(A, rtol=1, tol=1), ValueError, "only one of"),
    (lambda: linalg.tensorinv(A, ind=0), ValueError, "positive"),
    (lambda: linalg.cholesky([[1.0]]), TypeError, "cholesky requires ndarray"),
    (lambda: linalg.lstsq(A, B), TypeError, "must be two-dimensional"),
    (lambda: linalg.cond(B[0], 1), ValueError, "must be square"),
    (lambda: linalg.cross(A[0, 0], A[0, 0]), ValueError, "3-dimensional vectors"),
])  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
