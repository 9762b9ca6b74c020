"""What the special functions do to their arguments, and how they state their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frit.ir import dtypes
from frit.numpy.operands import as_array, dtype_of
from frit.numpy.promotion import promote_args_inexact


def real_arguments(name: str, *args: Any) -> list[Any]:
    """`args` as arrays of one floating type.  ValueError where they are complex."""
    found = [as_array(x) for x in promote_args_inexact(name, *args)]
    if dtypes.is_complex(dtype_of(found[0])):
        raise ValueError(
            f"{name} does not support complex-valued inputs. Pass x.real, or a real array."
        )
    return found


def single_or_double(x: Any) -> Any:
    """x as an array of float32 or float64.  TypeError for other types."""
    x = as_array(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"x.dtype={x.dtype} is not supported, see docstring for supported types: convert with "
            "x.astype(float)."
        )
    return x


def set_slopes(function: Any, *slopes: Callable[..., Any]) -> None:
    """Gives a custom_jvp function its derivatives `(result, *operands) -> slope`, one an operand.

    The operands of a rule may be Python numbers; slopes see arrays.
    """

    def rule_of(slope: Callable[..., Any]) -> Callable[..., Any]:
        return lambda t, result, *operands: t * slope(result, *map(as_array, operands))

    function.defjvps(*map(rule_of, slopes))
