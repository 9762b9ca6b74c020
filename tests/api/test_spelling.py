"""Positional, keyword and default spellings of one call are one trace."""

import functools

import pytest

import frit as jax
import frit.numpy as jnp


@pytest.fixture
def traced():
    return []


def test_spellings_of_a_call_share_one_trace(traced):
    @jax.jit
    def f(x, y=2.0, *, z=1):
        traced.append(1)
        return x * y + z

    x = jnp.ones(3)
    results = [f(x, 2.0, z=1), f(x), f(x, y=2.0), f(y=2.0, x=x), f(z=1, x=x), f(x, 2.0)]
    assert len(traced) == 1
    assert all((r == 3.0).all() for r in results)
    assert (f(x, 3.0) == 4.0).all()
    assert len(traced) == 1


def test_static_arguments_share_it_too(traced):
    @functools.partial(jax.jit, static_argnames="n")
    def f(x, n=3):
        traced.append(1)
        return sum(x for _ in range(n))

    for call in (lambda: f(1.0), lambda: f(1.0, 3), lambda: f(1.0, n=3), lambda: f(n=3, x=1.0)):
        assert float(call()) == 3.0
    assert len(traced) == 1
    assert float(f(1.0, 2)) == 2.0


def test_a_default_that_python_needs_is_a_constant(traced):
    @jax.jit
    def f(x, n=3):
        traced.append(1)
        return sum(x for _ in range(n))

    assert float(f(1.0)) == 3.0
    assert float(f(1.0)) == 3.0
    assert len(traced) == 1


def test_a_call_that_does_not_fit_says_so():
    f = jax.jit(lambda x, y=1.0: x + y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        f(1.0, z=2.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        f(y=2.0)
