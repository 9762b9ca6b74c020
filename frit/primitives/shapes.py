"""Primitives that move elements and compute nothing: reshape, concatenate, stack, tile, rev, iota.

transpose and broadcast_in_dim, which transforms emit as well, stand in transforms/linear.py; pad
and slice in padding.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.errors import InconclusiveDimensionOperation
from frit.ir import dims, dtypes
from frit.ir.primitive import Primitive, absent
from frit.ir.types import ShapedArray, typeof
from frit.primitives.padding import pad, slice, surely_negative
from frit.transforms.linear import (
    Zero,
    axis_to_front,
    broadcast_in_dim,
    instantiate,
    is_linear,
    is_zero,
    reduce_sum,
    transpose,
)
from frit.transforms.rules import linear_jvp, zero_tangent

__all__ = [
    "broadcast_in_dim",
    "concatenate",
    "dim_as_value",
    "iota",
    "optimization_barrier",
    "pad",
    "reshape",
    "rev",
    "slice",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]


def _linear_in_all(primitive: Any) -> Any:
    """The jvp rule of a primitive of one result that is linear in all operands at once."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        result = primitive()(*primals, **params)
        if all(map(is_zero, tangents)):
            return result, zero_tangent(result)
        return result, primitive()(*map(instantiate, tangents), **params)

    return jvp


# ---------------------------------------------------------------------------------------- reshape


def _reshape_types(
    x: ShapedArray, *, new_sizes: Any, dimensions: Any, sharding: Any = None
) -> ShapedArray:
    if any(not isinstance(s, dims.Dim) and s < 0 for s in new_sizes):
        raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
    if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
        raise TypeError(
            "reshape dimensions must be a permutation of operand dimensions, got dimensions "
            f"{dimensions} for shape {x.shape}."
        )
    if not dims.same(x.size, dims.product(new_sizes)):
        raise TypeError(
            f"cannot reshape array of shape {x.shape} (size {x.size}) into shape "
            f"{tuple(new_sizes)} (size {dims.product(new_sizes)})"
        )
    return x.update(shape=tuple(new_sizes))


def _reshape_evaluate(x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any = None) -> Any:
    x = np.asarray(x) if dimensions is None else np.transpose(x, dimensions)
    return x.reshape(new_sizes)


def _reshape_transpose(
    ct: Any, x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any = None
) -> list[Any]:
    if dimensions is None:
        return [reshape(ct, new_sizes=x.shape, dimensions=None, sharding=None)]
    sizes = tuple(x.shape[i] for i in dimensions)
    back = tuple(int(i) for i in np.argsort(dimensions))
    return [
        transpose(reshape(ct, new_sizes=sizes, dimensions=None, sharding=None), permutation=back)
    ]


def _reshape_batch(
    axis: Any, operands: Any, mapped: Any, *, new_sizes: Any, dimensions: Any, sharding: Any
) -> Any:
    x = axis_to_front(operands[0], mapped[0], axis.size)
    moved = None if dimensions is None else (0, *(i + 1 for i in dimensions))
    return reshape(x, new_sizes=(axis.size, *new_sizes), dimensions=moved, sharding=None), 0


reshape = Primitive(
    "reshape",
    result_types=_reshape_types,
    evaluate=_reshape_evaluate,
    jvp=linear_jvp(lambda: reshape),
    transpose=_reshape_transpose,
    batch=_reshape_batch,
)


# ---------------------------------------------------------------------------------------- squeeze


def _squeeze_types(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if not all(0 <= d < x.ndim for d in dimensions):
        raise ValueError(
            f"dimensions outside range [0, ndim): {dimensions}, for operand shape {x.shape}"
        )
    if any(not dims.same(x.shape[d], 1) for d in dimensions):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={x.shape} and dimensions={dimensions}"
        )
    return x.update(shape=tuple(s for i, s in enumerate(x.shape) if i not in dimensions))


def _squeeze_transpose(ct: Any, x: Any, *, dimensions: tuple[int, ...]) -> list[Any]:
    kept = tuple(i for i in range(len(x.shape)) if i not in dimensions)
    return [broadcast_in_dim(ct, shape=x.shape, broadcast_dimensions=kept, sharding=None)]


def _squeeze_batch(axis: Any, operands: Any, mapped: Any, *, dimensions: Any) -> Any:
    x = axis_to_front(operands[0], mapped[0], axis.size)
    return squeeze(x, dimensions=tuple(d + 1 for d in dimensions)), 0


squeeze = Primitive(
    "squeeze",
    result_types=_squeeze_types,
    evaluate=lambda x, *, dimensions: np.squeeze(np.asarray(x), axis=tuple(dimensions)),
    jvp=linear_jvp(lambda: squeeze),
    transpose=_squeeze_transpose,
    batch=_squeeze_batch,
)


# ------------------------------------------------------------------- concatenate, split


def _check_same_dtypes(name: str, operands: Sequence[ShapedArray]) -> None:
    if len({x.dtype for x in operands}) > 1:
        names = ", ".join(str(getattr(x.dtype, "name", x.dtype)) for x in operands)
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {names}. (Tip: "
            f"jnp.{name} is a similar function that does automatic type promotion on inputs)."
        )


def _shapes_of(operands: Sequence[ShapedArray]) -> str:
    return ", ".join(str(x.shape) for x in operands)


def _concatenate_types(*operands: ShapedArray, dimension: int) -> ShapedArray:
    if not operands:
        raise TypeError("concatenate expects at least one operand, got 0.")
    if len({x.ndim for x in operands}) != 1:
        raise TypeError(
            "Cannot concatenate arrays with different numbers of dimensions: got "
            f"{_shapes_of(operands)}."
        )
    if not 0 <= dimension < operands[0].ndim:
        raise TypeError(
            f"concatenate dimension out of bounds: dimension {dimension} for shapes "
            f"{_shapes_of(operands)}."
        )
    if len({x.without_axis(dimension).shape for x in operands}) != 1:
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: concatenating along dimension {dimension} for shapes "
            f"{_shapes_of(operands)}."
        )
    _check_same_dtypes("concatenate", operands)
    shape = list(operands[0].shape)
    for x in operands[1:]:
        shape[dimension] = shape[dimension] + x.shape[dimension]
    return ShapedArray(tuple(shape), operands[0].dtype, all(x.weak_type for x in operands))


def _concatenate_transpose(ct: Any, *operands: Any, dimension: int) -> list[Any]:
    sizes = tuple(typeof_operand(x).shape[dimension] for x in operands)
    parts = split(ct, sizes=sizes, axis=dimension)
    return [part if is_linear(x) else None for part, x in zip(parts, operands, strict=True)]


def typeof_operand(x: Any) -> Any:
    """The type of an operand of a transpose rule, linear or not."""
    return x.aval if is_linear(x) else typeof(x)


def _concatenate_batch(axis: Any, operands: Any, mapped: Any, *, dimension: int) -> Any:
    lanes = [axis_to_front(x, d, axis.size) for x, d in zip(operands, mapped, strict=True)]
    return concatenate(*lanes, dimension=dimension + 1), 0


concatenate = Primitive(
    "concatenate",
    result_types=_concatenate_types,
    evaluate=lambda *operands, dimension: np.concatenate(operands, axis=dimension),
    jvp=_linear_in_all(lambda: concatenate),
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
)


def _split_types(x: ShapedArray, *, sizes: Any, axis: int) -> list[ShapedArray]:
    if not 0 <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for operand shape {x.shape}")
    if any(map(surely_negative, sizes)):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    total: Any = sum(sizes)
    if not dims.same(total, x.shape[axis]):
        raise ValueError(
            f"Sum of sizes {total} must be equal to dimension {axis} of the operand shape "
            f"{list(x.shape)}"
        )
    return [x.update(shape=(*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes]


def _split_evaluate(x: Any, *, sizes: Any, axis: int) -> list[Any]:
    return np.split(np.asarray(x), np.cumsum(sizes[:-1]).astype(int), axis=axis)


def _instantiated(cts: Sequence[Any]) -> list[Any]:
    return [instantiate(ct) for ct in cts]


def _split_transpose(cts: Any, x: Any, *, sizes: Any, axis: int) -> list[Any]:
    return [concatenate(*_instantiated(cts), dimension=axis)]


def _split_batch(lanes: Any, operands: Any, mapped: Any, *, sizes: Any, axis: int) -> Any:
    (x,), (d,) = operands, mapped
    results = split(x, sizes=sizes, axis=axis if axis < d else axis + 1)
    return results, [d] * len(sizes)


split = Primitive(
    "split",
    multiple_results=True,
    result_types=_split_types,
    evaluate=_split_evaluate,
    jvp=linear_jvp(lambda: split),
    transpose=_split_transpose,
    batch=_split_batch,
)


# ----------------------------------------------------------------------------- stack, unstack


def _stack_types(*operands: ShapedArray, axis: int) -> ShapedArray:
    if not operands:
        raise ValueError("stack expects at least one operand, got 0.")
    if len({x.ndim for x in operands}) != 1:
        raise ValueError(
            f"Cannot stack arrays with different numbers of dimensions: got {_shapes_of(operands)}."
        )
    if len({x.shape for x in operands}) != 1:
        raise ValueError(f"All input arrays must have the same shape. Got {_shapes_of(operands)}.")
    _check_same_dtypes("stack", operands)
    weak = all(x.weak_type for x in operands)
    return operands[0].update(weak_type=weak).with_axis(axis, len(operands))  # type: ignore[return-value]


def _stack_transpose(ct: Any, *operands: Any, axis: int) -> list[Any]:
    parts = unstack(ct, axis=axis)
    return [part if is_linear(x) else None for part, x in zip(parts, operands, strict=True)]


def _stack_batch(lanes: Any, operands: Any, mapped: Any, *, axis: int) -> Any:
    moved = [axis_to_front(x, d, lanes.size) for x, d in zip(operands, mapped, strict=True)]
    return stack(*moved, axis=axis + 1), 0


stack = Primitive(
    "stack",
    result_types=_stack_types,
    evaluate=lambda *operands, axis: np.stack(operands, axis=axis),
    jvp=_linear_in_all(lambda: stack),
    transpose=_stack_transpose,
    batch=_stack_batch,
)


def _unstack_types(x: ShapedArray, *, axis: int) -> list[Any]:
    if not x.ndim:
        raise ValueError(
            "unstack requires arrays with rank > 0, however a scalar array of shape () was passed."
        )
    if isinstance(x.shape[axis], dims.Dim):
        raise ValueError(
            f"cannot unstack {x} along axis {axis}: the number of results, {x.shape[axis]}, must "
            "be known while tracing. Use lax.map or lax.scan over that axis."
        )
    return [x.without_axis(axis)] * x.shape[axis]


def _unstack_batch(lanes: Any, operands: Any, mapped: Any, *, axis: int) -> Any:
    (x,), (d,) = operands, mapped
    results = unstack(x, axis=axis if axis < d else axis + 1)
    return results, [d - 1 if axis < d else d] * len(results)


unstack = Primitive(
    "unstack",
    multiple_results=True,
    result_types=_unstack_types,
    evaluate=lambda x, *, axis: list(np.moveaxis(np.asarray(x), axis, 0)),
    jvp=linear_jvp(lambda: unstack),
    transpose=lambda cts, x, *, axis: [stack(*_instantiated(cts), axis=axis)],
    batch=_unstack_batch,
)


# --------------------------------------------------------------------------------------- tile, rev


def _tile_types(x: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if len(reps) != x.ndim:
        raise TypeError(
            f"reps length must be equal to the ndim of x, got len(reps)={len(reps)} and "
            f"x.ndim={x.ndim}."
        )
    return x.update(shape=tuple(r * s for r, s in zip(reps, x.shape, strict=True)))


def _tile_transpose(ct: Any, x: Any, *, reps: tuple[int, ...]) -> list[Any]:
    sizes = tuple(s for pair in zip(reps, x.shape, strict=True) for s in pair)
    apart = reshape(ct, new_sizes=sizes, dimensions=None, sharding=None)
    return [reduce_sum(apart, axes=tuple(range(0, len(sizes), 2)), out_sharding=None)]


def _tile_batch(axis: Any, operands: Any, mapped: Any, *, reps: tuple[int, ...]) -> Any:
    (x,), (d,) = operands, mapped
    return tile(x, reps=(*reps[:d], 1, *reps[d:])), d


tile = Primitive(
    "tile",
    result_types=_tile_types,
    evaluate=lambda x, *, reps: np.tile(x, reps),
    jvp=linear_jvp(lambda: tile),
    transpose=_tile_transpose,
    batch=_tile_batch,
)


def _rev_types(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if any(d < 0 for d in dimensions):
        raise TypeError(f"rev dimensions must have nonnegative elements, got {dimensions}.")
    if any(d >= x.ndim for d in dimensions):
        raise TypeError(
            "rev dimensions must all be less than operand ndim, got dimensions "
            f"{dimensions} for operand ndim {x.ndim}."
        )
    return x


def _rev_batch(axis: Any, operands: Any, mapped: Any, *, dimensions: Any) -> Any:
    (x,), (d,) = operands, mapped
    return rev(x, dimensions=tuple(i if i < d else i + 1 for i in dimensions)), d


rev = Primitive(
    "rev",
    result_types=_rev_types,
    evaluate=lambda x, *, dimensions: np.flip(np.asarray(x), axis=tuple(dimensions)),
    jvp=linear_jvp(lambda: rev),
    transpose=lambda ct, x, *, dimensions: [rev(ct, dimensions=dimensions)],
    batch=_rev_batch,
)


# ------------------------------------------------------------------------------------------- iota


def _iota_types(*, dtype: Any, shape: Any, dimension: int, sharding: Any = None) -> ShapedArray:
    dims.check_sizes(shape, "iota shape")
    if not (dtypes.is_integer(dtype) or dtypes.is_inexact(dtype)):
        raise TypeError(
            f"iota does not accept dtype {getattr(dtype, 'name', dtype)}. Accepted dtypes are "
            "subtypes of int, float, complex."
        )
    if not 0 <= dimension < len(shape):
        raise ValueError(
            f"iota dimension must be between 0 and len(shape), got {dimension=} for {shape=}"
        )
    return ShapedArray(shape, dtype)


def _iota_evaluate(*, dtype: Any, shape: Any, dimension: int, sharding: Any = None) -> np.ndarray:
    spread = [1] * len(shape)
    spread[dimension] = shape[dimension]
    numbers = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(numbers.reshape(spread), shape)


iota = Primitive(
    "iota",
    result_types=_iota_types,
    evaluate=_iota_evaluate,
    jvp=absent("iota has no operands"),
    batch=absent("iota has no operands"),
)


def _dim_evaluate(*, dim: Any) -> np.ndarray:
    if isinstance(dim, dims.Dim):
        raise InconclusiveDimensionOperation(
            f"the size `{dim}` is symbolic: its number is known only when a compiled program runs"
        )
    return np.asarray(dim, dtypes.python_scalar_dtype(int))


dim_as_value = Primitive(
    "dim_as_value",
    result_types=lambda *, dim: ShapedArray((), dtypes.python_scalar_dtype(int), weak_type=True),
    evaluate=_dim_evaluate,
    jvp=absent("dim_as_value has no operands"),
    batch=absent("dim_as_value has no operands"),
)


# --------------------------------------------------------------------------- optimization_barrier


def _barrier_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    moving = [i for i, t in enumerate(tangents) if not is_zero(t)]
    results = optimization_barrier(*primals)
    after = list(tangents)
    fenced = optimization_barrier(*(tangents[i] for i in moving)) if moving else []
    for i, t in zip(moving, fenced, strict=True):
        after[i] = t
    return results, after


def _barrier_transpose(cts: Sequence[Any], *operands: Any) -> list[Any]:
    moving = [i for i, ct in enumerate(cts) if not is_zero(ct)]
    before: list[Any] = [Zero(x.aval) if is_linear(x) else None for x in operands]
    fenced = optimization_barrier(*(cts[i] for i in moving)) if moving else []
    for i, ct in zip(moving, fenced, strict=True):
        before[i] = ct if is_linear(operands[i]) else None
    return before


optimization_barrier = Primitive(
    "optimization_barrier",
    multiple_results=True,
    result_types=lambda *types: list(types),
    evaluate=lambda *operands: [np.asarray(x) for x in operands],
    jvp=_barrier_jvp,
    transpose=_barrier_transpose,
    batch=lambda axis, operands, mapped: (optimization_barrier(*operands), list(mapped)),
)


def reshaped(x: Any, shape: Any) -> Any:
    """`x` in row-major order with another shape; x itself where it has that shape already."""
    if typeof(x).shape == tuple(shape):  # type: ignore[attr-defined]
        return x
    return reshape(x, new_sizes=tuple(shape), dimensions=None, sharding=None)
