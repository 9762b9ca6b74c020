"""Random programs give the same bits compiled whole and equation by equation: a bounded budget.

`make fuzz` runs the long form.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import fuzzing


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_random_programs(data):
    choose = lambda n: data.draw(st.integers(0, n - 1))
    fuzzing.check(fuzzing.make_program(choose, choose(12) + 3))


def test_every_operation_is_reached():
    reached = set()
    for seed in range(150):
        generator = np.random.default_rng(seed)
        program = fuzzing.make_program(lambda n, g=generator: int(g.integers(n)), 12)
        reached.update(name for name, _, _ in program.steps)
    assert reached == fuzzing.OPERATIONS.keys()


def test_same_bits_tells_signed_zeros_apart_and_nans_not():
    zeros = np.float32([0.0, np.nan]), np.float32([-0.0, np.nan])
    assert fuzzing.same_bits(zeros[0], zeros[0])
    assert not fuzzing.same_bits(*zeros)


@pytest.mark.parametrize(
    ("a", "b", "apart"), [(1.0, 1.0000001, 1), (0.0, -0.0, 0), (0.0, 1e-45, 1)]
)
def test_ulps_apart(a, b, apart):
    assert fuzzing.ulps_apart(np.float32([a]), np.float32([b])).tolist() == [apart]
