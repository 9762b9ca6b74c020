"""Random programs give the same bits compiled whole and equation by equation: a bounded budget.

`make fuzz` runs the long form.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frit
from frit import lax
from frit.codegen import loops
from frit.codegen.interpret import LoopFault
from frit.runtime import pipeline
from tests import fuzzing
from tests.interpreted import run_interpreted


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


def random_program(seed, steps):
    generator = np.random.default_rng(seed)
    return fuzzing.make_program(lambda n: int(generator.integers(n)), steps)


def test_kernels_of_random_programs_touch_only_memory_that_they_may():
    for seed in range(40):
        fuzzing.check_loops(random_program(seed, 12))


def _read_after_the_end(function):
    """`function`, with each of its loads one element further on."""
    for item in loops.walk(function.body):
        if isinstance(item, loops.Load):
            item.at = item.at + 1


def _without_the_last_store(function):
    stores = [b for b in every_body(function.body) if isinstance(last_of(b), loops.Store)]
    del stores[-1].items[-1]


def _all_stores_to_one_place(function):
    for item in loops.walk(function.body):
        if isinstance(item, loops.Store):
            item.at = loops.as_at(0)


def every_body(body):
    yield body
    for item in body.items:
        for inner in loops.bodies_of(item):
            yield from every_body(inner)


def last_of(body):
    return body.items[-1] if body.items else None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_read_after_the_end, r"Load x0\[5\] is outside of its 5 elements"),
        (_without_the_last_store, "5 of the 5 elements of y0 are never written"),
        (_all_stores_to_one_place, r"Store y0\[0\] is written by two iterations"),
    ],
)
def test_faults_of_kernels_are_found(damage, message, monkeypatch):
    lower = pipeline.lower.lower_kernel

    def damaged(kernel, **options):
        function = lower(kernel, **options)
        damage(function)
        return function

    monkeypatch.setattr(pipeline.lower, "lower_kernel", damaged)
    closed = frit.make_jaxpr(lambda x: lax.sin(x) + x)(np.ones(5, np.float32))
    with pytest.raises(LoopFault, match=message):
        run_interpreted(closed, [np.ones(5, np.float32)])


def test_every_operation_is_reached():
    reached = set()
    for seed in range(150):
        reached.update(name for name, _, _ in random_program(seed, 12).steps)
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


def test_products_in_another_order_may_overflow():
    x = [np.float32([1e30, 1e30, 0.0])]
    assert fuzzing.may_overflow("reduce_prod", x, np.dtype("float32"))
    assert not fuzzing.may_overflow("reduce_sum", x, np.dtype("float32"))
    assert not fuzzing.may_overflow("reduce_prod", [np.float32([2, np.inf])], np.dtype("float32"))
