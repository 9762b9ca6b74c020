"""Converted functions: new code in the place of a function's own, everything else shared.

    code  ->  source  ->  converted tree  ->  code with the file, lines and columns of the source

The new function has the globals, the closure cells (the very same), the defaults and the attributes
of the old one, which is its `__wrapped__`.  Conversion is done once for each code object.
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
from collections import OrderedDict
from types import CellType, CodeType, FunctionType
from typing import Any

from frit.errors import ControlFlowConversionError
from frit.syntax.bridge import Bridge, Runtime
from frit.syntax.exits import BRIDGE
from frit.syntax.rewriting import Rewriter
from frit.syntax.sources import Source, check_same, place_of, source_of

_KEPT = 4096
# Names of what stands around a definition: none that its body could mean.
_AROUND, _FUNCTION = "@around", "@function"
_ATTRIBUTE = "__frit_converted__"
_ASYNC = 0x80 | 0x100 | 0x200  # CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR


def is_converted(function: FunctionType) -> bool:
    """Whether the function's code is one that conversion made, or stands in one."""
    code = function.__code__
    return BRIDGE in code.co_freevars or BRIDGE in code.co_cellvars


class Converter:
    """Converts functions for one runtime, and remembers what it made."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        # By identity: codes of different files may be equal.  The code is held, so its id stays.
        self._codes: OrderedDict[int, tuple[CodeType, CodeType, Bridge, bool]] = OrderedDict()

    def convert(self, function: FunctionType) -> FunctionType:
        """The function with its control flow converted; the same one each time it is asked for."""
        known = function.__dict__.get(_ATTRIBUTE)
        if known is not None and _is_current(known, function):
            return known  # type: ignore[no-any-return]
        if is_converted(function):
            return function
        code, bridge, _ = self.code_of(function.__code__)
        made = _with_code(function, code, bridge)
        function.__dict__[_ATTRIBUTE] = made
        return made

    def changes(self, function: FunctionType) -> bool:
        """Whether conversion changes anything in the function."""
        return self.code_of(function.__code__)[2]

    def code_of(self, code: CodeType) -> tuple[CodeType, Bridge, bool]:
        """The converted code, the bridge that it calls, and whether it differs at all."""
        known = self._codes.get(id(code))
        if known is None:
            if code.co_flags & _ASYNC:
                raise ControlFlowConversionError(
                    f"{place_of(code)} is asynchronous and cannot be converted. Await outside, and "
                    "pass the results as arguments."
                )
            source = source_of(code)
            rewriter = Rewriter(code.co_filename, code.co_name)
            check_same(code, _compiled(source, source.node, code))
            converted = rewriter.convert(copy.deepcopy(source.node))  # type: ignore[arg-type]
            made = _compiled(source, converted, code)
            bridge = Bridge(self.runtime, rewriter.sites)
            known = self._codes[id(code)] = (code, made, bridge, rewriter.changed)
            if len(self._codes) > _KEPT:
                self._codes.popitem(last=False)
        return known[1:]


def _is_current(made: FunctionType, function: FunctionType) -> bool:
    return (
        getattr(made, "__wrapped__", None) is function
        and getattr(made, "__from_code__", None) is function.__code__
        and made.__defaults__ is function.__defaults__
        and made.__kwdefaults__ is function.__kwdefaults__
    )


def _compiled(source: Source, node: Any, code: CodeType) -> CodeType:
    """The code of a definition that stands where the original did: same cells, same class."""
    if not isinstance(node, ast.Lambda):
        node = ast.copy_location(
            ast.FunctionDef(
                name=_FUNCTION, args=node.args, body=node.body, decorator_list=[], returns=None
            ),
            node,
        )
    body: list[ast.stmt] = [ast.Expr(node)] if isinstance(node, ast.Lambda) else [node]
    if source.class_name is not None:
        inside = ast.ClassDef(
            name=source.class_name, bases=[], keywords=[], body=body, decorator_list=[]
        )
        body = [inside]
        if source.class_name not in code.co_freevars:
            body.insert(0, ast.Global(names=[source.class_name]))
    names = dict.fromkeys([*code.co_freevars, BRIDGE])
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=n) for n in names], kwonlyargs=[], kw_defaults=[],
        defaults=[],
    )  # fmt: skip
    around = ast.FunctionDef(name=_AROUND, args=arguments, body=body, decorator_list=[])
    module = ast.fix_missing_locations(ast.Module(body=[around], type_ignores=[]))
    # Flags of `from __future__` imports are the original's: they are part of its code.
    flags = code.co_flags & _FUTURES
    made = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    function = "<lambda>" if isinstance(node, ast.Lambda) else _FUNCTION
    for name in (_AROUND, *([source.class_name] if source.class_name else []), function):
        # Lambdas among the defaults come before the function itself.
        made = [c for c in made.co_consts if isinstance(c, CodeType) and c.co_name == name][-1]
    made = _named(made, code.co_name, code.co_qualname)
    return made.replace(co_firstlineno=code.co_firstlineno)


_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag & ~0x10  # not CO_NESTED


def _named(code: CodeType, name: str, qualified: str) -> CodeType:
    """The code with the names that tracebacks show: a block is the function it stands in."""
    # Names inside a function are `f.<locals>.g`; inside a class body, `C.g`.
    inside = f"{qualified}.<locals>." if code.co_flags & inspect.CO_OPTIMIZED else f"{qualified}."
    consts = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            is_block = c.co_name.startswith("@block")
            c = _named(c, name, qualified) if is_block else _named(c, c.co_name, inside + c.co_name)
        elif isinstance(c, str) and c.startswith(_AROUND + ".<locals>."):
            c = qualified  # what a class body is told that it is called
        consts.append(c)
    return code.replace(co_consts=tuple(consts), co_name=name, co_qualname=qualified)


def _with_code(function: FunctionType, code: CodeType, bridge: Bridge) -> FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[BRIDGE] = CellType(bridge)
    made = FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    functools.update_wrapper(made, function)
    made.__kwdefaults__ = function.__kwdefaults__  # type: ignore[assignment]
    made.__dict__.pop(_ATTRIBUTE, None)
    made.__from_code__ = function.__code__  # type: ignore[attr-defined]
    return made
