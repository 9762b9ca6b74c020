"""Operators, methods and properties: of arrays and of tracers alike."""

import operator

import numpy as np
import pytest

import frit
import frit.numpy as jnp

X = np.array([3.0, 1.0, 2.0], np.float32)
I = np.array([3, 1, 2], np.int32)

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.matmul, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
    operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("apply", OPERATORS, ids=lambda f: f.__name__)
def test_operators(apply):
    for left, right in ((X, X + 1), (X, 2.0), (2.0, X), (X, I)):
        if apply is operator.matmul and (np.ndim(left) == 0 or np.ndim(right) == 0):
            continue
        wrap = lambda v: jnp.asarray(v) if isinstance(v, np.ndarray) else v
        wanted = apply(left, right)
        np.testing.assert_allclose(apply(wrap(left), wrap(right)), wanted, rtol=1e-6)
        traced = frit.jit(lambda a: apply(a, wrap(right)) if a.ndim else a)
        if isinstance(left, np.ndarray):
            np.testing.assert_allclose(traced(jnp.asarray(left)), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "apply", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
)
def test_operators_on_bits(apply):
    np.testing.assert_array_equal(apply(jnp.asarray(I), 1), apply(I, 1))
    np.testing.assert_array_equal(apply(5, jnp.asarray(I)), apply(5, I))


def test_unknown_operand_gets_its_turn():
    class Other:
        def __radd__(self, other):
            return "theirs"

    assert jnp.ones(2) + Other() == "theirs"


METHODS = (
    "x.sum() | x.mean() | x.std() | x.var() | x.min() | x.max() | x.argmax() | x.argmin()"
    " | x.prod() | x.all() | x.any() | x.cumsum() | x.cumprod() | x.reshape(3, 1)"
    " | x.reshape((1, 3)) | x.ravel() | x.flatten() | x.T | x.real | x.imag | x.astype(int)"
    " | x.clip(1, 2) | x.round(1) | x.repeat(2) | x.take(1) | x.dot(x) | x.conj()"
    " | x.swapaxes(0, 0) | x[None].squeeze() | x.argsort() | divmod(x, 2)[1] | abs(-x) | -x"
    " | +x | x.view('int32') | x.transpose() | x[:, None].mT | x.copy()"
).split(" | ")


@pytest.mark.parametrize("expression", METHODS)
def test_methods_of_arrays_and_tracers(expression):
    wanted = eval(expression, {"x": X})
    np.testing.assert_allclose(eval(expression, {"x": jnp.asarray(X)}), wanted, rtol=1e-6)
    traced = frit.jit(lambda x: eval(expression, {"x": x}))
    np.testing.assert_allclose(traced(jnp.asarray(X)), wanted, rtol=1e-6)


def test_python_protocols():
    x = jnp.asarray(X)
    assert [float(v) for v in x] == [3, 1, 2] and len(x) == 3 and 2.0 in x
    first, *_ = x
    assert float(first) == 3 and x.item(1) == 1 and x.tolist() == [3, 1, 2]
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(jnp.float32(1))
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert x.__array_namespace__() is jnp


def test_integers_divided_by_zero_are_zero():
    assert (jnp.arange(3) // 0).tolist() == (jnp.arange(3) % 0).tolist() == [0, 0, 0]


def test_integer_exponents_multiply_out():
    assert "integer_pow[y=3]" in str(frit.make_jaxpr(lambda x: x**3)(1.0))
    with pytest.raises(TypeError, match="negative powers"):
        jnp.arange(3) ** -1
    assert (jnp.arange(3) ** jnp.array([2, 2, 3])).tolist() == [0, 1, 8]


def test_float_to_integer_saturates():
    x = jnp.array([np.nan, 1e20, -1e20, -5.7])
    assert x.astype(int).tolist() == [0, 2**31 - 1, -(2**31), -5]
