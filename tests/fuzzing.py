"""Random programs, and what must hold of each.

    program = make_program(choose, steps)      a function of arrays, and inputs for it
    check(program)                             raises Disagreement
    check_loops(program)                       raises Disagreement or LoopFault

A program is a list of steps over a growing pool of values; a step applies an operation of the table
below to earlier values. `choose(n)` gives a number in range(n), from Python's generator or from
hypothesis, which then shrinks. What must hold: compiled as a whole, the program gives the same bits
as its equations compiled one at a time; each equation meets its definition in NumPy within the
accuracy that its primitive states; and its kernels, run by the loops interpreter on the values that
they meet, touch no memory that they may not, and give the same bits as machine code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import frit
import frit.numpy as jnp
from frit import lax
from frit.ir.jaxpr import subjaxprs
from frit.runtime.pipeline import compile_jaxpr
from tests.interpreted import run_interpreted

Choose = Callable[[int], int]

FLOATS = ("float32", "bfloat16", "float16")
INTEGERS = ("int32", "int8", "uint8", "uint32", "int16")
DTYPES = ("float32", "float32", "float32", *FLOATS, *INTEGERS, "int32", "bool")
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, 3.4e38, 0.5, 2.0, -7.25)
LARGEST = 300  # elements of a value


class Disagreement(AssertionError):
    """A program whose compiled form and definition differ."""


# ---- values and types ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Type:
    shape: tuple[int, ...]
    dtype: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def kind(self) -> str:
        return "f" if self.dtype in FLOATS else "b" if self.dtype == "bool" else "i"


def type_of(x: Any) -> Type:
    return Type(tuple(x.shape), np.dtype(x.dtype).name)


def random_shape(choose: Choose) -> tuple[int, ...]:
    sizes = (1, 2, 3, 4, 5, 8, 17, 0, 33)
    rank = choose(4)
    shape = tuple(sizes[choose(len(sizes))] for _ in range(rank))
    return shape if math.prod(shape) <= LARGEST else shape[:1]


def random_array(choose: Choose, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An input: ordinary numbers with some special ones among them."""
    generator = np.random.default_rng(choose(2**16))
    if dtype == "bool":
        return generator.random(shape) < 0.5
    if dtype in INTEGERS:
        numbers = generator.integers(-5, 12, shape)
        with np.errstate(all="ignore"):
            return numbers.astype(dtype)
    numbers = generator.standard_normal(shape) * 3
    special = generator.random(shape) < 0.15
    numbers = np.where(special, generator.choice(SPECIAL, shape), numbers)
    with np.errstate(all="ignore"):
        return numbers.astype(jnp.dtype(dtype))


# ---- the table of operations --------------------------------------------------------------------
# Each entry: name -> function(choose, pool) giving (function of operands, positions), or None where
# the pool has no fitting operand.

Pool = Sequence[Type]
Step = tuple[Callable[..., Any], tuple[int, ...]]
OPERATIONS: dict[str, Callable[[Choose, Pool], Step | None]] = {}


def operation(make: Callable[[Choose, Pool], Step | None]) -> Callable[[Choose, Pool], Step | None]:
    OPERATIONS[make.__name__] = make
    return make


def pick(choose: Choose, pool: Pool, fits: Callable[[Type], bool]) -> int | None:
    """A position whose type fits, the later ones more often; or None."""
    positions = [i for i, t in enumerate(pool) if fits(t)]
    if not positions:
        return None
    late = positions[-4:]
    return late[choose(len(late))] if choose(2) else positions[choose(len(positions))]


UNARY = {
    "f": "sin cos tan tanh exp log expm1 log1p sqrt rsqrt cbrt abs neg sign floor ceil round "
    "logistic erf square exp2 sinh cosh atan asinh",
    "i": "neg abs sign bitwise_not population_count clz square",
    "b": "bitwise_not",
}
BINARY = {
    "f": "add sub mul div max min pow rem atan2 nextafter add mul sub",
    "i": "add sub mul div max min rem bitwise_and bitwise_or bitwise_xor shift_left "
    "shift_right_logical shift_right_arithmetic",
    "b": "bitwise_and bitwise_or bitwise_xor max min",
}
COMMON = (
    "unary",
    "unary",
    "binary",
    "binary",
    "binary",
    "with_scalar",
    "reduce",
)  # drawn more often
COMPARISONS = "eq ne lt le gt ge".split()
UNSIGNED_LACK = {"neg", "abs"}


def _named(choose: Choose, names: Sequence[str]) -> Callable[..., Any]:
    return getattr(lax, names[choose(len(names))])


@operation
def unary(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: True)
    if at is None:
        return None
    names = UNARY[pool[at].kind].split()
    if pool[at].dtype.startswith("u"):
        names = [name for name in names if name not in UNSIGNED_LACK]
    return _named(choose, names), (at,)


def _pair(choose: Choose, pool: Pool, fits: Callable[[Type], bool]) -> tuple[int, int] | None:
    left = pick(choose, pool, fits)
    if left is None:
        return None
    right = pick(choose, pool, lambda t: t == pool[left])
    assert right is not None
    return left, right


@operation
def binary(choose: Choose, pool: Pool) -> Step | None:
    at = _pair(choose, pool, lambda t: True)
    return at and (_named(choose, BINARY[pool[at[0]].kind].split()), at)


@operation
def with_scalar(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: t.dtype == "float32" or t.dtype == "int32")
    if at is None:
        return None
    function = _named(choose, ["add", "mul", "sub", "max", "min", "div"])
    scalar: Any = (2, 3, -1, 0)[choose(4)]
    scalar = scalar + 0.5 if pool[at].kind == "f" else scalar
    return lambda x: function(x, x.dtype.type(scalar)), (at,)


@operation
def compare(choose: Choose, pool: Pool) -> Step | None:
    at = _pair(choose, pool, lambda t: True)
    return at and (_named(choose, COMPARISONS), at)


@operation
def select(choose: Choose, pool: Pool) -> Step | None:
    mask = pick(choose, pool, lambda t: t.dtype == "bool")
    if mask is None:
        return None
    at = _pair(choose, pool, lambda t: t.shape == pool[mask].shape)
    return at and (lax.select, (mask, *at))


@operation
def convert(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: True)
    dtype = DTYPES[choose(len(DTYPES))]
    return None if at is None else (lambda x: lax.convert_element_type(x, dtype), (at,))


@operation
def reshape(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: True)
    if at is None:
        return None
    size, shape = pool[at].size, []
    for _ in range(choose(3)):
        divisors = [d for d in range(1, size + 1) if size % d == 0] or [0, 1, 2]
        shape.append(divisors[choose(len(divisors))])
        size = size // shape[-1] if shape[-1] else 0
    new = (*shape, size) if math.prod((*shape, size)) == pool[at].size else (pool[at].size,)
    return lambda x: lax.reshape(x, new), (at,)


@operation
def transpose(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) > 1)
    if at is None:
        return None
    axes = list(range(len(pool[at].shape)))
    order = tuple(axes.pop(choose(len(axes))) for _ in range(len(axes)))
    return lambda x: lax.transpose(x, order), (at,)


@operation
def broadcast(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) < 4 and t.size <= LARGEST // 4)
    if at is None:
        return None
    shape, where = pool[at].shape, choose(len(pool[at].shape) + 1)
    new = (*shape[:where], 1 + choose(4), *shape[where:])
    kept = tuple(axis for axis in range(len(new)) if axis != where)
    return lambda x: lax.broadcast_in_dim(x, new, kept), (at,)


@operation
def reverse(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) > 0)
    if at is None:
        return None
    axis = choose(len(pool[at].shape))
    return lambda x: lax.rev(x, (axis,)), (at,)


@operation
def strided_slice(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) > 0)
    if at is None:
        return None
    starts = tuple(choose(size + 1) for size in pool[at].shape)
    limits = tuple(s + choose(size - s + 1) for s, size in zip(starts, pool[at].shape, strict=True))
    strides = tuple(1 + choose(3) for _ in starts)
    return lambda x: lax.slice(x, starts, limits, strides), (at,)


@operation
def pad(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: 0 < len(t.shape) < 3 and t.size < LARGEST // 9)
    if at is None:
        return None
    widths = [(choose(3), choose(3), choose(2)) for _ in pool[at].shape]
    return lambda x: lax.pad(x, x.dtype.type(1), widths), (at,)


@operation
def concatenate(choose: Choose, pool: Pool) -> Step | None:
    at = _pair(choose, pool, lambda t: len(t.shape) > 0 and t.size <= LARGEST // 2)
    if at is None:
        return None
    axis = choose(len(pool[at[0]].shape))
    return lambda x, y: lax.concatenate([x, y], axis), at


def _axes(choose: Choose, type: Type) -> tuple[int, ...]:
    return tuple(axis for axis in range(len(type.shape)) if choose(2))


@operation
def reduce(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) > 0)
    if at is None:
        return None
    names = {"f": "sum max min prod sum", "i": "sum max min", "b": "any all"}[pool[at].kind].split()
    name, axes = names[choose(len(names))], _axes(choose, pool[at])
    if name in ("max", "min") and any(pool[at].shape[axis] == 0 for axis in axes):
        return None
    return lambda x: getattr(jnp, name)(x, axis=axes), (at,)


@operation
def arg_extreme(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: t.size > 0 and len(t.shape) > 0 and t.dtype != "bool")
    if at is None:
        return None
    function, axis = _named(choose, ["argmax", "argmin"]), choose(len(pool[at].shape))
    return lambda x: function(x, axis, np.int32), (at,)


@operation
def cumulative(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) > 0 and t.dtype != "bool")
    if at is None:
        return None
    function = _named(choose, ["cumsum", "cummax", "cummin", "cumsum"])
    axis, backwards = choose(len(pool[at].shape)), bool(choose(2))
    return lambda x: function(x, axis=axis, reverse=backwards), (at,)


@operation
def contract(choose: Choose, pool: Pool) -> Step | None:
    is_matrix = lambda t: t.dtype == "float32" and 1 <= len(t.shape) <= 2
    left = pick(choose, pool, is_matrix)
    if left is None:
        return None
    a = choose(len(pool[left].shape))
    size = pool[left].shape[a]
    right = pick(choose, pool, lambda t: is_matrix(t) and size in t.shape)
    if right is None:
        return None
    b = pool[right].shape.index(size)
    if pool[left].size * pool[right].size > LARGEST * max(size, 1) ** 2:
        return None
    return lambda x, y: lax.dot_general(x, y, (((a,), (b,)), ((), ()))), (left, right)


@operation
def sort(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) > 0 and t.dtype != "bool")
    if at is None:
        return None
    axis = choose(len(pool[at].shape))
    return lambda x: lax.sort(x, dimension=axis), (at,)


@operation
def take(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) > 0 and t.shape[0] > 0)
    index = pick(choose, pool, lambda t: t.dtype == "int32" and len(t.shape) == 1 and t.size < 20)
    if at is None or index is None or pool[at].size > LARGEST // 2:
        return None
    rows = pool[at].size // pool[at].shape[0]
    if rows * pool[index].size > LARGEST:
        return None
    mode = ("clip", "fill", "wrap")[choose(3)]
    return lambda x, i: jnp.take(x, i, axis=0, mode=mode), (at, index)


@operation
def scatter_add(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) > 0 and t.dtype in ("float32", "int32"))
    index = pick(choose, pool, lambda t: t.dtype == "int32" and len(t.shape) == 1)
    if at is None or index is None:
        return None
    one = 1.5 if pool[at].kind == "f" else 2
    return lambda x, i: x.at[i].add(one, mode="drop"), (at, index)


@operation
def dynamic_slice(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: len(t.shape) == 1)
    start = pick(choose, pool, lambda t: t.dtype == "int32" and t.shape == ())
    if at is None or start is None:
        return None
    length = choose(pool[at].shape[0] + 1)
    return lambda x, i: lax.dynamic_slice(x, (i,), (length,)), (at, start)


@operation
def branch(choose: Choose, pool: Pool) -> Step | None:
    predicate = pick(choose, pool, lambda t: t.dtype == "bool" and t.shape == ())
    at = pick(choose, pool, lambda t: t.kind == "f")
    if predicate is None or at is None:
        return None
    yes, no = (_named(choose, UNARY["f"].split()) for _ in range(2))
    return lambda p, x: lax.cond(p, yes, no, x), (predicate, at)


@operation
def fold(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: t.dtype == "float32" and len(t.shape) in (1, 2))
    if at is None:
        return None
    combine = _named(choose, ["add", "mul", "max", "sub"])
    inner = _named(choose, ["sin", "tanh", "neg", "abs"])
    backwards = bool(choose(2))

    def step(carry: Any, x: Any) -> Any:
        carry = combine(inner(carry), x)
        return carry, carry * x

    def function(xs: Any) -> Any:
        start = jnp.zeros(xs.shape[1:], xs.dtype)
        return lax.scan(step, start, xs, reverse=backwards)[1]

    return function, (at,)


@operation
def counted_loop(choose: Choose, pool: Pool) -> Step | None:
    at = pick(choose, pool, lambda t: t.dtype == "float32")
    count = pick(choose, pool, lambda t: t.dtype == "int32" and t.shape == ())
    if at is None or count is None:
        return None
    inner = _named(choose, ["sin", "cos", "tanh", "floor"])
    body = lambda i, x: inner(x) + 1
    return lambda n, x: lax.fori_loop(0, lax.min(n, np.int32(6)), body, x), (count, at)


# ---- programs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """Steps over a pool that starts with the inputs; the results are what no step used."""

    inputs: tuple[np.ndarray, ...]
    steps: tuple[tuple[str, Callable[..., Any], tuple[int, ...]], ...]

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        pool = list(inputs)
        used = set()
        for _, function, positions in self.steps:
            pool.append(function(*(pool[at] for at in positions)))
            used.update(positions)
        return tuple(v for at, v in enumerate(pool) if at not in used and at >= len(inputs))

    def __repr__(self) -> str:
        lines = [f"{at}: {x.dtype}{list(x.shape)}" for at, x in enumerate(self.inputs)]
        for at, (name, _, positions) in enumerate(self.steps, len(self.inputs)):
            lines.append(f"{at}: {name} of {', '.join(map(str, positions))}")
        return "\n".join(lines)


def make_program(choose: Choose, steps: int) -> Program:
    """A program of up to `steps` steps."""
    shapes = [random_shape(choose), random_shape(choose), (), (5,)]
    inputs = []
    for shape in shapes:
        dtype = DTYPES[choose(len(DTYPES))]
        inputs.append(random_array(choose, shape, dtype))
    inputs.append(random_array(choose, (), "int32"))
    inputs.append(random_array(choose, (1 + choose(6),), "int32"))
    pool, made = [type_of(x) for x in inputs], []
    names = [*OPERATIONS, *COMMON]
    for _ in range(steps):
        name = names[choose(len(names))]
        step = OPERATIONS[name](choose, pool)
        if step is None:
            continue
        function, positions = step
        result = frit.eval_shape(function, *(_struct(pool[at]) for at in positions))
        if math.prod(result.shape) > LARGEST:
            continue
        pool.append(type_of(result))
        made.append((name, function, positions))
    return Program(tuple(inputs), tuple(made))


def _struct(type: Type) -> Any:
    return frit.ShapeDtypeStruct(type.shape, jnp.dtype(type.dtype))


# ---- what must hold -----------------------------------------------------------------------------


def same_bits(a: Any, b: Any) -> bool:
    """Equal bit for bit, where one nan is as good as another."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if Type(a.shape, a.dtype.name).kind != "f":
        return bool(np.array_equal(a, b))
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    both_nan = np.isnan(wide_a) & np.isnan(wide_b)
    equal = (wide_a == wide_b) & (np.signbit(wide_a) == np.signbit(wide_b))
    return bool(np.all(both_nan | equal))


def equation_by_equation(closed: Any, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """(results, (equation, operands, results) of each equation), each compiled by itself."""
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values |= dict(zip(closed.jaxpr.invars, inputs, strict=True))
    read = lambda atom: atom.val if hasattr(atom, "val") else values[atom]
    record = []
    for equation in closed.jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        alone = frit.jit(lambda *xs, e=equation: e.primitive.bind(*xs, **e.params))
        results = alone(*operands)
        results = list(results) if equation.primitive.multiple_results else [results]
        record.append((equation, operands, results))
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in closed.jaxpr.outvars], record


def check_definition(equation: Any, operands: Sequence[Any], results: Sequence[Any]) -> None:
    """The results of one equation without a body against its definition in NumPy."""
    primitive = equation.primitive
    if list(subjaxprs(equation)):
        return
    with np.errstate(all="ignore"):
        expected = primitive.evaluate(*map(np.asarray, operands), **equation.params)
    expected = expected if primitive.multiple_results else [expected]
    for ours, theirs in zip(results, expected, strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if primitive.accuracy.kind == "order" and may_overflow(
            primitive.name, operands, ours.dtype
        ):
            continue
        if not within(primitive.accuracy, ours, theirs):
            raise Disagreement(
                f"{primitive} of {[np.asarray(x) for x in operands]} {equation.params}\n"
                f"compiled: {ours}\nevaluate: {theirs}"
            )


def may_overflow(name: str, operands: Sequence[Any], dtype: Any) -> bool:
    """Whether finite terms, combined in some order, pass the largest number of a float type.

    Then the order decides what is infinite, and what infinity times zero makes nan.
    """
    if Type((), dtype.name).kind != "f":
        return False
    arrays = [np.abs(np.asarray(x).astype(np.float64)).reshape(-1) for x in operands]
    arrays = [x[np.isfinite(x)] for x in arrays]
    if name in ("reduce_prod", "cumprod"):
        logarithm = sum(np.log(np.maximum(x, 1)).sum() for x in arrays)
    else:
        logarithm = sum(np.log(max(x.sum(), 1e-300)) for x in arrays)
    return bool(logarithm > math.log(float(jnp.finfo(dtype).max)) - 1)


def within(accuracy: Any, ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two results of one operation are as close as `accuracy` states."""
    if accuracy.kind == "exact" or Type(ours.shape, ours.dtype.name).kind != "f":
        return same_bits(ours, theirs)
    if accuracy.kind == "ulps":
        allowed = accuracy.ulps + 1
        return bool(np.all(ulps_apart(ours, theirs) <= allowed))
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    loose = 1e-4 if ours.dtype == np.float32 else 5e-2
    return bool(
        np.allclose(a, b, rtol=loose, atol=loose, equal_nan=True) or not np.isfinite(b).all()
    )


def ulps_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many representable numbers lie between a and b; 0 for two nans."""
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]

    def ordered(x: np.ndarray) -> np.ndarray:
        number = np.ascontiguousarray(x).view(bits).astype(np.int64)
        return np.where(number < 0, np.int64(np.iinfo(bits).min) - number, number)

    nan = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
    distance = np.abs(ordered(a) - ordered(b))
    distance = np.where(nan[0] != nan[1], np.iinfo(np.int64).max, distance)
    return np.where(nan[0] & nan[1], 0, distance)


def check(program: Program) -> None:
    """Disagreement, with the program's text, where one of the two laws does not hold."""
    closed = frit.make_jaxpr(program)(*program.inputs)
    alone, record = equation_by_equation(closed, program.inputs)
    whole = frit.jit(program)(*program.inputs)
    for at, (ours, theirs) in enumerate(zip(whole, alone, strict=True)):
        if not same_bits(ours, theirs):
            raise Disagreement(
                f"result {at} compiled whole: {np.asarray(ours)}\n"
                f"equation by equation: {np.asarray(theirs)}\n{program}\n{closed}"
            )
    for equation, operands, results in record:
        check_definition(equation, operands, results)


def check_loops(program: Program) -> None:
    """LoopFault, or Disagreement with the program's text, if the interpreted kernels differ."""
    closed = frit.make_jaxpr(program)(*program.inputs)
    slow = run_interpreted(closed, program.inputs)
    fast = compile_jaxpr(closed).run(program.inputs)
    for at, (ours, theirs) in enumerate(zip(fast, slow, strict=True)):
        if not same_bits(ours, theirs):
            raise Disagreement(
                f"result {at} compiled: {ours}\nby the loops interpreter: {theirs}\n"
                f"{program}\n{closed}"
            )


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program that still fails, after dropping last steps and then single ones."""
    for length in range(1, len(program.steps)):
        shorter = Program(program.inputs, program.steps[:length])
        if fails(shorter):
            program = shorter
            break
    for at in reversed(range(len(program.steps) - 1)):
        without = _without(program, at)
        if without is not None and fails(without):
            program = without
    return program


def _without(program: Program, dropped: int) -> Program | None:
    """`program` without one step, if no later step uses it."""
    position = len(program.inputs) + dropped
    steps = []
    for at, (name, function, positions) in enumerate(program.steps):
        if at == dropped:
            continue
        if position in positions:
            return None
        steps.append((name, function, tuple(p - (p > position) for p in positions)))
    return Program(program.inputs, tuple(steps))
