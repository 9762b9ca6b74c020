"""Functions of single matrices over batches of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from frit import lax
from frit.api.jitting import jit
from frit.ir.primitive import under_trace
from frit.numpy.promotion import broadcast_to
from frit.numpy.shapes import moveaxis

LARGE_BATCH = 32  # matrices; from here on a compiled loop is worth its compilation


def _is_large(x: Any) -> bool:
    shape = getattr(x, "shape", ())
    return len(shape) > 2 and math.prod(shape[:-2]) >= LARGE_BATCH


def jitted(
    fun: Callable[..., Any] | None = None, *, static_argnames: str | Sequence[str] = ()
) -> Callable[..., Any]:
    """`fun` as a jit of its own name within traces, and compiled for large batches outside of them.

    Results are the same to the bit; eager decompositions go through a batch in Python.
    """
    if fun is None:
        return functools.partial(jitted, static_argnames=static_argnames)
    compiled = jit(fun, static_argnames=static_argnames)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (compiled if under_trace() or any(map(_is_large, args)) else fun)(*args, **kwargs)

    return call


def solve_over_batches(solve_one: Any, matrices: Any, ranks: Any, b: Any) -> Any:
    """`solve_one(*matrices, b)` of operands whose batches broadcast.

    matrices: of `ranks` each; b: (…, n, k).  One matrix for many b: those are further columns.
    """
    batches = [m.shape[: m.ndim - rank] for m, rank in zip(matrices, ranks, strict=True)]
    if not any(batches) and b.ndim > 2:
        together = moveaxis(b, -2, 0)
        x = solve_one(*matrices, together.reshape(b.shape[-2], -1))
        return moveaxis(x.reshape(together.shape), 0, -2)
    batch = lax.broadcast_shapes(*batches, b.shape[:-2])
    stacked = [
        broadcast_to(m, (*batch, *m.shape[m.ndim - rank :]))
        for m, rank in zip(matrices, ranks, strict=True)
    ]
    return solve_one(*stacked, broadcast_to(b, (*batch, *b.shape[-2:])))
