"""Collectives over mapped axes: psum, pmean, pmax, pmin, all_gather, ppermute, axis_index …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import trees
from frit.ir.primitive import axis_size as size_of_axis
from frit.ir.types import typeof
from frit.lax.conversion import convert_element_type
from frit.lax.elementwise import add, div, mul
from frit.lax.indexing import index_in_dim
from frit.lax.operands import as_axis
from frit.primitives import collectives
from frit.primitives.collectives import names_of, total_size

all_gather_p = collectives.all_gather
all_to_all_p = collectives.all_to_all
axis_index_p = collectives.axis_index
pmax_p = collectives.pmax
pmin_p = collectives.pmin
ppermute_p = collectives.ppermute
psum_p = collectives.psum
reduce_scatter_p = collectives.reduce_scatter

__all__ = [
    "all_gather", "all_gather_p", "all_to_all", "all_to_all_p", "axis_index", "axis_index_p",
    "axis_size", "pbroadcast", "pcast", "pmax", "pmax_p", "pmean", "pmin", "pmin_p", "ppermute",
    "ppermute_p", "pshuffle", "psum", "psum_p", "psum_scatter", "pswapaxes", "reduce_scatter_p",
]  # fmt: skip


def _reduced(primitive: Any, x: Any, axis_name: Any, groups: Any) -> Any:
    names = names_of(axis_name)
    leaves, tree = trees.flatten(x)
    for n in names:
        if not isinstance(n, int):
            size_of_axis(n)
    if positions := [n for n in names if isinstance(n, int)]:
        ranks = {len(typeof(leaf).shape) for leaf in leaves}  # type: ignore[attr-defined]
        if len(ranks) > 1 and any(n < 0 for n in positions):
            raise ValueError(f"axes {positions} count from the end, and operands differ in rank.")
        for rank in ranks:
            names = tuple(as_axis(n, rank) if isinstance(n, int) else n for n in names)
        if len(set(names)) != len(names):
            raise ValueError(f"an axis is named twice in {axis_name!r}.")
    results = primitive(*leaves, axes=names, axis_index_groups=_groups(groups)) if leaves else []
    return tree.unflatten(results)


def _groups(groups: Any) -> Any:
    return None if groups is None else tuple(map(tuple, groups))


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum of each leaf of `x` over the mapped axis (or axes) `axis_name`."""
    leaves, tree = trees.flatten(x)
    if (
        axis_index_groups is None
        and leaves
        and all(isinstance(leaf, (int, float, complex)) for leaf in leaves)
    ):
        # A constant is the same for all elements: known while tracing.
        size = total_size(axis_name)
        return tree.unflatten([leaf * size for leaf in leaves])
    leaves = [
        convert_element_type(v, np.int32) if typeof(v).dtype == np.bool_ else v  # type: ignore[attr-defined]
        for v in leaves
    ]
    return _reduced(collectives.psum, tree.unflatten(leaves), axis_name, axis_index_groups)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean of each leaf of `x` over the mapped axis `axis_name`."""
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return trees.map(lambda v: div(v, np.asarray(size).astype(typeof(v).dtype)[()]), total)  # type: ignore[attr-defined]


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The maximum of each leaf of `x` over the mapped axis `axis_name`."""
    return _reduced(collectives.pmax, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The minimum of each leaf of `x` over the mapped axis `axis_name`."""
    return _reduced(collectives.pmin, x, axis_name, axis_index_groups)


def axis_size(axis_name: Any) -> int:
    """The size of a mapped axis (the product, for several)."""
    return total_size(axis_name)


def axis_index(axis_name: Any) -> Any:
    """The position along the mapped axis (row-major over several), int32."""
    names = names_of(axis_name)
    index: Any = None
    for n in names:
        i = collectives.axis_index(axis_name=n)
        index = i if index is None else add(mul(index, np.int32(size_of_axis(n))), i)
    return index


def all_gather(
    x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False,
    **_: Any,
) -> Any:  # fmt: skip
    """`x` of all elements of the mapped axis, stacked along a new `axis`, or joined if tiled."""

    def gather(leaf: Any) -> Any:
        rank = len(typeof(leaf).shape) + (not tiled)  # type: ignore[attr-defined]
        return collectives.all_gather(
            leaf, all_gather_dimension=axis % rank, axis_name=axis_name,
            axis_size=total_size(axis_name), tiled=tiled, axis_index_groups=axis_index_groups,
        )  # fmt: skip

    return trees.map(gather, x)


def psum_scatter(
    x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:  # fmt: skip
    """The sum over the mapped axis; each element keeps its part along `scatter_dimension`."""
    return trees.map(
        lambda leaf: collectives.reduce_scatter(
            leaf, scatter_dimension=scatter_dimension, axis_name=axis_name,
            axis_size=total_size(axis_name), tiled=tiled, axis_index_groups=axis_index_groups,
        ),
        x,
    )  # fmt: skip


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Each `x` sent along `perm`, pairs of (source, destination); zeros where none comes."""
    size = total_size(axis_name)
    pairs = tuple((int(s) % size, int(t) % size) for s, t in perm)
    sources, targets = {s for s, _ in pairs}, {t for _, t in pairs}
    if len(sources) != len(pairs) or len(targets) != len(pairs):
        raise ValueError(f"ppermute sources and destinations must be unique, got {tuple(perm)}.")
    return trees.map(lambda v: collectives.ppermute(v, axis_name=axis_name, perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Element i gets the `x` of element perm[i]."""
    size = total_size(axis_name)
    if set(perm) != set(range(size)):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, [(s, t) for t, s in enumerate(perm)])


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """The mapped axis and array axis `axis`, exchanged."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def all_to_all(
    x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:  # fmt: skip
    """Slices along `split_axis` sent along the mapped axis, and joined along `concat_axis`."""
    return trees.map(
        lambda v: collectives.all_to_all(
            v, split_axis=split_axis, concat_axis=concat_axis, axis_name=axis_name, tiled=tiled,
            axis_index_groups=axis_index_groups,
        ),
        x,
    )  # fmt: skip


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The `x` of element `source`, for all."""
    return trees.map(lambda v: index_in_dim(all_gather(v, axis_name), source, 0, keepdims=False), x)


def pcast(x: Any, axis_name: Any = None, *, to: Any = None) -> Any:
    """`x`: frit does not track which values vary over manual axes."""
    return x
