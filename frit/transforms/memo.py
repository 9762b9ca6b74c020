"""Memory of what transforms made of a jaxpr: 24 equal blocks are differentiated once.

Keyed weakly by the jaxpr's identity, and by the flags, the mapped axes and the settings in force.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from frit import config
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import axis_sizes

_PER_JAXPR = 64


def memoize_by_jaxpr(function: Callable[..., Any]) -> Callable[..., Any]:
    """Remembers results of `function(closed_jaxpr, *hashable)` for as long as the jaxpr lives."""
    memory: weakref.WeakKeyDictionary[ClosedJaxpr, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def remembered(closed: ClosedJaxpr, *flags: Any) -> Any:
        key = (flags, tuple(axis_sizes().items()), config.trace_settings())
        try:
            results = memory.setdefault(closed, {})
            if key in results:
                return results[key]
        except TypeError:  # a flag without hash: nothing is shared
            return function(closed, *flags)
        result = function(closed, *flags)
        if len(results) >= _PER_JAXPR:
            results.clear()
        results[key] = result
        return result

    return remembered
