"""Reverse mode of loops whose number of steps is known only when they run: tapes, and max_steps."""

from __future__ import annotations

import gc
import itertools
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

import frit
import frit as jax
import frit.numpy as jnp
from frit import lax
from frit.config import backend, tape_bytes
from frit.errors import JaxRuntimeError
from frit.runtime import tapes

LENGTHS = (0, 1, 2, 63, 64, 65, 130)
X = np.array([1.0, 2.0, 0.5], np.float32)
W = np.array([0.3, 0.2, 0.9], np.float32)


def step(w, state):
    i, v, total = state
    return i + 1, jnp.tanh(v * w + jnp.sin(w)) + 0.1 * i, total + v.sum()


def loop(n, x, w, **options):
    return lax.while_loop(lambda s: s[0] < n, lambda s: step(w, s), (0, x, 0.0), **options)


def reference(n, x, w):
    """The same by a scan, whose length is known."""
    return lax.scan(lambda s, _: (step(w, s), None), (0, x, 0.0), None, length=int(n))[0]


def loss(function):
    def of(n, x, w):
        _, v, total = function(n, x, w)
        return total + (v**2).sum()

    return of


ours, theirs = loss(loop), loss(reference)
bounded = loss(lambda n, x, w: loop(n, x, w, max_steps=130))


def close(found, expected, rtol=2e-4, atol=1e-5):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def both(function):
    """The function as it is, and compiled."""
    return (function, jax.jit(function))


# ------------------------------------------------------------------------------------- one loop


@pytest.mark.parametrize("n", LENGTHS)
def test_gradient_is_that_of_a_scan_of_that_length(n):
    expected = jax.grad(theirs, (1, 2))(n, X, W)
    for function in (*both(jax.grad(ours, (1, 2))), jax.grad(jax.jit(ours), (1, 2))):
        close(function(n, X, W), expected)


@pytest.mark.parametrize("n", LENGTHS)
def test_bounded_gradient_is_that_of_a_scan(n):
    for function in both(jax.grad(bounded, (1, 2))):
        close(function(n, X, W), jax.grad(theirs, (1, 2))(n, X, W))


def until(x, count):
    """How many steps there are depends on the value, as in a solver."""
    return lax.while_loop(
        lambda s: (s[0] < count) & (jnp.abs(s[1]) < 50.0),
        lambda s: (s[0] + 1, s[1] * 1.05 + jnp.sin(s[1])), (0, x),
    )[1]  # fmt: skip


compiled_tangent = jax.jit(lambda x, count: jax.jvp(lambda x: until(x, count), (x,), (1.0,))[1])
compiled_gradient = jax.jit(jax.grad(until))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100), st.floats(-1, 1), st.booleans())  # beyond, slopes of 2 overflow
def test_condition_on_the_value_itself(count, start, compiled):
    count, start = np.int32(count), np.float32(start)
    gradient = compiled_gradient if compiled else jax.grad(until)
    found, tangent = gradient(start, count), compiled_tangent(start, count)
    np.testing.assert_allclose(found, tangent, rtol=1e-4, atol=1e-30)


def test_finite_differences():
    with frit.enable_x64(True):
        x, w = X.astype(np.float64), W.astype(np.float64)
        found = jax.grad(ours, 1)(7, x, w)
        h = 1e-6
        for k in range(3):
            e = h * np.eye(3)[k]
            slope = (ours(7, x + e, w) - ours(7, x - e, w)) / (2 * h)
            np.testing.assert_allclose(found[k], slope, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_dtypes(dtype):
    x = jnp.asarray([0.5, 0.25], dtype)

    def f(kind):
        def run(x):
            body = lambda v: v * v + jnp.asarray(0.25, dtype)
            if kind == "while":
                result = lax.while_loop(
                    lambda s: s[0] < 5, lambda s: (s[0] + 1, body(s[1])), (0, x)
                )[1]
            else:
                result = lax.fori_loop(0, 5, lambda _, v: body(v), x)
            return jnp.sum(jnp.real(result)).astype(jnp.float32)

        return run

    for function in both(jax.grad(f("while"))):
        found = function(x)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, jax.grad(f("scan"))(x))


def test_fori_loop_with_a_traced_bound():
    def power(x, n):
        return lax.fori_loop(0, n, lambda i, v: v * x, 1.0)

    for function in both(jax.grad(power)):
        np.testing.assert_allclose(function(3.0, 4), 4 * 27.0)
        np.testing.assert_allclose(function(3.0, 0), 0.0)
    np.testing.assert_allclose(jax.jit(jax.grad(jax.grad(power)))(3.0, 4), 12 * 9.0)


def test_carries_without_derivative_and_constants_of_the_condition():
    """Integers, booleans and keys travel along; the condition closes over an array."""
    limit = jnp.asarray(5)
    scale = jnp.asarray(0.7)

    def f(x, key):
        def body(state):
            i, flag, key, v = state
            key, sub = jax.random.split(key)
            noise = jax.random.normal(sub, v.shape)
            return i + 1, ~flag, key, jnp.where(flag, v * scale, jnp.sin(v)) + 0.01 * noise * v

        return lax.while_loop(
            lambda s: s[0] < limit, body, (jnp.int8(0), True, key, x)
        )[3].sum()  # fmt: skip

    for key in (jax.random.key(0), jax.random.PRNGKey(0)):
        tangents = [jax.jvp(lambda x: f(x, key), (X,), (e,))[1] for e in np.eye(3, dtype="f4")]
        for function in both(jax.grad(f)):
            close(function(X, key), np.stack(tangents))


def test_gradients_of_arrays_closed_over():
    table = np.linspace(0.1, 1.0, 12, dtype=np.float32).reshape(4, 3)

    def f(table, n):
        return lax.fori_loop(0, n, lambda i, v: jnp.sin(v * table[i % 4]) + table[0], X).sum()

    def by_scan(table):
        body = lambda v, i: (jnp.sin(v * table[i % 4]) + table[0], None)
        return lax.scan(body, X, jnp.arange(9))[0].sum()

    for function in both(jax.grad(f)):
        close(function(table, 9), jax.grad(by_scan)(table))


def test_what_never_changes_is_not_on_tape():
    constant = lambda x, n: lax.fori_loop(0, n, lambda i, v: v * jnp.sin(W), x).sum()
    text = str(jax.make_jaxpr(jax.grad(constant))(X, 3))
    assert "tape<" not in text and "taped_while" in text
    varying = lambda w, n: lax.fori_loop(0, n, lambda i, v: v * jnp.sin(w), 1.0)
    text = str(jax.make_jaxpr(jax.grad(varying))(2.0, 3))
    assert text.count(":tape<") == 1  # v; the sine and the cosine of w are computed before


def test_text():
    f = lambda x: lax.while_loop(lambda v: v < 9.0, lambda v: v * v, x)
    assert str(jax.make_jaxpr(jax.grad(f))(2.0)) == snapshot("""\
{ lambda ; a:f32[]. let
    _:f32[] b:i32[] c:tape<f32[]>[] = taped_while[
      body_jaxpr={ lambda ; d:f32[]. let e:f32[] = mul d d in (e, d) }
      body_nconsts=0
      cond_jaxpr={ lambda ; f:f32[]. let g:bool[] = lt f 9.0:f32[] in (g,) }
      cond_nconsts=0
      lanes=((),)
    ] a
    h:f32[] = taped_scan[
      jaxpr={ lambda ; i:f32[] j:f32[]. let
          k:f32[] = mul j i
          l:f32[] = mul i j
          m:f32[] = add_any k l
        in (m,) }
      lanes=()
      num_carry=1
      num_consts=0
      reverse=True
    ] b 1.0:f32[] c
  in (h,) }\
""")


def test_forward_mode_is_as_it_was():
    f = lambda x: lax.while_loop(lambda v: v < 9.0, lambda v: v * v, x)
    text = str(jax.make_jaxpr(lambda x: jax.jvp(f, (x,), (1.0,)))(2.0))
    assert "taped" not in text and " = while[" in text


def test_linearize_and_vjp_run_more_than_once():
    of_x = lambda x: loop(9, x, W)[1]
    result, forward = jax.linearize(of_x, X)
    _, backward = jax.vjp(of_x, X)
    close(result, reference(9, X, W)[1])
    for t in (X, W, X):
        expected = jax.jvp(lambda x: reference(9, x, W)[1], (X,), (t,))[1]
        close(forward(t), expected)
        close(jax.jit(forward)(t), expected)
        close(backward(t), jax.vjp(lambda x: reference(9, x, W)[1], X)[1](t))
        close(jax.jit(lambda pull, t: pull(t))(backward, t), backward(t))
    rows = jax.vmap(backward)(np.eye(3, dtype=np.float32))[0]
    close(rows, jax.jacrev(lambda x: reference(9, x, W)[1])(X))


def test_linear_transpose_of_a_loop_that_counts():
    double = lambda x: lax.fori_loop(0, jnp.asarray(3), lambda _, v: 2 * v, x)
    (found,) = jax.linear_transpose(lambda x: jax.jit(double)(x), X)(X)
    close(found, 8 * X)


def test_condition_on_what_is_linear_is_refused():
    f = lambda x: lax.while_loop(lambda v: v[0] < 9.0, lambda v: 2 * v, x)
    with pytest.raises(ValueError, match="how many steps there are must be known"):
        jax.linear_transpose(f, X)(X)


# ------------------------------------------------------------------------------------- mapping

COUNTS = np.array([0, 1, 5, 70])
XS = np.stack([X, 2 * X, 3 * X, -X])


def each(of, counts):
    return np.stack([of(int(n), x) for n, x in zip(counts, XS, strict=True)])


@pytest.mark.parametrize("function", [ours, bounded], ids=["taped", "bounded"])
def test_lanes_that_stop_at_differing_steps(function):
    expected = each(lambda n, x: jax.grad(theirs, 1)(n, x, W), COUNTS)
    for mapped in both(jax.vmap(jax.grad(function, 1), (0, 0, None))):
        close(mapped(COUNTS, XS, W), expected)
    total = lambda xs: jax.vmap(function, (0, 0, None))(COUNTS, xs, W).sum()
    for gradient in both(jax.grad(total)):
        close(gradient(XS), expected)


def test_lanes_in_step_are_mapped_at_once():
    mapped = jax.vmap(jax.grad(ours, (1, 2)), (None, 0, None))
    for function in both(mapped):
        for k in range(2):
            close(
                function(66, XS, W)[k],
                each(lambda n, x, k=k: jax.grad(theirs, (1, 2))(n, x, W)[k], [66] * 4),
            )
    text = str(jax.make_jaxpr(mapped)(6, XS, W))
    assert " scan[" not in text and "lanes=((4,)" in text


def test_maps_within_maps():
    inner = lambda n, x: jax.vmap(jax.grad(ours, 1), (None, 0, None))(n, x * XS, W)
    expected = np.stack(
        [np.stack([jax.grad(theirs, 1)(n, s * x, W) for x in XS]) for n, s in ((2, 1.0), (3, 2.0))]
    )
    for function in both(jax.vmap(inner)):
        close(function(np.array([2, 3]), np.array([1.0, 2.0], np.float32)), expected)
    outer = jax.vmap(jax.vmap(jax.grad(ours, 1), (0, 0, None)), (None, 0, None))
    found = outer(COUNTS, np.stack([XS, XS / 2]), W)
    close(found[0], each(lambda n, x: jax.grad(theirs, 1)(n, x, W), COUNTS))


def test_collectives_of_lanes_in_step():
    def f(n, x):
        body = lambda i, v: jnp.sin(v) + lax.pmean(v, "lanes")
        return lax.fori_loop(0, n, body, x).sum()

    def whole(xs):
        body = lambda i, v: jnp.sin(v) + v.mean(0)
        return lax.fori_loop(0, 4, body, xs).sum()

    total = lambda xs: jax.vmap(f, (None, 0), axis_name="lanes")(jnp.asarray(4), xs).sum()
    for function in both(jax.grad(total)):
        close(function(XS), jax.grad(whole)(XS))
    mapped = jax.vmap(jax.grad(f, 1), (0, 0), axis_name="lanes")
    with pytest.raises(NotImplementedError, match="collective over the mapped axis 'lanes'"):
        mapped(COUNTS, XS)


# ------------------------------------------------------------------------------------- nesting


def test_within_scan():
    lengths = np.array([2, 0, 70])

    def total(function):
        def f(x):
            def body(v, n):
                v = function(n, v, W)[1]
                return v, v.sum()

            return (lax.scan(body, x, lengths)[1] ** 2).sum()

        return f

    def unrolled(x):
        rows = []
        for n in lengths:
            x = reference(n, x, W)[1]
            rows.append(x.sum())
        return (jnp.stack(rows) ** 2).sum()

    for function in both(jax.grad(total(loop))):
        close(function(X), jax.grad(unrolled)(X))
    for function in both(jax.hessian(total(loop))):
        close(function(X), jax.hessian(unrolled)(X), atol=1e-3)


def test_within_while():
    def nested(x):
        body = lambda s: (s[0] + 1, loop(s[0], s[1], W)[1])
        return lax.while_loop(lambda s: s[0] < 5, body, (1, x))[1].sum()

    def unrolled(x):
        for n in range(1, 5):
            x = reference(n, x, W)[1]
        return x.sum()

    for function in both(jax.grad(nested)):
        close(function(X), jax.grad(unrolled)(X))
    for function in both(jax.hessian(nested)):
        close(function(X), jax.hessian(unrolled)(X), atol=1e-4)


@pytest.mark.parametrize("predicate", [True, False])
def test_within_cond(predicate):
    f = lambda p, x: lax.cond(p, lambda x: loop(4, x, W)[1], lambda x: 2 * x, x).sum()
    plain = lambda x: (reference(4, x, W)[1] if predicate else 2 * x).sum()
    for function in both(jax.grad(f, 1)):
        close(function(predicate, X), jax.grad(plain)(X))
    lanes = np.array([predicate, not predicate])
    close(jax.vmap(jax.grad(f, 1))(lanes, np.stack([X, X]))[0], jax.grad(plain)(X))


@pytest.mark.parametrize("inside", [True, False])
def test_checkpoint(inside):
    if inside:
        f = lambda x: lax.fori_loop(
            0, jnp.asarray(6), jax.checkpoint(lambda i, v: jnp.sin(jnp.sin(v))), x
        ).sum()
    else:
        f = jax.checkpoint(
            lambda x: lax.fori_loop(0, jnp.asarray(6), lambda i, v: jnp.sin(jnp.sin(v)), x).sum()
        )
    plain = lambda x: lax.fori_loop(0, 6, lambda i, v: jnp.sin(jnp.sin(v)), x).sum()
    for function in both(jax.grad(f)):
        close(function(X), jax.grad(plain)(X))


def test_effects_of_the_body_happen_once(capfd):
    def f(x):
        def body(s):
            jax.debug.print("step {i}", i=s[0], ordered=True)
            return s[0] + 1, jnp.sin(s[1])

        return lax.while_loop(lambda s: s[0] < 3, body, (0, x))[1]

    for function in both(jax.grad(f)):
        np.testing.assert_allclose(function(0.5), np.prod(
            [np.cos(v) for v in itertools.accumulate([0.5, 0, 0], lambda v, _: np.sin(v))]
        ), rtol=1e-6)  # fmt: skip
        jax.effects_barrier()
        assert capfd.readouterr().out.split() == "step 0 step 1 step 2".split()


# ------------------------------------------------------------------------------ derivatives again


@pytest.mark.parametrize(
    "twice",
    [
        lambda f: jax.jacrev(jax.jacrev(f, 1), 2),
        lambda f: jax.jacrev(jax.jacfwd(f, 1), 2),
        lambda f: jax.jacfwd(jax.jacrev(f, 1), 2),
    ],
    ids=["reverse of reverse", "reverse of forward", "forward of reverse"],
)
@pytest.mark.parametrize("function", [ours, bounded], ids=["taped", "bounded"])
def test_second_derivatives(twice, function):
    for derivative in both(twice(function)):
        close(derivative(5, X, W), twice(theirs)(5, X, W), atol=1e-4)


def test_third_derivative():
    def f(x, loop):
        return loop(0, 4, lambda i, v: jnp.sin(v) * v, x)

    taped = lambda x: f(x, lambda a, b, *rest: lax.fori_loop(a, jnp.asarray(b), *rest))
    plain = lambda x: f(x, lax.fori_loop)
    third = lambda f: jax.grad(jax.grad(jax.grad(f)))
    for function in both(third(jax.jit(taped))):
        np.testing.assert_allclose(function(1.1), third(plain)(1.1), rtol=1e-4)


def test_derivative_of_two_uses_of_one_pullback():
    """The cotangents of one tape are summed."""

    def f(function):
        def run(x):
            _, pull = jax.vjp(lambda x: function(5, x, W)[1], x)
            (a,), (b,) = pull(W), pull(X)
            return (a**2).sum() + (a * b).sum()

        return run

    for function in both(jax.grad(f(loop))):
        close(function(X), jax.grad(f(reference))(X))
    for function in both(jax.grad(lambda xs: jax.vmap(f(loop))(xs).sum())):
        close(function(XS), np.stack([jax.grad(f(reference))(x) for x in XS]), atol=1e-4)


def test_derivatives_of_mapped_gradients_by_what_lanes_share():
    ours_w = lambda w: (jax.vmap(jax.grad(ours, 1), (0, 0, None))(COUNTS, XS, w) ** 2).sum()
    theirs_w = lambda w: sum(
        (jax.grad(theirs, 1)(int(n), x, w) ** 2).sum() for n, x in zip(COUNTS, XS, strict=True)
    )
    for function in both(jax.grad(ours_w)):
        close(function(W), jax.grad(theirs_w)(W), rtol=1e-3, atol=1e-3)


# -------------------------------------------------------------------------------------- max_steps


def test_more_steps_than_max_steps_is_an_error():
    f = lambda x: lax.while_loop(lambda v: v < 100.0, lambda v: 2 * v, x, max_steps=6)
    assert float(f(2.0)) == 128.0 and float(jax.grad(f)(2.0)) == 64.0
    mapped = jax.vmap(f)
    np.testing.assert_array_equal(mapped(np.array([2.0, 4.0], np.float32)), [128, 128])
    for function in (f, jax.jit(f), jax.grad(f), jax.jit(jax.grad(f))):
        with pytest.raises(JaxRuntimeError, match="The loop made max_steps=6 steps, and its cond"):
            function(1.0)
    with pytest.raises(JaxRuntimeError, match="max_steps=6"):
        mapped(np.array([2.0, 1.0], np.float32))
    with jax.disable_jit(), pytest.raises(JaxRuntimeError, match="max_steps=6"):
        f(1.0)


@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        (-1, ValueError, "max_steps must be at least 0"),
        (2**31, ValueError, "below 2\\*\\*31"),
        (1.5, TypeError, "integer"),
    ],
)
def test_a_limit_that_is_none(limit, error, message):
    with pytest.raises(error, match=message):
        lax.while_loop(lambda v: v < 1.0, lambda v: v + 1, 0.0, max_steps=limit)


def test_a_traced_limit():
    with pytest.raises(jax.errors.ConcretizationTypeError, match="a Python int"):
        jax.jit(lambda n: lax.fori_loop(0, 3, lambda i, v: v, 1.0, max_steps=n))(3)


def test_max_steps_keeps_about_the_square_root():
    def kept(limit):
        f = lambda x: lax.fori_loop(0, 9, lambda i, v: jnp.sin(jnp.sin(v)), x, max_steps=limit)
        jaxpr = jax.make_jaxpr(jax.grad(lambda x: f(x).sum()))(np.zeros(100, np.float32)).jaxpr
        return sum(v.aval.size for eqn in jaxpr.eqns for v in eqn.outvars)

    assert kept(10_000) < 120 * 110 and kept(40_000) < 2.2 * kept(10_000)


def test_static_bounds_with_max_steps():
    f = lambda x: lax.fori_loop(0, 5, lambda i, v: jnp.sin(v), x, max_steps=5)
    np.testing.assert_allclose(
        jax.grad(f)(0.5), jax.grad(lambda x: lax.fori_loop(0, 5, lambda i, v: jnp.sin(v), x))(0.5)
    )
    with pytest.raises(JaxRuntimeError, match="max_steps=4"):
        lax.fori_loop(0, 5, lambda i, v: v, 1.0, max_steps=4)


# ----------------------------------------------------------------------------------------- memory


def long_loop(x, n):
    body = lambda s: (s[0] + 1, jnp.sin(s[1]) * 1.01)
    return lax.while_loop(lambda s: s[0] < n, body, (0, x))[1].sum()


def test_tapes_that_do_not_fit_are_a_memory_error():
    gradient = jax.jit(jax.grad(long_loop))
    x = np.ones(64, np.float32)
    expected = gradient(x, 10_000)
    with tape_bytes(1 << 20):
        for function in (gradient, jax.grad(long_loop)):
            with pytest.raises(MemoryError, match="give it max_steps"):
                function(x, 10_000)
            close(function(x, 100), jax.grad(long_loop)(x, 100))
    np.testing.assert_array_equal(gradient(x, 10_000), expected)


def test_memory_is_given_back():
    gc.collect()
    before = tapes.held_bytes()
    _, pull = jax.vjp(lambda x: long_loop(x, 10_000), np.ones(64, np.float32))
    assert tapes.held_bytes() >= before + 10_000 * 64 * 4
    pull(1.0)
    del pull
    gc.collect()
    assert tapes.held_bytes() == before


def test_a_turn_of_a_loop_frees_its_tapes():
    """A gradient in each step of training needs the memory of one."""

    @jax.jit
    def train(x, n):
        return lax.fori_loop(0, 50, lambda _, x: x - 0.01 * jax.grad(long_loop)(x, n), x)

    x = np.ones(64, np.float32)
    with tape_bytes(3 * 2000 * 64 * 4):
        train(x, 2000)


def test_residuals_whose_owner_is_gone_are_an_error():
    _, pull = jax.vjp(lambda x: loop(9, x, W)[1], X)
    leaves, tree = jax.tree.flatten(pull)
    handles = [k for k, leaf in enumerate(leaves) if "tape" in str(leaf.dtype)]
    assert handles
    lost = list(leaves)
    for k in handles:
        lost[k] = type(leaves[k])(leaves[k]._data.copy(), leaves[k].aval)
    del pull, leaves
    gc.collect()
    with pytest.raises(RuntimeError, match="after the array that owned it was freed"):
        tree.unflatten(lost)(W)


def test_residuals_cannot_be_pickled():
    _, pull = jax.vjp(lambda x: loop(9, x, W)[1], X)
    handle = next(leaf for leaf in jax.tree.leaves(pull) if "tape" in str(leaf.dtype))
    with pytest.raises(TypeError, match="memory of this process and cannot be pickled"):
        pickle.dumps(handle)


def test_handles_that_were_moved_keep_their_tapes():
    _, pull = jax.vjp(lambda x: loop(9, x, W)[1], X)
    leaves, tree = jax.tree.flatten(pull)
    expected = pull(W)
    moved = [jnp.stack([x, x])[1] if "tape" in str(x.dtype) else x for x in leaves]
    del pull, leaves
    gc.collect()
    close(tree.unflatten(moved)(W), expected)


def test_threads():
    gradient = jax.jit(jax.grad(ours, 1))
    expected = {n: gradient(n, X, W) for n in (10, 500, 3000)}
    wrong = []

    def work(n):
        for _ in range(20):
            if not np.array_equal(gradient(n, X, W), expected[n]):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_definitions_and_machine_code_agree():
    """The reference backend evaluates the loops over tapes by NumPy."""
    gradient = jax.grad(ours, (1, 2))
    expected = gradient(5, X, W)
    with backend("reference"):
        close(gradient(5, X, W), expected)
        close(
            jax.vmap(gradient, (0, 0, None))(COUNTS[:3], XS[:3], W)[0][2], gradient(5, 3 * X, W)[0]
        )
        close(jax.jit(gradient)(5, X, W), expected)
