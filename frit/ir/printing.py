"""Stable text of jaxprs, as JAX 0.10 prints them.

    { lambda constvars ; invars. let
        binder:type = primitive[
          name=value
        ] operands
      in (outs,) }

Names run on through the whole text; a jaxpr that stands at several places is told once, in front
(`let f = { … } in`); a jit's body shares the names of the outer variables it stands for.
"""

from __future__ import annotations

import itertools
import string
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import numpy as np

WIDTH = 80


class _Names:
    """Names of variables (a … z, ba, bb …) and of hoisted jaxprs, in order of appearance."""

    def __init__(self) -> None:
        self.of_variable: dict[Any, str] = {}
        self.of_jaxpr: dict[int, str] = {}
        self.fresh = (name for name in map(_letters, itertools.count()) if name not in self.taken())

    def taken(self) -> Any:
        return self.of_jaxpr.values()

    def variable(self, var: Any) -> str:
        if var not in self.of_variable:
            self.of_variable[var] = next(self.fresh)
        return self.of_variable[var]

    def free(self, wish: str) -> str:
        """`wish`, or `wish` with a number, whichever no hoisted jaxpr has."""
        taken = set(self.of_jaxpr.values())
        name, n = wish, 0
        while name in taken:
            n += 1
            name = f"{wish}{n}"
        return name


def _letters(n: int) -> str:
    text = ""
    while True:
        n, k = divmod(n, 26)
        text = string.ascii_lowercase[k] + text
        if not n:
            return text


def _plain(jaxpr_or_closed: Any) -> Any:
    return getattr(jaxpr_or_closed, "jaxpr", jaxpr_or_closed)


def _is_jaxpr(value: Any) -> bool:
    return type(value).__name__ in ("Jaxpr", "ClosedJaxpr")


def _inner(eqn: Any) -> Iterator[Any]:
    for value in eqn.params.values():
        for entry in value if isinstance(value, (tuple, list)) else (value,):
            if _is_jaxpr(entry):
                yield _plain(entry)


LONG = 10  # a jaxpr of more equations is told in front even if it stands at one place only


def _told_in_front(jaxpr: Any) -> list[tuple[Any, str]]:
    """Long jaxprs, and those that stand at more than one place, with the name each wishes for."""
    uses: Counter[int] = Counter()
    found: dict[int, Any] = {}
    wishes: dict[int, str] = {}
    waiting = deque([jaxpr])
    while waiting:
        j = waiting.popleft()
        found[id(j)] = j
        uses[id(j)] += 1 + (j is not jaxpr and len(j.eqns) > LONG)
        for eqn in j.eqns:
            name = eqn.params.get("name")
            for inner in _inner(eqn):
                waiting.append(inner)
                if isinstance(name, str):
                    wishes.setdefault(id(inner), name.strip("<>"))
    return [(found[i], wishes.get(i, "jaxpr")) for i, n in uses.items() if n > 1]


def jaxpr_text(
    jaxpr: Any,
    *,
    source_info: bool = False,
    name_stack: bool = False,
    print_shapes: bool = True,
    **_options: Any,
) -> str:
    """The text of a jaxpr."""
    writer = _Writer(source_info, name_stack, print_shapes)
    lines: list[str] = []
    front = _told_in_front(jaxpr)
    for shared, wish in front:
        writer.names.of_jaxpr[id(shared)] = writer.names.free(wish)
    for shared, _wish in front:
        name = writer.names.of_jaxpr[id(shared)]
        lines += writer.jaxpr(shared, 0, f"let {name} = ", " in")
    return _annotated(lines + writer.jaxpr(jaxpr, 0, is_outermost=True), writer.notes)


def equation_text(eqn: Any) -> str:
    writer = _Writer(False, False, True)
    return "\n".join(writer.equation(eqn, set(eqn.outvars), 0))


def _annotated(lines: list[str], notes: dict[int, str]) -> str:
    if not notes:
        return "\n".join(lines)
    width = max(map(len, lines))
    texts = list(notes.values())
    lines = lines + [""] * (len(texts) - len(lines))
    return "\n".join(
        f"{line.ljust(width)} # {texts[i]}" if i < len(texts) else line
        for i, line in enumerate(lines)
    )


class _Writer:
    def __init__(self, source_info: bool, name_stack: bool, print_shapes: bool) -> None:
        self.names = _Names()
        self.source_info, self.name_stack, self.print_shapes = source_info, name_stack, print_shapes
        self.notes: dict[int, str] = {}

    def binder(self, var: Any, read: set[Any] | None) -> str:
        name = "_" if read is not None and var not in read else self.names.variable(var)
        return f"{name}:{_type_text(var.aval)}" if self.print_shapes else name

    def operand(self, atom: Any) -> str:
        if hasattr(atom, "val"):
            return f"{_literal_text(atom)}:{_type_text(atom.aval)}"
        return self.names.variable(atom)

    def jaxpr(
        self, jaxpr: Any, indent: int, before: str = "", after: str = "", is_outermost: bool = False
    ) -> list[str]:
        constvars = " ".join(self.binder(v, None) for v in jaxpr.constvars)
        invars = " ".join(self.binder(v, None) for v in jaxpr.invars)
        head = f"{before}{{ lambda {constvars}; {invars}. let"
        read = _read_variables(jaxpr) if is_outermost else None
        equations = [self.equation(e, read, indent + 4) for e in jaxpr.eqns]
        for eqn in jaxpr.eqns:
            self._note(eqn)
        names = ", ".join(map(self.operand, jaxpr.outvars))
        tail = f"in ({names},)" if len(jaxpr.outvars) == 1 else f"in ({names})"
        tail += " }" + after
        if all(len(lines) == 1 for lines in equations):
            line = f"{head} {'; '.join(lines[0] for lines in equations)} {tail}"
            if indent + len(line) <= WIDTH:
                return [line]
        body = ["    " + line for lines in equations for line in lines]
        return [head, *body, f"  {tail}"]

    def _note(self, eqn: Any) -> None:
        if self.name_stack:
            self.notes[len(self.notes)] = f"[{'/'.join(eqn.source_info.name_stack)}]"
        elif self.source_info:
            self.notes[len(self.notes)] = str(eqn.source_info)

    def equation(self, eqn: Any, read: set[Any] | None, indent: int) -> list[str]:
        special = eqn.primitive.text
        if special is not None:
            return [special(self, eqn, read)]
        inner_names = _is_call(eqn)
        if inner_names:
            self._share_operands(eqn)
        binders = " ".join(self.binder(v, read) for v in eqn.outvars)
        shown = eqn.params if eqn.primitive.shown is None else eqn.primitive.shown(eqn)
        if inner_names:
            self._share_results(eqn)
        params = self._params(shown, indent + 2)
        operands = [self.operand(a) for a in eqn.invars]
        head = f"{binders} = {eqn.primitive.name}" if binders else eqn.primitive.name
        end = " " + " ".join(operands) if operands else " "
        if not params:
            return self._wrapped(head, operands)
        line = f"{head}[{' '.join(p[0] for p in params)}]"
        if all(len(p) == 1 for p in params):
            if indent + len(line) + len(end) <= WIDTH:
                return [line + end]
            if indent + len(line) <= WIDTH and operands:
                return self._wrapped(line, operands)
        rows = [f"{head}["]
        for p in params:
            rows += ["  " + line for line in p]
        return rows + self._wrapped("]", operands)

    def _wrapped(self, start: str, operands: list[str]) -> list[str]:
        lines = [start]
        for text in operands:
            if len(lines[-1]) + 1 + len(text) > WIDTH and lines[-1] != start:
                lines.append("  " + text)
            else:
                lines[-1] += " " + text
        if not operands:
            lines[-1] += " "
        return lines

    def _share_operands(self, eqn: Any) -> None:
        inner = _plain(eqn.params["jaxpr"])
        if id(inner) in self.names.of_jaxpr:
            return
        for v, a in zip(inner.invars, eqn.invars, strict=False):
            if not hasattr(a, "val"):
                self.names.of_variable[v] = self.names.variable(a)

    def _share_results(self, eqn: Any) -> None:
        inner = _plain(eqn.params["jaxpr"])
        if id(inner) in self.names.of_jaxpr:
            return
        for v, a in zip(eqn.outvars, inner.outvars, strict=False):
            if not hasattr(a, "val") and v in self.names.of_variable:
                self.names.of_variable[a] = self.names.of_variable[v]

    def _params(self, params: dict[str, Any], indent: int) -> list[list[str]]:
        keys = sorted(params, key=lambda k: (k != "name", k))
        return [self.parameter(k, params[k], indent) for k in keys]

    def parameter(self, key: str, value: Any, indent: int) -> list[str]:
        if _is_jaxpr(value):
            return self._jaxpr_value(f"{key}=", value, indent)
        if isinstance(value, (tuple, list)) and value and all(map(_is_jaxpr, value)):
            rows = [f"{key}=("]
            for entry in value:
                rows += ["  " + line for line in self._jaxpr_value("", entry, indent + 2)]
            return [*rows, ")"]
        return f"{key}={_value_text(value)}".split("\n")

    def _jaxpr_value(self, before: str, value: Any, indent: int) -> list[str]:
        inner = _plain(value)
        if id(inner) in self.names.of_jaxpr:
            return [before + self.names.of_jaxpr[id(inner)]]
        return self.jaxpr(inner, indent, before)


def _read_variables(jaxpr: Any) -> set[Any]:
    read = {a for e in jaxpr.eqns for a in e.invars if not hasattr(a, "val")}
    return read | {a for a in jaxpr.outvars if not hasattr(a, "val")}


def _is_call(eqn: Any) -> bool:
    return eqn.primitive.name == "jit"


def _type_text(aval: Any) -> str:
    return aval.str_short(short_dtypes=True)


def _literal_text(atom: Any) -> str:
    value = atom.val
    if hasattr(value, "item"):
        value = value.item()
    return f"{value}"


def _value_text(value: Any) -> str:
    if isinstance(value, np.dtype):
        return str(value.name)
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        inside = ", ".join(_entry_text(v) for v in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return f"[{', '.join(map(_entry_text, value))}]"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)


def _entry_text(value: Any) -> str:
    if type(value) in (tuple, list) or isinstance(value, np.dtype):
        return _value_text(value)
    if isinstance(value, np.generic):
        return str(value)
    return repr(value)
