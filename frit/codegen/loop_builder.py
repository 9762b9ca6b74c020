"""Builds functions of the loop language from the top down.

    b = Builder("doubled")
    x, y = b.buffer("x", "float32", (n,)), b.buffer("y", "float32", (n,))
    with b.loop(n, kind="vector") as loop:
        b.store(y, loop.index, b.apply("add", b.load(x, loop.index), 1.0))
    function = b.finish()

Values are appended to the innermost open body, in the order in which they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from frit.codegen.loops import (
    Apply,
    At,
    Body,
    Broadcast,
    Buffer,
    Call,
    Carry,
    Const,
    Extent,
    For,
    Function,
    If,
    Index,
    Load,
    Reduce,
    Result,
    Select,
    Shuffle,
    Store,
    Update,
    Value,
    While,
    as_at,
    result_dtype,
    scaled,
)  # fmt: skip


class LoopScope:
    """What the body of a loop being built can name; `results` once it is closed."""

    __slots__ = ("carries", "index", "results", "yielded")

    def __init__(self, index: Any, carries: Any) -> None:
        self.index = index
        self.carries = carries
        self.yielded: tuple[Any, ...] | None = None
        self.results: tuple[Result, ...] = ()

    def yields(self, *values: Any) -> None:
        """The carries of the next iteration."""
        self.yielded = values


class OpenBody:
    """A body being built: of a `kind` of loop over `index`, or of a "branch" or "while".

    memo: what was computed in it, for its user to find again.
    """

    __slots__ = ("body", "index", "kind", "memo")

    def __init__(self, body: Body, kind: str, index: Any = None) -> None:
        self.body = body
        self.kind = kind
        self.index = index
        self.memo: dict[Any, Any] = {}


class Builder:
    """Builds one `Function` from the top down; values are appended where they are asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.buffers: list[Buffer] = []
        self.extents: list[Extent] = []
        self.open = [OpenBody(Body(), "function")]  # from outside in; items go to the last
        self._names = 0

    @property
    def body(self) -> Any:
        return self.open[-1].body

    def buffer(self, name: str, dtype: str, shape: Sequence[Any], space: Any = "argument") -> Any:
        buffer = Buffer(name, dtype, shape, space)
        self.buffers.append(buffer)
        return buffer

    def extent(self, name: str) -> Any:
        extent = Extent(name)
        self.extents.append(extent)
        return extent

    def finish(self) -> Any:
        """The function; scratch memory is moved behind the other parameters."""
        order = {"argument": 0, "arena": 1, "stack": 2}
        buffers = sorted(self.buffers, key=lambda buffer: order[buffer.space])
        return Function(self.name, buffers, self.extents, self.body)

    # values

    def add_item(self, item: Any) -> Any:
        self.body.items.append(item)
        return item

    def const(self, value: Any, dtype: str, lanes: Any = 1) -> Any:
        return Const(value, dtype, lanes)

    def as_value(self, value: Any, like: Any) -> Any:
        return value if isinstance(value, Value) else Const(value, like.dtype, like.lanes)

    def load(self, buffer: Buffer, at: Any, mask: Any = None) -> Any:
        return self.add_item(Load(buffer, as_at(at), mask))

    def apply(self, op: str, *operands: Any, dtype: str | None = None, **params: Any) -> Any:
        """`op` on values and plain numbers, which take the dtype of the first value."""
        like = next(value for value in operands if isinstance(value, Value))
        operands = tuple(self.as_value(value, like) for value in operands)
        if dtype is None:
            dtype = result_dtype(op, operands, params)
        lanes = max(value.lanes for value in operands)
        return self.add_item(Apply(op, operands, dtype, lanes, params))

    def convert(self, value: Any, dtype: str) -> Any:
        """`value` as `dtype`, itself if it is one already."""
        if value.dtype == dtype:
            return value
        return self.apply("convert_element_type", value, new_dtype=dtype)

    def select(self, condition: Any, on_true: Any, on_false: Any) -> Any:
        like = on_true if isinstance(on_true, Value) else on_false
        return self.add_item(
            Select(condition, self.as_value(on_true, like), self.as_value(on_false, like))
        )

    def broadcast(self, value: Any, lanes: Any) -> Any:
        if isinstance(value, Const):
            return Const(value.value, value.dtype, lanes)
        return self.add_item(Broadcast(value, lanes))

    def shuffle(self, x: Any, y: Any, order: Any) -> Any:
        return self.add_item(Shuffle(x, y, tuple(order)))

    def reduce(self, op: str, vector: bool) -> Any:
        return self.add_item(Reduce(op, vector))

    def floordiv(self, x: Any, divisor: Any) -> Any:
        """Floor of x / divisor, for indices."""
        x = as_at(x)
        if isinstance(divisor, int) and (divisor == 1 or not x.terms):
            return x if divisor == 1 else At(x.constant // divisor)
        return as_at(self.apply("floordiv", x, divisor))

    def mod(self, x: Any, divisor: Any) -> Any:
        """x - divisor × floor(x / divisor), for indices."""
        x = as_at(x)
        if isinstance(divisor, int) and (divisor == 1 or not x.terms):
            return At(0) if divisor == 1 else At(x.constant % divisor)
        return as_at(self.apply("mod", x, divisor))

    def product(self, x: Any, y: Any) -> Any:
        """x × y of indices, whichever of them is known."""
        for known, other in ((x, y), (y, x)):
            if isinstance(known, int):
                return scaled(other, known)
            if isinstance(known, At) and not known.terms:
                return scaled(other, known.constant)
        return as_at(self.apply("mul", as_at(x), as_at(y)))

    # statements

    def store(self, buffer: Buffer, at: Any, value: Any, mask: Any = None) -> None:
        self.add_item(Store(buffer, as_at(at), value, mask))

    def update(
        self, buffer: Buffer, at: Any, value: Any, op: str, *, unique: Any = False, mask: Any = None
    ) -> None:
        self.add_item(Update(buffer, as_at(at), value, op, unique, mask))

    def call(self, symbol: str, arguments: Any, effect: Any) -> Any:
        return self.add_item(Call(symbol, tuple(arguments), dict(effect)))

    @contextmanager
    def within(self, body: Body, kind: str, index: Any = None) -> Iterator[Any]:
        """Items go to `body` until the end of the `with`."""
        self.open.append(OpenBody(body, kind, index))
        yield body
        self.open.pop()

    @contextmanager
    def outside(self, depth: int) -> Iterator[Any]:
        """Items go to the open body number `depth` until the end of the `with`."""
        inner = self.open[depth + 1 :]
        del self.open[depth + 1 :]
        yield
        self.open.extend(inner)

    def fresh_index(self, extent: Any) -> Any:
        self._names += 1
        return Index(f"i{self._names}", extent if isinstance(extent, int) else None)

    @contextmanager
    def loop(
        self, extent: Any, initial: Any = (), *, kind: str = "sequential", width: int = 0
    ) -> Iterator[Any]:
        """A `For` whose body is what the `with` builds; call `scope.yields` if it has carries."""
        extent = extent if isinstance(extent, int) else as_at(extent)
        lane = 1 if kind == "vector" else 0
        carries = tuple(Carry(v.dtype, lane or v.lanes) for v in initial)
        scope = LoopScope(self.fresh_index(extent), carries)
        body = Body()
        with self.within(body, kind, scope.index):
            yield scope
        body.yields = _yielded(scope, carries)
        scope.results = tuple(Result(v.dtype, v.lanes) for v in initial)
        self.add_item(
            For(scope.index, extent, tuple(initial), carries, body, kind, width, scope.results)
        )

    @contextmanager
    def repeat(self, initial: Any, condition: Any) -> Iterator[Any]:
        """A `While`; `condition(*carries)` builds the test, the `with` builds the body."""
        carries = tuple(Carry(v.dtype, v.lanes) for v in initial)
        scope = LoopScope(None, carries)
        test, body = Body(), Body()
        with self.within(test, "while"):
            test.yields = (condition(*carries),)
        with self.within(body, "while"):
            yield scope
        body.yields = _yielded(scope, carries)
        scope.results = tuple(Result(v.dtype, v.lanes) for v in initial)
        self.add_item(While(tuple(initial), carries, test, body, scope.results))

    def branch(self, condition: Any, then: Any, otherwise: Any = lambda: ()) -> Any:
        """An `If`; `then` and `otherwise` build the sides and return what each yields."""
        sides = (Body(), Body())
        for side, build in zip(sides, (then, otherwise), strict=True):
            with self.within(side, "branch"):
                side.yields = tuple(build() or ())
        results = tuple(Result(v.dtype, v.lanes) for v in sides[0].yields)
        self.add_item(If(condition, *sides, results))
        return results


def _yielded(scope: Any, carries: Any) -> Any:
    values = scope.yielded or ()
    if len(values) != len(carries):
        raise ValueError(f"a loop of {len(carries)} carries must yield as many, got {len(values)}")
    return tuple(
        value if isinstance(value, Value) else Const(value, carry.dtype, carry.lanes)
        for value, carry in zip(values, carries, strict=True)
    )
