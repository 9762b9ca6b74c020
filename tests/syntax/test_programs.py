"""Random programs: converted and compiled, they compute what Python computes.

Programs nest if, while, for, break, continue and return over integers; their conditions depend on
traced arguments or on values that Python knows.
"""

from __future__ import annotations

import linecache
import textwrap

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frit as jax
import frit.numpy as jnp

VARIABLES = ["a", "b", "c"]
numbers = st.one_of(st.sampled_from([*VARIABLES, "x", "y", "known"]), st.integers(-3, 5).map(str))


@st.composite
def arithmetic(draw):
    a, b = draw(numbers), draw(numbers)
    kind = draw(st.sampled_from(["{} + {}", "{} - {}", "{} * {}", "{}", "({} if {} > 1 else c)"]))
    return kind.format(a, b)


@st.composite
def conditions(draw, depth=1):
    kinds = ["{} < {}", "{} == {}", "{} <= {}", "{} % 2 == {} % 2", "0 < {} <= {}"]
    text = draw(st.sampled_from(kinds)).format(draw(numbers), draw(numbers))
    if depth and draw(st.booleans()):
        other = draw(conditions(depth=0))
        text = draw(st.sampled_from(["{} and {}", "{} or {}", "not ({}) and {}"])).format(
            text, other
        )
    return text


def block(draw, depth, in_loop, level):
    count = draw(st.integers(1, 3))
    return "\n".join(statement(draw, depth, in_loop, level) for _ in range(count))


def indented(text):
    return textwrap.indent(text, "    ")


def statement(draw, depth, in_loop, level):
    kinds = ["assign", "assign"]
    if depth:
        kinds += ["if", "if", "if_else", "for", "while", "known_for", "list"]
    kinds += ["return_if"]
    if in_loop:
        kinds += ["break_if", "continue_if"]
    kind = draw(st.sampled_from(kinds))
    inner = lambda loop=in_loop: indented(block(draw, depth - 1, loop, level + 1))
    condition = draw(conditions())
    match kind:
        case "assign":
            return f"{draw(st.sampled_from(VARIABLES))} = ({draw(arithmetic())}) % 31"
        case "if":
            return f"if {condition}:\n{inner()}"
        case "if_else":
            return f"if {condition}:\n{inner()}\nelse:\n{inner()}"
        case "return_if":
            return f"if {condition}:\n    return {draw(numbers)}, {draw(numbers)}, c"
        case "break_if":
            return f"if {condition}:\n    break"
        case "continue_if":
            return f"if {condition}:\n    continue"
        case "for" | "known_for" | "list":
            bound = f"{draw(numbers)} % 4" if kind == "for" else str(draw(st.integers(0, 3)))
            items = f"range({bound})" if kind != "list" else "(2, 0, 1)"
            head = f"for i{level} in {items}:\n{inner(True)}"
            orelse = f"\nelse:\n{inner()}" if draw(st.booleans()) else ""
            return head + orelse
        case "while":
            k = f"k{level}"
            start = f"{k} = 0\nwhile {k} < 3 and ({condition}):\n    {k} += 1\n{inner(True)}"
            orelse = f"\nelse:\n{inner()}" if draw(st.booleans()) else ""
            return start + orelse


@st.composite
def programs(draw):
    body = block(draw, 3, False, 0)
    return (
        "def program(x, y):\n    known = 2\n    a, b, c = x, y, 1\n"
        f"{indented(body)}\n    return a, b, c\n"
    )


def defined(source, number=[0]):  # noqa: B006
    """The function of a source text, in a file that only `linecache` knows."""
    number[0] += 1
    file = f"<program {number[0]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {}
    exec(compile(source, file, "exec"), names)
    return names["program"]


def numbers_of(result):
    return [int(r) for r in result]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs())
def test_converted_programs_compute_what_python_computes(source):
    program = defined(source)
    converted = jax.convert(program)
    compiled = jax.jit(converted)
    for x, y in [(0, 1), (3, 2), (-2, 5)]:
        expected = numbers_of(program(x, y))
        assert numbers_of(converted(x, y)) == expected, source
        assert numbers_of(compiled(x, y)) == expected, source


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs())
def test_mapped_programs_compute_what_python_computes(source):
    program = defined(source)
    xs, ys = [0, 3, -2], [1, 2, 5]
    mapped = jax.jit(jax.vmap(jax.convert(program)))(jnp.array(xs), jnp.array(ys))
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        assert numbers_of(r[i] for r in mapped) == numbers_of(program(x, y)), source
