"""Builders of rules: what the members of a family share is said once, here.

per_operand(f0, f1)         jvp of a function linear in each operand: sum of f_i(t_i, *primals)
per_linear_operand(g0, g1)  transpose: cotangent_i = g_i(ct, *operands) where operand i is linear
derivatives(d0, d1)         jvp of a pointwise function from its slopes d_i(*operands, result)
batch_pointwise(primitive)  batching of functions of each element by itself
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from frit.ir.primitive import Primitive
from frit.ir.types import typeof
from frit.transforms.linear import (
    Zero,
    add_tangents,
    broadcast_in_dim,
    broadcast_to_type,
    insert_axis,
    is_linear,
    is_zero,
    move_axis,
)

Rule = Callable[..., Any]


def zero_tangent(result: Any) -> Zero:
    """The Zero that is the tangent of `result`."""
    return Zero(typeof(result).tangent_type())


def per_operand(primitive: Callable[[], Primitive], *terms: Rule | None) -> Rule:
    """The jvp rule whose tangent is the sum of `term_i(tangent_i, *primals, **params)`.

    A term of None marks an operand without tangent (an index, a predicate).  `primitive` is a
    function without arguments, since the record is made after its rules.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        result = primitive()(*primals, **params)
        tangent: Any = zero_tangent(result)
        for term, t in zip(terms, tangents, strict=True):
            if term is not None and not is_zero(t):
                tangent = add_tangents(tangent, term(t, *primals, **params))
        return result, tangent

    return jvp


def per_linear_operand(*terms: Rule | None) -> Rule:
    """The transpose rule that gives `term_i(ct, *operands, **params)` for each linear operand."""

    def transpose(ct: Any, *operands: Any, **params: Any) -> list[Any]:
        return [
            term(ct, *operands, **params) if term is not None and is_linear(x) else None
            for term, x in zip(terms, operands, strict=True)
        ]

    return transpose


def linear_jvp(primitive: Callable[[], Primitive]) -> Rule:
    """The jvp rule of a primitive of one operand that is linear in it."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return primitive()(*primals, **params), primitive()(*tangents, **params)

    return jvp


def not_differentiable(primitive: Callable[[], Primitive]) -> Rule:
    """The jvp rule of a function whose derivative is zero wherever it has one."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        result = primitive()(*primals, **params)
        if primitive().multiple_results:
            return result, [zero_tangent(r) for r in result]
        return result, zero_tangent(result)

    return jvp


def pointwise_derivatives(
    primitive: Callable[[], Primitive], multiply: Rule, slopes: Sequence[Rule | None]
) -> Rule:
    """The jvp rule from slopes: the tangent is the sum of `tangent_i * slope_i(*operands, result)`.

    A slope may return None for zero.  Tangents are broadcast to the result's shape.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        result = primitive()(*primals, **params)
        tangent: Any = zero_tangent(result)
        for slope, t in zip(slopes, tangents, strict=True):
            if slope is None or is_zero(t):
                continue
            s = slope(*primals, result, **params)
            term = broadcast_to_type(multiply(t, s), typeof(result))  # type: ignore[arg-type]
            tangent = add_tangents(tangent, term)
        return result, tangent

    return jvp


def rank_of(x: Any) -> int:
    return len(typeof(x).shape)  # type: ignore[attr-defined]


def batch_pointwise(primitive: Callable[[], Primitive]) -> Rule:
    """The batch rule of functions of each element by itself, which broadcast rank 0 and size 1."""

    def batch(axis: Any, operands: Sequence[Any], mapped: Sequence[Any], **params: Any) -> Any:
        forms = {
            (typeof(x).shape, d)  # type: ignore[attr-defined]
            for x, d in zip(operands, mapped, strict=True)
            if rank_of(x)
        }
        if len(forms) == 1:
            ((_, d),) = forms
            results = primitive()(*operands, **params)
            return results, [d] * len(results) if primitive().multiple_results else d
        aligned = align_mapped(operands, mapped)
        results = primitive()(*aligned, **params)
        return results, [0] * len(results) if primitive().multiple_results else 0

    return batch


def align_mapped(operands: Sequence[Any], mapped: Sequence[int | None]) -> list[Any]:
    """Operands with the mapped axis in front and equal ranks; unmapped ones have size 1 there."""
    front = [
        x if not rank_of(x) else insert_axis(x, 0, 1) if d is None else move_axis(x, d, 0)
        for x, d in zip(operands, mapped, strict=True)
    ]
    rank = max(map(rank_of, front), default=0)
    return [_pad_rank(x, rank) if d is not None else x for x, d in zip(front, mapped, strict=True)]


def _pad_rank(x: Any, rank: int) -> Any:
    shape = typeof(x).shape  # type: ignore[attr-defined]
    if len(shape) == rank:
        return x
    ones = (1,) * (rank - len(shape))
    return broadcast_in_dim(
        x,
        shape=(shape[0], *ones, *shape[1:]) if shape else ones,
        broadcast_dimensions=(0, *range(1 + len(ones), rank)) if shape else (),
        sharding=None,
    )
