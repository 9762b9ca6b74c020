"""Samples of dot_general."""

import ml_dtypes
import numpy as np

from frit.primitives.contraction import dot_general
from tests.samples import Sample, complex_numbers, integers, numbers


def _dot(x, y, summed, matched=((), ()), preferred=None):
    params = {
        "dimension_numbers": (summed, matched),
        "precision": None,
        "preferred_element_type": None if preferred is None else np.dtype(preferred),
        "out_sharding": None,
    }
    return Sample(dot_general, (x, y), params, note=f"{summed}{matched}")


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
]
