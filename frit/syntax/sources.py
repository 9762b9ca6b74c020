"""The syntax tree of a function, found in its file by the positions that its code object keeps.

    code  ->  file -> tree of the whole file -> the `def` on its first line | the lambda whose body
              stands where the code's last value is computed

The file is read as it was when Python first read it (`linecache`), parsed once, and what is found
must have the names and constants of the code: a file edited after it was imported is told.
"""

from __future__ import annotations

import ast
import linecache
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from frit.errors import ControlFlowConversionError

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FILES_KEPT = 16
_SCALARS = (bool, int, float, complex, str, bytes)


class SourceNotFound(ControlFlowConversionError):
    """The source of a function is not there, or does not tell which function it is."""


@dataclass(frozen=True)
class Source:
    """A function's syntax tree, and the class in whose body its private names are mangled."""

    node: Function
    class_name: str | None


@dataclass(frozen=True)
class _File:
    lines: list[str]
    functions: dict[int, list[Source]]  # by the line that the code object calls its first


_files: OrderedDict[str, _File] = OrderedDict()


def place_of(code: CodeType) -> str:
    """`name at file:line`, for messages."""
    return f"`{code.co_name}` ({code.co_filename}:{code.co_firstlineno})"


def source_of(code: CodeType) -> Source:
    """The syntax tree of a function.  SourceNotFound where there is none."""
    candidates = _functions_of(code).get(code.co_firstlineno, [])
    found = [s for s in candidates if _is_of(s.node, code)]
    if len(found) > 1:
        found = _around(found, code)
    if len(found) != 1:
        raise SourceNotFound(
            f"the source of {place_of(code)} cannot be converted: that line of the file holds "
            f"{'no' if not found else 'more than one'} such function. If the file was edited "
            "after it was imported, import it anew; if the function is a lambda, write it with "
            "`def`."
        )
    return found[0]


def check_same(code: CodeType, compiled: CodeType) -> None:
    """Raises unless what was compiled from the source is the code that is running."""
    if _mentioned(compiled) <= _mentioned(code):
        return
    raise ControlFlowConversionError(
        f"the source of {place_of(code)} is not the code that is running: the file was edited "
        "after it was imported. Import it anew before converting the function."
    )


def _mentioned(code: CodeType) -> set[object]:
    names = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    found: set[object] = {n for n in names if not n.startswith("@")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _mentioned(constant)
        elif type(constant) in _SCALARS:
            found.add((type(constant), repr(constant)))
    return found


def _functions_of(code: CodeType) -> dict[int, list[Source]]:
    name = code.co_filename
    lines = linecache.getlines(name)
    if not lines:
        raise SourceNotFound(
            f"the source of {place_of(code)} is not available, so its `if`, `while` and `for` "
            "cannot be converted. Define the function in a file or a notebook cell (not by exec "
            "or at the `python` prompt), or write `lax.cond`, `lax.while_loop`, `lax.scan`."
        )
    known = _files.get(name)
    if known is None or known.lines != lines:
        try:
            tree = ast.parse("".join(lines), name)
        except SyntaxError as error:
            raise SourceNotFound(
                f"the source of {place_of(code)} cannot be parsed: {error.msg}, line "
                f"{error.lineno}. If the file was edited after it was imported, import it anew."
            ) from None
        functions: dict[int, list[Source]] = {}
        for source in _walk(tree, None):
            functions.setdefault(_first_line(source.node), []).append(source)
        known = _files[name] = _File(lines, functions)
        if len(_files) > _FILES_KEPT:
            _files.popitem(last=False)
    return known.functions


def _walk(node: ast.AST, class_name: str | None) -> Iterator[Source]:
    if isinstance(node, Function):
        yield Source(node, class_name)
    if isinstance(node, ast.ClassDef):
        class_name = node.name
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, class_name)


def _first_line(node: Function) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *[d.lineno for d in decorators]])


def _is_of(node: Function, code: CodeType) -> bool:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    a = node.args
    names = [x.arg for x in [*a.posonlyargs, *a.args, *a.kwonlyargs]]
    names += [x.arg for x in (a.vararg, a.kwarg) if x is not None]
    given = code.co_varnames[: len(names)]
    return name == code.co_name and all(map(_same_name, names, given))


def _same_name(name: str, given: str) -> bool:
    """Whether the compiler keeps an argument's name as `given`; private ones are mangled."""
    private = name.startswith("__") and not name.endswith("__")
    return given.endswith(name) if private else given == name


def _around(lambdas: list[Source], code: CodeType) -> list[Source]:
    """The smallest of the lambdas whose body holds all positions that the code mentions."""
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if None not in (line, end_line, column, end_column)
        and (line, column) != (end_line, end_column)
    ]
    spans = [(_span(s.node), s) for s in lambdas]
    holding = [
        (span, s)
        for span, s in spans
        if all(span[0] <= first and last <= span[1] for first, last in places)  # type: ignore
    ]
    return [
        s for span, s in holding if all(o[0] <= span[0] and span[1] <= o[1] for o, _ in holding)
    ]


def _span(node: Function) -> tuple[tuple[int, int], tuple[int, int]]:
    b = node.body if isinstance(node, ast.Lambda) else node
    assert isinstance(b, (ast.expr, ast.stmt))
    return (b.lineno, b.col_offset), (b.end_lineno or 0, b.end_col_offset or 0)
