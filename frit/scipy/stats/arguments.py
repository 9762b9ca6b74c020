"""What the functions of every distribution do to their arguments.

A distribution of density f(y) with location and scale has density f((x - loc) / scale) / scale.
"""

from __future__ import annotations

from typing import Any

import frit.numpy as jnp
from frit.numpy.operands import as_array
from frit.numpy.promotion import promote_args_inexact


def arguments(name: str, *args: Any) -> list[Any]:
    """`args` as arrays of one floating type that broadcast together."""
    return [as_array(x) for x in promote_args_inexact(name, *args)]


def standardized(name: str, x: Any, loc: Any, scale: Any, *shapes: Any) -> list[Any]:
    """(x - loc) / scale, the scale, and the shape parameters, of one floating type."""
    x, loc, scale, *others = arguments(name, x, loc, scale, *shapes)
    return [(x - loc) / scale, scale, *others]


def within_unit(q: Any, value: Any) -> Any:
    """`value` where q is a probability, else nan."""
    return jnp.where((q >= 0) & (q <= 1), value, jnp.nan)
