"""What readers of introductions to JAX expect to see, point by point.

Introductions tell what `jit` and `make_jaxpr` do with arguments, globals, branches, loops, prints,
shapes and side effects. Each of their programs is here with the result they promise.
"""

import functools
import json
import pathlib
import re

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax, optim
from frit.errors import (
    ConcretizationTypeError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TraceSideEffectWarning,
    UnexpectedTracerError,
)
from tests import fit_program

EXPLICIT = "{ lambda ; a:f32[5] b:f32[5]. let c:f32[5] = add a b in (c,) }"
CONSTVAR = "{ lambda a:f32[5]; b:f32[5]. let c:f32[5] = add a b in (c,) }"
LITERAL = "{ lambda ; a:f32[5]. let b:f32[5] = add 1.0:f32[] a in (b,) }"
HERE = pathlib.Path(__file__).name


def line_of(function, text):
    """The line in this file where `text` stands in `function`."""
    code = function.__code__
    lines = pathlib.Path(__file__).read_text().splitlines()[code.co_firstlineno - 1 :]
    return code.co_firstlineno + next(i for i, line in enumerate(lines) if text in line)


# ---- 1. a training loop whose inner step closes over the optimizer ----------------------------


def test_fit_follows_the_reference_curve(capsys):
    golden_file = pathlib.Path(__file__).parent / "data" / "fit_curve.json"
    expected = np.array(json.loads(golden_file.read_text())["losses"])
    losses = np.array(fit_program.run(jax, optim))
    assert losses[500] < 0.1 * losses[0]
    np.testing.assert_allclose(losses, expected, rtol=1e-4, atol=1e-4)
    printed = re.findall(r"step (\d+), loss: ([\d.e-]+)", capsys.readouterr().out)
    assert [int(step) for step, _ in printed] == [0, 100, 200, 300, 400, 500]


# ---- 2. arguments and globals in the jaxpr ------------------------------------------------------


def f_implicit(b):
    return a_global + b


def test_explicit_argument():
    jaxpr = jax.make_jaxpr(lambda a, b: a + b)(jnp.arange(5.0), jnp.ones(5))
    assert str(jaxpr) == EXPLICIT


def test_a_global_array_is_a_constvar_and_a_rebound_scalar_a_literal_at_once():
    global a_global
    b = jnp.ones(5)
    a_global = jnp.arange(5.0)
    assert str(jax.make_jaxpr(f_implicit)(b)) == CONSTVAR
    a_global = 1.0
    assert str(jax.make_jaxpr(f_implicit)(b)) == LITERAL
    a_global = jnp.arange(5.0)
    assert str(jax.make_jaxpr(f_implicit)(b)) == CONSTVAR


# ---- 3. static arguments ------------------------------------------------------------------------


def test_a_static_argument_is_a_literal():
    @functools.partial(jax.jit, static_argnames=["a"])
    def f_explicit(a, b):
        return a + b

    b = jnp.ones(5)
    [equation] = jax.make_jaxpr(lambda b: f_explicit(1.0, b))(b).jaxpr.eqns
    assert str(equation.params["jaxpr"]) == LITERAL
    np.testing.assert_array_equal(f_explicit(1.0, b), np.full(5, 2.0))


# ---- 4. branches --------------------------------------------------------------------------------


def condition_on_value(x):
    if x > 0:
        return x * 2
    return x / 2


def condition_on_value_lax(x):
    return lax.cond(x > 0, lambda operand: operand * 2, lambda operand: operand / 2, x)


def test_if_on_a_traced_value_is_an_error_that_teaches():
    with pytest.raises(TracerBoolConversionError) as caught:
        jax.jit(condition_on_value)(jnp.array(5.0))
    message = str(caught.value)
    assert isinstance(caught.value, ConcretizationTypeError)
    assert "condition_on_value" in message
    assert f"{HERE}:{line_of(condition_on_value, 'if x > 0')}" in message
    assert re.search(r"\bargument\b.*\bx\b", message)
    assert "lax.cond" in message and "jnp.where" in message


def test_cond_on_a_traced_value():
    jitted = jax.jit(condition_on_value_lax)
    assert float(jitted(jnp.array(5.0))) == 10.0
    assert float(jitted(jnp.array(-4.0))) == -2.0


def test_if_on_a_static_value():
    jitted = jax.jit(condition_on_value, static_argnums=0)
    assert float(jitted(5.0)) == 10.0
    assert float(jitted(-4.0)) == -2.0


# ---- 5. loops -----------------------------------------------------------------------------------


def variable_loop(x, n):
    total = x
    for i in range(n):
        total = total + i
    return total


def fixed_loop_fori(x, n):
    return lax.fori_loop(0, n, lambda i, total: total + i, x)


def cumulative_sum_scan(xs):
    def add(carry, x):
        return carry + x, carry + x

    return lax.scan(add, 0.0, xs)[1]


def test_range_of_a_traced_value_is_an_error_that_teaches():
    with pytest.raises(TracerIntegerConversionError) as caught:
        jax.jit(variable_loop)(jnp.array(10.0), jnp.array(3))
    message = str(caught.value)
    assert "variable_loop" in message
    assert f"{HERE}:{line_of(variable_loop, 'range(n)')}" in message
    assert re.search(r"\bargument\b.*\bn\b", message)
    assert "fori_loop" in message and "static_argn" in message


@pytest.mark.parametrize("static", [(), (1,)], ids=["traced", "static"])
def test_fori_loop(static):
    assert float(jax.jit(fixed_loop_fori, static_argnums=static)(jnp.array(10.0), 3)) == 13.0


def test_python_loop_over_a_static_value():
    assert float(jax.jit(variable_loop, static_argnums=1)(jnp.array(10.0), 3)) == 13.0


def test_scan_is_a_cumulative_sum():
    data = jnp.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(jax.jit(cumulative_sum_scan)(data), [1.0, 3.0, 6.0, 10.0])


# ---- 6. side effects while tracing --------------------------------------------------------------


def test_print_runs_while_tracing_only(capsys):
    @jax.jit
    def square(x):
        print(f"TRACE: Running Python code for x={x}")
        return x * x

    with pytest.warns(TraceSideEffectWarning, match="does not run again when the compiled program"):
        results = [float(square(jnp.array(value))) for value in (3.0, 4.0, 5.0)]
    assert results == [9.0, 16.0, 25.0]
    [line] = capsys.readouterr().out.splitlines()
    assert re.search(r"TRACE: .*x=.*Trace.*float32\[\]", line)


# ---- 7. new shapes, old shapes ------------------------------------------------------------------


def test_a_new_shape_traces_once_and_an_old_one_never():
    traced = []

    @jax.jit
    def process_data(x):
        traced.append(x.shape)
        return jnp.sum(x * 2.0)

    results = [float(process_data(jnp.ones(n))) for n in (3, 3, 4, 4, 3)]
    assert results == [6.0, 6.0, 8.0, 8.0, 6.0]
    assert traced == [(3,), (4,)]


def test_python_scalars_of_one_type_share_a_trace():
    traced = []

    @jax.jit
    def double(x):
        traced.append(x.dtype)
        return x * 2

    assert [float(double(x)) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert [int(double(x)) for x in (1, 2)] == [2, 4]
    assert traced == ["float32", "int32"]


# ---- 8. what leaks out of a trace ---------------------------------------------------------------

global_list: list = []


def log2(x):
    global_list.append(x)
    ln_x = jnp.log(x)
    ln_2 = jnp.log(2.0)
    return ln_x / ln_2


def test_a_side_effect_is_not_in_the_jaxpr_and_what_leaked_says_where_it_was_made():
    global_list.clear()
    jaxpr = jax.make_jaxpr(log2)(3.0)
    assert [equation.primitive.name for equation in jaxpr.eqns] == ["log", "log", "div"]
    assert not jaxpr.effects
    [leaked] = global_list
    assert isinstance(leaked, jax.core.Tracer)
    with pytest.raises(UnexpectedTracerError) as caught:
        leaked + 1
    message = str(caught.value)
    assert "log2" in message
    assert HERE in message


# ---- 9. hyperparameters as arguments ------------------------------------------------------------


def test_the_learning_rate_as_an_argument():
    @jax.jit
    def update_weights(params, grads, learning_rate):
        return params - learning_rate * grads

    params, grads = jnp.array([1.0, 2.0]), jnp.array([0.5, -0.1])
    np.testing.assert_allclose(update_weights(params, grads, 0.01), [0.995, 2.001], rtol=1e-6)
    np.testing.assert_allclose(update_weights(params, grads, 1000.0), [-499.0, 102.0], rtol=1e-6)


learning_rate = 0.01


def update_weights(params, grads):
    return params - learning_rate * grads


def test_the_learning_rate_as_a_global(monkeypatch):
    update = jax.jit(update_weights)
    frozen = jax.jit(update_weights, captures="freeze")
    params, grads = jnp.array([1.0, 2.0]), jnp.array([0.5, -0.1])
    for function in (update, frozen):
        np.testing.assert_allclose(function(params, grads), [0.995, 2.001], rtol=1e-6)
    monkeypatch.setitem(globals(), "learning_rate", 1000.0)
    np.testing.assert_allclose(update(params, grads), [-499.0, 102.0], rtol=1e-6)
    np.testing.assert_allclose(frozen(params, grads), [0.995, 2.001], rtol=1e-6)
    causes = [t.causes[0] for t in update.explain().traces if "frozen" not in str(t.causes)]
    assert causes[-1].startswith("global `learning_rate` (test_documented_behaviour.py:")
    assert causes[-1].endswith("): 0.01 → 1000.0")
