"""What loops share: flags that grow until a step leaves them, bodies with their parts in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from frit.ir.jaxpr import (
    ClosedJaxpr,
)


def fixed_point(
    step: Callable[[tuple[bool, ...]], tuple[bool, ...]], flags: tuple[bool, ...]
) -> Any:
    """The least flags at or above `flags` that `step` leaves as they are."""
    while True:
        grown = tuple(a or b for a, b in zip(flags, step(flags), strict=True))
        if grown == flags:
            return flags
        flags = grown


def reordered(
    closed: ClosedJaxpr, order_in: Sequence[int], order_out: Sequence[int]
) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(
        jaxpr.replace(
            invars=[jaxpr.invars[i] for i in order_in],
            outvars=[jaxpr.outvars[i] for i in order_out],
            debug_info=None,
        ),
        closed.consts,
    )
