"""Samples of sort and top_k."""

import ml_dtypes
import numpy as np

from frit.primitives.sorting import approx_top_k, sort, top_k
from tests.samples import Sample, complex_numbers, integers, numbers

_special = np.array([0.0, -0.0, np.nan, 3, -3, np.inf, 3, -np.inf, 0.0], "f4")
_distinct = np.random.default_rng(5).permutation(12).reshape(3, 4).astype("f4") / 7 - 1


def _sort(*operands, dimension=0, num_keys=1, **more):
    params = {"dimension": dimension, "is_stable": True, "num_keys": num_keys}
    return Sample(sort, operands, params, note=f"{dimension}-{num_keys}", **more)


def _top(x, k, axis=0, **more):
    return Sample(top_k, (x,), {"k": k, "axis": axis}, note=f"{k}-{axis}", **more)


def _approx(x, axis, *, is_max_k):
    params = {
        "k": 2,
        "reduction_dimension": axis,
        "recall_target": 0.95,
        "is_max_k": is_max_k,
        "reduction_input_size_override": -1,
        "aggregate_to_topk": True,
    }
    return Sample(approx_top_k, (x,), params, note=f"{axis}")


SAMPLES = [
    _sort(_distinct, dimension=1),
    _sort(_distinct, integers(3, 4), dimension=0),
    _sort(_distinct, numbers(3, 4)),
    _sort(_special, integers(9), smooth=False),
    _sort(integers(9, low=0, high=3), integers(9, seed=1, low=0, high=3), integers(9), num_keys=2),
    _sort(complex_numbers(5), smooth=False),
    _sort(numbers(7, dtype=ml_dtypes.bfloat16)),
    _sort(integers(300, dtype="u1")),
    _sort(integers(5) > 0, integers(5)),
    _sort(numbers(0)),
    _sort(numbers(1000), smooth=False),
    _top(_distinct, 2, axis=1),
    _top(_special, 4, smooth=False),
    _top(integers(9, low=0, high=3), 5),
    _top(numbers(3), 0),
    _approx(_distinct, -1, is_max_k=False),
    _approx(_distinct, 0, is_max_k=True),
]
