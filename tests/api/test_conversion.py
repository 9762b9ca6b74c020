"""convert: what Python's control flow computes, the compiled program computes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import traceback

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import convert, lax


def compiled(function):
    return jax.jit(function, control_flow="convert")


def agree(a, b):
    a, b = jax.tree.leaves(a), jax.tree.leaves(b)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


# ------------------------------------------------------------- the two functions of the documents


def condition_on_value(x):
    if x > 0:
        return x * 2
    else:
        return x / 2


def variable_loop(x, n):
    total = x
    for i in range(n):
        total = total + i
    return total


def test_the_functions_of_the_documents_run_unchanged():
    assert compiled(condition_on_value)(jnp.array(5.0)) == 10.0
    assert compiled(condition_on_value)(jnp.array(-4.0)) == -2.0
    assert compiled(variable_loop)(jnp.array(10.0), jnp.array(3)) == 13.0


# ---------------------------------------------------------------------------- statements, by kind


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def early_returns(x):
    if x > 10:
        return 1
    if x > 5:
        y = x * 2
        if y > 15:
            return y
    elif x < -5:
        return -1
    return 0


def find(xs, wanted):
    for i, x in enumerate(xs):
        if x == wanted:
            return i
    return -1


def nested_loops(n, m):
    total = 0
    for i in range(n):
        for j in range(m):
            if j > i:
                break
            if (i + j) % 3 == 0:
                continue
            total += i * j
        else:
            total += 100
    return total


def endless_until_break(x):
    while True:
        x = x * 2
        if x > 100:
            break
    return x


def while_else(n):
    k = 0
    while k < n:
        if k == 7:
            break
        k += 1
    else:
        k = -k
    return k


def logic(a, b):
    if (a > 0 and b > 0) or not (a < b):
        return a
    return b if 0 < a < b < 10 else a + b


def value_of_and_or(a, b):
    return a and b, a or b, not a, (a and b) or 7


def assignment_in_the_condition(x):
    while (y := x // 2) > 1:
        x = y
    return x, y


def several_at_once(x):
    a, b = 0, 1
    while b < x:
        a, b = b, a + b
    return a


def zipped(xs, ys):
    total = 0.0
    for i, (x, y) in enumerate(zip(xs, ys[::-1], strict=True), 5):
        total = total + i * x if x > y else total - y
    return total


def downwards(n):
    s = 0
    for i in range(n, 0, -2):
        s = s * 3 + i
    for i in reversed(range(n)):
        s = s * 3 + i
    for i in reversed(range(2, n)):
        s = s * 3 + i
    return s


def rows_backwards(xs):
    s = 0.0
    for x in reversed(xs):
        s = s * 2 + x
    return s


def last_row(xs):
    for x in xs:
        y = x * 2
    return y


def mixed_zip(xs, n):
    s = 0
    for i, x, k in zip(range(n), xs, range(10, 20)):  # noqa: B905
        s = s + i * x + k
    return s


def known_list_traced_break(x):
    for c in [1, 2, 3]:
        if x > c:
            break
        x = x + 1
    else:
        x = x * 100
    return x


def known_range_traced_return(x):
    for i in range(10):
        if x > i * 3:
            return i
        x = x + 1
    return -1


def number_becomes_float(n):
    total = 0
    for _ in range(n):
        total = total + 0.5
    return total


def in_a_with_block(x):
    with jax.named_scope("a"):
        if x > 0:
            return x
        for i in range(3):
            if x < -i:
                return -x
    return x * 10


def in_try_finally(x):
    try:
        y = x + 1
    finally:
        if x > 0:
            y = x * 5
    return y


def deleted_and_bound_again(x):
    t = x * 2
    if x > 0:
        del t
        t = x
    return t


def annotated(x):
    y: float
    if x > 0:
        z: float = 1.0
        y = z
    else:
        y = 2.0
    return y


def by_a_nested_function(x):
    count = 0

    def add(k):
        nonlocal count
        if k > 2:
            count += k
        else:
            count += 1

    if x > 0:
        add(x)
    while x < 5:
        add(x)
        x = x + 1
    return count


def containers(x):
    state = {"a": x, "b": (x, 0), "name": "fixed"}
    while state["a"] < 10:
        state = {**state, "a": state["a"] * 2, "b": (state["b"][0] + 1, state["b"][1] + 1)}
    return state["a"], state["b"]


def local_temporaries(n):
    i = "text"
    total = 0
    for i in range(n):
        part = i * 2
        if part > 3:
            part = part - 1
        total += part
    return total


def comprehension_of_branches(x):
    return [y * k if y > 0 else y - k for k, y in enumerate([x, -x, x * 2])]


def match_on_known(x):
    match ("scale", x):
        case ("scale", factor) if True:
            if factor > 2:
                return factor * 10
            return factor
        case _:
            return -1


def bounded_recursion(x, depth=4):
    if depth == 0:
        return x
    if x > 0:
        return bounded_recursion(x - 1, depth - 1)
    return bounded_recursion(x + 2, depth - 1)


def helper(x):
    if x > 3:
        return x
    return -x if x > 0 else x * 0


def calls(x):
    twice = functools.partial(helper)
    return helper(x) + twice(x + 3) + sum(map(helper, [x, x + 1]))


def through_a_generator(x):
    def pairs():
        for k in [1, 2, 3]:
            yield k, x + k

    total = 0
    for k, y in pairs():
        if y > 2:
            total = total + k
    return total


CASES = [
    (collatz, (1,), (7,), (27,)),
    (early_returns, (20,), (9,), (6,), (-7,), (0,)),
    (find, (np.array([1, 5, 3]), 5), (np.array([1, 5, 3]), 9)),
    (nested_loops, (0, 0), (3, 4), (6, 3)),
    (endless_until_break, (3,), (200,)),
    (while_else, (3,), (20,)),
    (logic, (1, 2), (-1, 2), (-3, -4), (3, 20)),
    (value_of_and_or, (1, 2), (0, 2), (3, 0), (0, 0)),
    (assignment_in_the_condition, (100,), (1,)),
    (several_at_once, (50,), (0,)),
    (zipped, (np.arange(4.0), np.array([2.0, 0.0, 1.0, 5.0]))),
    (downwards, (5,), (0,), (2,)),
    (rows_backwards, (np.arange(4.0),)),
    (last_row, (np.arange(3.0),)),
    (mixed_zip, (np.arange(4), 2), (np.arange(4), 9)),
    (known_list_traced_break, (0,), (2,), (7,), (-5,)),
    (known_range_traced_return, (0,), (2,), (7,), (-50,)),
    (number_becomes_float, (4,), (0,)),
    (in_a_with_block, (1,), (-5,), (0,)),
    (in_try_finally, (1,), (-1,)),
    (deleted_and_bound_again, (1.0,), (-1.0,)),
    (annotated, (1.0,), (-1.0,)),
    (by_a_nested_function, (0,), (3,), (9,)),
    (containers, (1.5,), (20.0,)),
    (local_temporaries, (0,), (4,)),
    (comprehension_of_branches, (2.0,), (-3.0,)),
    (match_on_known, (1,), (5,)),
    (bounded_recursion, (1,), (-3,)),
    (calls, (1,), (5,), (-1,)),
    (through_a_generator, (0,), (-1,)),
]


@pytest.mark.parametrize(
    "function, arguments", [(f, a) for f, *a in CASES], ids=[c[0].__name__ for c in CASES]
)
def test_the_program_computes_what_python_computes(function, arguments):
    converted = convert(function)
    for args in arguments:
        expected = function(*args)
        agree(converted(*args), expected)
        agree(jax.jit(converted)(*map(jnp.asarray, args)), expected)


# --------------------------------------------------------------------------------------- decisions


def test_python_values_decide_while_tracing():
    def scaled(x, scale):
        if scale:
            for _ in range(2):
                x = x * scale
        return x

    text = str(jax.make_jaxpr(lambda x: convert(scaled)(x, 3.0))(1.0))
    assert "cond" not in text and "while" not in text and text.count("mul") == 2
    assert "mul" not in str(jax.make_jaxpr(lambda x: convert(scaled)(x, None))(1.0))


def test_rows_without_early_exit_are_a_scan():
    def horner(coefficients, x):
        result = 0.0
        for c in coefficients:
            result = result * x + c
        return result

    jaxpr = jax.make_jaxpr(convert(horner))(jnp.arange(4.0), 2.0)
    assert [e.primitive.name for e in jaxpr.eqns] == ["scan"]
    agree(jax.grad(convert(horner))(jnp.arange(4.0), 2.0), np.array([8.0, 4.0, 2.0, 1.0]))


def test_what_branches_agree_on_stays_python():
    def f(x):
        mode, scale = "a", 2
        if x > 0:
            mode, scale = "a", 2
            x = x + 1
        return x * {"a": scale}[mode]

    jaxpr = jax.make_jaxpr(convert(f))(1.0)
    (branch,) = [e for e in jaxpr.eqns if e.primitive.name == "cond"]
    assert len(branch.outvars) == 1


def test_concrete_arrays_and_eager_derivatives_are_python():
    ran = []

    def f(x):
        if x > 0:
            ran.append("positive")
            return x * x
        return -x

    assert jax.grad(convert(f))(3.0) == 6.0
    assert convert(f)(jnp.float32(2.0)) == 4.0
    assert ran == ["positive", "positive"]


def test_vmap_and_derivatives():
    def halve(x):
        while x > 1:
            x = x / 2
        return x

    xs = jnp.array([1.0, 5.0, 12.0])
    agree(jax.jit(jax.vmap(convert(halve)))(xs), np.array([1.0, 0.625, 0.75]))
    agree(jax.jit(jax.vmap(jax.grad(convert(halve))))(xs), np.array([1.0, 0.125, 0.0625]))
    agree(jax.jit(jax.vmap(jax.jacfwd(convert(halve))))(xs), np.array([1.0, 0.125, 0.0625]))


def test_functions_handed_to_transforms_are_converted():
    def absolute(x):
        return x if x > 0 else -x

    def step(total, x):
        total = total + x if x > 0 else total - 2 * x
        return total, total

    def f(xs):
        sums = lax.scan(step, 0.0, xs)[0]
        return jax.vmap(absolute)(xs).sum() + lax.map(absolute, xs).sum() + sums

    assert compiled(f)(jnp.array([-1.0, 2.0, -3.0])) == 6 + 6 + 10


def test_keys_are_state():
    def draws(key, n):
        total = 0.0
        for _ in range(n):
            key, own = jax.random.split(key)
            total = total + jax.random.uniform(own)
        return total

    agree(compiled(draws)(jax.random.key(0), 3), draws(jax.random.key(0), 3))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Ball:
    height: float
    speed: float


def test_dataclasses_are_state():
    def bounce(ball, steps):
        for _ in range(steps):
            if ball.height < 0:
                ball = Ball(-ball.height, -ball.speed)
            ball = Ball(ball.height + ball.speed, ball.speed - 1.0)
        return ball

    agree(compiled(bounce)(Ball(1.0, 0.5), 5), bounce(Ball(1.0, 0.5), 5))


# ------------------------------------------------------------------------------------- assertions


def positive(x):
    assert x > 0, f"x is {x}"
    return x * 2


def test_assertions_are_checked_when_the_program_runs():
    assert compiled(positive)(1.0) == 2.0
    with pytest.raises(AssertionError, match=r"x is -1\.0") as caught:
        compiled(positive)(-1.0)
    line = inspect.getsourcelines(positive)[1] + 1
    assert f"test_conversion.py:{line}, in positive" in caught.value.__notes__[0]
    with pytest.raises(AssertionError, match=r"x is -1\.0$"):
        convert(positive)(-1.0)


def test_assertions_of_other_lanes_do_not_fail():
    def f(x):
        if x > 0:
            assert x < 10, "too large"
            x = x + 1
        while x < 3:
            assert x < 3
            x = x + 1
        return x

    mapped = jax.jit(jax.vmap(convert(f)))
    agree(mapped(jnp.array([-50.0, 1.0, 5.0])), np.array([3.0, 3.0, 6.0]))
    with pytest.raises(AssertionError, match="too large"):
        mapped(jnp.array([-50.0, 1.0, 50.0]))


# ------------------------------------------------------------------- what is shared with the user's


def counted(function):
    counted.applied += 1

    @functools.wraps(function)
    def around(*args, **kwargs):
        return function(*args, **kwargs)

    return around


counted.applied = 0


@counted
def decorated(x, *, limit: int = 3):
    """Says something."""
    if x > limit:
        return x
    return -x


def test_decorators_are_not_applied_again():
    before = counted.applied
    converted = convert(decorated)
    assert converted.__wrapped__ is decorated and converted.__doc__ == "Says something."
    assert inspect.signature(converted) == inspect.signature(decorated)
    assert (compiled(decorated)(5), compiled(decorated)(1)) == (5, -1)
    assert counted.applied == before


def test_conversion_is_remembered():
    assert convert(early_returns) is convert(early_returns)
    assert convert(convert(early_returns)) is convert(early_returns)


def test_cells_are_shared():
    def make():
        count = 0

        def step(x):
            nonlocal count
            count += 1
            if x > 0:
                return x + count
            return x

        return step, lambda: count

    step, read = make()
    convert(step)(1)
    assert (read(), step(1), read()) == (1, 3, 2)


scale = 2.0


def by_a_global(x):
    if x > 0:
        return x * scale
    return x


def test_globals_are_live(monkeypatch):
    f = compiled(by_a_global)
    assert f(1.0) == 2.0
    monkeypatch.setitem(globals(), "scale", 5.0)
    assert convert(by_a_global)(1.0) == 5.0
    assert f(1.0) == 5.0


class Base:
    factor = 2

    def __init__(self):
        self.__limit = 3

    def scaled(self, x):
        if x > self.__limit:
            return x * self.factor
        return self.small(x)

    def small(self, x):
        return x

    @staticmethod
    @convert
    def of_class(x):
        if x > 0:
            return x
        return -x

    def __call__(self, x):
        return self.small(x) if x < 100 else x


class Derived(Base):
    def small(self, x):
        if x < 0:
            return super().small(x) * 7
        return x + 1


def test_methods_private_names_and_super():
    f = compiled(Derived().scaled)
    assert [int(f(x)) for x in (5, -1, 1)] == [10, -7, 2]
    assert jax.jit(Base.of_class)(-3) == 3
    assert compiled(lambda x: Derived()(x))(1) == 2
    assert compiled(Derived().__call__)(1) == 2
    assert jax.jit(convert(Derived()))(1) == 2


def test_lambdas_on_one_line():
    f, g = (lambda x: x if x > 0 else -x), (lambda x: x if x < 0 else -x)
    assert compiled(f)(-3.0) == 3.0 and compiled(g)(3.0) == -3.0


def test_what_a_context_manager_swallows():
    def f(x):
        with contextlib.suppress(KeyError):
            return {}[x]

    assert convert(f)(1) is None


def test_tracebacks_show_the_lines_of_the_user():
    def wrong(x):
        if x > 0:
            return jnp.zeros(3) + jnp.zeros(4)
        return x

    with pytest.raises(TypeError, match="incompatible shapes") as caught:
        compiled(wrong)(1.0)
    own = [f for f in traceback.extract_tb(caught.tb) if f.name == "wrong"]
    assert [f.line for f in own] == ["if x > 0:", "return jnp.zeros(3) + jnp.zeros(4)"]
    assert own[-1].filename == __file__ and (own[-1].colno, own[-1].end_colno) == (19, 46)


def test_equations_keep_the_lines_of_the_user():
    jaxpr = jax.make_jaxpr(convert(condition_on_value))(1.0)
    branch = next(e for e in jaxpr.eqns if e.primitive.name == "cond").params["branches"][1]
    info = branch.jaxpr.eqns[0].source_info
    first = inspect.getsourcelines(condition_on_value)[1]
    assert (info.line, info.function) == (first + 2, "condition_on_value")
