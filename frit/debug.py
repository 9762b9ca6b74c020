"""Debugging inside traced functions: print and callback run when the program runs."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import numpy as np

from frit import trees
from frit.ir.types import is_value
from frit.primitives import callbacks
from frit.primitives.callbacks import DebugEffect, OrderedDebugEffect
from frit.runtime.array import as_array
from frit.runtime.device import cpu_device

__all__ = [
    "DebugEffect", "OrderedDebugEffect", "breakpoint", "callback",
    "inspect_array_sharding", "print",
]  # fmt: skip


def callback(
    fun: Any = None, *args: Any, ordered: bool = False, partitioned: bool = False, **kwargs: Any
) -> Any:
    """Calls `fun(*args, **kwargs)` with arrays, when the program runs; its result is ignored.

    Options may come in a call of their own: callback(ordered=True)(fun, *args).
    """
    if fun is None:
        _check_options("debug_callback", args, kwargs)
        options = dict(ordered=ordered, partitioned=partitioned)
        return lambda fun, *args, **kwargs: _callback(fun, args, kwargs, **options)
    return _callback(fun, args, kwargs, ordered, partitioned)


def _check_options(name: str, args: Any, kwargs: Any) -> None:
    if args or kwargs:
        raise TypeError(
            f"{name} received unexpected arguments in the two-call form: {args or ''} "
            f"{kwargs or ''}. The first call takes options, such as ordered=True, the second all "
            "the rest."
        )


def _callback(fun: Any, args: Any, kwargs: Any, ordered: bool, partitioned: bool) -> None:
    if not callable(fun):
        raise TypeError(
            "first argument to jax.debug.callback must be callable, but got an object of type "
            f"{type(fun)}"
        )
    dynamic, static = _divide(args, kwargs)
    leaves, tree = trees.flatten(dynamic)
    callbacks.debug_callback(
        *leaves, callback=_Debug(fun, tree, static), ordered=ordered, partitioned=partitioned
    )


def _divide(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Arguments that are arrays, and those that are not."""
    is_static = lambda x: not all(map(is_value, trees.leaves(x)))
    fixed = {i: x for i, x in enumerate(args) if is_static(x)}
    fixed |= {k: x for k, x in kwargs.items() if is_static(x)}
    dynamic = (
        tuple(x for i, x in enumerate(args) if i not in fixed),
        {k: x for k, x in kwargs.items() if k not in fixed},
    )
    return dynamic, fixed


class _Debug:
    """A debugging function, called with flat arrays."""

    def __init__(self, function: Callable[..., Any], tree: Any, static: dict[Any, Any]) -> None:
        self.function, self.tree, self.static = function, tree, static

    def __call__(self, *flat: Any) -> None:
        args, kwargs = self.tree.unflatten(map(as_array, flat))
        given = iter(args)
        total = len(args) + sum(isinstance(k, int) for k in self.static)
        full = [self.static[i] if i in self.static else next(given) for i in range(total)]
        named = {k: v for k, v in self.static.items() if isinstance(k, str)}
        self.function(*full, **kwargs, **named)


class _Formatter(string.Formatter):
    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        positional = [i for i in range(len(args)) if i not in used_args]
        named = [k for k in kwargs if k not in used_args]
        hint = "" if used_args else " You may be passing an f-string (i.e, f'{x}') to it."
        for kind, unused in (("positional", positional), ("keyword", named)):
            if unused:
                raise ValueError(
                    f"Unused {kind} arguments to `jax.debug.print`: {unused}. Name each in the "
                    f"format string.{hint}"
                )


class _AnyFormat:
    """Accepts any format specification: numbers are not known while tracing."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        return self


def print(
    fmt: Any = None, *args: Any, ordered: bool = False, partitioned: bool = False,
    skip_format_check: bool = False, _use_logging: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Prints `fmt.format(*args, **kwargs)` when the program runs, under jit, vmap and grad too.

    ordered: prints come in program order.  Options may come in a call of their own:
    print(ordered=True)("x: {x}", x=x).
    """
    options = dict(ordered=ordered, partitioned=partitioned, skip_format_check=skip_format_check)
    if fmt is None:
        _check_options("debug_print", args, kwargs)
        return lambda fmt, *args, **kwargs: _print(fmt, args, kwargs, **options)
    return _print(fmt, args, kwargs, **options)


def _print(
    fmt: Any, args: Any, kwargs: Any, ordered: bool, partitioned: bool, skip_format_check: bool
) -> None:
    if not isinstance(fmt, str):
        raise TypeError(
            "The first argument to `jax.debug.print` must be a format string. Got: "
            f"{fmt!r}. Write jax.debug.print('{{}}', x)."
        )
    if not skip_format_check:
        _Formatter().format(fmt, *(_AnyFormat() for _ in args), **{k: _AnyFormat() for k in kwargs})
    dynamic, static = _divide(args, kwargs)
    leaves, tree = trees.flatten(dynamic)
    options = tuple(np.get_printoptions().items())
    callbacks.debug_print(
        *leaves,
        fmt=fmt,
        in_tree=tree,
        static_args=tuple(static.items()),
        has_placeholders=bool(args or kwargs),
        np_printoptions=options,
        ordered=ordered,
        partitioned=partitioned,
        logging_record=None,
    )


def breakpoint(*, backend: Any = None, **kwargs: Any) -> None:
    """Starts the Python debugger when the program reaches this point."""
    callback(lambda: __import__("pdb").set_trace(), ordered=True)


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Calls `callback` with the placement of an array, when the program runs: the one device."""
    for _ in trees.leaves(value):
        _callback(lambda _: callback(cpu_device().sharding), (value,), {}, False, False)
