"""Mutable cells, under the names of jax.ref: `r = new_ref(x)`, `r[...]`, `r[...] = y`.

They work eagerly and inside jit; loops, branches, vmap and grad refuse those made outside of them.
"""

from __future__ import annotations

from typing import Any

from frit.ir import types
from frit.ir.primitive import Tracer
from frit.ir.types import typeof
from frit.primitives.refs import AbstractRef, read_ref, write_ref
from frit.primitives.refs import new_ref as new_ref_p
from frit.runtime.array import Array, array_of
from frit.transforms.trace import is_tracing

__all__ = ["AbstractRef", "Ref", "freeze", "get", "new_ref", "set", "swap"]


class Ref:
    """A cell that holds an array; made by `new_ref`."""

    __slots__ = ("value",)

    def __init__(self, value: Array) -> None:
        self.value = value

    def __getitem__(self, index: Any) -> Any:
        return get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        swap(self, index, value)

    @property
    def aval(self) -> AbstractRef:
        return AbstractRef(self.value.aval)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def __repr__(self) -> str:
        return f"Ref({self.value})"


types.register_value_type(Ref, lambda ref: ref.aval)


def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> Any:
    """A cell that holds `init_val`."""
    if is_tracing() or isinstance(init_val, Tracer):
        return new_ref_p(init_val, kind=kind, memory_space=memory_space)
    return Ref(array_of(init_val))


def _is_whole(index: Any) -> bool:
    return index is Ellipsis or index == () or index == (Ellipsis,)


def _held(ref: Any) -> Any:
    if isinstance(ref, Ref):
        if is_tracing():
            raise NotImplementedError(
                "a ref made outside of the traced function is used inside it: a compiled program "
                "could not see it change. Pass its value as an argument and return the new value."
            )
        return ref.value
    if not isinstance(typeof(ref), AbstractRef):
        raise TypeError(f"a ref is expected, made by new_ref; got {typeof(ref)}")
    return read_ref(ref)


def get(ref: Any, idx: Any = ...) -> Any:
    """What the cell holds, or its part at `idx`."""
    held = _held(ref)
    return held if _is_whole(idx) else held[idx]


def swap(ref: Any, idx: Any, value: Any) -> Any:
    """What the cell held at `idx`, which now holds `value`.  Shapes must broadcast."""
    if isinstance(ref, Tracer) and _is_whole(idx):
        inner = typeof(ref).inner_aval  # type: ignore[attr-defined]
        if typeof(value).strip_weak_type() == inner:
            return write_ref(ref, value)
    held = _held(ref)
    changed = held.at[idx].set(value)
    if isinstance(ref, Ref):
        ref.value = changed
    else:
        write_ref(ref, changed)
    return held if _is_whole(idx) else held[idx]


def set(ref: Any, idx: Any, value: Any) -> None:
    """Makes the cell hold `value` at `idx`."""
    swap(ref, idx, value)


def freeze(ref: Any) -> Any:
    """What the cell holds at the end of its life."""
    return _held(ref)
