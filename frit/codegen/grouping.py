"""From a flat jaxpr to a plan: which equations share a kernel.

    unit = cluster of pointwise equations of one shape | view | reduction | update | opaque step

Each unit either is a *root*, a kernel (or step) of its own whose results go to memory, or is
*inlined*: computed again wherever a kernel asks for it. Both choices are made here, with a bound
on recomputation.

1. Units and their levels: see `units.py`.
2. Sites, from the last unit to the first. A *site* is a kernel and an index map: for each axis of
   a value, the loop that its index comes from. A value is computed once for each distinct site
   and each turn of the loops its index mentions: a row's maximum once for the row. A unit is
   inlined if that costs no more than writing it to memory and reading it back; if not, it keeps
   the reason (`refusals.py`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from frit.codegen.index_maps import IndexMaps
from frit.codegen.kernels import (
    Alias,
    CallbackCall,
    Kernel,
    KernelCall,
    LibraryCall,
    NativeCall,
    Nested,
    Nothing,
    Plan,
    array_type,
)
from frit.codegen.refusals import Decisions, Refusal
from frit.codegen.units import (
    LOOPS,
    SAME_MEMORY,
    Unit,
    cost_of,
    kind_of,
    make_units,
    shape_of,
)
from frit.errors import LoweringError
from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from frit.optimize.fingerprint import Constants, Key, equations_key

MAX_KERNEL = 320
MAX_SITES = 3
MAX_VIEW_SITES = 8
FUSED = ("pointwise", "view", "reduction")  # what may be computed where it is read
ROW = 16  # a value is computed once a row only if the row has at least so many elements


def make_plan(
    jaxpr: Jaxpr, is_lowered: Callable[[JaxprEqn], bool], decisions: Decisions | None = None
) -> Plan:
    """The plan of a flat jaxpr; equal kernels, also of different bodies, are one object.

    decisions: is told which equations share a kernel, and why others do not, if given.
    Raises LoweringError for an equation that nothing can compute.
    """
    return _Planner(is_lowered, {}, decisions).plan(jaxpr)


class _Planner:
    """Makes the plans of a program and its bodies, which share kernels."""

    def __init__(
        self,
        is_lowered: Callable[[JaxprEqn], bool],
        kernels: dict[Key, Kernel],
        decisions: Decisions | None,
    ) -> None:
        self.is_lowered, self.kernels, self.decisions = is_lowered, kernels, decisions
        self.bodies: dict[int, tuple[Jaxpr, Plan]] = {}

    def plan(self, jaxpr: Jaxpr) -> Plan:
        return _Grouping(self, jaxpr).plan()

    def body(self, closed: ClosedJaxpr) -> Plan:
        """The plan of a body, made once for each jaxpr."""
        jaxpr = closed.jaxpr
        if id(jaxpr) not in self.bodies:
            self.bodies[id(jaxpr)] = (jaxpr, self.plan(jaxpr))
        return self.bodies[id(jaxpr)][1]

    def share(
        self, invars: Sequence[Var], outvars: Sequence[Var], eqns: Sequence[JaxprEqn], **more: Any
    ) -> Kernel:
        """The kernel of some equations; the same object for the same equations."""
        constants = Constants()
        updates, inplace = more.get("updates") or {}, more.get("inplace") or frozenset()
        key = (
            equations_key(invars, eqns, outvars, constants),
            tuple(updates.items()),
            inplace,
        )
        kernel = self.kernels.get(key)
        if kernel is None:
            name = f"k{len(self.kernels)}_{_title(eqns)}"
            kernel = Kernel(name, tuple(invars), tuple(outvars), tuple(eqns), updates, inplace, key)
            self.kernels[key] = kernel
        return kernel


def _title(eqns: Sequence[JaxprEqn]) -> str:
    """The last few operations, for the name of a kernel."""
    names = [eqn.primitive.name for eqn in eqns[-3:]]
    return "_".join("".join(c if c.isalnum() else "_" for c in name) for name in names)


class _Grouping:
    """The grouping of one flat jaxpr."""

    def __init__(self, planner: _Planner, jaxpr: Jaxpr) -> None:
        self.planner, self.jaxpr, self.eqns = planner, jaxpr, jaxpr.eqns
        for eqn in jaxpr.eqns:
            if kind_of(eqn) in ("view", "reduction", "update", "pointwise", "opaque"):
                self.require(eqn)
        self.maker: dict[Var, int] = {v: i for i, e in enumerate(self.eqns) for v in e.outvars}
        self.outputs = {a for a in jaxpr.outvars if isinstance(a, Var)}
        self.units = make_units(jaxpr.eqns)
        self.maps = IndexMaps()

    def require(self, eqn: JaxprEqn) -> None:
        if not self.planner.is_lowered(eqn):
            types = ", ".join(str(a.aval) for a in eqn.invars)
            raise LoweringError(
                f"{eqn.primitive.name} of {types} has no lowering to machine code, and says no "
                f"decomposition into primitives that have one (at {eqn.source_info})."
            )

    def plan(self) -> Plan:
        self.decide()
        if self.planner.decisions is not None:
            self.tell(self.planner.decisions)
        steps = self.order(self.make_steps())
        return Plan(tuple(self.jaxpr.invars), tuple(steps), tuple(self.jaxpr.outvars))

    # ------------------------------------------------------------------------------ decisions

    def decide(self) -> None:
        """Decides which units are roots, and which kernels each other unit is inlined into."""
        self.sites: dict[Var, set[tuple[int, Any]]] = {}
        self.in_memory: dict[Var, str] = dict.fromkeys(self.outputs, "output")  # and its reader
        self.contents: list[list[Unit]] = []
        self.sizes: list[int] = []
        self.roots: list[Unit] = []
        self.inner_size: list[int] = []
        order = sorted(self.units, key=lambda u: (u.level, u.kind != "view", u.first))
        for unit in reversed(order):
            self.decide_unit(unit)

    def decide_unit(self, unit: Unit) -> None:
        results = [v for i in unit.eqns for v in self.eqns[i].outvars]
        sites: set[tuple[int, Any]] = set()
        for v in results:
            sites |= self.sites.get(v, set())
        reader = next((self.in_memory[v] for v in results if v in self.in_memory), None)
        if reader is None and not sites and unit.kind in FUSED:
            return  # dead
        unit.refusal = self.refusal(unit, sites) if reader is None else Refusal("needed", reader)
        if unit.refusal is None:
            for kernel in {kernel for kernel, _ in sites}:
                self.contents[kernel].append(unit)
                self.sizes[kernel] += len(unit.eqns)
            self.ask_operands(unit, sites)
            return
        unit.root = True
        unit.number = len(self.roots)
        self.roots.append(unit)
        self.contents.append([unit])
        self.sizes.append(len(unit.eqns))
        inside = {v for i in unit.eqns for v in self.eqns[i].outvars}
        for v in inside:
            if self.sites.get(v):
                self.in_memory.setdefault(v, "")
        self.ask_operands(unit, {(unit.number, self.maps.of_kernel(unit.number, unit.shape))})

    def refusal(self, unit: Unit, sites: set[tuple[int, Any]]) -> Refusal | None:
        """Why a unit is not computed where its readers are; None if it is."""
        if unit.kind not in FUSED:
            return Refusal("whole")
        length = max((self.sizes[k] for k, _ in sites), default=0) + len(unit.eqns)
        if length > MAX_KERNEL:
            return Refusal("length", "", length, MAX_KERNEL)
        count = len(sites)
        size = max(1, math.prod(unit.shape))
        total = sum(self.maps.turns(frame) for _, frame in sites)
        if unit.kind == "view":
            eqn = self.eqns[unit.first]
            allowed = MAX_SITES if eqn.primitive.name in ("concatenate", "pad") else MAX_VIEW_SITES
            if count <= allowed or (
                allowed == MAX_VIEW_SITES
                and all(isinstance(a, Literal) or a not in self.maker for a in eqn.invars)
            ):
                return None
            return Refusal("places", "", count, allowed)
        cost = sum(cost_of(self.eqns[i]) for i in unit.eqns)
        if unit.kind == "reduction":
            eqn = self.eqns[unit.first]
            reduced = max(1, math.prod(shape_of(eqn.invars[0]))) // size
            return self.refusal_of_reduction(sites, reduced, total, size)
        if cost > 8 and any(
            self.maps.turns(f) < self.turns_of_kernel(k) and not self.is_hoisted(k, f)
            for k, f in sites
        ):
            return Refusal("outside", "", total, size)
        if count > MAX_SITES:
            return Refusal("places", "", count, MAX_SITES)
        if cost * total > cost * size + 4 * total:
            return Refusal("again", "", total, size)
        return None

    def refusal_of_reduction(
        self, sites: set[tuple[int, Any]], reduced: int, total: int, size: int
    ) -> Refusal | None:
        """A reduction is computed where it is read once a row of its one reader, if rows are long.

        reduced: elements of one sum. total: how often it would be computed, for `size` results.
        """
        if len(sites) > 1:
            return Refusal("places", "", len(sites), 1)
        if total > size:
            return Refusal("again", "", total, size)
        if reduced < ROW:
            return Refusal("short", "", reduced, ROW)
        if not all(self.is_hoisted(kernel, frame) for kernel, frame in sites):
            return Refusal("row", "", total, size)
        return None

    def tell(self, decisions: Decisions) -> None:
        """Notes, for each value in memory, the equations of its kernel and why it is there."""
        for unit in self.roots:
            numbers = sorted({i for u in self.contents[unit.number] for i in u.eqns})
            eqns = tuple(self.eqns[i] for i in numbers)
            for v in (v for i in unit.eqns for v in self.eqns[i].outvars):
                if unit.kind in FUSED and v not in self.in_memory:
                    continue
                refusal = unit.refusal
                if refusal.reason == "needed":
                    reader = self.in_memory.get(v)
                    refusal = Refusal("needed", reader) if reader else Refusal("beside")
                decisions.note(v, eqns, refusal)

    def turns_of_kernel(self, kernel: int) -> int:
        return max(1, math.prod(self.roots[kernel].shape))

    def is_hoisted(self, kernel: int, frame: Any) -> bool:
        """Whether the value is computed once for each of the kernel's rows, and these are long."""
        root = self.roots[kernel]
        if root.kind not in ("pointwise", "view") or not root.shape:
            return False
        used = [s for s in frame if s is not None]
        if any(s[0] != kernel for s in used):
            return False
        outer = max((s[1] + 1 for s in used), default=0)
        return math.prod(root.shape[outer:]) >= ROW

    def ask_operands(self, unit: Unit, sites: set[tuple[int, Any]]) -> None:
        """Tells the operands of a unit where they are computed, or that they must be in memory."""
        inside = set(unit.eqns)
        for i in unit.eqns:
            eqn = self.eqns[i]
            for position, atom in enumerate(eqn.invars):
                if not isinstance(atom, Var) or self.maker.get(atom) in inside:
                    continue
                if unit.kind in ("pointwise", "view", "reduction") and not (
                    unit.root and unit.kind == "view" and self.alias_offset(eqn) is not None
                ):
                    found = self.sites.setdefault(atom, set())
                    for kernel, frame in sites:
                        found.add((kernel, self.maps.of_operand(eqn, i, position, frame)))
                else:
                    self.in_memory.setdefault(atom, unit.kind)

    def alias_offset(self, eqn: JaxprEqn) -> int | None:
        """Bytes into the operand at which the result begins, where it is the same memory."""
        if not eqn.invars or not isinstance(eqn.invars[0], Var):
            return None
        if eqn.primitive.name in SAME_MEMORY and len(eqn.invars) == 1:
            return (
                0
                if eqn.params.get("dimensions") is None or eqn.primitive.name != "reshape"
                else None
            )
        if eqn.primitive.name == "slice":
            return _contiguous_offset(eqn)
        return None

    # ---------------------------------------------------------------------------------- steps

    def make_steps(self) -> list[tuple[int, Any]]:
        """(program position, step) of all roots."""
        steps: list[tuple[int, Any]] = []
        for unit in self.roots:
            eqn = self.eqns[unit.first]
            operands, results = tuple(eqn.invars), tuple(eqn.outvars)
            made: list[Any]
            match unit.kind:
                case "loop":
                    made = [Nested(eqn, tuple(map(self.planner.body, _bodies(eqn))))]
                case "nothing":
                    made = [Nothing(results)]
                case "callback":
                    made = [CallbackCall(eqn, operands, results)]
                case "native":
                    made = [NativeCall(eqn, operands, results)]
                case "library":
                    made = [LibraryCall(eqn.params["call"], operands, results)]
                case "barrier":
                    made = [Alias(a, v) for a, v in zip(operands, results, strict=True)]  # type: ignore
                case "update":
                    made = [self.update_step(eqn)]
                case "view" if self.alias_offset(eqn) is not None:
                    made = [Alias(operands[0], results[0], self.alias_offset(eqn))]  # type: ignore
                case _:
                    made = [self.kernel_step(unit)]
            steps += [(unit.first, step) for step in made]
        return steps

    def kernel_step(self, unit: Unit) -> KernelCall:
        wanted = [
            v
            for i in unit.eqns
            for v in self.eqns[i].outvars
            if v in self.in_memory or unit.kind == "opaque"
        ]
        numbers = sorted({i for u in self.contents[unit.number] for i in u.eqns})
        eqns = _needed([self.eqns[i] for i in numbers], wanted)
        made = {v for eqn in eqns for v in eqn.outvars}
        invars = list(
            dict.fromkeys(
                a for eqn in eqns for a in eqn.invars if isinstance(a, Var) and a not in made
            )
        )
        inplace: frozenset[Any] = frozenset()
        if unit.kind == "pointwise":
            safe = {v for v in invars if self.reads_rows_only(v, unit)}
            inplace = _inplace_pairs(eqns, invars, wanted, safe)
        elif self.eqns[unit.first].primitive.name in LOOPS:
            inplace = _carried_pairs(self.eqns[unit.first], invars)
        kernel = self.planner.share(invars, wanted, eqns, inplace=inplace)
        return KernelCall(kernel, tuple(invars), tuple(wanted))

    def reads_rows_only(self, var: Var, unit: Unit) -> bool:
        """Whether a kernel reads `var` at each element's own place, or in reductions of its row.

        Such a reduction is complete before any element of the row is stored.
        """
        return all(
            self.maps.is_own_place(frame, unit.number, unit.shape)
            for kernel, frame in self.sites.get(var, ())
            if kernel == unit.number
        )

    def update_step(self, eqn: JaxprEqn) -> KernelCall:
        """The kernel that changes its first operand in place."""
        target = Var(eqn.invars[0].aval)
        renamed = eqn.replace(invars=[target, *eqn.invars[1:]])
        others = list(dict.fromkeys(a for a in eqn.invars[1:] if isinstance(a, Var)))
        kernel = self.planner.share([target, *others], eqn.outvars, [renamed], updates={0: 0})
        return KernelCall(kernel, (eqn.invars[0], *others), tuple(eqn.outvars))

    def order(self, steps: list[tuple[int, Any]]) -> list[Any]:
        """The steps so that each follows what it reads, else in program order."""
        maker: dict[Var, int] = {}
        for number, (_, step) in enumerate(steps):
            maker.update(dict.fromkeys(step.results, number))
        waiting = [0] * len(steps)
        followers: list[list[int]] = [[] for _ in steps]

        def depend(number: int, sources: Iterable[int]) -> None:
            for source in set(sources):
                waiting[number] += 1
                followers[source].append(number)

        effectful = sorted(
            (position, number)
            for number, (position, _) in enumerate(steps)
            if self.eqns[position].effects
        )
        before = dict(zip([n for _, n in effectful][1:], [n for _, n in effectful], strict=False))
        for number, (_, step) in enumerate(steps):
            sources = {maker[a] for a in step.operands if isinstance(a, Var) and a in maker}
            if number in before:
                sources.add(before[number])
            depend(number, sources)
        ready = [(steps[n][0], n) for n, count in enumerate(waiting) if not count]
        heapq.heapify(ready)
        ordered = []
        while ready:
            _, number = heapq.heappop(ready)
            ordered.append(steps[number][1])
            for follower in followers[number]:
                waiting[follower] -= 1
                if not waiting[follower]:
                    heapq.heappush(ready, (steps[follower][0], follower))
        assert len(ordered) == len(steps), "the grouping of equations has a cycle"
        return ordered


def _bodies(eqn: JaxprEqn) -> list[ClosedJaxpr]:
    params = eqn.params
    match eqn.primitive.name:
        case "scan":
            return [params["jaxpr"]]
        case "while":
            return [params["cond_jaxpr"], params["body_jaxpr"]]
    return list(params["branches"])


def _needed(eqns: Sequence[JaxprEqn], wanted: Sequence[Var]) -> list[JaxprEqn]:
    """The equations that the wanted variables depend on."""
    needed = set(wanted)
    kept = []
    for eqn in reversed(eqns):
        if any(v in needed for v in eqn.outvars):
            kept.append(eqn)
            needed.update(a for a in eqn.invars if isinstance(a, Var))
    kept.reverse()
    return kept


def _carried_pairs(eqn: JaxprEqn, invars: Sequence[Var]) -> frozenset[tuple[int, int]]:
    """(output, input) pairs of a loop in registers: it reads its carries before it writes them."""
    if eqn.primitive.name == "scan":
        first, count = eqn.params["num_consts"], eqn.params["num_carry"]
    else:
        first = eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
        count = len(eqn.outvars)
    carries = eqn.invars[first : first + count]
    return frozenset(
        (j, invars.index(a))
        for j, a in enumerate(carries)
        if isinstance(a, Var) and eqn.invars.count(a) == 1
    )


def _inplace_pairs(
    eqns: Sequence[JaxprEqn], invars: Sequence[Var], outvars: Sequence[Var], safe: set[Var]
) -> frozenset[tuple[int, int]]:
    """(output, input) pairs that may be one memory.

    Outputs are stored in order, each after all that it needs was computed, in one nest that loads
    an element once: what an earlier output, or the same, has read is in a register. `safe`: inputs
    that an element of a result reads nowhere but at its place, and in whole rows before.
    """
    shape = shape_of(outvars[0])
    if any(shape_of(v) != shape for v in outvars):
        return frozenset()
    maker = {v: eqn for eqn in eqns for v in eqn.outvars}
    done: set[int] = set()
    first_reader: dict[Var, int] = {}
    for j, out in enumerate(outvars):
        waiting = [out]
        while waiting:
            v = waiting.pop()
            eqn = maker.get(v)
            if eqn is None:
                first_reader.setdefault(v, j)
            elif id(eqn) not in done:
                done.add(id(eqn))
                waiting.extend(a for a in eqn.invars if isinstance(a, Var))
    position = {v: k for k, v in enumerate(invars)}
    return frozenset(
        (j, position[v])
        for v, first in first_reader.items()
        for j in range(first, len(outvars))
        if v in position
        and v in safe
        and shape_of(v) == shape
        and array_type(v).storage_dtype.itemsize == array_type(outvars[j]).storage_dtype.itemsize
    )


def _contiguous_offset(eqn: JaxprEqn) -> int | None:
    """Where a slice begins in its operand, in bytes, if it is one run of memory."""
    aval = array_type(eqn.invars[0])
    starts, limits = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * len(starts)
    sizes = [limit - start for start, limit in zip(starts, limits, strict=True)]
    if any(step != 1 for step in strides):
        return None
    leading = True
    for size, extent in zip(sizes, aval.shape, strict=True):
        if not leading and size != extent:
            return None
        if size != 1:
            leading = False
    offset = 0
    for start, extent in zip(starts, aval.shape, strict=True):
        offset = offset * extent + start
    return offset * aval.storage_dtype.itemsize
