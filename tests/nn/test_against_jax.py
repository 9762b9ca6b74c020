"""jax.nn gives the numbers of JAX: values, gradients, masks, initial parameters."""

import pathlib

import numpy as np
import pytest

import frit
from tests.nn.programs import ACTIVATIONS, GRID, attention, programs

GOLDEN = np.load(pathlib.Path(__file__).parent.parent / "data" / "nn" / "values.npz")


@pytest.fixture(scope="module")
def found():
    return {name: frit.tree.leaves(results) for name, results in programs(frit).items()}


NAMES = sorted({key.rsplit("/", 1)[0] for key in GOLDEN})


@pytest.mark.parametrize("name", NAMES)
def test_value(found, name):
    expected = [GOLDEN[key] for key in sorted(k for k in GOLDEN if k.rsplit("/", 1)[0] == name)]
    assert len(found[name]) == len(expected)
    for value, wanted in zip(found[name], expected, strict=True):
        assert value.dtype == wanted.dtype
        np.testing.assert_allclose(np.asarray(value), wanted, rtol=2e-5, atol=1e-5)


def test_every_program_has_a_value(found):
    assert sorted(found) == NAMES


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_compiled_as_eager(name):
    function = getattr(frit.nn, name)
    np.testing.assert_allclose(
        np.asarray(frit.jit(function)(GRID)), np.asarray(function(GRID)), rtol=1e-5, atol=1e-6
    )


def test_corners_have_the_derivative_of_the_flat_side():
    assert float(frit.grad(frit.nn.relu)(0.0)) == 0.0
    assert float(frit.grad(frit.nn.relu6)(0.0)) == 0.0
    assert float(frit.grad(frit.nn.relu6)(6.0)) == 0.0


def test_softmax_with_its_own_rule_has_the_same_gradient():
    slope = frit.grad(lambda x: (frit.nn.softmax(x) * x).sum())
    plain = np.asarray(slope(GRID))
    with frit.softmax_custom_jvp(True):
        np.testing.assert_allclose(np.asarray(slope(GRID)), plain, rtol=1e-4, atol=1e-6)


def test_one_hot_of_a_mapped_axis():
    columns = frit.vmap(
        lambda _: frit.nn.one_hot(np.array([0, 2]), 3, axis="classes"),
        axis_name="classes",
        out_axes=-1,
    )(np.arange(3))
    np.testing.assert_array_equal(np.asarray(columns), [[1, 0, 0], [0, 0, 1]])


def test_attention_in_half_precision_is_close():
    single = np.asarray(attention(frit, is_causal=True))
    arguments = [np.asarray(frit.random.normal(frit.random.key(i), (2, 4, 2, 8))) for i in range(3)]
    full = np.asarray(frit.nn.dot_product_attention(*arguments))
    half = frit.nn.dot_product_attention(*(a.astype(np.float16) for a in arguments))
    assert half.dtype == np.float16 and single.dtype == np.float32
    np.testing.assert_allclose(np.asarray(half, np.float32), full, atol=5e-3)


ERRORS = {
    "glu": (lambda nn: nn.glu(np.ones(3, np.float32)), ValueError, "divisible by 2"),
    "standardize": (
        lambda nn: nn.standardize(np.ones(3, np.float32), algorithm="best"),
        ValueError,
        "Unknown algorithm 'best'",
    ),
    "mask": (
        lambda nn: attention(frit, mask=np.ones((2, 1, 5, 6), np.float32)),
        ValueError,
        "mask dtype should be bool",
    ),
    "heads": (
        lambda nn: nn.dot_product_attention(
            np.ones((1, 2, 3, 4)), np.ones((1, 2, 2, 4)), np.ones((1, 2, 2, 4))
        ),
        ValueError,
        "multiple of key/value heads, but got 3 vs 2",
    ),
    "cudnn": (
        lambda nn: attention(frit, implementation="cudnn"),
        NotImplementedError,
        "implementation='xla'",
    ),
    "fans": (
        lambda nn: nn.initializers.he_normal()(frit.random.key(0), (3,)),
        ValueError,
        "Can't compute input and output sizes of a 1-dimensional weights tensor",
    ),
    "mode": (
        lambda nn: nn.initializers.variance_scaling(1.0, "fan", "normal")(
            frit.random.key(0), (3, 3)
        ),
        ValueError,
        "invalid mode for variance scaling initializer: fan",
    ),
    "orthogonal": (
        lambda nn: nn.initializers.orthogonal()(frit.random.key(0), (3,)),
        ValueError,
        "at least a 2D shape",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    call, error, message = ERRORS[name]
    with pytest.raises(error, match=message.replace("(", r"\(")):
        call(frit.nn)
