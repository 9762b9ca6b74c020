"""`if` on a traced condition: both branches recorded, what they assign joined, one `cond`.

    if c: y = f(x); k = 1         y = cond(c, …)      each value computed where its branch runs
    else: y = g(x); k = 1         k = 1               what both branches agree on stays Python's

A variable needed afterwards has one structure and one type, whichever branch ran; a Python number
takes the type of the array it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit import trees
from frit.api.recording import (
    Recording,
    convert,
    described,
    filler,
    is_number,
    kind_of,
    negated,
    recorded,
    refuse_changes,
    refuse_unfit,
    same_constant,
    truth,
)
from frit.ir import dtypes
from frit.ir.dtypes import TypePromotionError
from frit.ir.jaxpr import ClosedJaxpr, Var
from frit.ir.types import ShapedArray, typeof
from frit.primitives.conditionals import cond
from frit.primitives.conversion import convert_element_type
from frit.syntax import RESULT, UNDEFINED, Site, Variables, Watch


@dataclass(frozen=True)
class Output:
    """A value that the program computes in either branch.  aval: its type afterwards."""

    pair: tuple[Any, Any]
    aval: Any


class Join:
    """The values of two branches, made one."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.outputs: list[Output] = []

    def add(self, name: str, a: Any, b: Any) -> Callable[[Sequence[Any]], Any]:
        """How the joined value is made, given what the program computed for the outputs."""
        if a is b:
            return lambda _: a
        hidden = name.startswith("@")
        if hidden and (a is UNDEFINED or b is UNDEFINED):
            known = b if a is UNDEFINED else a
            leaves, tree = trees.flatten(known)
            pairs = [(UNDEFINED, x) if a is UNDEFINED else (x, UNDEFINED) for x in leaves]
        else:
            leaves, tree = trees.flatten(a)
            others, other_tree = trees.flatten(b)
            if a is UNDEFINED or b is UNDEFINED or tree != other_tree:
                raise self._differ(name, a, b)
            pairs = list(zip(leaves, others, strict=True))
        paths = trees.paths(b if a is UNDEFINED else a)
        places = [self._leaf(name, p, x, y) for p, (x, y) in zip(paths, pairs, strict=True)]
        return lambda found: tree.unflatten([place(found) for place in places])

    def _leaf(self, name: str, path: Any, x: Any, y: Any) -> Callable[[Sequence[Any]], Any]:
        if same_constant(x, y):
            return lambda _: x
        if x is UNDEFINED or y is UNDEFINED:
            known = y if x is UNDEFINED else x
            if not is_number(known):
                return lambda _: known
            aval = typeof(known)
        elif is_number(x) and is_number(y):
            aval = self._common_type(described(name, path), x, y)
        else:
            raise self._differ(described(name, path), x, y)
        number = len(self.outputs)
        self.outputs.append(Output((x, y), aval))
        return lambda found: found[number]

    def _common_type(self, what: str, x: Any, y: Any) -> Any:
        a, b = typeof(x), typeof(y)
        if not (isinstance(a, ShapedArray) and isinstance(b, ShapedArray)) or a.shape != b.shape:
            raise self._differ(what, x, y)
        if a.dtype == b.dtype:
            return a if not a.weak_type else b
        common, weak = a.dtype, False
        if not any(isinstance(d, dtypes.ExtendedDType) for d in (a.dtype, b.dtype)):
            try:
                common, weak = dtypes.promote([(a.dtype, a.weak_type), (b.dtype, b.weak_type)])
            except TypePromotionError:
                raise self._differ(what, x, y) from None
        fits = all(t.dtype == common or t.weak_type for t in (a, b))
        if not fits or dtypes.is_bool(a.dtype) != dtypes.is_bool(b.dtype):
            raise self._differ(what, x, y)
        return ShapedArray(a.shape, common, weak)

    def _differ(self, name: str, x: Any, y: Any) -> Exception:
        what = described(name, ())
        here, there = _sides(self.site)
        if name == RESULT and (x is None or y is None):
            advice = "End every way through the function with `return` and a value of one type."
        elif x is UNDEFINED or y is UNDEFINED:
            advice = (
                f"Give {what.removeprefix('the variable ')} a value before this, or in both "
                "branches."
            )
        elif is_number(x) and is_number(y):
            advice = (
                "The program needs one type for it, whichever branch runs: use `.astype(dtype)`, "
                "`jnp.asarray(value, dtype)`, or a shape that does not depend on the condition."
            )
        elif trees.structure(x) != trees.structure(y):
            advice = (
                "The program needs one structure for it, whichever branch runs: the same keys, "
                "lengths and types of containers, and None in both or in neither."
            )
        else:
            advice = (
                "Only arrays and numbers can be chosen when the program runs. Use numbers, or a "
                "condition that Python knows: mark the argument it depends on as static."
            )
        return self.site.refuse(
            f"{what} is {kind_of(x)} {here}, but {kind_of(y)} {there}. {advice}"
        )


def _sides(site: Site) -> tuple[str, str]:
    if site.kind.startswith("code"):
        return "where the code goes on", "where the block was left"
    if site.kind == "`for`":
        return "where the loop goes on", "where it was left"
    if site.kind == "`and`":
        return "where the first operand holds", "where it does not"
    return "where the condition holds", "where it does not"


def branch(site: Site, test: Any, then: Any, other: Any, state: Variables) -> None:
    """Runs one of two blocks, as the program finds the condition; the variables are joined."""
    refuse_unfit(site)
    condition = truth(test)
    opposite = lambda: negated(condition)
    first, second = Recording(site), Recording(site)
    before = state.values()
    left = recorded(first, then, lambda: condition, state)
    right = before if other is None else recorded(second, other, opposite, state)
    join = Join(site)
    made: dict[str, Callable[[Sequence[Any]], Any]] = {}
    for name, a in left.items():
        if a is right[name] or name in site.needed:
            made[name] = join.add(name, a, right[name])
    results = _run(join, condition, first, second)
    state.assign({name: made[name](results) if name in made else UNDEFINED for name in left})


def choose(site: Site, test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The result of one of two functions, as the program finds the condition."""
    refuse_unfit(site)
    condition = truth(test)
    first, second, watch = Recording(site), Recording(site), Watch([then, other])
    a = first.run(then, lambda: condition)
    b = second.run(other, lambda: negated(condition))
    refuse_changes(site, watch)
    join = Join(site)
    made = join.add(f"the value of {site.kind}", a, b)
    return made(_run(join, condition, first, second))


def _run(join: Join, condition: Any, first: Recording, second: Recording) -> list[Any]:
    """What the program computes for the outputs of a join."""
    closed = [
        r.close(lambda: [_as_output(o, o.pair[side]) for o in join.outputs])
        for side, r in enumerate((first, second))
    ]
    if not join.outputs and not any(c.jaxpr.effects for c, _ in closed):
        return []
    shared: dict[int, Any] = {id(x): x for _, captured in closed for x in captured}
    branches = [_with_operands(c, captured, shared) for c, captured in closed]
    index = convert_element_type(
        condition, new_dtype=np.dtype(np.int32), weak_type=False, sharding=None
    )
    return cond(index, *shared.values(), branches=tuple(reversed(branches)))  # type: ignore


def _as_output(output: Output, value: Any) -> Any:
    return filler(output.aval) if value is UNDEFINED else convert(value, output.aval)


def _with_operands(
    closed: ClosedJaxpr, captured: Sequence[Any], shared: dict[int, Any]
) -> ClosedJaxpr:
    """The branch with operands for everything that either branch captured."""
    own = dict(zip(map(id, captured), closed.jaxpr.invars, strict=True))
    invars = [own.get(i) or Var(typeof(x)) for i, x in shared.items()]
    return ClosedJaxpr(closed.jaxpr.replace(invars=invars, debug_info=None))
