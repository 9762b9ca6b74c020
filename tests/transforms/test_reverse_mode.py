"""Reverse mode is jvp over Split, transposed: what is saved, computed again, and shared."""

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax
from frit.ir.jaxpr import subjaxprs


def count(jaxpr, name):
    """How many equations named `name` a jaxpr has, those of inner jaxprs included."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    own = sum(eqn.primitive.name == name for eqn in jaxpr.eqns)
    return own + sum(count(inner, name) for eqn in jaxpr.eqns for inner in subjaxprs(eqn))


def numbers(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(np.float32))


def check_gradient(function, *operands, tolerance=2e-2):
    """grad equals central differences, eagerly and under jit."""
    found = jax.grad(lambda args: function(*args).sum())(operands)
    compiled = jax.jit(jax.grad(lambda args: function(*args).sum()))(operands)
    for i, (g, c, x) in enumerate(zip(found, compiled, operands, strict=True)):
        np.testing.assert_allclose(g, c, rtol=1e-5, atol=1e-6)
        direction = np.random.default_rng(i).standard_normal(x.shape).astype(np.float32)
        step = 1e-2

        def moved(sign, i=i, x=x, direction=direction, step=step):
            args = [*operands[:i], x + sign * step * direction, *operands[i + 1 :]]
            return float(function(*args).sum())

        slope = (moved(1) - moved(-1)) / (2 * step)
        np.testing.assert_allclose(float((g * direction).sum()), slope, rtol=tolerance, atol=1e-2)


def scanned(xs, w):
    def step(carry, x):
        carry = jnp.tanh(carry * w + x)
        return carry, carry * x

    last, ys = lax.scan(step, jnp.zeros_like(w), xs)
    return last + ys.sum(0)


def branched(x, y):
    return lax.cond(x[0] > 0, lambda a, b: a * jnp.sin(b), lambda a, b: b / a, x, y)


def looped(x):
    return lax.fori_loop(0, 3, lambda i, v: v * jnp.sin(v) + i, x)


def nested(x):
    inner = jax.jit(lambda v: jnp.exp(-v) * v)
    return inner(inner(x)) * x


PROGRAMS = {
    "scan": (scanned, (4, 3), (3,)),
    "cond": (branched, (3,), (3,)),
    "fori_loop": (looped, (3,)),
    "jit in jit": (nested, (3,)),
    "checkpoint": (jax.checkpoint(nested), (3,)),
    "checkpoint of scan": (jax.checkpoint(scanned), (4, 3), (3,)),
    "scan of checkpoint": (
        lambda x: lax.scan(lambda c, _: (jax.checkpoint(nested)(c), None), x, None, length=3)[0],
        (3,),
    ),
    "slices": (lambda x: x[1:] * x[:-1] + x[::2][:1] * x[-1], (5,)),
    "gather": (lambda x: x[jnp.array([0, 2, 2])] * x[0], (4,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_is_the_slope(name):
    function, *shapes = PROGRAMS[name]
    check_gradient(function, *[numbers(*s, seed=i) for i, s in enumerate(shapes)])


@pytest.mark.parametrize("name", ["scan", "cond", "jit in jit", "checkpoint"])
def test_second_derivatives_are_symmetric(name):
    function, *shapes = PROGRAMS[name]
    x, *rest = [numbers(*s, seed=i) for i, s in enumerate(shapes)]
    hessian = jax.hessian(lambda v: function(v, *rest).sum())(x)
    matrix = np.asarray(hessian).reshape(x.size, x.size)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-4, atol=1e-5)


def test_checkpoint_computes_again_and_saves_by_policy():
    f = lambda x: jnp.sin(jnp.sin(x)) * x
    plain = jax.make_jaxpr(jax.grad(f))(1.0)
    again = jax.make_jaxpr(jax.grad(jax.checkpoint(f)))(1.0)
    everything = jax.checkpoint_policies.everything_saveable
    saved = jax.make_jaxpr(jax.grad(jax.checkpoint(f, policy=everything)))(1.0)
    assert count(plain, "sin") == count(saved, "sin") == 2
    assert count(again, "sin") == 4


def test_named_values_can_be_saved():
    def f(x):
        return jnp.sin(jax.ad_checkpoint.checkpoint_name(jnp.cos(x), "inner"))

    policy = jax.checkpoint_policies.save_only_these_names("inner")
    jaxpr = jax.make_jaxpr(jax.grad(jax.checkpoint(f, policy=policy)))(1.0)
    assert count(jaxpr, "cos") == 2  # the value, once, and the slope of sin
    assert count(jax.make_jaxpr(jax.grad(jax.checkpoint(f)))(1.0), "cos") == 3


def test_scan_passes_constants_and_slices_to_the_backward_loop():
    """Residuals that are inputs of the scan are not stacked again."""
    jaxpr = jax.make_jaxpr(jax.grad(lambda w, xs: lax.scan(
        lambda c, x: (c * w + x, None), 0.0, xs)[0]))(jnp.float32(2.0), numbers(4))  # fmt: skip
    forward = next(e for e in jaxpr.jaxpr.eqns if e.primitive.name == "scan")
    stacked = forward.outvars[forward.params["num_carry"] :]
    assert len(stacked) == 1  # the carry of each step, and nothing else


def test_equal_blocks_are_differentiated_once():
    traced = []

    @jax.jit
    def block(x):
        traced.append(x.shape)
        return jnp.tanh(x) * 2

    def model(x):
        for _ in range(24):
            x = block(x)
        return x.sum()

    jaxpr = jax.make_jaxpr(jax.grad(model))(numbers(3))
    assert len(traced) == 1
    bodies = {id(e.params["jaxpr"]) for e in jaxpr.jaxpr.eqns if e.primitive.name == "jit"}
    assert len(bodies) == 2  # one forward, one backward


def test_forward_and_reverse_mode_of_a_while_loop_agree():
    f = lambda x: lax.while_loop(lambda v: v < 10.0, lambda v: v * 2.0, x)
    assert float(jax.jvp(f, (1.0,), (1.0,))[1]) == 16.0
    assert float(jax.grad(f)(1.0)) == 16.0


def test_gradient_through_a_python_branch_and_unused_arguments():
    assert float(jax.grad(lambda x: x**2 if x > 0 else -x)(3.0)) == 6.0
    zero = jax.grad(lambda x, y: x * 2, argnums=1)(1.0, 3.0)
    assert float(zero) == 0.0


def test_integer_arguments_have_float0_tangents():
    _, pullback = jax.vjp(lambda x, n: x * n, 2.0, 3)
    by_x, by_n = pullback(1.0)
    assert float(by_x) == 3.0
    assert by_n.dtype == jax.float0
