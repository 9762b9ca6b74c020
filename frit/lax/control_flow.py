"""Control flow on traced values: cond, switch, while_loop, fori_loop, scan, map, associative_scan."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import config, errors, trees
from frit.api import signatures
from frit.api.mapping import vmap
from frit.ir import dtypes
from frit.ir.jaxpr import ClosedJaxpr, Var, run_closed
from frit.ir.primitive import Tracer
from frit.ir.types import ShapedArray, typeof
from frit.lax.conversion import convert_element_type
from frit.lax.elementwise import add, clamp, lt, ne
from frit.lax.indexing import dynamic_index_in_dim, slice_in_dim
from frit.lax.shapes import concatenate, expand_dims, pad, reshape, rev
from frit.primitives.conditionals import cond as cond_p
from frit.primitives.loops import scan as scan_p
from frit.primitives.loops import while_ as while_p
from frit.runtime import cache
from frit.transforms.trace import trace_to_jaxpr

__all__ = [
    "associative_scan", "cond", "cond_p", "fori_loop", "map", "platform_dependent", "scan",
    "scan_p", "switch", "while_loop", "while_p",
]  # fmt: skip


def _trace_body(
    function: Callable[..., Any], tree: Any, types: Sequence[Any], purpose: str
) -> tuple[cache.Entry, list[Any]]:
    """The body as a jaxpr whose captured values, tracers or arrays, are leading operands."""

    def trace() -> Any:
        out: list[Any] = []
        flat = signatures.flat_function(function, _Positional(tree), out)
        example = tree.unflatten([0] * len(types))
        info = signatures.describe(
            function, signatures.signature_of(function), example, {}, purpose
        )
        jaxpr, consts = trace_to_jaxpr(flat, types, info)
        return jaxpr, consts, out[0]

    key = cache.make_key(purpose, types, tree)
    traces = cache.traces_of(function)
    found = traces.find(key)
    if found is not None:
        return found, found.extra["captured"]
    jaxpr, consts, out_tree = trace()
    opened = jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars])
    entry = cache.Entry(key, ClosedJaxpr(opened), out_tree, 0.0, extra={"captured": consts})
    if not any(isinstance(c, Tracer) for c in consts):
        traces.add(entry)
    return entry, consts


class _Positional:
    """A tree of positional arguments, seen as (args, kwargs)."""

    def __init__(self, tree: trees.PyTreeDef) -> None:
        self.tree = tree

    def unflatten(self, leaves: Any) -> Any:
        return self.tree.unflatten(leaves), {}


def _name(function: Any) -> str:
    return signatures.function_name(function)


def _same_type(a: Any, b: Any) -> bool:
    if isinstance(a, ShapedArray) and isinstance(b, ShapedArray):
        return a.shape == b.shape and a.dtype == b.dtype
    return a == b


# ------------------------------------------------------------------------------------------- cond


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
    aval = typeof(index)
    if aval.shape:  # type: ignore[attr-defined]
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")  # type: ignore[attr-defined]
    if not dtypes.is_integer(aval.dtype):  # type: ignore[attr-defined]
        raise TypeError(f"Index type must be an integer, got {aval.dtype}.")  # type: ignore[attr-defined]
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
    traced = [_trace_body(f, tree, types, who) for f in functions]
    entries = [e for e, _ in traced]
    _check_branches(entries, functions, who)
    out_types = [_joined(ts) for ts in zip(*[e.closed.out_avals for e in entries], strict=True)]
    # The values that any branch captured become operands of all, one for each identity.
    shared: dict[int, Any] = {}
    for _, captured in traced:
        shared.update((id(c), c) for c in captured)
    order = list(shared)
    branches = tuple(
        _with_captures(e, captured, order, shared, out_types) for e, captured in traced
    )
    results = cond_p(index, *shared.values(), *leaves, branches=branches)
    return entries[0].out_tree.unflatten(results)


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


def _check_branches(entries: Sequence[cache.Entry], functions: Sequence[Any], who: str) -> None:
    first = entries[0] if who == "switch" else entries[1]
    for i, e in enumerate(entries):
        labels = ("branch 0", f"branch {i}") if who == "switch" else ("true_fun", "false_fun")
        if e.out_tree != first.out_tree:
            a = first.out_tree.unflatten(first.closed.out_avals)
            b = e.out_tree.unflatten(e.closed.out_avals)
            difference = trees.first_difference(a, b)
            raise TypeError(
                f"{who} branch outputs must have the same pytree structure, but they differ: "
                f"{labels[0]} output has structure {first.out_tree}, {labels[1]} output has "
                f"structure {e.out_tree} ({difference}). Revise {labels[0]} and/or {labels[1]} so "
                "that they return the same structure."
            )
        wrong = [
            (p, x, y)
            for p, x, y in zip(
                trees.paths(e.out_tree.unflatten([0] * e.out_tree.num_leaves)),
                first.closed.out_avals,
                e.closed.out_avals,
                strict=True,
            )
            if not _same_type(x, y)
        ]
        if wrong:
            lines = "\n".join(
                f"  * the output of {labels[0]}{_at(p)} has type {x.str_short()} but the "
                f"corresponding output of {labels[1]} has type {y.str_short()}" + _how(x, y)
                for p, x, y in wrong
            )
            raise TypeError(
                f"{who} branches must have equal output types but they differ.\n\n{lines}\n\n"
                f"Revise {labels[0]} and/or {labels[1]} so that all output types match."
            )


def _at(path: Any) -> str:
    return f" at path {trees.keystr(path)}" if path else ""


def _how(x: Any, y: Any) -> str:
    if getattr(x, "shape", None) != getattr(y, "shape", None):
        return ", so the shapes do not match."
    return ", so the dtypes do not match."


def platform_dependent(*args: Any, default: Any = None, **per_platform: Any) -> Any:
    """`per_platform["cpu"](*args)` if it is given, else `default(*args)`."""
    function = per_platform.get("cpu", default)
    if function is None:
        raise NotImplementedError(
            f"translation rule not found: no branch for platform cpu among {tuple(per_platform)}, "
            "and no default."
        )
    return function(*args)


# ------------------------------------------------------------------------------------------- scan


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """(last carry, stacked outputs) of `carry, y = f(carry, x)` over the leading axis of `xs`.

    The carry keeps its structure, shapes and dtypes.  xs: a pytree of arrays (length, …), or None
    with `length` given.

    >>> from frit import lax; import frit.numpy as jnp
    >>> lax.scan(lambda c, x: (c + x, c + x), 0.0, jnp.array([1., 2., 3., 4.]))[1]
    Array([ 1.,  3.,  6., 10.], dtype=float32)
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    init_leaves, init_tree = trees.flatten(init)
    xs_leaves, xs_tree = trees.flatten(xs)
    length = _scan_length(xs, xs_leaves, length)
    unroll = _unroll(unroll, length)
    if config.disable_jit.value:
        return _python_scan(f, init, xs_leaves, xs_tree, length, reverse)
    tree = trees.structure((init, xs))
    slices = [typeof(x).without_axis(0) for x in xs_leaves]
    carry_types = [typeof(x) for x in init_leaves]
    entry, captured = _trace_body(f, tree, [*carry_types, *slices], "scan")
    out = _body_parts(entry, "scan body")
    _check_structure("scan body", f, init, init_tree, out[0])
    outs = entry.closed.out_avals
    promoted = _promote_weak(init_leaves, outs)
    if promoted is not None:
        init_leaves = promoted
        carry_types = [typeof(x) for x in init_leaves]
        entry, captured = _trace_body(f, tree, [*carry_types, *slices], "scan")
        outs = entry.closed.out_avals
    _check_carry("scan body", f, init, carry_types, outs[: len(carry_types)])
    results = scan_p(
        *captured,
        *init_leaves,
        *xs_leaves,
        jaxpr=entry.closed,
        length=length,
        num_consts=len(captured),
        num_carry=len(init_leaves),
        reverse=bool(reverse),
        unroll=unroll,
        linear=(False,) * (len(captured) + len(init_leaves) + len(xs_leaves)),
    )
    return entry.out_tree.unflatten(results)


def _unroll(unroll: Any, length: int) -> int:
    if isinstance(unroll, Tracer):
        raise errors.ConcretizationTypeError(
            unroll, "The `unroll` argument to `scan` expects a concrete `int` or `bool` value."
        )
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    unroll = operator.index(unroll)
    if unroll < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    return unroll


def _body_parts(entry: cache.Entry, who: str) -> tuple[Any, Any]:
    children = entry.out_tree.children()
    data = entry.out_tree.node_data()
    if data is None or data[0] not in (tuple, list) or len(children) != 2:
        shown = entry.out_tree.unflatten(entry.closed.out_avals)
        raise TypeError(f"{who} output must be a pair, got {shown}.")
    return children[0], children[1]


def _scan_length(xs: Any, leaves: Sequence[Any], length: Any) -> int:
    if isinstance(length, Tracer):
        raise errors.ConcretizationTypeError(
            length,
            "The `length` argument to `scan` expects a concrete `int` value. For scan-like "
            "iteration with a dynamic length, use `while_loop` or `fori_loop`.",
        )
    sizes = []
    for path, x in trees.flatten_with_path(xs)[0]:
        shape = getattr(typeof(x), "shape", None)
        if not shape:
            raise ValueError(
                "scan got value with no leading axis to scan over: "
                f"{x} at xs{trees.keystr(path)} of type {typeof(x).str_short()}."
            )
        sizes.append((path, shape[0]))
    if length is not None:
        length = operator.index(length)
        if length < 0:
            raise ValueError(f"scan got a negative length: {length}.")
        for path, n in sizes:
            if n != length:
                raise ValueError(
                    f"scan got `length` argument of {length} which disagrees with leading axis "
                    f"sizes {[n for _, n in sizes]} (xs{trees.keystr(path)} has {n})."
                )
        return length
    distinct = {n for _, n in sizes}
    if len(distinct) > 1:
        raise ValueError(
            "scan got values with different leading axis sizes: "
            + ", ".join(f"xs{trees.keystr(p)}: {n}" for p, n in sizes)
            + "."
        )
    if not distinct:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return distinct.pop()


def _promote_weak(inits: Sequence[Any], outs: Sequence[Any]) -> list[Any] | None:
    """The initial carry, with weakly typed values given the dtype that the body returns; or None."""
    changed = False
    result = []
    for x, out in zip(inits, outs, strict=False):
        aval = typeof(x)
        if getattr(aval, "weak_type", False) and not _same_type(aval, out):
            common, _ = dtypes.promote([(aval.dtype, True), (out.dtype, out.weak_type)])  # type: ignore[attr-defined]
            if common == out.dtype:
                x, changed = convert_element_type(x, common), True
        result.append(x)
    return result if changed else None


def _carry_name(function: Any) -> str:
    names = signatures.positional_names(signatures.signature_of(function))
    return f"the input carry {names[0]}" if names else "the input carry"


def _component(function: Any, path: Any) -> str:
    names = signatures.positional_names(signatures.signature_of(function))
    if not path:
        return _carry_name(function)
    if names:
        return f"the input carry component {names[0]}{trees.keystr(path)}"
    return f"the input carry at path {trees.keystr(path)}"


def _check_structure(who: str, f: Any, init: Any, in_tree: Any, out_tree: Any) -> None:
    if in_tree != out_tree:
        example = out_tree.unflatten([0] * out_tree.num_leaves)
        difference = trees.first_difference(init, example)
        name = _carry_name(f)
        raise TypeError(
            f"{who} function carry input and carry output must have the same pytree structure, but "
            f"they differ:\n\n{name[0].upper()}{name[1:]} has structure {in_tree} but the carry "
            f"output has structure {out_tree} ({difference}).\n\nRevise the function so that the "
            "carry output has the same pytree structure as the carry input."
        )


def _check_carry(who: str, f: Any, init: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
    wrong = [
        (p, a, b)
        for p, a, b in zip(trees.paths(init), ins, outs, strict=True)
        if not _same_type(a, b)
    ]
    if wrong:
        lines = [
            f"{_component(f, p)} has type {a.str_short()} but the corresponding output carry "
            f"component has type {b.str_short()}{_how(a, b)[:-1]}"
            for p, a, b in wrong
        ]
        text = (
            f"{lines[0][0].upper()}{lines[0][1:]}.\n"
            if len(lines) == 1
            else "".join(f"  * {line}.\n" for line in lines)
        )
        raise TypeError(
            f"{who} function carry input and carry output must have equal types, but they differ:"
            f"\n\n{text}\nRevise the function so that all output types match the corresponding "
            "input types."
        )


def _python_scan(f: Any, init: Any, leaves: Any, tree: Any, length: int, reverse: bool) -> Any:
    if length == 0:
        raise ValueError(
            "zero-length scan is not supported in disable_jit() mode because the output type is "
            "unknown."
        )
    carry, ys = init, []
    for i in reversed(range(length)) if reverse else range(length):
        row = tree.unflatten([dynamic_index_in_dim(x, i, keepdims=False) for x in leaves])
        carry, y = f(carry, row)
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, trees.map(lambda *rows: concatenate([expand_dims(r, (0,)) for r in rows], 0), *ys)


# ------------------------------------------------------------------------------------ while, fori


def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any) -> Any:
    """`init_val` after `body_fun` was applied for as long as `cond_fun` holds.

    The value keeps its structure, shapes and dtypes.  Not differentiable in reverse.
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if config.disable_jit.value:
        try:
            value = init_val
            while cond_fun(value):
                value = body_fun(value)
            return value
        except errors.ConcretizationTypeError:
            pass  # the predicate is traced: the loop must be, too
    leaves, in_tree = trees.flatten(init_val)
    tree = trees.structure((init_val,))
    types = [typeof(x) for x in leaves]
    entry, body_consts = _trace_body(body_fun, tree, types, "while_loop")
    _check_structure("while_loop body", body_fun, init_val, in_tree, entry.out_tree)
    promoted = _promote_weak(leaves, entry.closed.out_avals)
    if promoted is not None:
        leaves = promoted
        types = [typeof(x) for x in leaves]
        entry, body_consts = _trace_body(body_fun, tree, types, "while_loop")
    _check_carry("while_loop body", body_fun, init_val, types, entry.closed.out_avals)
    condition, cond_consts = _trace_body(cond_fun, tree, types, "while_cond")
    if condition.out_tree != trees.LEAF:
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got pytree {condition.out_tree}."
        )
    (pred,) = condition.closed.out_avals
    if not _same_type(pred, ShapedArray((), np.dtype(bool))):
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got output type(s) [{pred!r}]."
        )
    results = while_p(
        *cond_consts,
        *body_consts,
        *leaves,
        cond_nconsts=len(cond_consts),
        cond_jaxpr=condition.closed,
        body_nconsts=len(body_consts),
        body_jaxpr=entry.closed,
    )
    return entry.out_tree.unflatten(results)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any,
    *, unroll: int | bool | None = None,
) -> Any:  # fmt: skip
    """`init_val` after `val = body_fun(i, val)` for i from `lower` up to `upper`.

    With Python bounds it is a scan, and differentiable in reverse; with traced ones a while_loop.

    >>> from frit import lax
    >>> lax.fori_loop(0, 3, lambda i, total: total + i, 10.0)
    Array(13., dtype=float32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    for bound in (lower, upper):
        dtype = typeof(bound).dtype  # type: ignore[attr-defined]
        if not dtypes.is_integer(dtype):
            raise TypeError(
                "lower and upper arguments to fori_loop must have the same type, and be integers; "
                f"got {bound} of type {dtype}."
            )
    lower, upper = _common_bounds(lower, upper)
    static = not isinstance(lower, Tracer) and not isinstance(upper, Tracer)
    if unroll is not None and not static:
        raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are static.")
    dtype = typeof(lower).dtype  # type: ignore[attr-defined]
    if static and config.disable_jit.value:
        value = init_val
        for i in range(int(lower), int(upper)):
            value = body_fun(np.asarray(i, dtype)[()], value)
        return value
    if static:
        length = max(int(upper) - int(lower), 0)

        def step(carry: Any, _: Any) -> Any:
            i, value = carry
            return (add(i, 1), body_fun(i, value)), None

        step.__name__ = _name(body_fun)
        # Keyed by the user's function, so that the loop is traced once.
        body = _wrapped(body_fun, "fori_step", step)
        (_, result), _ = scan(
            body, (lower, init_val), None, length=length, unroll=1 if unroll is None else unroll
        )
        return result
    body = _wrapped(body_fun, "fori_while", lambda v: (add(v[0], 1), v[1], body_fun(v[0], v[2])))
    _, _, result = while_loop(_below, body, (lower, upper, init_val))
    return result


def _below(value: Any) -> Any:
    return lt(value[0], value[1])


def _wrapped(function: Any, kind: str, made: Any) -> Any:
    """`made`, or what was made earlier from the same function, so that traces are shared."""
    traces = cache.traces_of(function)
    key = cache.make_key(kind, (), None)
    found = traces.entries.get(key)
    if found is None:
        traces.add(
            cache.Entry(key, ClosedJaxpr.__new__(ClosedJaxpr), None, 0.0, extra={"made": made})
        )
        return made
    return found.extra["made"]


def _common_bounds(lower: Any, upper: Any) -> tuple[Any, Any]:
    a, b = typeof(lower), typeof(upper)
    if a.dtype == b.dtype:  # type: ignore[attr-defined]
        return lower, upper
    if a.weak_type and not b.weak_type:  # type: ignore[attr-defined]
        return convert_element_type(lower, b.dtype), upper  # type: ignore[attr-defined]
    if b.weak_type and not a.weak_type:  # type: ignore[attr-defined]
        return lower, convert_element_type(upper, a.dtype)  # type: ignore[attr-defined]
    raise TypeError(
        "lower and upper arguments to fori_loop must have equal types, got "
        f"{a.dtype} and {b.dtype}."  # type: ignore[attr-defined]
    )


# -------------------------------------------------------------------------------------------- map


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` of each slice of `xs` along its leading axis, one after the other.

    batch_size: slices are taken this many at a time, with vmap.
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    leaves, tree = trees.flatten(xs)
    total = _scan_length(xs, leaves, None)
    whole, rest = divmod(total, batch_size)
    mapped = vmap(f)
    if whole == 0:
        return mapped(xs)
    head = tree.unflatten(
        [
            reshape(slice_in_dim(x, 0, whole * batch_size), (whole, batch_size, *x.shape[1:]))
            for x in leaves
        ]
    )
    ys = scan(lambda _, x: ((), mapped(x)), (), head)[1]
    ys = trees.map(lambda y: reshape(y, (whole * batch_size, *y.shape[2:])), ys)
    if not rest:
        return ys
    tail = mapped(tree.unflatten([slice_in_dim(x, whole * batch_size, total) for x in leaves]))
    return trees.map(lambda a, b: concatenate([a, b], 0), ys, tail)


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All prefixes of `elems` along `axis`, combined by the associative `fn`, in log(n) steps.

    Source: Blelloch 1990, "Prefix sums and their applications": pairs are combined, scanned, and
    the elements between filled in.
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = trees.flatten(elems)
    if not leaves:
        return elems
    rank = typeof(leaves[0]).ndim  # type: ignore[attr-defined]
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    axis %= rank
    if reverse:
        leaves = [rev(x, (axis,)) for x in leaves]
    size = typeof(leaves[0]).shape[axis]  # type: ignore[attr-defined]
    for x in leaves[1:]:
        if typeof(x).shape[axis] != size:  # type: ignore[attr-defined]
            raise ValueError(
                "Array inputs to associative_scan must have the same first dimension. (saw: "
                f"{[typeof(x).shape for x in leaves]})"  # type: ignore[attr-defined]
            )

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        return trees.leaves(fn(tree.unflatten(a), tree.unflatten(b)))

    def take(x: Any, start: int, stop: int | None, step: int = 1) -> Any:
        return slice_in_dim(x, start, typeof(x).shape[axis] if stop is None else stop, step, axis)  # type: ignore[attr-defined]

    def prefixes(xs: list[Any]) -> list[Any]:
        n = typeof(xs[0]).shape[axis]  # type: ignore[attr-defined]
        if n < 2:
            return xs
        even_end = n - n % 2
        pairs = combine(
            [take(x, 0, even_end, 2) for x in xs], [take(x, 1, even_end, 2) for x in xs]
        )
        odd = prefixes(pairs)
        between = [take(x, 2, None, 2) for x in xs]
        usable = [take(y, 0, typeof(between[0]).shape[axis]) for y in odd]  # type: ignore[attr-defined]
        even = combine(usable, between)
        even = [concatenate([take(x, 0, 1), e], axis) for x, e in zip(xs, even, strict=True)]
        return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]

    results = prefixes(list(leaves))
    if reverse:
        results = [rev(x, (axis,)) for x in results]
    return tree.unflatten(results)


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], … along `axis`; even has as many entries as odd, or one more."""
    n, m = typeof(even).shape[axis], typeof(odd).shape[axis]  # type: ignore[attr-defined]
    rank = typeof(even).ndim  # type: ignore[attr-defined]
    more = [(0, n - m, 0) if i == axis else (0, 0, 0) for i in range(rank)]
    filler = np.zeros((), typeof(odd).dtype)[()]  # type: ignore[attr-defined]
    padded = pad(odd, filler, more) if n != m else odd
    both = concatenate([expand_dims(even, (axis + 1,)), expand_dims(padded, (axis + 1,))], axis + 1)
    shape = (*both.shape[:axis], 2 * n, *both.shape[axis + 2 :])
    return slice_in_dim(reshape(both, shape), 0, n + m, 1, axis)
