"""Units: what the equations of a jaxpr are grouped into before it is decided what is a kernel.

    unit = cluster of pointwise equations of one shape | any other equation by itself

Every unit has a level. A pointwise equation joins the clusters of its operands if they have its
shape and are of the highest level among its operands; any other edge leads to a higher level, but
that a view has the level at which it can be read. So edges between kernels climb, and none of the
choices made later can close a cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from frit.codegen import registers
from frit.ir.dtypes import float0
from frit.ir.jaxpr import Atom, JaxprEqn, Var
from frit.ir.types import ShapedArray

VIEWS = frozenset((
    "broadcast_in_dim", "reshape", "transpose", "squeeze", "expand_dims", "slice", "rev", "pad",
    "concatenate", "iota", "dynamic_slice", "gather", "split", "copy", "take_window",
))  # fmt: skip
REDUCTIONS = frozenset((
    "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or",
    "reduce_xor", "argmax", "argmin",
))  # fmt: skip
UPDATES = frozenset((
    "dynamic_update_slice", "scatter", "scatter-add", "scatter_add", "scatter-mul", "scatter_mul",
    "scatter-min", "scatter_min", "scatter-max", "scatter_max", "scatter-sub", "scatter_sub",
    "add_at",
))  # fmt: skip
CALLBACKS = frozenset((
    "pure_callback", "io_callback", "debug_callback", "debug_print", "check_index", "fft",
    "eig",
))  # fmt: skip
NATIVE = frozenset(("tape_write", "tape_read", "tape_length", "require", "blank"))
LOOPS = frozenset(("scan", "while", "cond"))
SAME_MEMORY = frozenset(("reshape", "squeeze", "expand_dims", "copy"))

MAX_CLUSTER = 128  # equations
SMALL = 64  # elements; equations on arrays of at most so many share a kernel even if unrelated
_COSTS = {"div": 4, "sqrt": 4, "rem": 6, "threefry2x32": 100, "gather": 3, "dynamic_slice": 2}


class Unit:
    """Equations decided on together; `kernel` is the unit's own number where it is a root."""

    __slots__ = ("eqns", "first", "kind", "level", "number", "refusal", "root", "shape")

    def __init__(self, kind: str, eqns: list[int], shape: Any, level: int) -> None:
        self.kind, self.eqns, self.shape, self.level = kind, eqns, shape, level
        self.first = eqns[0]
        self.root = False
        self.number = -1
        self.refusal: Any = None  # why it is a root


def kind_of(eqn: JaxprEqn) -> str:
    """What sort of unit an equation belongs to."""
    name = eqn.primitive.name
    if eqn.outvars and all(getattr(v.aval, "dtype", None) == float0 for v in eqn.outvars):
        return "nothing"
    if name in LOOPS:
        return "opaque" if registers.fits(eqn) else "loop"
    if name in NATIVE:
        return "native"
    if name in CALLBACKS or eqn.effects:
        return "callback"
    if name == "library_call":
        return "library"
    if name == "optimization_barrier":
        return "barrier"
    if name in VIEWS:
        return "view"
    if name in REDUCTIONS:
        return "reduction"
    if name in UPDATES:
        return "update"
    if eqn.primitive.pointwise:
        return "pointwise"
    return "opaque"


def cost_of(eqn: JaxprEqn) -> int:
    """Rough cost of one element, in additions."""
    known = _COSTS.get(eqn.primitive.name)
    if known is not None:
        return known
    return 20 if eqn.primitive.accuracy.kind == "ulps" else 1


def shape_of(atom: Atom) -> tuple[int, ...]:
    return atom.aval.shape if isinstance(atom.aval, ShapedArray) else ()


class _Clusters:
    """Disjoint sets of equations, of bounded size."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._size: dict[int, int] = {}

    def find(self, i: int) -> int:
        while self._parent[i] != i:
            self._parent[i] = self._parent[self._parent[i]]
            i = self._parent[i]
        return i

    def join(self, i: int, others: Sequence[int]) -> bool:
        """Puts equation i (new, or known) and the sets of others together, if not too big."""
        if i not in self._parent:
            self._parent[i], self._size[i] = i, 1
        heads = {self.find(i), *map(self.find, others)}
        total = sum(self._size[h] for h in heads)
        if total > MAX_CLUSTER:
            return False
        first = min(heads)
        for head in heads:
            self._parent[head] = first
        self._size[first] = total
        return True


def make_units(eqns: Sequence[JaxprEqn]) -> list[Unit]:
    """The units of some equations, by position."""
    kinds = [kind_of(eqn) for eqn in eqns]
    maker = {v: i for i, eqn in enumerate(eqns) for v in eqn.outvars}
    levels = [0] * len(eqns)
    clusters = _Clusters()
    readers: dict[Any, int] = {}  # (level, variable read) or (level, shape) -> an equation
    last_effect = -1
    for i, eqn in enumerate(eqns):
        kind = kinds[i]
        pointwise = kind == "pointwise"
        shape = shape_of(eqn.outvars[0]) if eqn.outvars else ()
        level, joined = 0, []
        for atom in eqn.invars:
            p = maker.get(atom) if isinstance(atom, Var) else None
            if p is None:
                continue
            if kinds[p] == "view":
                level = max(level, levels[p])
            elif pointwise and kinds[p] == "pointwise" and shape_of(atom) == shape:
                level = max(level, levels[p])
                joined.append(p)
            else:
                level = max(level, levels[p] + 1)
        if eqn.effects:
            level, last_effect = max(level, last_effect + 1), max(level, last_effect + 1)
        if pointwise:
            joined = [p for p in joined if levels[p] == level]
            if not clusters.join(i, joined):
                level += 1
            size = math.prod(shape)
            keys: list[Any] = [(level, shape)] if size <= SMALL else []
            keys += [(level, a) for a in eqn.invars if isinstance(a, Var) and shape_of(a) == shape]
            for key in keys:
                clusters.join(i, [readers.setdefault(key, i)])
        levels[i] = level
    members: dict[int, Unit] = {}
    units: list[Unit] = []
    for i, eqn in enumerate(eqns):
        kind = kinds[i]
        shape = shape_of(eqn.outvars[0]) if eqn.outvars else ()
        if kind == "pointwise":
            head = clusters.find(i)
            if head in members:
                members[head].eqns.append(i)
                continue
            unit = members[head] = Unit(kind, [i], shape, levels[i])
        else:
            unit = Unit(kind, [i], shape, levels[i])
        units.append(unit)
    return units
