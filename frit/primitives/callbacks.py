"""Callbacks: Python functions that run when the program runs.

pure_callback     results depend on the operands only: may be dropped, repeated or mapped
io_callback       runs as often as the program says; `ordered` ones in program order
debug_callback    no results; told what passes by
debug_print       debug_callback that prints a format string
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import trees
from frit.errors import JaxRuntimeError
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import Effect, Primitive, absent
from frit.ir.types import ShapedArray, typeof
from frit.primitives.scans import scan
from frit.transforms.linear import axis_to_front, insert_axis, move_axis
from frit.transforms.rules import zero_tangent
from frit.transforms.trace import trace_to_jaxpr

logger = logging.getLogger("frit.runtime")


class IOEffect(Effect):
    """A callback acts on the outside world."""

    repeatable = False
    __str__ = lambda self: "IO"


class OrderedIOEffect(Effect):
    """As IOEffect, in program order."""

    ordered = True
    repeatable = False
    __str__ = lambda self: "OrderedIO"


class DebugEffect(Effect):
    """A debugging callback."""

    __str__ = lambda self: "Debug"


class OrderedDebugEffect(Effect):
    """A debugging callback, in program order."""

    ordered = True
    __str__ = lambda self: "OrderedDebug"


io_effect, ordered_io_effect = IOEffect(), OrderedIOEffect()
debug_effect, ordered_debug_effect = DebugEffect(), OrderedDebugEffect()


class FlatCallback:
    """A function of pytrees, called with flat arrays."""

    def __init__(self, callback_func: Callable[..., Any], in_tree: trees.PyTreeDef) -> None:
        self.callback_func, self.in_tree = callback_func, in_tree

    def __call__(self, *flat: Any) -> Sequence[Any]:
        args, kwargs = self.in_tree.unflatten(flat)
        return trees.leaves(self.callback_func(*args, **kwargs))

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, FlatCallback)
            and self.callback_func == other.callback_func
            and self.in_tree == other.in_tree
        )

    def __hash__(self) -> int:
        return hash((self.callback_func, self.in_tree))

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.callback_func}, in_tree={self.in_tree})"


def run_callback(
    callback: Callable[..., Any], arrays: Sequence[Any], types: Sequence[Any], name: str
) -> list[Any]:
    """The callback's results as arrays of the promised types.  RuntimeError if they differ.

    An exception of the callback is logged, and raised again as a JaxRuntimeError.
    """
    try:
        results = list(callback(*arrays))
    except Exception as error:
        logger.exception(f"jax.{name} failed")
        raise JaxRuntimeError(
            f"jax.{name} failed: {type(error).__name__}: {error}, in the callback "
            f"{getattr(callback, 'callback_func', callback)}."
        ) from error
    if len(results) != len(types):
        raise JaxRuntimeError(
            f"{callback} returned {len(results)} arrays where {len(types)} were promised by "
            "result_shape_dtypes."
        )
    return [_checked(r, t) for r, t in zip(results, types, strict=True)]


def _checked(result: Any, aval: ShapedArray) -> np.ndarray:
    data = np.asarray(result)
    if data.shape != aval.shape:
        raise JaxRuntimeError(
            f"Incorrect output shape for return value of a callback: Expected: {aval.shape}, "
            f"Actual: {data.shape}"
        )
    if data.dtype != aval.storage_dtype:
        narrowed = np.asarray(data, aval.storage_dtype)
        if typeof(data).dtype != aval.dtype:  # type: ignore[attr-defined]
            raise JaxRuntimeError(
                f"Incorrect output dtype for return value of a callback: Expected: "
                f"{aval.dtype}, Actual: {data.dtype}"
            )
        return narrowed
    return np.ascontiguousarray(data).reshape(data.shape)


def _result_types(*types: Any, result_avals: Any, **_: Any) -> list[Any]:
    return list(result_avals)


def _by_scan(primitive: Primitive, axis: Any, operands: Any, mapped: Any, params: Any) -> Any:
    """The callback once for each lane, in order."""
    stacked = [move_axis(x, d, 0) for x, d in zip(operands, mapped, strict=True) if d is not None]
    shared = [x for x, d in zip(operands, mapped, strict=True) if d is None]

    def one(*values: Any) -> list[Any]:
        fixed, rows = iter(values[: len(shared)]), iter(values[len(shared) :])
        full = [next(fixed) if d is None else next(rows) for d in mapped]
        results = primitive(*full, **params)
        return list(results)

    types = [*[typeof(x) for x in shared], *[typeof(x).without_axis(0) for x in stacked]]
    jaxpr, consts = trace_to_jaxpr(one, types)
    results = scan(
        *shared, *stacked, jaxpr=ClosedJaxpr(jaxpr, consts), num_consts=len(shared), num_carry=0,
        length=axis.size, reverse=False, unroll=1, linear=(False,) * len(operands),
    )  # fmt: skip
    return results, [0] * len(results)


def _pure_batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> Any:
    method = params["vmap_method"]
    if method is None:
        raise NotImplementedError(
            "vmap is only supported for callbacks that say how: give jax.pure_callback the "
            "`vmap_method` argument, one of 'sequential', 'sequential_unrolled', 'expand_dims' and "
            "'broadcast_all'."
        )
    types = params["result_avals"]
    widened = {**params, "result_avals": tuple(t.with_axis(0, axis.size) for t in types)}
    if method in ("sequential", "sequential_unrolled"):
        return _by_scan(pure_callback, axis, operands, mapped, params)
    if method == "expand_dims":
        values = [
            insert_axis(x, 0, 1) if d is None else move_axis(x, d, 0)
            for x, d in zip(operands, mapped, strict=True)
        ]
    elif method in ("broadcast_all", "broadcast_fullrank"):
        values = [axis_to_front(x, d, axis.size) for x, d in zip(operands, mapped, strict=True)]
    elif method == "legacy_vectorized":
        values = [
            x if d is None else move_axis(x, d, 0) for x, d in zip(operands, mapped, strict=True)
        ]
    else:
        raise NotImplementedError(f"vmap_method={method!r} is not known to pure_callback")
    results = pure_callback(*values, **widened)
    return results, [0] * len(results)


pure_callback = Primitive(
    "pure_callback",
    multiple_results=True,
    result_types=_result_types,
    evaluate=lambda *arrays, callback, result_avals, **_: run_callback(
        callback, arrays, result_avals, "pure_callback"
    ),
    jvp=absent(
        "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
        "taking gradients.",
        ValueError,
    ),
    transpose=absent(
        "Pure callbacks do not support transpose. Please use `jax.custom_vjp`.", ValueError
    ),
    batch=_pure_batch,
)


def _io_effects(*types: Any, ordered: bool, **_: Any) -> frozenset[Any]:
    return frozenset((ordered_io_effect if ordered else io_effect,))


def _io_batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> Any:
    if params["ordered"]:
        raise ValueError("Cannot `vmap` ordered IO callback.")
    return _by_scan(io_callback, axis, operands, mapped, params)


io_callback = Primitive(
    "io_callback",
    multiple_results=True,
    result_types=_result_types,
    effects=_io_effects,
    evaluate=lambda *arrays, callback, result_avals, **_: run_callback(
        callback, arrays, result_avals, "io_callback"
    ),
    jvp=absent(
        "IO callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
        "taking gradients.",
        ValueError,
    ),
    transpose=absent(
        "IO callbacks do not support transpose. Please use `jax.custom_vjp`.", ValueError
    ),
    batch=_io_batch,
)


def _debug_effects(*types: Any, ordered: bool = False, **_: Any) -> frozenset[Any]:
    return frozenset((ordered_debug_effect if ordered else debug_effect,))


def _debug_jvp(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        results = primitive()(*primals, **params)
        return results, [zero_tangent(r) for r in results]

    return jvp


def _debug_batch(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    def batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> Any:
        return _by_scan(primitive(), axis, operands, mapped, params)

    return batch


def _run_debug(*arrays: Any, callback: Callable[..., Any], **_: Any) -> list[Any]:
    callback(*arrays)
    return []


debug_callback = Primitive(
    "debug_callback",
    multiple_results=True,
    result_types=lambda *types, **_: [],
    effects=_debug_effects,
    evaluate=_run_debug,
    jvp=_debug_jvp(lambda: debug_callback),
    transpose=lambda cts, *operands, **_: [None] * len(operands),
    batch=_debug_batch(lambda: debug_callback),
)


def format_and_print(
    *arrays: Any, fmt: str, in_tree: trees.PyTreeDef, static_args: Any,
    has_placeholders: bool, np_printoptions: Any, **_: Any,
) -> list[Any]:  # fmt: skip
    """Prints `fmt` with the arrays and the static arguments in its places."""
    args, kwargs = in_tree.unflatten(arrays)
    given = iter(args)
    fixed = dict(static_args)
    total = len(args) + sum(isinstance(k, int) for k in fixed)
    full = [fixed[i] if i in fixed else next(given) for i in range(total)]
    keywords = {**kwargs, **{k: v for k, v in fixed.items() if isinstance(k, str)}}
    if not has_placeholders:
        print(fmt)
        return []
    with np.printoptions(**dict(np_printoptions)):
        print(fmt.format(*map(_printable, full), **{k: _printable(v) for k, v in keywords.items()}))
    return []


def _printable(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return value[()] if value.ndim == 0 else value


debug_print = Primitive(
    "debug_print",
    multiple_results=True,
    result_types=lambda *types, **_: [],
    effects=_debug_effects,
    evaluate=format_and_print,
    jvp=_debug_jvp(lambda: debug_print),
    transpose=lambda cts, *operands, **_: [None] * len(operands),
    batch=_debug_batch(lambda: debug_print),
)
