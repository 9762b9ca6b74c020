"""The vocabulary that transforms share: symbolic zeros, and the few linear primitives they emit.

add_any(x, y)                 the sum of two cotangents or tangents of one value
add_at(x, update, *starts)    x with `update` added to the strided window that begins at starts
transpose, reduce_sum, broadcast_in_dim      moving, summing away and inserting axes
blank()                       opaque elements whose bytes are zero
custom_lin(residuals, tangents)              a linear map known only by its transpose
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.ir import dims
from frit.ir.dtypes import ExtendedDType, float0
from frit.ir.primitive import Params, Primitive, absent, order
from frit.ir.types import AbstractValue, ShapedArray, typeof


class Zero:
    """A tangent or cotangent known to be zero; `aval` is its type."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        return Zero(typeof(value).tangent_type())

    def instantiate(self) -> Any:
        return zeros(self.aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class LinearOperand:
    """Stands for an operand whose cotangent a transpose rule finds; only its type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.aval.shape  # type: ignore[attr-defined]

    @property
    def dtype(self) -> Any:
        return self.aval.dtype  # type: ignore[attr-defined]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"LinearOperand({self.aval})"


class InPlace:
    """A cotangent that covers only a part of its value.

    `add_to(accumulator)` adds it there without touching the rest; `alone()` makes it by itself.
    """

    __slots__ = ("add_to", "alone")

    def __init__(self, add_to: Callable[[Any], Any], alone: Callable[[], Any]) -> None:
        self.add_to, self.alone = add_to, alone


def is_linear(operand: Any) -> bool:
    return type(operand) is LinearOperand


def is_zero(tangent: Any) -> bool:
    return type(tangent) is Zero


def zeros(aval: AbstractValue) -> Any:
    """An array of zeros of type `aval`; of float0, a NumPy array, as nothing computes with it."""
    assert isinstance(aval, ShapedArray), aval
    if aval.dtype == float0:
        return np.zeros(aval.shape, float0)
    if isinstance(aval.dtype, ExtendedDType):
        return blank(shape=aval.shape, dtype=aval.dtype)
    return full(aval, np.zeros((), aval.storage_dtype)[()])


def full(aval: ShapedArray, scalar: Any) -> Any:
    """`scalar` in every element of an array of type `aval`."""
    if not aval.shape:
        return scalar
    return broadcast_in_dim(scalar, shape=aval.shape, broadcast_dimensions=(), sharding=None)


def instantiate(tangent: Any) -> Any:
    """The tangent as an array, made of zeros where it is a Zero."""
    return zeros(tangent.aval) if type(tangent) is Zero else tangent


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents of one value; a Zero adds nothing."""
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    dtype = getattr(x, "dtype", None)
    return dtype.add(x, y) if isinstance(dtype, ExtendedDType) else add_any(x, y)


# ---------------------------------------------------------------------------------------- add_any


def _add_any_types(x: Any, y: Any) -> Any:
    return x if isinstance(x, ShapedArray) and not x.weak_type else y


def _add_any_jvp(primals: Any, tangents: Any) -> Any:
    return add_any(*primals), add_tangents(*tangents)


def _add_any_batch(axis: Any, operands: Any, mapped: Any) -> Any:
    x, y = operands
    dx, dy = mapped
    if dx == dy:
        return add_any(x, y), dx
    if dx is None:
        x, dx = insert_axis(x, dy, axis.size), dy
    elif dy is None:
        y = insert_axis(y, dx, axis.size)
    else:
        y = move_axis(y, dy, dx)
    return add_any(x, y), dx


add_any: Primitive = Primitive(
    "add_any",
    result_types=_add_any_types,
    evaluate=np.add,
    jvp=_add_any_jvp,
    transpose=lambda ct, x, y: [ct if is_linear(x) else None, ct if is_linear(y) else None],
    batch=_add_any_batch,
    pointwise=True,
    commutative=True,
)


# ------------------------------------------------------------------------------------------ blank


blank = Primitive(
    "blank",
    result_types=lambda *, shape, dtype: ShapedArray(shape, dtype),
    evaluate=lambda *, shape, dtype: np.zeros(shape, dtype.storage),
    jvp=absent("has no operand"),
    transpose=absent("has no operand"),
    batch=absent("has no operand"),
)


# -------------------------------------------------------------------------------------- transpose


def _transpose_types(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            f"transpose permutation isn't a permutation of operand dimensions, got permutation "
            f"{permutation} for operand shape {x.shape}."
        )
    return x.update(shape=tuple(x.shape[i] for i in permutation))


def inverse_permutation(permutation: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(permutation))


def _transpose_batch(axis: Any, operands: Any, mapped: Any, *, permutation: Any) -> Any:
    (x,), (d,) = operands, mapped
    shifted = tuple(i if i < d else i + 1 for i in permutation)
    return transpose(x, permutation=(d, *shifted)), 0


transpose: Primitive = Primitive(
    "transpose",
    result_types=_transpose_types,
    evaluate=lambda x, *, permutation: np.transpose(x, permutation),
    jvp=lambda primals, tangents, **p: (transpose(*primals, **p), transpose(*tangents, **p)),
    transpose=lambda ct, x, *, permutation: [
        transpose(ct, permutation=inverse_permutation(permutation))
    ],
    batch=_transpose_batch,
)


# ------------------------------------------------------------------------------- broadcast_in_dim


def _broadcast_types(
    x: ShapedArray, *, shape: Any, broadcast_dimensions: tuple[int, ...], sharding: Any = None
) -> ShapedArray:
    if len(broadcast_dimensions) != x.ndim:
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got "
            f"broadcast_dimensions {broadcast_dimensions} for operand ndim {x.ndim}."
        )
    dims.check_sizes(shape, "broadcast_in_dim shape")
    if len(shape) < x.ndim:
        raise TypeError(
            "broadcast_in_dim target broadcast shape must have equal or higher rank to the operand "
            f"shape; got operand ndim {x.ndim} and target broadcast ndim {len(shape)}."
        )
    if any(not 0 <= d < len(shape) for d in broadcast_dimensions):
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, got "
            f"{broadcast_dimensions} for operand ndim {x.ndim} and shape {tuple(shape)}."
        )
    if any(b <= a for a, b in zip(broadcast_dimensions, broadcast_dimensions[1:], strict=False)):
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must be strictly increasing; got "
            f"broadcast_dimensions {broadcast_dimensions}"
        )
    for size, d in zip(x.shape, broadcast_dimensions, strict=True):
        if not (dims.same(size, 1) or dims.same(size, shape[d])):
            raise TypeError(
                "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
                "corresponding dimensions in the target broadcast shape; got operand of shape "
                f"{x.shape}, target broadcast shape {tuple(shape)}, broadcast_dimensions "
                f"{tuple(broadcast_dimensions)}"
            )
    return x.update(shape=tuple(shape))


def _broadcast_evaluate(
    x: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any = None
) -> Any:
    x = np.asarray(x)
    spread = [1] * len(shape)
    for size, d in zip(x.shape, broadcast_dimensions, strict=True):
        spread[d] = size
    return np.broadcast_to(x.reshape(spread), shape)


def _broadcast_transpose(
    ct: Any, x: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any = None
) -> Any:
    stretched = tuple(
        i
        for i, d in enumerate(broadcast_dimensions)
        if dims.same(x.shape[i], 1) and not dims.same(shape[d], 1)
    )
    kept = [d for i, d in enumerate(broadcast_dimensions) if i not in stretched]
    axes = tuple(i for i in range(len(shape)) if i not in kept)
    summed = reduce_sum(ct, axes=axes, out_sharding=None) if axes else ct
    return [restore_axes(summed, x.shape, stretched)]


def _broadcast_batch(
    axis: Any, operands: Any, mapped: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any
) -> Any:
    (x,), (d,) = operands, mapped
    x = move_axis(x, d, 0)
    return broadcast_in_dim(
        x,
        shape=(axis.size, *shape),
        broadcast_dimensions=(0, *(i + 1 for i in broadcast_dimensions)),
        sharding=None,
    ), 0


def _broadcast_shown(eqn: Any) -> Params:
    dimensions = eqn.params["broadcast_dimensions"]
    return {"broadcast_dimensions": dimensions} if dimensions else {}


broadcast_in_dim: Primitive = Primitive(
    "broadcast_in_dim",
    result_types=_broadcast_types,
    evaluate=_broadcast_evaluate,
    jvp=lambda primals, tangents, **p: (
        broadcast_in_dim(*primals, **p),
        broadcast_in_dim(*tangents, **p),
    ),
    transpose=_broadcast_transpose,
    batch=_broadcast_batch,
    shown=_broadcast_shown,
)


def restore_axes(x: Any, shape: Any, inserted: Sequence[int]) -> Any:
    """`x` with axes of size 1 put where `shape` has those in `inserted`."""
    if not inserted:
        return x
    kept = tuple(i for i in range(len(shape)) if i not in inserted)
    return broadcast_in_dim(x, shape=tuple(shape), broadcast_dimensions=kept, sharding=None)


# ------------------------------------------------------------------------------------- reduce_sum


def _sum_types(x: ShapedArray, *, axes: tuple[int, ...], out_sharding: Any = None) -> ShapedArray:
    return x.update(shape=check_reduced("reduce_sum", x, axes))


def check_reduced(name: str, x: ShapedArray, axes: Sequence[int]) -> tuple[Any, ...]:
    """x's shape without `axes`, which must be distinct and in range."""
    if len(axes) != len(set(axes)):
        raise ValueError(f"duplicate value in 'axes' of reduction: {tuple(axes)}")
    if not all(0 <= a < x.ndim for a in axes):
        raise ValueError(
            f"reduction axes {tuple(axes)} contains out-of-bounds indices for {x} in {name}; axes "
            f"run from 0 to {x.ndim - 1}."
        )
    return tuple(s for i, s in enumerate(x.shape) if i not in axes)


def _sum_evaluate(x: Any, *, axes: tuple[int, ...], out_sharding: Any = None) -> Any:
    x = np.asarray(x)
    if x.dtype == bool:
        return np.any(x, axis=tuple(axes))
    wide = np.float32 if x.dtype.itemsize <= 2 and x.dtype.kind in "fV" else x.dtype
    return np.asarray(np.sum(x, axis=tuple(axes), dtype=wide)).astype(x.dtype)


def _sum_transpose(ct: Any, x: Any, *, axes: Any, out_sharding: Any = None) -> Any:
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    return [broadcast_in_dim(ct, shape=x.shape, broadcast_dimensions=kept, sharding=None)]


def batch_reduction(primitive: Primitive) -> Callable[..., Any]:
    """The batch rule of a reduction over `axes`: the axes behind the mapped one move up."""

    def batch(axis: Any, operands: Any, mapped: Any, *, axes: Any, **params: Any) -> Any:
        (x,), (d,) = operands, mapped
        shifted = tuple(a if a < d else a + 1 for a in axes)
        return primitive(x, axes=shifted, **params), d - sum(a < d for a in shifted)

    return batch


reduce_sum: Primitive = Primitive(
    "reduce_sum",
    result_types=_sum_types,
    evaluate=_sum_evaluate,
    jvp=lambda primals, tangents, **p: (reduce_sum(*primals, **p), reduce_sum(*tangents, **p)),
    transpose=_sum_transpose,
    accuracy=order,
)
reduce_sum.batch = batch_reduction(reduce_sum)


# ----------------------------------------------------------------------------------------- add_at


def _window(update_shape: Any, strides: Any, starts: Any, shape: Any) -> tuple[slice, ...]:
    at = []
    for start, size, stride, extent in zip(starts, update_shape, strides, shape, strict=True):
        span = (size - 1) * stride + 1 if size else 0
        begin = min(max(int(start), 0), extent - span)
        at.append(slice(begin, begin + span, stride))
    return tuple(at)


def _add_at_evaluate(x: Any, update: Any, *starts: Any, strides: Any) -> Any:
    result = np.array(x)
    result[_window(update.shape, strides, starts, result.shape)] += update
    return result


def _add_at_jvp(primals: Any, tangents: Any, *, strides: Any) -> Any:
    x, update, *starts = primals
    dx, du, *_ = tangents
    result = add_at(x, update, *starts, strides=strides)
    if is_zero(dx) and is_zero(du):
        return result, Zero(typeof(result).tangent_type())
    if is_zero(du):
        return result, dx
    return result, add_at(instantiate(dx), du, *starts, strides=strides)


def _add_at_transpose(ct: Any, x: Any, update: Any, *starts: Any, strides: Any) -> Any:
    for_update = None
    if is_linear(update):
        for_update = take_window(ct, *starts, shape=update.shape, strides=strides)
    return [ct if is_linear(x) else None, for_update, *(None for _ in starts)]


def _add_at_batch(axis: Any, operands: Any, mapped: Any, *, strides: Any) -> Any:
    x, update, *starts = operands
    if any(d is not None for d in mapped[2:]):
        return _batch_by_lanes(axis, operands, mapped, strides)
    x = insert_axis(x, 0, axis.size) if mapped[0] is None else move_axis(x, mapped[0], 0)
    update = (
        insert_axis(update, 0, axis.size) if mapped[1] is None else move_axis(update, mapped[1], 0)
    )
    return add_at(x, update, np.int32(0), *starts, strides=(1, *strides)), 0


def _batch_by_lanes(axis: Any, operands: Any, mapped: Any, strides: Any) -> Any:
    """Each lane has a window of its own: lanes are added one after the other into one result."""
    x, update, *starts = operands
    result = insert_axis(x, 0, axis.size) if mapped[0] is None else move_axis(x, mapped[0], 0)
    for lane in range(axis.size):
        at = [
            s if d is None else take_lane(s, d, lane)
            for s, d in zip(starts, mapped[2:], strict=True)
        ]
        part = update if mapped[1] is None else take_lane(update, mapped[1], lane)
        part = insert_axis(part, 0, 1)
        result = add_at(result, part, np.int32(lane), *at, strides=(1, *strides))
    return result, 0


def take_lane(x: Any, axis: int, lane: int) -> Any:
    shape = typeof(x).shape  # type: ignore[attr-defined]
    starts = [np.int32(lane if i == axis else 0) for i in range(len(shape))]
    sizes = tuple(1 if i == axis else s for i, s in enumerate(shape))
    window = take_window(x, *starts, shape=sizes, strides=(1,) * len(shape))
    return reduce_sum(window, axes=(axis,), out_sharding=None)


add_at: Primitive = Primitive(
    "add_at",
    result_types=lambda x, update, *starts, strides: x,
    evaluate=_add_at_evaluate,
    jvp=_add_at_jvp,
    transpose=_add_at_transpose,
    batch=_add_at_batch,
)


def _take_window_evaluate(x: Any, *starts: Any, shape: Any, strides: Any) -> Any:
    x = np.asarray(x)
    return x[_window(shape, strides, starts, x.shape)]


def _take_window_transpose(ct: Any, x: Any, *starts: Any, shape: Any, strides: Any) -> Any:
    def add_to(accumulator: Any) -> Any:
        return add_at(accumulator, ct, *starts, strides=strides)

    return [InPlace(add_to, lambda: add_to(zeros(x.aval))), *(None for _ in starts)]


def _windows_by_lanes(axis: Any, operands: Any, mapped: Any, shape: Any, strides: Any) -> Any:
    """Each lane has a window of its own: they are taken one after the other into one result."""
    x, *starts = operands
    aval: Any = typeof(x)
    result = zeros(aval.update(shape=(axis.size, *shape)))
    origin = [np.int32(0)] * len(shape)
    for lane in range(axis.size):
        at = [
            s if d is None else take_lane(s, d, lane)
            for s, d in zip(starts, mapped[1:], strict=True)
        ]
        source = x if mapped[0] is None else take_lane(x, mapped[0], lane)
        window = insert_axis(take_window(source, *at, shape=shape, strides=strides), 0, 1)
        ones = (1,) * (len(shape) + 1)
        result = add_at(result, window, np.int32(lane), *origin, strides=ones)
    return result, 0


def _take_window_batch(axis: Any, operands: Any, mapped: Any, *, shape: Any, strides: Any) -> Any:
    x, *starts = operands
    if any(d is not None for d in mapped[1:]):
        return _windows_by_lanes(axis, operands, mapped, shape, strides)
    x = move_axis(x, mapped[0], 0)
    return take_window(x, np.int32(0), *starts, shape=(axis.size, *shape), strides=(1, *strides)), 0


take_window: Primitive = Primitive(
    "take_window",
    result_types=lambda x, *starts, shape, strides: x.update(shape=tuple(shape)),
    evaluate=_take_window_evaluate,
    jvp=lambda primals, tangents, **p: (
        take_window(*primals, **p),
        take_window(tangents[0], *primals[1:], **p),
    ),
    transpose=_take_window_transpose,
    batch=_take_window_batch,
)


# ------------------------------------------------------------------------------------- custom_lin


def _custom_lin_transpose(
    cts: Any, *operands: Any, backward: Any, num_residuals: int, **_: Any
) -> Any:
    residuals, tangents = operands[:num_residuals], operands[num_residuals:]
    found = backward(list(residuals), list(cts))
    return [
        *[None] * num_residuals,
        *[ct if is_linear(t) else None for ct, t in zip(found, tangents, strict=True)],
    ]


def _custom_lin_evaluate(*_: Any, **__: Any) -> Any:
    raise TypeError(
        "can't apply forward-mode autodiff (jvp) to a custom_vjp function. It has only a backward "
        "rule: use vjp or grad, or give the function a rule with custom_jvp."
    )


def _custom_lin_shown(eqn: Any) -> Params:
    count = len(eqn.invars) - eqn.params["num_residuals"]
    return {
        "bwd": eqn.params["backward"],
        "in_zeros": [False] * count,
        "num_res": eqn.params["num_residuals"],
        "symbolic_zeros": eqn.params.get("symbolic_zeros", False),
    }


custom_lin = Primitive(
    "custom_lin",
    multiple_results=True,
    result_types=lambda *types, out_types, **_: list(out_types),
    evaluate=_custom_lin_evaluate,
    decompose=_custom_lin_evaluate,
    transpose=_custom_lin_transpose,
    shown=_custom_lin_shown,
)


# --------------------------------------------------------------------------------- moving an axis


def move_axis(x: Any, source: int, target: int) -> Any:
    """`x` with the axis at `source` moved to `target`."""
    if source == target:
        return x
    rank = len(typeof(x).shape)  # type: ignore[attr-defined]
    permutation = [i for i in range(rank) if i != source]
    permutation.insert(target, source)
    return transpose(x, permutation=tuple(permutation))


def insert_axis(x: Any, at: int, size: Any) -> Any:
    """`x` repeated `size` times along a new axis at `at`."""
    shape = typeof(x).shape  # type: ignore[attr-defined]
    return broadcast_in_dim(
        x,
        shape=(*shape[:at], size, *shape[at:]),
        broadcast_dimensions=tuple(i if i < at else i + 1 for i in range(len(shape))),
        sharding=None,
    )


def axis_to_front(x: Any, mapped: int | None, size: Any) -> Any:
    """`x` with its mapped axis first, or repeated `size` times if it has none."""
    return insert_axis(x, 0, size) if mapped is None else move_axis(x, mapped, 0)


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent of an operand of type `aval` that was broadcast to the shape of `ct`."""
    shape = typeof(ct).shape  # type: ignore[attr-defined]
    if shape == aval.shape:
        return ct
    if not aval.shape:
        return reduce_sum(ct, axes=tuple(range(len(shape))), out_sharding=None)
    stretched = tuple(
        i for i, (s, a) in enumerate(zip(shape, aval.shape, strict=True)) if not dims.same(s, a)
    )
    summed = reduce_sum(ct, axes=stretched, out_sharding=None)
    return restore_axes(summed, aval.shape, stretched)


def broadcast_to_type(x: Any, aval: ShapedArray) -> Any:
    """`x`, which has aval's rank or rank 0, broadcast to aval's shape."""
    shape = typeof(x).shape  # type: ignore[attr-defined]
    if shape == aval.shape:
        return x
    dimensions = tuple(range(len(aval.shape))) if shape else ()
    return broadcast_in_dim(x, shape=aval.shape, broadcast_dimensions=dimensions, sharding=None)
