"""Which variables statements bind, read, and need later."""

from __future__ import annotations

import ast

import pytest

from frit.syntax import names


def parsed(text):
    return ast.parse(text).body


@pytest.mark.parametrize(
    "text, bound, read",
    [
        ("a, *b = c", "ab", "c"),
        ("a += b", "a", "ab"),
        ("a[i] = b.c", "", "abi"),
        ("for i in x: y = i", "iy", "xi"),
        ("import a.b as c, d.e", "cd", ""),
        ("x = [i + k for i in y if (w := i)]", "xw", "yk"),
        ("x = lambda i, k=d: i + j", "x", "dj"),
        ("def f(a=b):\n  c = a + d\n  return c", "f", "bd"),
        ("with a as b: pass", "b", "a"),
        ("try: pass\nexcept a as b: pass", "b", "a"),
        ("match a:\n  case [b, *c]: pass\n  case {'k': d, **e}: pass", "bced", "a"),
        ("del a", "a", "a"),
    ],
)
def test_bound_and_read(text, bound, read):
    nodes = parsed(text)
    assert sorted(names.bound(nodes)) == sorted(bound)
    assert names.read(nodes) - {"f"} == set(read)


def needed_after(text, number=0):
    body = parsed(text)
    return names.Needed(body, ()).after[body[number]]


def test_what_is_assigned_before_it_is_read_is_not_needed():
    assert needed_after("if c: a = b = 1\na = 2\nprint(a, b)") == {"b", "print"}


def test_what_only_one_way_assigns_is_needed():
    assert "a" in needed_after("x = 1\nif c: a = 2\nprint(a)")


def test_what_a_nested_function_reads_is_always_needed():
    assert "a" in needed_after("if c: a = 1\na = 2\nf = lambda: a")


def test_what_the_next_iteration_reads_is_needed_at_the_head():
    body = parsed("for i in x:\n  t = i\n  s = s + t")
    body[0].exits = []
    head = names.Needed(body, ()).at_head[body[0]]
    assert "s" in head and "t" not in head and "i" not in head


def test_names_that_frames_show_are_needed():
    assert "a" in needed_after("if c: a = 1\na = 2\nlocals()")
