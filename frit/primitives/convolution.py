"""conv_general_dilated: sums of products over sliding windows.

    lhs     batch N, features C, space
    rhs     features out O, features in I, window
    result  batch N, features O, space

`dimension_numbers` tells for each of the three where these axes are.  lhs is dilated and padded,
the window is dilated, and moves by the strides.  With G feature groups, C = G·I, and the g-th part
of O sees the g-th part of C; with G batch groups it sees that of N, and the result has N/G.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.primitive import Primitive, order
from frit.ir.types import ShapedArray, typeof
from frit.primitives.contraction import summing_dtype
from frit.primitives.conversion import convert
from frit.primitives.elementwise import check_same_dtypes
from frit.primitives.padding import dilated, pad, surely_negative
from frit.primitives.shapes import reshape, rev
from frit.primitives.windows import window_count
from frit.transforms.linear import Zero, full
from frit.transforms.rules import per_linear_operand, per_operand

Ints = tuple[int, ...]
Pads = tuple[tuple[Any, Any], ...]


class ConvDimensionNumbers(NamedTuple):
    """Where the axes are: of lhs (N, C, space), of rhs (O, I, window), of the result."""

    lhs_spec: Any
    rhs_spec: Any
    out_spec: Any


def _taken(shape: Sequence[Any], axes: Sequence[int]) -> tuple[Any, ...]:
    return tuple(shape[i] for i in axes)


def _placed(sizes: Sequence[Any], axes: Sequence[int]) -> tuple[Any, ...]:
    """The shape that has sizes[k] at axes[k]."""
    result: list[Any] = [None] * len(axes)
    for size, axis in zip(sizes, axes, strict=True):
        result[axis] = size
    return tuple(result)


def _swapped(spec: Any) -> Ints:
    """The spec with its first two roles exchanged."""
    return (spec[1], spec[0], *spec[2:])


# ------------------------------------------------------------------------------------------ types


def convolved_space(
    space: Sequence[Any],
    window: Sequence[Any],
    strides: Sequence[Any],
    padding: Any,
    lhs_dilation: Sequence[Any],
    rhs_dilation: Sequence[Any],
) -> tuple[Any, ...]:
    """The extents of the result's spatial axes."""
    if len(padding) != len(space):
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(space)}, got "
            f"{len(padding)}."
        )
    padded = [
        dilated(size, spread) + low + high
        for size, spread, (low, high) in zip(space, lhs_dilation, padding, strict=True)
    ]
    if any(map(surely_negative, padded)):
        raise ValueError(
            "Negative padding is larger than the size of the corresponding dimension: got "
            f"padding={padding} for lhs_shape[2:]={tuple(space)}"
        )
    extents = map(dilated, window, rhs_dilation)
    return tuple(map(window_count, padded, extents, strides))


def _result_types(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
    **_: Any,
) -> ShapedArray:
    _check_counts(lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    rank = len(rhs_spec) - 2
    for name, entries in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if len(entries) != rank:
            raise ValueError(
                f"conv_general_dilated window and {name} must have the same number of dimensions, "
                f"but got {rank} and {len(entries)}"
            )
    space = convolved_space(
        _taken(lhs.shape, lhs_spec[2:]),
        _taken(rhs.shape, rhs_spec[2:]),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    batch = lhs.shape[lhs_spec[0]] // batch_group_count
    shape = _placed((batch, rhs.shape[rhs_spec[0]], *space), out_spec)
    check_same_dtypes("conv_general_dilated", lhs, rhs)
    dtype = _checked_dtype(lhs.dtype, preferred_element_type)
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


def _check_counts(
    lhs: ShapedArray, rhs: ShapedArray, numbers: ConvDimensionNumbers, features: int, batches: int
) -> None:
    if lhs.ndim != rhs.ndim:
        raise ValueError(
            "conv_general_dilated lhs and rhs must have the same number of dimensions, but got "
            f"{lhs.shape} and {rhs.shape}."
        )
    for name, count in (("feature", features), ("batch", batches)):
        if not count > 0:
            raise ValueError(
                f"conv_general_dilated {name}_group_count must be a positive integer, got {count}."
            )
    channels = lhs.shape[numbers.lhs_spec[1]]
    if not dims.same(channels % features, 0):
        raise ValueError(
            "conv_general_dilated feature_group_count must divide lhs feature dimension size, but "
            f"{features} does not divide {channels}."
        )
    inputs, outputs = rhs.shape[numbers.rhs_spec[1]], rhs.shape[numbers.rhs_spec[0]]
    if not dims.same(channels // features, inputs):
        raise ValueError(
            "conv_general_dilated lhs feature dimension size divided by feature_group_count must "
            "equal the rhs input feature dimension size, but "
            f"{channels} // {features} != {inputs}."
        )
    for name, count in (("feature", features), ("batch", batches)):
        if not dims.same(outputs % count, 0):
            raise ValueError(
                "conv_general_dilated rhs output feature dimension size must be a multiple of "
                f"{name}_group_count, but {outputs} is not a multiple of {count}."
            )
    batch = lhs.shape[numbers.lhs_spec[0]]
    if batches > 1 and not dims.same(batch % batches, 0):
        raise ValueError(
            "conv_general_dilated batch_group_count must divide lhs batch dimension size, but "
            f"{batches} does not divide {batch}."
        )
    if batches > 1 and features > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={batches} and feature_group_count={features}"
        )


def _checked_dtype(dtype: Any, preferred: Any) -> Any:
    """The result's element type.  TypeError where `preferred` is not a wider one of its kind."""
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"conv_general_dilated does not accept dtype {dtype}.")
    if preferred is None:
        return dtype
    to_float = dtypes.is_integer(dtype) and dtypes.is_floating(preferred)
    kinds = (dtypes.is_integer, dtypes.is_floating, dtypes.is_complex)
    if not to_float and any(kind(dtype) and not kind(preferred) for kind in kinds):
        raise TypeError(
            "Input type is incompatible with `preferred_element_type`. The compatible "
            "combinations of (input_type, preferred_element_type) are (integral, integral), "
            f"(integral, floating), (floating, floating), (complex, complex); got {dtype} and "
            f"{preferred}."
        )
    if dtype in dtypes.SIGNED and dtypes.is_integer(preferred) and preferred not in dtypes.SIGNED:
        raise TypeError(
            "`preferred_element_type` must have the same signedness as the original type; got "
            f"{preferred} for {dtype}."
        )
    if preferred.itemsize < dtype.itemsize:
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type; got "
            f"{preferred} for {dtype}."
        )
    return preferred


# ---------------------------------------------------------------------------------------- meaning


def _evaluate(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
    **_: Any,
) -> np.ndarray:
    lhs, rhs = np.asarray(lhs), np.asarray(rhs)
    result = lhs.dtype if preferred_element_type is None else preferred_element_type
    wide = summing_dtype(result, lhs.dtype, rhs.dtype)
    x = np.transpose(lhs, dimension_numbers.lhs_spec).astype(wide)
    kernel = np.transpose(rhs, dimension_numbers.rhs_spec).astype(wide)
    config = [(low, high, d - 1) for (low, high), d in zip(padding, lhs_dilation, strict=True)]
    x = pad.evaluate(x, wide.type(0), padding_config=((0, 0, 0), (0, 0, 0), *config))
    windows = _windows(x, kernel.shape[2:], window_strides, rhs_dilation)
    parts = [
        _product(part, filters)
        for part, filters in zip(
            _grouped(windows, feature_group_count, batch_group_count),
            np.split(kernel, feature_group_count * batch_group_count, axis=0),
            strict=True,
        )
    ]
    joined = np.concatenate(parts, axis=1).astype(result)
    return np.transpose(joined, np.argsort(dimension_numbers.out_spec))


def _windows(x: np.ndarray, window: Any, strides: Any, dilation: Any) -> np.ndarray:
    """The axes of x (N, C), those of the result's space, then those of a window."""
    extents = tuple(map(dilated, window, dilation))
    space = x.shape[2:]
    if any(e > size for e, size in zip(extents, space, strict=True)) or not all(window):
        counts = tuple(map(window_count, space, extents, strides))
        return np.zeros((*x.shape[:2], *counts, *window), x.dtype)
    if not space:
        return x
    axes = tuple(range(2, x.ndim))
    seen = np.lib.stride_tricks.sliding_window_view(x, extents, axis=axes)
    return seen[(np.s_[:], np.s_[:], *(np.s_[::s] for s in (*strides, *dilation)))]


def _grouped(windows: np.ndarray, features: int, batches: int) -> list[np.ndarray]:
    return (
        np.split(windows, batches, axis=0) if batches > 1 else np.split(windows, features, axis=1)
    )


def _product(windows: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """(N, C, space, window) by (O, C, window) to (N, O, space)."""
    rank = kernel.ndim - 2
    over = (1, *range(2 + rank, 2 + 2 * rank))
    return np.moveaxis(np.tensordot(windows, kernel, (over, range(1, kernel.ndim))), -1, 1)


# -------------------------------------------------------------------------------------- transpose


def _regroup(x: Any, axis: int, target: int, count: int) -> Any:
    """`x` with the groups along `axis`, its outer part, made the outer part of `target`."""
    split = _axis_split(x, axis, count)
    return _axis_merged(split, axis, target)


def _axis_split(x: Any, axis: int, count: Any) -> Any:
    """`x` with `axis` as two: `count` groups, and what is in one."""
    shape = typeof(x).shape  # type: ignore[attr-defined]
    sizes = (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
    return reshape(x, new_sizes=sizes, dimensions=None, sharding=None)


def _axis_merged(x: Any, axis: int, target: int) -> Any:
    """`x` with `axis` taken out and made the outer part of what is then axis `target`."""
    shape = typeof(x).shape  # type: ignore[attr-defined]
    rest = [i for i in range(len(shape)) if i != axis]
    sizes = [shape[i] for i in rest]
    sizes[target] = sizes[target] * shape[axis]
    rest.insert(target, axis)
    read = None if rest == list(range(len(shape))) else tuple(rest)
    return reshape(x, new_sizes=tuple(sizes), dimensions=read, sharding=None)


def _lhs_padding(
    space: Any, window: Any, strides: Any, out: Any, padding: Any, of_lhs: Any, of_rhs: Any
) -> Pads:
    """The padding of the cotangent whose convolution with the reversed window gives lhs's."""
    result = []
    for size, taps, stride, count, (low, _), spread, gap in zip(
        space, window, strides, out, padding, of_lhs, of_rhs, strict=True
    ):
        extent = dilated(taps, gap)
        before = extent - low - 1
        after = dilated(size, spread) + extent - 1 - dilated(count, stride) - before
        result.append((before, after))
    return tuple(result)


def _rhs_padding(
    space: Any, window: Any, strides: Any, out: Any, padding: Any, of_lhs: Any, of_rhs: Any
) -> Pads:
    """The padding of lhs whose convolution with the cotangent gives the window's."""
    result = []
    for size, taps, stride, count, (low, _), spread, gap in zip(
        space, window, strides, out, padding, of_lhs, of_rhs, strict=True
    ):
        over = dilated(count, stride) - dilated(size, spread)
        result.append((low, over + dilated(taps, gap) - low - 1))
    return tuple(result)


def _same_dtype(x: Any, dtype: Any) -> Any:
    return x if typeof(x).dtype == dtype else convert(x, dtype)  # type: ignore[attr-defined]


def _cotangent_of_lhs(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    ct_aval, window = typeof(ct), _taken(typeof(rhs).shape, rhs_spec[2:])  # type: ignore[attr-defined]
    groups = max(feature_group_count, batch_group_count)
    if groups > 1:
        rhs = _regroup(rhs, rhs_spec[0], rhs_spec[1], groups)
    pads = _lhs_padding(
        _taken(lhs.shape, lhs_spec[2:]),
        window,
        window_strides,
        _taken(ct_aval.shape, out_spec[2:]),  # type: ignore[attr-defined]
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    kernel = rev(rhs, dimensions=tuple(rhs_spec[2:]))
    found = conv_general_dilated(
        ct,
        _same_dtype(kernel, ct_aval.dtype),  # type: ignore[attr-defined]
        window_strides=lhs_dilation,
        padding=pads,
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        **params,
    )
    found = _same_dtype(found, lhs.dtype)
    if batch_group_count > 1:
        found = _regroup(found, lhs_spec[1], lhs_spec[0], batch_group_count)
    return found


def _cotangent_of_rhs(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    ct_aval = typeof(ct)
    if dims.same(ct_aval.size, 0):  # type: ignore[attr-defined]
        return Zero(rhs.aval)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = _rhs_padding(
        _taken(typeof(lhs).shape, lhs_spec[2:]),  # type: ignore[attr-defined]
        _taken(rhs.shape, rhs_spec[2:]),
        window_strides,
        _taken(ct_aval.shape, out_spec[2:]),  # type: ignore[attr-defined]
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    found = conv_general_dilated(
        _same_dtype(lhs, ct_aval.dtype),  # type: ignore[attr-defined]
        ct,
        window_strides=rhs_dilation,
        padding=pads,
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(
            _swapped(lhs_spec), _swapped(out_spec), _swapped(rhs_spec)
        ),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        **params,
    )
    return _same_dtype(found, rhs.dtype)


# ------------------------------------------------------------------------------------------ batch


def _batch(
    axis: Any,
    operands: Any,
    mapped: Any,
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> tuple[Any, int]:
    """The mapped axis joins batch (lhs alone), features out (rhs alone), or the groups (both)."""
    (lhs, rhs), (dl, dr) = operands, mapped
    params |= {
        "dimension_numbers": dimension_numbers,
        "feature_group_count": feature_group_count,
        "batch_group_count": batch_group_count,
    }
    if dims.same(axis.size, 0):
        return _no_lanes(axis, operands, mapped, params)
    if dl is not None and dr is not None:
        return _batch_of_both(axis, lhs, dl, rhs, dr, params)
    if dl is not None:
        return _batch_of_lhs(axis, lhs, dl, rhs, params)
    return _batch_of_rhs(axis, lhs, rhs, dr, params)


def _no_lanes(axis: Any, operands: Any, mapped: Any, params: Any) -> tuple[Any, int]:
    types = [typeof(x).without_axis(d) for x, d in zip(operands, mapped, strict=True)]
    aval = _result_types(*types, **params).with_axis(0, axis.size)  # type: ignore[arg-type]
    return full(aval, np.zeros((), aval.storage_dtype)[()]), 0  # type: ignore[arg-type]


def _batch_of_both(axis: Any, lhs: Any, dl: int, rhs: Any, dr: int, params: Any) -> tuple[Any, int]:
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    by_batch = params["batch_group_count"] > 1
    kind = "batch_group_count" if by_batch else "feature_group_count"
    found = conv_general_dilated(
        _axis_merged(lhs, dl, lhs_spec[0] if by_batch else lhs_spec[1]),
        _axis_merged(rhs, dr, rhs_spec[0]),
        **(params | {kind: params[kind] * axis.size}),
    )
    return _axis_split(found, out_spec[1], axis.size), out_spec[1]


def _inside_groups(x: Any, mapped: int, target: int, groups: int) -> Any:
    """`x` with its mapped axis merged into axis `target`, inside each of its groups."""
    at = target + (mapped <= target)
    apart = _axis_split(x, at, groups)
    mapped += at < mapped
    # Axes: …, groups, within a group, …: merge the lanes into what is within a group.
    merged = _axis_merged(apart, mapped, target + 1)
    return _axis_merged(merged, target, target)


def _batch_of_lhs(axis: Any, lhs: Any, dl: int, rhs: Any, params: Any) -> tuple[Any, int]:
    lhs_spec, _, out_spec = params["dimension_numbers"]
    groups = params["batch_group_count"]
    if groups == 1:
        joined = _axis_merged(lhs, dl, lhs_spec[0])
    else:
        joined = _inside_groups(lhs, dl, lhs_spec[0], groups)
    found = conv_general_dilated(joined, rhs, **params)
    return _axis_split(found, out_spec[0], axis.size), out_spec[0]


def _batch_of_rhs(axis: Any, lhs: Any, rhs: Any, dr: int, params: Any) -> tuple[Any, int]:
    _, rhs_spec, out_spec = params["dimension_numbers"]
    groups = max(params["feature_group_count"], params["batch_group_count"])
    at = out_spec[1]
    if groups == 1:
        found = conv_general_dilated(lhs, _axis_merged(rhs, dr, rhs_spec[0]), **params)
        return _axis_split(found, at, axis.size), at
    found = conv_general_dilated(lhs, _inside_groups(rhs, dr, rhs_spec[0], groups), **params)
    apart = _axis_split(_axis_split(found, at, groups), at + 1, axis.size)
    return _axis_merged(apart, at, at + 1), at


conv_general_dilated = Primitive(
    "conv_general_dilated",
    result_types=_result_types,
    evaluate=_evaluate,
    jvp=per_operand(
        lambda: conv_general_dilated,
        lambda t, x, y, **p: conv_general_dilated(t, y, **p),
        lambda t, x, y, **p: conv_general_dilated(x, t, **p),
    ),
    transpose=per_linear_operand(_cotangent_of_lhs, _cotangent_of_rhs),
    batch=_batch,
    accuracy=order,
    compiled=1 << 14,
)
