"""Loops in registers give the bits that they give from memory, and are one kernel."""

import numpy as np
import pytest

from frit.codegen import registers
from frit.primitives.arithmetic import div, integer_pow, max_
from frit.primitives.comparison_and_bits import lt
from frit.primitives.contraction import dot_general
from frit.primitives.padding import slice as slice_
from frit.primitives.shapes import concatenate, reshape, rev
from frit.runtime import pipeline
from frit.transforms.linear import transpose
from tests.runtime.compiled import (
    add,
    broadcast,
    compile_checked,
    cond,
    exp,
    f32,
    i32,
    mul,
    sample,
    scan,
    sin,
    sub,
    total,
    trace,
    while_loop,
)


def dot(x, y):
    return dot_general(
        x, y, dimension_numbers=(((1,), (0,)), ((), ())), precision=None,
        preferred_element_type=None, out_sharding=None,
    )  # fmt: skip


def kalman(f, h, q, x, p, z):
    """One step of a filter of four states and one measurement."""
    turned = transpose(f, permutation=(1, 0))
    x, p = dot(f, x), add(dot(dot(f, p), turned), q)
    across = transpose(h, permutation=(1, 0))
    s = add(dot(dot(h, p), across), broadcast(np.float32(1), (1, 1)))
    gain = div(dot(p, across), broadcast(reshape_to(s, ()), (4, 1)))
    x = add(x, dot(gain, sub(z, dot(h, x))))
    return [x, sub(p, dot(gain, dot(h, p))), x]


def reshape_to(x, shape):
    return reshape(x, new_sizes=shape, dimensions=None, sharding=None)


def _kalman(f, h, q, x, p, z):
    return scan(kalman, [f, h, q], [x, p], [z])


def _reductions(x, rows):
    def body(x, row):
        wide = broadcast(row, (5, 6), 1)
        sums = total(mul(wide, broadcast(x, (5, 6), 0)), 1)
        whole = total(mul(wide, wide), 0, 1)
        columns = total(wide, 0)
        return [div(sums, broadcast(add(whole, np.float32(1)), (5,))), columns]

    return scan(body, [], [x], [rows])


def _functions(x):
    def body(x):
        y = div(sin(x), add(exp(rev(x, dimensions=(0,))), broadcast(np.float32(1), (7,))))
        return [add(y, integer_pow(y, y=3)), max_(x, y)]

    return scan(body, [], [x], [], length=20)


def _branches(i, x):
    def body(i, x):
        (y,) = cond(i, [lambda v: [sin(v)], lambda v: [mul(v, v)], lambda v: [v]], x)
        z = concatenate(y, reshape_to(total(y, 0), (1,)), dimension=0)
        kept = reshape_to(rev(z, dimensions=(0,)), (4,))
        (n,) = while_loop(lambda n: [lt(n, np.int32(2))], lambda n: [add(n, np.int32(1))], i)
        return [sub(n, i), mul(_first(kept), np.float32(0.5)), total(z, 0)]

    return scan(body, [], [i, x], [], length=7)


def _first(x):
    return slice_(x, start_indices=(0,), limit_indices=(3,), strides=None)


PROGRAMS = {
    "kalman": (_kalman, [f32(4, 4), f32(1, 4), f32(4, 4), f32(4, 1), f32(4, 4), f32(30, 1, 1)]),
    "reductions": (_reductions, [f32(5), f32(20, 6)]),
    "functions": (_functions, [f32(7)]),
    "branches": (_branches, [i32(), f32(3)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_forms_give_the_same_bits(name, monkeypatch):
    function, types = PROGRAMS[name]
    closed = trace(function, *types)
    arrays = [sample(t, seed) * np.asarray(0.5, t.dtype) for seed, t in enumerate(types)]
    arrays = [a.astype(t.dtype) for a, t in zip(arrays, types, strict=True)]
    monkeypatch.setattr(registers, "SCALARS_PER_VECTOR", 10**6)
    pipeline.clear_cache()
    here = compile_checked(closed)
    monkeypatch.setattr(registers, "fits", lambda eqn: False)
    pipeline.clear_cache()
    there = compile_checked(closed)
    assert "_scan" in here.executable.text
    assert "_scan" not in there.executable.text
    for x, y in zip(here.run(arrays), there.run(arrays), strict=True):
        assert x.tobytes() == y.tobytes()


def test_what_does_not_fit_runs_from_memory():
    def fits(function, *types):
        (eqn,) = [e for e in trace(function, *types).jaxpr.eqns if e.primitive.name == "scan"]
        return registers.fits(eqn)

    def twice(c):
        return scan(lambda c: [mul(sin(c), c)], [], [c], [], length=3)

    assert fits(twice, f32(2))
    assert not fits(twice, f32(1000))

    def long_rows(c):
        def body(c):
            for _ in range(10):
                c = rev(add(c, mul(c, c)), dimensions=(0,))
            return [c]

        return scan(body, [], [c], [], length=3)

    assert fits(long_rows, f32(2))
    assert not fits(long_rows, f32(64))
