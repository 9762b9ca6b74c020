"""Python's control flow in programs: what of it is always loaded.

The conversion itself (`conversion.py`, `frit.syntax`) is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import Any


def convert(function: Any) -> Any:
    """`function`, whose `if`, `while`, `for`, `and`, `or`, `not` and `assert` may be traced.

    On traced values they become `lax.cond`, `lax.while_loop` and `lax.scan`; on all other values
    they are Python's.  `break`, `continue` and early `return` may stand anywhere.  A variable that
    a traced block assigns has one type whichever way control goes.  The result shares globals,
    closures, defaults and attributes with `function`, its `__wrapped__`; user functions that it
    calls are converted too.  ControlFlowConversionError says what cannot be converted, where, and
    what to write instead.

    >>> import frit as jax
    >>> def halve(x):
    ...     while x > 1:
    ...         x = x / 2
    ...     return x
    >>> float(jax.jit(jax.convert(halve))(12.0))
    0.75
    """
    from frit.api import conversion

    return conversion.convert(function)


def check_control_flow(value: str | None) -> None:
    """ValueError unless `value` is what jit's `control_flow` may be."""
    if value not in (None, "convert"):
        raise ValueError(
            f"control_flow must be None (Python's control flow needs known values) or 'convert' "
            f"(on traced values it becomes cond, while_loop and scan); got {value!r}."
        )
