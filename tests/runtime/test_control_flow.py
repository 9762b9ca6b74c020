"""Loops and branches of compiled programs: carries, stacks, swaps, in-place updates."""

import numpy as np
import pytest

from frit.codegen import registers
from frit.primitives.comparison_and_bits import lt
from frit.primitives.shapes import rev
from frit.primitives.slices import dynamic_slice, dynamic_update_slice
from frit.runtime import pipeline
from tests.runtime.compiled import (
    add,
    agrees,
    broadcast,
    cond,
    f32,
    i32,
    mul,
    scan,
    sin,
    sub,
    total,
    while_loop,
)

ONE = np.int32(1)


@pytest.fixture(autouse=True, params=["registers", "memory"])
def where_state_lives(request, monkeypatch):
    """Every test runs twice: with small loops in registers, and with all loops through memory."""
    if request.param == "memory":
        monkeypatch.setattr(registers, "fits", lambda eqn: False)
    pipeline.clear_cache()


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_sums_and_stacks(reverse):
    def function(start, stack):
        return scan(lambda c, x: [add(c, x), mul(c, x)], [], [start], [stack], reverse=reverse)

    agrees(function, f32(4), f32(7, 4))


def test_scan_with_constants_and_no_stack():
    def function(w, start):
        return scan(lambda w, c: [add(mul(c, w), sin(c))], [w], [start], [], length=5)

    agrees(function, f32(3), f32(3))


def test_scan_of_length_zero():
    agrees(lambda c, xs: scan(lambda c, x: [add(c, x), c], [], [c], [xs]), f32(2), f32(0, 2))


def test_carries_that_cannot_be_overwritten_swap_buffers():
    program = agrees(
        lambda c: scan(lambda c: [add(rev(c, dimensions=(0,)), sin(c))], [], [c], [], length=5),
        f32(6),
    )
    assert program is not None


def test_carries_exchange():
    def body(a, b, c):
        return [b, c, add(a, b)]

    agrees(lambda a, b, c: scan(body, [], [a, b, c], [], length=7), f32(3), f32(3), f32(3))
    agrees(
        lambda a, b, c: scan(lambda a, b, c: [b, a, c], [], [a, b, c], [], length=7),
        f32(3), f32(3), f32(3),
    )  # fmt: skip


def test_one_initial_value_for_two_carries():
    def body(a, b):
        return [add(a, b), sub(a, b)]

    agrees(lambda a: [*scan(body, [], [a, a], [], length=4), a], f32(3))


def test_one_result_for_two_carries():
    def body(a, b):
        c = add(a, b)
        return [c, c]

    agrees(lambda a, b: scan(body, [], [a, b], [], length=4), f32(3), f32(3))


def test_literal_carries_and_outputs():
    def body(a, i):
        return [mul(a, np.float32(2)), add(i, ONE), i, np.float32(3)]

    agrees(lambda a: scan(body, [], [a, np.int32(0)], [], length=4), f32())


def test_nested_scans():
    def inner(c, x):
        return [add(c, x), c]

    def outer(c, row):
        final, stacked = scan(inner, [], [c], [row])
        return [sub(final, rev(c, dimensions=(0,))), stacked]

    agrees(lambda c, rows: scan(outer, [], [c], [rows]), f32(3), f32(4, 5, 3))


def test_while_counts():
    def function(n, x):
        return while_loop(
            lambda i, n, x: [lt(i, n)],
            lambda i, n, x: [add(i, ONE), n, add(sin(x), x)],
            np.int32(0), n, x,
        )  # fmt: skip

    agrees(function, i32(), f32(5), values=[np.array(6, np.int32), np.ones(5, np.float32)])
    agrees(function, i32(), f32(5), values=[np.array(0, np.int32), np.ones(5, np.float32)])


def test_while_inside_scan_inside_branch():
    def collatz(c, x):
        _, y = while_loop(
            lambda i, y: [lt(i, np.int32(3))], lambda i, y: [add(i, ONE), add(y, y)], np.int32(0), x
        )
        return [add(c, y), y]

    def function(index, c, xs):
        return cond(
            index,
            [lambda c, xs: scan(collatz, [], [c], [xs]), lambda c, xs: [mul(c, c), xs]],
            c, xs,
        )  # fmt: skip

    for index in (-1, 0, 1, 5):
        arrays = [np.array(index, np.int32), np.ones(2, np.float32), np.ones((3, 2), np.float32)]
        agrees(function, i32(), f32(2), f32(3, 2), values=arrays)


def test_branches_that_pass_operands_through():
    def function(index, x, y):
        x2 = add(x, x)
        return cond(index, [lambda a, b: [a, b], lambda a, b: [b, a], lambda a, b: [a, a]], x2, y)

    for index in range(3):
        arrays = [np.array(index, np.int32), *(np.arange(4, dtype=np.float32) + k for k in (0, 9))]
        agrees(function, i32(), f32(4), f32(4), values=arrays)


def _fill(buffer, i):
    row = broadcast(mul(sin(total(buffer, 0, 1)), np.float32(0.1)), (1, 3))
    return [dynamic_update_slice(buffer, row, i, np.int32(0)), add(i, ONE)]


def test_updates_in_a_loop_are_in_place():
    program = agrees(lambda b: scan(_fill, [], [b, np.int32(0)], [], length=4), f32(4, 3))
    assert "memcpy" in program.executable.text  # of the argument, once
    body = program.executable.text.split("head1:")[-1]
    assert "memcpy" not in body.split("after")[0]


def test_a_value_read_after_its_update_is_copied():
    def function(x, u):
        y = dynamic_update_slice(x, u, np.int32(1))
        return [add(x, x), y, dynamic_slice(y, np.int32(1), slice_sizes=(2,))]

    agrees(lambda x, u: function(sin(x), u), f32(5), f32(2))
    agrees(function, f32(5), f32(2))


def test_donated_inputs_come_back_as_outputs():
    program = agrees(lambda x, y: [add(x, y), mul(x, y)], f32(6), f32(6), donated=[True, False])
    x, y = np.ones(6, np.float32), np.full(6, 2, np.float32)
    found = program.run([x, y])
    assert found[0] is x or found[0].base is x or np.shares_memory(found[0], x)
    np.testing.assert_array_equal(found[1], np.full(6, 2, np.float32))
