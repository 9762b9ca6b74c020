"""composite, dce_sink, with_sharding_constraint: what is said about values, not computed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from frit import trees
from frit.api import signatures
from frit.errors import UnexpectedTracerError
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import Tracer
from frit.ir.types import typeof
from frit.primitives import marks
from frit.runtime.array import Array
from frit.sharding import Sharding
from frit.transforms.trace import all_constants_as_operands, trace_to_jaxpr

__all__ = [
    "composite", "dce_sink", "dce_sink_p", "sharding_constraint_p", "with_sharding_constraint",
]  # fmt: skip

dce_sink_p = marks.dce_sink
sharding_constraint_p = marks.sharding_constraint


class HashableArray:
    """An array among the attributes of a composite, told by its numbers."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = np.asarray(value)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, HashableArray) and np.array_equal(self.value, other.value)

    def __hash__(self) -> int:
        return hash((self.value.shape, self.value.dtype, self.value.tobytes()))

    def __repr__(self) -> str:
        return f"HashableArray({self.value!r})"


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """`decomposition` as one named operation, whose meaning is what `decomposition` computes.

    Positional arguments are operands, keyword arguments are attributes: known when traced.

    >>> from frit import lax
    >>> square = lax.composite(lambda x: x * x, name="my.square")
    >>> square(3.0)
    Array(9., dtype=float32, weak_type=True)
    """

    @functools.wraps(decomposition)
    def operation(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(v, Tracer) for v in kwargs.values()):
            raise UnexpectedTracerError(
                "Found a JAX Tracer as an attribute in the decomposition for the composite op "
                f"'{name}'. Attributes are known when the function is traced: pass values that are "
                "traced as positional arguments.\n\nNote: If you are passing jax arrays as "
                "attributes, use numpy arrays instead."
            )
        leaves, tree = trees.flatten((args, {}))
        out: list[Any] = []
        flat = signatures.flat_function(functools.partial(decomposition, **kwargs), tree, out)
        jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves])
        _check_captured(consts, name)
        closed, captured = all_constants_as_operands(jaxpr, consts)
        results = marks.composite(
            *captured,
            *leaves,
            name=name,
            attributes=tuple(_attribute(k, v) for k, v in kwargs.items()),
            version=version,
            jaxpr=ClosedJaxpr(closed.jaxpr),
        )
        return out[0].unflatten(results)

    return operation


def _check_captured(consts: Any, name: str) -> None:
    for value in consts:
        if isinstance(value, Tracer):
            raise UnexpectedTracerError(
                "Found a JAX Tracer as a constant in the decomposition for the composite op "
                f"'{name}'. This means that the decomposition function closes over a value that is "
                "involved in a JAX transformation. Any values that aren't explicitly known at "
                "compile time must be explicitly passed as arguments to the composite."
            )


def _attribute(name: str, value: Any) -> tuple[str, tuple[Any, ...], Any]:
    leaves, tree = trees.flatten(value)
    for leaf in leaves:
        if type(leaf) is Array:
            raise TypeError(
                f"composite attribute {name} holds a JAX array; use a NumPy array: attributes are "
                "part of the program."
            )
    kept = (HashableArray(v) if isinstance(v, np.ndarray) else v for v in leaves)
    return name, tuple(kept), tree


def dce_sink(x: Any) -> None:
    """Keeps a pytree of arrays from being dropped as unused, and does nothing else with it."""
    marks.dce_sink(*trees.leaves(x))


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """`x`, a pytree of arrays, with the placement `shardings`: with one device, as it is."""
    for sharding in trees.leaves(shardings):
        if not (sharding is None or isinstance(sharding, (Sharding, tuple))):
            raise TypeError(
                "with_sharding_constraint takes a Sharding, a PartitionSpec, or a tree of them, "
                f"got {sharding!r}."
            )
    return trees.map(
        lambda leaf: marks.sharding_constraint(
            leaf, sharding=shardings if isinstance(shardings, Sharding) else None
        ),
        x,
    )
