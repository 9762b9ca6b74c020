"""custom_linear_solve: x with A x = b, where A is known by its product and its solver.

    operands: (constants of matvec, vecmat, solve, transpose_solve; b)  ->  (x, auxiliary results)

Its derivative solves with the same matrix; its transpose solves with the transposed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from frit.ir.jaxpr import ClosedJaxpr, evaluate_closed, run_closed
from frit.ir.primitive import Primitive
from frit.primitives.elementwise import neg
from frit.transforms.batch import batch_jaxpr
from frit.transforms.jvp import jvp
from frit.transforms.linear import (
    Zero,
    add_tangents,
    axis_to_front,
    instantiate,
    is_linear,
    is_zero,
    move_axis,
)
from frit.transforms.rules import zero_tangent


@dataclass(frozen=True)
class Solvers:
    """The jaxprs of a linear solve, and how many constants lead the operands of each."""

    matvec: ClosedJaxpr
    vecmat: ClosedJaxpr | None
    solve: ClosedJaxpr
    transpose_solve: ClosedJaxpr | None
    counts: tuple[int, int, int, int]

    def divide(self, operands: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
        """Constants of each function, and b."""
        parts, at = [], 0
        for n in self.counts:
            parts.append(list(operands[at : at + n]))
            at += n
        return parts, list(operands[at:])

    def transposed(self) -> Solvers:
        assert self.vecmat is not None and self.transpose_solve is not None
        a, b, c, d = self.counts
        return Solvers(self.vecmat, self.matvec, self.transpose_solve, self.solve, (b, a, d, c))


def _types(*types: Any, solvers: Solvers) -> list[Any]:
    return list(solvers.solve.out_avals)


def _evaluate(*arrays: Any, solvers: Solvers) -> list[Any]:
    (_, _, consts, _), b = solvers.divide(arrays)
    return evaluate_closed(solvers.solve, *consts, *b)


def _jvp(primals: Any, tangents: Any, *, solvers: Solvers) -> Any:
    """x' = A^-1 (b' - A' x)."""
    parts, b = solvers.divide(primals)
    part_tangents, b_tangents = solvers.divide(tangents)
    results = custom_linear_solve(*primals, solvers=solvers)
    x, aux = results[: len(b)], results[len(b) :]
    change = b_tangents
    if not all(map(is_zero, part_tangents[0])):
        zero = [zero_tangent(v) for v in x]
        _, moved = jvp(
            lambda *xs: run_closed(solvers.matvec, *xs),
            [*parts[0], *x],
            [*part_tangents[0], *zero],
        )
        change = [_minus(t, m) for t, m in zip(b_tangents, moved, strict=True)]
    if all(map(is_zero, change)):
        return results, [zero_tangent(r) for r in results]
    flat = [v for part in parts for v in part]
    found = custom_linear_solve(*flat, *map(instantiate, change), solvers=solvers)
    return results, [*found[: len(b)], *[zero_tangent(a) for a in aux]]


def _minus(a: Any, b: Any) -> Any:
    return a if is_zero(b) else add_tangents(a, neg(b))


def _transpose(cts: Any, *operands: Any, solvers: Solvers) -> Any:
    parts, b = solvers.divide(operands)
    if solvers.transpose_solve is None:
        raise TypeError(
            "transpose_solve required for backwards mode automatic differentiation of "
            "custom_linear_solve"
        )
    flat = [v for part in parts for v in part]
    given = list(cts)[: len(b)]
    if all(map(is_zero, given)):
        found: list[Any] = [Zero(x.aval.tangent_type()) for x in b]
    else:
        swapped = solvers.transposed()
        reordered = [*parts[1], *parts[0], *parts[3], *parts[2]]
        found = custom_linear_solve(*reordered, *map(instantiate, given), solvers=swapped)
    return [None] * len(flat) + [
        f if is_linear(x) else None for f, x in zip(found, b, strict=False)
    ]


def _batch(axis: Any, operands: Any, mapped: Any, *, solvers: Solvers) -> Any:
    """All four functions on stacked vectors; b is mapped as soon as anything is."""
    parts, b = solvers.divide(list(zip(operands, mapped, strict=True)))
    many = (True,) * len(b)

    def stacked(closed: ClosedJaxpr | None, part: Any) -> ClosedJaxpr | None:
        if closed is None:
            return None
        return batch_jaxpr(closed, axis, (*[d is not None for _, d in part], *many), True)[0]

    functions = (solvers.matvec, solvers.vecmat, solvers.solve, solvers.transpose_solve)
    made = [stacked(f, p) for f, p in zip(functions, parts, strict=True)]
    moved = [x if d is None else move_axis(x, d, 0) for part in parts for x, d in part]
    right = [axis_to_front(x, d, axis.size) for x, d in b]
    results = custom_linear_solve(
        *moved,
        *right,
        solvers=Solvers(made[0], made[1], made[2], made[3], solvers.counts),  # type: ignore[arg-type]
    )
    return results, [0] * len(results)


def _decompose(*operands: Any, solvers: Solvers) -> list[Any]:
    (_, _, consts, _), b = solvers.divide(operands)
    return run_closed(solvers.solve, *consts, *b)


custom_linear_solve = Primitive(
    "custom_linear_solve",
    multiple_results=True,
    result_types=_types,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    decompose=_decompose,
    compiled=True,
)
