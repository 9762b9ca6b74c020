"""check_index: IndexError while the program runs, where an index is out of bounds.

    check_index(indices; dimension, size, low, high, place)      low <= each index <= high

It has no results.  It is there only under bounds="raise", and runs in Python: for finding errors,
not for speed.  Lanes of a vmapped branch or loop that do not take part still compute, so there the
checks are left out, with a warning (`without_checks`).
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import errors
from frit.errors import SourceInfo
from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from frit.ir.primitive import Effect, Primitive


class IndexEffect(Effect):
    """The program may end with an IndexError."""


_may_fail = frozenset((IndexEffect(),))


def out_of_bounds(index: Any, axis: int, size: Any, window: int, place: SourceInfo) -> IndexError:
    """What is raised for an index (the start of a window of several elements, if window > 1)."""
    line = linecache.getline(place.file, place.line).strip()
    what = f"index {index}" if window == 1 else f"a window of {window} that begins at {index}"
    return IndexError(
        f"{what} is out of bounds for axis {axis} with size {size}, at {place}."
        + (f"\n    {line}" if line else "")
        + '\nWithout bounds="raise" a read is moved inside and a write is dropped. Give a mode to '
        'say so: x.at[i].get(mode="clip"), x.at[i].set(v, mode="drop").'
    )


def _evaluate(
    indices: Any, *, dimension: int, size: int, low: int, high: int, place: Any
) -> list[Any]:
    found = first_outside(indices, low, high)
    if found is not None:
        raise out_of_bounds(found, dimension, size, size - high, place)
    return []


def first_outside(indices: Any, low: int, high: int) -> int | None:
    """The first index that is not within low … high."""
    flat = np.asarray(indices).reshape(-1)
    outside = (flat < low) | (flat > high)
    return int(flat[outside][0]) if outside.any() else None


def _batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> Any:
    check_index(*operands, **params)
    return [], []


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    check_index(*primals, **params)
    return [], []


check_index = Primitive(
    "check_index",
    multiple_results=True,
    result_types=lambda *types, **_: [],
    effects=lambda *types, **_: _may_fail,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=lambda cts, *operands, **_: [None] * len(operands),
    batch=_batch,
)


def without_checks(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same jaxpr without checks, which is warned of if it had some."""
    if not any(isinstance(effect, IndexEffect) for effect in closed.effects):
        return closed
    warnings.warn(
        'bounds="raise": the indices in a branch or loop whose predicate vmap maps over are not '
        "checked, since lanes that do not take part compute them too. Call the function without "
        "vmap to check them.",
        stacklevel=errors.user_stack_level(),
    )
    return ClosedJaxpr(_stripped(closed.jaxpr), closed.consts)


def _stripped(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.replace(
        eqns=[_stripped_equation(e) for e in jaxpr.eqns if e.primitive is not check_index]
    )


def _stripped_equation(eqn: JaxprEqn) -> JaxprEqn:
    kept = frozenset(e for e in eqn.effects if not isinstance(e, IndexEffect))
    if len(kept) == len(eqn.effects):
        return eqn
    params = {key: _stripped_value(value) for key, value in eqn.params.items()}
    return eqn.replace(params=params, effects=kept)


def _stripped_value(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return ClosedJaxpr(_stripped(value.jaxpr), value.consts)
    if isinstance(value, (tuple, list)) and any(isinstance(v, ClosedJaxpr) for v in value):
        items: Sequence[Any] = [_stripped_value(v) for v in value]
        return type(value)(items)
    return value
