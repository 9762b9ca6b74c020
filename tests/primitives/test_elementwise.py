"""Elementwise primitives beside JAX's results and texts, their errors, and the types they give."""

import json
import pathlib
import zipfile

import ml_dtypes
import numpy as np
import pytest

import frit
from frit import lax
from frit.ir.dims import Dim
from frit.ir.types import ShapedArray
from frit.primitives import scalar_meaning
from tests.derivative_cases import derivative_cases, text_of
from tests.scalar_cases import bits, cases

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "elementwise"
CASES = cases()
JAXPRS = json.loads((DATA / "derivatives.json").read_text())["jaxprs"]
DERIVATIVES = {key: (function, forms) for key, function, forms in derivative_cases(lax)}

MASK = np.array([True, False, True])
f32 = lambda *shape: ShapedArray(shape, np.float32)


# ------------------------------------------------------------------------------------ beside JAX


@pytest.fixture(scope="module")
def expected():
    with np.load(DATA / "scalars.npz") as stored:
        return dict(stored)


def test_stored_results_are_of_these_cases():
    with zipfile.ZipFile(DATA / "scalars.npz") as stored:
        assert sorted(name.removesuffix(".npy") for name in stored.namelist()) == sorted(CASES)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("key", CASES)
def test_results_are_jaxs_to_the_bit(key, expected):
    name, operands, given = CASES[key]
    with frit.enable_x64(True):
        found = bits(np.asarray(getattr(lax, name)(*operands, **given)))
    wrong = np.argwhere(found != expected[key])[:3]
    at = [tuple(x[tuple(i)] for x in operands) for i in wrong] if found.ndim == 1 else wrong
    assert not len(wrong), f"differs from JAX at {at}"


@pytest.mark.parametrize("key", DERIVATIVES)
def test_derivative_jaxprs_are_jaxs(key):
    function, forms = DERIVATIVES[key]
    operands = [frit.ShapeDtypeStruct(*form) for form in forms]
    assert renamed(text_of(frit, function, operands)) == renamed(JAXPRS[key])


def renamed(text):
    """The text with variables numbered anew, as a dropped binder shifts the letters."""
    names = {}
    words = []
    for word in text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split():
        name, colon, kind = word.partition(":")
        if name.isidentifier() and len(name) <= 2 and (colon or name in names):
            names.setdefault(name, f"v{len(names)}")
            word = names[name] + colon + kind
        words.append(word)
    return " ".join(words)


# ----------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: lax.add(x, np.arange(3, dtype=np.int32)),
            r"lax.add requires arguments to have the same dtypes, got float32, int32. \(Tip: "
            r"jnp.add is a similar function that does automatic type promotion on inputs\)",
        ),
        (lambda x: lax.add(x, 2), "same dtypes, got float32, int32"),
        (
            lambda x: lax.add(x, np.ones(2, np.float32)),
            r"add got incompatible shapes for broadcasting: \(3,\), \(2,\)",
        ),
        (
            lambda x: lax.add(x, np.ones((1, 3), np.float32)),
            r"add: arrays must have the same number of dimensions, got \{1, 2\}",
        ),
        (
            lambda x: lax.mul(MASK, MASK),
            "mul does not accept dtype bool at position 0. Accepted dtypes at position 0 are "
            "subtypes of integer, floating, complexfloating",
        ),
        (lambda x: lax.sin(1), "sin does not accept dtype int32. Accepted dtypes are subtypes of"),
        (lambda x: lax.abs(np.ones(2, np.uint8)), "abs does not accept dtype uint8"),
        (lambda x: lax.pow(np.int32(2), 2.0), "pow does not accept dtype int32 at position 0"),
        (
            lambda x: lax.integer_pow(np.int32(2), -1),
            "Integers cannot be raised to negative powers",
        ),
        (
            lambda x: lax.select(x, x, x),
            "select `which` must be boolean or integer type, got float32",
        ),
        (
            lambda x: lax.select_n(MASK, x, x, x),
            "select with boolean `which` cannot have > 2 cases",
        ),
        (
            lambda x: lax.select(np.ones(2, bool), x, x),
            r"`which` must be scalar or have the same shape as cases, got `which` shape \(2,\) but "
            r"case shape \(3,\)",
        ),
        (
            lambda x: lax.clamp(np.ones(2, np.float32), x, x),
            r"clamp requires min.shape == operand.shape or min.shape == \(\)",
        ),
        (lambda x: lax.bitcast_convert_type(MASK, np.int8), "does not support bool or complex"),
        (lambda x: lax.neg(np.zeros(2, [("float0", "V0")])), "Called neg with a float0 array"),
    ],
)
def test_errors_say_what_was_found(call, message):
    with pytest.raises(TypeError, match=message):
        call(np.ones(3, np.float32))


def test_bitcast_to_wider_elements_needs_their_parts():
    with pytest.raises(ValueError, match="the last axis must hold the parts of one element"):
        lax.bitcast_convert_type(np.zeros((2, 3), np.uint8), np.int32)


@pytest.mark.parametrize(("exponent", "mantissa"), [(0, 3), (3, -1)])
def test_reduce_precision_needs_bits(exponent, mantissa):
    with pytest.raises(ValueError, match="reduce_precision"):
        lax.reduce_precision(np.float32(1), exponent, mantissa)


def test_nextafter_has_no_derivative():
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'nextafter'"):
        frit.jvp(lambda x: lax.nextafter(x, x), (1.0,), (1.0,))


# ------------------------------------------------------------------------------------------ types


def test_a_result_is_weak_where_all_operands_are():
    jaxpr = frit.make_jaxpr(lambda x, y: (lax.add(x, 1.0), lax.add(x, y)))(2.0, np.float32(3))
    assert [t.weak_type for t in jaxpr.out_avals] == [True, False]


def test_derivatives_of_weak_values_are_weak():
    for function in (lax.sin, lax.tanh, lax.square, lambda x: lax.integer_pow(x, 3)):
        assert frit.grad(function)(2.0).weak_type


def test_symbolic_sizes_pass_through():
    n = Dim("n")
    assert lax.add_p.result_types(f32(n, 3), f32(n, 1)).shape == (n, 3)
    assert lax.add_p.result_types(f32(n), f32()).shape == (n,)
    assert lax.sin_p.result_types(f32(n, 2), accuracy=None).shape == (n, 2)
    bools = ShapedArray((n,), bool)
    assert lax.select_n_p.result_types(bools, f32(n), f32(n)).shape == (n,)
    with pytest.raises(TypeError, match="incompatible shapes"):
        lax.add_p.result_types(f32(n), f32(Dim("m")))


def test_converting_a_value_to_its_own_type_is_no_equation():
    jaxpr = frit.make_jaxpr(lambda x: lax.convert_element_type(x, np.float32))(np.float32(1))
    assert str(jaxpr) == "{ lambda ; a:f32[]. let  in (a,) }"


def test_converting_a_scalar_gives_a_literal():
    jaxpr = frit.make_jaxpr(lambda x: lax.add(lax.convert_element_type(2, np.float32), x))(
        np.float32(1)
    )
    assert str(jaxpr) == "{ lambda ; a:f32[]. let b:f32[] = add 2.0:f32[] a in (b,) }"


def test_whole_numbers_beyond_64_bits_convert_to_floats():
    assert float(lax.convert_element_type(2**100, np.float32)) == 2.0**100


def test_conversion_to_real_warns():
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert float(lax.convert_element_type(np.complex64(1 + 2j), np.float32)) == 1.0


def test_parameters_that_say_nothing_are_not_printed():
    x = np.ones(3, np.float32)
    text = str(frit.make_jaxpr(lambda x: lax.exp(lax.mul(x, x)))(x))
    assert "[accuracy" not in text and "out_dtype" not in text
    text = str(frit.make_jaxpr(lambda x: lax.exp(x, accuracy=lax.AccuracyMode.HIGHEST))(x))
    assert "exp[accuracy=AccuracyMode.HIGHEST] a" in text
    text = str(frit.make_jaxpr(lax.round)(x))
    assert "round[rounding_method=0] a" in text


# ---------------------------------------------------------------------------------------- meaning


def test_numpy_does_not_warn():
    assert np.isinf(lax.div(np.float32(1), np.float32(0)))
    assert np.isnan(lax.log(np.float32(-1)))


def test_conversion_to_bfloat16_rounds_once():
    just_above_half = np.float64(1.0 + 2**-8 + 2**-40)
    found = scalar_meaning.convert(just_above_half, np.dtype(ml_dtypes.bfloat16))
    assert float(found) == 1.0 + 2**-7


def test_bitcast_of_narrow_integers_keeps_bits():
    byte = np.array([0x12, 0xF7], np.uint8).view(np.int8)
    parts = lax.bitcast_convert_type(byte, ml_dtypes.int4)
    assert np.asarray(parts).astype(int).tolist() == [[2, 1], [7, -1]]
    assert np.asarray(lax.bitcast_convert_type(parts, np.int8)).tolist() == byte.tolist()


def test_random_gamma_grad_is_the_slope_of_quantiles():
    from scipy import special

    a, p, step = 1.7, 0.4, 1e-4
    slope = (special.gammaincinv(a + step, p) - special.gammaincinv(a - step, p)) / (2 * step)
    x = special.gammaincinv(a, p)
    found = lax.random_gamma_grad(np.float32(a), np.float32(x))
    np.testing.assert_allclose(float(found), slope, rtol=1e-4)
