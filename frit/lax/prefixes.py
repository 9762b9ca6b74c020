"""associative_scan: all prefixes under an associative function, in log(n) steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frit import trees
from frit.ir.types import typeof
from frit.lax.indexing import slice_in_dim
from frit.lax.shapes import concatenate, expand_dims, pad, reshape, rev

__all__ = ["associative_scan"]


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All prefixes of `elems` along `axis`, combined by the associative `fn`, in log(n) steps.

    Source: Blelloch 1990, "Prefix sums and their applications": pairs are combined, scanned, and
    the elements between filled in.
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = trees.flatten(elems)
    if not leaves:
        return elems
    rank = typeof(leaves[0]).ndim  # type: ignore[attr-defined]
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    axis %= rank
    if reverse:
        leaves = [rev(x, (axis,)) for x in leaves]
    size = typeof(leaves[0]).shape[axis]  # type: ignore[attr-defined]
    for x in leaves[1:]:
        if typeof(x).shape[axis] != size:  # type: ignore[attr-defined]
            raise ValueError(
                "Array inputs to associative_scan must have the same first dimension. (saw: "
                f"{[typeof(x).shape for x in leaves]})"  # type: ignore[attr-defined]
            )

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        return trees.leaves(fn(tree.unflatten(a), tree.unflatten(b)))

    def take(x: Any, start: int, stop: int | None, step: int = 1) -> Any:
        return slice_in_dim(x, start, typeof(x).shape[axis] if stop is None else stop, step, axis)  # type: ignore[attr-defined]

    def prefixes(xs: list[Any]) -> list[Any]:
        n = typeof(xs[0]).shape[axis]  # type: ignore[attr-defined]
        if n < 2:
            return xs
        even_end = n - n % 2
        pairs = combine(
            [take(x, 0, even_end, 2) for x in xs], [take(x, 1, even_end, 2) for x in xs]
        )
        odd = prefixes(pairs)
        between = [take(x, 2, None, 2) for x in xs]
        usable = [take(y, 0, typeof(between[0]).shape[axis]) for y in odd]  # type: ignore[attr-defined]
        even = combine(usable, between)
        even = [concatenate([take(x, 0, 1), e], axis) for x, e in zip(xs, even, strict=True)]
        return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]

    results = prefixes(list(leaves))
    if reverse:
        results = [rev(x, (axis,)) for x in results]
    return tree.unflatten(results)


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], … along `axis`; even has as many entries as odd, or one more."""
    n, m = typeof(even).shape[axis], typeof(odd).shape[axis]  # type: ignore[attr-defined]
    rank = typeof(even).ndim  # type: ignore[attr-defined]
    more = [(0, n - m, 0) if i == axis else (0, 0, 0) for i in range(rank)]
    filler = np.zeros((), typeof(odd).dtype)[()]  # type: ignore[attr-defined]
    padded = pad(odd, filler, more) if n != m else odd
    both = concatenate([expand_dims(even, (axis + 1,)), expand_dims(padded, (axis + 1,))], axis + 1)
    shape = (*both.shape[:axis], 2 * n, *both.shape[axis + 2 :])
    return slice_in_dim(reshape(both, shape), 0, n + m, 1, axis)
