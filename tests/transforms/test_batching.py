"""vmap equals a loop over the slices, for every structure of calls, branches and loops."""

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax


def numbers(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def newton(x):
    """The square root by a while loop whose length differs from lane to lane."""
    good = lambda v: jnp.abs(v * v - x) > 1e-4 * x
    return lax.while_loop(good, lambda v: 0.5 * (v + x / v), x + 1.0)


def stepped(x):
    return lax.scan(lambda c, t: (c * 0.5 + t, c), x[0], x)


FUNCTIONS = {
    "cond by lane": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "switch by lane": lambda x: lax.switch(
        (x[0] > 0).astype(int) + (x[1] > 0), [jnp.sin, jnp.cos, jnp.tanh], x
    ),
    "while by lane": lambda x: newton(jnp.abs(x[0]) + 0.1),
    "scan": stepped,
    "jit": jax.jit(lambda x: jnp.sort(x) * x.sum()),
    "grad": jax.grad(lambda x: jnp.sum(jnp.sin(x) * x)),
    "checkpoint": jax.grad(lambda x: jax.checkpoint(jnp.tanh)(x).sum()),
    "gather by lane": lambda x: x[(jnp.abs(x[:2]) * 2).astype(int)],
    "update by lane": lambda x: x.at[(jnp.abs(x[:2]) * 2).astype(int)].add(1.0),
    "dynamic slice by lane": lambda x: lax.dynamic_slice(x, [jnp.abs(x[0] * 2).astype(int)], (2,)),
    "cumulative": jnp.cumsum,
    "product": lambda x: jnp.outer(x, x) @ x,
    "random": lambda x: jax.random.normal(jax.random.key(0), x.shape) * x,
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_equals_a_loop(name, compiled):
    function, rows = FUNCTIONS[name], numbers(5, 4)
    mapped = jax.vmap(function)
    found = jax.tree.leaves((jax.jit(mapped) if compiled else mapped)(rows))
    wanted = [jax.tree.leaves(function(row)) for row in rows]
    for i, column in enumerate(found):
        np.testing.assert_allclose(column, np.stack([w[i] for w in wanted]), rtol=2e-5, atol=1e-5)


def test_axes_of_arguments_and_results():
    x, y = numbers(3, 5), numbers(5)
    f = lambda a, b: (a * b["w"], a.sum())
    out, total = jax.vmap(f, in_axes=(1, {"w": 0}), out_axes=(1, 0))(x, {"w": y})
    np.testing.assert_allclose(out, x * y, rtol=1e-6)
    np.testing.assert_allclose(total, x.sum(0), rtol=1e-5)


def test_a_result_that_does_not_depend_on_the_axis_is_computed_once():
    mapped = jax.vmap(lambda x, y: x * jnp.sin(y), in_axes=(0, None))
    jaxpr = jax.make_jaxpr(mapped)(numbers(4), 1.0)
    (sine,) = [e for e in jaxpr.jaxpr.eqns if e.primitive.name == "sin"]
    assert sine.outvars[0].aval.shape == ()


COLLECTIVES = {
    "psum": (lambda x: lax.psum(x, "i"), lambda x: np.broadcast_to(x.sum(0), x.shape)),
    "pmean": (lambda x: lax.pmean(x, "i"), lambda x: np.broadcast_to(x.mean(0), x.shape)),
    "pmax": (lambda x: lax.pmax(x, "i"), lambda x: np.broadcast_to(x.max(0), x.shape)),
    "pmin": (lambda x: lax.pmin(x, "i"), lambda x: np.broadcast_to(x.min(0), x.shape)),
    "all_gather": (lambda x: lax.all_gather(x, "i"), lambda x: np.broadcast_to(x, (4, 4, 3))),
    "axis_index": (lambda x: x + lax.axis_index("i"), lambda x: x + np.arange(4)[:, None]),
    "ppermute": (
        lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 3)]),
        lambda x: np.concatenate([0 * x[:1], x[:-1]]),
    ),
    "pshuffle": (lambda x: lax.pshuffle(x, "i", [3, 2, 1, 0]), lambda x: x[::-1]),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_over_a_mapped_axis(name):
    function, expected = COLLECTIVES[name]
    x = numbers(4, 3)
    found = jax.vmap(function, axis_name="i", out_axes=0)(x)
    np.testing.assert_allclose(np.broadcast_to(found, expected(np.asarray(x)).shape),
                               expected(np.asarray(x)), rtol=1e-6, atol=1e-6)  # fmt: skip


def test_collectives_inside_jit_and_under_grad():
    x = numbers(4)
    f = jax.jit(lambda v: (v - lax.pmean(v, "i")) ** 2)
    loss = lambda v: jax.vmap(f, axis_name="i")(v).sum()
    np.testing.assert_allclose(jax.grad(loss)(x), 2 * (x - x.mean()), rtol=1e-4, atol=1e-5)


def test_an_unbound_axis_name_says_which_are_bound():
    with pytest.raises(NameError, match=r"unbound axis name: j.*\('i',\).*axis_name='j'"):
        jax.vmap(lambda x: lax.psum(x, "j"), axis_name="i")(numbers(3))


BAD_CALLS = {
    "inconsistent sizes": (
        lambda: jax.vmap(lambda x, y: x + y)(numbers(3), numbers(4)),
        "inconsistent sizes.*size 3: axis 0 of argument x.*size 4: axis 0 of argument y",
    ),
    "nothing mapped": (
        lambda: jax.vmap(lambda x: x, in_axes=None)(numbers(3)), "at least one non-None value"
    ),
    "axis out of range": (
        lambda: jax.vmap(lambda x: x, in_axes=2)(numbers(3)), "rank should be at least 3.*only 1"
    ),
    "number of axes": (
        lambda: jax.vmap(lambda x: x, in_axes=(0, 0))(numbers(3)), "in_axes.=2, len.args.=1"
    ),
    "mapped result declared unmapped": (
        lambda: jax.vmap(lambda x: x, out_axes=None)(numbers(3)), "out_axes is None"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_say_what_is_wrong(name):
    call, message = BAD_CALLS[name]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        call()
