"""Programs: caching by structure, constants by reference, callbacks, donation, memory, threads."""

import gc
import threading

import numpy as np
import pytest

from frit.config import backend, show, time
from frit.errors import JaxRuntimeError, LoweringError
from frit.ir.dtypes import float0
from frit.ir.primitive import Primitive
from frit.ir.types import ShapedArray
from frit.primitives import callbacks
from frit.primitives.comparison_and_bits import lt
from frit.runtime import memory, pipeline
from frit.runtime.program import ReferenceProgram
from frit.transforms.linear import broadcast_in_dim
from tests.runtime.compiled import (
    add,
    agrees,
    compile_checked,
    cond,
    f32,
    i32,
    mul,
    scan,
    sin,
    total,
    trace,
    while_loop,
)


def pure(function, *operands, types):
    return callbacks.pure_callback(
        *operands, callback=function, result_avals=types, sharding=None, vmap_method=None
    )


def test_equal_structures_share_code():
    first = compile_checked(trace(lambda x: [mul(sin(x), x)], f32(5)))
    second = compile_checked(trace(lambda y: [mul(sin(y), y)], f32(5)))
    other = compile_checked(trace(lambda y: [mul(y, sin(y))], f32(5)))
    larger = compile_checked(trace(lambda y: [mul(sin(y), y)], f32(6)))
    assert first.executable is second.executable
    assert first.executable is not other.executable
    assert first.executable is not larger.executable


def test_literals_are_told_apart_by_their_bits():
    made = {}
    for number in (0.0, -0.0, 1.0, np.float32(1)):
        program = compile_checked(trace(lambda x, n=number: [add(x, n)], f32(3)))
        made.setdefault(id(program.executable), []).append(number)
    assert len(made) == 3


def test_constants_are_arguments_of_the_code():
    a, b = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
    first = compile_checked(trace(lambda x: [add(x, a)], f32(3)))
    second = compile_checked(trace(lambda x: [add(x, b)], f32(3)))
    assert first.executable is second.executable
    x = np.zeros(3, np.float32)
    np.testing.assert_array_equal(first.run([x])[0], a)
    np.testing.assert_array_equal(second.run([x])[0], b)


def test_constants_of_bodies_become_operands():
    table = np.arange(12, dtype=np.float32).reshape(3, 4)

    def function(i, x):
        y = scan(lambda c: [add(c, table[0])], [], [x], [], length=3)
        z = cond(i, [lambda v: [mul(v, table[1])], lambda v: [add(v, table[2])]], y[0])
        return while_loop(lambda v: [_small(v, table)], lambda v: [add(v, table[1])], z[0])

    for i in (0, 1):
        agrees(function, i32(), f32(4), values=[np.array(i, np.int32), np.ones(4, np.float32)])


def _small(v, table):
    return lt(total(add(v, table[0]), 0), np.float32(200))


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(pipeline, "CACHE_SIZE", 3)
    pipeline.clear_cache()
    programs = [compile_checked(trace(lambda x: [sin(x)], f32(n))) for n in range(1, 7)]
    assert pipeline.cache_size() == 3
    for n, program in enumerate(programs, 1):
        assert program.run([np.zeros(n, np.float32)])[0].shape == (n,)


def test_results_are_new_memory():
    program = compile_checked(trace(lambda x: [x, x, sin(x)], f32(4)))
    x = np.ones(4, np.float32)
    first, second, _ = program.run([x])
    assert not np.shares_memory(first, x)
    assert not np.shares_memory(first, second)


def test_operands_need_not_be_contiguous():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    program = compile_checked(trace(lambda x: [sin(x)], f32(6, 4)))
    np.testing.assert_allclose(program.run([x.T])[0], np.sin(x.T), rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1)])
def test_small_and_empty_shapes(shape):
    agrees(lambda x: [sin(x), total(x, *range(len(shape))), x], f32(*shape))


def test_no_outputs_and_no_inputs():
    agrees(lambda: [np.float32(3)])
    assert compile_checked(trace(lambda x: [], f32(3))).run([np.ones(3, np.float32)]) == []


def test_an_equation_without_lowering_is_named():
    strange = Primitive("strange", result_types=lambda x: x, evaluate=lambda x: x)
    with pytest.raises(LoweringError, match=r"strange of float32\[3\]"):
        pipeline.compile_jaxpr(trace(lambda x: [strange(x)], f32(3)))


def test_decompositions_replace_what_has_no_lowering():
    twice = Primitive(
        "twice", result_types=lambda x: x, evaluate=lambda x: x + x, decompose=lambda x: add(x, x)
    )
    agrees(lambda x: [twice(twice(x))], f32(3))


def test_callbacks_run_and_may_fail():
    def double(x):
        if np.any(x > 5):
            raise ValueError("too large for me")
        return [2 * x]

    def function(x):
        (y,) = pure(double, add(x, x), types=(f32(3),))
        return [add(y, x)]

    program = compile_checked(trace(function, f32(3)))
    np.testing.assert_array_equal(program.run([np.ones(3, np.float32)])[0], np.full(3, 5.0))
    with pytest.raises(JaxRuntimeError, match="ValueError: too large for me"):
        program.run([np.full(3, 9, np.float32)])
    np.testing.assert_array_equal(program.run([np.ones(3, np.float32)])[0], np.full(3, 5.0))


def test_callbacks_in_loops_keep_their_order():
    seen = []

    def note(i):
        seen.append(int(i))
        return []

    def body(i):
        callbacks.io_callback(i, callback=note, result_avals=(), sharding=None, ordered=True)
        return [add(i, np.int32(1))]

    compile_checked(trace(lambda i: scan(body, [], [i], [], length=4), i32())).run(
        [np.array(3, np.int32)]
    )
    assert seen == [3, 4, 5, 6]


def test_a_callback_may_run_another_program():
    inner = compile_checked(trace(lambda x: [sin(x)], f32(2)))
    program = compile_checked(
        trace(lambda x: pure(lambda v: inner.run([v]), x, types=(f32(2),)), f32(2))
    )
    x = np.array([1, 2], np.float32)
    np.testing.assert_allclose(program.run([x])[0], np.sin(x), rtol=1e-6)


def test_threads_may_share_a_program():
    program = compile_checked(
        trace(lambda x: scan(lambda c: [sin(c), c], [], [x], [], length=50), f32(300))
    )
    results = {}

    def run(number):
        x = np.full(300, number, np.float32)
        results[number] = [program.run([x])[1][49, 0] for _ in range(20)]

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(set(map(float, found))) == 1 for found in results.values())
    assert len(results) == 6


def test_the_reference_backend_evaluates_with_numpy():
    with backend("reference"):
        program = pipeline.compile_jaxpr(trace(lambda x: [sin(x)], f32(3)))
    x = np.ones(3, np.float32)
    assert isinstance(program, ReferenceProgram)
    np.testing.assert_allclose(program.run([x])[0], np.sin(x), rtol=1e-6)


def test_stages_are_shown_and_timed(capsys):
    pipeline.clear_cache()
    with show("jaxpr,optimized,kernels,loops,buffers,llvm,asm"), time(True):
        pipeline.compile_jaxpr(trace(lambda x: [mul(x, x)], f32(3)))
    text = capsys.readouterr().err
    for stage in pipeline.STAGES:
        assert f"---- {stage.name}" in text
        assert f"{stage.name:>10} " in text


# ----------------------------------------------------------------------------------------- memory


def test_large_blocks_are_recycled():
    memory.pool.clear()
    first = memory.empty((1 << 20,), np.dtype(np.float32))
    address = first.__array_interface__["data"][0]
    assert address % memory.BIG == 0
    view = first[10:]
    del first
    gc.collect()
    assert memory.pool.kept_bytes == 0  # the view holds it
    del view
    gc.collect()
    assert memory.pool.kept_bytes >= 4 << 20
    again = memory.empty((1 << 20,), np.dtype(np.float32))
    assert again.__array_interface__["data"][0] == address
    memory.pool.clear()


def test_middle_blocks_are_aligned():
    for size in (5000, 50_000, 200_000):
        made = memory.empty((size,), np.dtype(np.float64))
        assert made.__array_interface__["data"][0] % memory.ALIGNMENT == 0
        assert made.shape == (size,)


def test_results_of_a_program_recycle_memory():
    program = compile_checked(trace(lambda x: [sin(x)], f32(1 << 20)))
    x = np.ones(1 << 20, np.float32)
    addresses = {program.run([x])[0].__array_interface__["data"][0] for _ in range(5)}
    assert len(addresses) <= 2


def test_types_of_constants_are_kept():
    values = [np.float16(2), np.int8(3), np.bool_(True)]
    agrees(lambda x: [x, *values], ShapedArray((), np.dtype("float32")))


def test_float0_takes_no_memory():
    nothing = ShapedArray((3,), float0)

    def function(x):
        empty = broadcast_in_dim(
            np.zeros((), float0), shape=(3,), broadcast_dimensions=(), sharding=None
        )
        return [*scan(lambda c, e: [sin(c), e], [], [x, empty], [], length=3), empty]

    closed = trace(function, f32(3))
    assert closed.out_avals[1] == nothing
    found = compile_checked(closed).run([np.ones(3, np.float32)])
    assert found[1].dtype == float0
    assert found[1].shape == (3,)


def test_compiled_programs_do_not_call_back_into_python():
    program = compile_checked(trace(lambda x: [sin(x), total(x, 0)], f32(3)))
    assert program.executable.callbacks == []
    called = compile_checked(trace(lambda x: pure(lambda v: [v], x, types=(f32(3),)), f32(3)))
    assert len(called.executable.callbacks) == 1
