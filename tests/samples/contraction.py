"""Samples of dot_general and ragged_dot_general."""

import ml_dtypes
import numpy as np

from frit.primitives.contraction import dot_general
from frit.primitives.ragged import RaggedDotDimensionNumbers, ragged_dot_general
from tests.samples import Sample, complex_numbers, integers, numbers


def _dot(x, y, summed, matched=((), ()), preferred=None):
    params = {
        "dimension_numbers": (summed, matched),
        "precision": None,
        "preferred_element_type": None if preferred is None else np.dtype(preferred),
        "out_sharding": None,
    }
    return Sample(dot_general, (x, y), params, note=f"{summed}{matched}")


def _ragged(x, y, sizes, summed, matched, ragged, group):
    params = {
        "ragged_dot_dimension_numbers": RaggedDotDimensionNumbers(
            (summed, matched), (ragged,), group
        ),
        "precision": None,
        "preferred_element_type": None,
        "group_offset": None,
        "out_sharding": None,
    }
    return Sample(ragged_dot_general, (x, y, sizes), params, note=f"{ragged}")


_MATRIX = ((1,), (0,))
_narrow = ml_dtypes.bfloat16

SAMPLES = [
    _dot(numbers(2, 3), numbers(3, 4, seed=1), _MATRIX),
    _dot(numbers(3), numbers(3, seed=1), ((0,), (0,))),
    _dot(numbers(3), numbers(2, 3), ((0,), (1,))),
    _dot(numbers(2), numbers(3), ((), ())),
    _dot(numbers(2, 0), numbers(0, 3), _MATRIX),
    _dot(numbers(2, 3, 4), numbers(2, 4, 5, seed=1), ((2,), (1,)), ((0,), (0,))),
    _dot(numbers(2, 3, 4), numbers(6, 4, 5, 2, seed=1), ((2, 0), (1, 3))),
    _dot(numbers(2, 3, 4), numbers(4, 5, 3, 2, seed=1), ((0,), (3,)), ((2, 1), (0, 2))),
    _dot(complex_numbers(2, 3), complex_numbers(3, 2, seed=1), _MATRIX),
    _dot(integers(2, 3), integers(3, 2, seed=1), _MATRIX),
    _dot(integers(2, 3, dtype="i1"), integers(3, 2, seed=1, dtype="i1"), _MATRIX, preferred="i4"),
    _dot(integers(2, 3) > 0, integers(3, 2) > 0, _MATRIX),
    _dot(numbers(2, 9, dtype=_narrow), numbers(9, 2, seed=1, dtype=_narrow), _MATRIX),
    _dot(
        numbers(2, 9, dtype=_narrow), numbers(9, 2, seed=1, dtype=_narrow), _MATRIX, preferred="f4"
    ),
    _dot(numbers(70, 33), numbers(33, 41, seed=1), _MATRIX),
    _ragged(
        numbers(5, 3), numbers(2, 3, 4, seed=1), np.array([2, 1], "i4"), ((1,), (1,)), ((), ()), 0,
        (0,),
    ),
    _ragged(
        numbers(5, 3), numbers(5, 4, seed=1), np.array([2, 0, 3], "i4"), ((0,), (0,)), ((), ()), 0,
        (),
    ),
    _ragged(
        numbers(2, 5, 3), numbers(2, 5, 2, seed=1), np.array([[2, 1], [4, 1]], "i4"),
        ((1,), (1,)), ((0,), (0,)), 1, (),
    ),
]  # fmt: skip
