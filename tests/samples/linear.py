"""Samples of the linear primitives that only transformations make."""

from __future__ import annotations

import numpy as np

from frit.transforms.linear import add_any, add_at, take_window
from tests.samples import Sample, complex_numbers, integers, numbers

_at = lambda *starts: tuple(map(np.int32, starts))

SAMPLES = [
    Sample(add_any, (numbers(3), numbers(3, seed=1))),
    Sample(add_any, (numbers(), numbers(seed=1))),
    Sample(add_any, (complex_numbers(2), complex_numbers(2, seed=3))),
    Sample(add_any, (integers(2, 2), integers(2, 2, seed=1))),
    Sample(add_at, (numbers(5), numbers(2, seed=1), *_at(1)), {"strides": (1,)}),
    Sample(add_at, (numbers(5), numbers(2, seed=1), *_at(1)), {"strides": (2,)}, note="strided"),
    Sample(add_at, (numbers(3, 4), numbers(2, 2, seed=1), *_at(1, 0)), {"strides": (1, 2)}),
    Sample(add_at, (numbers(5), numbers(2, seed=1), *_at(9)), {"strides": (1,)}, note="clamped"),
    Sample(take_window, (numbers(5), *_at(1)), {"shape": (2,), "strides": (2,)}),
    Sample(take_window, (numbers(3, 4), *_at(1, 2)), {"shape": (2, 1), "strides": (1, 1)}),
    Sample(take_window, (numbers(5), *_at(-3)), {"shape": (2,), "strides": (1,)}, note="clamped"),
]
