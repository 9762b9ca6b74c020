"""Loops whose state is small: one kernel, with every number of the body a value in a register.

    scan, while  ->  For / While whose carries are the elements of the carried arrays

A body is unrolled into scalars: an array is a grid of values, a view moves values about and costs
nothing, a reduction or product is written out, in the order in which it would be computed alone.
Nested loops and branches become nested loops and branches. What does not fit (large arrays,
indices that are not known, library calls) runs from memory instead: see `storage.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.codegen.builders.pointwise import KEPT_PARAMETERS, PLAIN
from frit.codegen.builders.reductions import LANES, OPERATIONS, ROW, by_operation, of_pairs
from frit.codegen.elements import storage
from frit.codegen.kernels import array_type
from frit.codegen.loops import Const, as_at
from frit.codegen.nests import RULES, Node, row_major, rule
from frit.ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from frit.ir.types import ShapedArray

MOVES = frozenset((
    "broadcast_in_dim", "reshape", "transpose", "squeeze", "expand_dims", "slice", "rev", "pad",
    "concatenate", "split", "copy",
))  # fmt: skip
MAX_ELEMENTS = 80  # of one array
MAX_STATE = 256  # elements of all constants and carries
MAX_OPERATIONS = 4000  # scalar operations of one step
MAX_FUNCTIONS = 64  # calls of exp, sin, ... of one step, in scalars or vectors
CALL = 15  # what a kernel of its own costs, in vector operations
FUNCTION = 10  # what exp, sin, ... cost, in the same
SCALARS_PER_VECTOR = 5  # more than so many scalar operations for one of vectors do not pay
LANES_WORTH = 6  # functions of at least so many elements go through memory, to be done in vectors


def fits(eqn: JaxprEqn) -> bool:
    """Whether a loop is small enough to live in registers."""
    if eqn.primitive.name not in ("scan", "while") or eqn.effects:
        return False
    held = eqn.invars
    if eqn.primitive.name == "scan":
        held = held[: eqn.params["num_consts"] + eqn.params["num_carry"]]
    if sum(_size(a) for a in held) > MAX_STATE:
        return False
    budget = _Budget()
    return all(budget.takes(body.jaxpr) for body in _bodies(eqn)) and budget.is_worth_it()


def _bodies(eqn: JaxprEqn) -> list[ClosedJaxpr]:
    params = eqn.params
    match eqn.primitive.name:
        case "scan":
            return [params["jaxpr"]]
        case "while":
            return [params["cond_jaxpr"], params["body_jaxpr"]]
        case "cond":
            return list(params["branches"])
    return []


def _size(atom: Atom) -> int:
    return int(math.prod(array_type(atom).shape)) if isinstance(atom.aval, ShapedArray) else 0


class _Budget:
    """What a step may cost."""

    def __init__(self) -> None:
        self.operations, self.functions = MAX_OPERATIONS, MAX_FUNCTIONS
        self.from_memory = CALL

    def is_worth_it(self) -> bool:
        """Whether scalars in registers are likely to beat vectors from memory."""
        return MAX_OPERATIONS - self.operations <= SCALARS_PER_VECTOR * self.from_memory

    def takes(self, jaxpr: Jaxpr) -> bool:
        """Whether a body is made of what can be unrolled, and is small."""
        return not any(_size(v) > MAX_ELEMENTS for v in jaxpr.invars) and all(
            self.takes_equation(eqn) for eqn in jaxpr.eqns
        )

    def takes_equation(self, eqn: JaxprEqn) -> bool:
        name = eqn.primitive.name
        if eqn.effects or any(_size(v) > MAX_ELEMENTS for v in eqn.outvars):
            return False
        work = sum(map(_size, eqn.outvars))
        if name in ("scan", "while", "cond"):
            return all(self.takes(body.jaxpr) for body in _bodies(eqn))
        if name in MOVES or name == "iota":
            return True
        self.from_memory += sum(-(-_size(v) // 8) for v in eqn.outvars)
        if name == "dot_general":
            (summed, _), _ = eqn.params["dimension_numbers"]
            work *= 2 * math.prod(array_type(eqn.invars[0]).shape[a] for a in summed)
            self.from_memory += CALL + work // 4
        elif name in OPERATIONS:
            work = _size(eqn.invars[0])
            self.from_memory += CALL
        elif not eqn.primitive.pointwise or name not in RULES:
            return False
        elif eqn.primitive.accuracy.kind == "ulps":
            self.functions -= work if work < LANES_WORTH else -(-work // LANES_WORTH) * 2
            self.from_memory += -(-work // 8) * FUNCTION
        self.operations -= work
        return self.operations >= 0 and self.functions >= 0


# ------------------------------------------------------------------------------------- unrolling


class _Unroller:
    """Writes equations as scalar operations at the builder's current place.

    A grid is a NumPy array of objects: each element a value, or a pair of them (complex, key).
    """

    def __init__(self, lowering: Any) -> None:
        self.lowering, self.b = lowering, lowering.b

    def run(self, jaxpr: Jaxpr, inputs: Sequence[Any]) -> list[Any]:
        """The output grids of a body for its input grids."""
        grids: dict[Var, Any] = dict(zip(jaxpr.invars, inputs, strict=True))
        for eqn in jaxpr.eqns:
            operands = [self.grid(a, grids) for a in eqn.invars]
            grids.update(zip(eqn.outvars, self.equation(eqn, operands), strict=True))
        return [self.grid(a, grids) for a in jaxpr.outvars]

    def grid(self, atom: Atom, grids: dict[Var, Any]) -> Any:
        if isinstance(atom, Literal):
            return _grid((), [self.lowering.literal(atom).element(())])
        return grids[atom]

    def equation(self, eqn: JaxprEqn, operands: list[Any]) -> list[Any]:
        name = eqn.primitive.name
        if name in _NESTED:
            return _NESTED[name](self, eqn, operands)
        if name in MOVES:
            return self.move(eqn, operands)
        if name == "iota":
            return [self.iota(eqn)]
        if name == "dot_general":
            return [self.product(eqn, *operands)]
        if name in OPERATIONS:
            return [self.reduction(eqn, *operands)]
        return self.pointwise(eqn, operands)

    def move(self, eqn: JaxprEqn, operands: list[Any]) -> list[Any]:
        """A view: evaluated on the positions of elements, it says where each one goes."""
        cells = [cell for grid in operands for cell in grid.reshape(-1)]
        positions, first = [], 0
        for grid in operands:
            positions.append(np.arange(first, first + grid.size).reshape(grid.shape))
            first += grid.size
        found = eqn.primitive.evaluate(*positions, **eqn.params)
        if not eqn.primitive.multiple_results:
            found = [found]
        return [_grid(f.shape, [cells[int(p)] for p in np.asarray(f).reshape(-1)]) for f in found]

    def iota(self, eqn: JaxprEqn) -> Any:
        numbers = np.asarray(eqn.primitive.evaluate(**eqn.params))
        dtype = storage(eqn.outvars[0].aval)[1]
        return _grid(numbers.shape, [Const(n.item(), dtype) for n in numbers.reshape(-1)])

    def pointwise(self, eqn: JaxprEqn, operands: list[Any]) -> list[Any]:
        shape = array_type(eqn.outvars[0]).shape
        full = [np.broadcast_to(grid, shape).reshape(-1) for grid in operands]
        count = math.prod(shape)
        if self.is_worth_lanes(eqn, count):
            return [_grid(shape, self.in_lanes(eqn, full, count))]
        columns = [self.element(eqn, [cells[k] for cells in full]) for k in range(count)]
        return [_grid(shape, [column[j] for column in columns]) for j in range(len(eqn.outvars))]

    def is_worth_lanes(self, eqn: JaxprEqn, count: int) -> bool:
        atoms = (*eqn.invars, *eqn.outvars)
        return (
            count >= LANES_WORTH
            and eqn.primitive.accuracy.kind == "ulps"
            and len(eqn.outvars) == 1
            and all(storage(a.aval)[2] == 1 for a in atoms)
        )

    def in_lanes(self, eqn: JaxprEqn, operands: list[Any], count: int) -> list[Any]:
        """The elements of a function of many, computed in vectors from the kernel's own memory."""
        b = self.b
        reads = []
        for cells, atom in zip(operands, eqn.invars, strict=True):
            if all(cell is cells[0] for cell in cells):
                reads.append(lambda index, cell=cells[0]: cell)
                continue
            buffer = self.lowering.new_buffer((count,), storage(atom.aval)[1])
            for k, cell in enumerate(cells):
                b.store(buffer, k, cell)
            reads.append(lambda index, buffer=buffer: b.load(buffer, index))
        result = self.lowering.new_buffer((count,), storage(eqn.outvars[0].aval)[1])
        with b.loop(count, kind="vector") as loop:
            (value,) = self.element(eqn, [read(loop.index) for read in reads])
            b.store(result, loop.index, value)
        return [b.load(result, k) for k in range(count)]

    def element(self, eqn: JaxprEqn, cells: list[Any]) -> list[Any]:
        """One element of each result of a pointwise equation."""
        name = eqn.primitive.name
        if name in PLAIN and "rounding_method" not in eqn.params:
            if not any(isinstance(cell, tuple) for cell in cells):
                dtype = storage(eqn.outvars[0].aval)[1]
                params = {k: eqn.params[k] for k in KEPT_PARAMETERS & eqn.params.keys()}
                return [self.b.apply(name, *cells, dtype=dtype, **params)]
        operands = [Var(ShapedArray((), array_type(a).dtype)) for a in eqn.invars]
        results = [Var(ShapedArray((), array_type(v).dtype)) for v in eqn.outvars]
        for var, cell in zip(operands, cells, strict=True):
            _, dtype, parts = storage(var.aval)
            node = Node((), dtype, lambda index, cell=cell: cell, parts=parts, flat=True)
            self.lowering.bind(var, node)
        RULES[name](self.lowering, eqn.replace(invars=operands, outvars=results))
        return [self.lowering.node(var).element(()) for var in results]

    def fold_of(self, name: str, aval: Any) -> Any:
        _, dtype, parts = storage(aval)
        op = OPERATIONS[name]
        return of_pairs(self.b, op, dtype) if parts > 1 else by_operation(self.b, op, dtype)

    def reduction(self, eqn: JaxprEqn, grid: Any) -> Any:
        """A reduction written out: see `builders/reductions.py` for the order."""
        axes = sorted(a % grid.ndim for a in eqn.params["axes"])
        fold = self.fold_of(eqn.primitive.name, eqn.invars[0].aval)
        kept = [a for a in range(grid.ndim) if a not in axes]
        rows = grid.transpose(*kept, *axes).reshape(*(grid.shape[a] for a in kept), -1)
        shape = tuple(grid.shape[a] for a in kept)
        by_lanes = _trailing_length(grid.shape, axes) >= ROW
        total = math.prod(grid.shape[a] for a in axes)
        cells = rows.reshape(-1, total) if total else np.empty((math.prod(shape), 0), object)
        if by_lanes:
            run = _trailing_length(grid.shape, axes)
            return _grid(shape, [self.fold_lanes(fold, list(row), run) for row in cells])
        return _grid(shape, [self.fold_in_order(fold, list(row)) for row in cells])

    def start(self, fold: Any) -> list[Any]:
        return [self.b.const(n, dtype) for n, dtype in zip(fold.start, fold.dtypes, strict=True)]

    def fold_in_order(self, fold: Any, cells: list[Any]) -> Any:
        state = self.start(fold)
        for cell in cells:
            state = fold.combine(state, fold.take(cell, None))
        return fold.finish(state)

    def fold_lanes(self, fold: Any, cells: list[Any], run: int) -> Any:
        """Element i of each run goes to lane i % 64; lanes are halved at the end."""
        lanes = [self.start(fold) for _ in range(LANES)]
        for k, cell in enumerate(cells):
            lane = (k % run) % LANES
            lanes[lane] = fold.combine(lanes[lane], fold.take(cell, None))
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [fold.combine(lanes[i], lanes[i + half]) for i in range(half)]
        return fold.finish(lanes[0])

    def product(self, eqn: JaxprEqn, x: Any, y: Any) -> Any:
        """dot_general written out; terms are added in row-major order of the summed axes."""
        (summed_x, summed_y), (matched_x, matched_y) = eqn.params["dimension_numbers"]
        aval = array_type(eqn.outvars[0])
        _, dtype, parts = storage(aval)
        wide = "float32" if dtype in ("float16", "bfloat16") else dtype
        left, batch, rows, terms = _arranged(x, matched_x, summed_x)
        right, _, columns, _ = _arranged(y, matched_y, summed_y)
        cells = []
        for g in range(batch):
            for i in range(rows):
                for j in range(columns):
                    state = [self.b.const(0, wide) for _ in range(parts)]
                    for k in range(terms):
                        state = self.add_term(state, left[g, i, k], right[g, j, k], wide)
                    value = [self.b.convert(part, dtype) for part in state]
                    cells.append(value[0] if parts == 1 else tuple(value))
        return _grid(aval.shape, cells)

    def add_term(self, state: list[Any], x: Any, y: Any, dtype: str) -> list[Any]:
        b = self.b
        if len(state) == 1:
            product = b.apply("mul", b.convert(x, dtype), b.convert(y, dtype))
            return [b.apply("add", state[0], product)]
        (p, q), (r, s) = x, y
        real = b.apply("sub", b.apply("mul", p, r), b.apply("mul", q, s))
        imaginary = b.apply("add", b.apply("mul", p, s), b.apply("mul", q, r))
        return [b.apply("add", state[0], real), b.apply("add", state[1], imaginary)]

    # nested control flow

    def scan(self, eqn: JaxprEqn, operands: list[Any]) -> list[Any]:
        """A loop within the body: its stacks are small, so its turns are unrolled."""
        params = eqn.params
        consts, count = params["num_consts"], params["num_carry"]
        length, body = params["length"], params["jaxpr"].jaxpr
        fixed, carry = operands[:consts], operands[consts : consts + count]
        stacks = operands[consts + count :]
        rows: list[Any] = [None] * length
        for step in reversed(range(length)) if params["reverse"] else range(length):
            results = self.run(
                body, [*fixed, *carry, *(stack[step] for stack in map(_rows, stacks))]
            )
            carry, rows[step] = results[:count], results[count:]
        stacked = []
        for j, var in enumerate(eqn.outvars[count:]):
            cells = [cell for row in rows for cell in row[j].reshape(-1)]
            stacked.append(_grid(array_type(var).shape, cells))
        return [*carry, *stacked]

    def loop_while(self, eqn: JaxprEqn, operands: list[Any]) -> list[Any]:
        tests, consts = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        condition, body = eqn.params["cond_jaxpr"].jaxpr, eqn.params["body_jaxpr"].jaxpr
        for_test, fixed = operands[:tests], operands[tests : tests + consts]
        carry = operands[tests + consts :]
        shapes = [grid.shape for grid in carry]

        def test(*values: Any) -> Any:
            grids = _unflatten(values, carry, shapes)
            return self.run(condition, [*for_test, *grids])[0][()]

        with self.b.repeat(_flatten(carry), test) as scope:
            grids = _unflatten(scope.carries, carry, shapes)
            scope.yields(*_flatten(self.run(body, [*fixed, *grids])))
        return _unflatten(scope.results, carry, shapes)

    def branch(self, eqn: JaxprEqn, operands: list[Any]) -> list[Any]:
        index, *rest = operands
        branches = [b.jaxpr for b in eqn.params["branches"]]
        shapes = [array_type(v).shape for v in eqn.outvars]
        like: list[Any] = []

        def build(first: int) -> list[Any]:
            if first == len(branches) - 1:
                found = self.run(branches[first], rest)
                like[:] = found
                return _flatten(found)
            here = self.b.apply("le", index[()], first)
            if storage(eqn.invars[0].aval)[1] == "bool":
                here = self.b.apply("not", index[()])
            return list(
                self.b.branch(
                    here,
                    lambda: self.flat_run(branches[first], rest, like),
                    lambda: build(first + 1),
                )
            )

        return _unflatten(build(0), like, shapes)

    def flat_run(self, jaxpr: Jaxpr, operands: list[Any], like: list[Any]) -> list[Any]:
        found = self.run(jaxpr, operands)
        like[:] = found
        return _flatten(found)


_NESTED = {"scan": _Unroller.scan, "while": _Unroller.loop_while, "cond": _Unroller.branch}


def _grid(shape: Sequence[int], cells: Sequence[Any]) -> Any:
    """An object array of these elements (which may be tuples)."""
    made = np.empty(len(cells), object)
    for k, cell in enumerate(cells):
        made[k] = cell
    return made.reshape(tuple(shape))


def _rows(grid: Any) -> Any:
    """The grid, whose every row is a grid even where it has no further axes."""
    return grid if grid.ndim > 1 else [_grid((), [cell]) for cell in grid]


def _trailing_length(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Elements of the reduced axes at the end of a shape."""
    length, found = 1, False
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            continue
        if axis not in axes:
            break
        length, found = length * shape[axis], True
    return length if found else 0


def _arranged(
    grid: Any, matched: Sequence[int], summed: Sequence[int]
) -> tuple[Any, int, int, int]:
    """(batch, free, summed) elements of an operand of a product, and how many of each."""
    free = [a for a in range(grid.ndim) if a not in matched and a not in summed]
    counts = [math.prod(grid.shape[a] for a in axes) for axes in (matched, free, summed)]
    return grid.transpose(*matched, *free, *summed).reshape(counts), *counts


def _flatten(grids: Sequence[Any]) -> list[Any]:
    """All values of some grids, the parts of pairs one by one."""
    values: list[Any] = []
    for grid in grids:
        for cell in grid.reshape(-1):
            values.extend(cell if isinstance(cell, tuple) else (cell,))
    return values


def _unflatten(values: Sequence[Any], like: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    """Grids of the shapes, pairs where `like` has pairs."""
    rest = iter(values)
    grids = []
    for grid, shape in zip(like, shapes, strict=True):
        cells = [
            (next(rest), next(rest)) if isinstance(cell, tuple) else next(rest)
            for cell in grid.reshape(-1)
        ]
        grids.append(_grid(shape, cells))
    return grids


# ----------------------------------------------------------------------------------- the kernel


def _loaded(lowering: Any, atom: Atom) -> Any:
    """All elements of a kernel's operand."""
    node = lowering.node(atom)
    cells = [node.element(tuple(map(as_at, place))) for place in np.ndindex(*node.shape)]
    return _grid(node.shape, cells)


def _store(lowering: Any, var: Var, grid: Any, first: Any = 0) -> None:
    """Writes a grid to the target of `var`, from element `first` on."""
    buffer = lowering.target(var)
    for k, cell in enumerate(grid.reshape(-1)):
        lowering.put(buffer, as_at(first) + k, cell)


@rule("scan")
def _scan(lowering: Any, eqn: JaxprEqn) -> None:
    params, b = eqn.params, lowering.b
    consts, count, length = params["num_consts"], params["num_carry"], params["length"]
    body = params["jaxpr"].jaxpr
    unroller = _Unroller(lowering)
    fixed = [_loaded(lowering, a) for a in eqn.invars[:consts]]
    carry = [_loaded(lowering, a) for a in eqn.invars[consts : consts + count]]
    shapes = [grid.shape for grid in carry]
    stacks = [lowering.node(a) for a in eqn.invars[consts + count :]]
    with b.loop(length, _flatten(carry)) as scope:
        step = scope.index * -1 + (length - 1) if params["reverse"] else as_at(scope.index)
        slices = [
            _grid(
                node.shape[1:],
                [node.element((step, *map(as_at, place))) for place in np.ndindex(*node.shape[1:])],
            )
            for node in stacks
        ]
        grids = _unflatten(scope.carries, carry, shapes)
        results = unroller.run(body, [*fixed, *grids, *slices])
        for var, grid in zip(eqn.outvars[count:], results[count:], strict=True):
            _store(
                lowering, var, grid, step * row_major(array_type(var).shape)[0] if grid.size else 0
            )
        scope.yields(*_flatten(results[:count]))
    for var, grid in zip(eqn.outvars, _unflatten(scope.results, carry, shapes), strict=False):
        _store(lowering, var, grid)
    for var in eqn.outvars:
        lowering.now_stored(var)


@rule("while")
def _while(lowering: Any, eqn: JaxprEqn) -> None:
    unroller = _Unroller(lowering)
    results = unroller.loop_while(eqn, [_loaded(lowering, a) for a in eqn.invars])
    for var, grid in zip(eqn.outvars, results, strict=True):
        _store(lowering, var, grid)
        lowering.now_stored(var)
