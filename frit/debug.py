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

__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "print"]


def callback(fun: Callable[..., Any], *args: Any, ordered: bool = False, partitioned: bool = False,
             **kwargs: Any) -> None:  # fmt: skip
    """Calls `fun(*args, **kwargs)` with arrays, when the program runs; its result is ignored."""
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
        args, kwargs = self.tree.unflatten(flat)
        given = iter(args)
        total = len(args) + sum(isinstance(k, int) for k in self.static)
        full = [self.static[i] if i in self.static else next(given) for i in range(total)]
        named = {k: v for k, v in self.static.items() if isinstance(k, str)}
        self.function(*full, **kwargs, **named)


class _Formatter(string.Formatter):
    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [a for i, a in enumerate(args) if i not in used_args]
        unused += [k for k in kwargs if k not in used_args]
        if unused:
            raise ValueError(
                f"Unused arguments to `jax.debug.print`: {unused}. Name each in the format string."
            )


class _AnyFormat:
    """Accepts any format specification: numbers are not known while tracing."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        return self


def print(fmt: str, *args: Any, ordered: bool = False, partitioned: bool = False,
          skip_format_check: bool = False, _use_logging: bool = False,
          **kwargs: Any) -> None:  # fmt: skip
    """Prints `fmt.format(*args, **kwargs)` when the program runs, under jit, vmap and grad too.

    ordered: prints come in program order.
    """
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
