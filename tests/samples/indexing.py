"""Samples of windows at positions that are data: dynamic slices, gather and scatter."""

import numpy as np

from frit.primitives.arithmetic import max_, min_
from frit.primitives.elementwise import add, sub, times
from frit.primitives.index_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from frit.primitives.indexing import (
    gather,
    scatter,
    scatter_add,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
    update_by,
)
from frit.primitives.slices import dynamic_slice, dynamic_update_slice
from tests.samples import Sample, integers, numbers

CLIP, FILL = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
PROMISE = GatherScatterMode.PROMISE_IN_BOUNDS
_rows = np.array([[1], [0], [3], [9], [-1], [1]], "i4")
_inside = np.array([[1], [0], [3]], "i4")
_points = np.array([[[1, 2], [0, 0]], [[3, 1], [2, 3]]], "i4")

_ROWS = GatherDimensionNumbers((1,), (0,), (0,))
_POINTS = GatherDimensionNumbers((), (0, 1), (0, 1))
_WINDOWS = GatherDimensionNumbers((0, 2), (), (1,))
_LANES = GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,))


def _dynamic_slice(x, *starts, sizes):
    return Sample(dynamic_slice, (x, *starts), {"slice_sizes": sizes}, note=str(sizes))


def _gather(x, indices, numbers, sizes, mode=FILL, fill_value=np.nan):
    params = {
        "dimension_numbers": numbers,
        "slice_sizes": sizes,
        "unique_indices": False,
        "indices_are_sorted": False,
        "mode": mode,
        "fill_value": fill_value if mode == FILL else None,
    }
    smooth = fill_value == 0 or mode != FILL
    return Sample(gather, (x, indices), params, smooth=smooth, note=mode.name)


def _scatter(
    primitive, combine, x, indices, updates, numbers=_ROWS, *, mode=FILL, unique=False, **more
):
    update = {"update_jaxpr": None, "update_consts": ()}
    if combine is not None:
        update = update_by(combine, x.dtype)
    params = {
        "dimension_numbers": ScatterDimensionNumbers(*numbers),
        "indices_are_sorted": False,
        "unique_indices": unique,
        "mode": mode,
        **update,
    }
    return Sample(primitive, (x, indices, updates), params, note=mode.name, **more)


_x, _u = numbers(4, 3), numbers(6, 3, seed=1)
_three = numbers(3, 3, seed=2, low=2, high=3)
_lanes = np.array([[[1], [0]], [[2], [2]]], "i4")

SAMPLES = [
    _dynamic_slice(numbers(5, 4), np.int32(1), np.int32(2), sizes=(2, 2)),
    _dynamic_slice(numbers(5, 4), np.int32(9), np.int32(-3), sizes=(2, 2)),
    _dynamic_slice(numbers(), sizes=()),
    _dynamic_slice(integers(5), np.uint8(3), sizes=(2,)),
    Sample(dynamic_update_slice, (numbers(5), numbers(2, seed=1), np.int32(2))),
    Sample(dynamic_update_slice, (numbers(5, 3), numbers(1, 2, seed=1), np.int32(7), np.int32(-1))),
    Sample(dynamic_update_slice, (integers(4), integers(0), np.int32(2))),
    _gather(_x, _rows, _ROWS, (1, 3)),
    _gather(_x, _rows, _ROWS, (1, 3), fill_value=0),
    _gather(_x, _rows, _ROWS, (1, 3), CLIP),
    _gather(_x, _inside, _ROWS, (1, 3), PROMISE),
    _gather(_x, _inside, _ROWS, (1, 2), PROMISE),
    _gather(numbers(4, 4), _points, _POINTS, (1, 1), PROMISE),
    _gather(numbers(3, 5), np.array([[1], [4]], "i4"), _WINDOWS, (3, 2), CLIP),
    _gather(numbers(2, 3, 2), _lanes, _LANES, (1, 1, 2), PROMISE),
    _gather(integers(4, 3), _rows, _ROWS, (1, 3), fill_value=7),
    _gather(integers(4, 3) > 0, _rows, _ROWS, (1, 3), fill_value=True),
    _gather(_x, np.zeros((0, 1), "i4"), _ROWS, (1, 3), CLIP),
    _scatter(scatter, None, _x, _rows, _u),
    _scatter(scatter, None, _x, _rows, _u, mode=CLIP),
    _scatter(scatter, None, _x, _inside, _three, unique=True),
    _scatter(scatter, None, integers(4, 3), _rows, integers(6, 3, seed=1)),
    _scatter(scatter, None, numbers(4, 4), _points, numbers(2, 2, seed=1), _POINTS),
    _scatter(scatter_add, add, _x, _rows, _u),
    _scatter(scatter_add, add, _x, _rows, _u, mode=CLIP),
    _scatter(scatter_add, add, integers(4, 3), _rows, integers(6, 3, seed=1)),
    _scatter(
        scatter_add, add, numbers(3, 5), np.array([[1], [4]], "i4"), numbers(3, 2, 2), _WINDOWS
    ),
    _scatter(scatter_add, add, numbers(2, 3, 2), _lanes, numbers(2, 2, 2, seed=1), _LANES),
    _scatter(scatter_sub, sub, _x, _rows, _u),
    _scatter(scatter_mul, times, _x, _inside, _three, unique=True),
    _scatter(scatter_mul, times, integers(4, 3), _rows, integers(6, 3, seed=1)),
    _scatter(scatter_min, min_, _x, _rows, _u),
    _scatter(scatter_max, max_, _x, _inside, _three),
    _scatter(scatter_max, max_, integers(4, 3), _rows, integers(6, 3, seed=1)),
]
