"""A guided tour of what surprises people about `jit`, with what to write instead.

    python examples/pitfalls.py

Each stop shows a small program, what happens, and the remedy. Everything shown is run.
"""

import functools
import inspect

from rich.console import Console
from rich.syntax import Syntax

import frit
import frit.numpy as jnp
from frit import lax

console = Console()


def stop(number, title, text, *functions):
    """Announces a stop of the tour and shows the code it is about."""
    console.rule(f"{number}. {title}")
    console.print(text)
    for function in functions:
        console.print(Syntax(inspect.getsource(function), "python", background_color="default"))


def result(value):
    console.print(f"  -> {value}", highlight=False, markup=False, soft_wrap=True)


def refused(function, *arguments):
    """Shows, and returns, the error that a call ends in."""
    try:
        function(*arguments)
    except Exception as error:
        console.print(f"  {type(error).__name__}", style="bold red")
        console.print(f"  {error}", highlight=False, markup=False, soft_wrap=True)
        return error
    raise AssertionError("the call was expected to fail")


# ---- what the stops run -------------------------------------------------------------------------


def f_explicit(a, b):
    return a + b


def f_implicit(b):
    return a_global + b


def condition_on_value(x):
    if x > 0:
        return x * 2
    return x / 2


def condition_with_cond(x):
    return lax.cond(x > 0, lambda x: x * 2, lambda x: x / 2, x)


def variable_loop(x, n):
    total = x
    for i in range(n):
        total = total + i
    return total


def loop_with_fori(x, n):
    return lax.fori_loop(0, n, lambda i, total: total + i, x)


def cumulative_sum(xs):
    return lax.scan(lambda carry, x: (carry + x, carry + x), 0.0, xs)[1]


def with_a_print(x):
    print(f"     tracing with x={x}")
    return x * x


def log2(x):
    leaked.append(x)
    return jnp.log(x) / jnp.log(2.0)


def update_weights(params, grads, learning_rate):
    return params - learning_rate * grads


leaked: list = []


# ---- the tour -----------------------------------------------------------------------------------


def arguments_and_globals():
    global a_global
    a_global, b = jnp.arange(5.0), jnp.ones(5)
    stop(
        1,
        "arguments and globals",
        "A jaxpr lists arguments after the semicolon; arrays read from outside before it.",
        f_explicit,
        f_implicit,
    )
    result(frit.make_jaxpr(f_explicit)(a_global, b))
    result(frit.make_jaxpr(f_implicit)(b))
    a_global = 1.0
    console.print("Bound to a number, the global becomes a literal; so does a static argument:")
    result(frit.make_jaxpr(f_implicit)(b))
    static = functools.partial(frit.jit, static_argnames="a")(f_explicit)
    result(frit.make_jaxpr(lambda b: static(a=1.0, b=b))(b))


def branches():
    stop(
        2,
        "branches on traced values",
        "While a function is traced its arguments have a type, not a value.",
        condition_on_value,
    )
    refused(frit.jit(condition_on_value), jnp.array(5.0))
    stop(2, "the remedy", "`lax.cond` keeps both branches.", condition_with_cond)
    result([float(frit.jit(condition_with_cond)(jnp.array(x))) for x in (5.0, -4.0)])


def loops():
    stop(3, "loops over traced numbers", "`range` needs the number itself.", variable_loop)
    refused(frit.jit(variable_loop), jnp.array(10.0), jnp.array(3))
    stop(3, "the remedy", "`fori_loop`, or `scan`.", loop_with_fori, cumulative_sum)
    result(float(frit.jit(loop_with_fori)(jnp.array(10.0), 3)))
    result(frit.jit(cumulative_sum)(jnp.array([1.0, 2.0, 3.0, 4.0])))


def side_effects():
    stop(
        4,
        "side effects happen while tracing",
        "Three calls, one trace: what prints is a tracer, and only once.",
        with_a_print,
    )
    square = frit.jit(with_a_print)
    result([float(square(jnp.array(x))) for x in (3.0, 4.0, 5.0)])
    stop(5, "what leaks is a tracer", "The jaxpr holds no `append`.", log2)
    leaked.clear()
    result(frit.make_jaxpr(log2)(3.0))
    refused(lambda: leaked[0] + 1)


def shapes():
    traces = []

    def process_data(x):
        traces.append(x.shape)
        return jnp.sum(x * 2.0)

    stop(
        6,
        "a new shape is a new trace",
        "Lengths 3, 3, 4, 4, 3 trace twice; the program of an old shape is kept.",
    )
    jitted = frit.jit(process_data)
    result([float(jitted(jnp.ones(n))) for n in (3, 3, 4, 4, 3)])
    result(f"traced for {traces}")


def hyperparameters():
    stop(
        7,
        "what changes belongs into the arguments",
        "A learning rate as an argument takes effect at once, without a new trace.",
        update_weights,
    )
    params, grads = jnp.array([1.0, 2.0]), jnp.array([0.5, -0.1])
    jitted = frit.jit(update_weights)
    result(jitted(params, grads, 0.01))
    result(jitted(params, grads, 1000.0))


TOUR = (arguments_and_globals, branches, loops, side_effects, shapes, hyperparameters)


def main():
    for part in TOUR:
        part()


if __name__ == "__main__":
    main()
