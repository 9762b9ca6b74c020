"""frit.scipy.fft, signal, ndimage, interpolate, cluster, sparse.linalg, optimize; frit.image."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.interpolate
import scipy.ndimage
import scipy.signal

import frit
import frit.numpy as jnp
from frit.scipy import cluster, fft, interpolate, ndimage, optimize, signal, sparse

GENERATOR = np.random.default_rng(11)


def draw(*shape):
    return GENERATOR.normal(size=shape).astype(np.float32)


def assert_close(found, expected, tolerance=2e-5):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_cosine_transforms(norm):
    x = draw(4, 7)
    for name in ("dct", "idct"):
        mine, theirs = getattr(fft, name), getattr(scipy.fft, name)
        for options in ({}, {"axis": 0}, {"n": 5}, {"n": 9}):
            assert_close(mine(x, norm=norm, **options), theirs(x, norm=norm, **options))
    for name in ("dctn", "idctn"):
        mine, theirs = getattr(fft, name), getattr(scipy.fft, name)
        assert_close(mine(x, s=(3, 9), norm=norm), theirs(x, s=(3, 9), norm=norm))
    assert_close(fft.dct(x + 2j * x), scipy.fft.dct(x) * (1 + 2j))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(9, 4), (4, 9), (6, 6)])
def test_convolutions(mode, sizes):
    a, b = draw(sizes[0]), draw(sizes[1])
    for name in ("convolve", "correlate", "fftconvolve"):
        assert_close(getattr(signal, name)(a, b, mode), getattr(scipy.signal, name)(a, b, mode))
    p, q = draw(*sizes[:1], 5), draw(*sizes[1:], 5)
    for name in ("convolve2d", "correlate2d"):
        assert_close(getattr(signal, name)(p, q, mode), getattr(scipy.signal, name)(p, q, mode))


def test_detrend_with_breakpoints():
    x = draw(3, 20)
    assert_close(signal.detrend(x, bp=[6, 13]), scipy.signal.detrend(x, bp=[6, 13]))
    assert_close(signal.detrend(x, axis=0, type="constant"), scipy.signal.detrend(x, 0, "constant"))


def test_spectra():
    x, y = draw(2, 100), draw(2, 100)
    for mine, theirs in (
        (signal.welch(x, 2.0, nperseg=16), scipy.signal.welch(x, 2.0, nperseg=16)),
        (
            signal.csd(x, y, nperseg=20, scaling="spectrum", average="median"),
            scipy.signal.csd(x, y, nperseg=20, scaling="spectrum", average="median"),
        ),
        (signal.stft(x, nperseg=16), scipy.signal.stft(x, nperseg=16)),
    ):
        for found, expected in zip(mine, theirs, strict=True):
            assert_close(found, expected)
    assert_close(signal.istft(signal.stft(x, nperseg=16)[2])[1][..., :100], x)


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(mode, order):
    image, coordinates = draw(5, 6), GENERATOR.uniform(-4, 9, (2, 30)).astype(np.float32)
    expected = scipy.ndimage.map_coordinates(image, coordinates, order=order, mode=mode, cval=2.0)
    if mode == "constant":  # SciPy's ends at the outermost elements, JAX's half or one beyond
        inside = np.all((coordinates > 0) & (coordinates < [[4], [5]]), axis=0)
    else:
        inside = slice(None)
    found = np.asarray(ndimage.map_coordinates(image, coordinates, order, mode, 2.0))
    assert_close(found[inside], expected[inside])


def test_regular_grid_interpolator():
    grid = np.array([0.0, 1.0, 3.0]), np.array([-1.0, 0.0, 2.0, 2.5])
    values, points = draw(3, 4, 2), GENERATOR.uniform(-2, 4, (20, 2))
    for method in ("linear", "nearest"):
        for fill in (np.nan, None):
            mine = interpolate.RegularGridInterpolator(grid, values, method, fill_value=fill)
            theirs = scipy.interpolate.RegularGridInterpolator(
                grid, values, method, bounds_error=False, fill_value=fill
            )
            assert_close(frit.jit(lambda f, x: f(x))(mine, points), theirs(points))


def test_vector_quantization():
    observations, codes = draw(20, 3), draw(4, 3)
    for found, expected in zip(
        cluster.vq.vq(observations, codes), scipy.cluster.vq.vq(observations, codes), strict=True
    ):
        assert_close(found, expected)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_krylov_methods(name):
    root = draw(8, 8)
    matrix = root @ root.T + 2 * np.eye(8, dtype=np.float32)
    if name == "gmres":
        matrix = matrix + draw(8, 8)
    b = {"head": draw(3), "rest": draw(5)}
    vector = np.concatenate([b["head"], b["rest"]])

    def apply(tree):
        image = jnp.asarray(matrix) @ jnp.concatenate([tree["head"], tree["rest"]])
        return {"head": image[:3], "rest": image[3:]}

    def total(b):
        x, _ = getattr(sparse.linalg, name)(apply, b, tol=1e-6)
        return x["head"].sum() + x["rest"].sum(), x

    slopes, x = frit.grad(total, has_aux=True)(b)
    inverse = np.linalg.inv(matrix.astype(float))
    assert_close(jnp.concatenate([x["head"], x["rest"]]), inverse @ vector, 2e-3)
    assert_close(jnp.concatenate([slopes["head"], slopes["rest"]]), inverse.sum(0), 2e-3)
    diagonal = np.diag(1 / np.diag(matrix))
    x, _ = getattr(sparse.linalg, name)(matrix, vector, tol=1e-6, M=diagonal)
    assert_close(x, inverse @ vector, 2e-3)
    with pytest.raises(ValueError, match=r"must be a square matrix, but has shape: \(2, 3\)"):
        getattr(sparse.linalg, name)(np.ones((2, 3), np.float32), np.ones(3, np.float32))


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
def test_minimize(method):
    with frit.enable_x64(True):
        found = frit.jit(lambda x: optimize.minimize(rosenbrock, x, method=method))(jnp.zeros(4))
    assert_close(found.x, np.ones(4), 1e-3)
    assert bool(found.success) or int(found.status) == 4
    with pytest.raises(ValueError, match="Method Newton not recognized"):
        optimize.minimize(rosenbrock, jnp.zeros(2), method="Newton")


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "area", "cubic-pytorch"])
def test_resize_keeps_constants_and_shifts(method):
    flat = np.full((1, 6, 5, 2), 3.5, np.float32)
    assert_close(frit.image.resize(flat, (1, 9, 4, 2), method), np.full((1, 9, 4, 2), 3.5), 1e-5)
    image = draw(6, 5)
    assert_close(frit.image.resize(image, (6, 5), method), image)
    moved = frit.image.scale_and_translate(
        image, (6, 5), (0,), jnp.ones(1), jnp.array([2.0]), method
    )
    assert_close(moved[2:], image[:-2], 1e-4)
    assert_close(moved[:2], np.zeros((2, 5)), 1e-6)


def test_resize_linear_and_nearest_by_hand():
    x = np.array([0.0, 1.0, 2.0, 3.0], np.float32)
    assert_close(frit.image.resize(x, (2,), "nearest"), [1.0, 3.0])
    assert_close(frit.image.resize(x, (2,), "linear", antialias=False), [0.5, 2.5])
    assert_close(frit.image.resize(x[:2], (4,), "linear"), [0.0, 0.25, 0.75, 1.0])
    with pytest.raises(ValueError, match='Unknown resize method "sharp"'):
        frit.image.resize(x, (2,), "sharp")
