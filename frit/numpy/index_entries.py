"""What an index asks for: one entry for each of its items.

`...` is expanded, and masks are replaced by the positions of their True:

    Entry = newaxis | slice | window (a Slice) | integer (known)
          | array (of integers, or one traced) | flag (a bool)
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit import errors
from frit.ir import dtypes
from frit.ir.dims import Dim
from frit.ir.primitive import Tracer
from frit.numpy.creation import array
from frit.numpy.operands import as_operand, is_array
from frit.numpy.slices import Slice


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of an index; `position` among the items, the first `axis` that it consumes."""

    kind: str
    value: Any
    axis: int
    position: int


def parse(index: Any, shape: tuple[Any, ...]) -> list[Entry]:
    """The entries of `index` into an array of `shape`.

    TypeError for strings, floats and lists; IndexError for too many items, a second `...`, or a
    mask of another shape; NonConcreteBooleanIndexError for a traced mask.
    """
    items = _as_items(index)
    kinds = [_kind_of(item) for item in items]
    if kinds.count("ellipsis") > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    consumed = [_axes_consumed(k, i) for k, i in zip(kinds, items, strict=True)]
    total = sum(consumed)
    if total > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {total} were indexed"
        )
    entries: list[Entry] = []
    axis = position = 0
    for number, (kind, item, width) in enumerate(zip(kinds, items, consumed, strict=True)):
        if kind == "ellipsis":
            width = len(shape) - total
            entries += [Entry("slice", slice(None), axis + i, position) for i in range(width)]
        elif kind == "mask":
            found = _mask_positions(item, shape[axis : axis + width], number)
            for i, where in enumerate(found):
                entries.append(Entry("array", where, axis + i, position + i))
            position += len(found) - 1
        else:
            value = bool(_concrete_flag(item)) if kind == "flag" else as_operand(item)
            entries.append(Entry(kind, value, axis, position))
        axis += width
        position += 1
    entries += [Entry("slice", slice(None), i, position) for i in range(axis, len(shape))]
    return entries


def _as_items(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, (list, range)):
        kind = "tuple" if any(_is_item_of_tuple(i) for i in index) else "array"
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[{kind}(seq)]` instead of `arr[seq]`. See "
            "https://github.com/jax-ml/jax/issues/4564 for more information."
        )
    return (index,)


def _is_item_of_tuple(item: Any) -> bool:
    if is_array(item) or isinstance(item, np.ndarray):
        return item.ndim > 0
    return item is None or item is Ellipsis or isinstance(item, (slice, list, tuple))


def _kind_of(item: Any) -> str:
    if item is None:
        return "newaxis"
    if item is Ellipsis:
        return "ellipsis"
    if isinstance(item, slice):
        _check_static_slice(item)
        return "slice"
    if isinstance(item, (bool, np.bool_)):
        return "flag"
    if isinstance(item, (int, np.integer)):
        return "integer"
    if isinstance(item, str):
        raise TypeError(f"JAX does not support string indexing; got idx={item!r}")
    if isinstance(item, (list, tuple)):
        item = np.asarray(item) if item else np.zeros(0, np.int32)
        if item.dtype == object:
            item = array(item.tolist())
    if isinstance(item, Dim):
        return "integer"
    if isinstance(item, Slice):
        return "window"
    if hasattr(item, "__jax_array__") and not is_array(item):
        item = item.__jax_array__()
    if is_array(item) or isinstance(item, np.ndarray):
        if dtypes.is_bool(item.dtype):
            return "mask" if item.ndim else "flag"
        if dtypes.is_integer(item.dtype):
            return "array"
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {item.dtype}"
        )
    if isinstance(item, (float, complex, np.generic)):
        raise TypeError(
            "Indexer must have integer or boolean type, got indexer with type "
            f"{np.dtype(type(item))}"
        )
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean "
        f"arrays are valid indices. Got {item}"
    )


def _check_static_slice(item: slice) -> None:
    for bound in (item.start, item.stop, item.step):
        if bound is None or isinstance(bound, Dim):
            continue
        if isinstance(bound, Tracer) and bound.concrete() is None:
            raise IndexError(
                "Array slice indices must have static start/stop/step to be used with NumPy "
                f"indexing syntax: Slice entries must be static integers. Got {item}. To index a "
                "statically sized array at a dynamic position, try lax.dynamic_slice/"
                "dynamic_update_slice (JAX does not support dynamically sized arrays within JIT "
                "compiled functions)."
            )
        try:
            operator.index(bound)
        except TypeError:
            raise IndexError(f"Slice entries must be static integers. Got {item}") from None


def _axes_consumed(kind: str, item: Any) -> int:
    if kind == "mask":
        return len(np.shape(item))
    return 0 if kind in ("newaxis", "ellipsis", "flag") else 1


def _concrete_flag(item: Any) -> Any:
    if isinstance(item, Tracer):
        value = item.concrete()
        if value is None:
            raise errors.NonConcreteBooleanIndexError(item)
        return value
    return item


def _mask_positions(mask: Any, shape: tuple[Any, ...], number: int) -> list[np.ndarray]:
    mask = np.asarray(_concrete_flag(mask))
    if not all(m in (0, s) for m, s in zip(mask.shape, shape, strict=True)):
        raise IndexError(
            f"boolean index did not match shape of indexed array in index {number}: got "
            f"{mask.shape}, expected {list(shape)}"
        )
    return [w.astype(np.int32) for w in np.nonzero(mask)]
