"""Reductions over axes: an associative operation folds the elements of each slice into one.

reduce_sum, which transforms emit as well, stands in transforms/linear.py.  `reduce` folds by a
jaxpr, (*accumulated, *elements) -> (*accumulated).  argmax and argmin give the first extreme
element; NaN counts as more extreme than any number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from frit.ir import dims, dtypes
from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, run_closed
from frit.ir.primitive import Primitive, absent, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.arithmetic import div
from frit.primitives.comparison_and_bits import eq
from frit.primitives.conversion import convert_element_type
from frit.primitives.elementwise import times
from frit.primitives.padding import pad, slice_axis
from frit.primitives.shapes import reshape, squeeze, stack
from frit.transforms.batch import Axis, batch
from frit.transforms.jvp import jvp
from frit.transforms.linear import (
    axis_to_front,
    batch_reduction,
    check_reduced,
    full,
    is_zero,
    reduce_sum,
)
from frit.transforms.rules import not_differentiable, zero_tangent

__all__ = [
    "argmax",
    "argmin",
    "evaluate_jaxpr",
    "identity_of_max",
    "identity_of_min",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]


def dtype_name(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype))


def identity_of_max(dtype: Any) -> Any:
    """The element of `dtype` that no other falls below."""
    return _extreme(dtype, lowest=True)


def identity_of_min(dtype: Any) -> Any:
    """The element of `dtype` that no other exceeds."""
    return _extreme(dtype, lowest=False)


def _extreme(dtype: Any, *, lowest: bool) -> Any:
    if dtypes.is_bool(dtype):
        return np.False_ if lowest else np.True_
    if dtypes.is_integer(dtype):
        limits = ml_dtypes.iinfo(dtype)
        return np.array(limits.min if lowest else limits.max).astype(dtype)[()]
    if dtypes.is_complex(dtype):
        part = -np.inf if lowest else np.inf
        return dtype.type(complex(part, part))
    if not dtypes.is_floating(dtype):
        raise ValueError(f"Unsupported dtype for {'max' if lowest else 'min'}: {dtype}")
    infinity = np.array(-np.inf if lowest else np.inf).astype(dtype)[()]
    if np.isinf(infinity):
        return infinity
    finite = ml_dtypes.finfo(dtype)
    return finite.min if lowest else finite.max


# ------------------------------------------------------------ reduce_max, reduce_min, reduce_prod


def _ordered_types(name: str) -> Callable[..., Any]:
    def result_types(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if isinstance(x.dtype, dtypes.ExtendedDType):
            raise TypeError(f"{name} does not accept dtype {x.dtype}: its elements have no order.")
        return x.update(shape=check_reduced(name, x, axes))

    return result_types


def _number_types(name: str) -> Callable[..., Any]:
    def result_types(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if not (dtypes.is_inexact(x.dtype) or dtypes.is_integer(x.dtype)):
            raise TypeError(
                f"{name} does not accept dtype {dtype_name(x.dtype)}. Accepted dtypes are "
                "subtypes of number."
            )
        return x.update(shape=check_reduced(name, x, axes))

    return result_types


def _logical_types(name: str) -> Callable[..., Any]:
    def result_types(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if not (dtypes.is_bool(x.dtype) or dtypes.is_integer(x.dtype)):
            raise TypeError(
                f"logical reduction requires operand dtype bool or int, got {dtype_name(x.dtype)}."
            )
        return ShapedArray(check_reduced(name, x, axes), x.dtype)

    return result_types


def is_narrow(dtype: Any) -> bool:
    """Whether sums of `dtype` are accumulated in float32."""
    return dtypes.is_floating(dtype) and dtype.itemsize <= 2


def _evaluate_extreme(ufunc: np.ufunc, identity: Callable[[Any], Any]) -> Callable[..., Any]:
    def evaluate(x: Any, *, axes: tuple[int, ...]) -> np.ndarray:
        x = np.asarray(x)
        start = identity(x.dtype)
        if is_narrow(x.dtype):  # exact in float32
            wide = ufunc.reduce(x.astype(np.float32), axis=tuple(axes), initial=np.float32(start))
            result = np.asarray(wide).astype(x.dtype)
        else:
            result = np.asarray(ufunc.reduce(x, axis=tuple(axes), initial=start), x.dtype)
        return _zero_signs(x, result, axes, ufunc) if dtypes.is_floating(x.dtype) else result

    return evaluate


def _zero_signs(x: np.ndarray, result: np.ndarray, axes: Any, ufunc: np.ufunc) -> np.ndarray:
    """`result` with +0 above -0, which NumPy takes for equal."""
    if not np.any(result == 0):
        return result
    positive = np.any((x == 0) & ~np.signbit(x), axis=tuple(axes))
    negative = np.any((x == 0) & np.signbit(x), axis=tuple(axes))
    is_negative = ~positive if ufunc is np.maximum else negative
    zero = np.where(is_negative, -0.0, 0.0).astype(x.dtype)
    return np.where(result == 0, zero, result)


def _prod_evaluate(x: Any, *, axes: tuple[int, ...]) -> np.ndarray:
    x = np.asarray(x)
    wide = np.float32 if is_narrow(x.dtype) else x.dtype
    return np.asarray(np.prod(x, axis=tuple(axes), dtype=wide)).astype(x.dtype)


def _evaluate_bits(ufunc: np.ufunc, identity: int) -> Callable[..., Any]:
    def evaluate(x: Any, *, axes: tuple[int, ...]) -> np.ndarray:
        x = np.asarray(x)
        start = np.array(identity).astype(x.dtype)[()]
        return np.asarray(ufunc.reduce(x, axis=tuple(axes), initial=start), x.dtype)

    return evaluate


def _extreme_jvp(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """The tangent of the extreme elements, averaged where several are equal."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axes: Any) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        result = primitive()(x, axes=axes)
        if is_zero(t):
            return result, zero_tangent(result)
        aval = typeof(x)
        assert isinstance(aval, ShapedArray)
        shape = tuple(1 if i in axes else size for i, size in enumerate(aval.shape))
        kept = reshape(result, new_sizes=shape, dimensions=None, sharding=None)
        chosen = convert_element_type(
            eq(x, kept), new_dtype=aval.dtype, weak_type=False, sharding=None
        )
        count = reduce_sum(chosen, axes=axes, out_sharding=None)
        total = reduce_sum(times(t, chosen), axes=axes, out_sharding=None)
        return result, div(total, count)

    return jvp


def fold_by_halves(
    combine: Callable[..., Sequence[Any]],
    identities: Sequence[Any],
    operands: Sequence[Any],
    axes: Sequence[int],
) -> list[Any]:
    """The fold of `operands` over `axes`: one half is combined with the other, until one is left.

    `combine(*firsts, *seconds)` works on whole arrays.  The derivative of a reduction is that of
    this fold: it has logarithmic depth, and needs no inverse.
    """
    shape = typeof(operands[0]).shape  # type: ignore[attr-defined]
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    count = dims.product(shape[i] for i in axes)
    if isinstance(count, dims.Dim):
        raise NotImplementedError(
            f"the derivative of a reduction over {count} elements, a symbolic number: trace with "
            "concrete shapes."
        )
    rows = tuple(shape[i] for i in kept)
    moved = (*axes, *kept)
    dimensions = None if moved == tuple(range(len(shape))) else moved
    xs = [
        x
        if dimensions is None and len(axes) == 1
        else reshape(x, new_sizes=(count, *rows), dimensions=dimensions, sharding=None)
        for x in operands
    ]
    while count > 1:
        half = (count + 1) // 2
        firsts = [slice_axis(x, 0, 0, half) for x in xs]
        seconds = [slice_axis(x, 0, half, count) for x in xs]
        if count % 2:
            config = ((0, 1, 0), *(((0, 0, 0),) * len(rows)))
            pairs = zip(seconds, identities, strict=True)
            seconds = [pad(x, i, padding_config=config) for x, i in pairs]
        xs = list(combine(*firsts, *seconds))
        count = half
    if count == 0:
        return [
            full(ShapedArray(rows, typeof(x).dtype), i)  # type: ignore[attr-defined]
            for x, i in zip(xs, identities, strict=True)
        ]
    return [squeeze(x, dimensions=(0,)) for x in xs]


def _prod_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axes: Any) -> tuple[Any, Any]:
    one = np.ones((), typeof(primals[0]).dtype)[()]  # type: ignore[attr-defined]
    results, moved = jvp(
        lambda x: fold_by_halves(lambda a, b: [times(a, b)], [one], [x], axes), primals, tangents
    )
    return results[0], moved[0]


def _reduction(name: str, **rules: Any) -> Primitive:
    primitive = Primitive(name, **rules)
    primitive.batch = batch_reduction(primitive)
    return primitive


reduce_max = _reduction(
    "reduce_max",
    result_types=_ordered_types("reduce_max"),
    evaluate=_evaluate_extreme(np.maximum, identity_of_max),
    jvp=_extreme_jvp(lambda: reduce_max),
)
reduce_min = _reduction(
    "reduce_min",
    result_types=_ordered_types("reduce_min"),
    evaluate=_evaluate_extreme(np.minimum, identity_of_min),
    jvp=_extreme_jvp(lambda: reduce_min),
)
reduce_prod = _reduction(
    "reduce_prod",
    result_types=_number_types("reduce_prod"),
    evaluate=_prod_evaluate,
    jvp=_prod_jvp,
    accuracy=order,
)
reduce_and = _reduction(
    "reduce_and",
    result_types=_logical_types("reduce_and"),
    evaluate=_evaluate_bits(np.bitwise_and, -1),
    jvp=not_differentiable(lambda: reduce_and),
)
reduce_or = _reduction(
    "reduce_or",
    result_types=_logical_types("reduce_or"),
    evaluate=_evaluate_bits(np.bitwise_or, 0),
    jvp=not_differentiable(lambda: reduce_or),
)
reduce_xor = _reduction(
    "reduce_xor",
    result_types=_logical_types("reduce_xor"),
    evaluate=_evaluate_bits(np.bitwise_xor, 0),
    jvp=not_differentiable(lambda: reduce_xor),
)


# --------------------------------------------------------------------------------- argmax, argmin


def _arg_types(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: Any) -> ShapedArray:
    (axis,) = axes
    if not 0 <= axis < x.ndim:
        raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
    if dims.same(x.shape[axis], 0):
        raise ValueError(
            "argmin and argmax require non-empty reduced dimension. "
            f"operand.shape={x.shape} axis={axis}"
        )
    if not dtypes.is_integer(index_dtype):
        raise TypeError(f"index_dtype must be an integer type, but got {dtype_name(index_dtype)}")
    if dtypes.is_complex(x.dtype) or isinstance(x.dtype, dtypes.ExtendedDType):
        raise TypeError(
            f"argmin and argmax do not accept dtype {dtype_name(x.dtype)}: its elements have no "
            "order. Accepted dtypes are subtypes of integer, floating, bool."
        )
    return ShapedArray(tuple(s for i, s in enumerate(x.shape) if i != axis), index_dtype)


def _evaluate_arg(chooser: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(x: Any, *, axes: tuple[int, ...], index_dtype: Any) -> np.ndarray:
        x = np.asarray(x)
        if is_narrow(x.dtype):
            x = x.astype(np.float32)
        return np.asarray(chooser(x, axis=axes[0])).astype(index_dtype)

    return evaluate


argmax = _reduction(
    "argmax",
    result_types=_arg_types,
    evaluate=_evaluate_arg(np.argmax),
    jvp=not_differentiable(lambda: argmax),
)
argmin = _reduction(
    "argmin",
    result_types=_arg_types,
    evaluate=_evaluate_arg(np.argmin),
    jvp=not_differentiable(lambda: argmin),
)


# ----------------------------------------------------------------------------------------- reduce


def evaluate_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *operands: Any) -> list[Any]:
    """The outputs of `jaxpr` by the `evaluate` rules of its primitives, on NumPy arrays."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, map(np.asarray, consts), strict=True))
    values.update(zip(jaxpr.invars, operands, strict=True))

    def read(atom: Any) -> Any:
        if type(atom) is Literal:
            return np.asarray(atom.val, atom.aval.storage_dtype)
        return values[atom]

    for eqn in jaxpr.eqns:
        results = eqn.primitive.evaluate(*map(read, eqn.invars), **eqn.params)
        many = eqn.primitive.multiple_results
        values.update(zip(eqn.outvars, results if many else [results], strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _is_pointwise(jaxpr: Jaxpr) -> bool:
    return all(eqn.primitive.pointwise for eqn in jaxpr.eqns)


def evaluate_scalar_jaxpr(closed: ClosedJaxpr, *operands: np.ndarray) -> list[np.ndarray]:
    """A jaxpr of scalars on each element of arrays of one shape."""
    if _is_pointwise(closed.jaxpr):
        shape = operands[0].shape
        results = evaluate_jaxpr(closed.jaxpr, closed.consts, *operands)
        return [np.broadcast_to(r, shape) for r in results]
    results = [np.empty(operands[0].shape, v.aval.storage_dtype) for v in closed.jaxpr.outvars]
    for at in np.ndindex(operands[0].shape):
        scalars = [x[at] for x in operands]
        for target, r in zip(
            results, evaluate_jaxpr(closed.jaxpr, closed.consts, *scalars), strict=True
        ):
            target[at] = r
    return results


def _reduce_types(*types: ShapedArray, computation: Any, dimensions: Any, jaxpr: Any) -> list[Any]:
    count = len(types) // 2
    operands, starts = types[:count], types[count:]
    if any(t.shape for t in starts):
        raise ValueError(f"reduce found non-scalar initial value: {[t.shape for t in starts]}")
    if [t.dtype for t in operands] != [t.dtype for t in starts]:
        raise TypeError(
            "reduce operand dtypes should match corresponding initial value dtypes, got operands="
            f"{list(operands)} and initial_values={list(starts)}"
        )
    if len({t.shape for t in operands}) > 1:
        raise ValueError(f"reduce operands must have one shape, got {[t.shape for t in operands]}")
    return [
        ShapedArray(check_reduced("reduce", x, dimensions), x.dtype, x.weak_type and s.weak_type)
        for x, s in zip(operands, starts, strict=True)
    ]


def _reduce_evaluate(*operands: Any, computation: Any, dimensions: Any, jaxpr: Any) -> list[Any]:
    count = len(operands) // 2
    xs = [np.asarray(x) for x in operands[:count]]
    kept = [i for i in range(xs[0].ndim) if i not in dimensions]
    shape = tuple(xs[0].shape[i] for i in kept)
    rows = [np.transpose(x, [*dimensions, *kept]).reshape(-1, *shape) for x in xs]
    totals = [np.full(shape, start, x.dtype) for start, x in zip(operands[count:], xs, strict=True)]
    for elements in zip(*rows, strict=True):
        totals = evaluate_scalar_jaxpr(jaxpr, *totals, *elements)
    return [np.asarray(t, x.dtype) for t, x in zip(totals, xs, strict=True)]


def _reduce_jvp(
    primals: Any, tangents: Any, *, computation: Any, dimensions: Any, jaxpr: ClosedJaxpr
) -> tuple[Any, Any]:
    count = len(primals) // 2
    if not all(map(is_zero, tangents[count:])):
        raise NotImplementedError(
            "Gradient of general lax.reduce with non-zero tangents for initial values to "
            "reduction not implemented: pass a constant identity of the computation as the "
            "initial value, and combine the result with the differentiated value afterwards."
        )
    starts = primals[count:]

    def folded(*xs: Any) -> list[Any]:
        combine = mapped_over_all_axes(jaxpr, len(typeof(xs[0]).shape) - len(dimensions) + 1)  # type: ignore[attr-defined]
        return fold_by_halves(combine, starts, xs, dimensions)

    return jvp(folded, primals[:count], tangents[:count])


def mapped_over_all_axes(closed: ClosedJaxpr, rank: int) -> Callable[..., list[Any]]:
    """A jaxpr of scalars as a function of arrays of `rank`, element by element."""

    def run(*values: Any) -> list[Any]:
        return run_closed(closed, *values)

    for _ in range(rank):
        run = _mapped(run)
    return run


def _mapped(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    def mapped(*values: Any) -> list[Any]:
        size = typeof(values[0]).shape[0]  # type: ignore[attr-defined]
        results, axes = batch(function, Axis(None, size), values, [0] * len(values))
        return [axis_to_front(r, d, size) for r, d in zip(results, axes, strict=True)]

    return mapped


def lane_by_lane(
    primitive: Primitive, axis: Any, operands: Any, mapped: Any, params: Any
) -> tuple[list[Any], list[int]]:
    """The results of a primitive on each lane by itself, stacked in front."""
    if isinstance(axis.size, dims.Dim):
        raise NotImplementedError(
            f"vmap of {primitive} over its initial values, in {axis.size} lanes, a symbolic "
            "number: map over concrete sizes, or give all lanes one initial value."
        )

    def one(lane: int) -> list[Any]:
        return [
            x if d is None else squeeze(slice_axis(x, d, lane, lane + 1), dimensions=(d,))
            for x, d in zip(operands, mapped, strict=True)
        ]

    lanes = [primitive(*one(lane), **params) for lane in range(axis.size)]
    results = [stack(*parts, axis=0) for parts in zip(*lanes, strict=True)]
    return results, [0] * len(results)


def _reduce_batch(
    axis: Any, operands: Any, mapped: Any, *, computation: Any, dimensions: Any, jaxpr: Any
) -> tuple[list[Any], list[Any]]:
    count = len(operands) // 2
    if any(d is not None for d in mapped[count:]):
        params = {"computation": computation, "dimensions": dimensions, "jaxpr": jaxpr}
        return lane_by_lane(reduce, axis, operands, mapped, params)
    xs = [axis_to_front(x, d, axis.size) for x, d in zip(operands[:count], mapped, strict=False)]
    results = reduce(
        *xs,
        *operands[count:],
        computation=computation,
        dimensions=tuple(d + 1 for d in dimensions),
        jaxpr=jaxpr,
    )
    return results, [0] * count


reduce = Primitive(
    "reduce",
    multiple_results=True,
    result_types=_reduce_types,
    evaluate=_reduce_evaluate,
    jvp=_reduce_jvp,
    transpose=absent("a general reduction is linear in nothing; differentiate it by jvp"),
    batch=_reduce_batch,
    accuracy=order,
    compiled=True,
)
