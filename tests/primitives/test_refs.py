"""Refs are cells inside traced code: read and written in order, gone before compilation."""

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax


def doubled(x):
    cell = jax.new_ref(x)
    cell[...] = cell[...] * 2
    cell[0] = 7.0
    return cell[...], cell[1:]


def test_eager_and_compiled_agree():
    x = jnp.arange(3.0)
    for f in (doubled, jax.jit(doubled), jax.jit(lambda v: jax.jit(doubled)(v))):
        whole, part = f(x)
        np.testing.assert_array_equal(whole, [7.0, 2.0, 4.0])
        np.testing.assert_array_equal(part, [2.0, 4.0])


def test_a_cell_may_be_given_to_a_jitted_function():
    @jax.jit
    def increment(cell):
        cell[...] = cell[...] + 1.0
        return cell[...] * 0.0

    def f(x):
        cell = jax.new_ref(x)
        zero = increment(cell)
        increment(cell)
        return cell[...] + zero

    np.testing.assert_array_equal(jax.jit(f)(jnp.ones(2)), [3.0, 3.0])


def test_text():
    jaxpr = jax.make_jaxpr(lambda x: doubled(x)[0])(1.0 * jnp.ones(1))
    assert "b:Ref{f32[1]} = new_ref[kind=None memory_space=None] a" in str(jaxpr)
    assert "c:f32[1] <- b[...]" in str(jaxpr)


def test_refusals_say_what_to_do():
    outside = jax.new_ref(jnp.ones(2))
    with pytest.raises(NotImplementedError, match="made outside.*Pass its value as an argument"):
        jax.jit(lambda x: outside[...] + x)(1.0)

    def loop(x):
        cell = jax.new_ref(x)

        def step(c, _):
            cell[...] = cell[...] + 1.0
            return c, None

        lax.scan(step, 0.0, None, length=3)
        return cell[...]

    with pytest.raises(NotImplementedError, match="carry the value through the loop"):
        jax.jit(loop)(jnp.ones(2))
