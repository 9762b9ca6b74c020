"""Samples of reductions over axes, over windows, and running along an axis."""

import ml_dtypes
import numpy as np

from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.types import ShapedArray
from frit.primitives.comparison_and_bits import ge, le
from frit.primitives.cumulative import cumlogsumexp, cummax, cummin, cumprod, cumsum
from frit.primitives.elementwise import add, times
from frit.primitives.reductions import (
    argmax,
    argmin,
    reduce,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from frit.primitives.windows import (
    reduce_window,
    reduce_window_max,
    reduce_window_min,
    reduce_window_sum,
    select_and_gather_add,
    select_and_scatter_add,
)
from frit.transforms.trace import trace_to_jaxpr
from tests.samples import Sample, complex_numbers, integers, numbers

_special = np.array([[0.0, -0.0, 1.0], [np.nan, 1.0, np.inf], [-np.inf, 2.0, -3.0]], "f4")
_complex_ties = np.array([[1 + 2j, 1 - 3j, 0 + 9j], [2j, complex(np.nan, 1), -5]], "c8")
_distinct = np.random.default_rng(5).permutation(24).reshape(4, 6).astype("f4") / 7 - 1


def _sum(x, *axes):
    return Sample(reduce_sum, (x,), {"axes": axes, "out_sharding": None}, note=str(axes))


def _over(primitive, x, *axes, **more):
    return Sample(primitive, (x,), {"axes": axes}, note=str(axes), **more)


def _arg(primitive, x, axis, dtype="i4"):
    params = {"axes": (axis,), "index_dtype": np.dtype(dtype)}
    return Sample(primitive, (x,), params, note=f"{axis}{dtype}")


def _running(primitive, x, axis=0, reverse=False, **more):
    params = {"axis": axis, "reverse": reverse}
    return Sample(primitive, (x,), params, note=f"{axis}{reverse}", **more)


def _geometry(rank, *, dimensions, strides, padding=None, base=None, window=None):
    return {
        "window_dimensions": dimensions,
        "window_strides": strides,
        "padding": padding or ((0, 0),) * rank,
        "base_dilation": base or (1,) * rank,
        "window_dilation": window or (1,) * rank,
    }


_PLAIN = _geometry(2, dimensions=(2, 3), strides=(1, 2), padding=((1, 0), (0, 2)))
_DILATED = _geometry(
    2, dimensions=(2, 2), strides=(2, 1), padding=((1, 1), (2, 0)), base=(2, 1), window=(1, 2)
)
_BASE_DILATED = _geometry(2, dimensions=(3, 2), strides=(2, 1), base=(2, 1))
_SELECT = {k: v for k, v in _PLAIN.items() if "dilation" not in k}


def _scalar_jaxpr(function, count):
    return ClosedJaxpr(*trace_to_jaxpr(function, [ShapedArray((), np.float32)] * count))


_NOT_WIDENED = dict.fromkeys(
    ("derivative", "second derivative", "transpose", "second transpose"),
    "the jaxpr of the sample is of float32; see tests/primitives/test_reductions.py",
)


def _reduce(function, *operands, dimensions):
    params = {
        "computation": None,
        "dimensions": dimensions,
        "jaxpr": _scalar_jaxpr(function, len(operands)),
    }
    count = len(operands) // 2
    fixed = tuple(range(count, 2 * count))
    return Sample(reduce, operands, params, fixed=fixed, without=_NOT_WIDENED, note="jaxpr")


SAMPLES = [
    _sum(numbers(2, 3, 4), 0, 2),
    _sum(numbers(2, 3)),
    _sum(numbers(0, 3), 0),
    _sum(complex_numbers(3), 0),
    _sum(integers(2, 300, dtype="i1"), 1),
    _sum(numbers(2, 300, dtype=ml_dtypes.bfloat16), 1),
    _over(reduce_max, _distinct, 1),
    _over(reduce_max, _special, 0, smooth=False),
    _over(reduce_max, complex_numbers(3, 4), 0, smooth=False),
    _over(reduce_min, _complex_ties, 1, smooth=False),
    _over(reduce_max, integers(0, 3), 0),
    _over(reduce_max, integers(2, 3) > 0, 0, 1),
    _over(reduce_min, _distinct, 0, 1),
    _over(reduce_min, _special, 1, smooth=False),
    _over(reduce_min, numbers(3, 2, dtype=ml_dtypes.bfloat16), 0),
    _over(reduce_prod, numbers(3, 5), 1),
    _over(reduce_prod, numbers(2, 2, 3), 2, 0),
    _over(reduce_prod, numbers(0, 3), 0),
    _over(reduce_prod, integers(4), 0),
    _over(reduce_and, integers(3, 4), 0),
    _over(reduce_and, integers(3, 4) > -5, 1),
    _over(reduce_or, integers(3, 4, dtype="u1"), 0),
    _over(reduce_or, integers(0, 4) > 0, 0),
    _over(reduce_xor, integers(3, 4), 0, 1),
    _over(reduce_xor, integers(3, 4) > 0, 1),
    _arg(argmax, _special, 1),
    _arg(argmax, integers(4, 5, dtype="u1"), 0, "u1"),
    _arg(argmax, integers(4, 5) > 0, 0),
    _arg(argmin, _special, 0),
    _arg(argmin, numbers(3, 4, dtype=ml_dtypes.bfloat16), 1),
    _running(cumsum, numbers(3, 5), 1),
    _running(cumsum, integers(6), 0, reverse=True),
    _running(cumsum, numbers(0, 3), 0),
    _running(cumsum, complex_numbers(4), 0),
    _running(cumprod, numbers(5, 2), 0),
    _running(cumprod, numbers(4), 0, reverse=True),
    _running(cummax, _distinct, 1),
    _running(cummax, _special, 0, smooth=False),
    _running(cummax, _complex_ties, 1, smooth=False),
    _running(cummin, _distinct, 0, reverse=True),
    _running(cummin, integers(5, dtype="u4"), 0),
    _running(cumlogsumexp, numbers(5, 2), 0),
    _running(cumlogsumexp, numbers(4), 0, reverse=True),
    _running(cumlogsumexp, _special, 1, smooth=False),
    Sample(reduce_window_sum, (numbers(4, 6),), _PLAIN, note="plain"),
    Sample(reduce_window_sum, (numbers(3, 5),), _DILATED, note="dilated"),
    Sample(reduce_window_sum, (integers(1, 2),), _PLAIN, note="small"),
    Sample(reduce_window_max, (_distinct,), _PLAIN, note="plain"),
    Sample(reduce_window_max, (_distinct,), _BASE_DILATED, note="base-dilated"),
    Sample(reduce_window_min, (_distinct,), _PLAIN, note="plain"),
    Sample(reduce_window_min, (integers(3, 5),), _DILATED, note="dilated"),
    Sample(
        select_and_gather_add,
        (numbers(4, 6), _distinct),
        {"select_prim": ge, **_PLAIN},
        fixed=(1,),
    ),
    Sample(
        select_and_scatter_add,
        (numbers(4, 3), _distinct),
        {"select_prim": le, **_SELECT},
        fixed=(1,),
    ),
    _reduce(lambda a, b: [times(a, b)], numbers(2, 3), np.float32(1), dimensions=(1,)),
    _reduce(
        lambda a, p, b, q: [add(a, b), times(p, q)],
        numbers(3, 2),
        numbers(3, 2, seed=1),
        np.float32(0),
        np.float32(1),
        dimensions=(0,),
    ),
    Sample(
        reduce_window,
        (numbers(4, 6), np.float32(1)),
        {
            "jaxpr": _scalar_jaxpr(lambda a, b: [times(a, b)], 2).jaxpr,
            "consts": (),
            **_PLAIN,
        },
        fixed=(1,),
        without=_NOT_WIDENED,
    ),
]
