"""gather and the scatters: windows of an array, read or written at positions that are data.

    gather       reads a window at each start in `indices`
    scatter      writes windows; of several updates of one element the last one stays
    scatter-add, -sub, -mul, -min, -max      combine updates with what is there, in order

`update_jaxpr` says in JAX's terms how an update is combined; plain scatter has one only when made
by `scatter_apply`, where it maps (element, unused) to the new element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir import dtypes
from frit.ir.primitive import Primitive, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.arithmetic import div
from frit.primitives.comparison_and_bits import eq, select_n
from frit.primitives.elementwise import add, neg, times
from frit.primitives.index_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    as_scatter,
    check_gather,
    check_scatter,
    window_positions,
    window_sizes,
)
from frit.primitives.reductions import evaluate_jaxpr
from frit.primitives.shapes import iota, reshape
from frit.transforms.linear import (
    InPlace,
    add_tangents,
    axis_to_front,
    broadcast_in_dim,
    full,
    instantiate,
    is_linear,
    is_zero,
    move_axis,
    zeros,
)
from frit.transforms.rules import zero_tangent
from frit.transforms.trace import trace_to_jaxpr

Ints = tuple[int, ...]
HEAVY = 1 << 14  # elements from which on NumPy's index arrays take longer than compiling


def _shape(x: Any) -> tuple[Any, ...]:
    return x.shape if is_linear(x) else typeof(x).shape  # type: ignore[attr-defined]


def _shifted(axes: Sequence[int], at: int = 0) -> Ints:
    """Axis numbers after an axis was inserted at `at`."""
    return tuple(int(i) if i < at else int(i) + 1 for i in axes)


# ----------------------------------------------------------------------------------------- gather


def _gather_types(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    **_: Any,
) -> ShapedArray:
    return x.update(shape=check_gather(x, indices, dimension_numbers, slice_sizes))


def _gather_evaluate(
    x: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    mode: GatherScatterMode,
    fill_value: Any,
    **_: Any,
) -> np.ndarray:
    x, indices = np.asarray(x), np.asarray(indices)
    numbers = dimension_numbers
    positions, inside = window_positions(x.shape, indices, numbers, tuple(slice_sizes))
    batch = indices.shape[:-1]
    if inside.size and all(slice_sizes) and all(x.shape):
        windows = x[tuple(np.broadcast_arrays(*positions))] if positions else x
    else:
        windows = np.empty((*batch, *slice_sizes), x.dtype)
    windows = np.broadcast_to(windows, (*batch, *slice_sizes))
    if mode == GatherScatterMode.FILL_OR_DROP and not inside.all():
        within = inside.reshape(*batch, *(1,) * x.ndim)
        if x.dtype in dtypes.ARRAY_DTYPES:
            filler = np.asarray(fill_value).astype(x.dtype)
        else:  # keys, in bytes
            filler = np.frombuffer(b"\xff" * x.dtype.itemsize, x.dtype)[0]
        windows = np.where(within, windows, filler)
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    shape = (*batch, *(s for i, s in enumerate(slice_sizes) if i not in gone))
    windows = windows.reshape(shape)
    rank, offsets = len(shape), numbers.offset_dims
    others = [i for i in range(rank) if i not in offsets]
    return np.moveaxis(windows, range(rank), [*others, *offsets])


def _gather_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    (x, indices), (t, _) = primals, tangents
    result = gather(x, indices, **params)
    if is_zero(t):
        return result, zero_tangent(result)
    zero_filled = params | {"fill_value": 0 if params["fill_value"] is not None else None}
    return result, gather(t, indices, **zero_filled)


def _gather_transpose(
    ct: Any,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    **_: Any,
) -> list[Any]:
    def add_to(accumulator: Any) -> Any:
        return scatter_add(
            accumulator,
            indices,
            ct,
            dimension_numbers=as_scatter(dimension_numbers),
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            **update_by(add, typeof(ct).dtype),  # type: ignore[attr-defined]
        )

    return [InPlace(add_to, lambda: add_to(zeros(x.aval))), None]


def _gather_batch(
    axis: Any,
    operands: Any,
    mapped: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    **params: Any,
) -> tuple[Any, int]:
    (x, indices), (dx, di) = operands, mapped
    offset, collapsed, index_map, batching, indices_batching = dimension_numbers
    if di is None:  # the mapped axis of x is one more offset
        numbers = GatherDimensionNumbers(
            (0, *_shifted(offset)),
            _shifted(collapsed),
            _shifted(index_map),
            _shifted(batching),
            indices_batching,
        )
        x, sizes = move_axis(x, dx, 0), (axis.size, *slice_sizes)
    elif dx is None:
        indices = move_axis(indices, di, 0)
        numbers = GatherDimensionNumbers(
            _shifted(offset), collapsed, index_map, batching, _shifted(indices_batching)
        )
        sizes = slice_sizes
    else:  # the two mapped axes go along with each other
        x, indices = move_axis(x, dx, 0), move_axis(indices, di, 0)
        numbers = GatherDimensionNumbers(
            _shifted(offset),
            _shifted(collapsed),
            _shifted(index_map),
            (0, *_shifted(batching)),
            (0, *_shifted(indices_batching)),
        )
        sizes = (1, *slice_sizes)
    return gather(x, indices, dimension_numbers=numbers, slice_sizes=tuple(sizes), **params), 0


gather = Primitive(
    "gather",
    result_types=_gather_types,
    evaluate=_gather_evaluate,
    jvp=_gather_jvp,
    transpose=_gather_transpose,
    batch=_gather_batch,
    compiled=HEAVY,
)


# --------------------------------------------------------------- how an update is combined, types


def update_by(combine: Callable[[Any, Any], Any], dtype: Any) -> dict[str, Any]:
    """The parameters update_jaxpr and update_consts that say `combine(element, update)`."""
    key = combine, dtype
    if key not in _UPDATES:
        scalar = ShapedArray((), dtype)
        jaxpr, _ = trace_to_jaxpr(lambda x, y: [combine(x, y)], [scalar, scalar])
        _UPDATES[key] = jaxpr
    return {"update_jaxpr": _UPDATES[key], "update_consts": ()}


_UPDATES: dict[Any, Any] = {}


def _scatter_types(
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **_: Any,
) -> ShapedArray:
    check_scatter(x, indices, updates, dimension_numbers)
    if x.dtype != updates.dtype:
        raise TypeError(
            f"lax.scatter requires arguments to have the same dtypes, got {x.dtype}, "
            f"{updates.dtype}. (Tip: jnp.scatter is a similar function that does automatic type "
            "promotion on inputs)."
        )
    return x


def _evaluate_by(combine: np.ufunc | None) -> Callable[..., Any]:
    """The meaning of a scatter whose updates are combined by `combine`; None: by its jaxpr."""

    def evaluate(
        x: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        update_jaxpr: Any,
        update_consts: Any,
        **_: Any,
    ) -> np.ndarray:
        result, indices, updates = np.array(x), np.asarray(indices), np.asarray(updates)
        numbers = dimension_numbers
        sizes = window_sizes(numbers, result.ndim, updates.shape)
        positions, inside = window_positions(result.shape, indices, numbers.as_gather(), sizes)
        kept = np.ones_like(inside) if mode == GatherScatterMode.CLIP else inside
        others = [i for i in range(updates.ndim) if i not in numbers.update_window_dims]
        windows = np.transpose(updates, [*others, *numbers.update_window_dims])
        windows = windows.reshape(*inside.shape, *sizes)[kept]
        at = tuple(np.broadcast_to(p, (*inside.shape, *sizes))[kept] for p in positions)
        if not windows.size:
            return result
        if combine is None and update_jaxpr is None:
            result[at] = windows
        elif combine is None or result.ndim == 0:
            _combine_each(result, at, windows, combine, update_jaxpr, update_consts)
        else:
            combine.at(result, at, windows)
        return result

    return evaluate


def _combine_each(
    result: np.ndarray, at: Any, windows: np.ndarray, combine: Any, jaxpr: Any, consts: Any
) -> None:
    for where in np.ndindex(windows.shape):
        place = tuple(int(p[where]) for p in at)
        if combine is not None:
            result[place] = combine(result[place], windows[where])
        else:
            (result[place],) = evaluate_jaxpr(jaxpr, consts, result[place], windows[where])


# -------------------------------------------------------------------------- differentiation, batch


def _gather_back(
    x: Any, indices: Any, updates_shape: Any, numbers: ScatterDimensionNumbers, mode: Any
) -> Any:
    """What stands in `x` where a scatter of these numbers writes; zeros where it drops updates."""
    return gather(
        x,
        indices,
        dimension_numbers=numbers.as_gather(),
        slice_sizes=window_sizes(numbers, len(_shape(x)), updates_shape),
        unique_indices=False,
        indices_are_sorted=False,
        mode=mode,
        fill_value=0 if mode == GatherScatterMode.FILL_OR_DROP else None,
    )


def _sum_jvp(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """The jvp of a scatter that is linear in operand and updates together."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        (x, indices, updates), (tx, _, tu) = primals, tangents
        result = primitive()(x, indices, updates, **params)
        if is_zero(tx) and is_zero(tu):
            return result, zero_tangent(result)
        return result, primitive()(instantiate(tx), indices, instantiate(tu), **params)

    return jvp


def _sum_transpose(negated: bool) -> Callable[..., Any]:
    def transpose(
        ct: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **_: Any
    ) -> list[Any]:
        for_updates = None
        if is_linear(updates):
            for_updates = _gather_back(ct, indices, updates.shape, dimension_numbers, mode)
            if negated:
                for_updates = neg(for_updates)
        return [ct if is_linear(x) else None, None, for_updates]

    return transpose


def _mul_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    (x, indices, updates), (tx, _, tu) = primals, tangents
    result = scatter_mul(x, indices, updates, **params)
    if is_zero(tx) and is_zero(tu):
        return result, zero_tangent(result)
    by_x = zero_tangent(result) if is_zero(tx) else scatter_mul(tx, indices, updates, **params)
    if is_zero(tu):
        return result, by_x
    if not params["unique_indices"]:
        raise NotImplementedError(
            "scatter_mul gradients with respect to the updates are only implemented if "
            "`unique_indices=True`: say x.at[i].multiply(y, unique_indices=True) where no element "
            "is updated twice."
        )
    by_add = params | update_by(add, typeof(tu).dtype)  # type: ignore[attr-defined]
    spread = scatter_add(zeros(typeof(x)), indices, tu, **by_add)
    return result, add_tangents(by_x, times(x, spread))


def _mul_transpose(
    ct: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **params: Any
) -> list[Any]:
    params |= {"dimension_numbers": dimension_numbers, "mode": mode}
    for_x = scatter_mul(ct, indices, updates, **params) if is_linear(x) else None
    for_updates = None
    if is_linear(updates):
        for_updates = _gather_back(times(ct, x), indices, updates.shape, dimension_numbers, mode)
    return [for_x, None, for_updates]


def _numbers_of_updates(indices: Any, updates: Any, numbers: ScatterDimensionNumbers) -> Any:
    """1, 2, … for the windows of `updates`, each in all elements of its window."""
    batch = _shape(indices)[:-1]
    count = 1
    for size in batch:
        count = count * size
    order_of_windows = iota(dtype=np.dtype(np.uint32), shape=(count,), dimension=0, sharding=None)
    shape = _shape(updates)
    spread = tuple(1 if i in numbers.update_window_dims else s for i, s in enumerate(shape))
    spread_numbers = reshape(order_of_windows, new_sizes=spread, dimensions=None, sharding=None)
    one = full(ShapedArray(shape, np.uint32), np.uint32(1))
    return add(broadcast_along(spread_numbers, shape), one)


def broadcast_along(x: Any, shape: Any) -> Any:
    """`x`, of rank len(shape), with its axes of size 1 repeated."""
    if _shape(x) == tuple(shape):
        return x
    return broadcast_in_dim(
        x, shape=tuple(shape), broadcast_dimensions=tuple(range(len(shape))), sharding=None
    )


def _replace_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    (x, indices, updates), (tx, _, tu) = primals, tangents
    result = scatter(x, indices, updates, **params)
    if is_zero(tx) and is_zero(tu):
        return result, zero_tangent(result)
    if params["update_jaxpr"] is not None:
        raise NotImplementedError(
            "scatter_apply JVP not implemented: write x.at[i].set(f(x.at[i].get())) for indices "
            "that do not repeat."
        )
    tx, tu = instantiate(tx), instantiate(tu)
    if params["unique_indices"]:
        return result, scatter(tx, indices, tu, **params)
    # Of repeated updates only the last moves the result: find it by scattering their numbers.
    numbers = _numbers_of_updates(indices, updates, params["dimension_numbers"])
    untouched = zeros(ShapedArray(_shape(x), np.uint32))
    winners = scatter(untouched, indices, numbers, **params)
    seen = _gather_back(
        winners, indices, _shape(updates), params["dimension_numbers"], params["mode"]
    )
    kept = select_n(eq(winners, untouched), zeros(typeof(tx)), tx)
    moving = select_n(eq(numbers, seen), zeros(typeof(tu)), tu)
    return result, scatter_add(
        kept,
        indices,
        moving,
        **(params | update_by(add, typeof(tu).dtype)),  # type: ignore[attr-defined]
    )


def _replace_transpose(
    ct: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **params: Any
) -> list[Any]:
    shape = _shape(updates)
    for_x = for_updates = None
    if is_linear(x):
        nothing = zeros(ShapedArray(shape, typeof(ct).dtype))  # type: ignore[attr-defined]
        params |= {"dimension_numbers": dimension_numbers, "mode": mode}
        for_x = scatter(ct, indices, nothing, **params)
    if is_linear(updates):
        for_updates = _gather_back(ct, indices, shape, dimension_numbers, mode)
    return [for_x, None, for_updates]


def _extreme_jvp(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """The tangent of the extreme elements, averaged over operand and updates that are equal."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        (x, indices, updates), (tx, _, tu) = primals, tangents
        result = primitive()(x, indices, updates, **params)
        if is_zero(tx) and is_zero(tu):
            return result, zero_tangent(result)
        numbers, mode = params["dimension_numbers"], params["mode"]
        dtype = typeof(x).dtype  # type: ignore[attr-defined]
        summing = params | update_by(add, dtype)
        reached = _gather_back(result, indices, _shape(updates), numbers, mode)
        in_x = _indicator(eq(x, result), dtype)
        in_updates = _indicator(eq(updates, reached), dtype)
        count = scatter_add(in_x, indices, in_updates, **summing)
        total = scatter_add(
            times(instantiate(tx), in_x), indices, times(instantiate(tu), in_updates), **summing
        )
        return result, div(total, count)

    return jvp


def _indicator(predicate: Any, dtype: Any) -> Any:
    aval = ShapedArray(_shape(predicate), dtype)
    return select_n(predicate, zeros(aval), full(aval, np.ones((), dtype)[()]))


def _batch_rule(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    def batch(
        axis: Any, operands: Any, mapped: Any, *, dimension_numbers: Any, **params: Any
    ) -> tuple[Any, int]:
        x, indices, updates = operands
        window, inserted, index_map, batching, indices_batching = dimension_numbers
        x = axis_to_front(x, mapped[0], axis.size)
        updates = axis_to_front(updates, mapped[2], axis.size)
        if mapped[1] is None:  # one more axis of the window
            numbers = ScatterDimensionNumbers(
                (0, *_shifted(window)),
                _shifted(inserted),
                _shifted(index_map),
                _shifted(batching),
                indices_batching,
            )
        else:
            indices = move_axis(indices, mapped[1], 0)
            numbers = ScatterDimensionNumbers(
                _shifted(window),
                _shifted(inserted),
                _shifted(index_map),
                (0, *_shifted(batching)),
                (0, *_shifted(indices_batching)),
            )
        return primitive()(x, indices, updates, dimension_numbers=numbers, **params), 0

    return batch


# ---------------------------------------------------------------------------------- the primitives


def _scatter_primitive(name: str, combine: np.ufunc | None, **rules: Any) -> Primitive:
    primitive = Primitive(
        name,
        result_types=_scatter_types,
        evaluate=_evaluate_by(combine),
        compiled=HEAVY,
        **rules,
    )
    primitive.batch = _batch_rule(lambda: primitive)
    return primitive


scatter = _scatter_primitive("scatter", None, jvp=_replace_jvp, transpose=_replace_transpose)
scatter_add = _scatter_primitive(
    "scatter-add",
    np.add,
    jvp=_sum_jvp(lambda: scatter_add),
    transpose=_sum_transpose(negated=False),
    accuracy=order,
)
scatter_sub = _scatter_primitive(
    "scatter-sub",
    np.subtract,
    jvp=_sum_jvp(lambda: scatter_sub),
    transpose=_sum_transpose(negated=True),
    accuracy=order,
)
scatter_mul = _scatter_primitive(
    "scatter-mul", np.multiply, jvp=_mul_jvp, transpose=_mul_transpose, accuracy=order
)
scatter_min = _scatter_primitive("scatter-min", np.minimum, jvp=_extreme_jvp(lambda: scatter_min))
scatter_max = _scatter_primitive("scatter-max", np.maximum, jvp=_extreme_jvp(lambda: scatter_max))
