"""Loops over traced values: scan, while_loop, fori_loop, map.

What a loop's body returns as it got it does not travel around the loop: a carry that never changes
becomes a constant of the body, an output that is the slice itself is the stack it came from.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import config, errors, trees
from frit.api.checkpointing import checkpoint
from frit.api.mapping import vmap
from frit.ir import dtypes
from frit.ir.jaxpr import ClosedJaxpr, drop_unused_equations, run_closed
from frit.ir.primitive import Tracer
from frit.ir.types import ShapedArray, typeof
from frit.lax.bodies import check_carry, check_structure, forwarded, same_type, trace_body
from frit.lax.branching import cond
from frit.lax.conversion import convert_element_type
from frit.lax.elementwise import add, bitwise_and, bitwise_not, lt, sub
from frit.lax.indexing import dynamic_index_in_dim, slice_in_dim
from frit.lax.shapes import concatenate, expand_dims, reshape
from frit.primitives import taped_lowering  # noqa: F401 - how loops over tapes are computed
from frit.primitives.scans import scan as scan_p
from frit.primitives.tapes import require as require_p
from frit.primitives.while_loops import while_ as while_p
from frit.runtime import cache

__all__ = ["fori_loop", "map", "scan", "scan_p", "while_loop", "while_p"]


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
    entry, captured = trace_body(f, tree, [*carry_types, *slices], "scan")
    _check_pair(entry)
    out_types = entry.out_tree.unflatten(entry.closed.out_avals)
    check_structure("scan body", f, init_tree.unflatten(carry_types), out_types[0])
    outs = entry.closed.out_avals
    promoted = _promote_weak(init_leaves, outs)
    if promoted is not None:
        init_leaves = promoted
        carry_types = [typeof(x) for x in init_leaves]
        entry, captured = trace_body(f, tree, [*carry_types, *slices], "scan")
        outs = entry.closed.out_avals
    check_carry("scan body", f, init, carry_types, outs[: len(carry_types)])
    operands = [captured, init_leaves, xs_leaves]
    results = _bind_scan(entry, operands, length, bool(reverse), unroll)
    return entry.out_tree.unflatten(results)


def _bind_scan(
    entry: cache.Entry, operands: list[list[Any]], length: int, reverse: bool, unroll: int
) -> list[Any]:
    """The results of a scan, without what passes through its body unchanged."""
    (consts, carry, stacks), count = operands, len(entry.closed.out_avals)
    a, b = len(consts), len(consts) + len(carry)
    at = entry.extra.get("forwarded")
    if at is None:
        fixed = forwarded(entry.closed, range(len(carry)), range(a, b))
        fixed = {i: j for i, j in fixed.items() if j == a + i}
        slices = forwarded(entry.closed, range(len(carry), count), range(b, b + len(stacks)))
        body = _without_fixed(entry.closed, a, b, fixed, slices)
        at = entry.extra["forwarded"] = (fixed, slices, body)
    fixed, slices, body = at
    moving = [x for i, x in enumerate(carry) if i not in fixed]
    constants = [*consts, *[carry[i] for i in fixed]]
    values = [*constants, *moving, *stacks]
    found = iter(
        scan_p(
            *values,
            jaxpr=body,
            length=length,
            num_consts=len(constants),
            num_carry=len(moving),
            reverse=reverse,
            unroll=unroll,
            linear=(False,) * len(values),
        )
    )
    return [
        carry[i] if i in fixed else stacks[slices[i] - b] if i in slices else next(found)
        for i in range(count)
    ]


def _without_fixed(
    closed: ClosedJaxpr, a: int, b: int, fixed: dict[int, int], slices: dict[int, int]
) -> ClosedJaxpr:
    """A scan's body whose fixed carries are constants, without outputs that are slices."""
    if not fixed and not slices:
        return closed
    jaxpr = closed.jaxpr
    carry = list(enumerate(jaxpr.invars[a:b]))
    invars = [
        *jaxpr.invars[:a],
        *[v for i, v in carry if i in fixed],
        *[v for i, v in carry if i not in fixed],
        *jaxpr.invars[b:],
    ]
    outvars = [v for i, v in enumerate(jaxpr.outvars) if i not in fixed and i not in slices]
    return ClosedJaxpr(
        jaxpr.replace(invars=invars, outvars=outvars, debug_info=None), closed.consts
    )


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


def _check_pair(entry: cache.Entry) -> None:
    data = entry.out_tree.node_data()
    if data is None or data[0] not in (tuple, list) or len(entry.out_tree.children()) != 2:
        shown = trees.map(lambda t: t.str_short(), entry.out_tree.unflatten(entry.closed.out_avals))
        raise TypeError(
            f"scan body output must be a pair, got {shown}. Return (carry, output); an output of "
            "None stands for none."
        )


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
                f"{x}. xs{trees.keystr(path)} has type {typeof(x).str_short()}."
            )
        sizes.append((path, shape[0]))
    if length is not None:
        length = operator.index(length)
        if length < 0:
            raise ValueError(f"scan got a negative length: {length}.")
        for _, n in sizes:
            if n != length:
                raise ValueError(
                    f"scan got `length` argument of {length} which disagrees with leading axis "
                    f"sizes {[n for _, n in sizes]}."
                )
        return length
    distinct = {n for _, n in sizes}
    if len(distinct) > 1:
        raise ValueError(
            "scan got values with different leading axis sizes: "
            f"{', '.join(str(n) for _, n in sizes)}. These are of "
            f"{', '.join(f'xs{trees.keystr(p)}' for p, _ in sizes)}."
        )
    if not distinct:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return distinct.pop()


def _promote_weak(inits: Sequence[Any], outs: Sequence[Any]) -> list[Any] | None:
    """The initial carry, its weakly typed values in the dtype that the body returns; or None."""
    changed = False
    result = []
    for x, out in zip(inits, outs, strict=False):
        aval = typeof(x)
        if getattr(aval, "weak_type", False) and not same_type(aval, out):
            common, _ = dtypes.promote([(aval.dtype, True), (out.dtype, out.weak_type)])  # type: ignore[attr-defined]
            if common == out.dtype:
                x, changed = convert_element_type(x, common), True
        result.append(x)
    return result if changed else None


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


def while_loop(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any,
    *, max_steps: int | None = None,
) -> Any:  # fmt: skip
    """`init_val` after `body_fun` was applied for as long as `cond_fun` holds.

    The value keeps its structure, shapes and dtypes.  Differentiated in reverse, each step keeps
    what its derivative needs, in memory that grows with the number of steps.

    max_steps: makes the loop one of at most so many steps, which keeps about 2 √max_steps carries
    in reverse and computes the rest again.  JaxRuntimeError if the condition still holds then.

    >>> from frit import grad, lax
    >>> double = lambda x: lax.while_loop(lambda v: v < 100.0, lambda v: 2.0 * v, x)
    >>> grad(double)(3.0), grad(lambda x: lax.while_loop(lambda v: v < 100.0, lambda v: 2.0 * v, x,
    ...                                                  max_steps=50))(3.0)
    (Array(64., dtype=float32, weak_type=True), Array(64., dtype=float32, weak_type=True))
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if max_steps is not None:
        max_steps = _step_limit(max_steps)
    if config.disable_jit.value:
        try:
            value = init_val
            for done in itertools.count():
                if not cond_fun(value):
                    return value
                if done == max_steps:
                    raise errors.JaxRuntimeError(_too_many_steps(max_steps))
                value = body_fun(value)
        except errors.ConcretizationTypeError:
            pass  # the predicate is traced: the loop must be, too
    leaves, in_tree = trees.flatten(init_val)
    tree = trees.structure((init_val,))
    types = [typeof(x) for x in leaves]
    entry, body_consts = trace_body(body_fun, tree, types, "while_loop")
    out_types = entry.out_tree.unflatten(entry.closed.out_avals)
    check_structure("while_loop body", body_fun, in_tree.unflatten(types), out_types)
    promoted = _promote_weak(leaves, entry.closed.out_avals)
    if promoted is not None:
        leaves = promoted
        types = [typeof(x) for x in leaves]
        entry, body_consts = trace_body(body_fun, tree, types, "while_loop")
    check_carry("while_loop body", body_fun, init_val, types, entry.closed.out_avals)
    condition, cond_consts = trace_body(cond_fun, tree, types, "while_cond")
    if condition.out_tree != trees.LEAF:
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got pytree {condition.out_tree}."
        )
    (pred,) = condition.closed.out_avals
    if not same_type(pred, ShapedArray((), np.dtype(bool))):
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got output type(s) [{pred!r}]."
        )
    if max_steps is None:
        results = _bind_while(condition, cond_consts, entry, body_consts, leaves)
    else:
        results = _bounded_while(
            lambda carry: run_closed(condition.closed, *cond_consts, *carry)[0],
            lambda carry: run_closed(entry.closed, *body_consts, *carry),
            leaves,
            max_steps,
        )
    return entry.out_tree.unflatten(results)


def _step_limit(max_steps: Any) -> int:
    if isinstance(max_steps, Tracer):
        raise errors.ConcretizationTypeError(
            max_steps, "max_steps is a bound on what the backward pass keeps, a Python int."
        )
    limit = operator.index(max_steps)
    if not 0 <= limit < 1 << 31:
        raise ValueError(f"max_steps must be at least 0 and below 2**31, got {limit}.")
    return limit


def _too_many_steps(max_steps: int) -> str:
    return (
        f"The loop made max_steps={max_steps} steps, and its condition still holds. Its result is "
        "not known: give a larger max_steps, or none, or let the condition count the steps."
    )


def _bounded_while(
    asks: Callable[[Any], Any], step: Callable[[Any], Any], carry: list[Any], max_steps: int
) -> list[Any]:
    """A while as a scan over checkpointed scans, of about √max_steps steps each."""
    inner = max(1, math.isqrt(max(0, max_steps - 1)) + 1)

    def goes_on(state: Any) -> Any:
        going, left, _ = state
        return bitwise_and(going, lt(np.int32(0), left))

    def one(state: Any) -> Any:
        _, left, carry = state
        moved = step(carry)
        return asks(moved), sub(left, np.int32(1)), moved

    def within(state: Any, _: Any) -> Any:
        return cond(goes_on(state), one, lambda state: state, state), None

    @functools.partial(checkpoint, prevent_cse=False)
    def chunk(state: Any) -> Any:
        return scan(within, state, None, length=inner)[0]

    def over(state: Any, _: Any) -> Any:
        return cond(goes_on(state), chunk, lambda state: state, state), None

    state = (asks(carry), np.int32(max_steps), list(carry))
    (going, _, results), _ = scan(over, state, None, length=-(-max_steps // inner))
    return require_p(bitwise_not(going), *results, message=_too_many_steps(max_steps))


def _bind_while(
    condition: cache.Entry, cond_consts: list[Any], entry: cache.Entry, body_consts: list[Any],
    carry: list[Any],
) -> list[Any]:  # fmt: skip
    """The results of a while loop; a carry that never changes becomes a constant."""
    body, test = entry.closed, condition.closed
    a, c = len(body_consts), len(cond_consts)
    known = entry.extra.get("forwarded")
    if known is None or known[0] is not test:
        read = drop_unused_equations(test.jaxpr, [True])[1][c:]
        found = forwarded(body, range(len(carry)), range(a, a + len(carry)))
        fixed = [i for i, j in found.items() if j == a + i and not read[i]]
        known = entry.extra["forwarded"] = (
            test,
            fixed,
            *_without_fixed_carry(body, test, a, c, fixed),
        )
    _, fixed, body, test = known
    moving = [i for i in range(len(carry)) if i not in fixed]
    body_values = [*body_consts, *[carry[i] for i in fixed]]
    results = iter(
        while_p(
            *cond_consts,
            *body_values,
            *[carry[i] for i in moving],
            cond_nconsts=c,
            cond_jaxpr=test,
            body_nconsts=len(body_values),
            body_jaxpr=body,
        )
    )
    return [carry[i] if i in fixed else next(results) for i in range(len(carry))]


def _without_fixed_carry(
    body: ClosedJaxpr, test: ClosedJaxpr, a: int, c: int, fixed: list[int]
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Body and condition where fixed carries, which the condition does not read, are constants."""
    if not fixed:
        return body, test
    jaxpr = body.jaxpr
    carry = list(enumerate(jaxpr.invars[a:]))
    outvars = [v for i, v in enumerate(jaxpr.outvars) if i not in fixed]
    moving = [v for i, v in carry if i not in fixed]
    invars = [*jaxpr.invars[:a], *[v for i, v in carry if i in fixed], *moving]
    moved = jaxpr.replace(invars=invars, outvars=outvars, debug_info=None)
    tests = [v for i, v in enumerate(test.jaxpr.invars[c:]) if i not in fixed]
    asking = test.jaxpr.replace(invars=[*test.jaxpr.invars[:c], *tests], debug_info=None)
    return ClosedJaxpr(moved, body.consts), ClosedJaxpr(asking, test.consts)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any,
    *, unroll: int | bool | None = None, max_steps: int | None = None,
) -> Any:  # fmt: skip
    """`init_val` after `val = body_fun(i, val)` for i from `lower` up to `upper`.

    With Python bounds it is a scan; with traced ones, or with `max_steps`, a while_loop, which see.

    >>> from frit import lax
    >>> lax.fori_loop(0, 3, lambda i, total: total + i, 10.0)
    Array(13., dtype=float32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    lower, upper = _common_bounds(lower, upper)
    static = not isinstance(lower, Tracer) and not isinstance(upper, Tracer)
    if unroll is not None and not static:
        raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are static.")
    dtype = typeof(lower).dtype  # type: ignore[attr-defined]
    static = static and dtypes.is_integer(dtype) and max_steps is None
    if static and config.disable_jit.value:
        value = init_val
        for i in range(int(lower), int(upper)):
            value = body_fun(np.asarray(i, dtype)[()], value)
        return value
    if static:
        length = max(int(upper) - int(lower), 0)

        one = np.ones((), dtype)[()]

        def step(loop_carry: Any, _: Any) -> Any:
            i, value = loop_carry
            return (add(i, one), body_fun(i, value)), None

        body = cache.Adapted(body_fun, f"fori_step {dtype}", step)
        (_, result), _ = scan(
            body, (lower, init_val), None, length=length, unroll=1 if unroll is None else unroll
        )
        return result
    one = np.ones((), dtype)[()]

    def advance(loop_carry: Any) -> Any:
        i, end, value = loop_carry
        return add(i, one), end, body_fun(i, value)

    body = cache.Adapted(body_fun, f"fori_while {dtype}", advance)
    _, _, result = while_loop(_below, body, (lower, upper, init_val), max_steps=max_steps)
    return result


def _below(value: Any) -> Any:
    return lt(value[0], value[1])


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


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` of each slice of `xs` along its leading axis, one after the other.

    batch_size: slices are taken this many at a time, with vmap.
    """
    errors.check_function(f, "the function of lax.map")
    if batch_size is not None:
        batch_size = errors.as_integer(batch_size, "batch_size")
    if not batch_size:
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
