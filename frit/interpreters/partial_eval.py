"""Partial evaluation and dead code, under the names of jax.interpreters.partial_eval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frit.ir.jaxpr import Jaxpr, drop_unused_equations
from frit.ir.types import AbstractValue
from frit.transforms.split import SplitTracer as JaxprTracer
from frit.transforms.trace import TraceTracer as DynamicJaxprTracer
from frit.transforms.trace import trace_to_jaxpr

__all__ = [
    "DynamicJaxprTracer", "JaxprTracer", "PartialVal", "dce_jaxpr", "dce_jaxpr_consts",
    "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits",
]  # fmt: skip


class PartialVal:
    """A value that is known, or of which only the type is."""

    def __init__(self, aval: AbstractValue | None, const: Any) -> None:
        self.aval, self.const = aval, const

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        return cls(None, const)

    @classmethod
    def unknown(cls, aval: AbstractValue) -> PartialVal:
        return cls(aval, None)

    def is_known(self) -> bool:
        return self.aval is None


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """The jaxpr with only the used outputs and what they need, and which inputs it still reads."""
    return drop_unused_equations(jaxpr, used_outputs, instantiate)


def dce_jaxpr_consts(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """As dce_jaxpr, with the constvars that are still read told apart."""
    pruned, used = drop_unused_equations(jaxpr, used_outputs, instantiate)
    read = {a for e in pruned.eqns for a in e.invars} | set(pruned.outvars)
    kept = [v in read for v in jaxpr.constvars]
    constvars = [v for v, k in zip(jaxpr.constvars, kept, strict=True) if k]
    return pruned.replace(constvars=constvars), kept, used


def trace_to_jaxpr_dynamic(fun: Any, in_avals: Sequence[AbstractValue], **_: Any) -> Any:
    """The jaxpr of a WrappedFun, its result types and constants."""
    jaxpr, consts = trace_to_jaxpr(fun.call_wrapped, in_avals, fun.debug_info)
    return jaxpr, jaxpr.out_avals, consts


def trace_to_jaxpr_nounits(
    fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> Any:
    """The jaxpr of a WrappedFun on its unknown arguments, results as PartialVals, and constants."""
    unknown = [p for p in pvals if not p.is_known()]

    def call(*values: Any) -> Any:
        rest = iter(values)
        return fun.call_wrapped(*[p.const if p.is_known() else next(rest) for p in pvals])

    jaxpr, consts = trace_to_jaxpr(call, [p.aval for p in unknown], fun.debug_info)  # type: ignore[misc]
    return jaxpr, [PartialVal.unknown(t) for t in jaxpr.out_avals], consts
