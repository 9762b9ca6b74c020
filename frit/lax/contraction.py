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
from frit.primitives.ragged import RaggedDotDimensionNumbers
from frit.primitives.ragged import ragged_dot_general as ragged_dot_general_p

__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "RaggedDotDimensionNumbers",
    "batch_matmul",
    "dot",
    "dot_general",
    "dot_general_p",
    "ragged_dot",
    "ragged_dot_general",
    "ragged_dot_general_p",
]

_ROWS_BY_GROUP = RaggedDotDimensionNumbers(
    dot_dimension_numbers=(((1,), (1,)), ((), ())),
    lhs_ragged_dimensions=(0,),
    rhs_group_dimensions=(0,),
)
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
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of vectors and matrices, or of any arrays given `dimension_numbers`.

    ValueError where the shapes are not those of a plain product and no numbers are given.
    """
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


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Rows of lhs (m, k), cut into groups of `group_sizes`, by matrices of theirs, rhs (g, k, n).

    Rows beyond the last group give zeros.
    """
    return ragged_dot_general(
        lhs, rhs, group_sizes, _ROWS_BY_GROUP, precision, preferred_element_type, group_offset
    )


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`dot_general` with one axis of lhs cut into groups.

    A free ragged axis: each group meets its own slice of rhs.  A summed one: a product for each
    group, stacked in front.  A matched one: the groups change nothing.
    """
    preferred = preferred_element_type
    return ragged_dot_general_p(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=None if preferred is None else user_dtype(preferred, "ragged_dot"),
        group_offset=group_offset,
        out_sharding=None,
    )
