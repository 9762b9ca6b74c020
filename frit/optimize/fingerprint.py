"""Structural identity of jaxprs: equal programs have equal keys, whatever their names.

    key = (inputs' types, equations, outputs)     equation = (primitive, params, operands, types)

A variable is the number of its binder, a literal its bytes and type, a constant held by a nested
jaxpr the position of the array among all constants: arrays are arguments of a program, never part
of it. Functions and other opaque parameters stand for themselves (identity).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from frit.ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from frit.ir.types import AbstractValue, ShapedArray

Key = tuple[Any, ...]


class Constants:
    """The arrays that closed jaxprs hold, each once, in the order they are met."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._positions: dict[int, int] = {}

    def position(self, value: Any) -> int:
        """The place of `value` among the constants, added if it is new."""
        found = self._positions.get(id(value))
        if found is None:
            found = self._positions[id(value)] = len(self.values)
            self.values.append(value)
        return found


def fingerprint(closed: ClosedJaxpr) -> tuple[Key, list[Any]]:
    """The structural key of a program and its constants, those of nested jaxprs included."""
    constants = Constants()
    return closed_key(closed, constants), constants.values


def closed_key(closed: ClosedJaxpr, constants: Constants) -> Key:
    return jaxpr_key(closed.jaxpr, constants), tuple(map(constants.position, closed.consts))


def jaxpr_key(jaxpr: Jaxpr, constants: Constants) -> Key:
    """The key of a jaxpr whose constvars count as inputs."""
    inputs = (*jaxpr.constvars, *jaxpr.invars)
    return equations_key(inputs, jaxpr.eqns, jaxpr.outvars, constants)


def equations_key(
    inputs: Sequence[Var], eqns: Iterable[JaxprEqn], outs: Sequence[Atom], constants: Constants
) -> Key:
    """The key of equations between inputs and outputs."""
    numbers: dict[Var, int] = {}
    for var in inputs:
        numbers[var] = len(numbers)

    def operand(atom: Atom) -> Any:
        return literal_key(atom) if isinstance(atom, Literal) else numbers[atom]

    keys = []
    for eqn in eqns:
        operands = tuple(map(operand, eqn.invars))
        for var in eqn.outvars:
            numbers[var] = len(numbers)
        results = tuple(type_key(v.aval) for v in eqn.outvars)
        keys.append((eqn.primitive, param_key(eqn.params, constants), operands, results))
    head = (len(inputs), *(type_key(v.aval) for v in inputs))
    return head, tuple(keys), tuple(map(operand, outs))


def type_key(aval: AbstractValue) -> Any:
    """What of a type matters to compiled code: shape and elements, not whether it is weak."""
    if isinstance(aval, ShapedArray):
        return aval.shape, aval.dtype
    return aval


def literal_key(literal: Literal) -> Key:
    aval = literal.aval
    number = literal.val
    if isinstance(aval, ShapedArray) and not aval.shape:
        try:
            return ("literal", aval.dtype, np.asarray(number, aval.storage_dtype).tobytes())
        except (TypeError, ValueError):
            pass
    return ("literal", type_key(aval), Opaque(number))


class Opaque:
    """A value that is equal only to itself; holding it keeps its identity from being reused."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Opaque) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


_PLAIN = frozenset((int, bool, str, bytes, type(None)))


def param_key(value: Any, constants: Constants) -> Any:
    """A hashable that is equal for equal parameters; 1, 1.0 and True differ, as do 0.0 and -0.0."""
    kind = type(value)
    if kind in _PLAIN:
        return (kind, value)
    if kind is float:
        return (kind, value.hex())
    if kind is complex:
        return (kind, value.real.hex(), value.imag.hex())
    if kind is tuple or kind is list:
        kinds = set(map(type, value))
        if len(kinds) == 1 and kinds <= _PLAIN:
            return (*kinds, tuple(value))
        return (tuple, *[param_key(entry, constants) for entry in value])
    if kind is dict:
        return (dict, *[(name, param_key(entry, constants)) for name, entry in value.items()])
    if kind is ClosedJaxpr:
        return closed_key(value, constants)
    if kind is Jaxpr:
        return jaxpr_key(value, constants)
    if isinstance(value, np.generic):
        return (value.dtype.str, value.tobytes())
    if isinstance(value, np.ndarray) and value.size <= 64 and value.dtype != object:
        return (value.dtype.str, value.shape, value.tobytes())
    try:
        hash(value)
    except TypeError:
        return Opaque(value)
    return (kind, value)
