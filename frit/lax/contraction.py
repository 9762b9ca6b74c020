"""Products of arrays summed over axes: dot_general and its special cases."""

from __future__ import annotations

from typing import Any

from frit import errors
from frit.ir import dims
from frit.lax.conversion import convert_element_type
from frit.lax.elementwise import mul
from frit.lax.operands import as_indices, rank_of, shape_of, user_dtype
from frit.lax.shapes import broadcast_in_dim, collapse
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
    "scaled_dot",
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
    summed, matched = errors.as_pair(dimension_numbers, "dimension_numbers")
    sl, sr = errors.as_pair(summed, "the contracting dimensions")
    ml, mr = errors.as_pair(matched, "the batch dimensions")
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


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The product of lhs * lhs_scale and rhs * rhs_scale, each formed in bfloat16.

    Along a contracting axis an element of the scale stands for a block of the operand; along the
    others the two agree.  By default the last axis of lhs meets the last but one of rhs, and the
    axes before are matched.  The result is in preferred_element_type, bfloat16 by default.
    """
    if dimension_numbers is None:
        rank = rank_of(lhs)
        if rank < 2:
            raise TypeError("scaled_dot does not support 0-rank and 1-rank operands.")
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    summed, _ = errors.as_pair(dimension_numbers, "dimension_numbers")
    of_lhs, of_rhs = errors.as_pair(summed, "the contracting dimensions")
    preferred = "bfloat16" if preferred_element_type is None else preferred_element_type
    return dot_general(
        _scaled("LHS", lhs, lhs_scale, of_lhs),
        _scaled("RHS", rhs, rhs_scale, of_rhs),
        dimension_numbers,
        preferred_element_type=preferred,
    )


def _scaled(side: str, x: Any, scale: Any, contracting: Any) -> Any:
    """x times its scale, repeated over the blocks along the contracting axes, in bfloat16."""
    x = convert_element_type(x, "bfloat16")
    if scale is None:
        return x
    shape, blocks = shape_of(x), shape_of(scale)
    if len(shape) != len(blocks):
        raise TypeError(
            f"All input tensors must have the same rank. Got {side} of shape {shape} and its scale "
            f"of shape {blocks}."
        )
    scale = convert_element_type(scale, "bfloat16")
    for axis, (size, count) in enumerate(zip(shape, blocks, strict=True)):
        if axis not in contracting:
            if not dims.same(size, count):
                raise TypeError(
                    f"{side} dim {axis} of size {size} does not match scale dim size {count}."
                )
            continue
        if dims.same(count, 0) or not dims.same(size % count, 0):
            raise TypeError(
                f"{side} contracting dim {axis} of size {size} must be divisible by its scale's "
                f"dim size {count}."
            )
        if size // count < 2:
            raise TypeError(
                f"The ratio of {side} contracting dim {axis} to its scale's dim size "
                f"({size // count}) must be at least 2."
            )
        scale = _repeated(scale, axis, size // count)
    return mul(x, scale)


def _repeated(x: Any, axis: int, times: int) -> Any:
    """Each element of `x` so many times in a row along `axis`."""
    shape = shape_of(x)
    spread = (*shape[: axis + 1], times, *shape[axis + 1 :])
    places = [i if i <= axis else i + 1 for i in range(len(shape))]
    return collapse(broadcast_in_dim(x, spread, places), axis, axis + 2)
