"""The optimizer: one function from a program to a flat, smaller jaxpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit import config
from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from frit.optimize.algebra import simplify
from frit.optimize.cleanup import drop_dead, expand, fold_constants, merge_equal
from frit.optimize.fingerprint import Constants
from frit.optimize.inline import Lowered, inline_calls
from frit.primitives.refs import discharge

Expansion = Callable[[JaxprEqn], Callable[..., Any] | None]


def optimize(
    closed: ClosedJaxpr, constants: Constants, is_lowered: Lowered, expansion_of: Expansion
) -> Jaxpr:
    """The flat jaxpr of a program; its leading inputs are `constants`.

    is_lowered: whether an equation needs no decomposition. expansion_of: what a target computes
    an equation by, as a function, or None.
    """
    jaxpr = inline_calls(discharge(closed), constants, is_lowered)
    jaxpr = simplify(fold_constants(drop_dead(jaxpr)), fast_math=config.fast_math.value)
    jaxpr = drop_dead(merge_equal(fold_constants(jaxpr)))
    return drop_dead(merge_equal(expand(jaxpr, expansion_of)))
