"""Kernels: groups of equations that are computed together, canonical and shared.

    kernel = Kernel(name, invars, outvars, eqns, updates)
    plan   = Plan(inputs, steps, outputs)
    step   = KernelCall(kernel, operands, results)       generated code
           | LibraryCall(call, operands, results)        BLAS or LAPACK
           | CallbackCall(eqn, operands, results)        Python
           | NativeCall(eqn, operands, results)          tapes and run-time checks
           | Alias(operand, result, offset)              the same memory under another type
           | Nothing(results)                            arrays of float0, which have no bytes
           | Nested(eqn, plans)                          scan, while or cond, and its bodies

A kernel's equations use only its own variables and literals; every input and output is row-major
memory. Called as `name(ptr input..., ptr output..., ptr scratch...)`. Where `updates[j] == k`,
output j is input k changed in place (dynamic_update_slice, scatter, add_at): on entry the memory
of output j holds the operand, and input k is not passed.

Two calls whose equations are the same but for the names of variables call one kernel, so a layer
that is repeated 24 times is lowered, scheduled and emitted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from frit.ir.jaxpr import Atom, JaxprEqn, Var
from frit.ir.types import ShapedArray
from frit.optimize.fingerprint import Key, type_key


def array_type(atom: Atom) -> ShapedArray:
    """The type of a variable or literal that is an array, as all operands of kernels are."""
    assert isinstance(atom.aval, ShapedArray), atom
    return atom.aval


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


@dataclass(frozen=True, slots=True, eq=False)
class LibraryCall:
    """One use of a library routine; `call` says which, and how its arguments are passed."""

    call: Any
    operands: tuple[Atom, ...]
    results: tuple[Var, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CallbackCall:
    """An equation that Python evaluates while the program runs."""

    eqn: JaxprEqn
    operands: tuple[Atom, ...]
    results: tuple[Var, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NativeCall:
    """An equation that the entry of the program computes itself."""

    eqn: JaxprEqn
    operands: tuple[Atom, ...]
    results: tuple[Var, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Alias:
    """`result` is the memory of `operand` from `offset` bytes on."""

    operand: Var
    result: Var
    offset: int = 0

    @property
    def operands(self) -> tuple[Atom, ...]:
        return (self.operand,)

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.result,)


@dataclass(frozen=True, slots=True, eq=False)
class Nothing:
    """Results that take no memory."""

    results: tuple[Var, ...]

    @property
    def operands(self) -> tuple[Atom, ...]:
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """A loop or a branch; `plans` are those of its bodies, in the order of its parameters."""

    eqn: JaxprEqn
    plans: tuple[Plan, ...]

    @property
    def operands(self) -> tuple[Atom, ...]:
        return tuple(self.eqn.invars)

    @property
    def results(self) -> tuple[Var, ...]:
        return tuple(self.eqn.outvars)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Steps in the order in which they run."""

    inputs: tuple[Var, ...]
    steps: tuple[Any, ...]
    outputs: tuple[Atom, ...]


def kernels_of(plan: Plan) -> Iterator[Kernel]:
    """Every kernel that a plan calls, each once."""
    seen: set[int] = set()
    for step in walk_steps(plan):
        if isinstance(step, KernelCall) and id(step.kernel) not in seen:
            seen.add(id(step.kernel))
            yield step.kernel


def walk_steps(plan: Plan) -> Iterator[Any]:
    """The steps of a plan and of the plans nested in it."""
    for step in plan.steps:
        yield step
        if isinstance(step, Nested):
            for inner in step.plans:
                yield from walk_steps(inner)


def check_plan(plan: Plan) -> None:
    """Raises ValueError where a step reads what was not made before it."""
    known = set(plan.inputs)
    for step in plan.steps:
        for atom in step.operands:
            if isinstance(atom, Var) and atom not in known:
                raise ValueError(f"a step reads {atom} before it is made: {step}")
        if isinstance(step, KernelCall):
            _check_kernel(step.kernel, step)
        if isinstance(step, Nested):
            for inner in step.plans:
                check_plan(inner)
        known.update(step.results)
    for atom in plan.outputs:
        if isinstance(atom, Var) and atom not in known:
            raise ValueError(f"the output {atom} is never made")


def _check_kernel(kernel: Kernel, call: KernelCall) -> None:
    known = set(kernel.invars)
    for eqn in kernel.eqns:
        for atom in eqn.invars:
            if isinstance(atom, Var) and atom not in known:
                raise ValueError(f"kernel {kernel.name} reads {atom}, which it does not make")
        known.update(eqn.outvars)
    if not known.issuperset(kernel.outvars):
        raise ValueError(f"kernel {kernel.name} does not make all its outputs")
    types = [type_key(v.aval) for v in (*kernel.invars, *kernel.outvars)]
    found = [type_key(a.aval) for a in (*call.operands, *call.results)]
    if types != found:
        raise ValueError(f"kernel {kernel.name} takes {types}, but is called with {found}")


def print_steps(plan: Plan, depth: int = 0) -> str:
    """The steps as text, one a line, after the kernels they call."""
    names: dict[Var, str] = {}
    lines = []
    indent = "  " * depth

    def name(atom: Atom) -> str:
        if not isinstance(atom, Var):
            return str(atom.val)
        return names.setdefault(atom, f"v{len(names)}")

    lines.append(f"{indent}inputs {' '.join(map(name, plan.inputs))}")
    for step in plan.steps:
        match step:
            case KernelCall(kernel=kernel):
                what = kernel.name + f" [{len(kernel.eqns)} equations]"
            case LibraryCall(call=call):
                what = call.symbol
            case CallbackCall(eqn=eqn) | NativeCall(eqn=eqn) | Nested(eqn=eqn):
                what = eqn.primitive.name
            case _:
                what = "alias"
        results = ", ".join(
            f"{name(v)}:{v.aval.str_short(short_dtypes=True)}" for v in step.results
        )
        lines.append(f"{indent}{results} = {what} {' '.join(map(name, step.operands))}")
        if isinstance(step, Nested):
            lines += [print_steps(inner, depth + 1) for inner in step.plans]
    lines.append(f"{indent}outputs {' '.join(map(name, plan.outputs))}")
    return "\n".join(lines)
