"""Element types of results, operands that are refused, and the settings that govern both."""

import warnings

import numpy as np
import pytest

import frit
import frit.numpy as jnp

F32, I32, I8, BF16 = jnp.float32, jnp.int32, jnp.int8, jnp.bfloat16


@pytest.mark.parametrize(
    "left, right, wanted",
    [
        (jnp.ones(2, I8), 1, "int8"),
        (jnp.ones(2, I8), 1.5, "float32"),
        (jnp.ones(2, BF16), 1.5, "bfloat16"),
        (jnp.ones(2, BF16), jnp.ones(2, jnp.float16), "float32"),
        (jnp.ones(2, I8), jnp.ones(2, jnp.uint8), "int16"),
        (jnp.ones(2, bool), 1, "int32"),
        (jnp.ones(2, F32), 1j, "complex64"),
        (jnp.ones(2, I32), np.float64(1), "float32"),
        (1, 2.0, "float32"),
    ],
)
def test_common_types(left, right, wanted):
    assert jnp.add(left, right).dtype == wanted
    assert jnp.result_type(left, right) == wanted


def test_scalars_are_literals():
    assert str(frit.make_jaxpr(lambda x: x + 1)(jnp.arange(3))) == (
        "{ lambda ; a:i32[3]. let b:i32[3] = add a 1:i32[] in (b,) }"
    )
    assert str(frit.make_jaxpr(lambda x: x * jnp.asarray(2.0))(jnp.ones(3))) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }"
    )


def test_scalars_stay_weak():
    assert jnp.asarray(1.0).weak_type and not jnp.asarray([1.0]).weak_type
    assert (jnp.asarray(1.0) + jnp.ones(2, jnp.float16)).dtype == jnp.float16
    assert not jnp.float32(1).weak_type


@pytest.mark.parametrize("bad", [[1, 2], (1,), None, "text", {}])
def test_refused_operands(bad):
    with pytest.raises(TypeError):
        jnp.add(jnp.ones(2), bad)
    with pytest.raises(TypeError, match="unsupported operand"):
        jnp.ones(2) + bad


def test_message_names_the_position():
    message = "add requires ndarray or scalar arguments, got <class 'list'> at position 0."
    with pytest.raises(TypeError, match=message):
        jnp.add([1], 2)


def test_64_bits_are_narrowed_with_a_warning():
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64 requested in zeros"):
        assert jnp.zeros(3, "float64").dtype == jnp.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jnp.zeros(3, float).dtype == jnp.float32
        assert jnp.asarray(np.ones(2)).dtype == jnp.float32


def test_long_python_ints_overflow():
    with pytest.raises(OverflowError):
        jnp.arange(3) + 2**33


def test_rank_promotion_setting():
    with frit.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        jnp.ones((2, 3)) + jnp.ones(3)
    with frit.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank promotion"):
        jnp.ones((2, 3)) + jnp.ones(3)
    with frit.numpy_rank_promotion("raise"):
        jnp.ones((2, 3)) + 1.0  # scalars are no ranks


def test_strict_promotion_setting():
    with frit.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="strict"):
        jnp.ones(2) + jnp.ones(2, int)
    with frit.numpy_dtype_promotion("strict"):
        assert (jnp.ones(2) + 1).dtype == jnp.float32


def test_dtype_objects():
    assert jnp.float32 == np.float32 == np.dtype(jnp.float32) and np.dtype(jnp.int_) == np.int64
    assert isinstance(jnp.float32, type) and isinstance(np.float32(1), jnp.float32)
    assert jnp.int8(5).dtype == jnp.int8 and jnp.float32([1, 2]).shape == (2,)
    assert hash(jnp.float32) == hash(np.float32)
    assert jnp.promote_types("int8", "uint8") == "int16"
    assert jnp.isdtype(jnp.int8, ("bool", "integral")) and not jnp.isdtype(F32, "integral")
    assert jnp.finfo(BF16).bits == 16 and jnp.iinfo(jnp.int4).max == 7
    assert jnp.issubdtype(BF16, jnp.floating)
