"""Twenty end-to-end checks in about two seconds: run them after every edit with `make tiny`."""

import numpy as np
import pytest

import frit
import frit.numpy as jnp
from frit import lax


def loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w) - y) ** 2)


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def close(actual, expected, tolerance=1e-5):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def test_arrays_compute_at_once():
    x = jnp.arange(6.0).reshape(2, 3)
    close((x.T @ x).sum(), np.arange(6.0).reshape(2, 3).T.dot(np.arange(6.0).reshape(2, 3)).sum())


def test_make_jaxpr_prints_equations():
    jaxpr = frit.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
    expected = "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }"
    assert str(jaxpr) == expected


def test_grad_of_a_python_branch():
    assert float(frit.grad(lambda x: x**2 if x > 0 else -x)(3.0)) == 6.0


def test_grad_equals_finite_differences():
    w, x, y = numbers(3), numbers(8, 3), numbers(8)
    step = np.eye(3, dtype=np.float32) * 1e-2
    slopes = [(loss(w + d, x, y) - loss(w - d, x, y)) / 2e-2 for d in step]
    close(frit.grad(loss)(w, x, y), np.array([float(s) for s in slopes]), 1e-3)


def test_jit_equals_eager():
    x = numbers(100)
    fun = lambda x: jnp.where(x > 0, jnp.exp(-x), x * x).sum()
    close(frit.jit(fun)(x), fun(x))


def test_jit_of_grad():
    w, x, y = numbers(3), numbers(8, 3), numbers(8)
    close(frit.jit(frit.grad(loss))(w, x, y), frit.grad(loss)(w, x, y))


def test_jvp_and_vjp_agree():
    x, t, ct = numbers(5), numbers(5)[::-1].copy(), numbers(5) * 2
    fun = lambda x: jnp.cumsum(jnp.sin(x))
    _, tangent = frit.jvp(fun, (x,), (t,))
    [cotangent] = frit.vjp(fun, x)[1](ct)
    close(jnp.dot(ct, tangent), jnp.dot(cotangent, t))


def test_vmap_is_a_stacked_loop():
    a, b = numbers(4, 3), numbers(3)
    fun = lambda a, b: jnp.dot(a, b) + a.max()
    close(frit.vmap(fun, in_axes=(0, None))(a, b), np.stack([fun(row, b) for row in a]))


def test_per_example_gradients():
    w, x, y = numbers(3), numbers(8, 3), numbers(8)
    each = frit.jit(frit.vmap(frit.grad(loss), in_axes=(None, 0, 0)))(w, x, y)
    close(each.mean(0), frit.grad(loss)(w, x, y))


def test_hessian_is_symmetric():
    h = frit.hessian(lambda x: jnp.sum(jnp.sin(x) * x[::-1] ** 2))(numbers(4))
    close(h, h.T)


def test_scan_under_jit_and_grad():
    def total(x):
        return lax.scan(lambda c, _: (jnp.sin(c) + 0.1, c), x, None, length=5)[1].sum()

    step = 1e-2
    close(frit.jit(frit.grad(total))(0.5), (total(0.5 + step) - total(0.5 - step)) / 0.02, 1e-3)


def test_while_loop():
    collatz = lambda n: jnp.where(n % 2 == 0, n // 2, 3 * n + 1)
    steps = frit.jit(
        lambda n: lax.while_loop(lambda s: s[0] > 1, lambda s: (collatz(s[0]), s[1] + 1), (n, 0))[1]
    )
    assert int(steps(27)) == 111


def test_cond_and_switch():
    fun = frit.jit(
        lambda i, x: lax.switch(
            i, [jnp.sin, jnp.cos, lambda x: lax.cond(x > 0, jnp.exp, abs, x)], x
        )
    )
    close([float(fun(i, 0.5)) for i in range(3)], [np.sin(0.5), np.cos(0.5), np.exp(0.5)])


def test_indexed_update():
    x = jnp.zeros(5).at[jnp.array([0, 2, 2])].add(1.0)
    np.testing.assert_array_equal(x, [1, 0, 2, 0, 0])


def test_sort_and_gather():
    x = numbers(50)
    order = frit.jit(jnp.argsort)(x)
    np.testing.assert_array_equal(jnp.asarray(x)[order], np.sort(x))


def test_random_numbers_are_the_documented_ones():
    np.testing.assert_array_equal(
        frit.random.key_data(frit.random.split(frit.random.key(0)))[0], [1797259609, 2579123966]
    )


def test_pytrees_pass_through():
    tree = {"a": (jnp.ones(2), 3.0), "b": None}
    out = frit.jit(lambda t: frit.tree.map(lambda leaf: leaf + 1, t))(tree)
    assert out["b"] is None and float(out["a"][1]) == 4.0
    np.testing.assert_array_equal(out["a"][0], [2, 2])


def test_linear_algebra():
    a, b = numbers(4, 4) + 4 * np.eye(4, dtype=np.float32), numbers(4)
    close(a @ np.asarray(frit.jit(jnp.linalg.solve)(a, b)), b, 1e-4)


def test_custom_vjp():
    @frit.custom_vjp
    def clipped(x):
        return x * 2

    clipped.defvjp(lambda x: (clipped(x), None), lambda _, ct: (jnp.clip(ct, -1, 1),))
    assert float(frit.grad(lambda x: 10 * clipped(x))(1.0)) == 1.0


def test_an_error_is_a_lesson():
    with pytest.raises(TypeError, match=r"\(3,\).*\(4,\)|float32\[3\].*float32\[4\]"):
        jnp.ones(3) + jnp.ones(4)
