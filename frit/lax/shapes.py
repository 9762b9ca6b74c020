"""Functions of frit.lax that arrange elements: reshape, broadcast, concatenate, pad, iota, full."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import errors, trees
from frit.ir import dims, dtypes
from frit.lax.operands import (
    as_array,
    as_axis,
    as_indices,
    as_shape,
    as_size,
    as_sizes,
    aval_of,
    is_array,
    rank_of,
    shape_of,
    user_dtype,
)
from frit.primitives.conversion import convert_element_type as convert_element_type_p
from frit.primitives.padding import pad as pad_p
from frit.primitives.padding import surely_negative
from frit.primitives.random_bits import KeyTy, random_wrap
from frit.primitives.scalar_meaning import convert
from frit.primitives.shapes import broadcast_in_dim as broadcast_in_dim_p
from frit.primitives.shapes import concatenate as concatenate_p
from frit.primitives.shapes import dim_as_value as dim_as_value_p
from frit.primitives.shapes import iota as iota_p
from frit.primitives.shapes import optimization_barrier as optimization_barrier_p
from frit.primitives.shapes import reshape as reshape_p
from frit.primitives.shapes import rev as rev_p
from frit.primitives.shapes import split as split_p
from frit.primitives.shapes import squeeze as squeeze_p
from frit.primitives.shapes import stack as stack_p
from frit.primitives.shapes import tile as tile_p
from frit.primitives.shapes import transpose as transpose_p
from frit.primitives.shapes import unstack as unstack_p

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "collapse",
    "concatenate",
    "concatenate_p",
    "dimension_as_value",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "iota",
    "iota_p",
    "optimization_barrier",
    "optimization_barrier_p",
    "pad",
    "pad_p",
    "reshape",
    "reshape_p",
    "rev",
    "rev_p",
    "shape_as_value",
    "split",
    "split_p",
    "squeeze",
    "squeeze_p",
    "stack",
    "stack_p",
    "tile",
    "tile_p",
    "transpose",
    "transpose_p",
    "unstack",
    "unstack_p",
]


# ------------------------------------------------------------------------------- shape, same data


def reshape(
    operand: Any, new_sizes: Any, dimensions: Any = None, *, out_sharding: Any = None
) -> Any:
    """Elements of `operand`, in row-major order, in an array of shape `new_sizes`.

    dimensions: an order of the operand's axes to read them in.  TypeError if the sizes differ.
    """
    sizes, shape = as_shape(new_sizes), shape_of(operand)
    read = None if dimensions is None else as_indices(dimensions)
    if read == tuple(range(len(shape))):
        read = None
    if shape and shape == sizes and read is None and is_array(operand):
        return operand
    return reshape_p(operand, new_sizes=sizes, dimensions=read, sharding=None)


def transpose(operand: Any, permutation: Any) -> Any:
    """`operand` with its axes in the order `permutation`."""
    order = tuple(map(operator.index, permutation))
    if order == tuple(range(rank_of(operand))) and is_array(operand):
        return operand
    return transpose_p(operand, permutation=order)


def squeeze(array: Any, dimensions: Any) -> Any:
    """`array` without the axes `dimensions`, each of size 1."""
    rank = rank_of(array)
    axes = tuple(sorted(as_axis(i, rank) for i in dimensions))
    if not axes and is_array(array):
        return array
    return squeeze_p(array, dimensions=axes)


def expand_dims(array: Any, dimensions: Any) -> Any:
    """`array` with axes of size 1 at `dimensions` of the result."""
    given = list(dimensions)
    shape = list(shape_of(array))
    rank = len(shape) + len(given)
    axes = [as_axis(i, rank) for i in given]
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in lax.expand_dims: {given}")
    for axis in sorted(axes):
        shape.insert(axis, 1)
    return broadcast_in_dim(array, shape, [i for i in range(rank) if i not in axes])


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """`operand` with the axes from start_dimension up to stop_dimension joined into one."""
    shape = shape_of(operand)
    low, high, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    if high < low:
        raise ValueError(
            f"Invalid dimension range passed to collapse: {shape}"
            f"[{start_dimension}:{stop_dimension}]"
        )
    return reshape(operand, (*shape[:low], dims.product(shape[low:high]), *shape[high:]))


def rev(operand: Any, dimensions: Any) -> Any:
    """`operand` with the order of elements along `dimensions` reversed."""
    return rev_p(operand, dimensions=as_indices(dimensions))


# -------------------------------------------------------------------------------------- broadcast


def broadcast_in_dim(
    operand: Any, shape: Any, broadcast_dimensions: Any, *, out_sharding: Any = None
) -> Any:
    """`operand` repeated to `shape`; its axis i is the result's axis broadcast_dimensions[i]."""
    sizes, axes = as_shape(shape), as_indices(broadcast_dimensions)
    if len(set(axes)) != len(axes):
        raise TypeError(
            f"broadcast_in_dim broadcast_dimensions must not contain duplicates, got {axes}."
        )
    if rank_of(operand) == len(sizes) and not axes and is_array(operand):
        return operand
    if axes != tuple(sorted(axes)) and len(axes) == rank_of(operand):
        order = sorted(range(len(axes)), key=axes.__getitem__)
        operand, axes = transpose(operand, order), tuple(axes[i] for i in order)
    return broadcast_in_dim_p(operand, shape=sizes, broadcast_dimensions=axes, sharding=None)


def broadcast(operand: Any, sizes: Any, *, out_sharding: Any = None) -> Any:
    """`operand` repeated along new leading axes of these sizes."""
    sizes = as_shape(sizes)
    if not sizes:
        return as_array(operand)
    shape = shape_of(operand)
    axes = range(len(sizes), len(sizes) + len(shape))
    return broadcast_in_dim(operand, (*sizes, *shape), tuple(axes))


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """`x` with leading axes of size 1 up to `rank`."""
    own = rank_of(x)
    return as_array(x) if own == rank else broadcast(x, (1,) * (rank - own))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """`arr` broadcast to the shape of `like_arr` by NumPy's rules."""
    shape, target = shape_of(arr), shape_of(like_arr)
    if broadcast_shapes(shape, target) != target:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape} and requested {target}")
    lead = len(target) - len(shape)
    if shape == target:
        return as_array(arr)
    return broadcast_in_dim(arr, target, range(lead, len(target)))


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape that arrays of these shapes broadcast to, by NumPy's rules.

    ValueError where sizes differ and neither is 1.
    """
    sizes = [as_shape(shape) for shape in shapes]
    for shape in sizes:
        if any(map(surely_negative, shape)):
            raise TypeError(
                "Only non-negative indices are allowed when broadcasting static shapes, but got "
                f"shape {shape}."
            )
    if not sizes:
        return ()
    rank = max(map(len, sizes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in sizes]
    result = []
    for column in zip(*padded, strict=True):
        stretching = [size for size in column if not dims.same(size, 1)]
        if any(not dims.same(size, stretching[0]) for size in stretching):
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(sizes)}")
        result.append(stretching[0] if stretching else 1)
    return tuple(result)


# ------------------------------------------------------------------------------ joining, splitting


def concatenate(operands: Any, dimension: int) -> Any:
    """The operands one after the other along the axis `dimension`."""
    if is_array(operands) and hasattr(operands, "shape"):
        operands = list(operands)
    operands = errors.as_sequence(operands, "the operands of concatenate")
    if not len(operands):
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and is_array(operands[0]):
        return operands[0]
    return concatenate_p(*operands, dimension=errors.as_integer(dimension, "an axis"))


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """The operands, of one shape, along a new axis."""
    operands = errors.as_sequence(operands, "the operands of stack")
    if not len(operands):
        raise ValueError("stack expects at least one operand, got 0.")
    return stack_p(*operands, axis=as_axis(axis, rank_of(operands[0]) + 1))


def split(operand: Any, sizes: Any, axis: int = 0) -> list[Any]:
    """Parts of `operand` of these sizes along `axis`, which add up to its extent."""
    return split_p(operand, sizes=as_sizes(sizes), axis=as_axis(axis, rank_of(operand)))


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of `x` along `axis`, without that axis."""
    rank = rank_of(x)
    if not rank:
        raise ValueError(
            "unstack requires arrays with rank > 0, however a scalar array of shape () was passed."
        )
    return tuple(unstack_p(x, axis=as_axis(axis, rank)))


def tile(operand: Any, reps: Any) -> Any:
    """`operand` repeated reps[i] times along its axis i."""
    counts = as_sizes(reps)
    dims.check_sizes(counts, "tile reps")
    return tile_p(operand, reps=counts)


def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """`operand` with `padding_value` around and between its elements.

    padding_config: for each axis (low, high, interior); negative low and high cut off.
    """
    config = tuple(tuple(map(as_size, entry)) for entry in padding_config)
    if any(len(entry) != 3 for entry in config):
        raise ValueError(
            f"padding_config has (low, high, interior) for each axis, got {padding_config}"
        )
    return pad_p(operand, padding_value, padding_config=config)


# ---------------------------------------------------------------------------------- new arrays


def iota(dtype: Any, size: Any) -> Any:
    """0, 1, …, size - 1."""
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Any:
    """An array of `shape` whose elements are their index along `dimension`."""
    return iota_p(
        dtype=user_dtype(dtype, "broadcasted_iota"),
        shape=as_shape(shape),
        dimension=operator.index(dimension),
        sharding=None,
    )


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of `shape` with every element `fill_value`, a scalar.

    dtype: its element type; that of fill_value by default.  TypeError if fill_value has axes.
    """
    if type(fill_value) is int and dtype is not None:
        # It may fit the dtype and not the default one.
        number = converted_scalar(fill_value, user_dtype(dtype, "full"), False)
        return broadcast(number, as_shape(shape))
    sizes, fill = as_shape(shape), aval_of(fill_value)
    if fill.shape:
        raise TypeError(
            f"full must be called with scalar fill_value, got fill_value.shape {fill.shape}."
        )
    weak = dtype is None and fill.weak_type
    wanted = fill.dtype if dtype is None else user_dtype(dtype, "full")
    return broadcast(converted_scalar(fill_value, wanted, weak), sizes)


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Any:
    """An array like `x`, in shape and type unless these are given, filled with `fill_value`."""
    like = aval_of(x)
    sizes = like.shape if shape is None else as_shape(shape)
    wanted = like.dtype if dtype is None else user_dtype(dtype, "full_like")
    return full(sizes, converted_scalar(fill_value, wanted, dtype is None and like.weak_type))


def converted_scalar(value: Any, dtype: Any, weak: bool) -> Any:
    """`value` with another element type: a scalar without identity stays one.

    A key is filled by a number that all its words are.
    """
    if isinstance(dtype, KeyTy) and not isinstance(getattr(value, "dtype", None), KeyTy):
        words = full(dtype._impl.key_shape, np.asarray(value, np.uint32)[()], np.uint32)
        return random_wrap(words, impl=dtype._impl)
    if type(value) is int and not weak:
        return np.asarray(value).astype(dtype)[()]
    aval = aval_of(value)
    if aval.dtype == dtype and aval.weak_type == weak:
        return value
    if isinstance(dtype, dtypes.ExtendedDType) or isinstance(aval.dtype, dtypes.ExtendedDType):
        raise TypeError(
            f"a value of type {aval} cannot fill an array of {dtype}: give an element of that type."
        )
    is_scalar = isinstance(value, (bool, int, float, complex, np.generic))
    if is_scalar and not weak:
        return convert(np.asarray(value, aval.dtype), dtype)[()]
    if is_scalar and weak and np.isfinite(value):
        kind = complex if dtypes.is_complex(dtype) else float if dtypes.is_floating(dtype) else int
        if dtypes.python_scalar_dtype(kind) == dtype:
            return kind(value)
    return convert_element_type_p(value, new_dtype=dtype, weak_type=weak, sharding=None)


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array of `shape`, of zeros."""
    return full(shape, 0, dtype)


def shape_as_value(shape: Any) -> Any:
    """A shape as an integer array; symbolic sizes become values."""
    sizes = as_shape(shape)
    dtype = dtypes.python_scalar_dtype(int)
    if not dims.is_symbolic(sizes):
        return np.asarray(sizes, dtype)
    return concatenate([full((1,), dimension_as_value(s), dtype) for s in sizes], 0)


def dimension_as_value(size: Any) -> Any:
    """A size as a number: itself or, if it is symbolic, what it is when the program runs."""
    return dim_as_value_p(dim=size) if isinstance(size, dims.Dim) else size


# --------------------------------------------------------------------------------------- fences


def optimization_barrier(operand: Any, /) -> Any:
    """`operand`, a pytree, all leaves of which are computed before what reads the result."""
    leaves, tree = trees.flatten(operand)
    return trees.unflatten(tree, optimization_barrier_p(*leaves)) if leaves else operand
