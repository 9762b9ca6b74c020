"""Callbacks and debugging functions."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax
from frit.experimental import io_callback


def test_callbacks_get_arrays():
    kinds = []

    def callback(x):
        kinds.append(type(x))
        return np.asfortranarray(x)

    x = jnp.arange(6.0).reshape(2, 3)
    f = lambda x: jax.pure_callback(callback, jax.ShapeDtypeStruct.like(x), x)
    np.testing.assert_array_equal(jax.jit(f)(x), x)
    np.testing.assert_array_equal(f(x), x)
    assert kinds == [jax.Array, jax.Array]


def test_exceptions_of_callbacks_are_logged_and_raised(caplog):
    def fail(x):
        raise ValueError("too large")

    with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError, match="ValueError: too large"):
        jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct.like(x), x))(1.0)
    assert "jax.pure_callback failed" in caplog.text


@pytest.mark.parametrize(
    ("result", "text"),
    [(np.ones(3, np.float32), "Expected: ()"), (np.int32(1), "Expected: float32, Actual: int32")],
)
def test_results_are_as_promised(result, text):
    struct = jax.ShapeDtypeStruct((), jnp.float32)
    with pytest.raises(RuntimeError) as error:
        jax.pure_callback(lambda: result, struct)
    assert text in str(error.value)


def test_promises_of_64_bits_are_refused():
    with pytest.raises(ValueError, match="result_shape_dtypes cannot specify 64-bit types"):
        jax.pure_callback(lambda: 1.0, jax.ShapeDtypeStruct((), np.float64))


def test_transformations_of_callbacks():
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    pure = lambda x: jax.pure_callback(np.sin, scalar, x)
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        jax.grad(pure)(1.0)
    with pytest.raises(NotImplementedError, match="vmap is only supported"):
        jax.vmap(pure)(jnp.ones(3))
    acts = lambda x: io_callback(lambda x: x, scalar, x)
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        jax.jvp(acts, (1.0,), (1.0,))
    with pytest.raises(NotImplementedError, match="IO effect not supported in vmap-of-cond"):
        jax.vmap(lambda p: lax.cond(p, acts, lambda x: x, 1.0))(jnp.array([True, False]))
    with pytest.raises(NotImplementedError, match="while_loop with batched predicate"):
        jax.vmap(lambda x: lax.while_loop(lambda x: x < 3, acts, x))(jnp.arange(3.0))
    with pytest.raises(NotImplementedError, match="partial-eval of `checkpoint`"):
        jax.grad(jax.checkpoint(lambda x, y: (acts(y), x)[1]))(1.0, 2.0)


def test_debug_functions_take_options_in_a_call_of_their_own(capsys):
    seen = []
    jax.jit(lambda x: jax.debug.callback(ordered=True)(seen.append, x))(3)
    jax.jit(lambda x: jax.debug.print(ordered=True)("x: {x}", x=x))(42)
    assert seen == [3] and capsys.readouterr().out == "x: 42\n"
    with pytest.raises(TypeError, match="debug_print received unexpected arguments"):
        jax.debug.print(ordered=True, a=1)


def test_arguments_that_the_format_does_not_name():
    with pytest.raises(ValueError, match="Unused keyword arguments.*'y'"):
        jax.debug.print("{x}", x=1, y=2)
    with pytest.raises(ValueError, match="You may be passing an f-string"):
        jax.debug.print("hello 3", x=3)
