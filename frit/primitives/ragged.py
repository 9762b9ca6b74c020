"""ragged_dot_general: a dot_general one axis of which is cut into groups of sizes that are data.

    the ragged axis of lhs is   free     each group of its rows meets its own slice of rhs
                                summed   a sum for each group, stacked in front
                                matched  groups change nothing

All rules come from its decomposition: operands masked to each group, and one dot_general.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.jaxpr import ClosedJaxpr, run_closed
from frit.ir.primitive import Primitive, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.comparison_and_bits import and_, le, lt, select_n
from frit.primitives.contraction import (
    Axes,
    check_axes,
    contracted_shape,
    dot_general,
    product_dtype,
)
from frit.primitives.cumulative import cumsum
from frit.primitives.elementwise import sub
from frit.primitives.reductions import evaluate_jaxpr
from frit.primitives.shapes import iota
from frit.transforms.batch import batch
from frit.transforms.linear import broadcast_in_dim, insert_axis, is_linear, transpose, zeros
from frit.transforms.rules import per_operand
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import transpose_call

Ints = tuple[int, ...]


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """The axes of a ragged product: those of a dot_general, the ragged one, the one of groups."""

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Any
    rhs_group_dimensions: Any

    def __post_init__(self) -> None:
        (sl, sr), (ml, mr) = self.dot_dimension_numbers
        numbers = ((tuple(sl), tuple(sr)), (tuple(ml), tuple(mr)))
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(self.lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(self.rhs_group_dimensions))


@dataclass(frozen=True, slots=True)
class _Ragged:
    """A view of the parameters: the contraction, its ragged axis, and what kind of axis that is."""

    axes: Axes
    ragged: int
    group: Ints
    kind: str  # free | summed | matched

    @staticmethod
    def of(numbers: RaggedDotDimensionNumbers) -> _Ragged:
        axes = Axes.of(numbers.dot_dimension_numbers)
        (ragged,) = numbers.lhs_ragged_dimensions
        kind = "free"
        if ragged in axes.summed[0]:
            kind = "summed"
        elif ragged in axes.matched[0]:
            kind = "matched"
        return _Ragged(axes, ragged, numbers.rhs_group_dimensions, kind)

    def prefix(self, rank: int) -> Ints:
        """The axes of lhs that group sizes may differ along, in their order."""
        free, summed, matched = self.axes.free(0, rank), self.axes.summed[0], self.axes.matched[0]
        before = {"free": free, "summed": summed, "matched": ()}[self.kind]
        if self.kind == "matched":
            return matched[: matched.index(self.ragged)]
        return (*matched, *before[: before.index(self.ragged)])


# ------------------------------------------------------------------------------------------ types


def _result_types(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: Any,
    out_sharding: Any = None,
) -> ShapedArray:
    if group_offset is not None:
        raise NotImplementedError("Unimplemented group_offset support.")
    _check_ragged(lhs, rhs, group_sizes, ragged_dot_dimension_numbers)
    view = _Ragged.of(ragged_dot_dimension_numbers)
    dtype = product_dtype(
        "lax.ragged_dot_general", lhs.dtype, rhs.dtype, preferred_element_type, precision
    )
    check_axes(lhs, rhs, view.axes)
    shape = contracted_shape(lhs.shape, rhs.shape, view.axes)
    if view.kind == "free":  # the axis of groups is no axis of the result
        before = len(view.axes.matched[0]) + len(view.axes.free(0, lhs.ndim))
        at = before + view.axes.free(1, rhs.ndim).index(view.group[0])
        shape = (*shape[:at], *shape[at + 1 :])
    if view.kind == "summed":
        shape = (group_sizes.shape[-1], *shape)
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


def _check_ragged(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    numbers: RaggedDotDimensionNumbers,
) -> None:
    if not isinstance(numbers, RaggedDotDimensionNumbers):
        raise TypeError(
            "ragged_dot_general: ragged_dot_dimension_numbers must be RaggedDotDimensionNumbers, "
            f"got {numbers!r}."
        )
    if not dtypes.is_integer(group_sizes.dtype):
        raise TypeError(
            "ragged_dot_general requires that group_sizes.dtype is subtype of np.integer."
        )
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension.")
    ragged = numbers.lhs_ragged_dimensions[0]
    if not 0 <= ragged < lhs.ndim:
        raise TypeError(
            "ragged_dot_general requires lhs ragged dimension numbers to be nonnegative and less "
            f"than the number of axes of the lhs value, got {ragged} for lhs of rank {lhs.ndim}."
        )
    view = _Ragged.of(numbers)
    if not group_sizes.ndim:
        raise TypeError("expected rank of group_sizes to be >=1.")
    prefix = tuple(lhs.shape[i] for i in view.prefix(lhs.ndim))
    if group_sizes.ndim != 1 and group_sizes.shape[:-1] != prefix:
        raise TypeError(
            f"expected group_sizes to have shape {(*prefix, group_sizes.shape[-1])}, got "
            f"{group_sizes.shape}."
        )
    if view.kind != "free":
        if view.group:
            raise TypeError(
                "ragged_dot_general requires zero group dimensions in the rhs when lhs ragged "
                "dimension is contracting or batch."
            )
        return
    if len(view.group) != 1:
        raise TypeError(
            "ragged_dot_general requires exactly one rhs group dimension when lhs ragged "
            "dimension is noncontracting."
        )
    group = view.group[0]
    if group in (*view.axes.summed[1], *view.axes.matched[1]):
        raise TypeError(
            "ragged_dot_general requires rhs group dimension numbers to be distinct from "
            "contracting and batch dimensions."
        )
    if not dims.same(rhs.shape[group], group_sizes.shape[-1]):
        raise TypeError(
            f"expected rhs group dimension size to be {group_sizes.shape[-1]}, got "
            f"{rhs.shape[group]}."
        )


# ---------------------------------------------------------------------------------- decomposition


def _in_groups(x: Any, group_sizes: Any, ragged: int, prefix: Ints) -> Any:
    """Copies of `x` stacked in front, one for each group, with zeros outside of the group."""
    aval, sizes = typeof(x), typeof(group_sizes)
    assert isinstance(aval, ShapedArray)
    assert isinstance(sizes, ShapedArray)
    shape = (sizes.shape[-1], *aval.shape)
    ends = cumsum(group_sizes, axis=sizes.ndim - 1, reverse=False)
    starts = sub(ends, group_sizes)
    along = prefix if sizes.ndim > 1 else ()
    ranked = sorted(range(len(along)), key=lambda i: along[i])
    places = (0, *(along[i] + 1 for i in ranked))

    def spread(bound: Any) -> Any:
        moved = transpose(bound, permutation=(len(along), *ranked))
        return broadcast_in_dim(moved, shape=shape, broadcast_dimensions=places, sharding=None)

    index = iota(dtype=sizes.dtype, shape=shape, dimension=ragged + 1, sharding=None)
    inside = and_(le(spread(starts), index), lt(index, spread(ends)))
    copies = insert_axis(x, 0, shape[0])
    return select_n(inside, zeros(typeof(copies)), copies)


def _up(axes: Ints) -> Ints:
    return tuple(i + 1 for i in axes)


def _decomposed(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    view = _Ragged.of(ragged_dot_dimension_numbers)
    (sl, sr), (ml, mr) = view.axes.summed, view.axes.matched
    params = {
        "precision": precision,
        "preferred_element_type": preferred_element_type,
        "out_sharding": None,
    }
    if view.kind == "matched":
        return dot_general(lhs, rhs, dimension_numbers=view.axes.numbers(), **params)
    rank = len(typeof(lhs).shape)  # type: ignore[attr-defined]
    prefix = view.prefix(rank)
    grouped = _in_groups(lhs, group_sizes, view.ragged, prefix)
    if view.kind == "free":
        numbers = (((*_up(sl), 0), (*sr, view.group[0])), (_up(ml), mr))
        return dot_general(grouped, rhs, dimension_numbers=numbers, **params)
    pairs = dict(zip((*sl, *ml), (*sr, *mr), strict=True))
    of_rhs = tuple(pairs[i] for i in prefix)
    grouped_rhs = _in_groups(rhs, group_sizes, pairs[view.ragged], of_rhs)
    numbers = ((_up(sl), _up(sr)), ((0, *_up(ml)), (0, *_up(mr))))
    return dot_general(grouped, grouped_rhs, dimension_numbers=numbers, **params)


def _jaxpr_of(operands: Any, params: Any) -> ClosedJaxpr:
    types = [x.aval if is_linear(x) else typeof(x) for x in operands]
    return ClosedJaxpr(*trace_to_jaxpr(lambda *xs: [_decomposed(*xs, **params)], types))


def _evaluate(*operands: Any, **params: Any) -> np.ndarray:
    arrays = [np.asarray(x) for x in operands]
    closed = _jaxpr_of(arrays, params)
    return np.asarray(evaluate_jaxpr(closed.jaxpr, closed.consts, *arrays)[0])


def _transpose(ct: Any, *operands: Any, **params: Any) -> list[Any]:
    return transpose_call(run_closed, _jaxpr_of(operands, params), [ct], operands)


def _batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> tuple[Any, Any]:
    results, out = batch(lambda *xs: [_decomposed(*xs, **params)], axis, operands, mapped)
    return results[0], out[0]


ragged_dot_general = Primitive(
    "ragged_dot_general",
    result_types=_result_types,
    evaluate=_evaluate,
    jvp=per_operand(
        lambda: ragged_dot_general,
        lambda t, x, y, sizes, **p: ragged_dot_general(t, y, sizes, **p),
        lambda t, x, y, sizes, **p: ragged_dot_general(x, t, sizes, **p),
        None,
    ),
    transpose=_transpose,
    batch=_batch,
    decompose=_decomposed,
    accuracy=order,
)
