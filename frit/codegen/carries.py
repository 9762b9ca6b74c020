"""Loops and branches in memory: how carries go from one iteration to the next.

A carry that its body overwrites safely stays in place. One whose next value is made while the
present one is still read has two buffers, and a cell with the address of each; they are exchanged
after each iteration. Carries that trade places trade addresses. Anything else is copied, all moves
of an iteration as if at once. Before a loop a value that lives on is copied once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from frit.codegen.buffers import Advance, Body, Branch, Copy, Permute, Place, Point, Repeat, While
from frit.codegen.kernels import Alias, Nested, Plan, array_type
from frit.codegen.storage import (
    Scope,
    Storage,
    Value,
    byte_size,
    last_uses,
    move_all,
    successions,
)
from frit.ir.jaxpr import Atom, Literal, Var


class _Carry:
    """One carry of a loop: where it starts, and how it goes from step to step.

    kind: "kept" (unchanged), "inplace", "swapped" (with a spare buffer), "permuted" (with other
    carries) or "copied".
    """

    __slots__ = ("buffer", "kind", "pointer", "spare", "spare_pointer", "storage")

    def __init__(self, storage: Storage, kind: str) -> None:
        self.storage, self.kind = storage, kind
        self.pointer: int | None = None
        self.spare: Storage | None = None
        self.spare_pointer: int | None = None
        self.buffer: Storage | None = None  # where the spare is at first

    @property
    def place(self) -> Place:
        return self.storage.place if self.pointer is None else Place("pointer", self.pointer)

    def inside(self) -> Storage:
        """The storage as the body sees it."""
        return Storage(self.place, self.storage.size, True)


def _may_hold(storage: Storage, kind: str) -> bool:
    return kind != "permuted" or storage.place.base == "arena"


def _enter(
    scope: Scope, atom: Atom, result: Var, number: int, kind: str, taken: set[int]
) -> Storage:
    """The memory in which a carry starts, holding its initial value: copied if it must live.

    What is permuted stays in the arena, so that results move to their places without order.
    """
    size = byte_size(result.aval)
    storage: Storage | None = None
    if scope.may_overwrite(atom, number):
        storage = scope.value(atom).storage
        if id(storage) in taken or not _may_hold(storage, kind):
            storage = None
    if storage is None:
        wish = scope.wanted.get(result)
        free = wish is not None and not wish.users and id(wish) not in taken
        if wish is not None and free and wish.size == size and _may_hold(wish, kind):
            storage = wish
        else:
            storage = scope.assigner.new(size)
        scope.copy(scope.value(atom).place, storage.place, size)  # type: ignore[union-attr]
    taken.add(id(storage))
    return storage  # type: ignore[return-value]


def _carries(
    scope: Scope,
    initial: Sequence[Atom],
    results: Sequence[Var],
    number: int,
    body: Plan,
    offset: int,
) -> list[_Carry]:
    """The carries of a loop, with second buffers and pointers for those that need them."""
    variables = body.inputs[offset : offset + len(results)]
    kinds = _carry_kinds(body, variables, body.outputs[: len(results)])
    taken: set[int] = set()
    made = []
    for atom, var, kind in zip(initial, results, kinds, strict=True):
        carry = _Carry(_enter(scope, atom, var, number, kind, taken), kind)
        carry.storage.users += 1  # the loop holds it
        made.append(carry)
    for carry in made:
        if carry.kind in ("swapped", "permuted"):
            carry.pointer = scope.assigner.pointer()
            scope.statements.append(Point(carry.pointer, carry.storage.place))
        if carry.kind == "swapped":
            spare = scope.assigner.new(carry.storage.size)
            carry.spare_pointer = scope.assigner.pointer()
            scope.statements.append(Point(carry.spare_pointer, spare.place))
            carry.spare = Storage(Place("pointer", carry.spare_pointer), spare.size, True)
            carry.buffer = spare
            spare.users += 1
    return made


def _leave(scope: Scope, carries: Sequence[_Carry], results: Sequence[Var]) -> None:
    """Binds the results of a loop to what its carries hold at the end."""
    permuted = [c.storage for c in carries if c.kind == "permuted"]
    for carry, var in zip(carries, results, strict=True):
        found = carry.storage
        if carry.pointer is not None:
            found = Storage(carry.place, carry.storage.size, True)
            found.holds = list(permuted) if carry.kind == "permuted" else [carry.storage]
            for held in found.holds:
                held.users += 1
            if carry.buffer is not None:
                found.holds.append(carry.buffer)  # whose one user it takes over
        scope.values[var] = Value(found)
        found.users += 1
    for carry in carries:
        carry.storage.users -= 1  # the loop no longer holds it


def _carry_kinds(body: Plan, carries: Sequence[Var], outs: Sequence[Atom]) -> list[str]:
    """How each carry goes from step to step; see `_Carry`."""
    last_use = last_uses(body)
    origin: dict[Var, Var] = {v: v for v in body.inputs}
    made_at: dict[Var, tuple[int, Any]] = {}
    latest = dict(last_use)
    for number, step in enumerate(body.steps):
        if isinstance(step, Alias):
            root = origin.get(step.operand, step.operand)
            origin[step.result] = root
            latest[root] = max(latest[root], last_use[step.result])
        for var in step.results:
            made_at[var] = (number, step)
    kinds = []
    taken: set[Var] = set()
    position = {v: i for i, v in enumerate(carries)}
    for carry, out in zip(carries, outs, strict=True):
        if out is carry:
            kinds.append("kept")
        elif isinstance(out, Literal) or out in taken or origin.get(out, out) is not out:
            kinds.append("copied")
        elif out in position:
            kinds.append("permuted")
        elif out in made_at:
            number, step = made_at[out]
            over = [a for r, a in successions(step) if r is out]
            free = latest[carry] < number or (latest[carry] == number and carry in over)
            kinds.append("inplace" if free else "swapped")
        else:
            kinds.append("copied")
        if isinstance(out, Var):
            taken.add(out)
    return _only_cycles(kinds, carries, outs, position)


def _only_cycles(
    kinds: list[str], carries: Sequence[Var], outs: Sequence[Atom], position: dict[Var, int]
) -> list[str]:
    """`kinds` where "permuted" is left only for carries that form whole cycles."""
    for start, kind in enumerate(kinds):
        if kind != "permuted":
            continue
        path, at = [], start
        while kinds[at] == "permuted" and at not in path:
            path.append(at)
            at = position[outs[at]]  # type: ignore[index]
        if at != start:
            kinds[start] = "copied"
            return _only_cycles(kinds, carries, outs, position)
    return kinds


def _advance_carries(
    inner: Scope,
    carries: Sequence[_Carry],
    carry_vars: Sequence[Var],
    moves: Sequence[Copy] = (),
    exact: Sequence[Place] = (),
) -> None:
    """Ends the body: each carry takes its next value, all at once, and other moves are made."""
    moves = list(moves)
    targets: list[int] = []
    sources: list[int] = []
    for k, carry in enumerate(carries):
        found = inner.found[k]
        if carry.kind == "swapped" and found.storage is carry.spare:
            targets += [carry.pointer, carry.spare_pointer]  # type: ignore[list-item]
            sources += [carry.spare_pointer, carry.pointer]  # type: ignore[list-item]
        elif carry.kind == "permuted":
            other = carries[carry_vars.index(inner.plan.outputs[k])]  # type: ignore[arg-type]
            targets.append(carry.pointer)  # type: ignore[arg-type]
            sources.append(other.pointer)  # type: ignore[arg-type]
        else:
            moves.append(Copy(found.place, carry.place, carry.storage.size))
    move_all(inner, moves, (*exact, *(c.place for c in carries)))
    if targets:
        inner.statements.append(Permute(tuple(targets), tuple(sources)))
    inner.finish()


def _scan(scope: Scope, step: Nested, number: int) -> None:
    params = step.eqn.params
    consts, count = params["num_consts"], params["num_carry"]
    (body,) = step.plans
    carries = _carries(
        scope, step.operands[consts : consts + count], step.results[:count], number, body, consts
    )
    advances: list[Advance] = []

    def stepped(place: Place, aval: Any, owned: bool) -> Storage:
        pointer = scope.assigner.pointer()
        advances.append(Advance(pointer, place, byte_size(aval)))
        return Storage(Place("pointer", pointer), byte_size(aval), owned)

    slices = [
        Value(stepped(scope.value(stack).place, v.aval, False))
        for stack, v in zip(
            step.operands[consts + count :], body.inputs[consts + count :], strict=True
        )
    ]
    stacks = []
    for var in step.results[count:]:
        storage = scope.make(var, number)
        storage.users += 1
        scope.values[var] = Value(storage)
        stacks.append(storage)
    rows = [
        stepped(storage.place, atom.aval, True)
        for storage, atom in zip(stacks, body.outputs[count:], strict=True)
    ]
    inside = [carry.inside() for carry in carries]
    inputs = [
        *map(_unowned, map(scope.value, step.operands[:consts])),
        *map(Value, inside),
        *slices,
    ]
    destinations = [carry.spare or s for carry, s in zip(carries, inside, strict=True)]
    inner = scope.inner(body, inputs, [*destinations, *rows])
    moves = [
        Copy(found.place, row.place, row.size)
        for row, found in zip(rows, inner.found[count:], strict=True)
    ]
    exact = [Place("pointer", a.index) for a in advances]
    _advance_carries(inner, carries, body.inputs[consts : consts + count], moves, exact)
    held = [*(c.place for c in carries), *(row.place for row in rows)]
    made = _body(inner, body, inputs, step.operands, held, consts)
    ends = [*(c.place for c in carries), *(s.place for s in stacks)]
    results = tuple(zip(step.results, ends, strict=True))
    scope.statements.append(
        Repeat(params["length"], params["reverse"], tuple(advances), made, results)
    )
    _leave(scope, carries, step.results[:count])


def _while(scope: Scope, step: Nested, number: int) -> None:
    params = step.eqn.params
    tests, consts = params["cond_nconsts"], params["body_nconsts"]
    condition, body = step.plans
    carries = _carries(scope, step.operands[tests + consts :], step.results, number, body, consts)
    operands = [_unowned(scope.value(a)) for a in step.operands[: tests + consts]]
    seen = [Value(Storage(c.place, c.storage.size, False)) for c in carries]
    for_test = [*operands[:tests], *seen]
    test = scope.inner(condition, for_test, [None])
    predicate = scope.assigner.new(1)
    test.copy(test.found[0].place, predicate.place, 1)
    test.finish()
    outside = (*step.operands[:tests], *step.operands[tests + consts :])
    question = _body(test, condition, for_test, outside, [predicate.place], tests)
    inside = [carry.inside() for carry in carries]
    destinations = [carry.spare or s for carry, s in zip(carries, inside, strict=True)]
    inputs = [*operands[tests:], *map(Value, inside)]
    inner = scope.inner(body, inputs, destinations)
    _advance_carries(inner, carries, body.inputs[consts:])
    held = [c.place for c in carries]
    made = _body(inner, body, inputs, step.operands[tests:], held, consts)
    results = tuple(zip(step.results, held, strict=True))
    scope.statements.append(While(question, predicate.place, made, results))
    scope.assigner.free(predicate)
    _leave(scope, carries, step.results)


def _cond(scope: Scope, step: Nested, number: int) -> None:
    index, *operands = step.operands
    flows = [_flows(plan) for plan in step.plans]
    taken: dict[int, int] = {}  # operand -> the result that lives in its memory
    targets: list[Storage] = []
    for j, var in enumerate(step.results):
        storage: Storage | None = None
        for flow in flows:
            k = flow.get(j)
            if k is not None and k not in taken and scope.may_overwrite(operands[k], number):
                storage, taken[k] = scope.value(operands[k]).storage, j
                break
        if storage is None:
            wish = scope.wanted.get(var)
            size = byte_size(var.aval)
            free = wish is not None and not wish.users and wish not in targets
            fits = wish is not None and free and wish.size == size
            storage = wish if wish is not None and fits else scope.assigner.new(size)
        storage.users += 1
        targets.append(storage)
    cases = []
    for plan in step.plans:
        inside = {j: Storage(s.place, s.size, True) for j, s in enumerate(targets)}
        inputs = [
            Value(inside[taken[k]]) if k in taken else _unowned(scope.value(a))
            for k, a in enumerate(operands)
        ]
        inner = scope.inner(plan, inputs, [inside[j] for j in range(len(targets))])
        _settle(inner, targets)
        cases.append(_body(inner, plan, inputs, operands, [s.place for s in targets]))
    results = tuple((v, s.place) for v, s in zip(step.results, targets, strict=True))
    place, dtype = scope.value(index).place, str(array_type(index).dtype)
    scope.statements.append(Branch(place, dtype, tuple(cases), results))
    for var, storage in zip(step.results, targets, strict=True):
        scope.values[var] = Value(storage)


def _body(
    inner: Scope,
    plan: Plan,
    inputs: Sequence[Value],
    outside: Sequence[Atom],
    places: Sequence[Place],
    constants: int = 0,
) -> Body:
    """The statements of an assigned body, with what goes in and comes out."""
    enters = tuple(
        (v, value.place, atom) for v, value, atom in zip(plan.inputs, inputs, outside, strict=True)
    )
    leaves = tuple(zip(plan.outputs, places, strict=True))
    return Body(tuple(inner.statements), enters, leaves, constants)


def _settle(inner: Scope, targets: Sequence[Storage]) -> None:
    """Ends a branch: each result moves to its place, all at once."""
    move_all(
        inner,
        [
            Copy(found.place, target.place, target.size)
            for found, target in zip(inner.found, targets, strict=True)
        ],
    )
    inner.finish()


def _flows(plan: Plan) -> dict[int, int]:
    """output -> the input that it is, perhaps changed in place."""
    origin: dict[Atom, int] = {v: k for k, v in enumerate(plan.inputs)}
    for step in plan.steps:
        for result, operand in successions(step):
            if operand in origin:
                origin.setdefault(result, origin[operand])
    return {j: origin[a] for j, a in enumerate(plan.outputs) if isinstance(a, Var) and a in origin}


def _unowned(value: Value) -> Value:
    """The same memory, which the receiver may only read."""
    storage = value.storage
    return Value(Storage(storage.place, storage.size, False), value.offset)


NESTED: dict[str, Callable[[Scope, Nested, int], None]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
}
