"""Where a NaN or an infinity came from: the operation that made it, and the user's line of it.

    debug_nans, debug_infs:  each result of an eager operation or of a program is looked at; a
    program with a bad result runs again equation by equation, by the definitions of the primitives.

From a bad result the search goes back to an operand that is bad too, until an operation has good
operands and a bad result: the origin.  A `select_n` passes only what it chose.  In a backward pass,
0·inf and 0/0 are told as what they are: a cotangent of zero, of a branch that `where` masked out,
that met an infinite slope.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from frit import config, errors
from frit.errors import NOWHERE, SourceInfo
from frit.ir.jaxpr import (
    Atom,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    evaluate_closed,
    storage_of,
    subjaxprs,
)
from frit.primitives.loop_bodies import roles_of, while_parts

_Test = Callable[[Any], np.ndarray]


def is_asked() -> bool:
    """Whether results are to be looked at."""
    return bool(config.debug_nans.value or config.debug_infs.value)


def kind_of_bad(arrays: Sequence[Any]) -> str | None:
    """ "nan" or "inf" if the settings look for it and one of the arrays has it."""
    for kind, setting in (("nan", config.debug_nans), ("inf", config.debug_infs)):
        if setting.value and any(_bad(kind, a).any() for a in arrays):
            return kind
    return None


def _bad(kind: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.names or array.dtype.kind not in "fcV" or array.dtype.itemsize == 0:
        return np.zeros((), bool)
    try:
        return np.isnan(array) if kind == "nan" else np.isinf(array)
    except TypeError:  # float0 and other opaque bytes
        return np.zeros((), bool)


# ------------------------------------------------------------------------------- one operation


def check_operation(name: str, operands: Sequence[Any], results: Sequence[Any]) -> None:
    """FloatingPointError if an eager operation made a NaN or inf, where the settings ask."""
    kind = kind_of_bad(results)
    if kind is None:
        return
    place = errors.source_info()
    masked = None
    if kind == "nan" and place.backward and _is_masked(name, operands, results):
        masked = _Masked(place, errors.replayed(_line_of_select))
    _complain(_Origin(kind, name, place, masked=masked))


# ----------------------------------------------------------------------------------- a program


def check_program(closed: ClosedJaxpr, operands: Sequence[Any], results: Sequence[Any]) -> None:
    """FloatingPointError naming the origin, if a result of a program has a NaN or inf."""
    kind = kind_of_bad(results)
    if kind is None:
        return
    function = closed.jaxpr.debug_info.function
    if not all(effect.repeatable for effect in closed.jaxpr.effects):
        raise FloatingPointError(
            f"invalid value ({kind}) encountered in jit({function}). The program acts on the world "
            "(io_callback), so it was not run again to find the operation."
        )
    with np.errstate(all="ignore"):
        origin = _Replay(closed, operands, kind).origin()
    if origin is None:
        raise FloatingPointError(
            f"invalid value ({kind}) encountered in jit({function}). Run again operation by "
            f"operation, it made no {kind}: compiled code rounds differently there."
        )
    _complain(origin, function)


@dataclass(frozen=True)
class _Masked:
    """A cotangent of zero met an infinite slope: the line of the slope, and that of `where`."""

    place: SourceInfo
    select: SourceInfo | None


@dataclass(frozen=True)
class _Origin:
    """What made a bad number: an operation, a literal, or an input (by its number)."""

    kind: str
    name: str
    place: SourceInfo
    input: int | None = None
    input_name: str = ""
    within: tuple[str, ...] = ()
    masked: _Masked | None = None


@dataclass
class _Replay:
    """One run of a jaxpr by definitions, with all its values."""

    closed: ClosedJaxpr
    operands: Sequence[Any]
    kind: str
    values: dict[Var, Any] = field(default_factory=dict)
    makers: dict[Var, JaxprEqn] = field(default_factory=dict)
    masked: _Masked | None = None

    def __post_init__(self) -> None:
        jaxpr = self.closed.jaxpr
        for var, value in zip(jaxpr.constvars, self.closed.consts, strict=True):
            self.values[var] = storage_of(value, var.aval)
        self.values.update(zip(jaxpr.invars, self.operands, strict=True))
        for eqn in jaxpr.eqns:
            found = eqn.primitive.evaluate(*map(self.read, eqn.invars), **eqn.params)
            found = found if eqn.primitive.multiple_results else [found]
            self.values.update(zip(eqn.outvars, map(np.asarray, found), strict=True))
            self.makers.update((v, eqn) for v in eqn.outvars)

    def read(self, atom: Atom) -> Any:
        if isinstance(atom, Literal):
            return storage_of(atom.val, atom.aval)
        return self.values[atom]

    def is_bad(self, atom: Atom) -> bool:
        return bool(_bad(self.kind, self.read(atom)).any())

    def origin(self) -> _Origin | None:
        """The origin of the first bad output, or None."""
        bad = next((a for a in self.closed.jaxpr.outvars if self.is_bad(a)), None)
        if bad is None:
            return None
        found = self._trace(bad)
        return replace(found, masked=found.masked or self.masked)

    def _trace(self, atom: Atom, place: SourceInfo = NOWHERE) -> _Origin:
        while True:
            if isinstance(atom, Literal):
                return _Origin(self.kind, "a literal", place)
            eqn = self.makers.get(atom)
            if eqn is None:
                return self._input(atom, place)
            inside = self._inside(eqn)
            if inside is None:
                following = self._bad_operand(eqn, atom)
            elif inside.input is None:
                return inside
            else:
                following = eqn.invars[inside.input]
            self._note_mask(eqn)
            if following is None:
                return _Origin(self.kind, eqn.primitive.name, eqn.source_info)
            atom, place = following, eqn.source_info

    def _input(self, var: Var, place: SourceInfo) -> _Origin:
        jaxpr = self.closed.jaxpr
        if var not in jaxpr.invars:
            return _Origin(self.kind, "a captured constant", place)
        number = jaxpr.invars.index(var)
        names = jaxpr.debug_info.argument_names
        name = names[number] if number < len(names) else f"number {number}"
        return _Origin(self.kind, "an input", place, number, name)

    def _bad_operand(self, eqn: JaxprEqn, result: Var) -> Atom | None:
        """The operand that the bad numbers of a result come from, if one is bad."""
        if eqn.primitive.name == "select_n":
            which, *cases = map(self.read, eqn.invars)
            bad = _bad(self.kind, self.values[result])
            chosen = [bad & (which.astype(int) == i) for i in range(len(cases))]
            return next((a for a, c in zip(eqn.invars[1:], chosen, strict=True) if c.any()), None)
        return next((a for a in eqn.invars if self.is_bad(a)), None)

    def _note_mask(self, eqn: JaxprEqn) -> None:
        if self.masked is not None or self.kind != "nan" or not eqn.source_info.backward:
            return
        operands = [self.read(a) for a in eqn.invars]
        if _is_masked(eqn.primitive.name, operands, [self.values[v] for v in eqn.outvars]):
            self.masked = _Masked(eqn.source_info, self._select_before(eqn))

    def _select_before(self, eqn: JaxprEqn) -> SourceInfo | None:
        """The line of the `where` that an equation's operands come from."""
        waiting, seen = list(eqn.invars), set()
        while waiting:
            atom = waiting.pop(0)
            maker = None if isinstance(atom, Literal) else self.makers.get(atom)
            if maker is None or id(maker) in seen:
                continue
            seen.add(id(maker))
            if _has_select(maker):
                return maker.source_info
            waiting.extend(maker.invars)
        return None

    def _inside(self, eqn: JaxprEqn) -> _Origin | None:
        """The origin within a call, loop or branch; its `input` counts the equation's operands."""
        find = _INSIDE.get(eqn.primitive.name)
        if find is None:
            return None
        found: _Origin | None = find(eqn, [self.read(a) for a in eqn.invars], self.kind)
        if found is None:
            return None
        place = found.place if found.place.file else eqn.source_info
        masked = found.masked
        if masked is not None and masked.select is None:
            masked = replace(masked, select=self._select_before(eqn))
        return replace(
            found, place=place, within=(eqn.primitive.name, *found.within), masked=masked
        )


def _is_masked(name: str, operands: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether a NaN is 0·inf, 0·nan or 0/0."""
    if name not in ("mul", "div"):
        return False
    x, y = np.broadcast_arrays(*map(np.asarray, operands))
    bad = np.isnan(np.asarray(results[0]))
    zero = (x == 0) if name == "div" else (x == 0) | (y == 0)
    return bool((bad & zero).any())


def _has_select(eqn: JaxprEqn) -> bool:
    if eqn.primitive.name == "select_n":
        return True
    return any(_has_select(inner) for jaxpr in subjaxprs(eqn) for inner in jaxpr.eqns)


def _line_of_select(frame: Any) -> SourceInfo | None:
    """The line of the `where` through which a forward value went, from a running backward pass."""
    names = frame.f_locals
    eqn, jaxpr = names.get("eqn"), names.get("jaxpr")
    if eqn is None or jaxpr is None:
        return None
    reached = set(eqn.outvars)
    for later in jaxpr.eqns:
        if reached.intersection(a for a in later.invars if isinstance(a, Var)):
            if _has_select(later):
                place: SourceInfo = later.source_info
                return place
            reached.update(later.outvars)
    return None


# ------------------------------------------------------------------- calls, loops and branches


def _in_call(key: str) -> Callable[..., _Origin | None]:
    def find(eqn: JaxprEqn, operands: Sequence[Any], kind: str) -> _Origin | None:
        return _Replay(eqn.params[key], operands, kind).origin()

    return find


def _in_branch(eqn: JaxprEqn, operands: Sequence[Any], kind: str) -> _Origin | None:
    index, *given = operands
    branches = eqn.params["branches"]
    found = _Replay(branches[min(max(int(index), 0), len(branches) - 1)], given, kind).origin()
    return _moved(found, lambda number: number + 1)


def _in_scan(eqn: JaxprEqn, operands: Sequence[Any], kind: str) -> _Origin | None:
    params, roles = eqn.params, roles_of(eqn.params)
    fixed, carry, stacks = roles.divide(operands)
    turns = range(params["length"])
    for turn in reversed(turns) if params["reverse"] else turns:
        given = [*fixed, *carry, *[s[turn] for s in stacks]]
        results = evaluate_closed(params["jaxpr"], *given)
        if any(_bad(kind, r).any() for r in results):
            return _Replay(params["jaxpr"], given, kind).origin()
        carry = roles.divide_results(results)[0]
    return None


def _in_while(eqn: JaxprEqn, operands: Sequence[Any], kind: str) -> _Origin | None:
    params = eqn.params
    known, fixed, carry = while_parts(params, operands)
    while evaluate_closed(params["cond_jaxpr"], *known, *carry)[0]:
        given = [*fixed, *carry]
        carry = evaluate_closed(params["body_jaxpr"], *given)
        if any(_bad(kind, r).any() for r in carry):
            found = _Replay(params["body_jaxpr"], given, kind).origin()
            return _moved(found, lambda number: number + len(known))
    return None


def _moved(origin: _Origin | None, number: Callable[[int], int]) -> _Origin | None:
    """The same origin, with its input counted as an operand of the equation around it."""
    if origin is None or origin.input is None:
        return origin
    return replace(origin, input=number(origin.input))


_INSIDE: dict[str, Callable[..., _Origin | None]] = {
    "jit": _in_call("jaxpr"),
    "closed_call": _in_call("jaxpr"),
    "remat2": _in_call("jaxpr"),
    "custom_jvp_call": _in_call("call_jaxpr"),
    "custom_vjp_call": _in_call("call_jaxpr"),
    "cond": _in_branch,
    "scan": _in_scan,
    "while": _in_while,
}


# ------------------------------------------------------------------------------- what is said


def _complain(origin: _Origin, function: str = "") -> None:
    """Raises the FloatingPointError."""
    raise FloatingPointError(_message(origin, function))


def _message(origin: _Origin, function: str) -> str:
    kind, within = origin.kind, " in ".join(reversed(origin.within))
    if origin.input is not None:
        return (
            f"invalid value ({kind}) encountered in jit({function}). Run again, the de-optimized "
            f"function did not make it: it came with the input {origin.input_name}."
        )
    if origin.name in ("a literal", "a captured constant"):
        inside = f"{within or f'jit({function})'}"
        return (
            f"invalid value ({kind}) encountered in {inside}{_at(origin.place)}. Run again, the "
            f"de-optimized function did not make it: it is {origin.name} of the program."
        )
    inside = f" (in {within})" if within else ""
    backward = ", in the backward pass of that line" if origin.place.backward else ""
    text = f"invalid value ({kind}) encountered in {origin.name}{_at(origin.place)}{backward}"
    return f"{text}{inside}.{_line(origin.place)}{_lesson(origin)}"


def _at(place: SourceInfo) -> str:
    return f", at {place}" if place.file else ""


def _line(place: SourceInfo) -> str:
    line = linecache.getline(place.file, place.line).strip()
    return f"\n    {line}" if line else ""


def _lesson(origin: _Origin) -> str:
    masked = origin.masked
    if masked is None:
        return ""
    by = f" by the `where` at {masked.select}" if masked.select else ""
    slope = "" if masked.place == origin.place else f" at {masked.place}"
    return (
        f"\nThe cotangent{slope} is 0 there and the slope is not finite: 0·inf is nan. So it is "
        f"with a branch that is masked out{by}: its value is thrown away, but its slope is still "
        "multiplied by 0. Give the masked branch an operand at which it is smooth:\n"
        "    safe = jnp.where(mask, x, 1.0)\n"
        "    y = jnp.where(mask, jnp.sqrt(safe), 0.0)      # likewise log(safe), 1 / safe"
    )
