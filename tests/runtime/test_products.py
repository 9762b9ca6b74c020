"""dot_general through BLAS: every layout of its axes, without copies where BLAS can see them."""

import numpy as np
import pytest

from frit.ir.types import ShapedArray
from frit.primitives.contraction import dot_general
from frit.transforms.linear import transpose
from tests.runtime.compiled import agrees, f32, sin

LAYOUTS = [
    ((32, 40), (40, 48), ((1,), (0,)), ((), ())),
    ((40, 32), (40, 48), ((0,), (0,)), ((), ())),
    ((40, 32), (48, 40), ((0,), (1,)), ((), ())),
    ((32, 40), (48, 40), ((1,), (1,)), ((), ())),
    ((3, 32, 20), (3, 20, 24), ((2,), (1,)), ((0,), (0,))),
    ((2, 32, 3, 20), (2, 24, 3, 20), ((3,), (3,)), ((0, 2), (0, 2))),
    ((2, 32, 3, 20), (2, 24, 3, 20), ((3,), (3,)), ((2, 0), (2, 0))),
    ((8, 4, 5, 40), (40, 48), ((3,), (0,)), ((), ())),
    ((16, 20, 30), (30, 20, 16), ((1, 2), (1, 0)), ((), ())),
    ((16, 20, 30), (20, 30, 16), ((1, 2), (0, 1)), ((), ())),
    ((20, 16, 30), (20, 30, 16), ((0, 2), (0, 1)), ((), ())),
    ((300, 200), (200,), ((1,), (0,)), ((), ())),
    ((200, 300), (200,), ((0,), (0,)), ((), ())),
    ((200,), (200, 300), ((0,), (0,)), ((), ())),
    ((200,), (300, 200), ((0,), (1,)), ((), ())),
    ((64, 1), (1, 128), ((1,), (0,)), ((), ())),
    ((3, 4), (4, 5), ((1,), (0,)), ((), ())),
    ((30000,), (30000,), ((0,), (0,)), ((), ())),
]


def _dot(x, y, summed, matched, out=None):
    return dot_general(
        x, y, dimension_numbers=(summed, matched), precision=None, preferred_element_type=out,
        out_sharding=None,
    )  # fmt: skip


@pytest.mark.parametrize(("left", "right", "summed", "matched"), LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_layouts(left, right, summed, matched, dtype):
    types = [ShapedArray(shape, np.dtype(dtype)) for shape in (left, right)]
    agrees(lambda x, y: [_dot(x, y, summed, matched)], *types, tolerance=2e-3)


def test_only_uncommon_layouts_are_copied():
    for number, (left, right, summed, matched) in enumerate(LAYOUTS[:16]):
        program = agrees(
            lambda x, y, s=summed, m=matched: [_dot(x, y, s, m)], f32(*left), f32(*right),
            tolerance=2e-3,
        )  # fmt: skip
        assert "@blas_sge" in program.executable.text
        copied = "@k0_" in program.executable.text
        assert copied == (number in (8, 10)), (left, right, summed)


def test_half_width_operands_are_computed_in_float32():
    import ml_dtypes

    for dtype in (np.dtype(ml_dtypes.bfloat16), np.dtype("float16")):
        types = [ShapedArray((32, 32), dtype)] * 2
        program = agrees(
            lambda x, y: [_dot(x, y, ((1,), (0,)), ((), ()), np.dtype("float32"))],
            *types, tolerance=2e-2,
        )  # fmt: skip
        assert "@blas_sgemm" in program.executable.text


def test_products_between_other_work():
    def function(x, w):
        y = _dot(sin(x), w, ((1,), (0,)), ((), ()))
        return [sin(y), transpose(y, permutation=(1, 0))]

    agrees(function, f32(32, 40), f32(40, 48), tolerance=1e-3)
