"""Collectives: reductions and exchanges over mapped axes.

The type rules see one element of the axis; the batch rule, which meets the axis itself, turns each
into an ordinary operation on it.  An axis may be a name, or (in `axes` of psum …) a position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir import dims
from frit.ir.primitive import Primitive, absent, axis_size
from frit.ir.types import ShapedArray, typeof
from frit.primitives.conversion import convert_element_type
from frit.primitives.elementwise import mul
from frit.primitives.index_numbers import GatherDimensionNumbers, GatherScatterMode
from frit.primitives.indexing import gather
from frit.primitives.reductions import reduce_max, reduce_min
from frit.primitives.shapes import iota, reshape
from frit.transforms.batch import Axis
from frit.transforms.linear import (
    axis_to_front,
    broadcast_in_dim,
    instantiate,
    is_linear,
    is_zero,
    move_axis,
    reduce_sum,
)
from frit.transforms.rules import linear_jvp, not_differentiable


def names_of(axis_name: Any) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def total_size(axis_name: Any) -> Any:
    """The number of elements along one or several mapped axes."""
    return dims.product(axis_size(n) for n in names_of(axis_name))


# ------------------------------------------------------------------------- psum, pmax, pmin


def _reduction_types(*types: Any, axes: Sequence[Any], axis_index_groups: Any = None) -> list[Any]:
    for a in axes:
        if not isinstance(a, int):
            axis_size(a)
    positions = [a for a in axes if isinstance(a, int)]
    return [
        t.update(
            shape=tuple(s for i, s in enumerate(t.shape) if i not in positions), weak_type=False
        )
        for t in types
    ]


def _refuse_groups(groups: Any, name: str) -> None:
    if groups is not None:
        raise NotImplementedError(
            f"axis_index_groups is not supported by {name} under vmap; reshape the mapped axis "
            "into two axes and reduce over one of them."
        )


def _reduce_batch(
    primitive: Callable[[], Primitive], reduce: Callable[..., Any], repeat: Any
) -> Any:
    """The axis that is reduced becomes a reduced axis of the array; other axes move along."""

    def batch(
        axis: Axis, operands: Any, mapped: Any, *, axes: Any, axis_index_groups: Any = None
    ) -> Any:
        if axis.name is None or axis.name not in axes:
            shifted = [
                tuple(a + (isinstance(a, int) and d is not None and d <= a) for a in axes)
                if d is not None
                else axes
                for d in mapped
            ]
            results = [
                primitive()(x, axes=s, axis_index_groups=axis_index_groups)[0]
                for x, s in zip(operands, shifted, strict=True)
            ]
            return results, list(mapped)
        _refuse_groups(axis_index_groups, primitive().name)
        results = []
        for x, d in zip(operands, mapped, strict=True):
            rest = tuple(a for a in axes if a != axis.name)
            if d is None:
                x = repeat(x, axis.size)
            else:
                rest = (d, *[a + (isinstance(a, int) and a >= d) for a in rest])
            results.append(primitive()(x, axes=rest, axis_index_groups=None)[0] if rest else x)
        return results, [None] * len(results)

    return batch


def _positional(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(*arrays: Any, axes: Any, axis_index_groups: Any = None) -> Any:
        return [np.asarray(reduce(x, axis=tuple(axes))).astype(x.dtype) for x in arrays]

    return evaluate


def _psum_transpose(cts: Any, *operands: Any, axes: Any, axis_index_groups: Any = None) -> Any:
    from_linear = [
        None if not is_linear(x) else instantiate(ct) for ct, x in zip(cts, operands, strict=True)
    ]
    positions = tuple(a for a in axes if isinstance(a, int))
    named = tuple(a for a in axes if not isinstance(a, int))
    results = []
    for ct, x in zip(from_linear, operands, strict=True):
        if ct is None:
            results.append(None)
            continue
        if named:
            ct = psum(ct, axes=named, axis_index_groups=axis_index_groups)[0]
        results.append(_restore(ct, x, positions))
    return results


def _restore(ct: Any, x: Any, positions: tuple[int, ...]) -> Any:
    if not positions:
        return ct
    from_shape = x.aval.shape
    kept = tuple(i for i in range(len(from_shape)) if i not in positions)
    return broadcast_in_dim(ct, shape=from_shape, broadcast_dimensions=kept, sharding=None)


def _many_linear(primitive: Callable[[], Primitive]) -> Any:
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        results = primitive()(*primals, **params)
        moved = [t if is_zero(t) else primitive()(t, **params)[0] for t in tangents]
        return results, [
            type(t)(typeof(r).tangent_type()) if is_zero(t) else t
            for t, r in zip(moved, results, strict=True)
        ]

    return jvp


def _scaled(x: Any, size: Any) -> Any:
    aval = typeof(x)
    return mul(x, np.asarray(size).astype(aval.dtype)[()], out_dtype=None)  # type: ignore[attr-defined]


psum = Primitive(
    "psum",
    multiple_results=True,
    result_types=_reduction_types,
    evaluate=_positional(np.sum),
    jvp=_many_linear(lambda: psum),
    transpose=_psum_transpose,
    decompose=lambda *xs, axes, axis_index_groups: [
        reduce_sum(x, axes=tuple(axes), out_sharding=None) for x in xs
    ],
    uses_axis_names=True,
)
psum.batch = _reduce_batch(lambda: psum, reduce_sum, _scaled)
pmax = Primitive(
    "pmax",
    multiple_results=True,
    result_types=_reduction_types,
    evaluate=_positional(np.max),
    jvp=absent("pmax is not differentiable in JAX"),
    decompose=lambda *xs, axes, axis_index_groups: [reduce_max(x, axes=tuple(axes)) for x in xs],
    uses_axis_names=True,
)
pmax.batch = _reduce_batch(lambda: pmax, reduce_max, lambda x, size: x)
pmin = Primitive(
    "pmin",
    multiple_results=True,
    result_types=_reduction_types,
    evaluate=_positional(np.min),
    jvp=absent("pmin is not differentiable in JAX"),
    decompose=lambda *xs, axes, axis_index_groups: [reduce_min(x, axes=tuple(axes)) for x in xs],
    uses_axis_names=True,
)
pmin.batch = _reduce_batch(lambda: pmin, reduce_min, lambda x, size: x)


# ------------------------------------------------------------------------------------ axis_index


def _axis_index_batch(axis: Axis, operands: Any, mapped: Any, *, axis_name: Any) -> Any:
    index = iota(dtype=np.dtype("int32"), shape=(axis.size,), dimension=0, sharding=None)
    return index, 0


def _axis_index_types(*, axis_name: Any) -> ShapedArray:
    axis_size(axis_name)
    return ShapedArray((), np.dtype("int32"))


axis_index = Primitive(
    "axis_index",
    result_types=_axis_index_types,
    evaluate=absent("the axis is bound by vmap, whose batch rule replaces axis_index"),
    jvp=not_differentiable(lambda: axis_index),
    batch=_axis_index_batch,
    uses_axis_names=True,
)


# ------------------------------------------------------------------------ all_gather and exchanges


def _exchange_batch(
    name: str,
    primitive: Callable[[], Primitive],
    positions: Sequence[str],
    exchange: Callable[..., tuple[Any, int | None]],
) -> Callable[..., Any]:
    """The batch rule of an exchange of one operand.

    Over its own axis it is `exchange(axis, x, axis of x, **params)`; past any other axis, moved to
    the front, all positions in the array (the parameters so named) are one further.
    """

    def batch(axis: Axis, operands: Any, mapped: Any, *, axis_name: Any, **params: Any) -> Any:
        (x,), (d,) = operands, mapped
        _refuse_groups(params.get("axis_index_groups"), name)
        if axis.name in names_of(axis_name):
            return exchange(axis, x, d, **params)
        params.update({p: params[p] + 1 for p in positions})
        return primitive()(move_axis(x, d, 0), axis_name=axis_name, **params), 0

    return batch


def _merged(x: Any, at: int) -> Any:
    """x with its axes `at` and `at + 1` as one."""
    aval: Any = typeof(x)
    sizes = (*aval.shape[:at], aval.shape[at] * aval.shape[at + 1], *aval.shape[at + 2 :])
    return reshape(x, new_sizes=sizes, dimensions=None, sharding=None)


def _divided(x: Any, at: int, parts: Any) -> Any:
    """x with its axis `at` as two, the first of size `parts`."""
    aval: Any = typeof(x)
    sizes = (*aval.shape[:at], parts, aval.shape[at] // parts, *aval.shape[at + 1 :])
    return reshape(x, new_sizes=sizes, dimensions=None, sharding=None)


def _all_gather_types(x: Any, *, all_gather_dimension: int, axis_name: Any, axis_size: Any,
                      tiled: bool, **_: Any) -> Any:  # fmt: skip
    if tiled:
        shape = list(x.shape)
        shape[all_gather_dimension] = shape[all_gather_dimension] * axis_size
        return x.update(shape=tuple(shape))
    return x.with_axis(all_gather_dimension, axis_size)


def _gathered(
    axis: Axis, x: Any, d: int | None, *, all_gather_dimension: int, tiled: bool, **_: Any
) -> tuple[Any, None]:
    x = move_axis(axis_to_front(x, d, axis.size), 0, all_gather_dimension)
    return _merged(x, all_gather_dimension) if tiled else x, None


def _all_gather_transpose(ct: Any, x: Any, *, all_gather_dimension: int, axis_name: Any,
                          axis_size: Any, tiled: bool, **params: Any) -> Any:  # fmt: skip
    return [
        reduce_scatter(
            ct, scatter_dimension=all_gather_dimension, axis_name=axis_name, axis_size=axis_size,
            tiled=tiled, **params,
        )
    ]  # fmt: skip


all_gather = Primitive(
    "all_gather",
    result_types=_all_gather_types,
    evaluate=absent("the axis is bound by vmap, whose batch rule replaces all_gather"),
    jvp=linear_jvp(lambda: all_gather),
    transpose=_all_gather_transpose,
    batch=_exchange_batch("all_gather", lambda: all_gather, ["all_gather_dimension"], _gathered),
    uses_axis_names=True,
)


def _reduce_scatter_types(x: Any, *, scatter_dimension: int, axis_name: Any, axis_size: Any,
                          tiled: bool, **_: Any) -> Any:  # fmt: skip
    shape = list(x.shape)
    if tiled:
        if shape[scatter_dimension] % axis_size:
            raise ValueError(
                f"tiled reduce_scatter operand scatter dimension size {shape[scatter_dimension]} "
                f"must be divisible by shard_count {axis_size}"
            )
        shape[scatter_dimension] //= axis_size
    else:
        if shape[scatter_dimension] != axis_size:
            raise ValueError(
                f"reduce_scatter operand scatter dimension size {shape[scatter_dimension]} must "
                f"match shard count {axis_size}"
            )
        del shape[scatter_dimension]
    return x.update(shape=tuple(shape))


def _scattered(
    axis: Axis, x: Any, d: int | None, *, scatter_dimension: int, tiled: bool, **_: Any
) -> tuple[Any, int]:
    total = _scaled(x, axis.size) if d is None else reduce_sum(x, axes=(d,), out_sharding=None)
    if tiled:
        total = _divided(total, scatter_dimension, axis.size)
    return total, scatter_dimension


def _reduce_scatter_transpose(ct: Any, x: Any, *, scatter_dimension: int, axis_name: Any,
                              axis_size: Any, tiled: bool, **params: Any) -> Any:  # fmt: skip
    return [
        all_gather(
            ct, all_gather_dimension=scatter_dimension, axis_name=axis_name, axis_size=axis_size,
            tiled=tiled, **params,
        )
    ]  # fmt: skip


reduce_scatter = Primitive(
    "reduce_scatter",
    result_types=_reduce_scatter_types,
    evaluate=absent("the axis is bound by vmap, whose batch rule replaces reduce_scatter"),
    jvp=linear_jvp(lambda: reduce_scatter),
    transpose=_reduce_scatter_transpose,
    batch=_exchange_batch(
        "psum_scatter", lambda: reduce_scatter, ["scatter_dimension"], _scattered
    ),
    uses_axis_names=True,
)


def _take_rows(x: Any, rows: np.ndarray) -> Any:
    """`x[rows]` along the leading axis."""
    shape = typeof(x).shape  # type: ignore[attr-defined]
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape))), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return gather(
        x, rows.reshape(-1, 1), dimension_numbers=numbers, slice_sizes=(1, *shape[1:]),
        indices_are_sorted=False, unique_indices=False,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS, fill_value=None,
    )  # fmt: skip


def _permuted(axis: Axis, x: Any, d: int | None, *, perm: Any) -> tuple[Any, int]:
    x = axis_to_front(x, d, axis.size)
    sources = np.full((axis.size,), -1, np.int32)
    for source, target in perm:
        sources[target] = source
    rows = _take_rows(x, np.maximum(sources, 0))
    if (sources < 0).any():
        rank = len(typeof(rows).shape)  # type: ignore[attr-defined]
        mask = (sources >= 0).reshape(-1, *(1,) * (rank - 1))
        kept = convert_element_type(
            mask,
            new_dtype=typeof(rows).dtype,  # type: ignore[attr-defined]
            weak_type=False,
            sharding=None,
        )
        rows = mul(rows, kept, out_dtype=None)
    return rows, 0


ppermute = Primitive(
    "ppermute",
    result_types=lambda x, *, axis_name, perm: x,
    evaluate=absent("the axis is bound by vmap, whose batch rule replaces ppermute"),
    jvp=linear_jvp(lambda: ppermute),
    transpose=lambda ct, x, *, axis_name, perm: [
        ppermute(ct, axis_name=axis_name, perm=tuple((t, s) for s, t in perm))
    ],
    batch=_exchange_batch("ppermute", lambda: ppermute, [], _permuted),
    uses_axis_names=True,
)


def _all_to_all_types(x: Any, *, split_axis: int, concat_axis: int, axis_name: Any, tiled: bool,
                      **_: Any) -> Any:  # fmt: skip
    size = total_size(axis_name)
    shape = list(x.shape)
    if tiled:
        shape[split_axis] //= size
        shape[concat_axis] *= size
    else:
        if shape[split_axis] != size:
            raise ValueError(
                "all_to_all requires the size of the mapped axis axis_name to equal "
                f"x.shape[split_axis], but they are {size} and {shape[split_axis]} respectively."
            )
        del shape[split_axis]
        shape.insert(concat_axis, size)
    return x.update(shape=tuple(shape))


def _regrouped(
    axis: Axis, x: Any, d: int | None, *, split_axis: int, concat_axis: int, tiled: bool, **_: Any
) -> tuple[Any, int]:
    x = axis_to_front(x, d, axis.size)
    if tiled:
        x = _divided(x, split_axis + 1, axis.size)
    # The slices of the split axis become the mapped axis, and the mapped axis the new one.
    x = move_axis(move_axis(x, split_axis + 1, 0), 1, concat_axis + 1)
    return _merged(x, concat_axis + 1) if tiled else x, 0


all_to_all = Primitive(
    "all_to_all",
    result_types=_all_to_all_types,
    evaluate=absent("the axis is bound by vmap, whose batch rule replaces all_to_all"),
    jvp=linear_jvp(lambda: all_to_all),
    transpose=lambda ct, x, *, split_axis, concat_axis, **p: [
        all_to_all(ct, split_axis=concat_axis, concat_axis=split_axis, **p)
    ],
    batch=_exchange_batch(
        "all_to_all", lambda: all_to_all, ["split_axis", "concat_axis"], _regrouped
    ),
    uses_axis_names=True,
)
