"""Products of arrays summed over axes: dot_general and its special cases."""

from __future__ import annotations

from typing import Any

from frit.ir import dims
from frit.lax.operands import as_indices, rank_of, shape_of, user_dtype
from frit.primitives.contraction import dot_general as dot_general_p
from frit.primitives.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    canonicalize_precision,
)

__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "batch_matmul",
    "dot",
    "dot_general",
    "dot_general_p",
]

DotDimensionNumbers = tuple[tuple[Any, Any], tuple[Any, Any]]
PrecisionLike = (
    str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Sums of products over the contracting axes, for each index of the batch axes.

    dimension_numbers: ((lhs contracting, rhs contracting), (lhs batch, rhs batch)).  The result's
    axes are the batch axes, then what is left of lhs, then what is left of rhs.
    preferred_element_type: the type to sum in and to return.
    """
    return dot(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def dot(
    lhs: Any,
    rhs: Any,
    *positional: Any,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of vectors and matrices, or of any arrays given `dimension_numbers`.

    ValueError where the shapes are not those of a plain product and no numbers are given.
    """
    if positional:
        precision, preferred_element_type = (*positional, precision, preferred_element_type)[:2]
    if dimension_numbers is None:
        left, right = shape_of(lhs), shape_of(rhs)
        ranks = 1 <= len(left) <= 2 and 1 <= len(right) <= 2
        if not ranks or not dims.same(left[-1], right[0]):
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={left} rhs_shape={right}"
            )
        dimension_numbers = (((len(left) - 1,), (0,)), ((), ()))
    (sl, sr), (ml, mr) = dimension_numbers
    preferred = preferred_element_type
    return dot_general_p(
        lhs,
        rhs,
        dimension_numbers=((as_indices(sl), as_indices(sr)), (as_indices(ml), as_indices(mr))),
        precision=canonicalize_precision(precision),
        preferred_element_type=None if preferred is None else user_dtype(preferred, "dot"),
        out_sharding=None,
    )


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Matrix products over the last two axes; the leading axes are matched."""
    ranks = rank_of(lhs), rank_of(rhs)
    if min(ranks) < 2:
        raise ValueError(
            f"Arguments to batch_matmul must be at least 2D, got {ranks[0]}, {ranks[1]}"
        )
    if ranks[0] != ranks[1]:
        raise ValueError(
            f"Arguments to batch_matmul must have same ndim, got {ranks[0]}, {ranks[1]}"
        )
    rank = ranks[0]
    batch = tuple(range(rank - 2))
    numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    return dot_general(lhs, rhs, numbers, precision=precision)
