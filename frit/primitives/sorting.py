"""sort and top_k.

The order of floats is -inf < … < 0 = -0 < … < inf < NaN, all NaN being equal; complex numbers are
ordered by real part, then imaginary part.  Equal elements keep their order.  top_k tells 0 > -0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.ir import dtypes
from frit.ir.primitive import Primitive
from frit.ir.types import ShapedArray, typeof
from frit.primitives.index_numbers import GatherDimensionNumbers, GatherScatterMode
from frit.primitives.indexing import gather
from frit.primitives.padding import slice_axis, surely_negative
from frit.primitives.reductions import dtype_name
from frit.primitives.shapes import iota
from frit.transforms.linear import insert_axis, is_zero, move_axis
from frit.transforms.rules import zero_tangent

HEAVY = 1 << 14  # elements from which on NumPy's sorts take longer than a compiled one


def sorting_keys(x: np.ndarray) -> list[np.ndarray]:
    """Arrays whose lexicographic order, by NumPy's stable sort, is the order of `x`."""
    if x.dtype.kind == "c":
        return [*sorting_keys(x.real), *sorting_keys(x.imag)]
    if dtypes.is_floating(x.dtype):
        wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        return [np.where(np.isnan(wide), np.nan, wide + 0.0).astype(wide.dtype)]
    return [x.astype(np.int32) if x.dtype.kind == "V" else x]


def sorted_order(keys: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """The indices along `axis` that put the first of `keys` in order, ties by the others."""
    parts = [part for key in keys for part in sorting_keys(key)]
    if len(parts) == 1:
        return np.argsort(parts[0], axis=axis, kind="stable")
    return np.lexsort(parts[::-1], axis=axis)


def take_along(x: Any, indices: Any, axis: int) -> Any:
    """x at `indices` along one axis, all other axes going along with each other."""
    rank = len(typeof(x).shape)  # type: ignore[attr-defined]
    others = tuple(i for i in range(rank) if i != axis)
    return gather(
        x,
        insert_axis(indices, rank, 1),
        dimension_numbers=GatherDimensionNumbers((), (axis,), (axis,), others, others),
        slice_sizes=(1,) * rank,
        unique_indices=False,
        indices_are_sorted=False,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


# ------------------------------------------------------------------------------------------- sort


def _sort_types(
    *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ShapedArray]:
    if len({x.shape for x in operands}) > 1:
        shapes = " ".join(str(x.shape) for x in operands)
        raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
    for x in operands[:num_keys]:
        if isinstance(x.dtype, dtypes.ExtendedDType):
            raise TypeError(
                f"sort does not accept keys of dtype {x.dtype}: its elements have no order. Sort "
                "by numbers, with these as a further operand."
            )
    return list(operands)


def _sort_evaluate(
    *operands: Any, dimension: int, is_stable: bool, num_keys: int
) -> list[np.ndarray]:
    xs = [np.asarray(x) for x in operands]
    order = sorted_order(xs[:num_keys], dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


def _sort_jvp(
    primals: Any, tangents: Any, *, dimension: int, is_stable: bool, num_keys: int
) -> tuple[Any, Any]:
    params = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
    if all(map(is_zero, tangents)):
        results = sort(*primals, **params)
        return results, [zero_tangent(r) for r in results]
    shape = typeof(primals[0]).shape  # type: ignore[attr-defined]
    places = iota(dtype=np.dtype(np.uint32), shape=shape, dimension=dimension, sharding=None)
    *results, places = sort(*primals, places, **params)
    return results, [
        zero_tangent(r) if is_zero(t) else take_along(t, places, dimension)
        for r, t in zip(results, tangents, strict=True)
    ]


def _sort_batch(
    axis: Any, operands: Any, mapped: Any, *, dimension: int, **params: Any
) -> tuple[Any, list[int]]:
    at = next(d for d in mapped if d is not None)
    xs = [
        insert_axis(x, at, axis.size) if d is None else move_axis(x, d, at)
        for x, d in zip(operands, mapped, strict=True)
    ]
    shifted = dimension if dimension < at else dimension + 1
    return sort(*xs, dimension=shifted, **params), [at] * len(xs)


sort = Primitive(
    "sort",
    multiple_results=True,
    result_types=_sort_types,
    evaluate=_sort_evaluate,
    jvp=_sort_jvp,
    batch=_sort_batch,
    compiled=HEAVY,
)


# ------------------------------------------------------------------------------------------ top_k


def _top_types(x: ShapedArray, *, k: Any, axis: int) -> list[ShapedArray]:
    if dtypes.is_complex(x.dtype):
        raise ValueError("top_k is not compatible with complex inputs.")
    if isinstance(x.dtype, dtypes.ExtendedDType):
        raise TypeError(f"top_k does not accept dtype {x.dtype}: its elements have no order.")
    if surely_negative(k):
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if not x.ndim:
        raise TypeError(f"top_k operand must have >= 1 dimension, got {x.shape}")
    if not 0 <= axis < x.ndim:
        raise ValueError(f"axis argument out of range: axis={axis} for operand.shape={x.shape}")
    if surely_negative(x.shape[axis] - k):
        raise ValueError(
            "k argument to top_k must be no larger than size along axis; got "
            f"k={k} with shape={list(x.shape)} and axis={axis}"
        )
    if surely_negative(np.iinfo(np.int32).max + 1 - x.shape[axis]):
        raise ValueError(
            "top_k returns int32 indices, which will overflow for array dimensions larger than the "
            f"maximum int32 ({np.iinfo(np.int32).max}). Got operand.shape={x.shape}"
        )
    return _chosen_types(x, k, axis)


def _chosen_types(x: ShapedArray, k: Any, axis: int) -> list[ShapedArray]:
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [x.update(shape=shape), ShapedArray(shape, np.int32, x.weak_type)]


def _greatest(x: Any, *, k: int, axis: int) -> list[np.ndarray]:
    """The k greatest elements along an axis, in order, and where they are."""
    x = np.asarray(x)
    flipped = [np.flip(x, axis)]
    if dtypes.is_floating(x.dtype):
        flipped.append(~np.signbit(flipped[0]) & (flipped[0] == 0))  # here 0 is greater than -0
    # The reverse of a stable sort of the reverse: equal elements keep their order.
    order = x.shape[axis] - 1 - np.flip(sorted_order(flipped, axis), axis)
    chosen = np.take(order, np.arange(k), axis)
    return [np.take_along_axis(x, chosen, axis), chosen.astype(np.int32)]


def _top_jvp(primals: Any, tangents: Any, *, k: Any, axis: int) -> tuple[Any, Any]:
    values, places = top_k(*primals, k=k, axis=axis)
    if is_zero(tangents[0]):
        moved = zero_tangent(values)
    else:
        moved = take_along(tangents[0], places, axis)
    return [values, places], [moved, zero_tangent(places)]


def _top_batch(lanes: Any, operands: Any, mapped: Any, *, k: Any, axis: int) -> Any:
    (x,), (d,) = operands, mapped
    return top_k(x, k=k, axis=axis if axis < d else axis + 1), [d, d]


top_k = Primitive(
    "top_k",
    multiple_results=True,
    result_types=_top_types,
    evaluate=_greatest,
    jvp=_top_jvp,
    batch=_top_batch,
    compiled=HEAVY,
)


# ----------------------------------------------------------------------------------- approx_top_k


def _approx_types(
    x: ShapedArray, *, k: Any, reduction_dimension: int, aggregate_to_topk: bool, **_: Any
) -> list[ShapedArray]:
    if surely_negative(k - 1):
        raise ValueError(f"k must be positive, got {k}")
    if not x.ndim:
        raise TypeError(f"approx_top_k operand must have >= 1 dimension, got {x.shape}")
    if surely_negative(x.shape[reduction_dimension] - k):
        raise ValueError(
            "k must be smaller than the size of reduction_dim "
            f"{x.shape[reduction_dimension]}, got {k}"
        )
    if not dtypes.is_floating(x.dtype):
        raise ValueError(f"operand must be a floating type, got {dtype_name(x.dtype)}")
    if not aggregate_to_topk:
        raise NotImplementedError(
            "approx_max_k with aggregate_to_topk=False: the number of candidates is a matter of "
            "the accelerator that JAX has in mind. Leave aggregate_to_topk=True, which gives "
            "exactly the k greatest here."
        )
    return _chosen_types(x, k, reduction_dimension % x.ndim)


def _approx_evaluate(
    x: Any, *, k: int, reduction_dimension: int, is_max_k: bool, **_: Any
) -> list[np.ndarray]:
    x = np.asarray(x)
    axis = reduction_dimension % x.ndim
    if is_max_k:
        return _greatest(x, k=k, axis=axis)
    chosen = np.take(sorted_order([x], axis), np.arange(k), axis)
    return [np.take_along_axis(x, chosen, axis), chosen.astype(np.int32)]


def _approx_decomposed(
    x: Any, *, k: int, reduction_dimension: int, is_max_k: bool, **_: Any
) -> list[Any]:
    shape = typeof(x).shape  # type: ignore[attr-defined]
    axis = reduction_dimension % len(shape)
    if is_max_k:
        return top_k(x, k=k, axis=axis)
    places = iota(dtype=np.dtype(np.int32), shape=shape, dimension=axis, sharding=None)
    ordered = sort(x, places, dimension=axis, is_stable=True, num_keys=1)
    return [slice_axis(part, axis, 0, k) for part in ordered]


def _approx_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    values, places = approx_top_k(*primals, **params)
    if is_zero(tangents[0]):
        moved = zero_tangent(values)
    else:
        axis = params["reduction_dimension"] % len(typeof(values).shape)  # type: ignore[attr-defined]
        moved = take_along(tangents[0], places, axis)
    return [values, places], [moved, zero_tangent(places)]


def _approx_batch(
    lanes: Any, operands: Any, mapped: Any, *, reduction_dimension: int, **params: Any
) -> Any:
    (x,), (d,) = operands, mapped
    axis = reduction_dimension % (len(typeof(x).shape) - 1)  # type: ignore[attr-defined]
    shifted = axis if axis < d else axis + 1
    return approx_top_k(x, reduction_dimension=shifted, **params), [d, d]


approx_top_k = Primitive(
    "approx_top_k",
    multiple_results=True,
    result_types=_approx_types,
    evaluate=_approx_evaluate,
    jvp=_approx_jvp,
    batch=_approx_batch,
    decompose=_approx_decomposed,
)
