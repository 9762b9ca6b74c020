"""What the machine was measured to do, and the least time of work on it."""

import numpy as np
import pytest

from frit.diagnostics import roofline
from frit.diagnostics.work import Work


def test_less_memory_is_never_slower():
    sizes, speeds = zip(*roofline.bandwidths(), strict=True)
    assert list(sizes) == sorted(sizes)
    assert list(speeds) == sorted(speeds, reverse=True)
    assert roofline.bandwidth(1) == speeds[0]
    assert roofline.bandwidth(1 << 40) == speeds[-1]


def test_it_is_measured_once():
    assert roofline.bandwidths() is roofline.bandwidths()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_peaks_are_plausible(dtype):
    # One multiplication a nanosecond is a tenth of what any machine of this century does.
    assert 1e9 < roofline.arithmetic_peak(dtype) < 1e14
    assert 1e9 < roofline.product_peak(dtype) < 1e15


def test_the_bound_is_the_slower_of_the_two():
    moving, bound = roofline.attainable(Work(read=1 << 20, flops=1, dtype="float32"))
    assert bound == "memory"
    assert moving == pytest.approx((1 << 20) / roofline.bandwidth(1 << 20))
    computing, bound = roofline.attainable(Work(read=4, flops=10**9, dtype="float64"))
    assert bound == "arithmetic"
    assert computing == pytest.approx(1e9 / roofline.arithmetic_peak("float64"))
    product, _ = roofline.attainable(Work(read=4, flops=10**9, dtype="float64"), library=True)
    assert product == pytest.approx(1e9 / roofline.product_peak("float64"))
    assert roofline.attainable(Work()) == (0.0, "")


def test_fastest_takes_the_least_and_ends():
    times = iter(np.linspace(5, 1, 3000))
    found = roofline.fastest(lambda: next(times), seconds=0.02, least=4)
    assert found <= 5 - 3 * 4 / 2999
    times = iter([3.0, 2.0])
    assert roofline.fastest(lambda: next(times), seconds=0.0) == 3.0
