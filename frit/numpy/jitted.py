"""Functions that are one equation of a jaxpr when traced, and run operation by operation when not.

@jitted(static_argnames="axis")
def sort(x, axis=-1): ...

traced:  b:f32[5] = jit[name=sort jaxpr={...}] a
eager:   sort runs at once; nothing is compiled for one small call
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from frit.api.jitting import jit
from frit.ir.primitive import under_trace


def jitted(
    fun: Callable[..., Any] | None = None, *, static_argnames: str | Sequence[str] = ()
) -> Callable[..., Any]:
    """`fun`, as a jit of its own name within traces."""
    if fun is None:
        return functools.partial(jitted, static_argnames=static_argnames)
    compiled = jit(fun, static_argnames=static_argnames)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (compiled if under_trace() else fun)(*args, **kwargs)

    return call
