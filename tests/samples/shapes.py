"""Samples of the primitives that arrange elements."""

import numpy as np

from frit.primitives.padding import pad, slice
from frit.primitives.shapes import (
    broadcast_in_dim,
    concatenate,
    iota,
    optimization_barrier,
    reshape,
    rev,
    split,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
)
from tests.samples import Sample, complex_numbers, integers, numbers


def _reshape(x, *sizes, dimensions=None):
    return Sample(reshape, (x,), {"new_sizes": sizes, "dimensions": dimensions, "sharding": None})


def _broadcast(x, shape, dimensions):
    params = {"shape": shape, "broadcast_dimensions": dimensions, "sharding": None}
    return Sample(broadcast_in_dim, (x,), params)


def _pad(x, value, *config):
    return Sample(pad, (x, value), {"padding_config": config}, note=str(config))


def _slice(x, starts, limits, strides=None):
    params = {"start_indices": starts, "limit_indices": limits, "strides": strides}
    return Sample(slice, (x,), params, note=f"{starts}{limits}{strides}")


def _iota(shape, dimension, dtype):
    params = {"shape": shape, "dimension": dimension, "dtype": np.dtype(dtype), "sharding": None}
    return Sample(iota, (), params, note=f"{dtype}{shape}")


_zero = np.float32(0.5)

SAMPLES = [
    _reshape(numbers(2, 3), 6),
    _reshape(numbers(2, 3), 3, 1, 2, dimensions=(1, 0)),
    _reshape(numbers(0, 3), 3, 0),
    _reshape(numbers(), 1, 1),
    _reshape(integers(4), 2, 2),
    Sample(transpose, (numbers(2, 3, 4),), {"permutation": (2, 0, 1)}),
    Sample(transpose, (numbers(),), {"permutation": ()}),
    _broadcast(numbers(3), (2, 3), (1,)),
    _broadcast(numbers(1, 3), (2, 4, 3), (0, 2)),
    _broadcast(numbers(), (2, 2), ()),
    Sample(squeeze, (numbers(1, 3, 1),), {"dimensions": (0, 2)}),
    Sample(concatenate, (numbers(2, 3), numbers(2, 1)), {"dimension": 1}),
    Sample(concatenate, (integers(2), integers(0), integers(3)), {"dimension": 0}),
    Sample(stack, (numbers(2, 3), numbers(2, 3, seed=1)), {"axis": 1}),
    Sample(unstack, (numbers(2, 3),), {"axis": 1}),
    Sample(split, (numbers(2, 5),), {"sizes": (1, 4), "axis": 1}),
    Sample(split, (numbers(3),), {"sizes": (0, 3), "axis": 0}),
    Sample(tile, (numbers(2, 3),), {"reps": (3, 2)}),
    Sample(rev, (numbers(2, 3),), {"dimensions": (1,)}),
    Sample(rev, (complex_numbers(2, 3),), {"dimensions": (0, 1)}),
    _pad(numbers(2, 3), _zero, (1, 2, 0), (0, 1, 2)),
    _pad(numbers(4, 3), _zero, (-1, 2, 1), (1, -2, 0)),
    _pad(numbers(3), _zero, (-5, 9, 1)),
    _pad(numbers(0, 2), _zero, (1, 1, 2), (0, 0, 0)),
    _pad(numbers(), _zero),
    _slice(numbers(5, 4), (1, 0), (4, 3)),
    _slice(numbers(7), (1,), (6,), (2,)),
    _slice(numbers(3, 4), (2, 0), (2, 4), (1, 3)),
    _slice(integers(4), (0,), (4,)),
    _iota((3,), 0, "i4"),
    _iota((2, 3), 1, "f4"),
    _iota((2, 0), 0, "u1"),
    Sample(optimization_barrier, (numbers(2), integers(3))),
]
