"""What this machine can do, measured: bandwidth by the size of the data, and peak flops.

    attainable seconds = max(bytes / bandwidth(bytes), flops / peak)

Nothing is assumed about the machine. Programs of our own (the kernels that a `jit` would make) are
timed once a process, for about half a second:

    bandwidth   the best of y = x * c, y = c, y += x and max(y) on data from 16 KiB to 64 MiB, so
                that what is in a cache is compared with that cache; a size between two measured
                ones takes the larger one's bandwidth
    arithmetic  eight independent chains of multiplications and additions on data in the first cache
    product     a product of two matrices by BLAS, which uses fused multiply-adds, and its threads
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from frit.codegen.buffers import Library, Run
from frit.config import enable_x64
from frit.diagnostics.work import Work, work_of_function
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.types import ShapedArray
from frit.primitives.contraction import dot_general
from frit.primitives.elementwise import add, mul
from frit.primitives.reductions import reduce_max
from frit.primitives.shapes import optimization_barrier
from frit.runtime import memory
from frit.runtime.measuring import Measured
from frit.runtime.pipeline import compile_noted
from frit.transforms.linear import broadcast_in_dim
from frit.transforms.trace import trace_to_jaxpr

SIZES = tuple(1 << k for k in (14, 16, 18, 20, 22, 24, 26))  # bytes read and written together
CHAINS, STEPS, ROW = 8, 6, 2048
PRODUCT = 384  # rows
SECONDS = 0.02  # each measurement


def fastest(run: Callable[[], float], seconds: float = SECONDS, least: int = 5) -> float:
    """The shortest of the times that `run` tells, of as many runs as fit in these seconds.

    There are `least` at least, but those only up to ten times the seconds.
    """
    best, start, count = float("inf"), time.perf_counter(), 0
    while True:
        best, count = min(best, run()), count + 1
        spent = time.perf_counter() - start
        if spent > 10 * seconds or count >= 2000 or (count >= least and spent > seconds):
            return best


def _ones(shape: Any, dtype: Any = np.float32) -> np.ndarray:
    """An array in memory such as results have, aligned as they are."""
    made = memory.empty((shape,) if isinstance(shape, int) else shape, np.dtype(dtype))
    made.fill(1)
    return made


def _measured(function: Callable[..., Any], *arrays: np.ndarray) -> list[tuple[float, Work]]:
    """For each kernel that computes a function its seconds and its work; work of 0 for a library.

    function: of traced values, gives a list.
    """
    types = [ShapedArray(a.shape, a.dtype) for a in arrays]
    with enable_x64(True):
        jaxpr, consts = trace_to_jaxpr(function, types)
    subject, program, _ = compile_noted(ClosedJaxpr(jaxpr, consts))
    measured = Measured(subject)
    results, best = measured.run(program.constants, arrays)

    def run() -> float:
        nonlocal best
        times = measured.run(program.constants, arrays, results)[1]
        best = best.least(times)
        return sum(times.seconds.values())

    fastest(run)
    return [
        (
            max(1e-9, best.seconds[id(s)] - best.overhead),
            work_of_function(subject.functions[id(s.kernel)]) if isinstance(s, Run) else Work(),
        )
        for s in measured.statements
        if isinstance(s, (Run, Library))
    ]


@functools.cache
def bandwidths() -> tuple[tuple[int, float], ...]:
    """(bytes, bytes a second), smaller sizes first; what fits in less memory is never slower."""
    found: list[tuple[int, float]] = []
    for size in reversed(SIZES):
        kernels = _measured(_patterns, _ones(size // 8), _ones(()))
        speed = max(work.moved / seconds for seconds, work in kernels)
        found.append((size, max([speed, *(faster for _, faster in found)])))
    return tuple(reversed(found))


def _patterns(x: Any, c: Any) -> list[Any]:
    """Reads and writes elsewhere; writes; reads and writes in place; reads."""
    scaled = mul(x, np.float32(1.5), out_dtype=None)
    (filled,) = optimization_barrier(
        broadcast_in_dim(c, shape=x.shape, broadcast_dimensions=(), sharding=None)
    )
    (in_place,) = optimization_barrier(add(filled, x))
    return [scaled, reduce_max(in_place, axes=(0,))]


def bandwidth(moved: int) -> float:
    """Bytes a second for data of so many bytes."""
    return next((speed for size, speed in bandwidths() if moved <= size), bandwidths()[-1][1])


@functools.cache
def arithmetic_peak(dtype: str) -> float:
    """Flops a second of generated code; dtype: "float32" or "float64"."""
    number = np.dtype(dtype).type

    def chains(x: Any) -> list[Any]:
        held = [x] * CHAINS
        for _ in range(STEPS):
            for k in range(CHAINS):
                held[k] = mul(held[k], number(0.5 + k / 64), out_dtype=None)
            for k in range(CHAINS):
                held[k] = add(held[k], number(1 + k))
        while len(held) > 1:
            held = [add(a, b) for a, b in zip(held[::2], held[1::2], strict=True)]
        return held

    return max(work.flops / seconds for seconds, work in _measured(chains, _ones(ROW, dtype)))


@functools.cache
def product_peak(dtype: str) -> float:
    """Flops a second of a product of two matrices; dtype: "float32" or "float64"."""

    def product(x: Any, y: Any) -> list[Any]:
        made = dot_general.bind(
            x,
            y,
            dimension_numbers=(((1,), (0,)), ((), ())),
            precision=None,
            preferred_element_type=np.dtype(dtype),
            out_sharding=None,
        )
        return [made]

    x = _ones((PRODUCT, PRODUCT), dtype)
    return 2 * PRODUCT**3 / min(seconds for seconds, _ in _measured(product, x, x))


def attainable(work: Work, *, library: bool = False) -> tuple[float, str]:
    """The least seconds that the work takes here, and what bounds it: "memory" or "arithmetic".

    (0.0, "") where nothing is known to be moved or computed.
    """
    moving = work.moved / bandwidth(work.moved) if work.moved else 0.0
    computing = 0.0
    if work.flops:
        peak = product_peak if library else arithmetic_peak
        computing = work.flops / peak(work.dtype)
    if not moving and not computing:
        return 0.0, ""
    return max(moving, computing), "memory" if moving >= computing else "arithmetic"
