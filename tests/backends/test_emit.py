"""Machine code of the loop language: memory, control, masks, carries, against the interpreter."""

import numpy as np
import pytest

from frit.backends.llvm.emit import emit_function
from frit.backends.llvm.engine import AARCH64, BASELINE_X86, Engine, Target, compile_object
from frit.backends.llvm.module import Module
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import as_at
from tests.codegen.running import both, machine, same_bits

RNG = np.random.default_rng(0)


def mapped(
    n, dtype="float32", at=lambda i: i, to=lambda i: i, size=None, source=None, kind="vector"
):
    """y[to(i)] = x[at(i)] + x[at(i)] for i < n."""
    b = Builder("mapped")
    x = b.buffer("x", dtype, (source or n,))
    y = b.buffer("y", dtype, (size or n,))
    with b.loop(n, kind=kind) as loop:
        value = b.load(x, at(loop.index))
        b.store(y, to(loop.index), b.apply("max", value, value))
    return b.finish()


DTYPES = [*"bool float16 bfloat16 float32 float64".split()]
DTYPES += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 3, 16, 37])
def test_elements_pass_through_registers(dtype, n):
    x = RNG.integers(0, 2 if dtype == "bool" else 100, n).astype(
        np.dtype(dtype) if dtype != "bfloat16" else __import__("ml_dtypes").bfloat16
    )
    assert same_bits(both(mapped(n, dtype), [x, None])[1], x)


@pytest.mark.parametrize("n", [5, 16, 40])
def test_strides(n):
    x = np.arange(4 * n, dtype=np.float32)
    for at, expected in (
        (lambda i: as_at(7), np.full(n, 7)),
        (lambda i: n - 1 - i, x[:n][::-1]),
        (lambda i: 2 * i + 1, x[1 : 2 * n : 2]),
        (lambda i: 3 * i, x[: 3 * n : 3]),
    ):
        assert np.array_equal(both(mapped(n, at=at, source=4 * n), [x, None])[1], expected)


def test_reversed_and_scattered_stores():
    x = np.arange(21, dtype=np.float32)
    assert np.array_equal(both(mapped(21, to=lambda i: 20 - i), [x, None])[1], x[::-1])
    y = np.zeros(63, np.float32)
    assert np.array_equal(both(mapped(21, to=lambda i: 3 * i, size=63), [x, y])[1][::3], x)


def test_an_index_read_from_memory_gathers():
    b = Builder("gathered")
    x, k = b.buffer("x", "float32", (50,)), b.buffer("k", "int32", (23,))
    y = b.buffer("y", "float32", (23,))
    with b.loop(23, kind="vector") as loop:
        at = b.convert(b.load(k, loop.index), "int64")
        b.store(y, loop.index, b.load(x, as_at(at)))
    x, k = RNG.random(50, np.float32), RNG.integers(0, 50, 23).astype(np.int32)
    assert np.array_equal(both(b.finish(), [x, k, None])[2], x[k])


@pytest.mark.parametrize("unique", [False, True])
def test_updates_in_a_vector_loop(unique):
    b = Builder("updated")
    x, y = b.buffer("x", "float32", (37,)), b.buffer("y", "float32", (37,))
    with b.loop(37, kind="vector" if unique else "sequential") as loop:
        at = loop.index if unique else b.mod(loop.index, 5)
        b.update(y, at, b.load(x, loop.index), "add", unique=unique)
    x = RNG.random(37, np.float32)
    both(b.finish(), [x, np.ones(37, np.float32)])


def summed(n, dtype, *, deep=False, dynamic=False):
    """y[0] = sum of x, by 64 lanes."""
    b = Builder("summed")
    extent = b.extent("n") if dynamic else n
    x, y = b.buffer("x", dtype, (extent,)), b.buffer("y", dtype, (1,))
    with b.loop(extent, [b.const(0, dtype, 64)], kind="vector", width=64) as loop:
        value = b.load(x, loop.index)
        for _ in range(12 if deep else 0):
            value = b.apply("mul", value, 1.0625)
        loop.yields(b.apply("add", loop.carries[0], value))
    b.store(y, 0, b.reduce("add", loop.results[0]))
    return b.finish()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [0, 1, 40, 64, 100, 173, 1000])
def test_sums_have_one_order(dtype, n):
    x = RNG.standard_normal(n).astype(dtype)
    for deep in (False, True):
        (expected,) = both(summed(n, dtype, deep=deep), [x, None])[1]
        dynamic = summed(n, dtype, deep=deep, dynamic=True)
        assert both(dynamic, [x, None], [n])[1][0] == expected
        narrow = Engine(_target("+sse4.2"))
        assert machine(summed(n, dtype, deep=deep), [x, None], engine=narrow)[1][0] == expected


def _target(features):
    host = Engine().target
    return Target.make(host.triple, "x86-64", features)


def test_pairs_are_carried_with_lanes_of_their_own():
    b = Builder("argmax")
    x, y = b.buffer("x", "float32", (203,)), b.buffer("y", "int64", (1,))
    first = [b.const(-np.inf, "float32", 32), b.const(0, "int64", 32)]
    with b.loop(203, first, kind="vector", width=32) as loop:
        value = b.load(x, loop.index)
        best, where = loop.carries
        better = b.apply("gt", value, best)
        loop.yields(b.select(better, value, best), b.select(better, as_at(loop.index), where))
    best, where = loop.results
    top = b.broadcast(b.reduce("max", best), 32)
    places = b.select(b.apply("eq", best, top), where, b.const(1000, "int64", 32))
    b.store(y, 0, b.reduce("min", places))
    x = RNG.random(203, np.float32)
    assert both(b.finish(), [x, None])[1][0] == np.argmax(x)


def test_loops_inside_a_vector_loop_carry_each_lane():
    b = Builder("rows")
    x, y = b.buffer("x", "float32", (37, 5)), b.buffer("y", "float32", (37,))
    with b.loop(37, kind="vector") as row:
        with b.loop(5, [b.const(0.0, "float32")]) as column:
            value = b.load(x, row.index * 5 + column.index)
            column.yields(b.apply("add", column.carries[0], value))
        b.store(y, row.index, column.results[0])
    x = RNG.random((37, 5), np.float32)
    both(b.finish(), [x, None])


def test_if_and_while_under_a_mask():
    b = Builder("collatz")
    x, y = b.buffer("x", "int32", (37,)), b.buffer("y", "int32", (37,))
    with b.loop(37, kind="vector") as lane:
        n = b.load(x, lane.index)
        with b.repeat([n, b.const(0, "int32")], lambda n, k: b.apply("ne", n, 1)) as loop:
            n, steps = loop.carries
            odd = b.apply("eq", b.apply("and", n, 1), 1)
            (following,) = b.branch(
                odd,
                lambda: [b.apply("add", b.apply("mul", n, 3), 1)],
                lambda: [b.apply("div", n, 2)],
            )
            loop.yields(following, b.apply("add", steps, 1))
        b.store(y, lane.index, loop.results[1])
    result = both(b.finish(), [np.arange(1, 38, dtype=np.int32), None])[1]
    assert result[26] == 111


def test_masked_accesses_touch_nothing_else():
    b = Builder("masked")
    x, y = b.buffer("x", "float32", (10,)), b.buffer("y", "float32", (30,))
    with b.loop(30, kind="vector") as loop:
        inside = b.apply("lt", as_at(loop.index), 10)
        b.store(y, loop.index, b.load(x, loop.index, inside))
    x = RNG.random(10, np.float32)
    assert np.array_equal(both(b.finish(), [x, None])[1][:10], x)


def test_complex_pairs_are_interleaved():
    b = Builder("pairs")
    x, y = b.buffer("x", "float32", (21, 2)), b.buffer("y", "float32", (21, 2))
    with b.loop(21, kind="vector") as loop:
        at = loop.index * 2
        re, im = b.load(x, at), b.load(x, at + 1)
        b.store(y, at, im)
        b.store(y, at + 1, b.apply("neg", re))
    x = RNG.random((21, 2), np.float32)
    result = both(b.finish(), [x, None])[1].reshape(21, 2)
    assert np.array_equal(result, np.stack([x[:, 1], -x[:, 0]], 1))


def test_division_of_indices():
    b = Builder("divided")
    y = b.buffer("y", "int64", (40, 4))
    with b.loop(40, kind="vector") as loop:
        for k, divisor in enumerate((3, 8)):
            b.store(y, loop.index * 4 + 2 * k, b.floordiv(loop.index - 20, divisor))
            b.store(y, loop.index * 4 + 2 * k + 1, b.mod(loop.index - 20, divisor))
    both(b.finish(), [None])


@pytest.mark.parametrize("target", [AARCH64, BASELINE_X86], ids=["aarch64", "x86-64"])
def test_other_machines(target):
    for function in (summed(100, "float32"), mapped(37, "bfloat16"), mapped(37, "float16")):
        module = Module(has_fma=target.has_fma)
        emit_function(module, function, target, linkage="")
        assert len(compile_object(module.render(), target)) > 100
