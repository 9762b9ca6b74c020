"""Random functions that read a random structure: compiled code gives what Python gives, always.

A structure of namespaces, dicts, lists, tuples and dataclasses with numbers at its leaves; a
function that reads some of them, written in random ways; then one leaf after the other is changed.
"""

import dataclasses
import functools
import itertools
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frit as jax


@dataclasses.dataclass
class Record:
    a: object
    b: object

    @property
    def first(self):
        return self.a

    def get_second(self):
        return self.b


numbers = itertools.count(1)


@st.composite
def structures(draw, depth=3):
    kind = draw(st.sampled_from(["leaf", "dict", "list", "namespace", "record", "tuple"]))
    if depth == 0 or (kind == "leaf" and depth < 3):
        return draw(st.sampled_from([0.5, 1.5, 2.0, 3.0, -1.0]))
    a, b = draw(structures(depth - 1)), draw(structures(depth - 1))
    makers = {
        "dict": lambda: {"a": a, "b": b},
        "list": lambda: [a, b],
        "tuple": lambda: (a, b),
        "namespace": lambda: types.SimpleNamespace(a=a, b=b),
        "record": lambda: Record(a, b),
        "leaf": lambda: {"a": a, "b": b},
    }
    return makers[kind]()


def children(value):
    """The ways to read each part of a container: (expression around {}, part)."""
    if isinstance(value, dict):
        forms = [
            "{}[{!r}]", "{}.get({!r})", "dict({}).get({!r})", "(lambda d: d[{1!r}])({0})",
            "{{k: v for k, v in {0}.items()}}[{1!r}]", "(lambda **kw: kw[{1!r}])(**{0})",
            "{{**{0}}}[{1!r}]", "keyword_{1}(**{0})", "{}.copy()[{!r}]",
        ]  # fmt: skip
        return [(form, key, part) for key, part in value.items() for form in forms]
    if isinstance(value, (list, tuple)):
        forms = [
            "{}[{!r}]", "list({})[{!r}]", "[e for e in {}][{!r}]", "pick({}, {!r})",
            "{}[0:2][{!r}]", "[*{}][{!r}]", "{{'k': {0}}}['k'][{1!r}]",
            "[p[1] for p in enumerate({})][{!r}]", "[p[0] for p in zip({0}, {0})][{1!r}]",
        ]  # fmt: skip
        found = [(form, i, part) for i, part in enumerate(value) for form in forms]
        return [*found, ("first_of(*{})", 0, value[0]), ("({0})[-1]", 0, value[-1])]
    if isinstance(value, (types.SimpleNamespace, Record)):
        forms = ["{}.{}", "getattr({}, {!r})", "vars({})[{!r}]", "read_{1}({0})"]
        found = [(form, key, part) for key, part in vars(value).items() for form in forms]
        if isinstance(value, Record):
            found += [("{}.first", "a", value.a), ("{}.get_second()", "b", value.b)]
        return found
    return []


@st.composite
def readings(draw, root):
    """An expression that reads one leaf of `root`, and the containers on its way."""
    text, value, way = "root", root, []
    while parts := children(value):
        form, key, part = draw(st.sampled_from(parts))
        way.append((value, key))
        text = form.format(text, key)
        value = part
    return text, way


WRITINGS = [
    "    total = total + x * {}",
    "    v = {}\n    total = total * v",
    "    total = total + x if {} > 1.0 else total - x",
    "    for _ in range(2):\n        total = total + {}",
    "    total = total + sum([w * {0} for w in (x, 1.0)])",
    "    def inner(y):\n        return y * {}\n    total = inner(total)",
    "    total = helper(total, {})",
    "    total = helper(total, scale={})",
    "    total = functools.partial(helper, scale={})(total)",
    "    total = jax.jit(lambda y: y + {})(total)",
    "    (v, *_), w = [{}, 1.0], 2.0\n    total = total + v * w",
    "    total = total + (lambda k=1.0: k)(k={})",
    "    total = jax.lax.fori_loop(0, 2, lambda i, c: c + {}, total)",
    "    try:\n        v = {}\n    finally:\n        total = total + x\n    total = total - v",
    "    if (w := {}) > 0:\n        total = total * w",
]


@st.composite
def programs(draw):
    root = draw(structures())
    lines, ways = ["def f(x):", "    total = x"], []
    for _ in range(draw(st.integers(1, 4))):
        text, way = draw(readings(root))
        lines.append(draw(st.sampled_from(WRITINGS)).format(text))
        ways += way
    lines.append("    return total")
    return root, "\n".join(lines), ways


def change(container, key):
    """Another number, at one place of a structure."""
    new = 10.0 + next(numbers)
    if isinstance(container, (dict, list)):
        container[key] = new if not children(container[key]) else container[key]
    elif not isinstance(container, tuple) and not children(getattr(container, key)):
        setattr(container, key, new)


SPACE = {
    "jax": jax,
    "functools": functools,
    "helper": lambda y, scale=1.0: y * scale + 1.0,
    "pick": lambda values, i: values[i],
    "first_of": lambda first, *rest: first,
    "keyword_a": lambda a, b=1.0: a,
    "keyword_b": lambda b, a=1.0: b,
    "read_a": lambda o: o.a,
    "read_b": lambda o: o.b,
}


@pytest.mark.filterwarnings("ignore::frit.errors.CaptureChangedWarning")
@settings(max_examples=100, deadline=None)
@given(programs())
def test_compiled_code_sees_every_change(program):
    root, text, ways = program
    space = {**SPACE, "root": root}
    exec(text, space)
    function = space["f"]
    compiled = jax.jit(function)

    def agree():
        with jax.disable_jit():
            expected = float(function(1.5))
        np.testing.assert_allclose(float(compiled(1.5)), expected, rtol=1e-5, err_msg=text)

    agree()
    for container, key in ways:
        change(container, key)
        agree()
    agree()
