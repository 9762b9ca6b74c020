"""Reductions over sliding windows, and moving values along with the element that wins its window.

    reduce_window_sum, _max, _min    the fold of each window
    reduce_window                    the same by a jaxpr, for several operands together
    select_and_gather_add            for each window, the value that goes with its extreme element
    select_and_scatter_add           the transpose: a value for each window, added where that stands

The operand is dilated by `base_dilation`, then padded with the identity; windows are dilated by
`window_dilation` and start `window_strides` apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.jaxpr import ClosedJaxpr, run_closed
from frit.ir.primitive import Params, Primitive, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.comparison_and_bits import ge, le
from frit.primitives.padding import dilated, pad, padded_with_zeros, slice, surely_negative
from frit.primitives.reductions import (
    dtype_name,
    evaluate_scalar_jaxpr,
    identity_of_max,
    identity_of_min,
    is_narrow,
    lane_by_lane,
)
from frit.transforms.jvp import jvp_jaxpr
from frit.transforms.linear import axis_to_front, instantiate, is_zero
from frit.transforms.rules import linear_jvp, zero_tangent
from frit.transforms.trace import trace_to_jaxpr

HEAVY = 1 << 14  # elements from which on NumPy's copies of windows take longer than compiling


@dataclass(frozen=True, slots=True)
class Windows:
    """Where windows lie over an operand, axis by axis; a view of the parameters."""

    dimensions: tuple[Any, ...]
    strides: tuple[Any, ...]
    padding: tuple[tuple[Any, Any], ...]
    base_dilation: tuple[Any, ...]
    window_dilation: tuple[Any, ...]

    @staticmethod
    def of(params: Params) -> Windows:
        ones = (1,) * len(params["window_dimensions"])
        return Windows(
            params["window_dimensions"],
            params["window_strides"],
            params["padding"],
            params.get("base_dilation", ones),
            params.get("window_dilation", ones),
        )

    def params(self, *, dilation: bool = True) -> Params:
        """These windows as parameters of a primitive."""
        found: Params = {
            "window_dimensions": self.dimensions,
            "window_strides": self.strides,
            "padding": self.padding,
        }
        if dilation:
            found["base_dilation"] = self.base_dilation
            found["window_dilation"] = self.window_dilation
        return found

    def making_room(self, at: int) -> Windows:
        """The same windows after the operand gained an axis at `at`: of size 1 along it."""

        def grown(entries: Any, entry: Any) -> tuple[Any, ...]:
            return (*entries[:at], entry, *entries[at:])

        return Windows(
            grown(self.dimensions, 1),
            grown(self.strides, 1),
            grown(self.padding, (0, 0)),
            grown(self.base_dilation, 1),
            grown(self.window_dilation, 1),
        )

    def extents(self) -> tuple[Any, ...]:
        """What each window spans."""
        return tuple(map(dilated, self.dimensions, self.window_dilation))

    def check(self, name: str, shape: tuple[Any, ...]) -> None:
        """TypeError where these are not windows over an operand of `shape`."""
        rank = len(self.dimensions)
        if len(shape) != rank:
            raise TypeError(
                f"{name} got the wrong number of window_dimensions for operand: got operand shape "
                f"{shape} with window_dimensions {self.dimensions}."
            )
        for word, entries in (
            ("window_strides", self.strides),
            ("base_dilation", self.base_dilation),
            ("window_dilation", self.window_dilation),
            ("padding", self.padding),
        ):
            if len(entries) != rank:
                raise TypeError(
                    f"{name} got inconsistent {word} and window_dimensions: got {word} {entries} "
                    f"and window_dimensions {self.dimensions}."
                )
        for word, sizes in (
            ("window_dimensions", self.dimensions),
            ("window_strides", self.strides),
        ):
            if any(surely_negative(size - 1) for size in sizes):
                raise TypeError(f"{name} {word} must have every element be >= 1, got {sizes}.")

    def result_shape(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """How many windows there are along each axis."""
        return tuple(
            window_count(dilated(size, base) + low + high, extent, stride)
            for size, base, (low, high), extent, stride in zip(
                shape, self.base_dilation, self.padding, self.extents(), self.strides, strict=True
            )
        )

    def over(self, x: np.ndarray, filler: Any) -> np.ndarray:
        """The elements of the windows over `x`: the axes of the result, then those of a window."""
        config = tuple(
            (low, high, base - 1)
            for (low, high), base in zip(self.padding, self.base_dilation, strict=True)
        )
        padded = pad.evaluate(x, filler, padding_config=config)
        extents = self.extents()
        if any(e > size for e, size in zip(extents, padded.shape, strict=True)):
            return np.empty((*self.result_shape(x.shape), *self.dimensions), x.dtype)
        seen = np.lib.stride_tricks.sliding_window_view(padded, extents)
        steps = (*self.strides, *self.window_dilation)
        return seen[tuple(np.s_[::step] for step in steps)]


def window_count(size: Any, extent: Any, stride: Any) -> Any:
    """How many windows of `extent`, `stride` apart, lie within `size`."""
    return 0 if surely_negative(size - extent) else (size - extent) // stride + 1


def _batch_rule(primitive: Callable[[], Primitive], *, dilation: bool = True) -> Callable[..., Any]:
    """Batching of windows over one or two operands of one shape: along the new axis they are 1."""

    def batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> tuple[Any, int]:
        at = mapped[0] if len(operands) == 1 else 0
        if len(operands) > 1:
            operands = [
                axis_to_front(x, d, axis.size) for x, d in zip(operands, mapped, strict=True)
            ]
        windows = Windows.of(params).making_room(at).params(dilation=dilation)
        return primitive()(*operands, **(params | windows)), at

    return batch


# ------------------------------------------------- reduce_window_sum, reduce_window_max and _min


def _types_of(name: str) -> Callable[..., Any]:
    def result_types(x: ShapedArray, **params: Any) -> ShapedArray:
        if isinstance(x.dtype, dtypes.ExtendedDType) or (
            name == "reduce_window_sum" and dtypes.is_bool(x.dtype)
        ):
            raise TypeError(
                f"operand to {name} must have a number dtype, got {dtype_name(x.dtype)}"
            )
        windows = Windows.of(params)
        windows.check("reduce_window", x.shape)
        return x.update(shape=windows.result_shape(x.shape))

    return result_types


def _evaluate_by(reduce: Any, identity: Callable[[Any], Any]) -> Callable[..., Any]:
    def evaluate(x: Any, **params: Any) -> np.ndarray:
        x = np.asarray(x)
        windows = Windows.of(params)
        wide = x.astype(np.float32) if is_narrow(x.dtype) else x
        filler = np.asarray(identity(x.dtype)).astype(wide.dtype)
        seen = windows.over(wide, filler)
        axes = tuple(range(x.ndim, 2 * x.ndim))
        return np.asarray(reduce(seen, axis=axes)).astype(x.dtype)

    return evaluate


def _sum_transpose(ct: Any, x: Any, **params: Any) -> list[Any]:
    """Sums over windows of the cotangent, spread by strides and padded to reach all elements."""
    windows = Windows.of(params)
    counts = typeof(ct).shape  # type: ignore[attr-defined]
    config = []
    for size, count, extent, stride, (low, _), base in zip(
        x.shape,
        counts,
        windows.extents(),
        windows.strides,
        windows.padding,
        windows.base_dilation,
        strict=True,
    ):
        before = extent - low - 1
        after = dilated(size, base) + extent - 1 - dilated(count, stride) - before
        config.append((before, after, stride - 1))
    ones = (1,) * len(config)
    spread = padded_with_zeros(ct, tuple(config))
    back = Windows(
        windows.dimensions,
        windows.base_dilation,
        ((0, 0),) * len(config),
        ones,
        windows.window_dilation,
    )
    return [reduce_window_sum(spread, **back.params())]


def _winner_jvp(primitive: Callable[[], Primitive], select: Primitive) -> Callable[..., Any]:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        result = primitive()(x, **params)
        if is_zero(t):
            return result, zero_tangent(result)
        return result, select_and_gather_add(t, x, select_prim=select, **params)

    return jvp


reduce_window_sum = Primitive(
    "reduce_window_sum",
    result_types=_types_of("reduce_window_sum"),
    evaluate=_evaluate_by(lambda x, axis: np.sum(x, axis, dtype=x.dtype), lambda dtype: 0),
    jvp=linear_jvp(lambda: reduce_window_sum),
    transpose=_sum_transpose,
    batch=_batch_rule(lambda: reduce_window_sum),
    accuracy=order,
    compiled=HEAVY,
)
reduce_window_max = Primitive(
    "reduce_window_max",
    result_types=_types_of("reduce_window_max"),
    evaluate=_evaluate_by(np.max, identity_of_max),
    jvp=_winner_jvp(lambda: reduce_window_max, ge),
    batch=_batch_rule(lambda: reduce_window_max),
    compiled=HEAVY,
)
reduce_window_min = Primitive(
    "reduce_window_min",
    result_types=_types_of("reduce_window_min"),
    evaluate=_evaluate_by(np.min, identity_of_min),
    jvp=_winner_jvp(lambda: reduce_window_min, le),
    batch=_batch_rule(lambda: reduce_window_min),
    compiled=HEAVY,
)


# ---------------------------------------------------------------------------------- reduce_window


def _generic_types(*types: ShapedArray, jaxpr: Any, consts: Any, **params: Any) -> list[Any]:
    count = len(types) // 2
    operands, starts = types[:count], types[count:]
    if [t.dtype for t in operands] != [t.dtype for t in starts]:
        raise TypeError(
            "reduce_window got inconsistent dtypes for operands and init_values: got operand "
            f"dtypes {[t.dtype for t in operands]} and init_value dtypes "
            f"{[t.dtype for t in starts]}."
        )
    if any(t.shape for t in starts):
        raise TypeError(
            "reduce_window expected init_values to be scalars but init_values have shapes "
            f"{[t.shape for t in starts]}."
        )
    windows = Windows.of(params)
    windows.check("reduce_window", operands[0].shape)
    shape = windows.result_shape(operands[0].shape)
    return [ShapedArray(shape, t.dtype) for t in operands]


def _generic_evaluate(*operands: Any, jaxpr: Any, consts: Any, **params: Any) -> list[Any]:
    count = len(operands) // 2
    xs = [np.asarray(x) for x in operands[:count]]
    windows, rank = Windows.of(params), xs[0].ndim
    shape = windows.result_shape(xs[0].shape)
    elements = [
        windows.over(x, start).reshape(*shape, -1)
        for x, start in zip(xs, operands[count:], strict=True)
    ]
    totals = [np.full(shape, start, x.dtype) for x, start in zip(xs, operands[count:], strict=True)]
    # Padding takes no part, which shows where the initial value is no identity.
    real = windows.over(np.ones(xs[0].shape, bool), np.False_).reshape(*shape, -1)
    closed = ClosedJaxpr(jaxpr, consts)
    for k in range(elements[0].shape[rank] if elements[0].size else 0):
        combined = evaluate_scalar_jaxpr(closed, *totals, *(e[..., k] for e in elements))
        totals = [np.where(real[..., k], c, t) for c, t in zip(combined, totals, strict=True)]
    return [np.asarray(t, x.dtype) for t, x in zip(totals, xs, strict=True)]


def _generic_jvp(
    primals: Any, tangents: Any, *, jaxpr: Any, consts: Any, **params: Any
) -> tuple[list[Any], list[Any]]:
    """A window reduction of values and tangents together, by the derivative of the combination."""
    count = len(primals) // 2
    if not all(map(is_zero, tangents[count:])):
        raise NotImplementedError(
            "reduce_window jvp does not support non-zero init_value_tangents: pass a constant "
            "identity of the computation as the initial value."
        )
    closed = ClosedJaxpr(jaxpr, consts)
    both, _ = jvp_jaxpr(closed, (True,) * (2 * count), True)

    def combine(*values: Any) -> list[Any]:
        a, da, b, db = (values[i * count : (i + 1) * count] for i in range(4))
        return run_closed(both, *a, *b, *da, *db)

    scalars = [ShapedArray((), t.dtype, t.weak_type) for t in closed.in_avals[:count]]
    doubled, doubled_consts = trace_to_jaxpr(combine, scalars * 4)
    found = reduce_window(
        *primals[:count],
        *map(instantiate, tangents[:count]),
        *primals[count:],
        *map(instantiate, tangents[count:]),
        jaxpr=doubled,
        consts=tuple(doubled_consts),
        **params,
    )
    return found[:count], found[count:]


def _generic_batch(axis: Any, operands: Any, mapped: Any, **params: Any) -> tuple[Any, Any]:
    count = len(operands) // 2
    if any(d is not None for d in mapped[count:]):
        return lane_by_lane(reduce_window, axis, operands, mapped, params)
    xs = [axis_to_front(x, d, axis.size) for x, d in zip(operands[:count], mapped, strict=False)]
    windows = Windows.of(params).making_room(0).params()
    return reduce_window(*xs, *operands[count:], **(params | windows)), [0] * count


reduce_window = Primitive(
    "reduce_window",
    multiple_results=True,
    result_types=_generic_types,
    evaluate=_generic_evaluate,
    jvp=_generic_jvp,
    batch=_generic_batch,
    accuracy=order,
    compiled=HEAVY,
)


# --------------------------------------------------- select_and_gather_add, select_and_scatter_add


def _gather_types(
    values: ShapedArray, x: ShapedArray, *, select_prim: Any, **params: Any
) -> ShapedArray:
    if values.shape != x.shape:
        raise TypeError(
            "select_and_gather_add tangents and operand shapes must match, got "
            f"{values.shape} and {x.shape}."
        )
    windows = Windows.of(params)
    windows.check("reduce_window", x.shape)
    return values.update(shape=windows.result_shape(x.shape))


def _winners(windows: Windows, x: np.ndarray, select: Primitive) -> np.ndarray:
    """The place in its window of the first extreme element, for each window."""
    identity = identity_of_max if select is ge else identity_of_min
    seen = windows.over(x, identity(x.dtype))
    shape = seen.shape[: x.ndim]
    flat = seen.reshape(*shape, int(np.prod(windows.dimensions)))
    if is_narrow(x.dtype):
        flat = flat.astype(np.float32)
    if not flat.size:
        return np.zeros(shape, np.int64)
    return np.argmax(flat, axis=-1) if select is ge else np.argmin(flat, axis=-1)


def _taken(windows: Windows, values: np.ndarray, filler: Any, winners: np.ndarray) -> np.ndarray:
    seen = windows.over(values, filler).reshape(*winners.shape, int(np.prod(windows.dimensions)))
    if not seen.size:
        return np.full(winners.shape, filler, values.dtype)
    return np.take_along_axis(seen, winners[..., None], axis=-1)[..., 0]


def _gather_evaluate(values: Any, x: Any, *, select_prim: Primitive, **params: Any) -> np.ndarray:
    values, x = np.asarray(values), np.asarray(x)
    windows = Windows.of(params)
    zero = np.zeros((), values.dtype)[()]
    return _taken(windows, values, zero, _winners(windows, x, select_prim))


def _linear_in_first(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        result = primitive()(*primals, **params)
        if is_zero(tangents[0]):
            return result, zero_tangent(result)
        return result, primitive()(tangents[0], primals[1], **params)

    return jvp


def _gather_transpose(
    ct: Any, values: Any, x: Any, *, select_prim: Primitive, **params: Any
) -> list[Any]:
    windows = Windows.of(params)
    if any(d != 1 for d in windows.window_dilation):
        raise NotImplementedError(
            "VJP not implemented for select_and_gather (MaxPool) with window dilation, got "
            f"window_dilation={windows.window_dilation}."
        )
    is_dilated = any(d != 1 for d in windows.base_dilation)
    if is_dilated:
        identity = identity_of_max if select_prim is ge else identity_of_min
        config = tuple((0, 0, d - 1) for d in windows.base_dilation)
        x = pad(x, identity(typeof(x).dtype), padding_config=config)  # type: ignore[attr-defined]
    result = select_and_scatter_add(
        ct, x, select_prim=select_prim, **windows.params(dilation=False)
    )
    if is_dilated:
        shape = typeof(result).shape  # type: ignore[attr-defined]
        result = slice(
            result,
            start_indices=(0,) * len(shape),
            limit_indices=shape,
            strides=windows.base_dilation,
        )
    return [result, None]


select_and_gather_add = Primitive(
    "select_and_gather_add",
    result_types=_gather_types,
    evaluate=_gather_evaluate,
    jvp=_linear_in_first(lambda: select_and_gather_add),
    transpose=_gather_transpose,
    batch=_batch_rule(lambda: select_and_gather_add),
    compiled=HEAVY,
)


def _scatter_types(
    source: ShapedArray, x: ShapedArray, *, select_prim: Any, **params: Any
) -> ShapedArray:
    windows = Windows.of(params)
    windows.check("select_and_scatter", x.shape)
    expected = windows.result_shape(x.shape)
    if not all(map(dims.same, source.shape, expected)) or source.ndim != len(expected):
        raise TypeError(
            f"select_and_scatter_add needs one source value for each window: got source shape "
            f"{source.shape} for {expected} windows."
        )
    return source.update(shape=x.shape)


def _scatter_evaluate(source: Any, x: Any, *, select_prim: Primitive, **params: Any) -> np.ndarray:
    source, x = np.asarray(source), np.asarray(x)
    windows = Windows.of(params)
    places = np.arange(x.size, dtype=np.int64).reshape(x.shape)
    at = _taken(windows, places, -1, _winners(windows, x, select_prim)).ravel()
    result = np.zeros(x.size, source.dtype)
    np.add.at(result, at[at >= 0], source.ravel()[at >= 0])
    return result.reshape(x.shape)


def _scatter_transpose(
    ct: Any, source: Any, x: Any, *, select_prim: Primitive, **params: Any
) -> list[Any]:
    windows = Windows.of(params).params()
    return [select_and_gather_add(ct, x, select_prim=select_prim, **windows), None]


select_and_scatter_add = Primitive(
    "select_and_scatter_add",
    result_types=_scatter_types,
    evaluate=_scatter_evaluate,
    jvp=_linear_in_first(lambda: select_and_scatter_add),
    transpose=_scatter_transpose,
    batch=_batch_rule(lambda: select_and_scatter_add, dilation=False),
    accuracy=order,
    compiled=HEAVY,
)
