"""Batching rules, under the names of jax.interpreters.batching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit.ir.primitive import Primitive
from frit.transforms.batch import BatchInterpreter as BatchTrace
from frit.transforms.batch import BatchTracer
from frit.transforms.linear import axis_to_front, insert_axis, move_axis
from frit.transforms.rules import batch_pointwise

not_mapped = None
moveaxis = move_axis

__all__ = [
    "BatchTrace", "BatchTracer", "bdim_at_front", "broadcast", "defbroadcasting", "defvectorized",
    "moveaxis", "not_mapped", "primitive_batchers",
]  # fmt: skip


class _Batchers:
    """The batch rules of all primitives, written and read as a dict of `(values, dims) -> …`."""

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        primitive.batch = lambda axis, values, dims, **params: rule(values, dims, **params)

    def __getitem__(self, primitive: Primitive) -> Callable[..., Any]:
        return primitive.batch

    def __contains__(self, primitive: Primitive) -> bool:
        return bool(primitive.batch)


primitive_batchers = _Batchers()


def bdim_at_front(x: Any, dim: int | None, size: Any) -> Any:
    """`x` with its mapped axis in front."""
    return axis_to_front(x, dim, size)


def broadcast(x: Any, size: Any, axis: int, *_: Any) -> Any:
    """`x` repeated along a new axis."""
    return insert_axis(x, axis, size)


def defvectorized(primitive: Primitive) -> None:
    """Sets the rule of primitives of one operand that act on each element by itself."""
    primitive.batch = lambda axis, values, dims, **p: (primitive(*values, **p), dims[0])


def defbroadcasting(primitive: Primitive) -> None:
    """Sets the rule of primitives that act on each element by itself, with broadcasting."""
    primitive.batch = batch_pointwise(lambda: primitive)
