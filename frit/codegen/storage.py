"""Memory of values: address ranges, who lives in them, and what may be written where.

A value has a `Storage`: an address range, whether it may be overwritten, and how many live
variables stand in it. `Scope` walks the steps of one plan once, in order. A result is written, in
this order of preference, where it must end up (an output, a loop's carry), over an operand that
dies, or in the arena. A destination that a live variable still occupies is not available; then the
value is made elsewhere and moved when its scope ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.codegen.buffers import (
    Arena,
    Callback,
    Copy,
    Library,
    Names,
    Native,
    Place,
    Run,
    Same,
)
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
)
from frit.ir.jaxpr import Atom, Literal, Var
from frit.ir.types import ShapedArray

ALWAYS = 1 << 60  # the last use of what a scope yields


def byte_size(aval: Any) -> int:
    """Bytes of a value; tokens and float0 have none."""
    if not isinstance(aval, ShapedArray):
        return 0
    return int(aval.size) * aval.storage_dtype.itemsize


class Storage:
    """An address range; `owned`: it may be overwritten; `users`: live variables in it.

    piece: the range of the arena that goes free with it. holds: storages that it may be in, one or
    another, which stay in use as long as it is.
    """

    __slots__ = ("holds", "owned", "piece", "place", "size", "users")

    def __init__(
        self, place: Place, size: int, owned: bool, piece: tuple[int, int] | None = None
    ) -> None:
        self.place, self.size, self.owned, self.piece = place, size, owned, piece
        self.holds: list[Storage] = []
        self.users = 0


class Value:
    """A variable's memory: a storage and an offset into it."""

    __slots__ = ("offset", "storage")

    def __init__(self, storage: Storage, offset: int = 0) -> None:
        self.storage, self.offset = storage, offset

    @property
    def place(self) -> Place:
        return self.storage.place.plus(self.offset)


class Assigner:
    """What all scopes of one program share."""

    def __init__(
        self,
        scratch_of: Callable[[Kernel], Sequence[int]],
        inputs: int,
        nested: dict[str, Callable[[Scope, Nested, int], None]],
    ) -> None:
        """nested: how loops and branches are assigned, by name."""
        self.nested = nested
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
        piece = self.arena.allocate(size)
        return Storage(Place("arena", 0, piece[0]), size, True, piece)

    def free(self, storage: Storage) -> None:
        """Ends the use of a storage, and of what it holds."""
        if storage.piece is not None:
            self.arena.release(*storage.piece)
            storage.piece = None
        for held in storage.holds:
            held.users -= 1
            if not held.users:
                self.free(held)
        storage.holds = []


class Scope:
    """Assigns one plan; `found`: the values of its outputs, in their destinations if possible."""

    def __init__(
        self,
        assigner: Assigner,
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
            for result, operand in successions(step):
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
        value = self.value(atom)
        whole = value.offset == 0 and value.storage.size == byte_size(atom.aval)
        return whole and value.storage.owned and value.storage.users == 1

    def make(self, var: Var, number: int, over: Sequence[Atom] = ()) -> Storage:
        """Memory for a result, which may be that of one of the dying operands `over`."""
        size = byte_size(var.aval)
        wish = self.wanted.get(var)
        candidates = [
            self.value(a).storage
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
                case NativeCall():
                    self.native(step, number)
                case Alias():
                    source = self.values[step.operand]
                    self.bind(step.result, Value(source.storage, source.offset + step.offset))
                    self.statements.append(Same(step.result, step.operand, step.offset))
                case Nothing():
                    for var in step.results:
                        self.bind(var, Value(self.assigner.new(0)))
                case Nested():
                    self.assigner.nested[step.eqn.primitive.name](self, step, number)
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
        found = [storage for storage in made if storage is not None]
        for var, storage in zip(step.results, found, strict=True):
            self.values[var] = Value(storage)
        return found

    def kernel(self, step: KernelCall, number: int) -> None:
        kernel = step.kernel
        replaced = set(kernel.updates.values())
        reads = [(a, self.value(a).place) for k, a in enumerate(step.operands) if k not in replaced]
        made = self.results(step, number, kernel.updates, kernel.inplace)
        sizes = self.assigner.scratch_of(kernel)
        scratch = [self.assigner.new(size) for size in sizes]
        self.statements.append(
            Run(
                kernel,
                tuple(place for _, place in reads),
                tuple(s.place for s in made),
                tuple(s.place for s in scratch),
                _names(step, reads, made, kernel.updates),
            )
        )
        for storage in scratch:
            self.assigner.free(storage)

    def library(self, step: LibraryCall, number: int) -> None:
        updates = step.call.updates
        replaced = set(updates.values())
        reads = [(a, self.value(a).place) for k, a in enumerate(step.operands) if k not in replaced]
        made = self.results(step, number, updates, ())
        scratch = self.assigner.new(step.call.scratch_bytes)
        self.statements.append(
            Library(
                step.call,
                tuple(place for _, place in reads),
                tuple(s.place for s in made),
                scratch.place,
                _names(step, reads, made, updates),
            )
        )
        self.assigner.free(scratch)

    def callback(self, step: CallbackCall, number: int) -> None:
        reads = [(a, self.value(a).place) for a in step.operands]
        made = self.results(step, number, {}, ())
        self.statements.append(
            Callback(
                self.assigner.callback(step.eqn),
                tuple(place for _, place in reads),
                tuple(s.place for s in made),
                _names(step, reads, made, {}),
            )
        )

    def native(self, step: NativeCall, number: int) -> None:
        reads = [(a, self.value(a).place) for a in step.operands]
        made = self.results(step, number, {}, ())
        self.statements.append(
            Native(
                step.eqn,
                tuple(place for _, place in reads),
                tuple(s.place for s in made),
                _names(step, reads, made, {}),
            )
        )

    def inner(
        self, plan: Plan, inputs: Sequence[Value], destinations: Sequence[Storage | None]
    ) -> Scope:
        """The assigned scope of a body."""
        scope = Scope(self.assigner, plan, inputs, destinations)
        scope.run()
        return scope

    # loops and branches


def _names(
    step: Any, reads: Sequence[tuple[Atom, Place]], made: Sequence[Storage], updates: dict[int, int]
) -> Names:
    """What the verifier is to find before and after a call."""
    updated = [(step.operands[k], made[j].place) for j, k in updates.items()]
    writes = tuple((v, s.place) for v, s in zip(step.results, made, strict=True))
    return Names((*reads, *updated), writes)


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


def successions(step: Any) -> list[tuple[Var, Atom]]:
    """(result, operand) pairs where the result may replace the operand."""
    match step:
        case KernelCall():
            pairs = [*step.kernel.updates.items(), *step.kernel.inplace]
        case LibraryCall():
            pairs = list(step.call.updates.items())
        case Nested() if step.eqn.primitive.name in ("scan", "while"):
            pairs = list(carried_pairs(step.eqn))
        case _:
            return []
    return [(step.results[j], step.operands[k]) for j, k in pairs]


def carried_pairs(eqn: Any) -> list[tuple[int, int]]:
    params = eqn.params
    if eqn.primitive.name == "scan":
        first, count = params["num_consts"], params["num_carry"]
    else:
        first = params["cond_nconsts"] + params["body_nconsts"]
        count = len(eqn.outvars)
    return [(j, first + j) for j in range(count)]


def _overwrites(move: Copy, other: Copy) -> bool:
    """Whether the target of one copy shares bytes with the source of another."""
    target, source = move.target, other.source
    if (target.base, target.number) != (source.base, source.number):
        return False
    return target.offset < source.offset + other.size and source.offset < target.offset + move.size


def move_all(scope: Scope, moves: Sequence[Copy], exact: Sequence[Place] = ()) -> None:
    """Copies as if all at once: what might be overwritten before it is read waits elsewhere.

    A pointer may hold the address of any target, unless it is one of `exact`.
    """
    moves = [m for m in moves if m.size and m.source != m.target]
    late, held = [], []
    for move in moves:
        source = move.source
        unknown = source.base == "pointer" and source not in exact and len(moves) > 1
        if unknown or any(_overwrites(other, move) for other in moves):
            waiting = scope.assigner.new(move.size)
            held.append(waiting)
            scope.statements.append(Copy(source, waiting.place, move.size))
            source = waiting.place
        late.append(Copy(source, move.target, move.size))
    scope.statements += late
    for waiting in held:
        scope.assigner.free(waiting)
