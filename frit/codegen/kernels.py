"""Kernels: groups of equations that are computed together, canonical and shared.

    kernel  = Kernel(name, invars, outvars, eqns, updates)
    program = Program(inputs, steps, outputs)
    step    = KernelCall(kernel, operands, results) | JaxprEqn | ControlFlow(eqn, bodies)

A kernel's equations use only its own variables and literals; every input and output is row-major
memory. Called as `name(ptr input..., ptr output..., ptr scratch...)`. Where `updates[j] == k`,
output j is input k changed in place (dynamic_update_slice, scatter, add_at): on entry the memory
of output j holds the operand, and input k is not passed.

Two calls whose equations are the same but for the names of variables call one kernel, so a layer
that is repeated 24 times is lowered, scheduled and emitted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from frit.ir.jaxpr import Atom, JaxprEqn, Var
from frit.optimize.fingerprint import Constants, Key, equations_key


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Equations lowered to one function.

    inplace: (output, input) pairs that may be one memory, since the kernel reads element i of
    the input for nothing but element i of the output.
    """

    name: str
    invars: tuple[Var, ...]
    outvars: tuple[Var, ...]
    eqns: tuple[JaxprEqn, ...]
    updates: dict[int, int] = field(default_factory=dict)
    inplace: frozenset[tuple[int, int]] = frozenset()
    key: Key = ()

    @property
    def passed(self) -> tuple[Var, ...]:
        """The inputs that are pointers of the function: those that no output replaces."""
        replaced = set(self.updates.values())
        return tuple(v for k, v in enumerate(self.invars) if k not in replaced)


@dataclass(frozen=True, slots=True, eq=False)
class KernelCall:
    """One use of a kernel: what it reads (variables or literals) and what it makes."""

    kernel: Kernel
    operands: tuple[Atom, ...]
    results: tuple[Var, ...]
