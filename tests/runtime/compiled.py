"""Helpers of the compiler's tests: traced functions, compiled and evaluated side by side."""

from __future__ import annotations

import numpy as np

from frit.config import check
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.types import ShapedArray, typeof
from frit.primitives import elementwise, scans, transcendental, while_loops
from frit.primitives.conditionals import cond as cond_primitive
from frit.runtime import pipeline
from frit.runtime.program import ReferenceProgram
from frit.transforms.linear import broadcast_in_dim, reduce_sum
from frit.transforms.trace import trace_closed

add, sub = elementwise.add, elementwise.sub


def mul(x, y):
    return elementwise.mul(x, y, out_dtype=None)


def sin(x):
    return transcendental.sin(x, accuracy=None)


def exp(x):
    return transcendental.exp(x, accuracy=None)


def total(x, *axes):
    return reduce_sum(x, axes=axes, out_sharding=None)


def broadcast(x, shape, *axes):
    return broadcast_in_dim(x, shape=shape, broadcast_dimensions=axes, sharding=None)


def f32(*shape):
    return ShapedArray(shape, np.dtype("float32"))


def i32(*shape):
    return ShapedArray(shape, np.dtype("int32"))


def trace(function, *types):
    closed, captured = trace_closed(function, types)
    assert not captured
    return closed


def scan(body, consts, carry, stacks, *, length=None, reverse=False):
    """`body(*consts, *carry, *slices) -> [*carry, *outputs]` over leading axes."""
    operands = [*consts, *carry, *stacks]
    types = [_type(x) for x in (*consts, *carry)]
    types += [_type(x).without_axis(0) for x in stacks]
    jaxpr = trace(body, *types)
    return scans.scan(
        *operands, num_consts=len(consts), num_carry=len(carry), jaxpr=jaxpr,
        length=_type(stacks[0]).shape[0] if length is None else length, reverse=reverse,
        linear=(False,) * len(operands), unroll=1, _split_transpose=False,
    )  # fmt: skip


def while_loop(condition, body, *carry):
    types = [_type(x) for x in carry]
    return while_loops.while_(
        *carry, cond_nconsts=0, body_nconsts=0,
        cond_jaxpr=trace(condition, *types), body_jaxpr=trace(body, *types),
    )  # fmt: skip


def cond(index, branches, *operands):
    types = [_type(x) for x in operands]
    return cond_primitive(index, *operands, branches=tuple(trace(b, *types) for b in branches))


_type = typeof


def sample(aval, seed=0):
    """An array of a type, the same for the same seed."""
    random = np.random.default_rng(seed)
    if aval.dtype.kind in "iu":
        return random.integers(0, 4, aval.shape).astype(aval.dtype)
    if aval.dtype.kind == "b":
        return random.integers(0, 2, aval.shape).astype(bool)
    numbers = random.standard_normal(aval.shape)
    if aval.dtype.kind == "c":
        numbers = numbers + 1j * random.standard_normal(aval.shape)
    return numbers.astype(aval.dtype)


def compile_checked(closed: ClosedJaxpr, donated=None):
    with check(True):
        return pipeline.compile_jaxpr(closed, donated)


def agrees(function, *types, values=None, tolerance=1e-5, donated=None):
    """The program of `function`, after its results were compared with NumPy's."""
    closed = trace(function, *types)
    program = compile_checked(closed, donated)
    arrays = values or [sample(t, seed) for seed, t in enumerate(types)]
    expected = ReferenceProgram(closed).run([a.copy() for a in arrays])
    kept = [a.copy() for a in arrays]
    for _ in range(2):
        found = program.run([a.copy() for a in arrays])
        for x, y in zip(found, expected, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    if donated is None:
        program.run(arrays)
        for before, after in zip(kept, arrays, strict=True):
            np.testing.assert_array_equal(before, after)
    return program
