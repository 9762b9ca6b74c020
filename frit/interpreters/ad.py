"""Derivative rules, under the names of jax.interpreters.ad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit.ir.primitive import Primitive
from frit.ir.types import AbstractValue
from frit.transforms.jvp import JVPInterpreter as JVPTrace
from frit.transforms.jvp import JVPTracer
from frit.transforms.linear import LinearOperand as UndefinedPrimal
from frit.transforms.linear import (
    Zero,
    add_any,
    add_tangents,
    instantiate,
    is_linear,
    is_zero,
    zeros,
)
from frit.transforms.rules import zero_tangent

add_jaxvals = add_any
add_jaxvals_p = add_any
is_undefined_primal = is_linear
instantiate_zeros = instantiate

__all__ = [
    "JVPTrace", "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p",
    "add_tangents", "defbilinear", "defjvp", "defjvp2", "deflinear", "deflinear2",
    "instantiate_zeros", "is_undefined_primal", "primitive_jvps", "primitive_transposes",
    "zeros_like_aval",
]  # fmt: skip


class _Rules:
    """One field of all primitives, written and read as a dict."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        setattr(primitive, self.field, rule)

    def __getitem__(self, primitive: Primitive) -> Callable[..., Any]:
        rule = getattr(primitive, self.field)
        if not rule:
            raise KeyError(primitive)
        return rule

    def __contains__(self, primitive: Primitive) -> bool:
        return bool(getattr(primitive, self.field))


primitive_jvps = _Rules("jvp")
primitive_transposes = _Rules("transpose")


def zeros_like_aval(aval: AbstractValue) -> Any:
    return zeros(aval)


def defjvp(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """Sets, for each operand, a rule `(tangent, *primals, **params) -> tangent`."""

    def with_result(rule: Any) -> Any:
        if rule is None:
            return None
        return lambda t, result, *primals, **params: rule(t, *primals, **params)

    defjvp2(primitive, *map(with_result, rules))


def defjvp2(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """Sets, for each operand, a rule `(tangent, result, *primals, **params) -> tangent`."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        result = primitive(*primals, **params)
        total: Any = zero_tangent(result)
        for rule, t in zip(rules, tangents, strict=True):
            if rule is not None and not is_zero(t):
                total = add_tangents(total, rule(t, result, *primals, **params))
        return result, total

    primitive.jvp = jvp


def deflinear2(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """Makes a primitive linear, with `transpose(cotangent, *operands, **params)`."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        result = primitive(*primals, **params)
        if all(map(is_zero, tangents)):
            return result, zero_tangent(result)
        return result, primitive(*map(instantiate, tangents), **params)

    primitive.jvp, primitive.transpose = jvp, transpose


def deflinear(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """As deflinear2, for a transpose that takes the cotangent only."""
    deflinear2(primitive, lambda ct, *_, **params: transpose(ct, **params))


def defbilinear(
    primitive: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]
) -> None:
    """Makes a primitive linear in each of two operands, with a transpose rule for each."""
    defjvp(
        primitive,
        lambda t, x, y, **p: primitive(t, y, **p),
        lambda t, x, y, **p: primitive(x, t, **p),
    )

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        return [
            lhs_rule(ct, x, y, **params) if is_linear(x) else None,
            rhs_rule(ct, x, y, **params) if is_linear(y) else None,
        ]

    primitive.transpose = transpose
