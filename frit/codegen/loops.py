"""The loop language: what a kernel does, as loops over typed values, before any machine is chosen.

It is structured static single assignment: a value is computed where it stands in a body, once, and
is visible in the rest of that body and in the bodies nested in it. Loops carry values and return
them, so a reduction, the pair of an argmax, or the state of a filter lives in registers.

    function = Function(name, buffers, extents, body)
    buffer   = Buffer(name, dtype, shape, space)          space = argument | arena | stack
    body     = items..., yields                           an item is a value or a statement
    stmt     = For(index, extent, carries, body, kind) -> results
             | While(carries, condition, body) -> results
             | If(condition, then, otherwise) -> results
             | Store(buffer, at, value, mask) | Update(buffer, at, value, op, unique, mask)
             | Call(symbol, arguments, effect) -> status
    value    = Load(buffer, at, mask) | Apply(op, values, params) | Select(condition, x, y)
             | Broadcast(value, lanes) | Shuffle(x, y, order) | Reduce(op, vector)
             | At | Const | Index | Extent | Carry | Result
    at       = constant + sum of coefficient × integer value, in elements of the buffer
    kind     = sequential | parallel | vector(width) | unrolled

Every value has a dtype (a name such as "float32") and a number of lanes. `Load`, `Apply`, `Select`,
`Broadcast`, `Shuffle` and `Reduce` stand in a body; `At`, `Const`, `Index`, `Extent`, `Carry` and
`Result` may be named anywhere they are visible. Buffers are distinct memory unless the caller knows
better: two arguments may be one array where each iteration reads an element before it writes it.

A **vector** loop's body is written for one lane, in scalars; emission widens it. Its iterations
are independent, as a parallel loop's are, but for carries: iteration i updates lane i % width of a
carry, so initial values and results have `width` lanes, and the body sees its own lane. A width of
0 leaves the number of lanes to the machine, and allows no carries. That makes the order of a sum
part of the program: 64 lanes, then `Reduce`, which halves the vector (lane i with lane i + n/2)
until one is left.

Operations are the primitives of `lax` by name, with scalar semantics that have no undefined case,
and for indices `floordiv` and `mod` (floored; by zero gives 0 and x). Complex values do not occur:
they are pairs. A bool is one byte, 0 or 1, in memory. A masked-off `Load` reads nothing and is 0.
Offsets are int64 and wrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

INDEX_DTYPE = "int64"
KINDS = ("sequential", "parallel", "vector", "unrolled")
SPACES = ("argument", "arena", "stack")
COMPARISONS = frozenset("eq ne lt le gt ge eq_to lt_to le_to is_finite".split())
REDUCTIONS = frozenset(("add", "mul", "max", "min", "and", "or", "xor"))


# ------------------------------------------------------------------------------------- values


class Value:
    """Something of a dtype with a number of lanes; int64 scalars add and scale into an `At`."""

    __slots__ = ("dtype", "lanes")

    def __init__(self, dtype: str, lanes: Any = 1) -> None:
        self.dtype = dtype
        self.lanes = lanes

    def __add__(self, other: Any) -> Any:
        return sum_of(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return sum_of(self, scaled(other, -1))

    def __rsub__(self, other: Any) -> Any:
        return sum_of(other, scaled(self, -1))

    def __mul__(self, factor: Any) -> Any:
        return scaled(self, factor)

    __rmul__ = __mul__


class Const(Value):
    """A number known now; `value` is a Python number (or bool)."""

    __slots__ = ("value",)

    def __init__(self, value: Any, dtype: str, lanes: Any = 1) -> None:
        Value.__init__(self, dtype, lanes)
        self.value = value


class Index(Value):
    """The counter of one loop, from 0 up to its extent (an int where that is known)."""

    __slots__ = ("extent", "name")

    def __init__(self, name: str, extent: Any = None) -> None:
        Value.__init__(self, INDEX_DTYPE)
        self.name = name
        self.extent = extent


class Extent(Index):
    """An integer that the caller passes at run time; not negative."""

    __slots__ = ()


class At(Value):
    """constant + sum of coefficient × value: an offset in elements, or an index."""

    __slots__ = ("_key", "constant", "terms")

    def __init__(self, constant: Any, terms: Any = ()) -> None:
        self.dtype, self.lanes = INDEX_DTYPE, 1
        self.constant = constant
        self.terms = terms  # ((coefficient, value), ...), values distinct, none an At
        self._key: tuple[Any, ...] | None = None

    def key(self) -> Any:
        """Equal for equal sums over the same values."""
        key = self._key
        if key is None:
            parts = [(id(value), factor) for factor, value in self.terms]
            parts.sort()
            key = self._key = (self.constant, *parts)
        return key

    def coefficient(self, value: Any) -> Any:
        """How far one step of `value` moves this offset."""
        return sum(factor for factor, term in self.terms if term is value)


class Carry(Value):
    """A loop's state at the start of an iteration."""

    __slots__ = ()


class Result(Value):
    """What a statement returns at one position."""

    __slots__ = ()


class Load(Value):
    """One element of a buffer, or 0 where `mask` is false."""

    __slots__ = ("at", "buffer", "mask")

    def __init__(self, buffer: Buffer, at: Any, mask: Any = None) -> None:
        Value.__init__(self, buffer.dtype)
        self.buffer = buffer
        self.at = at
        self.mask = mask


class Apply(Value):
    """A primitive of the scalars, lane by lane."""

    __slots__ = ("op", "operands", "params")

    def __init__(self, op: str, operands: Any, dtype: str, lanes: Any, params: Any = None) -> None:
        Value.__init__(self, dtype, lanes)
        self.op = op
        self.operands = operands
        self.params = params or {}


class Select(Value):
    """`on_true` where `condition`, else `on_false`; both are computed."""

    __slots__ = ("condition", "on_false", "on_true")

    def __init__(self, condition: Any, on_true: Any, on_false: Any) -> None:
        Value.__init__(self, on_true.dtype, on_true.lanes)
        self.condition = condition
        self.on_true = on_true
        self.on_false = on_false


class Broadcast(Value):
    """One scalar in every lane."""

    __slots__ = ("operand",)

    def __init__(self, operand: Any, lanes: Any) -> None:
        Value.__init__(self, operand.dtype, lanes)
        self.operand = operand


class Shuffle(Value):
    """Lanes picked by `order` from x's lanes followed by y's."""

    __slots__ = ("order", "x", "y")

    def __init__(self, x: Any, y: Any, order: Any) -> None:
        Value.__init__(self, x.dtype, len(order))
        self.x = x
        self.y = y
        self.order = order


class Reduce(Value):
    """A vector halved by `op` until one lane is left; its lanes are a power of two."""

    __slots__ = ("op", "operand")

    def __init__(self, op: str, operand: Any) -> None:
        Value.__init__(self, operand.dtype)
        self.op = op
        self.operand = operand


# --------------------------------------------------------------------------------- statements


class Buffer:
    """Memory a kernel may touch: `shape` elements, row-major; an int or an `Extent` each.

    "argument" and "arena" memory comes from the caller, "stack" memory lives for one run.
    """

    __slots__ = ("dtype", "name", "shape", "space")

    def __init__(
        self, name: str, dtype: str, shape: Sequence[Any], space: Any = "argument"
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = tuple(shape)
        self.space = space


class Body:
    """Items in order, and the values handed on at the end."""

    __slots__ = ("items", "yields")

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.yields: tuple[Any, ...] = ()


class For:
    __slots__ = ("body", "carries", "extent", "index", "initial", "kind", "results", "width")

    def __init__(
        self,
        index: Any,
        extent: Any,
        initial: Any,
        carries: Any,
        body: Body,
        kind: str,
        width: int,
        results: Any,
    ) -> None:
        self.index = index
        self.extent = extent
        self.initial = initial
        self.carries = carries
        self.body = body
        self.kind = kind
        self.width = width
        self.results = results


class While:
    """Runs `body` while `condition`, a body of the same carries, yields true."""

    __slots__ = ("body", "carries", "condition", "initial", "results")

    def __init__(
        self, initial: Any, carries: Any, condition: Any, body: Body, results: Any
    ) -> None:
        self.initial = initial
        self.carries = carries
        self.condition = condition
        self.body = body
        self.results = results


class If:
    __slots__ = ("condition", "otherwise", "results", "then")

    def __init__(self, condition: Any, then: Any, otherwise: Any, results: Any) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        self.results = results


class Store:
    __slots__ = ("at", "buffer", "mask", "value")

    def __init__(self, buffer: Buffer, at: Any, value: Any, mask: Any = None) -> None:
        self.buffer = buffer
        self.at = at
        self.value = value
        self.mask = mask


class Update:
    """buffer[at] = op(buffer[at], value), in iteration order; `unique` promises distinct places."""

    __slots__ = ("at", "buffer", "mask", "op", "unique", "value")

    def __init__(
        self, buffer: Buffer, at: Any, value: Any, op: str, unique: Any = False, mask: Any = None
    ) -> None:
        self.buffer = buffer
        self.at = at
        self.value = value
        self.op = op
        self.unique = unique
        self.mask = mask


class Call:
    """An imported C function; arguments are values (by value) or (buffer, at) views (pointers).

    `effect` maps the positions of views to "read", "write" or "update". A status other than 0
    ends the kernel, which returns it.
    """

    __slots__ = ("arguments", "effect", "status", "symbol")

    def __init__(self, symbol: str, arguments: Any, effect: Any) -> None:
        self.symbol = symbol
        self.arguments = arguments
        self.effect = effect
        self.status = Result("int32")


class Function:
    """One kernel: `i32|void name(ptr buffer..., i64 extent...)`, i32 when it holds a `Call`."""

    __slots__ = ("body", "buffers", "extents", "name")

    def __init__(self, name: str, buffers: Any, extents: Any, body: Body) -> None:
        self.name = name
        self.buffers = tuple(buffers)
        self.extents = tuple(extents)
        self.body = body

    @property
    def parameters(self) -> Any:
        """The buffers that the caller passes, in the order of the call."""
        return tuple(buffer for buffer in self.buffers if buffer.space != "stack")

    @property
    def scratch(self) -> Any:
        """The parameters that are memory for the kernel's own use, always the last ones."""
        return tuple(buffer for buffer in self.buffers if buffer.space == "arena")

    @property
    def fallible(self) -> Any:
        return any(isinstance(item, Call) for item in walk(self.body))


def bodies_of(item: Any) -> Any:
    """The bodies nested directly in an item."""
    match item:
        case For(body=body):
            return (body,)
        case While(condition=condition, body=body):
            return (condition, body)
        case If(then=then, otherwise=otherwise):
            return (then, otherwise)
    return ()


def walk(body: Body) -> Iterator[Any]:
    """Every item of a body and of the bodies nested in it, outer first."""
    for item in body.items:
        yield item
        for inner in bodies_of(item):
            yield from walk(inner)


# --------------------------------------------------------------------------------- arithmetic


def as_at(value: Any) -> Any:
    """The `At` equal to an int or an int64 scalar."""
    if isinstance(value, At):
        return value
    if isinstance(value, Value):
        if isinstance(value, Const):
            return At(int(value.value))
        if value.dtype != INDEX_DTYPE or value.lanes != 1:
            raise TypeError(f"an index is an int64 scalar, got {value.dtype} × {value.lanes} lanes")
        return At(0, ((1, value),))
    return At(int(value))


def sum_of(x: Any, y: Any) -> Any:
    """x + y as an `At`; equal terms are merged."""
    x, y = as_at(x), as_at(y)
    if not y.terms:
        return At(x.constant + y.constant, x.terms) if y.constant else x
    factors: dict[int, tuple[int, Any]] = {}
    for factor, value in x.terms + y.terms:
        known = factors.get(id(value))
        factors[id(value)] = (factor + known[0] if known else factor, value)
    return At(x.constant + y.constant, tuple(term for term in factors.values() if term[0]))


def scaled(x: Any, factor: Any) -> Any:
    """x × an int, as an `At`."""
    if isinstance(factor, At) and not factor.terms:
        factor = factor.constant
    if not isinstance(factor, int):
        raise TypeError(
            "an offset scales by a known int; multiply run-time integers by apply('mul')"
        )
    x = as_at(x)
    if factor == 0:
        return At(0)
    return At(x.constant * factor, tuple((coefficient * factor, v) for coefficient, v in x.terms))


def result_dtype(op: str, operands: Any, params: Any) -> Any:
    """The dtype of `op` on these values."""
    if op in COMPARISONS:
        return "bool"
    if op in ("convert_element_type", "bitcast_convert_type"):
        return str(params["new_dtype"])
    return operands[0].dtype
