"""Samples of conv_general_dilated."""

import ml_dtypes
import numpy as np

from frit.primitives.convolution import ConvDimensionNumbers, conv_general_dilated
from tests.samples import Sample, complex_numbers, integers, numbers

_NCHW = ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
_NHWC = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
_MIXED = ConvDimensionNumbers((1, 0, 3, 2), (3, 2, 0, 1), (2, 3, 0, 1))


def _conv(
    x, y, numbers=_NCHW, *, strides=None, padding=None, of_x=None, of_y=None, features=1, batches=1,
    preferred=None, note="",
):  # fmt: skip
    rank = x.ndim - 2
    params = {
        "window_strides": strides or (1,) * rank,
        "padding": padding or ((0, 0),) * rank,
        "lhs_dilation": of_x or (1,) * rank,
        "rhs_dilation": of_y or (1,) * rank,
        "dimension_numbers": numbers,
        "feature_group_count": features,
        "batch_group_count": batches,
        "precision": None,
        "preferred_element_type": None if preferred is None else np.dtype(preferred),
        "out_sharding": None,
    }
    return Sample(conv_general_dilated, (x, y), params, note=note)


_narrow = ml_dtypes.bfloat16
_x, _y = numbers(2, 4, 5, 6), numbers(6, 4, 2, 3, seed=1)

SAMPLES = [
    _conv(_x, _y, note="plain"),
    _conv(_x, _y, padding=((1, 1), (1, 0)), strides=(2, 1), note="strided"),
    _conv(_x, _y, padding=((-1, 2), (0, -2)), note="negative-padding"),
    _conv(
        _x, _y, of_x=(2, 1), of_y=(1, 2), padding=((1, 0), (0, 1)), strides=(2, 2), note="dilated",
    ),
    _conv(numbers(2, 5, 6, 3), numbers(2, 3, 3, 4, seed=1), _NHWC, note="nhwc"),
    _conv(numbers(3, 2, 6, 5), numbers(2, 3, 3, 4, seed=1), _MIXED, note="mixed"),
    _conv(_x, numbers(6, 2, 2, 3, seed=1), features=2, padding=((1, 0), (1, 1)), note="features"),
    _conv(numbers(4, 4, 5, 6), _y, batches=2, strides=(1, 2), note="batches"),
    _conv(
        numbers(2, 4, 7), numbers(3, 4, 3, seed=1),
        ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2)), note="one-dimensional",
    ),
    _conv(
        numbers(2, 4), numbers(3, 4, seed=1), ConvDimensionNumbers((0, 1), (0, 1), (0, 1)),
        note="no-space",
    ),
    _conv(numbers(1, 2, 2, 2), numbers(1, 2, 3, 3), note="window-too-large"),
    _conv(complex_numbers(1, 2, 3, 4), complex_numbers(2, 2, 2, 2, seed=1), note="complex"),
    _conv(integers(1, 2, 3, 4), integers(2, 2, 2, 2, seed=1), note="integer"),
    _conv(_x.astype(_narrow), _y.astype(_narrow), note="narrow"),
    _conv(_x.astype(_narrow), _y.astype(_narrow), preferred="f4", note="narrow-to-wide"),
]  # fmt: skip
