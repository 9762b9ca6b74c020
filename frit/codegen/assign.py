"""From a plan to buffers: gives each value of a program its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from frit.codegen.buffers import BufferPlan, Copy, Place
from frit.codegen.carries import NESTED
from frit.codegen.kernels import Kernel, Plan
from frit.codegen.storage import Assigner, Scope, Storage, Value, byte_size, move_all
from frit.ir.jaxpr import Atom, Literal
from frit.ir.types import ShapedArray
from frit.primitives.tapes import is_tape


def assign_buffers(
    plan: Plan, scratch_of: Callable[[Kernel], Sequence[int]], donated: Sequence[bool]
) -> BufferPlan:
    """The buffer plan of a program.

    scratch_of: bytes of each scratch buffer of a kernel. donated: inputs that may be overwritten.
    """
    assigner = Assigner(scratch_of, len(plan.inputs), NESTED)
    inputs = [
        Storage(Place("input", k), byte_size(v.aval), owned)
        for k, (v, owned) in enumerate(zip(plan.inputs, donated, strict=True))
    ]
    outputs = [
        Storage(Place("output", j), byte_size(a.aval), True) for j, a in enumerate(plan.outputs)
    ]
    reused = _match_donated(plan, donated)
    destinations = [inputs[reused[j]] if j in reused else out for j, out in enumerate(outputs)]
    scope = Scope(assigner, plan, [Value(s) for s in inputs], destinations)
    scope.run()
    donated_outputs = {}
    moves = []
    for j, (atom, found) in enumerate(zip(plan.outputs, scope.found, strict=True)):
        if j in reused and found.storage is inputs[reused[j]] and found.offset == 0:
            donated_outputs[j] = reused[j]
        else:
            moves.append(Copy(found.place, outputs[j].place, byte_size(atom.aval)))
    move_all(scope, moves)
    return BufferPlan(
        tuple(scope.statements),
        assigner.arena.size,
        assigner.pointers,
        tuple(assigner.constants),
        tuple(assigner.callbacks),
        donated_outputs,
        any(is_tape(atom.aval) for atom in plan.outputs),
    )


def _match_donated(plan: Plan, donated: Sequence[bool]) -> dict[int, int]:
    """Outputs that may live in the memory of a donated input of their type."""
    free: dict[Any, list[int]] = {}
    for k, v in enumerate(plan.inputs):
        if donated[k] and isinstance(v.aval, ShapedArray) and byte_size(v.aval):
            free.setdefault((v.aval.shape, v.aval.dtype), []).append(k)
    for waiting in free.values():
        waiting.reverse()
    matched: dict[int, int] = {}
    seen: set[Atom] = set()
    for j, atom in enumerate(plan.outputs):
        if isinstance(atom, Literal) or atom in seen or not isinstance(atom.aval, ShapedArray):
            continue
        seen.add(atom)
        waiting = free.get((atom.aval.shape, atom.aval.dtype), [])
        if atom in plan.inputs:
            k = plan.inputs.index(atom)
            if k in waiting:
                waiting.remove(k)
                matched[j] = k
        elif waiting:
            matched[j] = waiting.pop()
    return matched
