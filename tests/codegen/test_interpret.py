"""The interpreter of loops finds each kind of forbidden access and runs the rest."""

import numpy as np
import pytest

from frit.codegen.interpret import LoopFault, interpret, interpret_in_place
from frit.codegen.loop_builder import Builder
from frit.codegen.loops_check import check_function
from frit.codegen.scalars import evaluate


def shifted_copy(extent, shift, kind):
    """x[i + shift] = x[i] for i < extent, in a buffer of 8."""
    b = Builder("shifted")
    x = b.buffer("x", "int32", (8,))
    with b.loop(extent, kind=kind) as loop:
        b.store(x, loop.index + shift, b.load(x, loop.index))
    return check_function(b.finish())


def test_a_lane_carry_is_updated_by_every_width_th_iteration():
    b = Builder("lanes")
    x, y = b.buffer("x", "float32", (10,)), b.buffer("y", "float32", (4,))
    with b.loop(10, [b.const(0.0, "float32", 4)], kind="vector", width=4) as loop:
        loop.yields(b.apply("add", loop.carries[0], b.load(x, loop.index)))
    b.store(y, 0, b.reduce("add", loop.results[0]))
    for position in (1, 2, 3):
        b.store(y, position, b.const(0.0, "float32"))
    x = np.arange(10, dtype=np.float32)
    assert interpret(check_function(b.finish()), [x, None])[1][0] == 45


def test_sequential_loops_may_depend_on_earlier_iterations():
    x = np.arange(8, dtype=np.int32)
    assert list(interpret(shifted_copy(7, 1, "sequential"), [x])[0]) == [0] * 8


@pytest.mark.parametrize("kind", ["vector", "parallel"])
def test_races_are_found(kind):
    with pytest.raises(LoopFault, match=r"Load x\[1\] is written by another iteration"):
        interpret(shifted_copy(7, 1, kind), [np.arange(8, dtype=np.int32)])


def test_bounds_are_checked():
    with pytest.raises(LoopFault, match=r"Store x\[8\] is outside of its 8 elements"):
        interpret(shifted_copy(7, 2, "sequential"), [np.arange(8, dtype=np.int32)])


def test_uninitialised_reads_are_found():
    with pytest.raises(LoopFault, match=r"Load x\[0\] was never written"):
        interpret(shifted_copy(7, 0, "sequential"), [None])


def test_while_and_if_carry_values():
    b = Builder("collatz")
    x, y = b.buffer("x", "int32", ()), b.buffer("y", "int32", ())
    first = b.load(x, 0)

    def unfinished(n, steps):
        return b.apply("ne", n, 1)

    with b.repeat([first, b.const(0, "int32")], unfinished) as loop:
        n, steps = loop.carries
        odd = b.apply("eq", b.apply("and", n, 1), 1)
        (following,) = b.branch(
            odd,
            lambda: [b.apply("add", b.apply("mul", n, 3), 1)],
            lambda: [b.apply("div", n, 2)],
        )
        loop.yields(following, b.apply("add", steps, 1))
    b.store(y, 0, loop.results[1])
    function = check_function(b.finish())
    assert interpret(function, [np.array(27, np.int32), None])[1][0] == 111


@pytest.mark.parametrize(
    ("op", "numbers", "dtype", "params", "expected"),
    [
        ("div", [5, 0], "int32", {}, -1),
        ("rem", [5, 0], "int32", {}, 5),
        ("div", [-(2**31), -1], "int32", {}, -(2**31)),
        ("shift_right_arithmetic", [-8, 32], "int32", {}, -1),
        ("shift_left", [1, 40], "int32", {}, 0),
        ("convert_element_type", [np.nan], "int32", {"new_dtype": "int32"}, 0),
        ("convert_element_type", [1e20], "int32", {"new_dtype": "int32"}, 2**31 - 1),
        ("convert_element_type", [-5.0], "uint8", {"new_dtype": "uint8"}, 0),
        ("round", [2.5], "float32", {"rounding_method": 0}, 3.0),
        ("round", [2.5], "float32", {"rounding_method": 1}, 2.0),
    ],
)
def test_scalar_semantics(op, numbers, dtype, params, expected):
    operand = "float32" if any(isinstance(n, float) for n in numbers) else dtype
    numbers = [np.asarray(number, operand) for number in numbers]
    with np.errstate(all="ignore"):
        assert evaluate(op, numbers, dtype, params) == expected


def test_zeros_are_ordered_by_max_and_min():
    zeros = [np.float32(-0.0), np.float32(0.0)]
    assert not np.signbit(evaluate("max", zeros, "float32", {}))
    assert np.signbit(evaluate("min", zeros[::-1], "float32", {}))


def test_arguments_in_one_memory_are_watched_as_one():
    memory = np.arange(8, dtype=np.int32)
    function = moved_along(7, 0)
    interpret_in_place(function, [memory[:7], memory[:7]], [True, False], evaluate)
    assert memory.tolist() == [*range(1, 8), 7]
    function = moved_along(6, 1)
    with pytest.raises(LoopFault, match="is (read|written) by another iteration"):
        interpret_in_place(function, [memory[:7], memory[:7]], [True, False], evaluate)


def test_arguments_that_overlap_by_halves_are_refused():
    memory = np.zeros(8, np.int32)
    with pytest.raises(LoopFault, match="y and x overlap"):
        interpret_in_place(moved_along(7, 0), [memory[:7], memory[1:]], [True, False], evaluate)


def test_arguments_that_are_only_read_may_overlap():
    b = Builder("sum")
    x, y, z = (b.buffer(name, "int32", (7,)) for name in "xyz")
    with b.loop(7, kind="vector") as loop:
        b.store(z, loop.index, b.apply("add", b.load(x, loop.index), b.load(y, loop.index)))
    memory, result = np.arange(8, dtype=np.int32), np.zeros(7, np.int32)
    arrays = [memory[:7], memory[1:], result]
    interpret_in_place(check_function(b.finish()), arrays, [True, True, False], evaluate)
    assert result.tolist() == list(range(1, 15, 2))


def test_results_are_written_in_full():
    x, y = np.zeros(7, np.int32), np.zeros(7, np.int32)
    with pytest.raises(LoopFault, match="1 of the 7 elements of y are never written, .* 6"):
        interpret_in_place(moved_along(6, 0), [x, y], [True, False], evaluate)


def moved_along(extent, step):
    """y[i] = x[i + step] + 1 for the first `extent` of 7 elements."""
    b = Builder("moved")
    x, y = b.buffer("x", "int32", (7,)), b.buffer("y", "int32", (7,))
    with b.loop(extent, kind="parallel") as loop:
        b.store(y, loop.index, b.apply("add", b.load(x, loop.index + step), 1))
    return check_function(b.finish())


def test_what_was_overwritten_through_another_argument_is_not_read():
    b = Builder("twice")
    x, y, z = (b.buffer(name, "int32", (7,)) for name in "xyz")
    with b.loop(7, kind="vector") as loop:
        b.store(y, loop.index, b.apply("add", b.load(x, loop.index), 1))
        b.store(z, loop.index, b.apply("mul", b.load(x, loop.index), 2))
    function = check_function(b.finish())
    memory, other = np.arange(7, dtype=np.int32), np.zeros(7, np.int32)
    given = [True, False, False]
    interpret_in_place(function, [memory.copy(), memory, other], given, evaluate)
    with pytest.raises(LoopFault, match=r"Load x\[0\] was overwritten as y\[0\]"):
        interpret_in_place(function, [memory, memory, other], given, evaluate)
