"""The source of a function: found by positions, and compared with the code that runs."""

from __future__ import annotations

import linecache

import pytest

from frit.errors import ControlFlowConversionError
from frit.syntax import sources


def name_of(function):
    node = sources.source_of(function.__code__).node
    return getattr(node, "name", None) or node.body


def test_lambdas_on_one_line_are_told_apart():
    f, g = (lambda x: x + 1), (lambda x: (lambda x: x)(x))
    assert name_of(f).lineno == name_of(g).lineno
    assert name_of(f).col_offset < name_of(g).col_offset


def defined(text, file):
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {}
    exec(compile(text, file, "exec"), names)
    return names["f"]


def test_files_edited_after_the_import():
    from frit import convert  # the front end that compares

    for number, later in enumerate(
        ["def f(x):\n    return x * 3.0\n", "def g(x):\n    return x\n", "def f(x:\n"]
    ):
        file = f"<edited {number}>"
        function = defined("def f(x):\n    return x * 2.0\n", file)
        linecache.cache[file] = (len(later), None, later.splitlines(True), file)
        with pytest.raises(ControlFlowConversionError, match="import it anew|Import it anew"):
            convert(function)


def test_private_names_are_found_as_the_compiler_keeps_them():
    class A:
        def f(self, __x):
            return __x

    found = sources.source_of(A.f.__code__)
    assert found.class_name == "A" and found.node.name == "f"
