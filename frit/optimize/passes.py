"""The optimizer: one tuple of passes from a program to a flat, smaller jaxpr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from frit import config
from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, subjaxprs
from frit.optimize.algebra import simplify
from frit.optimize.cleanup import drop_dead, expand, fold_constants, merge_equal
from frit.optimize.fingerprint import Constants
from frit.optimize.inline import Lowered, inline_calls
from frit.optimize.rewrite import Rule, Simplifier
from frit.primitives.refs import discharge

Expansion = Callable[[JaxprEqn], Callable[..., Any] | None]


@dataclass
class Rewrites:
    """What the optimizer did.

    passes: (name, equations before, equations after), in order, those of loop bodies included.
    rules: how often each rule of algebra and each simplifier was applied.
    """

    passes: list[tuple[str, int, int]] = field(default_factory=list)
    rules: Counter[Rule | Simplifier] = field(default_factory=Counter)


def optimize(
    closed: ClosedJaxpr,
    constants: Constants,
    is_lowered: Lowered,
    expansion_of: Expansion,
    rewrites: Rewrites | None = None,
) -> Jaxpr:
    """The flat jaxpr of a program; its leading inputs are `constants`.

    is_lowered: whether an equation needs no decomposition. expansion_of: what a target computes
    an equation by, as a function, or None. rewrites: is filled, if given.
    """
    applied = None if rewrites is None else rewrites.rules
    fast_math = config.fast_math.value
    passes: tuple[tuple[str, Callable[[Jaxpr], Jaxpr]], ...] = (
        ("drop dead equations", drop_dead),
        ("fold constants", fold_constants),
        ("algebra", lambda jaxpr: simplify(jaxpr, fast_math=fast_math, applied=applied)),
        ("fold constants", fold_constants),
        ("merge equal equations", merge_equal),
        ("drop dead equations", drop_dead),
        ("library calls", lambda jaxpr: expand(jaxpr, expansion_of)),
        ("merge equal equations", merge_equal),
        ("drop dead equations", drop_dead),
    )
    jaxpr = inline_calls(discharge(closed), constants, is_lowered)
    if rewrites is not None:
        rewrites.passes.append(
            ("inline calls", count_equations(closed.jaxpr), count_equations(jaxpr))
        )
    for name, run in passes:
        result = run(jaxpr)
        if rewrites is not None:
            rewrites.passes.append((name, count_equations(jaxpr), count_equations(result)))
        jaxpr = result
    return jaxpr


def count_equations(jaxpr: Jaxpr) -> int:
    """The number of equations of a jaxpr and of the jaxprs in their parameters."""
    return len(jaxpr.eqns) + sum(map(count_equations, subjaxprs(jaxpr)))
