"""Functions that loops and branches run, as jaxprs; what is said where their types do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from frit import errors, trees
from frit.api import signatures
from frit.ir.jaxpr import ClosedJaxpr, Var
from frit.ir.types import ShapedArray
from frit.runtime import cache
from frit.transforms.trace import all_constants_as_operands, trace_to_jaxpr

_NO_KEYWORDS = trees.structure({})


def trace_body(
    function: Callable[..., Any], tree: Any, types: Sequence[Any], purpose: str
) -> tuple[cache.Entry, list[Any]]:
    """The body as a jaxpr whose captured values, tracers or arrays, are leading operands."""

    def trace() -> Any:
        out: list[Any] = []
        in_tree = trees.structure_of_children(tuple, [tree, _NO_KEYWORDS])
        flat = signatures.flat_function(function, in_tree, out)
        example = tree.unflatten([0] * len(types))
        info = signatures.describe(
            function, signatures.signature_of(function), example, {}, purpose
        )
        jaxpr, consts = trace_to_jaxpr(flat, types, info)
        closed, captured = all_constants_as_operands(jaxpr, consts)
        return closed, captured, out[0]

    return cache.trace_once(function, cache.make_key(purpose, types, tree), trace)


def same_type(a: Any, b: Any) -> bool:
    if isinstance(a, ShapedArray) and isinstance(b, ShapedArray):
        return a.shape == b.shape and a.dtype == b.dtype
    return a == b


def forwarded(
    closed: ClosedJaxpr, outputs: Iterable[int] | None = None, inputs: Iterable[int] | None = None
) -> dict[int, int]:
    """The outputs that are inputs as they are: position of the output -> position of the input.

    Only the given outputs and inputs are looked at, by default all.
    """
    jaxpr = closed.jaxpr
    given = range(len(jaxpr.invars)) if inputs is None else inputs
    places = {jaxpr.invars[i]: i for i in given}
    return {
        i: places[v]
        for i in (range(len(jaxpr.outvars)) if outputs is None else outputs)
        if isinstance(v := jaxpr.outvars[i], Var) and v in places
    }


# --------------------------------------------------------------------------------- what is said


def _listed(lines: Sequence[str]) -> str:
    """One difference as a sentence, several as a list."""
    if len(lines) == 1:
        return f"{lines[0][0].upper()}{lines[0][1:]}."
    return ";\n".join(f"  * {line}" for line in lines) + "."


def _kind(text: str) -> str:
    return "pytree leaf" if "ShapedArray" in text else text


def _type_of(aval: Any) -> str:
    return aval.str_short().removeprefix("~")


def how(x: Any, y: Any) -> str:
    """In what two types differ, as the end of a sentence."""
    shapes = getattr(x, "shape", None) != getattr(y, "shape", None)
    dtypes = getattr(x, "dtype", None) != getattr(y, "dtype", None)
    if shapes and dtypes:
        return ", so the dtypes do not match, and the shapes do not match"
    return f", so the {'shapes' if shapes else 'dtypes'} do not match"


def _component(function: Any, path: Any) -> str:
    names = signatures.positional_names(signatures.signature_of(function))
    where = trees.keystr(path)
    if names:
        return (
            f"the input carry component {names[0]}{where}"
            if path
            else (f"the input carry {names[0]}")
        )
    return f"the input carry at path {where}" if path else "the input carry"


def check_structure(who: str, f: Any, types: Any, out_types: Any) -> None:
    """TypeError unless the carry comes out of a loop's body in the structure it went in.

    types, out_types: trees of types.
    """
    if trees.structure(types) == trees.structure(out_types):
        return
    lines = [
        f"{_component(f, path)} is a {_kind(a)} but the corresponding component of the carry "
        f"output is a {_kind(b)}, so {why}"
        for path, a, b, why in trees.equality_errors(types, out_types)
    ]
    raise TypeError(
        f"{who} function carry input and carry output must have the same pytree structure, but "
        f"they differ:\n\n{_listed(lines)}\n\nRevise the function so that the carry output has "
        "the same pytree structure as the carry input."
    )


def check_carry(who: str, f: Any, init: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
    """TypeError unless the carry comes out of a loop's body with the types it went in."""
    lines = [
        f"{_component(f, p)} has type {_type_of(a)} but the corresponding output carry component "
        f"has type {_type_of(b)}{how(a, b)}"
        for p, a, b in zip(trees.paths(init), ins, outs, strict=True)
        if not same_type(a, b)
    ]
    if lines:
        raise TypeError(
            f"{who} function carry input and carry output must have equal types, but they differ:"
            f"\n\n{_listed(lines)}\n\nRevise the function so that all output types match the "
            "corresponding input types."
        )


def check_branches(entries: Sequence[cache.Entry], functions: Sequence[Any], who: str) -> None:
    """TypeError unless all branches return the same structure and types."""
    ordered = list(zip(entries, functions, strict=True))
    names: Iterable[str] = (f"branch {i}" if i == 0 else f"branch{i}" for i in range(len(entries)))
    if who == "cond":
        ordered.reverse()
        names = ("true_fun", "false_fun")
    (first, f), *rest = ordered
    label, *labels = names
    for (other, g), name in zip(rest, labels, strict=True):
        places = f"{label} is {errors.function_place(f)}\n{name} is {errors.function_place(g)}\n\n"
        x, y = (e.out_tree.unflatten(e.closed.out_avals) for e in (first, other))
        if first.out_tree != other.out_tree:
            lines = [
                f"{label} output{_at(path)} is a {_kind(a)} but {name} output{_at(path)} is a "
                f"{_kind(b)}, so {why}"
                for path, a, b, why in trees.equality_errors(x, y)
            ]
            text = lines[0] + "." if len(lines) == 1 else _listed(lines)
            raise TypeError(
                f"{who} branch outputs must have the same pytree structure, but they differ:\n\n"
                f"{places}{text}\n\nRevise {label} and/or {name} so that they have the same pytree "
                "structure."
            )
        lines = [
            f"the output of {label}{_at(p)} has type {_type_of(a)} but the corresponding output of "
            f"{name} has type {_type_of(b)}{how(a, b)}"
            for p, a, b in zip(
                trees.paths(x), first.closed.out_avals, other.closed.out_avals, strict=True
            )
            if not same_type(a, b)
        ]
        if lines:
            raise TypeError(
                f"{who} branches must have equal output types but they differ.\n\n{places}"
                f"{_listed(lines)}\n\nRevise {label} and/or {name} so that all output types match."
            )


def _at(path: Any) -> str:
    return f" at path {trees.keystr(path)}" if path else ""
