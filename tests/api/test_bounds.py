"""bounds="raise": an index out of bounds is an IndexError with the user's line."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax

x = jnp.arange(6.0)


def element(i):
    return x[i]


def update(i):
    return x.at[i].add(1.0)


def window(i):
    return lax.dynamic_slice(x, (i,), (3,))


def window_of_array(i):
    return x[jax.ds(i, 3)]


def written_window(i):
    return lax.dynamic_update_slice(x, jnp.ones(3), (i,))


def taken(i):
    return jnp.take(x, i)


def taken_along(i):
    return jnp.take_along_axis(x, jnp.asarray(i)[None], 0)


FUNCTIONS = [element, update, window, window_of_array, written_window, taken, taken_along]


def ways():
    yield "eager, known", lambda f, i: f(i)
    yield "eager, array", lambda f, i: f(jnp.int32(i))
    yield "jit", lambda f, i: jax.jit(f)(i)
    yield "vmap", lambda f, i: jax.jit(jax.vmap(f))(jnp.array([0, i]))
    yield "scan", lambda f, i: lax.scan(lambda c, j: (c, f(j)), 0, jnp.array([0, i]))[1]


@pytest.mark.parametrize("way", dict(ways()))
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("index", [6, 100, -7])
def test_index_out_of_bounds_raises(function, index, way):
    run = dict(ways())[way]
    run(function, 3)
    with jax.bounds("raise"):
        run(function, 3)
        with pytest.raises(IndexError) as error:
            run(function, index)
    text = str(error.value)
    line = inspect.getsourcelines(function)[1] + 1
    assert (
        f"out of bounds for axis 0 with size 6, at {__file__}:{line} ({function.__name__})" in text
    )
    assert inspect.getsource(function).split("\n")[1].strip() in text
    run(function, index)  # moved inside, or dropped, as always


def test_windows_are_named_by_their_start():
    with (
        jax.bounds("raise"),
        pytest.raises(IndexError, match="a window of 3 that begins at 4 is"),
    ):
        window(4)
    with jax.bounds("raise"):
        assert window(-3).tolist() == [3.0, 4.0, 5.0]


def test_modes_say_what_is_meant():
    with jax.bounds("raise"):
        assert float(x.at[9].get(mode="clip")) == 5.0
        assert np.isnan(float(x.at[9].get(mode="fill")))
        assert x.at[9].set(1.0, mode="drop").tolist() == x.tolist()
        assert float(jnp.take(x, 9, mode="clip")) == 5.0
        assert float(jnp.take(x, 7, mode="wrap")) == 1.0
        assert x[2:100].shape == (4,)  # slices end where the array ends, as in Python
        assert x[x > 3].tolist() == [4.0, 5.0]


def test_jit_with_bounds_of_its_own():
    checked = jax.jit(element, bounds="raise")
    assert float(checked(2)) == 2.0
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        checked(jnp.int32(9))
    assert float(checked(jnp.int32(-6))) == 0.0
    assert float(jax.jit(element)(9)) == 5.0
    unchecked = jax.jit(element, bounds="clamp")
    with jax.bounds("raise"):
        assert float(unchecked(9)) == 5.0
    with pytest.raises(IndexError):
        jax.jit(lambda i: checked(i) + 1)(9)
    with pytest.raises(IndexError):
        pickle.loads(pickle.dumps(jax.jit(element, bounds="raise")))(9)
    with pytest.raises(ValueError, match="'clamp', 'raise'; got 'loud'"):
        jax.jit(element, bounds="loud")
    assert float(jax.jit(bounds="raise")(element)(1)) == 1.0


def test_derivatives_and_rematerialisation():
    def f(v, i):
        return jnp.sin(v[i] ** 2)

    for grad in (jax.grad(f), jax.grad(jax.checkpoint(f)), jax.jacfwd(f)):
        run = jax.jit(grad, bounds="raise")
        assert run(x, 1).shape == (6,)
        with pytest.raises(IndexError, match=r"test_bounds.py:\d+ \(f\)"):
            run(x, 6)

    def loop(v, n):
        return lax.fori_loop(0, n, lambda i, c: c + v[i] ** 2, 0.0)

    run = jax.jit(jax.grad(loop), static_argnums=1, bounds="raise")
    assert run(x, 6).tolist() == (2 * x).tolist()
    with pytest.raises(IndexError, match="index 6 is out of bounds"):
        run(x, 7)


def test_branch_that_is_not_taken_is_no_error():
    def f(i):
        return lax.cond(i < 6, lambda: x[i], lambda: -1.0)

    checked = jax.jit(f, bounds="raise")
    assert float(checked(9)) == -1.0
    with pytest.warns(UserWarning, match="branch or loop whose predicate vmap maps over are not"):
        found = jax.jit(jax.vmap(f), bounds="raise")(jnp.array([1, 9]))
    assert found.tolist() == [1.0, -1.0]


def test_static_indices_are_told_while_tracing():
    with jax.bounds("raise"), pytest.raises(IndexError, match="index 9 is out of bounds"):
        jax.make_jaxpr(lambda v: v[9])(x)
    with jax.bounds("raise"):
        text = str(jax.make_jaxpr(lambda v, i: v[i])(x, 1))
    assert "check_index" in text
    assert "check_index" not in str(jax.make_jaxpr(lambda v, i: v[i])(x, 1))
