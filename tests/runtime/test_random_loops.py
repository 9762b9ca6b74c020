"""Random programs of loops, branches and in-place updates: compiled, they equal NumPy's.

What may go wrong is memory: a value overwritten before its last reader, carries that trade places,
a buffer given twice. So values are small integers in float32, and results must be equal exactly.
"""

import numpy as np
import pytest

from frit.codegen import registers
from frit.ir.types import typeof
from frit.primitives.arithmetic import max_, min_
from frit.primitives.comparison_and_bits import lt
from frit.primitives.conversion import convert_element_type
from frit.primitives.shapes import reshape, rev
from frit.primitives.slices import dynamic_slice, dynamic_update_slice
from frit.runtime import pipeline
from tests.runtime.compiled import (
    add,
    agrees,
    broadcast,
    cond,
    f32,
    scan,
    sub,
    total,
    trace,
    while_loop,
)

N = 4
BOUND = np.float32(50)


class Maker:
    """Makes random functions of vectors of N numbers and one index."""

    def __init__(self, seed, depth=2):
        self.random = np.random.default_rng(seed)
        self.depth = depth

    def pick(self, values):
        return values[self.random.integers(len(values))]

    def bounded(self, x):
        return max_(min_(x, broadcast(BOUND, (N,))), broadcast(-BOUND, (N,)))

    def index(self, x):
        """An int32 in range, computed from a value."""
        number = convert_element_type(
            total(x, 0), new_dtype=np.dtype("int32"), weak_type=False, sharding=None
        )
        return max_(min_(number, np.int32(N - 1)), np.int32(0))

    def step(self, values):
        """One or more new values from earlier ones."""
        kind = self.random.integers(12 if self.depth else 8)
        x, y = self.pick(values), self.pick(values)
        match kind:
            case 0 | 1:
                return [self.bounded(add(x, y))]
            case 2:
                return [self.bounded(sub(add(x, x), y))]
            case 3:
                return [rev(x, dimensions=(0,))]
            case 4:
                return [self.bounded(broadcast(total(x, 0), (N,)))]
            case 5:
                piece = dynamic_slice(y, self.index(y), slice_sizes=(1,))
                return [dynamic_update_slice(x, piece, self.index(x))]
            case 6:
                piece = broadcast(np.float32(self.random.integers(5)), (2,))
                return [dynamic_update_slice(x, piece, np.int32(1))]
            case 7:
                folded = reshape(x, new_sizes=(2, 2), dimensions=None, sharding=None)
                flat = reshape(
                    rev(folded, dimensions=(1,)), new_sizes=(N,), dimensions=None, sharding=None
                )
                return [flat]
            case 8:
                return self.scan(values)
            case 9:
                return self.loop(values)
            case _:
                return self.branch(values)

    def body(self, count, inputs, steps):
        """A function of `inputs` vectors giving `count` of them."""
        seed = int(self.random.integers(2**31))

        def function(*xs):
            maker = Maker(seed, self.depth - 1)
            return maker.run(list(xs), steps, count)

        return function

    def run(self, values, steps, count):
        for _ in range(steps):
            values += self.step(values)
        return [self.pick(values[-6:]) for _ in range(count)]

    def choose(self, values, count):
        return [self.pick(values) for _ in range(count)]

    def scan(self, values):
        consts, carry, outs = (int(n) for n in self.random.integers(0, 4, 3))
        carry = max(carry, 1)
        stacks = int(self.random.integers(0, 2))
        body = self.body(carry + outs, consts + carry + stacks, int(self.random.integers(1, 6)))
        rows = [broadcast(self.pick(values), (3, N), 1) for _ in range(stacks)]
        found = scan(
            body, self.choose(values, consts), self.choose(values, carry), rows,
            length=3, reverse=bool(self.random.integers(2)),
        )  # fmt: skip
        stacked = [self.bounded(total(s, 0)) for s in found[carry:]]
        return [*found[:carry], *stacked]

    def loop(self, values):
        carry = int(self.random.integers(1, 4))
        body = self.body(carry, carry, int(self.random.integers(1, 6)))
        turns = np.int32(self.random.integers(4))

        def advance(i, *xs):
            return [add(i, np.int32(1)), *body(*xs)]

        _, *found = while_loop(
            lambda i, *xs: [lt(i, turns)], advance, np.int32(0), *self.choose(values, carry)
        )
        return found

    def branch(self, values):
        count, inputs = int(self.random.integers(1, 4)), int(self.random.integers(1, 4))
        branches = [
            self.body(count, inputs, int(self.random.integers(0, 5)))
            for _ in range(int(self.random.integers(1, 4)))
        ]
        return cond(self.index(self.pick(values)), branches, *self.choose(values, inputs))


@pytest.mark.parametrize("where", ["registers", "memory"])
@pytest.mark.parametrize("block", range(4))
def test_random_loops(where, block, monkeypatch):
    if where == "memory":
        monkeypatch.setattr(registers, "fits", lambda eqn: False)
    pipeline.clear_cache()
    for seed in range(8 * block, 8 * (block + 1)):
        donated = [bool(np.random.default_rng(seed).integers(2)) for _ in range(3)]
        values = [
            np.random.default_rng([seed, k]).integers(-5, 6, N).astype("f4") for k in range(3)
        ]

        def function(*xs, seed=seed):
            return Maker(seed, depth=3).run(list(xs), 8, 4)

        assert typeof(values[0]) == f32(N)
        trace(function, *[f32(N)] * 3)
        agrees(function, *[f32(N)] * 3, values=values, tolerance=0, donated=donated)
