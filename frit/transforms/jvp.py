"""Forward mode: every value carries a tangent; rules of primitives say how tangents move.

    jvp(f, (x,), (t,))  =  f(x), f'(x) t

A value without tangent is bare: only what depends on the inputs pays.  `jvp_jaxpr` does the same
to a jaxpr:  { lambda ; a. let b = sin a in (b,) }  ->  { lambda ; a t. let b = sin a; c = cos a;
d = mul t c in (b, d) }.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from frit.errors import UnexpectedTracerError
from frit.ir.jaxpr import ClosedJaxpr, run_closed
from frit.ir.primitive import (
    Interpreter,
    Level,
    Params,
    Primitive,
    Tracer,
    current_interpreter,
    interpreting,
)
from frit.ir.types import typeof
from frit.transforms.leaks import made_at
from frit.transforms.linear import Zero, custom_lin, instantiate, is_zero
from frit.transforms.memo import memoize_by_jaxpr
from frit.transforms.trace import trace_to_jaxpr


class JVPTracer(Tracer):
    """A value and its tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(self, level: Level, primal: Any, tangent: Any) -> None:
        super().__init__(level, typeof(primal), made_at(primal, tangent))
        self.primal, self.tangent = primal, tangent

    def concrete(self) -> Any:
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def origin_message(self) -> str:
        return self.primal.origin_message() if isinstance(self.primal, Tracer) else ""

    def text(self) -> str:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"


class JVPInterpreter(Interpreter):
    """Runs each primitive together with its derivative, under the parent."""

    def __init__(self, parent: Interpreter, description: str = "jvp") -> None:
        self.parent = parent
        self.level = Level(description)

    def parts(self, value: Any) -> tuple[Any, Any]:
        if self.owns(value):
            return value.primal, value.tangent
        return value, Zero(typeof(value).tangent_type())

    def join(self, primal: Any, tangent: Any) -> Any:
        return primal if is_zero(tangent) else JVPTracer(self.level, primal, tangent)

    def apply(self, primitive: Primitive, operands: Sequence[Any], params: Params) -> Any:
        if not any(map(self.owns, operands)):
            with interpreting(self.parent):
                return primitive.bind_with(self.parent, operands, params)
        primals, tangents = zip(*[self.parts(x) for x in operands], strict=True)
        with interpreting(self.parent):
            result, tangent = primitive.jvp(primals, tangents, **params)
        if primitive.multiple_results:
            return [self.join(r, t) for r, t in zip(result, tangent, strict=True)]
        return self.join(result, tangent)

    @contextmanager
    def _explaining_closures(self, kind: str, params: Params) -> Iterator[None]:
        """Says what is wrong where a custom function closes over a value being differentiated."""
        try:
            yield
        except UnexpectedTracerError as error:
            level = getattr(error.tracer, "level", None)
            if level is not self.level or level.finished:
                raise
            name = params.get("name", "the function")
            raise UnexpectedTracerError(
                f"Detected differentiation of the {kind} function {name} with respect to a "
                f"closed-over value. That isn't supported (it can't close over values being "
                f"differentiated) because the custom rule only specifies how to differentiate "
                f"{name} with respect to explicit input parameters. Try passing the closed-over "
                f"value into {name} as an argument, and adapting the rule."
            ) from None

    def custom_jvp(
        self,
        primitive: Primitive,
        function: Any,
        rule: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        if not any(map(self.owns, operands)):
            with interpreting(self.parent), self._explaining_closures("custom_jvp", params):
                return self.parent.custom_jvp(primitive, function, rule, operands, params)
        primals, tangents = zip(*[self.parts(x) for x in operands], strict=True)
        skipped = params.get("num_consts", 0)
        with interpreting(self.parent), self._explaining_closures("custom_jvp", params):
            if not params.get("symbolic_zeros"):
                tangents = tuple(instantiate(t) for t in tangents)
            results, out = rule(list(primals[skipped:]), list(tangents[skipped:]))
        return [self.join(r, t) for r, t in zip(results, out, strict=True)]

    def custom_vjp(
        self,
        primitive: Primitive,
        function: Any,
        forward: Any,
        backward: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        if not any(map(self.owns, operands)):
            with interpreting(self.parent), self._explaining_closures("custom_vjp", params):
                return self.parent.custom_vjp(
                    primitive, function, forward, backward, operands, params
                )
        primals, tangents = zip(*[self.parts(x) for x in operands], strict=True)
        skipped = params.get("num_consts", 0)
        primals, tangents = primals[skipped:], tangents[skipped:]
        with interpreting(self.parent), self._explaining_closures("custom_vjp", params):
            results, residuals = forward(list(primals), [not is_zero(t) for t in tangents])
            out_types = tuple(typeof(r).tangent_type() for r in results)
            moved = custom_lin(
                *residuals,
                *[instantiate(t) for t in tangents],
                backward=backward,
                num_residuals=len(residuals),
                out_types=out_types,
            )
        return [self.join(r, t) for r, t in zip(results, moved, strict=True)]


def jvp(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    parent: Interpreter | None = None,
) -> tuple[list[Any], list[Any]]:
    """Results of `function(*primals)` and their tangents; a tangent may be a Zero, in or out."""
    interpreter = JVPInterpreter(parent or current_interpreter())
    operands = [interpreter.join(p, t) for p, t in zip(primals, tangents, strict=True)]
    try:
        with interpreting(interpreter):
            outputs = function(*operands)
        parts = [interpreter.parts(x) for x in outputs]
    finally:
        interpreter.level.finished = True
    return [p for p, _ in parts], [t for _, t in parts]


@memoize_by_jaxpr
def jvp_jaxpr(
    closed: ClosedJaxpr, nonzero_in: tuple[bool, ...], instantiated: tuple[bool, ...] | bool = False
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The jaxpr of results and tangents, and which results have a tangent.

    Its inputs: the inputs, then tangents of those in `nonzero_in`; its outputs: the outputs, then
    tangents of those that have one, or are `instantiated`.
    """
    wanted = (
        (instantiated,) * len(closed.out_avals) if isinstance(instantiated, bool) else instantiated
    )
    types = closed.in_avals
    tangent_types = [t.tangent_type() for t, nz in zip(types, nonzero_in, strict=True) if nz]
    nonzero_out: list[bool] = []

    def both(*values: Any) -> list[Any]:
        primals, given = values[: len(types)], iter(values[len(types) :])
        tangents = [
            next(given) if nz else Zero(t.tangent_type())
            for t, nz in zip(types, nonzero_in, strict=True)
        ]
        results, moved = jvp(lambda *xs: run_closed(closed, *xs), primals, tangents)
        nonzero_out.extend(not is_zero(t) or w for t, w in zip(moved, wanted, strict=True))
        return results + [instantiate(t) for t, nz in zip(moved, nonzero_out, strict=True) if nz]

    jaxpr, consts = trace_to_jaxpr(both, [*types, *tangent_types], closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), tuple(nonzero_out)
