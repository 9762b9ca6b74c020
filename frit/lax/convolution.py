"""Convolutions, and the names of their axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import errors
from frit.ir import dims
from frit.lax.contraction import dot_general
from frit.lax.operands import as_sizes, dtype_of, rank_of, shape_of, user_dtype
from frit.lax.reductions import padtype_to_pads
from frit.lax.shapes import rev, transpose
from frit.primitives.convolution import ConvDimensionNumbers, convolved_space
from frit.primitives.convolution import conv_general_dilated as conv_general_dilated_p
from frit.primitives.padding import dilated
from frit.primitives.precision import Precision, canonicalize_precision

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_p",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
]

ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


# ------------------------------------------------------------------------------ names of the axes


def conv_dimension_numbers(
    lhs_shape: Any, rhs_shape: Any, dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Where the axes are, from three strings such as ('NHWC', 'HWIO', 'NHWC').

    The default is ('NCHW', 'OIHW', 'NCHW').  TypeError where a string does not name each axis once.
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(
            "convolution requires lhs and rhs ndim to be equal, got "
            f"{len(lhs_shape)} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        axes = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(axes, axes, axes)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError(
            "convolution dimension_numbers must be tuple/list or None, got "
            f"{type(dimension_numbers)}."
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            "convolution dimension_numbers list/tuple must be length 3, got "
            f"{len(dimension_numbers)}."
        )
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        raise TypeError(
            "convolution dimension_numbers elements must be strings, got "
            f"{tuple(map(type, dimension_numbers))}."
        )
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != len(lhs_shape):
            raise TypeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and "
                f"rhs, got {len(spec)} for lhs and rhs shapes {lhs_shape} and {rhs_shape}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Any) -> tuple[tuple[int, ...], ...]:
    """For three strings, where N and C (O and I) are, then the spatial axes in rhs's order."""
    roles = (("N", "C"), ("O", "I"), ("N", "C"))
    specs = errors.as_sequence(dimension_numbers, "convolution dimension_numbers")
    if len(specs) != 3 or not all(isinstance(spec, str) for spec in specs):
        raise TypeError(
            "convolution dimension_numbers must be three strings such as ('NCHW', 'OIHW', 'NCHW'), "
            f"got {dimension_numbers!r}."
        )
    for i, (spec, (a, b)) in enumerate(zip(specs, roles, strict=True)):
        if not spec.count(a) == spec.count(b) == 1:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain the characters '{a}' and '{b}' "
                f"exactly once, got {spec}."
            )
        if len(spec) != len(set(spec)):
            raise TypeError(
                f"convolution dimension_numbers[{i}] cannot have duplicate characters, got {spec}."
            )
    spatial = [set(spec) - set(pair) for spec, pair in zip(dimension_numbers, roles, strict=True)]
    if not spatial[0] == spatial[1] == spatial[2]:
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of spatial "
            f"characters, got {dimension_numbers}."
        )
    in_order = [c for c in dimension_numbers[1] if c not in roles[1]]
    return tuple(
        (spec.index(a), spec.index(b), *(spec.index(c) for c in in_order))
        for spec, (a, b) in zip(dimension_numbers, roles, strict=True)
    )


# ----------------------------------------------------------------------------------- convolutions


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The convolution of `lhs` with the window `rhs`, which is not flipped.

    padding: 'VALID', 'SAME', 'SAME_LOWER', or (low, high) for each spatial axis.
    lhs_dilation: how far apart elements of lhs are put, for transposed convolutions.
    rhs_dilation: how far apart elements of the window are.
    """
    left, right = shape_of(lhs), shape_of(rhs)
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    ones = (1,) * (len(left) - 2)
    of_lhs = ones if lhs_dilation is None else as_sizes(lhs_dilation)
    of_rhs = ones if rhs_dilation is None else as_sizes(rhs_dilation)
    if len(window_strides) != len(ones):
        raise ValueError(
            "conv_general_dilated window and window_strides must have the same number of "
            f"dimensions, but got {len(ones)} and {len(window_strides)}"
        )
    if isinstance(padding, str):
        if any(d != 1 for d in of_lhs):
            raise ValueError(
                "String padding is not implemented for transposed convolution using this op. "
                "Please either exactly specify the required padding or use conv_transpose."
            )
        window = [right[i] for i in numbers.rhs_spec[2:]]
        space = [left[i] for i in numbers.lhs_spec[2:]]
        padding = padtype_to_pads(
            space, list(map(dilated, window, of_rhs)), window_strides, padding
        )
    preferred = preferred_element_type
    return conv_general_dilated_p(
        lhs,
        rhs,
        window_strides=as_sizes(window_strides),
        padding=_pairs(padding),
        lhs_dilation=of_lhs,
        rhs_dilation=of_rhs,
        dimension_numbers=numbers,
        feature_group_count=operator.index(feature_group_count),
        batch_group_count=operator.index(batch_group_count),
        precision=canonicalize_precision(precision),
        preferred_element_type=(
            None if preferred is None else user_dtype(preferred, "conv_general_dilated")
        ),
        out_sharding=None,
    )


def _pairs(padding: Any) -> tuple[tuple[Any, Any], ...]:
    try:
        return tuple((low, high) for low, high in map(as_sizes, padding))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "padding argument to conv_general_dilated should be a string or a sequence of "
            f"(low, high) pairs, got {padding}"
        ) from error


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The convolution of NCHW by OIHW arrays."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The convolution of NCHW by OIHW arrays, with dilations."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_CHANNELS_LAST = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Any,
    padding: Any,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """The transposed convolution, which undoes the strides of one; NHWC by HWIO by default.

    transpose_kernel: flip and swap the window, which makes this the gradient of a convolution.
    use_consistent_padding: `padding` is that of the convolution whose transpose this is.
    """
    left, right = shape_of(lhs), shape_of(rhs)
    if len(left) != len(right) or len(left) < 2:
        raise ValueError(
            f"conv_transpose needs lhs and rhs of one rank, at least 2; got {left} and {right}."
        )
    if dimension_numbers is None:
        if len(left) not in _CHANNELS_LAST:
            raise ValueError("No 4+ dimensional dimension_number defaults.")
        dimension_numbers = _CHANNELS_LAST[len(left)]
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    of_rhs = (1,) * (len(left) - 2) if rhs_dilation is None else as_sizes(rhs_dilation)
    if use_consistent_padding or padding in ("SAME", "VALID"):
        each = [padding] * len(strides) if isinstance(padding, str) else padding
        extents = [dilated(right[i], d) for i, d in zip(numbers.rhs_spec[2:], of_rhs, strict=True)]
        padding = tuple(map(_transposed_padding, extents, strides, each))
    if transpose_kernel:
        rhs = rev(rhs, numbers.rhs_spec[2:])
        rhs = _swapped_axes(rhs, numbers.rhs_spec[0], numbers.rhs_spec[1])
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * (len(left) - 2),
        padding,
        strides,
        of_rhs,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _swapped_axes(x: Any, a: int, b: int) -> Any:
    order = list(range(rank_of(x)))
    order[a], order[b] = b, a
    return transpose(x, order)


def _transposed_padding(window: int, stride: int, padding: Any) -> tuple[int, int]:
    """The padding that makes a transposed convolution give what a convolution with these takes."""
    if padding == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    elif padding == "VALID":
        total = window + stride - 2 + max(window - stride, 0)
        low = window - 1
    elif isinstance(padding, tuple):
        low, total = window - padding[0] - 1, 2 * (window - 1) - sum(padding)
    else:
        raise ValueError(f"Invalid padding mode: {padding}")
    return low, total - low


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The windows of `lhs` that a convolution sees, as features: for each channel its elements."""
    window, shape = as_sizes(filter_shape), shape_of(lhs)
    numbers = conv_dimension_numbers(shape, (1, 1, *window), dimension_numbers)
    count, channels = dims.product(window), shape[numbers.lhs_spec[1]]
    picking = np.eye(count, dtype=np.float64).astype(dtype_of(lhs))
    picking = np.tile(picking.reshape(*window, 1, count), (*(1,) * (len(window) + 1), channels))
    kernel = np.moveaxis(picking, (-2, -1), (numbers.rhs_spec[1], numbers.rhs_spec[0]))
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=channels,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    filter_shape: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """A convolution whose window differs from place to place.

    rhs has the result's spatial extents, and the window's elements in its input features.
    """
    canonical = canonicalize_precision(precision)
    of_patches = canonical[0] if isinstance(canonical, tuple) else Precision.DEFAULT
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        precision=of_patches,
    )
    _, rhs_spec, out_spec = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    pairs = sorted(zip(out_spec[2:], rhs_spec[2:], strict=True))
    matched = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    summed = (out_spec[1],), (rhs_spec[1],)
    product = dot_general(patches, rhs, (summed, matched), precision=precision)
    rank = rank_of(product)
    return transpose(product, _with_last_two_at(rank, out_spec[0], out_spec[1]))


def _with_last_two_at(rank: int, batch: int, feature: int) -> list[int]:
    rest = iter(range(rank - 2))
    ends = {batch: rank - 2, feature: rank - 1}
    return [ends[i] if i in ends else next(rest) for i in range(rank)]


# ----------------------------------------------------------------------------------------- shapes


def conv_shape_tuple(
    lhs_shape: Any, rhs_shape: Any, strides: Any, pads: Any, batch_group_count: int = 1
) -> tuple[Any, ...]:
    """The shape of the convolution of NCHW by OIHW shapes."""
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    ones = (1,) * (len(lhs_shape) - 2)
    space = convolved_space(lhs_shape[2:], rhs_shape[2:], strides, pads, ones, ones)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *space)


def _by_numbers(shape: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    return [shape[i] for i in axes]


def conv_general_shape_tuple(
    lhs_shape: Any, rhs_shape: Any, window_strides: Any, padding: Any, dimension_numbers: Any
) -> tuple[Any, ...]:
    """The shape of a convolution whose axes the three strings name."""
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        _by_numbers(lhs_shape, lhs_spec), _by_numbers(rhs_shape, rhs_spec), window_strides, padding
    )
    return tuple(shape[out_spec.index(i)] for i in range(len(shape)))


def conv_transpose_shape_tuple(
    lhs_shape: Any, rhs_shape: Any, window_strides: Any, padding: Any, dimension_numbers: Any
) -> tuple[Any, ...]:
    """The shape of a transposed convolution whose axes the three strings name."""
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    left, right = _by_numbers(lhs_shape, lhs_spec), _by_numbers(rhs_shape, rhs_spec)
    if isinstance(padding, str):
        pairs = zip(right[2:], window_strides, strict=True)
        padding = [_transposed_padding(k, s, padding) for k, s in pairs]
    space = [
        (size - 1) * stride - window + 2 + sum(pads)
        for size, window, stride, pads in zip(
            left[2:], right[2:], window_strides, padding, strict=True
        )
    ]
    shape = (left[0], right[0], *space)
    return tuple(shape[out_spec.index(i)] for i in range(len(shape)))
