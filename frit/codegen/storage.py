"""From a plan to buffers: gives each value its memory and orders destructive writes.

Steps are walked once, in order. A value has a `Storage`: an address range, whether it may be
overwritten, and how many live variables stand in it. A result is written, in this order of
preference, where it must end up (an output, a loop's carry), over an operand that dies, or in the
arena. A destination that a live variable still occupies is not available; then the value is made
elsewhere and moved when its scope ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.codegen.buffers import (
    Advance,
    Arena,
    Branch,
    BufferPlan,
    Callback,
    Copy,
    Library,
    Permute,
    Place,
    Point,
    Repeat,
    Run,
    While,
)
from frit.codegen.kernels import (
    Alias,
    CallbackCall,
    Kernel,
    KernelCall,
    LibraryCall,
    Nested,
    Plan,
)
from frit.ir.jaxpr import Atom, Literal, Var
from frit.ir.types import ShapedArray

ALWAYS = 1 << 60  # the last use of what a scope yields


def byte_size(aval: Any) -> int:
    """Bytes of a value; tokens and float0 have none."""
    if not isinstance(aval, ShapedArray):
        return 0
    return int(aval.size) * aval.storage_dtype.itemsize


class _Piece:
    """A range of the arena, and how many storages may be in it."""

    __slots__ = ("holders", "range")

    def __init__(self, found: tuple[int, int]) -> None:
        self.range, self.holders = found, 1


class Storage:
    """An address range; `owned`: it may be overwritten; `users`: live variables in it.

    pieces: ranges of the arena that go free with it, at the latest of all storages that hold them.
    """

    __slots__ = ("owned", "pieces", "place", "size", "users")

    def __init__(
        self, place: Place, size: int, owned: bool, pieces: Sequence[_Piece] = ()
    ) -> None:
        self.place, self.size, self.owned = place, size, owned
        self.pieces = list(pieces)
        self.users = 0


class Value:
    """A variable's memory: a storage and an offset into it."""

    __slots__ = ("offset", "storage")

    def __init__(self, storage: Storage, offset: int = 0) -> None:
        self.storage, self.offset = storage, offset

    @property
    def place(self) -> Place:
        return self.storage.place.plus(self.offset)


def assign_buffers(
    plan: Plan, scratch_of: Callable[[Kernel], Sequence[int]], donated: Sequence[bool]
) -> BufferPlan:
    """The buffer plan of a program.

    scratch_of: bytes of each scratch buffer of a kernel. donated: inputs that may be overwritten.
    """
    assigner = _Assigner(scratch_of, len(plan.inputs))
    inputs = [
        Storage(Place("input", k), byte_size(v.aval), owned)
        for k, (v, owned) in enumerate(zip(plan.inputs, donated, strict=True))
    ]
    outputs = [
        Storage(Place("output", j), byte_size(a.aval), True) for j, a in enumerate(plan.outputs)
    ]
    reused = _match_donated(plan, donated)
    destinations = [inputs[reused[j]] if j in reused else out for j, out in enumerate(outputs)]
    scope = _Scope(assigner, plan, [Value(s) for s in inputs], destinations)
    scope.run()
    donated_outputs = {}
    moves = []
    for j, (atom, found) in enumerate(zip(plan.outputs, scope.found, strict=True)):
        if j in reused and found.storage is inputs[reused[j]] and found.offset == 0:
            donated_outputs[j] = reused[j]
        else:
            moves.append(Copy(found.place, outputs[j].place, byte_size(atom.aval)))
    _move_all(scope, moves)
    return BufferPlan(
        tuple(scope.statements),
        assigner.arena.size,
        assigner.pointers,
        tuple(assigner.constants),
        tuple(assigner.callbacks),
        donated_outputs,
    )


def _match_donated(plan: Plan, donated: Sequence[bool]) -> dict[int, int]:
    """Outputs that may live in the memory of a donated input of their type."""
    free: dict[Any, list[int]] = {}
    for k, v in enumerate(plan.inputs):
        if donated[k] and isinstance(v.aval, ShapedArray) and byte_size(v.aval):
            free.setdefault((v.aval.shape, v.aval.dtype), []).append(k)
    for waiting in free.values():
        waiting.reverse()
    matched: dict[int, int] = {}
    seen: set[Atom] = set()
    for j, atom in enumerate(plan.outputs):
        if isinstance(atom, Literal) or atom in seen or not isinstance(atom.aval, ShapedArray):
            continue
        seen.add(atom)
        waiting = free.get((atom.aval.shape, atom.aval.dtype), [])
        if atom in plan.inputs:
            k = plan.inputs.index(atom)
            if k in waiting:
                waiting.remove(k)
                matched[j] = k
        elif waiting:
            matched[j] = waiting.pop()
    return matched


class _Assigner:
    """What all scopes of one program share."""

    def __init__(self, scratch_of: Callable[[Kernel], Sequence[int]], inputs: int) -> None:
        self.arena = Arena()
        self.pointers = 0
        self.inputs = inputs
        self.constants: list[Any] = []
        self._constant_places: dict[Any, Storage] = {}
        self.callbacks: list[Any] = []
        self.scratch_of = scratch_of

    def constant(self, literal: Literal) -> Storage:
        """The memory of a literal: an input beyond those of the plan."""
        aval = literal.aval
        number = np.asarray(literal.val, aval.storage_dtype)
        key = (number.dtype, number.tobytes())
        if key not in self._constant_places:
            place = Place("input", self.inputs + len(self.constants))
            self.constants.append(number)
            self._constant_places[key] = Storage(place, number.nbytes, False)
        return self._constant_places[key]

    def pointer(self) -> int:
        self.pointers += 1
        return self.pointers - 1

    def callback(self, eqn: Any) -> int:
        self.callbacks.append(eqn)
        return len(self.callbacks) - 1

    def new(self, size: int) -> Storage:
        piece = _Piece(self.arena.allocate(size))
        return Storage(Place("arena", 0, piece.range[0]), size, True, [piece])

    def free(self, storage: Storage) -> None:
        for piece in storage.pieces:
            piece.holders -= 1
            if not piece.holders:
                self.arena.release(*piece.range)
        storage.pieces = []


class _Scope:
    """Assigns one plan; `found`: the values of its outputs, in their destinations if possible."""

    def __init__(
        self,
        assigner: _Assigner,
        plan: Plan,
        inputs: Sequence[Value],
        destinations: Sequence[Storage | None],
    ) -> None:
        self.assigner, self.plan = assigner, plan
        self.statements: list[Any] = []
        self.last_use = last_uses(plan)
        self.values: dict[Var, Value] = {}
        self.wanted = self._wishes(destinations)
        for var, value in zip(plan.inputs, inputs, strict=True):
            self.bind(var, value)
        self.found: list[Value] = []

    def _wishes(self, destinations: Sequence[Storage | None]) -> dict[Var, Storage]:
        """Where results should be made: their destination, or that of what overwrites them."""
        wanted: dict[Var, Storage] = {}
        for atom, storage in zip(self.plan.outputs, destinations, strict=True):
            if storage is not None and isinstance(atom, Var):
                wanted.setdefault(atom, storage)
        for number in range(len(self.plan.steps) - 1, -1, -1):
            step = self.plan.steps[number]
            for result, operand in _successions(step):
                storage = wanted.get(result)
                if (
                    storage is not None
                    and isinstance(operand, Var)
                    and self.last_use.get(operand) == number
                    and byte_size(operand.aval) == storage.size
                ):
                    wanted.setdefault(operand, storage)
        return wanted

    # variables

    def bind(self, var: Var, value: Value) -> None:
        self.values[var] = value
        value.storage.users += 1

    def value(self, atom: Atom) -> Value:
        if isinstance(atom, Literal):
            return Value(self.assigner.constant(atom))
        return self.values[atom]

    def release(self, var: Var) -> None:
        storage = self.values[var].storage
        storage.users -= 1
        if not storage.users:
            self.assigner.free(storage)

    def dies(self, atom: Atom, number: int) -> bool:
        return isinstance(atom, Var) and self.last_use.get(atom) == number

    def may_overwrite(self, atom: Atom, number: int) -> bool:
        """Whether the memory of an operand is free for a result of step `number`."""
        if not self.dies(atom, number) or self.plan.steps[number].operands.count(atom) != 1:
            return False
        value = self.values[atom]
        whole = value.offset == 0 and value.storage.size == byte_size(atom.aval)
        return whole and value.storage.owned and value.storage.users == 1

    def make(self, var: Var, number: int, over: Sequence[Atom] = ()) -> Storage:
        """Memory for a result, which may be that of one of the dying operands `over`."""
        size = byte_size(var.aval)
        wish = self.wanted.get(var)
        candidates = [
            self.values[a].storage  # type: ignore[index]
            for a in over
            if self.may_overwrite(a, number) and byte_size(a.aval) == size
        ]
        if wish is not None and wish.size == size:
            if not wish.users or wish in candidates:
                return wish
        if candidates and size:
            return candidates[0]
        return self.assigner.new(size)

    def copy(self, source: Place, target: Place, size: int) -> None:
        if size and source != target:
            self.statements.append(Copy(source, target, size))

    # steps

    def run(self) -> None:
        """Assigns all steps, then moves outputs to their destinations where that is still due."""
        uses = self._dying_by_step()
        for number, step in enumerate(self.plan.steps):
            match step:
                case KernelCall():
                    self.kernel(step, number)
                case LibraryCall():
                    self.library(step, number)
                case CallbackCall():
                    self.callback(step, number)
                case Alias():
                    source = self.values[step.operand]
                    self.bind(step.result, Value(source.storage, source.offset + step.offset))
                case Nested():
                    _NESTED[step.eqn.primitive.name](self, step, number)
            for var in uses.get(number, ()):
                self.release(var)
        self.found = [self.value(atom) for atom in self.plan.outputs]

    def finish(self) -> None:
        """Frees what the outputs held, after they were moved."""
        for var in {a for a in self.plan.outputs if isinstance(a, Var)}:
            self.release(var)

    def _dying_by_step(self) -> dict[int, list[Var]]:
        dying: dict[int, list[Var]] = {}
        for var, number in self.last_use.items():
            if number < ALWAYS:
                dying.setdefault(max(number, 0), []).append(var)
        return dying

    def results(
        self, step: Any, number: int, updates: dict[int, int], inplace: Any
    ) -> list[Storage]:
        """Memory for the results of a call; an updated operand is copied where it may not die."""
        made: list[Storage | None] = [None] * len(step.results)
        for j, var in enumerate(step.results):
            if j in updates:
                atom = step.operands[updates[j]]
                made[j] = storage = self.make(var, number, [atom])
                source = self.value(atom)
                storage.users += 1
                self.copy(source.place, storage.place, byte_size(var.aval))
        wishes = {self.wanted.get(v): v for v in step.results}
        for j, var in enumerate(step.results):
            if j in updates:
                continue
            over = [step.operands[k] for i, k in inplace if i == j]
            over = [
                a
                for a in over
                if self.value(a).storage not in made
                and wishes.get(self.value(a).storage, var) is var
            ]
            made[j] = storage = self.make(var, number, over)
            storage.users += 1
        for var, storage in zip(step.results, made, strict=True):
            self.values[var] = Value(storage)  # type: ignore[arg-type]
        return made  # type: ignore[return-value]

    def kernel(self, step: KernelCall, number: int) -> None:
        kernel = step.kernel
        replaced = set(kernel.updates.values())
        reads = [self.value(a).place for k, a in enumerate(step.operands) if k not in replaced]
        made = self.results(step, number, kernel.updates, kernel.inplace)
        sizes = self.assigner.scratch_of(kernel)
        scratch = [self.assigner.new(size) for size in sizes]
        writes = tuple(s.place for s in made)
        self.statements.append(Run(kernel, tuple(reads), writes, tuple(s.place for s in scratch)))
        for storage in scratch:
            self.assigner.free(storage)

    def library(self, step: LibraryCall, number: int) -> None:
        replaced = set(step.call.updates.values())
        reads = [self.value(a).place for k, a in enumerate(step.operands) if k not in replaced]
        made = self.results(step, number, step.call.updates, ())
        scratch = self.assigner.new(step.call.scratch_bytes)
        writes = tuple(s.place for s in made)
        self.statements.append(Library(step.call, tuple(reads), writes, scratch.place))
        self.assigner.free(scratch)

    def callback(self, step: CallbackCall, number: int) -> None:
        reads = tuple(self.value(a).place for a in step.operands)
        made = self.results(step, number, {}, ())
        index = self.assigner.callback(step.eqn)
        self.statements.append(Callback(index, reads, tuple(s.place for s in made)))

    def inner(
        self, plan: Plan, inputs: Sequence[Value], destinations: Sequence[Storage | None]
    ) -> _Scope:
        """The assigned scope of a body."""
        scope = _Scope(self.assigner, plan, inputs, destinations)
        scope.run()
        return scope

    # loops and branches

    def enter(self, atom: Atom, result: Var, number: int, kind: str, taken: set[int]) -> Storage:
        """The memory in which a carry starts, holding its initial value: copied if it must live.

        What is permuted stays in the arena, so that results move to their places without order.
        """
        size = byte_size(result.aval)
        storage = None
        if self.may_overwrite(atom, number):
            storage = self.values[atom].storage  # type: ignore[index]
            if id(storage) in taken or not _may_hold(storage, kind):
                storage = None
        if storage is None:
            wish = self.wanted.get(result)
            free = wish is not None and not wish.users and id(wish) not in taken
            if free and wish.size == size and _may_hold(wish, kind):  # type: ignore[union-attr]
                storage = wish
            else:
                storage = self.assigner.new(size)
            self.copy(self.value(atom).place, storage.place, size)  # type: ignore[union-attr]
        taken.add(id(storage))
        return storage  # type: ignore[return-value]

    def carries(
        self, initial: Sequence[Atom], results: Sequence[Var], number: int, body: Plan, offset: int
    ) -> list[_Carry]:
        """The carries of a loop, with second buffers and pointers for those that need them."""
        variables = body.inputs[offset : offset + len(results)]
        kinds = _carry_kinds(body, variables, body.outputs[: len(results)])
        taken: set[int] = set()
        made = []
        for atom, var, kind in zip(initial, results, kinds, strict=True):
            carry = _Carry(self.enter(atom, var, number, kind, taken), kind)
            carry.storage.users += 1  # the loop holds it
            made.append(carry)
        for carry in made:
            if carry.kind in ("swapped", "permuted"):
                carry.pointer = self.assigner.pointer()
                self.statements.append(Point(carry.pointer, carry.storage.place))
            if carry.kind == "swapped":
                spare = self.assigner.new(carry.storage.size)
                carry.spare_pointer = self.assigner.pointer()
                self.statements.append(Point(carry.spare_pointer, spare.place))
                carry.spare = Storage(Place("pointer", carry.spare_pointer), spare.size, True)
                carry.spare_pieces = spare.pieces
        return made

    def leave(self, carries: Sequence[_Carry], results: Sequence[Var]) -> None:
        """Binds the results of a loop to what its carries hold at the end."""
        permuted = [c for c in carries if c.kind == "permuted"]
        common = [piece for c in permuted for piece in c.storage.pieces]
        for piece in common:
            piece.holders = len(permuted)
        for carry, var in zip(carries, results, strict=True):
            entered = carry.storage
            entered.users -= 1
            if carry.pointer is None:
                self.values[var] = Value(entered)
                entered.users += 1
                continue
            pieces = common if carry in permuted else carry.spare_pieces + entered.pieces
            final = Storage(carry.place, entered.size, True, pieces)
            entered.pieces = []
            if entered.place.base != "arena":
                entered.users += ALWAYS  # stays occupied: which of the two it is, is not known
            self.values[var] = Value(final)
            final.users += 1


class _Carry:
    """One carry of a loop: where it starts, and how it goes from step to step.

    kind: "kept" (unchanged), "inplace", "swapped" (with a spare buffer), "permuted" (with other
    carries) or "copied".
    """

    __slots__ = ("kind", "pointer", "spare", "spare_pieces", "spare_pointer", "storage")

    def __init__(self, storage: Storage, kind: str) -> None:
        self.storage, self.kind = storage, kind
        self.pointer: int | None = None
        self.spare: Storage | None = None
        self.spare_pointer: int | None = None
        self.spare_pieces: list[Any] = []

    @property
    def place(self) -> Place:
        return self.storage.place if self.pointer is None else Place("pointer", self.pointer)

    def inside(self) -> Storage:
        """The storage as the body sees it."""
        return Storage(self.place, self.storage.size, True)


def _may_hold(storage: Storage, kind: str) -> bool:
    return kind != "permuted" or storage.place.base == "arena"


def last_uses(plan: Plan) -> dict[Var, int]:
    """The number of the last step that reads each variable; -1 where none does."""
    found: dict[Var, int] = dict.fromkeys(plan.inputs, -1)
    for number, step in enumerate(plan.steps):
        for atom in step.operands:
            if isinstance(atom, Var):
                found[atom] = number
        for var in step.results:
            found.setdefault(var, number)
    for atom in plan.outputs:
        if isinstance(atom, Var):
            found[atom] = ALWAYS
    return found


def _successions(step: Any) -> list[tuple[Var, Atom]]:
    """(result, operand) pairs where the result may replace the operand."""
    match step:
        case KernelCall():
            pairs = [*step.kernel.updates.items(), *step.kernel.inplace]
        case LibraryCall():
            pairs = list(step.call.updates.items())
        case Nested() if step.eqn.primitive.name in ("scan", "while"):
            pairs = list(_carry_pairs(step.eqn))
        case _:
            return []
    return [(step.results[j], step.operands[k]) for j, k in pairs]


def _carry_pairs(eqn: Any) -> list[tuple[int, int]]:
    params = eqn.params
    if eqn.primitive.name == "scan":
        first, count = params["num_consts"], params["num_carry"]
    else:
        first = params["cond_nconsts"] + params["body_nconsts"]
        count = len(eqn.outvars)
    return [(j, first + j) for j in range(count)]


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
            over = [a for r, a in _successions(step) if r is out]
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
    inner: _Scope,
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
    _move_all(inner, moves, (*exact, *(c.place for c in carries)))
    if targets:
        inner.statements.append(Permute(tuple(targets), tuple(sources)))
    inner.finish()


def _move_all(scope: _Scope, moves: Sequence[Copy], exact: Sequence[Place] = ()) -> None:
    """Copies as if all at once: what might be overwritten before it is read waits elsewhere.

    A pointer may hold the address of any target, unless it is one of `exact`.
    """
    moves = [m for m in moves if m.size and m.source != m.target]
    targets = {m.target for m in moves}
    late, held = [], []
    for move in moves:
        source = move.source
        unknown = source.base == "pointer" and source not in exact
        if len(moves) > 1 and (source in targets or unknown):
            waiting = scope.assigner.new(move.size)
            held.append(waiting)
            scope.statements.append(Copy(source, waiting.place, move.size))
            source = waiting.place
        late.append(Copy(source, move.target, move.size))
    scope.statements += late
    for waiting in held:
        scope.assigner.free(waiting)


def _scan(scope: _Scope, step: Nested, number: int) -> None:
    params = step.eqn.params
    consts, count = params["num_consts"], params["num_carry"]
    (body,) = step.plans
    carries = scope.carries(
        step.operands[consts : consts + count], step.results[:count], number, body, consts
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
    scope.statements.append(
        Repeat(params["length"], params["reverse"], tuple(advances), tuple(inner.statements))
    )
    scope.leave(carries, step.results[:count])


def _while(scope: _Scope, step: Nested, number: int) -> None:
    params = step.eqn.params
    tests, consts = params["cond_nconsts"], params["body_nconsts"]
    condition, body = step.plans
    carries = scope.carries(step.operands[tests + consts :], step.results, number, body, consts)
    operands = [_unowned(scope.value(a)) for a in step.operands[: tests + consts]]
    seen = [Value(Storage(c.place, c.storage.size, False)) for c in carries]
    test = scope.inner(condition, [*operands[:tests], *seen], [None])
    predicate = scope.assigner.new(1)
    test.copy(test.found[0].place, predicate.place, 1)
    test.finish()
    inside = [carry.inside() for carry in carries]
    destinations = [carry.spare or s for carry, s in zip(carries, inside, strict=True)]
    inner = scope.inner(body, [*operands[tests:], *map(Value, inside)], destinations)
    _advance_carries(inner, carries, body.inputs[consts:])
    scope.statements.append(While(tuple(test.statements), predicate.place, tuple(inner.statements)))
    scope.assigner.free(predicate)
    scope.leave(carries, step.results)


def _cond(scope: _Scope, step: Nested, number: int) -> None:
    index, *operands = step.operands
    flows = [_flows(plan) for plan in step.plans]
    taken: dict[int, int] = {}  # operand -> the result that lives in its memory
    targets: list[Storage] = []
    for j, var in enumerate(step.results):
        storage = None
        for flow in flows:
            k = flow.get(j)
            if (
                k is not None
                and k not in taken
                and scope.may_overwrite(operands[k], number)
            ):
                storage, taken[k] = scope.values[operands[k]].storage, j  # type: ignore[index]
                break
        if storage is None:
            wish = scope.wanted.get(var)
            size = byte_size(var.aval)
            free = wish is not None and not wish.users and wish not in targets
            storage = wish if free and wish.size == size else scope.assigner.new(size)  # type: ignore
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
        _settle(scope, inner, targets)
        cases.append(tuple(inner.statements))
    scope.statements.append(Branch(scope.value(index).place, str(index.aval.dtype), tuple(cases)))
    for var, storage in zip(step.results, targets, strict=True):
        scope.values[var] = Value(storage)


def _settle(scope: _Scope, inner: _Scope, targets: Sequence[Storage]) -> None:
    """Ends a branch: each result moves to its place, all at once."""
    _move_all(
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
        for result, operand in _successions(step):
            if operand in origin:
                origin.setdefault(result, origin[operand])
    return {j: origin[a] for j, a in enumerate(plan.outputs) if isinstance(a, Var) and a in origin}


def _unowned(value: Value) -> Value:
    """The same memory, which the receiver may only read."""
    storage = value.storage
    return Value(Storage(storage.place, storage.size, False), value.offset)


_NESTED = {"scan": _scan, "while": _while, "cond": _cond}
