"""Branches on traced values: cond, switch, platform_dependent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import config, errors, trees
from frit.ir import dtypes
from frit.ir.jaxpr import ClosedJaxpr, Var, run_closed
from frit.ir.primitive import Tracer
from frit.ir.types import typeof
from frit.lax.bodies import check_branches, forwarded, trace_body
from frit.lax.conversion import convert_element_type
from frit.lax.elementwise import clamp, ne
from frit.primitives.conditionals import cond as cond_p
from frit.runtime import cache
from frit.transforms.trace import trace_to_jaxpr

__all__ = ["cond", "cond_p", "platform_dependent", "switch"]


def cond(
    pred: Any, true_fun: Any, false_fun: Any, *operands: Any, operand: Any = ..., linear: Any = None
) -> Any:
    """`true_fun(*operands)` if `pred` holds, else `false_fun(*operands)`; only that one runs.

    pred: a boolean or numeric scalar.  Both functions return the same structure and types.

    >>> from frit import lax
    >>> lax.cond(True, lambda x: x * 2, lambda x: x / 2, 5.0)
    Array(10., dtype=float32, weak_type=True)
    """
    if not (callable(true_fun) and callable(false_fun)):
        if len(operands) == 2 and callable(operands[1]) and callable(false_fun):
            return _five_argument_cond(pred, true_fun, false_fun, *operands)
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    if operand is not ...:
        if operands:
            raise TypeError(
                "if 'operand' keyword is passed then no positional operands can be passed, got "
                f"operand={operand} and positional operands {operands}"
            )
        operands = (operand,)
    if pred is None:
        raise TypeError("cond predicate is None")
    if isinstance(pred, Sequence):
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}")
    try:
        aval = typeof(pred)
    except TypeError:
        raise TypeError(f"Pred type must be either boolean or number, got {pred}.") from None
    if aval.shape:  # type: ignore[attr-defined]
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}.")  # type: ignore[attr-defined]
    dtype = aval.dtype  # type: ignore[attr-defined]
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"Pred type must be either boolean or number, got {dtype}.")
    if config.disable_jit.value and not isinstance(pred, Tracer):
        return true_fun(*operands) if pred else false_fun(*operands)
    if not dtypes.is_bool(dtype):
        pred = ne(pred, np.zeros((), dtype)[()])
    index = convert_element_type(pred, np.int32)
    return _choose(index, (false_fun, true_fun), operands, "cond")


def _five_argument_cond(
    pred: Any, true_operand: Any, true_fun: Any, false_operand: Any, false_fun: Any
) -> Any:
    """The older form, with an operand for each branch."""
    return cond(
        pred, lambda t, _: true_fun(t), lambda _, f: false_fun(f), true_operand, false_operand
    )


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = ...
) -> Any:
    """`branches[index](*operands)`, with the index clamped into range; only that branch runs."""
    if not all(callable(b) for b in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    if operand is not ...:
        if operands:
            raise TypeError(
                "if 'operand' keyword is passed then no positional operands can be passed, got "
                f"operand={operand} and positional operands {operands}"
            )
        operands = (operand,)
    try:
        aval = typeof(index)
    except TypeError:
        if isinstance(index, Sequence):
            raise TypeError(
                f"Branch index must be scalar, got {index} of shape {np.shape(index)}."
            ) from None
        raise TypeError(f"Index type must be an integer, got {index}.") from None
    if aval.shape:  # type: ignore[attr-defined]
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")  # type: ignore[attr-defined]
    if not dtypes.is_integer(aval.dtype):  # type: ignore[attr-defined]
        raise TypeError(f"Index type must be an integer, got {index} as {aval.dtype}.")  # type: ignore[attr-defined]
    branches = tuple(branches)
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    index = convert_element_type(index, np.int32)
    index = clamp(np.int32(0), index, np.int32(len(branches) - 1))
    if config.disable_jit.value and not isinstance(index, Tracer):
        return branches[int(index)](*operands)
    return _choose(index, branches, operands, "switch")


def _choose(index: Any, functions: Sequence[Any], operands: tuple[Any, ...], who: str) -> Any:
    leaves, tree = trees.flatten(operands)
    types = [typeof(x) for x in leaves]
    traced = [trace_body(f, tree, types, who) for f in functions]
    entries = [e for e, _ in traced]
    check_branches(entries, functions, who)
    out_types = [_joined(ts) for ts in zip(*[e.closed.out_avals for e in entries], strict=True)]
    # The values that any branch captured become operands of all, one for each identity.
    shared: dict[int, Any] = {}
    for _, captured in traced:
        shared.update((id(c), c) for c in captured)
    order = list(shared)
    branches = tuple(
        _with_captures(e, captured, order, shared, out_types) for e, captured in traced
    )
    flat = [*shared.values(), *leaves]
    passed = _passed_through(branches)
    if passed:
        kept = [i for i in range(len(out_types)) if i not in passed]
        branches = tuple(_without_outputs(b, kept) for b in branches)
        found = cond_p(index, *flat, branches=branches) if kept else []
        results = {i: flat[j] for i, j in passed.items()}
        results.update(zip(kept, found, strict=True))
        return entries[0].out_tree.unflatten([results[i] for i in range(len(out_types))])
    return entries[0].out_tree.unflatten(cond_p(index, *flat, branches=branches))


def _passed_through(branches: Sequence[ClosedJaxpr]) -> dict[int, int]:
    """The outputs that are the same operand in every branch, and which operand that is."""
    if any(b.jaxpr.effects for b in branches):
        return {}
    found = [forwarded(b) for b in branches]
    return {i: j for i, j in found[0].items() if all(f.get(i) == j for f in found)}


def _without_outputs(branch: ClosedJaxpr, kept: Sequence[int]) -> ClosedJaxpr:
    jaxpr = branch.jaxpr
    outvars = [jaxpr.outvars[i] for i in kept]
    return ClosedJaxpr(jaxpr.replace(outvars=outvars, debug_info=None), branch.consts)


def _joined(types: Sequence[Any]) -> Any:
    """One type for the results of all branches: weak only if all are."""
    strong = next((t for t in types if not getattr(t, "weak_type", False)), types[0])
    return strong


def _with_captures(
    entry: cache.Entry,
    captured: list[Any],
    order: list[int],
    shared: dict[int, Any],
    out_types: Any,
) -> ClosedJaxpr:
    from_entry = entry.closed.jaxpr
    own = dict(zip([id(c) for c in captured], from_entry.invars, strict=False))
    leading = [own.get(i) or Var(typeof(shared[i])) for i in order]
    if [id(c) for c in captured] == order and all(
        v.aval == t for v, t in zip(from_entry.outvars, out_types, strict=True)
    ):
        return entry.closed
    jaxpr = from_entry.replace(
        invars=[*leading, *from_entry.invars[len(captured) :]], debug_info=None
    )
    closed = ClosedJaxpr(jaxpr)
    if all(v.aval == t for v, t in zip(jaxpr.outvars, out_types, strict=True)):
        return closed
    return _strengthened(closed, out_types)


def _strengthened(closed: ClosedJaxpr, out_types: Any) -> ClosedJaxpr:
    """The jaxpr with its weakly typed results made strong where `out_types` are."""

    def run(*values: Any) -> list[Any]:
        return [
            convert_element_type(r, t.dtype) if typeof(r) != t else r
            for r, t in zip(run_closed(closed, *values), out_types, strict=True)
        ]

    jaxpr, consts = trace_to_jaxpr(run, closed.in_avals)
    return ClosedJaxpr(jaxpr, consts)


def platform_dependent(*args: Any, default: Any = None, **per_platform: Any) -> Any:
    """`per_platform["cpu"](*args)` if it is given, else `default(*args)`."""
    function = per_platform.get("cpu", default)
    if function is None:
        raise NotImplementedError(
            "translation rule for platform_dependent not found for platform cpu: its branches are "
            f"for {tuple(per_platform)}, and there is no default. Give cpu=… or default=…."
        )
    errors.check_function(function, "a branch of platform_dependent")
    return function(*args)
