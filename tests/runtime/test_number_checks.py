"""debug_nans and debug_infs: the operation that made a NaN or inf, by the user's line."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax
from frit.experimental import io_callback


def masked_root(x):
    y = jnp.sqrt(x)
    z = jnp.where(x > 0, y, 0.0)
    return jnp.sum(z)


def masked_log(x):
    y = jnp.log(x)
    z = jnp.where(x > 0, y, 0.0)
    return jnp.sum(z)


def masked_quotient(x):
    y = 1.0 / x
    z = jnp.where(x != 0, y, 0.0)
    return jnp.sum(z)


def line_of(function, number):
    return f"{__file__}:{inspect.getsourcelines(function)[1] + number} ({function.__name__})"


def message_of(function, *args, setting=jax.debug_nans):
    with setting(True), pytest.raises(FloatingPointError) as error:
        function(*args)
    return str(error.value)


WAYS = {
    "eager": lambda f: jax.grad(f),
    "jit of grad": lambda f: jax.jit(jax.grad(f)),
    "grad of jit": lambda f: jax.grad(jax.jit(f)),
    "vmap": lambda f: jax.jit(jax.vmap(jax.grad(f))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", [masked_root, masked_log, masked_quotient])
def test_nan_of_a_masked_branch_is_named_as_such(function, way):
    x = jnp.array([0.0, 1.0, 4.0])
    text = message_of(WAYS[way](function), x[:, None] if way == "vmap" else x)
    assert text.startswith("invalid value (nan) encountered in ")
    assert f"at {line_of(function, 1)}, in the backward pass of that line" in text
    assert inspect.getsource(function).split("\n")[1].strip() in text
    assert f"masked out by the `where` at {line_of(function, 2)}" in text
    assert "safe = jnp.where(mask, x, 1.0)" in text


def test_the_safe_form_is_silent():
    def safe_root(x):
        safe = jnp.where(x > 0, x, 1.0)
        return jnp.sum(jnp.where(x > 0, jnp.sqrt(safe), 0.0))

    with jax.debug_nans(True):
        for way in WAYS.values():
            way(safe_root)(jnp.array([[0.0], [1.0]]))


def test_masked_branch_that_is_nan_itself():
    text = message_of(jax.jit(jax.grad(masked_root)), jnp.array([-1.0, 1.0]))
    assert f"encountered in sqrt, at {line_of(masked_root, 1)}." in text
    assert f"masked out by the `where` at {line_of(masked_root, 2)}" in text


def test_backward_nan_without_a_mask_has_no_lesson():
    def f(x):
        return jnp.sqrt(x * x)

    for way in ("eager", "jit of grad", "grad of jit"):
        text = message_of(WAYS[way](f), 0.0)
        assert f"at {line_of(f, 1)}, in the backward pass of that line" in text


def quotient(x):
    return 0.0 / x


def in_scan(x):
    def body(c, _):
        c = c - 1
        c = jnp.log(c)
        return c, c

    return lax.scan(body, x, None, length=5)


def in_while(x):
    def body(c):
        return c[0] + 1, jnp.log(c[1] - 1)

    return lax.while_loop(lambda c: c[0] < 5, body, (0, x))


def in_branch(x):
    return lax.cond(x > 1, lambda v: jnp.sqrt(1 - v), lambda v: v, x)


@pytest.mark.parametrize("jit", [jax.jit, lambda f: f], ids=["jit", "eager"])
@pytest.mark.parametrize(
    "function, operation, row, within",
    [(quotient, "div", 1, ""), (in_scan, "log", 3, "in scan"), (in_while, "log", 2, "in while"),
     (in_branch, "sqrt", 1, "in cond")],
)  # fmt: skip
def test_forward_operation_is_named_within_loops_and_branches(
    function, operation, row, within, jit
):
    text = message_of(jit(function), jnp.float32(0.0 if function is quotient else 10.0))
    assert text.startswith(f"invalid value (nan) encountered in {operation}, at {__file__}:")
    assert f":{inspect.getsourcelines(function)[1] + row} (" in text
    assert within in text


def test_nan_that_came_with_an_input_or_a_literal():
    text = message_of(jax.jit(lambda scale: scale * 3.0), np.nan)
    assert "de-optimized function did not make it: it came with the input scale" in text
    nothing = lambda x: lax.cond(x == 1, lambda _: np.nan, lambda _: 2.0, None)
    text = message_of(jax.jit(nothing), 1)
    assert "encountered in cond, at" in text and "it is a literal of the program" in text


def test_infinities():
    text = message_of(jax.jit(lambda x: jnp.sum(jnp.exp(x))), 1000.0, setting=jax.debug_infs)
    assert text.startswith("invalid value (inf) encountered in exp, at ")
    with jax.debug_nans(True):
        jnp.exp(1000.0)


def test_setting_holds_for_functions_that_ran_before():
    f = jax.jit(quotient)
    zero = jnp.array(0.0)
    f(zero)
    f(zero)
    assert "div" in message_of(f, zero)
    assert np.isnan(f(zero))


def test_donated_operands_are_kept_for_the_search():
    f = jax.jit(quotient, donate_argnums=0)
    assert "div" in message_of(f, jnp.array(0.0))


def test_program_that_acts_is_not_run_again():
    calls = []

    def f(x):
        y = io_callback(lambda v: calls.append(1) or v, jax.ShapeDtypeStruct((), jnp.float32), x)
        return jnp.log(y - 1)

    text = message_of(jax.jit(f), jnp.float32(0.0))
    assert "acts on the world (io_callback), so it was not run again" in text
    assert len(calls) == 1


def test_nans_that_a_select_throws_away_are_no_error_of_a_program():
    f = jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0))
    with jax.debug_nans(True):
        assert float(f(-1.0)) == 0.0
