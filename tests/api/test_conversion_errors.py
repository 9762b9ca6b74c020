"""What convert says of control flow that cannot be a program: where, what, what instead."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import convert
from frit.errors import ControlFlowConversionError


def one_branch(x):
    if x > 0:
        y = 1
    return y


def other_structure(x):
    if x > 0:
        y = (1, 2)
    else:
        y = (1,)
    return y


def other_dtype(x):
    if x > 0:
        y = jnp.ones(3)
    else:
        y = jnp.ones(3, int)
    return y


def text(x):
    mode = "a"
    if x > 0:
        mode = "b"
    return x if mode == "a" else 0


def no_return(x):
    if x > 0:
        return x


def text_of_a_ternary(x):
    return "a" if x > 0 else "b"


def in_try(x):
    try:
        if x > 0:
            x = x + 1
    except ValueError:
        pass
    return x


def raises(x):
    if x < 0:
        raise ValueError("negative")
    return x


def matches(x):
    match x:
        case 0:
            return 1
        case _:
            return 2


def guard_of_a_case(x):
    match 3:
        case k if x > k:
            return 1
    return 2


def filters(x):
    return [i for i in range(3) if x > i]


log = []


def appends(x):
    if x > 0:
        log.append(x)
    return x


def stores_an_item(x):
    d = {}
    if x > 0:
        d["a"] = x
    return d


class Record:
    count = 0


record = Record()


def stores_an_attribute(x):
    while x < 3:
        record.count = 1
        x = x + 1
    return x


total = 0


def assigns_a_global(x):
    global total
    if x > 0:
        total = x
    return x


def count_up():
    global total
    total += 1


def calls_a_counter(x):
    if x > 0:
        count_up()
    return x


def calls_a_counter_lazily(x):
    return x > 0 and count_up() is None


def collects(x):
    rows = []
    for i in range(x):
        rows.append(i)
    return rows


def grows(x):
    r = jnp.zeros(1)
    for _ in range(x):
        r = jnp.concatenate([r, r])
    return r


def changes_type(x):
    t = jnp.int32(0)
    for _ in range(x):
        t = t + 0.5
    return t


def changes_structure(x):
    t = (x,)
    while x < 3:
        x, t = x + 1, (*t, x)
    return t


def changes_text(x):
    name = "a"
    while x < 3:
        x, name = x + 1, name + "b"
    return name


def first_defined_inside(x):
    for i in range(x):
        y = i
    return y


def list_of_a_range(x):
    return [i * i for i in range(x)]


def traced_step(x):
    s = 0
    for i in range(0, 10, x):
        s += i
    return s


def factorial(x):
    if x <= 1:
        return 1
    return x * factorial(x - 1)


CASES = [
    (one_branch, 1, r"variable `y` is 1 where the condition holds, but not defined where it does "
     r"not\. Give `y` a value before this, or in both"),
    (other_structure, 1, r"`y` is a tuple \(1, 2\) where .* but a tuple \(1,\) where .* structure"),
    (other_dtype, 1, r"`y` is float32\[3\] where .* int32\[3\] where it does not.*astype"),
    (text, 2, r"`mode` is 'b' where .* 'a' where .*mark the argument"),
    (no_return, 1, r"the returned value is int32\[\] .* None where .*End every way"),
    (text_of_a_ternary, 1, r"the value of `… if … else …` is 'a' where the condition holds"),
    (in_try, 2, r"in the body of `try … except`.*Take this block out"),
    (raises, 1, r"a `raise` under a traced condition.*Write `assert condition, message`"),
    (matches, 1, r"`match` needs the value.*Write `if subject == …"),
    (guard_of_a_case, 2, r"guard of a `case` is traced\. Write `if …"),
    (filters, 1, r"`if` of a comprehension.*Write `jnp\.where"),
    (appends, 1, r"`log` was changed by code that runs for a traced condition"),
    (stores_an_item, 2, r"`d\['a'\]` was changed.*`d = {\*\*d, 'key': value}`"),
    (stores_an_attribute, 1, r"`record\.count` was changed.*outside the block"),
    (assigns_a_global, 2, r"global variable `total` would be assigned.*local variable"),
    (calls_a_counter, 1, r"`total` was changed"),
    (calls_a_counter_lazily, 1, r"`total` was changed"),
    (collects, 2, r"`rows` was changed.*rows\.at\[i\]\.set\(row\)"),
    (grows, 2, r"`r` is float32\[1\] before an iteration, but float32\[2\] after it.*full size"),
    (changes_type, 2, r"`t` is int32\[\] before an iteration, but float32\[\] after it"),
    (changes_structure, 2, r"`t` is a tuple .* after it.*keeps its structure"),
    (changes_text, 2, r"`name` is 'a' before an iteration, but 'ab' after it"),
    (first_defined_inside, 1, r"`y` gets its first value inside the loop.*before the loop"),
    (list_of_a_range, 1, r"range\(0, .* a length that only the running program knows"),
    (traced_step, 2, r"step of `range` is traced"),
    (factorial, 1, r"`factorial` calls itself under a traced condition.*`while` loop"),
]  # fmt: skip


@pytest.mark.parametrize("function, offset, message", CASES, ids=[c[0].__name__ for c in CASES])
def test_what_is_said(function, offset, message):
    before = (list(log), record.count, total)
    with pytest.raises(ControlFlowConversionError) as caught:
        jax.jit(function, control_flow="convert")(1)
    said = str(caught.value)
    assert re.search(message, said, re.DOTALL), said
    line = inspect.getsourcelines(function)[1] + offset
    assert f"{__file__}:{line}" in said, (line, said)
    assert (log, record.count, total) == before


def test_arrays_are_no_conditions():
    def f(x):
        if x:
            return 1
        return 2

    with pytest.raises(ValueError, match="ambiguous"):
        jax.jit(f, control_flow="convert")(np.ones(2))
    assert jax.jit(f, control_flow="convert")(np.ones((1, 1))) == 1


def test_iteration_and_ranges_of_what_has_none():
    def over(x):
        for _ in x:
            pass

    def ranged(x):
        for _ in range(x):
            pass

    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        jax.jit(over, control_flow="convert")(1)
    with pytest.raises(TypeError, match=r"`range` takes integers, and got .*float32\[\]"):
        jax.jit(ranged, control_flow="convert")(1.0)


def test_yield_and_await():
    def generator(x):
        yield x

    async def waiting(x):
        return x

    with pytest.raises(
        ControlFlowConversionError, match=r"(?s)has a `yield`.*test_conversion_errors"
    ):
        convert(generator)
    with pytest.raises(ControlFlowConversionError, match=r"is asynchronous.*Await outside"):
        convert(waiting)


def test_what_is_no_function_of_the_user():
    for other in (print, 3, int):
        with pytest.raises(TypeError, match="convert takes a Python function, got"):
            convert(other)
    for made in (jax.grad(text), jax.jit(text)):
        with pytest.raises(TypeError, match=r"Convert first: write `jit\(convert\(f\)\)`"):
            convert(made)


def test_functions_without_source():
    names = {}
    exec("def f(x):\n  if x: return 1\ndef g(x): return f(x)", names)
    with pytest.raises(ControlFlowConversionError, match="source of `f` .* is not available"):
        convert(names["f"])

    def uses(x):
        return names["g"](x)  # met in passing, it runs as it is

    assert convert(uses)(2) == 1


def test_the_values_of_control_flow():
    with pytest.raises(ValueError, match="control_flow must be None .* or 'convert'.*got 'x'"):
        jax.jit(text, control_flow="x")
    decorated = jax.jit(control_flow="convert")(raises)
    with pytest.raises(ControlFlowConversionError):
        decorated(1)
