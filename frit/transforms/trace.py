"""Trace: the interpreter that records what a function does, as a jaxpr.

    lambda x: sin(x) * 2.0     ->     { lambda ; a:f32[]. let b = sin a; c = mul b 2.0 in (c,) }

A value that is not of this trace becomes a constvar, one for each identity; a scalar without
identity becomes a Literal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import config, errors
from frit.errors import SourceInfo
from frit.ir import check
from frit.ir.jaxpr import (
    Atom,
    ClosedJaxpr,
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    constants_as_inputs,
    new_equation,
)
from frit.ir.primitive import (
    Interpreter,
    Level,
    Params,
    Primitive,
    Tracer,
    bottom_interpreter,
    current_interpreter,
    interpreting,
    scopes,
)
from frit.ir.types import AbstractValue, is_value, typeof
from frit.transforms.leaks import check_leaks

_SCALARS = (bool, int, float, complex)


SMALL_ARRAY = 1 << 16  # bytes; a NumPy array up to this size is copied when it is traced


def is_read_at_each_call(value: Any) -> bool:
    """Whether a captured value is memory of the user's that a program reads whenever it runs."""
    return type(value) is np.ndarray and value.nbytes > SMALL_ARRAY and value.flags.writeable


def by_reference(value: Any) -> Any:
    """A large NumPy array as a value of the trace that is being made, or None outside of one.

    So that what the user writes into it later is seen by compiled programs.
    """
    interpreter: Any = current_interpreter()
    while not isinstance(interpreter, Recorder):
        if interpreter is bottom_interpreter():
            return None
        interpreter = interpreter.parent
    return interpreter.reference(value)


class TraceTracer(Tracer):
    """A value whose numbers are not known: a variable of the jaxpr being recorded."""

    __slots__ = ("interpreter", "variable")

    def __init__(self, interpreter: TraceInterpreter, var: Var, made_at: SourceInfo) -> None:
        self.level, self.aval, self.made_at = interpreter.level, var.aval, made_at
        self.interpreter, self.variable = interpreter, var

    def origin_message(self) -> str:
        return self.interpreter.origin_of(self.variable)

    def text(self) -> str:
        return f"JitTracer({self.aval.str_short()})"


class Recorder(Interpreter):
    """Equations recorded so far, and the constants that they mention."""

    tracer_class: Any = TraceTracer

    def __init__(self, description: str, debug_info: DebugInfo | None = None) -> None:
        self.level = Level(description)
        self.debug_info = debug_info or DebugInfo()
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constants: dict[int, tuple[Var, Any]] = {}

    def new_input(self, aval: AbstractValue) -> Any:
        var = Var(aval)
        self.invars.append(var)
        return self.tracer_class(self, var, self.beginning)

    @functools.cached_property
    def beginning(self) -> SourceInfo:
        """Where the traced function begins: the place of its arguments."""
        file, _, line = self.debug_info.place.rpartition(":")
        if not file:
            return errors.source_info()
        return SourceInfo(file, int(line), self.debug_info.function)

    def atom(self, value: Any) -> Atom:
        """The variable or literal that stands for `value` in an equation."""
        if self.owns(value):
            return value.variable
        if type(value) in _SCALARS or isinstance(value, np.generic):
            return Literal(value)
        if type(value) is np.ndarray and value.ndim == 0 and value.dtype.names is None:
            return Literal(value[()])
        if not is_value(value):
            typeof(value)  # raises, saying what is valid
        if hasattr(value, "__jax_array__"):
            return self.atom(value.__jax_array__())
        known = self.constants.get(id(value))
        if known is None:
            known = self.constants[id(value)] = (Var(typeof(value)), value)
        return known[0]

    def record(
        self, primitive: Primitive, atoms: Sequence[Atom], types: Sequence[Any], params: Params
    ) -> list[Any]:
        """Appends an equation; its results as tracers."""
        place = errors.source_info(scopes())
        outvars = [Var(t) for t in types]
        self.eqns.append(new_equation(atoms, outvars, primitive, params, place))
        return [self.tracer_class(self, v, place) for v in outvars]

    def record_applied(self, primitive: Primitive, operands: Sequence[Any], params: Params) -> Any:
        atoms = [self.atom(x) for x in operands]
        types = primitive.types_of_results([a.aval for a in atoms], params)
        results = self.record(primitive, atoms, types, params)
        return results if primitive.multiple_results else results[0]

    def reference(self, value: Any) -> Any:
        """A tracer for a constant itself, without an equation."""
        return self.tracer_class(self, self.atom(value), errors.source_info(scopes()))

    def finish(self, outputs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The jaxpr of all that was recorded, and the values of its constvars."""
        outs = [self.atom(x) for x in outputs]
        constvars = [var for var, _ in self.constants.values()]
        jaxpr = Jaxpr(constvars, self.invars, outs, self.eqns, debug_info=self.debug_info)
        if config.enable_checks.value or config.check.value:
            check.check_jaxpr(jaxpr)
        return jaxpr, [value for _, value in self.constants.values()]

    def origin_of(self, var: Var) -> str:
        """Which arguments of the traced function `var` depends on, as a sentence."""
        makers = {v: eqn for eqn in self.eqns for v in eqn.outvars}
        seen: set[Var] = set()
        waiting = [var]
        while waiting:
            v = waiting.pop()
            if v not in seen:
                seen.add(v)
                if v in makers:
                    waiting.extend(a for a in makers[v].invars if isinstance(a, Var))
        info = self.debug_info
        names = [
            name for name, v in zip(info.argument_names, self.invars, strict=False) if v in seen
        ]
        where = f" at {info.place}" if info.place else ""
        which = f"while tracing the function {info.function}{where} for {info.transform or 'jit'}"
        if not names:
            return f"The error occurred {which}." if info.function != "<unknown>" else ""
        plural = "s" if len(names) > 1 else ""
        return (
            f"The error occurred {which}. This concrete value was not available in Python because "
            f"it depends on the value{plural} of the argument{plural} {', '.join(names)}."
        )


class TraceInterpreter(Recorder):
    """Records every primitive, also on constants."""

    @property
    def parent(self) -> Interpreter:  # type: ignore[override]
        return self

    def apply(self, primitive: Primitive, operands: Sequence[Any], params: Params) -> Any:
        return self.record_applied(primitive, operands, params)

    def _body(
        self, function: Any, operands: Sequence[Any], params: Params
    ) -> tuple[ClosedJaxpr, list[Any]]:
        """The function as a closed jaxpr, and the tracers it captured, as leading operands."""
        if "call_jaxpr" in params:
            return params["call_jaxpr"], []
        closed, captured = trace_closed(function, [typeof(x) for x in operands])
        return closed, captured

    def custom_jvp(
        self,
        primitive: Primitive,
        function: Any,
        rule: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        body, captured = self._body(function, operands, params)
        count = params.get("num_consts", 0) + len(captured)
        return self.record_applied(
            primitive,
            [*captured, *operands],
            {**params, "call_jaxpr": body, "jvp": rule, "num_consts": count},
        )

    def custom_vjp(
        self,
        primitive: Primitive,
        function: Any,
        forward: Any,
        backward: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        body, captured = self._body(function, operands, params)
        count = params.get("num_consts", 0) + len(captured)
        return self.record_applied(
            primitive,
            [*captured, *operands],
            {**params, "call_jaxpr": body, "fwd": forward, "bwd": backward, "num_consts": count},
        )


def trace_to_jaxpr(
    function: Callable[..., Sequence[Any]],
    types: Sequence[AbstractValue],
    debug_info: DebugInfo | None = None,
) -> tuple[Jaxpr, list[Any]]:
    """The jaxpr of `function(*values) -> values` on operands of `types`, and its constants.

    The constants may be tracers of enclosing interpreters.
    """
    interpreter = TraceInterpreter(_described(function, debug_info), debug_info)
    try:
        found = _record(interpreter, function, types)
    finally:
        interpreter.level.finished = True
    check_leaks(interpreter.level)
    return found


def _described(function: Any, info: DebugInfo | None) -> str:
    """The trace in words, for errors."""
    if info is None:
        return f"the trace of {getattr(function, '__name__', 'a function')}"
    at = f" at {info.place}" if info.place else ""
    return f"the trace of {info.function}{at}" + (
        f" for {info.transform}" if info.transform else ""
    )


def _record(
    interpreter: TraceInterpreter, function: Callable[..., Sequence[Any]], types: Sequence[Any]
) -> tuple[Jaxpr, list[Any]]:
    tracers = [interpreter.new_input(t) for t in types]
    with interpreting(interpreter):
        outputs = function(*tracers)
    return interpreter.finish(outputs)


def separate_tracers(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    """A closed jaxpr that holds no tracer: captured ones become leading inputs, given beside it.

    So do arrays that are read at each call.
    """
    moved = [isinstance(c, Tracer) or is_read_at_each_call(c) for c in consts]
    if not any(moved):
        return ClosedJaxpr(jaxpr, consts), []
    captured = [c for c, m in zip(consts, moved, strict=True) if m]
    leading = [v for v, m in zip(jaxpr.constvars, moved, strict=True) if m]
    kept = [v for v, m in zip(jaxpr.constvars, moved, strict=True) if not m]
    info = jaxpr.debug_info
    if info.argument_names:
        info = DebugInfo(
            info.function, info.place, ("a captured value",) * len(leading) + info.argument_names,
            info.result_paths, info.transform,
        )  # fmt: skip
    opened = jaxpr.replace(constvars=kept, invars=[*leading, *jaxpr.invars], debug_info=info)
    return ClosedJaxpr(opened, [c for c, m in zip(consts, moved, strict=True) if not m]), captured


def trace_closed(
    function: Callable[..., Sequence[Any]],
    types: Sequence[AbstractValue],
    debug_info: DebugInfo | None = None,
) -> tuple[ClosedJaxpr, list[Any]]:
    """`function` as a closed jaxpr without tracers, and the tracers that lead its operands."""
    return separate_tracers(*trace_to_jaxpr(function, types, debug_info))


def all_constants_as_operands(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    """A closed jaxpr without constants; all of them, tracers or not, are its leading operands."""
    return ClosedJaxpr(constants_as_inputs(jaxpr), ()), list(consts)


def is_tracing() -> bool:
    return isinstance(current_interpreter(), TraceInterpreter)
