"""jit changes no number: IEEE arithmetic, operation by operation; code grows with the program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frit as jax
import frit.numpy as jnp
from frit.runtime.execute import program_of

TINY, HUGE = np.float32(1e-40), np.float32(3e38)
PROGRAMS = {
    "a large number added and taken away": lambda x, y: x + 1e30 - 1e30,
    "a product minus itself": lambda x, y: x * y - x * y,
    "a square minus itself": lambda x, y: x**2 - x * x,
    "a sum that is not associative": lambda x, y: (x + y) - x,
    "multiply and add in two roundings": lambda x, y: x * y + x,
    "division is not a product": lambda x, y: x / y,
    "division by a constant": lambda x, y: x / 3.0,
    "adding zero keeps signs": lambda x, y: x + 0.0,
    "multiplying by zero keeps nan": lambda x, y: x * 0.0,
    "compensated sum": lambda x, y: (x - ((x + y) - y)) + y,
    "square root of a square": lambda x, y: jnp.sqrt(x * x),
    "negated difference": lambda x, y: -(x - y),
    "maximum of zeros": lambda x, y: jnp.maximum(x * 0, y * 0),
    "masked nan": lambda x, y: jnp.where(x > 0, x, jnp.nan) * 1.0,
}
VALUES = np.float32(
    [0, -0.0, 1, -1, 0.1, 3, 1e7, TINY, -TINY, 1e-45, HUGE, -HUGE, np.inf, -np.inf, np.nan]
)


def bits(x):
    return np.where(np.isnan(x), np.float32(np.nan), np.asarray(x)).view(np.uint32)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_equals_eager_to_the_bit(name):
    x, y = (a.ravel() for a in np.meshgrid(VALUES, VALUES))
    function = PROGRAMS[name]
    eager = function(jnp.array(x), jnp.array(y))
    np.testing.assert_array_equal(bits(jax.jit(function)(x, y)), bits(eager))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(width=32), min_size=2, max_size=2), st.sampled_from(sorted(PROGRAMS)))
def test_compiled_equals_eager_on_any_numbers(pair, name):
    x, y = map(np.float32, pair)
    function = PROGRAMS[name]
    assert bits(jax.jit(function)(x, y)) == bits(function(jnp.asarray(x), jnp.asarray(y)))


def test_inverse_functions_are_not_cancelled():
    # Each is within its ulps of the definition, compiled or not; what is lost between them stays.
    for function in (lambda x: jnp.log2(jnp.exp2(x)), lambda x: jnp.log(jnp.exp(x))):
        assert float(jax.jit(function)(np.float32(1e-9))) == 0.0
        assert float(jax.jit(function)(np.float32(200.0))) == np.inf


def test_subnormals_are_kept():
    assert float(jax.jit(lambda x: x * 1)(TINY)) == float(TINY) != 0.0
    assert float(jax.jit(lambda x: x / 2)(TINY)) == float(np.float32(TINY / 2))


def test_nested_slices_clamp_one_after_the_other():
    def f(x, i, j):
        return jax.lax.dynamic_slice(jax.lax.dynamic_slice(x, (i,), (4,)), (j,), (1,))

    assert jax.jit(f)(jnp.arange(10.0), 9, 0).tolist() == [6.0]


def test_a_constant_nan_is_nan():
    for function in (jnp.exp, jnp.exp2, jax.nn.softmax, jax.nn.logsumexp):
        out = jax.jit(lambda v, g=function: g(v * jnp.nan))(jnp.float32([0.1, 0.2]))
        assert np.isnan(out).all()


def unrolled(steps):
    def f(x):
        for i in range(steps):
            x = jnp.sin(x) * x[::-1] + i
        return x.sum()

    return f


def size_of_code(function, *operands):
    """Characters of the LLVM text of a program."""
    closed = jax.make_jaxpr(function)(*operands)
    return len(program_of(closed).executable.text)


def test_code_is_linear_in_unrolled_steps():
    """Each step reads both ends of the one before: recomputing would double the work every step."""
    x = jnp.ones(16)
    few, many = (size_of_code(jax.grad(unrolled(n)), x) for n in (10, 40))
    assert many < 6 * few
    found = jax.jit(jax.grad(unrolled(4)))(x)
    np.testing.assert_allclose(found, jax.grad(unrolled(4))(x), rtol=1e-4, atol=1e-5)


def test_equal_layers_share_their_code():
    def layers(n):
        def f(x, w):
            for _ in range(n):
                x = jnp.tanh(x @ w) + x
            return x.sum()

        return f

    x, w = jnp.ones((8, 8)), jnp.ones((8, 8))
    one, many = (size_of_code(jax.grad(layers(n), 1), x, w) for n in (2, 24))
    assert many < 4 * one
