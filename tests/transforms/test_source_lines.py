"""Equations of derivatives, batches and loops stand where the user wrote the operation."""

import linecache
import threading

import pytest

import frit
import frit.numpy as jnp
from frit import lax


def lines(jaxpr, found=None):
    """primitive -> the lines of code that its equations stand at, bodies included."""
    found = {} if found is None else found
    for eqn in jaxpr.eqns:
        place = eqn.source_info
        line = linecache.getline(place.file, place.line).strip()
        found.setdefault(eqn.primitive.name, set()).add(line)
        for value in eqn.params.values():
            if hasattr(value, "jaxpr"):
                lines(value.jaxpr, found)
    return found


def squash(x):
    return jnp.tanh(x)


def loop(x):
    def turn(carry, row):
        carry = carry * jnp.sin(row)
        return carry, carry.sum()

    return lax.scan(turn, x[0], x)[1].sum()


def test_a_backward_pass_has_the_lines_of_the_forward_one():
    def function(x):
        y = squash(x)
        return (y * y).sum()

    found = lines(frit.make_jaxpr(frit.grad(function))(jnp.ones(3)).jaxpr)
    assert found["sub"] == {"return jnp.tanh(x)"}
    assert "return (y * y).sum()" in found["mul"]
    assert all("make_jaxpr" not in line for group in found.values() for line in group)


@pytest.mark.parametrize("jitted", [False, True])
def test_bodies_of_loops_keep_their_lines(jitted):
    function = frit.jit(loop) if jitted else loop
    found = lines(frit.make_jaxpr(frit.grad(function))(jnp.ones((3, 4))).jaxpr)
    assert found["sin"] == found["cos"] == {"carry = carry * jnp.sin(row)"}
    assert "carry = carry * jnp.sin(row)" in found["mul"]
    found = lines(frit.make_jaxpr(frit.vmap(frit.grad(function)))(jnp.ones((2, 3, 4))).jaxpr)
    assert found["cos"] == {"carry = carry * jnp.sin(row)"}


def test_a_rule_of_the_users_has_its_own_lines():
    @frit.custom_vjp
    def double(x):
        return x * 2

    double.defvjp(lambda x: (x * 2, None), lambda _, ct: (jnp.cos(ct),))
    found = lines(frit.make_jaxpr(frit.grad(lambda x: double(x)))(1.0).jaxpr)
    assert found["cos"] == {"double.defvjp(lambda x: (x * 2, None), lambda _, ct: (jnp.cos(ct),))"}


def test_nan_of_a_backward_pass_names_the_forward_line():
    def function(x):
        return jnp.sqrt(x).sum() * 0.0

    with frit.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        frit.grad(function)(jnp.zeros(3))
    assert "(function)" in str(caught.value)


def test_threads_do_not_see_each_other():
    found = {}

    def work(k):
        found[k] = lines(frit.make_jaxpr(frit.grad(lambda x: loop(x) * k))(jnp.ones((3, 4))).jaxpr)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {frozenset(f["cos"]) for f in found.values()} == {
        frozenset(["carry = carry * jnp.sin(row)"])
    }
