"""return, break and continue as assignments and branches: the text before and after."""

from __future__ import annotations

import ast
import textwrap

import pytest

from frit.syntax.exits import lower_exits


def lowered(text):
    (function,) = ast.parse(textwrap.dedent(text)).body
    function.body = lower_exits(function)
    return ast.unparse(ast.fix_missing_locations(function))


CASES = [
    ("""
        def f(c, a, b):
            if c:
                return a
            return b
     """, """
        def f(c, a, b):
            if c:
                @return = a
            else:
                @return = b
            return @return
     """),
    ("""
        def f(c, a):
            if c:
                return a
     """, """
        def f(c, a):
            if c:
                @return = a
            else:
                @return = None
            return @return
     """),
    ("""
        def f(xs):
            for x in xs:
                if x:
                    break
                g(x)
            else:
                h()
     """, """
        def f(xs):
            @break1 = False
            for x in xs:
                if x:
                    @break1 = True
                else:
                    g(x)
            if @frit.none_of(@break1):
                h()
     """),
    ("""
        def f(xs):
            for x in xs:
                if x:
                    if x > 1:
                        continue
                    g(x)
                h(x)
     """, """
        def f(xs):
            for x in xs:
                @continue1 = False
                if x:
                    if x > 1:
                        @continue1 = True
                    else:
                        g(x)
                if @frit.none_of(@continue1):
                    h(x)
     """),
    ("""
        def f(xs):
            for x in xs:
                if x:
                    return x
            return 0
     """, """
        def f(xs):
            @returned = False
            for x in xs:
                if x:
                    @return = x
                    @returned = True
            if @frit.none_of(@returned):
                @return = 0
                @returned = True
            return @return
     """),
    ("""
        def f(x):
            g(x)
            return x
     """, """
        def f(x):
            g(x)
            return x
     """),
]  # fmt: skip


@pytest.mark.parametrize("before, after", CASES)
def test_lowering(before, after):
    assert lowered(before) == textwrap.dedent(after).strip()
