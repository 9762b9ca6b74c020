"""Convolutions: wrong operands, the names of axes, and special cases by hand."""

import numpy as np
import pytest

from frit import ShapeDtypeStruct, lax, make_jaxpr, vjp
from frit.ir.dims import Dim

x = np.random.default_rng(0).normal(size=(2, 4, 5, 6)).astype("f4")
k = np.random.default_rng(1).normal(size=(6, 4, 2, 3)).astype("f4")


def _conv(lhs, rhs, padding="SAME", strides=(1, 1), **more):
    return lax.conv_general_dilated(lhs, rhs, strides, padding, **more)


WRONG = {
    "ranks": (lambda: _conv(x, k[0]), TypeError, "ndim to be equal, got 4 and 3"),
    "features": (
        lambda: _conv(x, k[:, :3]),
        ValueError,
        "must equal the rhs input feature dimension size, but 4 // 1 != 3",
    ),
    "feature groups": (
        lambda: _conv(x, k, feature_group_count=3),
        ValueError,
        "3 does not divide 4",
    ),
    "no groups": (lambda: _conv(x, k, feature_group_count=0), ValueError, "must be a positive"),
    "batch groups": (
        lambda: _conv(x, k, batch_group_count=3),
        ValueError,
        "3 does not divide 2",
    ),
    "strides": (lambda: _conv(x, k, [(0, 0)] * 2, (1,)), ValueError, "but got 2 and 1"),
    "pads": (lambda: _conv(x, k, [(0, 0)]), TypeError, "expected 2, got 1"),
    "pads beyond": (lambda: _conv(x, k, [(-9, 0), (0, 0)]), ValueError, "Negative padding"),
    "no pairs": (lambda: _conv(x, k, (1, 2)), ValueError, "sequence of (low, high) pairs"),
    "types": (lambda: _conv(x, k.astype("f2")), TypeError, "same dtypes, got float32, float16"),
    "preferred": (
        lambda: _conv(x, k, preferred_element_type="int32"),
        TypeError,
        "(floating, floating)",
    ),
    "named padding": (
        lambda: _conv(x, k, lhs_dilation=(2, 2)),
        ValueError,
        "use conv_transpose",
    ),
    "two names": (
        lambda: _conv(x, k, dimension_numbers=("NCHW", "OIHW")),
        TypeError,
        "must be length 3, got 2",
    ),
    "short name": (
        lambda: _conv(x, k, dimension_numbers=("NCH", "OIHW", "NCHW")),
        TypeError,
        "got 3 for lhs and rhs shapes",
    ),
    "repeated": (
        lambda: _conv(x, k, dimension_numbers=("NCHH", "OIHW", "NCHW")),
        TypeError,
        "cannot have duplicate characters, got NCHH",
    ),
    "missing": (
        lambda: _conv(x, k, dimension_numbers=("NCHW", "OOHW", "NCHW")),
        TypeError,
        "must contain the characters 'O' and 'I' exactly once, got OOHW",
    ),
    "spatial": (
        lambda: _conv(x, k, dimension_numbers=("NCHW", "OIHX", "NCHW")),
        TypeError,
        "same set of spatial characters",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_operands_are_told_what_is_wrong(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_names_of_axes():
    numbers = lax.conv_dimension_numbers(x.shape, k.shape, ("NHWC", "HWIO", "NWCH"))
    assert numbers == ((0, 3, 1, 2), (3, 2, 0, 1), (0, 2, 3, 1))
    channels_last = _conv(
        x.transpose(0, 2, 3, 1), k.transpose(2, 3, 1, 0), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    np.testing.assert_allclose(
        np.asarray(channels_last).transpose(0, 3, 1, 2), _conv(x, k), rtol=1e-4, atol=1e-5
    )


def test_groups_are_convolutions_side_by_side():
    parts = [_conv(x[:, g * 2 : g * 2 + 2], k[g * 3 : g * 3 + 3, :2]) for g in range(2)]
    grouped = _conv(x, k[:, :2], feature_group_count=2)
    np.testing.assert_allclose(grouped, np.concatenate(parts, 1), rtol=1e-4, atol=1e-5)
    parts = [_conv(x[g : g + 1], k[g * 3 : g * 3 + 3]) for g in range(2)]
    grouped = _conv(x, k, batch_group_count=2)
    np.testing.assert_allclose(grouped, np.concatenate(parts, 1), rtol=1e-4, atol=1e-5)


def test_transposed_convolution_is_the_gradient():
    def forward(v):
        return lax.conv(v, k, (2, 2), "VALID")

    result, backward = vjp(forward, x[:, :, :4, :5])
    ct = np.ones(result.shape, "f4")
    channels_last = ct.transpose(0, 2, 3, 1)
    kernel = k.transpose(2, 3, 1, 0)
    found = lax.conv_transpose(channels_last, kernel, (2, 2), "VALID", transpose_kernel=True)
    expected = np.asarray(backward(ct)[0]).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_patches_and_local_windows():
    patches = np.asarray(lax.conv_general_dilated_patches(x, (2, 3), (1, 1), "VALID"))
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(2, 3))
    expected = windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 24, 4, 4)
    np.testing.assert_array_equal(patches, expected)
    same_everywhere = np.broadcast_to(k.reshape(6, 24, 1, 1), (6, 24, 4, 4))
    found = lax.conv_general_dilated_local(x, same_everywhere, (1, 1), "VALID", (2, 3))
    np.testing.assert_allclose(found, lax.conv(x, k, (1, 1), "VALID"), rtol=1e-4, atol=1e-5)


def test_shapes():
    assert lax.conv_shape_tuple((1, 2, 5, 6), (3, 2, 2, 2), (1, 2), "SAME") == (1, 3, 5, 3)
    names = ("NHWC", "HWIO", "NHWC")
    shapes = (1, 5, 6, 2), (2, 2, 2, 3)
    assert lax.conv_general_shape_tuple(*shapes, (1, 2), "VALID", names) == (1, 4, 3, 3)
    assert lax.conv_transpose_shape_tuple(*shapes, (1, 2), "VALID", names) == (1, 6, 12, 3)


def test_symbolic_batch():
    operands = ShapeDtypeStruct((Dim("n"), 4, 5, 6), "float32"), k
    (aval,) = make_jaxpr(lambda a, b: lax.conv(a, b, (1, 1), "SAME"))(*operands).out_avals
    assert aval.shape == (Dim("n"), 6, 5, 6)
