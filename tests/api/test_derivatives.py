"""The functions that derivatives return, and derivatives of loops, branches and custom rules."""

from __future__ import annotations

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax
from frit.api.autodiff import NotNeeded
from frit.test_util import check_grads


def test_residuals_that_are_arguments_can_be_taken_out_and_put_back():
    x, y = jnp.arange(3.0), jnp.ones(3)
    _, pullback = jax.vjp(lambda x, y: x * y, x, y)
    assert pullback.args_res[0] is x and pullback.opaque_residuals == []
    pullback.args_res = [None, None]
    with pytest.raises(ValueError, match="put its value back"):
        pullback(jnp.ones(3))
    pullback.args_res = [x, y]
    np.testing.assert_array_equal(pullback(jnp.ones(3))[1], x)


def test_arguments_that_are_not_read_are_marked():
    _, pullback = jax.vjp(jnp.sin, jnp.float32(3.0))
    assert isinstance(pullback.args_res[0], NotNeeded) and pullback.opaque_residuals


def test_linear_maps_pass_through_jit():
    linear = jax.jit(lambda x: jax.linearize(jnp.sin, x)[1])(1.0)
    assert jax.jit(lambda f, t: f(t))(linear, 2.0) == pytest.approx(2 * np.cos(1.0))
    transposed = jax.jit(lambda x: jax.linear_transpose(lambda v: 2.0 * v, x))(1.0)
    assert jax.jit(lambda f, ct: f(ct))(transposed, 3.0) == (6.0,)


def test_jacobians_keep_weak_types():
    assert jax.jacrev(jnp.sin)(1.0).weak_type and jax.jacfwd(jnp.sin)(1.0).weak_type
    assert not jax.jacrev(jnp.sin)(jnp.float32(1.0)).weak_type


def test_gradients_are_arrays_even_of_constants():
    assert isinstance(jax.grad(lambda x: 3.0)(1.0), jax.Array)


def test_integers_have_no_tangent():
    _, pullback = jax.vjp(lambda x, y: x + y, 2, 1)
    found = pullback(np.zeros((), jax.float0))
    assert [ct.dtype for ct in found] == [jax.float0, jax.float0]


def test_checkpoint_of_a_scan_saves_no_carries():
    def step(carry, _):
        return jnp.sin(carry), jnp.sin(carry)

    def run(x):
        return lax.scan(step, x, None, length=3)

    text = str(jax.make_jaxpr(jax.linearize(jax.checkpoint(run), 4.0)[1])(1.0))
    assert " sin " in text and " cos " in text and "f32[3]; " not in text
    check_grads(jax.checkpoint(run), (3.0,), order=2, modes=["rev"])


def test_checkpoint_of_a_branch_computes_it_again():
    def run(x):
        return lax.cond(x > 0, lambda x: jnp.sin(jnp.sin(x)), lambda x: x, x)

    text = str(jax.make_jaxpr(jax.linearize(jax.checkpoint(run), 4.0)[1])(1.0))
    assert " sin " in text
    check_grads(jax.checkpoint(run), (3.0,), order=2, modes=["rev"])


def test_slices_that_a_scan_reads_are_not_stacked_again():
    def run(xs):
        return lax.scan(lambda c, x: (jnp.tanh(c * x), None), 1.0, xs)[0]

    xs = jnp.arange(10.0)
    _, pullback = jax.vjp(run, xs)
    assert pullback.args_res[0] is xs
    check_grads(run, (xs / 10,), order=2, modes=["rev"])


def test_lanes_of_other_branches_have_no_derivative():
    def safe(x):
        return lax.cond(x < 1e-3, lambda x: 1e-3, lambda x: jnp.sqrt(x), x)

    found = jax.grad(lambda x: jax.vmap(safe)(x).sum())(jnp.zeros(3))
    np.testing.assert_array_equal(found, np.zeros(3))


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (lambda a, b: lax.scan(lambda c, x: ((c[0], c[1] + x), x), (a, b), jnp.ones(3)),
         (2.0, 6.0)),
        (lambda a, b: (lax.while_loop(lambda c: c[1] < 5, lambda c: (c[0], c[1] + 1.0), (a, b)),),
         (2.0, 5.0)),
        (lambda a, b: (lax.fori_loop(0, 2, lambda i, c: (c[0], c[1] + c[0]), (a, b)),), (2.0, 7.0)),
    ],
)  # fmt: skip
def test_carries_that_never_change_do_not_travel(loop, expected):
    assert loop(2.0, 3.0)[0] == expected
    jaxpr = jax.make_jaxpr(loop)(2.0, 3.0).jaxpr
    (eqn,) = [e for e in jaxpr.eqns if e.primitive.name in ("scan", "while")]
    assert jaxpr.outvars[0] is jaxpr.invars[0]
    assert all(v.aval.shape == () for v in eqn.outvars)


def test_results_that_every_branch_passes_on_stay_outside():
    def f(a, b):
        return lax.cond(a > 1.0, lambda a, b: (a, b), lambda a, b: (a, b + 1), a, b)

    jaxpr = jax.make_jaxpr(f)(2.0, 3.0).jaxpr
    assert jaxpr.outvars[0] is jaxpr.invars[0] and len(jaxpr.eqns[-1].outvars) == 1
    assert f(2.0, 3.0) == (2.0, 3.0) and f(0.0, 3.0) == (0.0, 4.0)


def test_the_derivative_of_a_mapped_rule_is_that_of_the_rule():
    f = jax.custom_batching.custom_vmap(jnp.sin)

    @f.def_vmap
    def rule(axis_size, in_batched, xs):
        return jnp.cos(xs), in_batched[0]

    xs, ts = jnp.arange(3.0), 2 * jnp.arange(3.0)
    for found in (
        jax.vmap(lambda x, t: jax.jvp(f, (x,), (t,)))(xs, ts),
        jax.jvp(jax.vmap(f), (xs,), (ts,)),
    ):
        np.testing.assert_allclose(found[0], np.cos(xs), rtol=1e-6)
        np.testing.assert_allclose(found[1], -np.sin(xs) * ts, rtol=1e-6)
    np.testing.assert_allclose(jax.jacfwd(f)(xs), -np.diag(np.sin(xs)), rtol=1e-6, atol=1e-7)


def test_rules_of_functions_within_are_reached_from_outside():
    f = jax.custom_jvp(jax.custom_batching.custom_vmap(jnp.sin))
    f.def_vmap(lambda size, batched, xs: (jnp.cos(xs), True))
    f.defjvp(lambda p, t: (f(*p), 10.0 * t[0]))
    np.testing.assert_allclose(jax.vmap(f)(jnp.zeros(2)), [1.0, 1.0])
    assert jax.grad(f)(1.0) == 10.0
    with pytest.raises(AttributeError, match="has no attribute 'banana'"):
        _ = f.banana


def test_a_constant_with_a_tangent_by_lane():
    f = jax.custom_jvp(lambda x: jnp.float32(1.0))
    f.defjvp(lambda p, t: (f(*p), p[0] * t[0]))
    xs = jnp.arange(3.0)
    result, moved = jax.jvp(jax.vmap(f), (xs,), (jnp.ones(3),))
    np.testing.assert_array_equal(result, np.ones(3))
    np.testing.assert_array_equal(moved, xs)


def test_a_cotangent_may_stand_for_a_whole_container():
    @jax.custom_vjp
    def f(pair):
        return pair[0] * pair[1]

    f.defvjp(lambda pair: (f(pair), None), lambda _, g: (7.0 * g,))
    assert jax.grad(f)((2.0, 3.0)) == (7.0, 7.0)


def test_closures_are_converted_for_traced_values_only():
    fixed = jnp.ones(2)

    def solve(c, x):
        converted, hoisted = jax.closure_convert(lambda x: jnp.sum(fixed * (x - c)), x)
        assert len(hoisted) <= 1
        return converted(x, *hoisted)

    np.testing.assert_array_equal(jax.grad(solve)(jnp.ones(2), jnp.ones(2)), [-1.0, -1.0])


def test_check_grads_finds_a_wrong_rule():
    f = jax.custom_jvp(jnp.sin)
    f.defjvp(lambda p, t: (f(*p), 2.0 * t[0]))
    with pytest.raises(AssertionError, match="JVP tangent"):
        check_grads(f, (1.0,), order=1, modes=["fwd"])


def test_gradients_go_where_they_are_wanted():
    x, y = jnp.arange(3.0), jnp.ones(3)
    _, pullback = jax.vjp(lambda x, y: x * y, x, y)
    cell = jax.new_ref(jnp.ones(3))
    wanted = pullback.with_refs(cell, jax.ad.DontWant())
    assert wanted(jnp.ones(3)) == (jax.ad.GradRef(), jax.ad.DidntWant())
    np.testing.assert_array_equal(cell[...], [2, 2, 2])
    _, of_y = pullback.with_refs(jax.ad.DontWant(), jax.ad.GradValue())(jnp.ones(3))
    np.testing.assert_array_equal(of_y, x)
    with pytest.raises(TypeError, match="takes refs .*GradValue"):
        pullback.with_refs(x, y)(jnp.ones(3))
