"""Order: sorts of several operands, and the greatest elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit.ir import dims
from frit.lax.operands import as_axis, as_size, rank_of
from frit.primitives.sorting import approx_top_k as approx_top_k_p
from frit.primitives.sorting import sort as sort_p
from frit.primitives.sorting import top_k as top_k_p

__all__ = [
    "approx_max_k",
    "approx_min_k",
    "approx_top_k_p",
    "sort",
    "sort_key_val",
    "sort_p",
    "top_k",
    "top_k_p",
]


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """`operand` in ascending order along `dimension`; NaN last, equal elements in their order.

    Of a list or tuple of arrays of one shape the first `num_keys` decide the order, and all are
    arranged by it.  ValueError where there are not so many.
    """
    if isinstance(operand, (list, tuple)):
        if not operand:
            raise TypeError("Sort requires at least one operand")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(
                f"num_keys={num_keys} must be between 1 and len(operand)={len(operand)}"
            )
        axis = as_axis(dimension, rank_of(operand[0]))
        return tuple(sort_p(*operand, dimension=axis, is_stable=is_stable, num_keys=num_keys))
    if num_keys != 1:
        raise ValueError(f"num_keys={num_keys} must equal 1 for a single operand.")
    axis = as_axis(dimension, rank_of(operand))
    return sort_p(operand, dimension=axis, is_stable=is_stable, num_keys=1)[0]


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Any, Any]:
    """`keys` in ascending order along `dimension`, and `values` arranged alike."""
    axis = as_axis(dimension, rank_of(keys))
    k, v = sort_p(keys, values, dimension=axis, is_stable=is_stable, num_keys=1)
    return k, v


def top_k(operand: Any, k: Any, *, axis: int = -1) -> list[Any]:
    """The k greatest elements along `axis`, greatest first, and their indices."""
    k = as_size(k)
    if not isinstance(k, dims.Dim) and k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    return top_k_p(operand, k=k, axis=as_axis(axis, rank_of(operand)))


def _approximate(is_max_k: bool, described: str) -> Callable[..., list[Any]]:
    def function(
        operand: Any,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
    ) -> list[Any]:
        return approx_top_k_p(
            operand,
            k=k,
            reduction_dimension=reduction_dimension,
            recall_target=recall_target,
            is_max_k=is_max_k,
            reduction_input_size_override=reduction_input_size_override,
            aggregate_to_topk=aggregate_to_topk,
        )

    function.__name__ = function.__qualname__ = "approx_max_k" if is_max_k else "approx_min_k"
    function.__doc__ = f"""The k {described} elements along an axis, and their indices.

    The result is exact whatever recall_target says.
    """
    return function


approx_max_k = _approximate(True, "greatest")
approx_min_k = _approximate(False, "least")
