"""Refs: mutable cells inside traced code.  They vanish before compilation.

    b:Ref{f32[3]} = new_ref a          c:f32[3] <- b[...]          b[...] <- d

Reading and writing whole cells is all there is; an index is a read, a functional update, a write.
`discharge` turns cells into the values they hold, in the order of the equations.
"""

from __future__ import annotations

from typing import Any

from frit.ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, constants_as_inputs
from frit.ir.primitive import Effect, Primitive, absent
from frit.ir.types import AbstractValue, ShapedArray


class AbstractRef(AbstractValue):
    """The type of a cell that holds a value of type `inner_aval`."""

    __slots__ = ("inner_aval",)

    def __init__(self, inner_aval: ShapedArray) -> None:
        self.inner_aval = inner_aval

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        return self.inner_aval.dtype

    @property
    def weak_type(self) -> bool:
        return False

    def str_short(self, short_dtypes: bool = False, **_: Any) -> str:
        return f"Ref{{{self.inner_aval.str_short(short_dtypes=short_dtypes)}}}"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval))

    def __repr__(self) -> str:
        return f"AbstractRef({self.inner_aval})"

    __str__ = str_short


class RefEffect(Effect):
    """A cell is read or written: such equations keep their order."""

    ordered = True


ref_effect = frozenset((RefEffect(),))
_NO_DERIVATIVE = absent("refs inside differentiated functions are not supported: return the value")
_NO_MAP = absent("refs inside mapped functions are not supported: return the value")
_NO_MEANING = absent("refs exist in traced programs only")


def _primitive(name: str, result_types: Any, text: Any = None) -> Primitive:
    return Primitive(
        name, result_types=result_types, effects=lambda *types, **_: ref_effect, text=text,
        evaluate=_NO_MEANING, jvp=_NO_DERIVATIVE, transpose=_NO_DERIVATIVE, batch=_NO_MAP,
    )  # fmt: skip


def _read_text(writer: Any, eqn: Any, read: Any) -> str:
    return f"{writer.binder(eqn.outvars[0], read)} <- {writer.operand(eqn.invars[0])}[...]"


def _write_text(writer: Any, eqn: Any, read: Any) -> str:
    cell, value = map(writer.operand, eqn.invars)
    if read is not None and eqn.outvars[0] in read:
        return f"{writer.binder(eqn.outvars[0], read)}, {cell}[...] <- {cell}[...], {value}"
    return f"{cell}[...] <- {value}"


new_ref = _primitive("new_ref", lambda x, *, kind, memory_space: AbstractRef(x.strip_weak_type()))
read_ref = _primitive("get", lambda ref: ref.inner_aval, _read_text)
write_ref = _primitive("swap", lambda ref, value: ref.inner_aval, _write_text)

_CALLS = ("jit", "closed_call", "remat2")


def has_refs(jaxpr: Jaxpr) -> bool:
    """Whether a jaxpr makes, reads or writes cells."""
    return any(isinstance(e, RefEffect) for e in jaxpr.effects)


def discharge(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr without cells.

    Before: { lambda ; a. let b = new_ref a; c <- b[...]; d = mul c 2.0; b[...] <- d; e <- b[...]
              in (e,) }
    After:  { lambda ; a. let d = mul a 2.0 in (d,) }

    NotImplementedError where a loop or a branch works on a cell from outside.
    """
    if not has_refs(closed.jaxpr):
        return closed
    run = _Discharge()
    jaxpr = closed.jaxpr
    outs = run.equations(jaxpr, {})
    return ClosedJaxpr(jaxpr.replace(eqns=run.eqns, outvars=outs), closed.consts)


class _Discharge:
    """The equations so far, and what each cell holds."""

    def __init__(self) -> None:
        self.eqns: list[JaxprEqn] = []
        self.held: dict[Var, Atom] = {}

    def equations(self, jaxpr: Jaxpr, given: dict[Var, Atom]) -> list[Atom]:
        names = dict(given)

        def read(atom: Atom) -> Atom:
            return atom if isinstance(atom, Literal) else names.get(atom, atom)

        for eqn in jaxpr.eqns:
            operands = [read(a) for a in eqn.invars]
            name = eqn.primitive.name
            if name == "new_ref":
                self.held[eqn.outvars[0]] = operands[0]
            elif name in ("get", "swap") and operands[0] in self.held:
                cell = operands[0]
                assert isinstance(cell, Var)
                names[eqn.outvars[0]] = self.held[cell]
                if name == "swap":
                    self.held[cell] = operands[1]
            elif any(isinstance(a, Var) and a in self.held for a in operands):
                names.update(self._call(eqn, operands))
            else:
                self.eqns.append(eqn.replace(invars=operands, params=_without_refs(eqn)))
        return [read(a) for a in jaxpr.outvars]

    def _call(self, eqn: JaxprEqn, operands: list[Atom]) -> dict[Var, Atom]:
        """A call that is given cells dissolves."""
        if eqn.primitive.name not in _CALLS:
            raise NotImplementedError(
                f"{eqn.primitive} works on a ref made outside of its body (at {eqn.source_info}); "
                "carry the value through the loop or branch instead."
            )
        inner = eqn.params["jaxpr"]
        if inner.consts:
            raise NotImplementedError(
                f"{eqn.primitive} is given a ref and closes over arrays (at {eqn.source_info}); "
                "pass the arrays as arguments."
            )
        body = constants_as_inputs(inner.jaxpr)
        outs = self.equations(body, dict(zip(body.invars, operands, strict=True)))
        return dict(zip(eqn.outvars, outs, strict=True))


def _without_refs(eqn: JaxprEqn) -> dict[str, Any]:
    """The parameters of an equation, its own jaxprs without cells."""

    def clean(value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return discharge(value)
        if isinstance(value, tuple) and any(isinstance(v, ClosedJaxpr) for v in value):
            return tuple(map(clean, value))
        return value

    return {k: clean(v) for k, v in eqn.params.items()}
