"""convert: Python's `if`, `while` and `for` on traced values, as cond, while_loop and scan.

    @convert
    def f(x):                         f(3.0)          runs as Python
        while x > 1: x = x / 2        jit(f)(3.0)     one while_loop
        return x

Which way is decided where the code runs, for each value: what Python knows stays Python's.  User
functions that a converted one calls, or hands to a transform of ours, are converted as they are
met; those of installed libraries and of frit itself are not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from frit import trees
from frit.api import iteration, recording, traced_branches, traced_loops
from frit.api.iteration import is_traced
from frit.errors import is_own_file
from frit.ir.primitive import Tracer
from frit.primitives.callbacks import debug_callback
from frit.primitives.comparison_and_bits import or_
from frit.runtime.users import is_library_file
from frit.syntax import Converter, Site, SourceNotFound, is_converted


class _Programs:
    """The runtime of converted code: traced control flow becomes equations."""

    is_traced = staticmethod(is_traced)
    items = staticmethod(iteration.items_of)
    branch = staticmethod(traced_branches.branch)
    choose = staticmethod(traced_branches.choose)
    while_loop = staticmethod(traced_loops.while_loop)
    for_loop = staticmethod(traced_loops.for_loop)

    def is_active(self, site: Site) -> bool:
        return any(a.site.place == site.place for a in recording.active_blocks())

    def callee(self, function: Any) -> Any:
        return _callee(function)

    def negate(self, site: Site, value: Any) -> Any:
        return recording.negated(value)

    def none_of(self, flags: Sequence[Any]) -> Any:
        return recording.none_of(flags)

    def check(self, site: Site, test: Any, message: Any) -> None:
        recording.refuse_unfit(site)
        holds = recording.truth(test)
        for block in recording.active_blocks():
            # Of mapped branches and loops, lanes that do not take part must not fail.
            taken = block.holds()
            if isinstance(taken, Tracer):
                holds = or_(holds, recording.negated(taken))
        assertion = _Assertion(site, message)
        debug_callback(
            holds, *assertion.values, callback=assertion, ordered=False, partitioned=False
        )


class _Assertion:
    """Raises AssertionError when the program runs; the message sees the values of that time."""

    def __init__(self, site: Site, message: Any) -> None:
        self.site, self.message = site, message
        cells = () if message is None else message.__closure__ or ()
        self.contents = [_contents(c) for c in cells]
        leaves, self.tree = trees.flatten(self.contents)
        self.places = [i for i, x in enumerate(leaves) if is_traced(x)]
        self.values = [leaves[i] for i in self.places]
        self.leaves = [None if is_traced(x) else x for x in leaves]

    def __call__(self, holds: Any, *values: Any) -> None:
        if holds:
            return
        error = AssertionError(*self._text(values))
        error.add_note(f"This is the {self.site}.")
        raise error

    def _text(self, values: Sequence[Any]) -> tuple[Any, ...]:
        if self.message is None:
            return ()
        leaves = list(self.leaves)
        for place, value in zip(self.places, values, strict=True):
            leaves[place] = value
        cells = tuple(CellType(x) for x in self.tree.unflatten(leaves))
        message = self.message
        return (FunctionType(message.__code__, message.__globals__, closure=cells)(),)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


_converter = Converter(_Programs())


def convert(function: Callable[..., Any]) -> Any:
    """See `frit.convert`."""
    if isinstance(function, FunctionType):
        if is_own_file(function.__code__.co_filename):
            raise _already_transformed(function)
        return _converter.convert(function)
    if isinstance(function, MethodType):
        return MethodType(convert(function.__func__), function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(convert(function.func), *function.args, **function.keywords)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(convert(function.__func__))
    if type(function).__module__.partition(".")[0] == "frit":
        raise _already_transformed(function)
    call = _call_method(type(function))
    if call is not None and not isinstance(function, type):
        return MethodType(convert(call), function)
    raise TypeError(
        f"convert takes a Python function, got {function!r} of type {type(function).__name__}. "
        "Classes and functions written in C have no Python control flow to convert; give the "
        "function or method that has."
    )


def _already_transformed(function: Any) -> TypeError:
    return TypeError(
        f"convert takes a function of yours, got {function!r}, which a transform has made. Convert "
        "first: write `jit(convert(f))` or `jit(f, control_flow='convert')`, `grad(convert(f))`."
    )


# ---------------------------------------------------------------------------- what is called inside


def _callee(function: Any) -> Any:
    """What converted code calls in the place of `function`."""
    kind = type(function)
    if kind is FunctionType:
        code = function.__code__
        if _is_users(code):
            return _converted_if_possible(function)
        return _handing_over(function) if _takes_functions(code) else function
    if kind is MethodType:
        made = _callee(function.__func__) if type(function.__func__) is FunctionType else None
        if made is None or made is function.__func__:
            return function
        return MethodType(made, function.__self__)
    if kind is functools.partial:
        made = _callee(function.func)
        if made is function.func:
            return function
        return functools.partial(made, *function.args, **function.keywords)
    if kind is type:
        return iteration.BUILTINS.get(function, _map if function is map else function)
    call = _call_method(kind)
    if call is not None and _is_users(call.__code__):
        return MethodType(_converted_if_possible(call), function)
    return function


def _call_method(kind: type) -> FunctionType | None:
    """The Python function that runs when an object of a class is called."""
    found = next((vars(c)["__call__"] for c in kind.__mro__ if "__call__" in vars(c)), None)
    return found if isinstance(found, FunctionType) else None


def _map(function: Any, *iterables: Any) -> Any:
    return map(_callee(function), *iterables)


def _is_users(code: CodeType) -> bool:
    return not is_library_file(code.co_filename)


_PAUSES = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines: they are Python's to run


def _converted_if_possible(function: FunctionType) -> FunctionType:
    """The function converted, or itself where it has no source, or nothing to convert."""
    if function.__code__.co_flags & _PAUSES or is_converted(function):
        return function
    try:
        return _converter.convert(function) if _converter.changes(function) else function
    except SourceNotFound:
        return function


_FUNCTION_NAMES = {"f", "fn", "branches", "pyfunc", "callback"}
_taking: dict[int, tuple[CodeType, bool]] = {}


def _takes_functions(code: CodeType) -> bool:
    """Whether a function of ours takes functions, such as vmap, grad or scan."""
    if not is_own_file(code.co_filename):
        return False
    known = _taking.get(id(code))
    if known is None:
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        takes = any(n in _FUNCTION_NAMES or "fun" in n for n in names)
        known = _taking[id(code)] = (code, takes)
    return known[1]


def _handing_over(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with user functions among its arguments converted."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [_handed(x) for x in args]
        return function(*given, **{k: _handed(v) for k, v in kwargs.items()})

    return call


def _handed(value: Any) -> Any:
    kind = type(value)
    if kind in (FunctionType, MethodType, functools.partial):
        return _callee(value)
    if kind in (list, tuple) and value and all(type(x) is FunctionType for x in value):
        return kind(map(_callee, value))
    return value
