"""The family of primitives on matrices, and the arithmetic on matrices that their rules need.

    (…, m, n), (…, k) -> (…, m, k)       the leading axes are a batch, of one shape for all operands

A member is a function of single matrices (`evaluate`) and of the shapes of single matrices
(`shapes`); batches, types, mapping and failure are the family's: a member that raises Failed gives
nan for that matrix.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.primitive import Primitive, absent, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.arithmetic import div
from frit.primitives.comparison_and_bits import eq, ge, select_n
from frit.primitives.contraction import dot_general
from frit.primitives.conversion import conjugate, convert, real
from frit.primitives.elementwise import (
    add,
    check_dtype,
    complex_floating,
    constant,
    constant_array,
    floating,
    times,
)
from frit.primitives.index_numbers import GatherDimensionNumbers, GatherScatterMode
from frit.primitives.indexing import gather
from frit.primitives.padding import slice_axis
from frit.primitives.precision import Precision
from frit.primitives.shapes import iota
from frit.transforms.linear import axis_to_front, broadcast_in_dim, reduce_sum, transpose

INT32 = np.dtype("int32")
INEXACT = (floating, complex_floating)
_LAPACK = frozenset(map(np.dtype, ("f4", "f8", "c8", "c16")))


class Failed(Exception):
    """The decomposition of one matrix does not exist or was not found."""


# --------------------------------------------------------------------------------------- the family


def matrix_primitive(
    name: str,
    *,
    ranks: Sequence[int],
    shapes: Callable[..., Any],
    evaluate: Callable[..., Any],
    element_types: Callable[..., Any] | None = None,
    kinds: Sequence[Any] | None = None,
    multiple_results: bool = False,
    batched: bool = True,
    **rules: Any,
) -> Primitive:
    """A primitive on matrices (rank 2 each, or rank 1 for vectors), batched over leading axes.

    shapes(*shapes, **params): the shape of the result, or of each, for single matrices.
    evaluate(*matrices, **params): the result, or list of results, for single matrices.
    element_types(dtype, **params): those of the results; by default the operands'.
    kinds: what each operand may hold, where it is not all of one inexact type.
    """

    def result_types(*avals: ShapedArray, **params: Any) -> Any:
        _check_kinds(name, avals, kinds)
        batch, cores = _divided_shapes(name, avals, ranks, batched)
        dtype = avals[0].dtype
        weak = all(a.weak_type for a in avals)
        found = shapes(*cores, **params)
        made = element_types(dtype, **params) if element_types else dtype
        if not multiple_results:
            return ShapedArray((*batch, *found), made, weak)
        each = made if isinstance(made, tuple) else (made,) * len(found)
        return [ShapedArray((*batch, *s), d, weak) for s, d in zip(found, each, strict=True)]

    def evaluate_all(*arrays: Any, **params: Any) -> Any:
        arrays = tuple(map(np.asarray, arrays))
        if arrays[0].dtype not in _LAPACK and arrays[0].dtype != INT32:
            raise NotImplementedError(
                f"Unsupported dtype {arrays[0].dtype}: {name} is computed by LAPACK, which has "
                "float32, float64, complex64 and complex128. Convert with x.astype(jnp.float32)."
            )
        avals: list[Any] = [typeof(x) for x in arrays]
        types = result_types(*avals, **params)
        listed = types if multiple_results else [types]
        results = [np.empty(t.shape, t.dtype) for t in listed]
        for at in np.ndindex(arrays[0].shape[: arrays[0].ndim - ranks[0]]):
            try:
                found = evaluate(*(x[at] for x in arrays), **params)
            except Failed:
                for r in results:
                    r[at] = _failure(r.dtype)
                continue
            for r, value in zip(results, found if multiple_results else [found], strict=True):
                r[at] = value
        return results if multiple_results else results[0]

    def batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> Any:
        front = [axis_to_front(x, d, axis.size) for x, d in zip(operands, mapped, strict=True)]
        results = primitive(*front, **params)
        return results, [0] * len(results) if multiple_results else 0

    rules.setdefault("accuracy", order)
    rules.setdefault("batch", batch if batched else absent(f"{name} takes single matrices only"))
    primitive = Primitive(
        name,
        result_types=result_types,
        evaluate=evaluate_all,
        multiple_results=multiple_results,
        **rules,
    )
    return primitive


def _check_kinds(name: str, avals: Sequence[Any], kinds: Sequence[Any] | None) -> None:
    alone = len(avals) == 1
    for i, aval in enumerate(avals):
        check_dtype(name, INEXACT if kinds is None else kinds[i], aval, None if alone else i)
    if kinds is None and any(a.dtype != avals[0].dtype for a in avals):
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got "
            f"{', '.join(a.dtype.name for a in avals)}. Convert them with x.astype(dtype)."
        )


def _divided_shapes(
    name: str, avals: Sequence[Any], ranks: Sequence[int], batched: bool
) -> tuple[Any, list[Any]]:
    """The shape of the batch, and the shape of one matrix of each operand."""
    for i, (aval, rank) in enumerate(zip(avals, ranks, strict=True)):
        if aval.ndim < rank:
            raise TypeError(
                f"Input {i} to {name} must have rank at least {rank}, but got shape={aval.shape}"
            )
        if not batched and aval.ndim != rank:
            raise TypeError(
                f"Input {i} to {name} must have a rank of exactly {rank}, but got "
                f"shape={aval.shape}"
            )
    counts = [a.ndim - rank for a, rank in zip(avals, ranks, strict=True)]
    if len(set(counts)) > 1:
        raise TypeError(
            f"All inputs to {name} must have the same number of batch dimensions, but got "
            f"{counts} batch dimensions for the inputs."
        )
    first = avals[0].shape[: counts[0]]
    for aval in avals[1:]:
        if not all(map(dims.same, first, aval.shape[: counts[0]])):
            raise TypeError(
                f"All inputs to {name} must have the same batch dimensions, but got the shapes "
                f"{', '.join(str(a.shape) for a in avals)}."
            )
    return first, [a.shape[counts[0] :] for a in avals]


def _failure(dtype: np.dtype) -> Any:
    if dtype.kind == "c":
        return dtype.type(complex(np.nan, np.nan))
    return dtype.type(np.nan) if dtype.kind == "f" else dtype.type(0)


def smaller(m: Any, n: Any) -> Any:
    """min(m, n) of sizes, of which symbolic ones are compared by their bounds."""
    return m if dims.same(m, n) or m <= n else n


def check_square(shape: Sequence[Any], message: str) -> None:
    """ValueError with `message`, which names the function, unless the matrix is square."""
    if not dims.same(shape[0], shape[1]):
        raise ValueError(message)


def real_part_of(dtype: Any) -> np.dtype:
    """float32 for complex64, float64 for complex128; real types are themselves."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtypes.is_complex(dtype) else dtype


def complex_of(dtype: Any) -> np.dtype:
    """complex64 for float32, complex128 for float64; complex types are themselves."""
    return dtype if dtypes.is_complex(dtype) else np.dtype(f"c{2 * dtype.itemsize}")


# ------------------------------------------------------------------------- arithmetic on matrices


def shape_of(x: Any) -> tuple[Any, ...]:
    return typeof(x).shape  # type: ignore[attr-defined]


def dtype_of(x: Any) -> Any:
    return typeof(x).dtype  # type: ignore[attr-defined]


def transposed(x: Any) -> Any:
    """Each matrix transposed."""
    rank = len(shape_of(x))
    return transpose(x, permutation=(*range(rank - 2), rank - 1, rank - 2))


def real_parts(x: Any) -> Any:
    """The real parts of complex x; real x itself."""
    return real(x) if dtypes.is_complex(dtype_of(x)) else x


def adjoint(x: Any) -> Any:
    """Each matrix transposed and conjugated."""
    return conjugate(transposed(x))


def symmetrized(x: Any) -> Any:
    """The Hermitian part of each matrix: (x + x^H) / 2."""
    return div(add(x, adjoint(x)), constant(x, 2))


def product(x: Any, y: Any) -> Any:
    """The product of each pair of matrices."""
    rank = len(shape_of(x))
    batch = tuple(range(rank - 2))
    return dot_general(
        x,
        y,
        dimension_numbers=(((rank - 1,), (rank - 2,)), (batch, batch)),
        precision=(Precision.HIGHEST, Precision.HIGHEST),
        preferred_element_type=None,
        out_sharding=None,
    )


def _row_and_column(shape: Sequence[Any], offset: int) -> tuple[Any, Any]:
    """The number of each element's row, plus `offset`, and of its column."""

    def places(axis: int) -> Any:
        return iota(dtype=INT32, shape=tuple(shape), dimension=axis, sharding=None)

    return add(places(0), np.int32(offset)), places(1)


def _over_batch(mask: Any, shape: Sequence[Any]) -> Any:
    """A mask of one matrix, for each of a batch."""
    rank = len(shape)
    if rank == 2:
        return mask
    return broadcast_in_dim(
        mask, shape=tuple(shape), broadcast_dimensions=(rank - 2, rank - 1), sharding=None
    )


def lower_triangle(x: Any, k: int = 0) -> Any:
    """Each matrix with zeros above its diagonal k."""
    shape = shape_of(x)
    kept = _over_batch(ge(*_row_and_column(shape[-2:], k)), shape)
    return select_n(kept, constant_array(x, 0), x)


def upper_triangle(x: Any, k: int = 0) -> Any:
    """Each matrix with zeros below its diagonal k."""
    shape = shape_of(x)
    below = _over_batch(ge(*_row_and_column(shape[-2:], k - 1)), shape)
    return select_n(below, x, constant_array(x, 0))


def _on_diagonal(m: Any, n: Any) -> Any:
    return eq(*_row_and_column((m, n), 0))


def identity(dtype: Any, m: Any, n: Any) -> Any:
    """The matrix of m by n with ones on its diagonal."""
    return convert(_on_diagonal(m, n), dtype)


def identity_like(x: Any) -> Any:
    """The identity for each matrix of x."""
    shape = shape_of(x)
    return _over_batch(identity(dtype_of(x), *shape[-2:]), shape)


def diagonal_of(x: Any) -> Any:
    """The diagonal of each square matrix."""
    shape = shape_of(x)
    chosen = _over_batch(_on_diagonal(*shape[-2:]), shape)
    return reduce_sum(
        select_n(chosen, constant_array(x, 0), x), axes=(len(shape) - 1,), out_sharding=None
    )


def columns(s: Any, rows: Any) -> Any:
    """s[…, i] in column i of a matrix, for every row."""
    shape = shape_of(s)
    rank = len(shape)
    return broadcast_in_dim(
        s,
        shape=(*shape[:-1], rows, shape[-1]),
        broadcast_dimensions=(*range(rank - 1), rank),
        sharding=None,
    )


def scaled_columns(x: Any, s: Any) -> Any:
    """Column i of each matrix times s[…, i]."""
    return times(x, columns(s, shape_of(x)[-2]))


def part(x: Any, rows: slice, of_columns: slice) -> Any:
    """x[…, rows, of_columns], for slices with steps of 1."""
    rank = len(shape_of(x))
    for axis, s in ((rank - 2, rows), (rank - 1, of_columns)):
        size = shape_of(x)[axis]
        start, stop = s.start or 0, size if s.stop is None else s.stop
        if operator.index(start) or not dims.same(stop, size):
            x = slice_axis(x, axis, start, stop)
    return x


def rows_in_order(x: Any, permutation: Any) -> Any:
    """The rows of each matrix in the order of its permutation: x[…, permutation, :]."""
    shape, order_shape = shape_of(x), shape_of(permutation)
    count = len(shape) - 2
    batch = tuple(range(count))
    indices = broadcast_in_dim(
        permutation,
        shape=(*order_shape, 1),
        broadcast_dimensions=tuple(range(count + 1)),
        sharding=None,
    )
    return gather(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers((count + 1,), (count,), (count,), batch, batch),
        slice_sizes=(*(1,) * count, 1, shape[-1]),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )
