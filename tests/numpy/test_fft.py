"""frit.numpy.fft beside numpy.fft, and transforms of transforms."""

import numpy as np
import pytest

import frit
from frit import lax
from frit.numpy import fft

GENERATOR = np.random.default_rng(2)
REAL = GENERATOR.normal(size=(3, 4, 5)).astype("f4")
COMPLEX = (REAL + 1j * GENERATOR.normal(size=REAL.shape)).astype("c8")

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn"]


def operand(name):
    return REAL if name.startswith(("rfft", "ihfft")) else COMPLEX


def assert_same(name, x, **kwargs):
    expected = getattr(np.fft, name)(x, **kwargs)
    function = lambda x: getattr(fft, name)(x, **kwargs)
    for run in (function, frit.jit(function)):
        found = run(x)
        assert found.shape == expected.shape and found.dtype.itemsize in (4, 8)
        assert (found.dtype.kind == "c") == (expected.dtype.kind == "c")
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("n", [None, 1, 4, 8, 7])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_axis(name, n, axis):
    assert_same(name, operand(name), n=n, axis=axis)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", [n for n in (*ONE, *TWO, *MANY) if "hfft" not in n])
def test_norms(name, norm):
    assert_same(name, operand(name), norm=norm)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("s", "axes"), [(None, (0, 1)), ((4, 6), (-1, 0)), ((2, 3), (-2, -1))])
def test_two_axes(name, s, axes):
    assert_same(name, operand(name), s=s, axes=axes)


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize(
    ("s", "axes"), [(None, None), (None, (2, 0)), ((4, 4), (0, 2)), ((2, 3, 8), (0, 1, 2))]
)
def test_many_axes(name, s, axes):
    assert_same(name, operand(name), s=s, axes=axes)


@pytest.mark.parametrize("name", MANY)
def test_more_axes_than_one_transform_takes(name):
    x = GENERATOR.normal(size=(2, 3, 2, 2, 3)).astype("f4")
    assert_same(name, x if name == "rfftn" else x.astype("c8"))


def test_integers_and_no_axes():
    x = np.arange(6)
    np.testing.assert_allclose(fft.fft(x), np.fft.fft(x), atol=1e-5)
    np.testing.assert_allclose(fft.rfft(x), np.fft.rfft(x), atol=1e-5)
    assert fft.fftn(REAL, axes=()).dtype == "c8"


def test_frequencies_and_shifts():
    for n in (1, 4, 5):
        for d in (1.0, 0.25):
            np.testing.assert_allclose(fft.fftfreq(n, d), np.fft.fftfreq(n, d), rtol=1e-6)
            np.testing.assert_allclose(fft.rfftfreq(n, d), np.fft.rfftfreq(n, d), rtol=1e-6)
    assert fft.fftfreq(4, dtype="f2").dtype == "f2"
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 2)):
            expected = getattr(np.fft, name)(REAL, axes)
            np.testing.assert_array_equal(getattr(fft, name)(REAL, axes), expected)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_transposes_are_those_of_the_matrix(name):
    """<ct, F t> = <F^T ct, t>, without conjugates."""
    x = operand(name)[0, 0]
    function = lambda x: getattr(fft, name)(x)
    shape, dtype = function(x).shape, function(x).dtype
    ct = GENERATOR.normal(size=shape) + 1j * GENERATOR.normal(size=shape)
    ct = (ct if dtype.kind == "c" else ct.real).astype(dtype)
    (back,) = frit.linear_transpose(function, x)(ct)
    left, right = (ct * np.asarray(function(x))).sum(), (np.asarray(back) * x).sum()
    if name in ("rfft", "irfft"):
        left, right = left.real, right.real
    np.testing.assert_allclose(left, right, rtol=1e-4)


def test_gradient_and_map():
    energy = lambda x: (abs(fft.rfft(x)) ** 2).sum()
    for x in (REAL[0, 0], REAL[0, 0, :4]):
        weights = np.full(len(x) // 2 + 1, 2.0)
        weights[0] = 1
        if len(x) % 2 == 0:
            weights[-1] = 1
        half = np.fft.irfft(np.fft.rfft(x) / weights, len(x)) * len(x)
        np.testing.assert_allclose(frit.grad(energy)(x), 2 * half, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        frit.vmap(fft.fft, in_axes=1, out_axes=1)(COMPLEX[0]),
        np.fft.fft(COMPLEX[0], axis=0), rtol=1e-4, atol=1e-4,
    )  # fmt: skip


def test_jaxpr():
    text = str(frit.make_jaxpr(fft.rfft)(REAL[0, 0]))
    assert "name=fft" in text and "fft[fft_lengths=(5,) fft_type=2]" in text
    assert lax.FftType.RFFT == 2


@pytest.mark.parametrize(("call", "message"), [
    (lambda: fft.fft(COMPLEX, axis=(0, 1)), "does not support multiple axes"),
    (lambda: fft.fft(COMPLEX, n=0), "Shape should be positive"),
    (lambda: fft.fft2(COMPLEX, axes=(0, 1, 2)), "only supports 2 axes"),
    (lambda: fft.fftn(COMPLEX, axes=(1, 1)), "repeated axes"),
    (lambda: fft.fftn(COMPLEX, s=(1, 2), axes=(0,)), "different lengths"),
    (lambda: fft.fft(COMPLEX, norm="x"), "Invalid norm value x"),
    (lambda: fft.rfft(COMPLEX), "only real valued inputs"),
    (lambda: fft.fftfreq([4]), "only takes an int"),
    (lambda: fft.rfftfreq(4, [1.0]), "only takes a single value"),
])  # fmt: skip
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
