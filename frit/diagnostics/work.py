"""What a kernel or a library call does: bytes it moves and operations on floats, from its loops.

    bytes  for each buffer the smaller of its size and of what is loaded or stored, as each element
           must cross the memory bus once and then may stay in a cache
    flops  additions, multiplications, divisions, comparisons of floats; a function such as tanh
           counts as many as our machine code for it has, a fused multiply-add counts two

Where a loop's turns are known only at run time, they count as one, and of a branch both sides
count: `exact` is then False.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from frit.backends.llvm import vector_math
from frit.codegen import loops
from frit.codegen.library import ForeignCall
from frit.codegen.scalars import element_type
from frit.ir.types import ShapedArray

_NO_WORK = frozenset(("convert_element_type", "bitcast_convert_type", "copy"))


@dataclass
class Work:
    """Work of one run. dtype: in which most of the flops are done, or ""."""

    read: int = 0
    written: int = 0
    flops: int = 0
    dtype: str = ""
    exact: bool = True

    @property
    def moved(self) -> int:
        return self.read + self.written


class _Count:
    """Counts one loop function."""

    def __init__(self) -> None:
        self.loads: Counter[int] = Counter()
        self.stores: Counter[int] = Counter()
        self.buffers: dict[int, loops.Buffer] = {}
        self.flops: Counter[str] = Counter()
        self.exact = True

    def body(self, body: loops.Body, times: int) -> None:
        for item in body.items:
            self.item(item, times)

    def item(self, item: Any, times: int) -> None:
        match item:
            case loops.Load(buffer=buffer):
                self.access(self.loads, buffer, times)
            case loops.Store(buffer=buffer):
                self.access(self.stores, buffer, times)
            case loops.Update(buffer=buffer, value=value):
                self.access(self.loads, buffer, times)
                self.access(self.stores, buffer, times)
                self.arithmetic(value.dtype, times)
            case loops.Apply():
                self.arithmetic(item.operands[0].dtype, times * item.lanes * _flops(item))
            case loops.Reduce(operand=operand):
                self.arithmetic(operand.dtype, times * (operand.lanes - 1))
            case loops.For(extent=extent, body=body):
                if not isinstance(extent, int):
                    self.exact, extent = False, 1
                self.body(body, times * extent)
            case loops.While(condition=condition, body=body):
                self.exact = False
                self.body(condition, times)
                self.body(body, times)
            case loops.If(then=then, otherwise=otherwise):
                self.exact = False
                self.body(then, times)
                self.body(otherwise, times)

    def access(self, counter: Counter[int], buffer: loops.Buffer, times: int) -> None:
        if buffer.space != "stack":
            self.buffers[id(buffer)] = buffer
            counter[id(buffer)] += times

    def arithmetic(self, dtype: str, flops: int) -> None:
        if flops and "float" in dtype:
            self.flops["float64" if dtype == "float64" else "float32"] += flops

    def moved(self, counter: Counter[int]) -> int:
        """Bytes of the buffers that a counter counted."""
        total = 0
        for key, accesses in counter.items():
            buffer = self.buffers[key]
            known = [n for n in buffer.shape if isinstance(n, int)]
            size = math.prod(known) if len(known) == len(buffer.shape) else accesses
            total += min(size, accesses) * element_type(buffer.dtype).itemsize
        return total


def _flops(item: loops.Apply) -> int:
    """Operations on floats of one lane of an application."""
    if item.op in _NO_WORK:
        return 0
    dtype = item.operands[0].dtype
    if item.op == "integer_pow":
        power = abs(int(item.params["y"]))
        return max(1, power.bit_length() + power.bit_count() - 2 + (item.params["y"] < 0))
    if item.op in vector_math.NAMES and "float" in dtype:
        wide = "float64" if dtype == "float64" else "float32"
        return max(1, vector_math.float_operations(item.op, wide))
    return 1


def work_of_function(function: loops.Function) -> Work:
    """The work of one run of a kernel's loops."""
    count = _Count()
    count.body(function.body, 1)
    dtype = count.flops.most_common(1)[0][0] if count.flops else ""
    return Work(
        count.moved(count.loads),
        count.moved(count.stores),
        sum(count.flops.values()),
        dtype,
        count.exact,
    )


def work_of_library(call: ForeignCall, reads: int, writes: int) -> Work:
    """The work of a library call; reads, writes: bytes of its operands and results.

    Flops are those of products; for other routines, which tell none, they are 0 and not exact.
    """
    kind = call.types[0].dtype if call.types and isinstance(call.types[0], ShapedArray) else None
    is_complex = getattr(kind, "kind", "") == "c"
    flops = call.work * math.prod(call.batch) * (8 if is_complex else 2)
    wide = getattr(kind, "itemsize", 4) // (2 if is_complex else 1) == 8
    dtype = ("float64" if wide else "float32") if flops else ""
    return Work(reads, writes, flops, dtype, exact=bool(flops))
