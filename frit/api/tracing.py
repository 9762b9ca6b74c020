"""make_jaxpr, eval_shape: look at what tracing gives; disable_jit, named_scope and the like."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from frit import config, trees
from frit.api import signatures
from frit.api.jitting import JitFunction, jit
from frit.ir import primitive
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import axis_bound, bottom_interpreter, interpreting
from frit.ir.types import ShapeDtypeStruct
from frit.transforms.trace import trace_to_jaxpr


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: Any = (),
    axis_env: Any = None,
    return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[..., Any]:
    """A function that traces `fun` on its arguments, each time afresh, and returns the jaxpr.

    >>> import frit as jax
    >>> jax.make_jaxpr(lambda x: x * 2.0)(1.0)
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    signatures.check_callable(fun, "make_jaxpr")

    @functools.wraps(fun)
    def make(*args: Any, **kwargs: Any) -> Any:
        signature = signatures.signature_of(fun)
        static = set(signatures.as_index_tuple(static_argnums, "static_argnums"))
        static = {n % len(args) if args else n for n in static}
        dynamic = tuple(x for i, x in enumerate(args) if i not in static)
        leaves, tree = trees.flatten((dynamic, kwargs))

        def with_static(given: Any, keywords: Any) -> Any:
            rest = iter(given)
            return [args[i] if i in static else next(rest) for i in range(len(args))], keywords

        def info() -> Any:
            return signatures.describe(fun, signature, dynamic, kwargs, "make_jaxpr")

        types = signatures.types_of_leaves(leaves, info)
        out: list[Any] = []
        flat = signatures.flat_function(fun, tree, out, with_static)
        with _axes(axis_env):
            jaxpr, consts = trace_to_jaxpr(flat, types, info())
        closed = ClosedJaxpr(jaxpr, consts)
        if not return_shape:
            return closed
        return closed, out[0].unflatten([_struct(t) for t in closed.out_avals])

    make.__name__ = f"make_jaxpr({signatures.function_name(fun)})"
    make.__qualname__ = f"make_jaxpr({getattr(fun, '__qualname__', signatures.function_name(fun))})"
    return make


def _struct(aval: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


@contextmanager
def _axes(axis_env: Any) -> Iterator[None]:
    if not axis_env:
        yield
        return
    (name, size), *rest = axis_env
    with axis_bound(name, size), _axes(rest):
        yield


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fun`'s results, as ShapeDtypeStructs, without computing them."""
    if isinstance(fun, JitFunction):
        return fun.eval_shape(*args, **kwargs)
    return jit(fun).eval_shape(*args, **kwargs)


def disable_jit(disable: bool = True) -> Any:
    """Within the block, jit, scan, while and cond run as Python on concrete values."""
    return config.disable_jit(disable)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Within the block, operations on known values compute at once, also under jit."""
    with interpreting(bottom_interpreter()):
        yield


class named_scope:
    """Within the block (or the decorated function), traced equations carry `name`."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope name argument must be a string, got {name!r}")
        self.name = name
        self._open: list[Any] = []

    def __enter__(self) -> None:
        manager = primitive.scope(self.name)
        self._open.append(manager)
        manager.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._open.pop().__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            with named_scope(self.name):
                return function(*args, **kwargs)

        return scoped


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """`fun`, whose traced equations carry its name."""
    return named_scope(name or signatures.function_name(fun))(fun)
