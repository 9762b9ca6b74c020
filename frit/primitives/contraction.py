"""dot_general: products of two arrays, summed over some axes and matched along others.

dimension_numbers = ((summed of lhs, summed of rhs), (matched of lhs, matched of rhs))
result's axes     = matched, free axes of lhs, free axes of rhs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from frit.ir import dims, dtypes
from frit.ir.primitive import Params, Primitive, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.conversion import convert_element_type
from frit.primitives.precision import DotAlgorithm, DotAlgorithmPreset
from frit.transforms.linear import transpose
from frit.transforms.rules import per_linear_operand, per_operand

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Axes:
    """Which axes of (lhs, rhs) are summed over and which are matched; the rest are free."""

    summed: tuple[Ints, Ints]
    matched: tuple[Ints, Ints]

    @staticmethod
    def of(dimension_numbers: Any) -> Axes:
        (sl, sr), (ml, mr) = dimension_numbers
        return Axes((tuple(sl), tuple(sr)), (tuple(ml), tuple(mr)))

    def numbers(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """These axes as the parameter `dimension_numbers`."""
        return self.summed, self.matched

    def free(self, side: int, rank: int) -> Ints:
        taken = (*self.summed[side], *self.matched[side])
        return tuple(i for i in range(rank) if i not in taken)

    def swapped(self) -> Axes:
        return Axes(self.summed[::-1], self.matched[::-1])

    def making_room(self, side: int, at: int) -> Axes:
        """The same contraction after the operand on `side` gained an axis at position `at`."""

        def shifted(pair: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
            moved = tuple(i if i < at else i + 1 for i in pair[side])
            return (moved, pair[1]) if side == 0 else (pair[0], moved)

        return Axes(shifted(self.summed), shifted(self.matched))

    def matching(self, lhs: int, rhs: int) -> Axes:
        """The same contraction with one more matched pair, in front."""
        left, right = self.matched
        return Axes(self.summed, ((lhs, *left), (rhs, *right)))


# ------------------------------------------------------------------------------------------ types


def contracted_shape(lhs: Any, rhs: Any, axes: Axes) -> tuple[Any, ...]:
    """The shape of the result for operands of the shapes `lhs` and `rhs`."""
    return (
        *(lhs[i] for i in axes.matched[0]),
        *(lhs[i] for i in axes.free(0, len(lhs))),
        *(rhs[i] for i in axes.free(1, len(rhs))),
    )


def check_axes(lhs: ShapedArray, rhs: ShapedArray, axes: Axes) -> None:
    for side, name, x in ((0, "lhs", lhs), (1, "rhs", rhs)):
        summed, matched = axes.summed[side], axes.matched[side]
        if not all(0 <= i < x.ndim for i in (*summed, *matched)):
            raise TypeError(
                f"dot_general requires {name} dimension numbers to be nonnegative and less than "
                f"the number of axes of the {name} value, got {name}_batch of {matched} and "
                f"{name}_contracting of {summed} for {name} of rank {x.ndim}"
            )
    if len(axes.matched[0]) != len(axes.matched[1]):
        raise TypeError(
            "dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, got "
            f"lhs_batch {axes.matched[0]} and rhs_batch {axes.matched[1]}."
        )
    for side, name in ((0, "lhs"), (1, "rhs")):
        for kind, word in ((axes.matched[side], "batch"), (axes.summed[side], "contracting")):
            if len(set(kind)) != len(kind):
                raise TypeError(
                    f"dot_general requires {name} {word} dimensions to be distinct, got "
                    f"{name}_{word} {kind}."
                )
        if set(axes.summed[side]) & set(axes.matched[side]):
            raise TypeError(
                f"dot_general requires {name} batch dimensions to be disjoint from contracting "
                f"dimensions, got {name}_batch {axes.matched[side]} and {name}_contracting "
                f"{axes.summed[side]}."
            )
    _check_equal_sizes(
        lhs,
        rhs,
        axes.matched,
        "dot_general requires lhs batch dimensions and rhs batch dimensions to have the same shape",
    )
    _check_equal_sizes(
        lhs,
        rhs,
        axes.summed,
        "dot_general requires contracting dimensions to have the same shape",
    )


def _check_equal_sizes(
    lhs: ShapedArray, rhs: ShapedArray, pairs: tuple[Ints, Ints], complaint: str
) -> None:
    left = tuple(lhs.shape[i] for i in pairs[0])
    right = tuple(rhs.shape[i] for i in pairs[1])
    if len(left) != len(right) or not all(map(dims.same, left, right)):
        raise TypeError(f"{complaint}, got {left} and {right}.")


def _strength(dtype: np.dtype) -> tuple[Any, ...]:
    """What decides which operand's type a product of mixed types has."""
    is_complex = dtypes.is_complex(dtype)
    real = np.zeros((), dtype).real.dtype if is_complex else dtype
    if dtypes.is_floating(real):
        limits = ml_dtypes.finfo(real)
        return is_complex, limits.maxexp, limits.nmant, limits.bits, True
    return is_complex, -1, -1, _bits(real), real not in dtypes.UNSIGNED


def _bits(dtype: np.dtype) -> int:
    if dtypes.is_bool(dtype):
        return 1
    return ml_dtypes.iinfo(dtype).bits if dtypes.is_integer(dtype) else ml_dtypes.finfo(dtype).bits


def product_dtype(name: str, lhs: np.dtype, rhs: np.dtype, preferred: Any, precision: Any) -> Any:
    """The element type of sums of products."""
    for dtype in (lhs, rhs):
        if isinstance(dtype, dtypes.ExtendedDType):
            raise TypeError(f"{name} does not accept dtype {dtype}: its elements are no numbers.")
    left, right = _strength(lhs), _strength(rhs)
    if left == right and lhs != rhs:
        raise TypeError(f"{name} argument type error: {lhs}, {rhs}")
    result = lhs if left >= right else rhs
    if preferred is None or result == preferred:
        return result
    is_algorithm = isinstance(precision, (DotAlgorithm, DotAlgorithmPreset))
    if not is_algorithm and not dtypes.is_floating(result) and _bits(preferred) < _bits(result):
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type, got "
            f"preferred_element_type of {preferred} for result type of {result}."
        )
    return preferred


def _result_types(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any = None,
) -> ShapedArray:
    axes = Axes.of(dimension_numbers)
    check_axes(lhs, rhs, axes)
    dtype = product_dtype(
        "lax.dot_general", lhs.dtype, rhs.dtype, preferred_element_type, precision
    )
    shape = contracted_shape(lhs.shape, rhs.shape, axes)
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


# ---------------------------------------------------------------------------------------- meaning


def summing_dtype(result: np.dtype, *operands: np.dtype) -> np.dtype:
    """The type that products are summed in: the widest at hand, float32 for narrow floats."""
    if dtypes.is_floating(result) and result.itemsize <= 2:
        wide = [d for d in operands if dtypes.is_floating(d) and d.itemsize > 2]
        return max(wide, key=lambda d: d.itemsize, default=np.dtype(np.float32))
    wider = [d for d in operands if d.kind == result.kind and d.itemsize > result.itemsize]
    return max(wider, key=lambda d: d.itemsize, default=result)


def _evaluate(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any = None,
) -> np.ndarray:
    lhs, rhs = np.asarray(lhs), np.asarray(rhs)
    axes = Axes.of(dimension_numbers)
    result = product_dtype("dot_general", lhs.dtype, rhs.dtype, preferred_element_type, precision)
    wide = summing_dtype(result, lhs.dtype, rhs.dtype)
    free = axes.free(0, lhs.ndim), axes.free(1, rhs.ndim)
    matched = tuple(lhs.shape[i] for i in axes.matched[0])
    summed = int(np.prod([lhs.shape[i] for i in axes.summed[0]]))
    left = lhs.astype(wide).transpose(*axes.matched[0], *free[0], *axes.summed[0])
    right = rhs.astype(wide).transpose(*axes.matched[1], *axes.summed[1], *free[1])
    rows = int(np.prod([lhs.shape[i] for i in free[0]]))
    columns = int(np.prod([rhs.shape[i] for i in free[1]]))
    product = np.matmul(
        left.reshape(*matched, rows, summed), right.reshape(*matched, summed, columns)
    )
    return product.reshape(contracted_shape(lhs.shape, rhs.shape, axes)).astype(result)


# --------------------------------------------------------------------------------- other rules


def _cotangent_of_lhs(
    ct: Any, x: Any, y: Any, *, dimension_numbers: Any, swapped: bool = False, **params: Any
) -> Any:
    """The product of `ct` and y over what is free in y; `swapped`: x was the right operand."""
    axes = Axes.of(dimension_numbers)
    y_rank = len(typeof(y).shape)  # type: ignore[attr-defined]
    x_free, y_free = axes.free(0, len(x.shape)), axes.free(1, y_rank)
    count = len(axes.matched[0])
    matched = tuple(range(count))
    before = count if swapped else count + len(x_free)
    of_y = tuple(range(before, before + len(y_free)))
    product = dot_general(
        ct, y, dimension_numbers=((of_y, y_free), (matched, axes.matched[1])), **params
    )
    # The product's axes: matched, free in x, then summed in the order in which y has them.
    in_order_of_y = [axes.summed[0][i] for i in np.argsort(axes.summed[1], kind="stable")]
    back = np.argsort([*axes.matched[0], *x_free, *in_order_of_y])
    if not all(i == b for i, b in enumerate(back)):
        product = transpose(product, permutation=tuple(map(int, back)))
    if typeof(product).dtype != x.dtype:  # type: ignore[attr-defined]
        product = convert_element_type(
            product, new_dtype=x.dtype, weak_type=x.aval.weak_type, sharding=None
        )
    return product


def _cotangent_of_rhs(ct: Any, x: Any, y: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    numbers = Axes.of(dimension_numbers).swapped().numbers()
    return _cotangent_of_lhs(ct, y, x, dimension_numbers=numbers, swapped=True, **params)


def batched_axes(
    ranks: Sequence[int], mapped: Sequence[int | None], axes: Axes
) -> tuple[Axes, int]:
    """The contraction of operands with a mapped axis each or one, and where the result has it.

    `ranks` are those before mapping.  Both mapped: one more matched axis.  One: it is free.
    """
    left, right = mapped
    if left is not None and right is not None:
        return axes.making_room(0, left).making_room(1, right).matching(left, right), 0
    count = len(axes.matched[0])
    if left is not None:
        before = sum(i < left for i in axes.free(0, ranks[0]))
        return axes.making_room(0, left), count + before
    assert right is not None
    before = len(axes.free(0, ranks[0])) + sum(i < right for i in axes.free(1, ranks[1]))
    return axes.making_room(1, right), count + before


def _batch(
    axis: Any, operands: Any, mapped: Any, *, dimension_numbers: Any, **params: Any
) -> tuple[Any, int]:
    ranks = [
        len(typeof(x).shape) - (d is not None)  # type: ignore[attr-defined]
        for x, d in zip(operands, mapped, strict=True)
    ]
    axes, at = batched_axes(ranks, mapped, Axes.of(dimension_numbers))
    return dot_general(*operands, dimension_numbers=axes.numbers(), **params), at


def _shown(eqn: Any) -> Params:
    (sl, sr), (ml, mr) = eqn.params["dimension_numbers"]
    shown = {k: v for k, v in eqn.params.items() if v is not None and k != "out_sharding"}
    return shown | {"dimension_numbers": ((list(sl), list(sr)), (list(ml), list(mr)))}


dot_general = Primitive(
    "dot_general",
    result_types=_result_types,
    evaluate=_evaluate,
    jvp=per_operand(
        lambda: dot_general,
        lambda t, x, y, **p: dot_general(t, y, **p),
        lambda t, x, y, **p: dot_general(x, t, **p),
    ),
    transpose=per_linear_operand(_cotangent_of_lhs, _cotangent_of_rhs),
    batch=_batch,
    shown=_shown,
    accuracy=order,
)
