"""Where gradients go: returned, added to a cell, or dropped.

f_vjp.with_refs(cell, GradValue(), DontWant())(ct)   ->   GradRef(), gradient, DidntWant()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from frit import trees
from frit.primitives.refs import AbstractRef
from frit.transforms.linear import add_tangents


@dataclass(frozen=True)
class DontWant:
    """Asks that the gradient of an argument be dropped."""


@dataclass(frozen=True)
class DidntWant:
    """Stands for a gradient that was not asked for."""


@dataclass(frozen=True)
class GradValue:
    """Asks that the gradient of an argument be returned."""


@dataclass(frozen=True)
class GradRef:
    """Stands for a gradient that was added to a cell."""


trees.register_node(GradRef, lambda _: ((), None), lambda *_: GradRef())
trees.register_node(DidntWant, lambda _: ((), None), lambda *_: DidntWant())

ad = SimpleNamespace(DontWant=DontWant, DidntWant=DidntWant, GradRef=GradRef, GradValue=GradValue)


def deliver(wanted: Sequence[Any], gradients: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients of the arguments, each as it is wanted.  TypeError for any other wish."""
    if len(wanted) != len(gradients):
        raise TypeError(
            f"with_refs takes one entry for each argument: {len(gradients)}, got {len(wanted)}."
        )
    return tuple(_deliver(w, g) for w, g in zip(wanted, gradients, strict=True))


def _deliver(wanted: Any, gradient: Any) -> Any:
    if isinstance(wanted, DontWant):
        return DidntWant()
    if wanted is None or isinstance(wanted, GradValue):
        return gradient
    for cell, value in zip(trees.leaves(wanted), trees.leaves(gradient), strict=True):
        if not isinstance(getattr(cell, "aval", None), AbstractRef):
            raise TypeError(
                "with_refs takes refs (jax.new_ref), GradValue() or DontWant() for each argument, "
                f"got {cell!r}."
            )
        cell[...] = add_tangents(cell[...], value)
    return GradRef()
