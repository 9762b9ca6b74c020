"""ufunc objects, vectorize, and slopes of elementwise functions at their special points."""

import numpy as np
import pytest

import frit
import frit.numpy as jnp

X = jnp.array([1.0, 2.0, 3.0])
M = jnp.arange(6.0).reshape(2, 3)


def test_methods_of_named_ufuncs():
    assert repr(jnp.add) == "<jnp.ufunc 'add'>" and jnp.add.identity == 0 and jnp.add.nin == 2
    assert jnp.add.reduce(M).tolist() == [3, 5, 7]
    assert jnp.add.accumulate(X).tolist() == [1, 3, 6]
    assert jnp.multiply.outer(X, X[:2]).tolist() == [[1, 2], [2, 4], [3, 6]]
    assert jnp.add.at(X, jnp.array([0, 0]), 1.0, inplace=False).tolist() == [3, 2, 3]
    assert jnp.maximum.reduce(M, axis=1).tolist() == [2, 5]
    assert jnp.add.reduceat(jnp.arange(6), jnp.array([0, 3, 1])).tolist() == [3, 3, 15]
    with pytest.raises(NotImplementedError, match="inplace=False"):
        jnp.add.at(X, 0, 1.0)
    with pytest.raises(AttributeError):
        jnp.add.nin = 3


def test_ufunc_of_a_python_function():
    f = jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1)
    assert f(X, X).tolist() == [2, 5, 10]
    assert f.accumulate(X).tolist() == [1, 3, 10]
    assert f.reduce(X) == 10
    assert f.outer(X, X).shape == (3, 3)
    assert f.at(X, jnp.array([0, 0]), 2.0, inplace=False).tolist() == [7, 2, 3]
    with pytest.raises(ValueError, match="only supported for binary"):
        jnp.frompyfunc(jnp.sin, 1, 1).reduce(X)


def test_vectorize():
    matvec = jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")
    np.testing.assert_allclose(matvec(jnp.ones((4, 2, 3)), X), 6 * np.ones((4, 2)))
    power = jnp.vectorize(lambda x, n: x**n, excluded=(1,))
    assert power(X, 2).tolist() == [1, 4, 9]
    with pytest.raises(ValueError, match="inconsistent size for core dimension 'm'"):
        matvec(jnp.ones((2, 3)), jnp.ones(2))
    with pytest.raises(ValueError, match="not a valid gufunc signature"):
        jnp.vectorize(jnp.dot, signature="n,m->n")


@pytest.mark.parametrize(
    "function, at, wanted",
    [
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: x**3, 0.0, 0.0),
        (jnp.sinc, 0.0, 0.0),
        (frit.grad(jnp.sinc), 0.0, -(np.pi**2) / 3),
        (lambda x: jnp.logaddexp(x, -jnp.inf), 1.0, 1.0),
        (lambda x: jnp.logaddexp(x, x), 2.0, 1.0),
        (lambda x: jnp.frexp(x)[0], 3.0, 0.25),
        (jnp.i0, 1.0, 0.5651591),
        (lambda x: jnp.where(x > 0, x, 0.0), 1.0, 1.0),
        (lambda x: jnp.remainder(x, 3.0), 4.0, 1.0),
    ],
)
def test_slopes(function, at, wanted):
    np.testing.assert_allclose(frit.grad(function)(at), wanted, rtol=1e-5, atol=1e-6)


def test_piecewise():
    out = jnp.piecewise(X, [X < 2, X > 2], [lambda x: x * 10, -1.0, 0.5])
    assert out.tolist() == [10, 0.5, -1]
