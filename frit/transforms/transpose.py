"""Transpose: the cotangents of a linear jaxpr's inputs from those of its outputs, walking backward.

    { lambda ; t. let u = mul t 3.0; v = add_any u t in (v,) }   with cotangent v' = c
      u' = c, t' = c, then t' = t' + 3.0 c

A value may gather a cotangent from each reader; parts (slices, gathers) are added in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from frit.errors import replays_backward
from frit.ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var
from frit.ir.primitive import current_interpreter
from frit.transforms.linear import (
    InPlace,
    LinearOperand,
    Zero,
    add_tangents,
    instantiate,
    is_linear,
    is_zero,
)
from frit.transforms.memo import memoize_by_jaxpr
from frit.transforms.split import run_known, split_closed
from frit.transforms.trace import trace_to_jaxpr


class _Cotangents:
    """What each variable has gathered so far: a whole, and parts still to be added in place."""

    def __init__(self) -> None:
        self.whole: dict[Var, Any] = {}
        self.parts: dict[Var, list[InPlace]] = {}

    def add(self, atom: Atom, ct: Any) -> None:
        if ct is None or is_zero(ct) or isinstance(atom, Literal):
            return
        if type(ct) is InPlace:
            self.parts.setdefault(atom, []).append(ct)
        else:
            before = self.whole.get(atom)
            self.whole[atom] = ct if before is None else add_tangents(before, ct)

    def take(self, var: Var) -> Any:
        """The cotangent of `var`, which no later equation reads."""
        total = self.whole.pop(var, None)
        for part in self.parts.pop(var, ()):
            total = part.alone() if total is None else part.add_to(total)
        return Zero(var.aval.tangent_type()) if total is None else total


@replays_backward
def backward_pass(
    jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], cotangents: Sequence[Any]
) -> list[Any]:
    """The cotangent (or Zero) of each operand that is a LinearOperand, None for the others.

    Equations that read no linear value are run forward first.
    """
    interpreter = current_interpreter()
    linear = {v for v, x in zip(jaxpr.invars, operands, strict=True) if is_linear(x)}
    values: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update((v, x) for v, x in zip(jaxpr.invars, operands, strict=True) if not is_linear(x))
    backward = []
    for eqn in jaxpr.eqns:
        if any(isinstance(a, Var) and a in linear for a in eqn.invars):
            linear.update(eqn.outvars)
            backward.append(eqn)
            continue
        found = eqn.primitive.bind_with(interpreter, _read(eqn.invars, values), eqn.params)
        values.update(
            zip(eqn.outvars, found if eqn.primitive.multiple_results else [found], strict=True)
        )
    gathered = _Cotangents()
    for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
        gathered.add(atom, ct)
    for eqn in reversed(backward):
        cts = [gathered.take(v) for v in eqn.outvars]
        if all(map(is_zero, cts)) and not eqn.effects:
            continue
        inputs = [
            LinearOperand(a.aval) if isinstance(a, Var) and a in linear else x
            for a, x in zip(eqn.invars, _read(eqn.invars, values, linear), strict=True)
        ]
        given = cts if eqn.primitive.multiple_results else cts[0]
        found = eqn.primitive.transpose(given, *inputs, **eqn.params)
        for atom, ct in zip(eqn.invars, found, strict=True):
            if isinstance(atom, Var) and atom in linear:
                gathered.add(atom, ct)
    return [
        gathered.take(v) if is_linear(x) else None
        for v, x in zip(jaxpr.invars, operands, strict=True)
    ]


def _read(
    atoms: Sequence[Atom], values: dict[Var, Any], linear: set[Var] | frozenset[Var] = frozenset()
) -> list[Any]:
    return [a.val if isinstance(a, Literal) else None if a in linear else values[a] for a in atoms]


@memoize_by_jaxpr
def transpose_jaxpr(
    closed: ClosedJaxpr, linear: tuple[bool, ...], nonzero_ct: tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The jaxpr (other operands, nonzero cotangents of outputs) -> nonzero cotangents of inputs.

    `linear` marks the inputs that are linear; the flags returned say, for each of these, whether
    its cotangent is nonzero.  What does not depend on linear inputs is split off and run first.
    """
    types = closed.in_avals
    fixed = [t for t, lin in zip(types, linear, strict=True) if not lin]
    moving = [t for t, lin in zip(types, linear, strict=True) if lin]
    ct_types = [t.tangent_type() for t, nz in zip(closed.out_avals, nonzero_ct, strict=True) if nz]
    nonzero_out: list[bool] = []
    parts = split_closed(closed, linear, (False,) * len(linear), False, False)

    def backward(*values: Any) -> list[Any]:
        others, given = values[: len(fixed)], iter(values[len(fixed) :])
        _, residuals = run_known(parts, linear, others)
        operands = [*residuals, *[LinearOperand(t) for t in moving]]
        cts = [
            next(given) if nz else Zero(t.tangent_type())
            for t, nz in zip(closed.out_avals, nonzero_ct, strict=True)
        ]
        cts = [ct for ct, unknown in zip(cts, parts.unknown_out, strict=True) if unknown]
        waiting = parts.waiting
        found = backward_pass(waiting.jaxpr, waiting.consts, operands, cts)[len(residuals) :]
        nonzero_out.extend(not is_zero(ct) for ct in found)
        return [ct for ct in found if not is_zero(ct)]

    jaxpr, consts = trace_to_jaxpr(backward, [*fixed, *ct_types], closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), tuple(nonzero_out)


def transpose_call(
    bind: Callable[..., list[Any]], closed: ClosedJaxpr, cts: Sequence[Any], operands: Sequence[Any]
) -> list[Any]:
    """The transpose rule of a call of `closed`: `bind(transposed, *operands)` runs the result."""
    linear = tuple(map(is_linear, operands))
    nonzero = tuple(not is_zero(ct) for ct in cts)
    transposed, nonzero_out = transpose_jaxpr(closed, linear, nonzero)
    given = [x for x in operands if not is_linear(x)]
    given += [instantiate(ct) for ct in cts if not is_zero(ct)]
    found = iter(bind(transposed, *given))
    flags = iter(nonzero_out)
    return [
        (next(found) if next(flags) else Zero(x.aval.tangent_type())) if is_linear(x) else None
        for x in operands
    ]
