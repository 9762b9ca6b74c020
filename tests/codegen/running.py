"""Runs one loop function by the interpreter and as machine code, and compares them bit by bit."""

import ctypes

import numpy as np

from frit.backends.llvm.emit import emit_function
from frit.backends.llvm.engine import default_engine
from frit.backends.llvm.module import Module
from frit.codegen.interpret import interpret
from frit.codegen.loops_check import check_function
from frit.codegen.scalars import element_type


def machine(function, arguments, extents=(), engine=None):
    """The flat buffers of `function.parameters` after machine code ran on copies of them."""
    engine = engine or default_engine()
    module = Module(has_fma=engine.target.has_fma)
    emit_function(module, check_function(function), engine.target, linkage="")
    code = engine.compile(module.render(), exported=[function.name])
    memory = []
    for buffer, argument in zip(function.parameters, arguments, strict=True):
        size = int(np.prod([_number(function, extents, n) for n in buffer.shape]))
        made = np.full(size, 77, element_type(buffer.dtype))
        if argument is not None:
            made[:] = np.asarray(argument).reshape(-1)
        memory.append(made)
    types = [ctypes.c_void_p] * len(memory) + [ctypes.c_int64] * len(extents)
    run = code.function(function.name, ctypes.c_int32 if function.fallible else None, *types)
    run(*(m.ctypes.data for m in memory), *extents)
    return memory


def _number(function, extents, extent):
    return extent if isinstance(extent, int) else extents[function.extents.index(extent)]


def same_bits(x, y):
    """Whether two arrays are equal bit by bit, any nan equal to any other."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "fV":
        return np.array_equal(x, y)
    nan = np.isnan(x.astype(np.float64)) & np.isnan(y.astype(np.float64))
    integers = f"u{x.dtype.itemsize}"
    return bool(np.all((x.view(integers) == y.view(integers)) | nan))


def both(function, arguments, extents=()):
    """The buffers after a run, found equal by the interpreter and by machine code."""
    slow = interpret(check_function(function), arguments, extents)
    fast = machine(function, arguments, extents)
    for buffer, x, y in zip(function.parameters, slow, fast, strict=True):
        if buffer.space == "argument":
            assert same_bits(x, y), f"{function.name}: {buffer.name}\n{x}\n{y}"
    return slow
