"""The optimizer: one function from a program to a flat, smaller jaxpr."""

from __future__ import annotations

from frit.ir.jaxpr import ClosedJaxpr, Jaxpr
from frit.optimize.cleanup import drop_dead, fold_constants, merge_equal
from frit.optimize.fingerprint import Constants
from frit.optimize.inline import Lowered, inline_calls


def optimize(closed: ClosedJaxpr, constants: Constants, is_lowered: Lowered) -> Jaxpr:
    """The flat jaxpr of a program; its leading inputs are `constants`."""
    jaxpr = inline_calls(closed, constants, is_lowered)
    return drop_dead(merge_equal(fold_constants(drop_dead(jaxpr))))
