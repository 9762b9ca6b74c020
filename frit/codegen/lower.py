"""Kernels to loops: `lower_kernel(kernel) -> loops.Function`.

    parameters    the kernel's passed inputs, its outputs, then scratch memory (space "arena")
    equations     in order; a rule of `builders/` gives each result a node (`nests.py`), or writes
                  it to memory where its algorithm needs that (sort, scatter, cumsum, ...)
    outputs       nodes that are not in memory yet are stored by nests, those of one shape together

Where a nest finds that a value must be in memory first (a row's sum that would be computed again
for each column), lowering starts again with that value stored.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from frit.codegen import builders  # noqa: F401 - registers the rules
from frit.codegen.elements import storage
from frit.codegen.kernels import Kernel
from frit.codegen.loops_check import check_function
from frit.codegen.nests import RULES, Lowering, Unfused
from frit.codegen.schedule import prune
from frit.errors import LoweringError

# The rules are registered by importing `builders`.
SLOW = frozenset("exp exp2 expm1 log log1p logistic tanh erf sin cos pow".split())
LOWERED = frozenset(RULES)
FRAMES_PER_EQUATION = 20


def lower_kernel(kernel: Kernel, *, check: Any = True) -> Any:
    """The loop function of a kernel; LoweringError names an equation without a rule."""
    in_memory: set[int] = set()
    with _room_for(len(kernel.eqns)):
        while True:
            try:
                function = _lower(kernel, in_memory)
                break
            except Unfused as found:
                in_memory.add(id(found.node.name))
        prune(function)
        return check_function(function) if check else function


@contextmanager
def _room_for(equations: Any) -> Iterator[Any]:
    """Lets Python recurse as deep as a chain of so many equations asks, from wherever it is now."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + FRAMES_PER_EQUATION * equations + 1000)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _lower(kernel: Kernel, in_memory: Any) -> Any:
    lowering = Lowering(kernel, frozenset(in_memory), _kept_in_rows(kernel))
    for position, var in enumerate(kernel.passed):
        shape, dtype, parts = storage(var.aval)
        buffer = lowering.b.buffer(f"x{position}", dtype, lowering.memory_shape(var.aval))
        lowering.bind(var, lowering.stored(buffer, shape, parts))
    outputs = []
    for position, var in enumerate(kernel.outvars):
        _, dtype, _ = storage(var.aval)
        buffer = lowering.b.buffer(f"y{position}", dtype, lowering.memory_shape(var.aval))
        outputs.append((var, buffer))
        if lowering.nodes.get(id(var)) is None:
            lowering.targets.setdefault(id(var), buffer)
    for position, replaced in kernel.updates.items():
        var = kernel.invars[replaced]
        shape, _, parts = storage(var.aval)
        lowering.bind(var, lowering.stored(outputs[position][1], shape, parts))
    for equation in kernel.eqns:
        build = RULES.get(equation.primitive.name)
        if build is None:
            raise LoweringError(
                f"no lowering of {equation.primitive.name} to machine code; it is asked for in "
                f"kernel {kernel.name}. Primitives with one: {', '.join(sorted(RULES))}"
            )
        build(lowering, equation)
    pairs = [(lowering.node(var), buffer) for var, buffer in outputs]
    lowering.write_nodes([(node, buffer) for node, buffer in pairs if node.buffer is not buffer])
    return lowering.b.finish()


def _kept_in_rows(kernel: Kernel) -> Any:
    """Ids of variables that are slow to compute, and read again after a sum over their rows."""
    readers: dict[int, list[str]] = {}
    for equation in kernel.eqns:
        for atom in equation.invars:
            readers.setdefault(id(atom), []).append(equation.primitive.name)
    return frozenset(
        id(var)
        for equation in kernel.eqns
        if equation.primitive.name in SLOW
        for var in equation.outvars
        if len(readers.get(id(var), ())) > 1
        and any(name.startswith("reduce_") for name in readers[id(var)])
    )
