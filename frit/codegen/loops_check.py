"""Verifies and prints functions of the loop language; the grammar is in `loops.py`.

The verifier proves what needs no run: every value is visible where it is used, dtypes and lanes
agree, masks are bool, indices int64, yields match carries, and no bool takes part in arithmetic.
Bounds, races and initialisation are checked by `interpret.py`.
"""

from __future__ import annotations

from typing import Any

from frit.codegen.loops import (
    COMPARISONS,
    INDEX_DTYPE,
    KINDS,
    REDUCTIONS,
    SPACES,
    Apply,
    At,
    Body,
    Broadcast,
    Buffer,
    Call,
    Const,
    Extent,
    For,
    Function,
    If,
    Index,
    Load,
    Reduce,
    Select,
    Shuffle,
    Store,
    Update,
    Value,
    While,
    result_dtype,
)

MIXED_DTYPES = frozenset(("convert_element_type", "bitcast_convert_type"))
LOGIC = frozenset("and or xor not eq ne lt le gt ge max min clamp select_n".split())


class LoopError(Exception):
    """A function that is not in the loop language."""


# ----------------------------------------------------------------------------------- verifier


def check_function(function: Function) -> Any:
    """`function` itself, if it is well formed; else raises LoopError naming the item."""
    _Checker(function).check()
    return function


class _Checker:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.visible: set[int] = set()
        self.buffers = set(map(id, function.buffers))

    def check(self) -> None:
        names = [buffer.name for buffer in self.function.buffers]
        self.require(len(set(names)) == len(names), "buffers", f"names repeat: {names}")
        for extent in self.function.extents:
            self.visible.add(id(extent))
        for buffer in self.function.buffers:
            self.require(buffer.space in SPACES, buffer.name, f"unknown space {buffer.space!r}")
            for extent in buffer.shape:
                if not isinstance(extent, int):
                    self.use(extent, buffer.name)
        self.check_body(self.function.body, ())
        self.require(not self.function.body.yields, "body", "a function yields nothing")

    def require(self, truth: Any, where: Any, why: Any) -> None:
        if not truth:
            raise LoopError(f"kernel {self.function.name}: {_describe(where)}: {why}")

    def use(self, value: Any, where: Any, dtype: str | None = None, lanes: Any = None) -> None:
        self.require(isinstance(value, Value), where, f"{value!r} is not a value")
        if isinstance(value, At):
            for factor, term in value.terms:
                self.require(isinstance(factor, int), where, "coefficients are ints")
                self.require(not isinstance(term, At), where, "an At inside an At")
                self.use(term, where, INDEX_DTYPE, 1)
        elif not isinstance(value, Const):
            self.require(id(value) in self.visible, where, f"{_name(value)} is not visible here")
        if dtype is not None:
            self.require(value.dtype == dtype, where, f"expected {dtype}, got {value.dtype}")
        if lanes is not None:
            self.require(value.lanes == lanes, where, f"expected {lanes} lanes, got {value.lanes}")

    def place(self, buffer: Buffer, at: Any, mask: Any, where: Any) -> None:
        self.require(id(buffer) in self.buffers, where, f"unknown buffer {buffer.name}")
        self.require(isinstance(at, At), where, "`at` must be an At")
        self.use(at, where)
        if mask is not None:
            self.use(mask, where, "bool", 1)

    def check_body(self, body: Body, bound: Any) -> None:
        before = set(self.visible)
        self.visible.update(map(id, bound))
        for item in body.items:
            self.check_item(item)
            results = (item,) if isinstance(item, Value) else getattr(item, "results", ())
            self.visible.update(map(id, results))
            if isinstance(item, Call):
                self.visible.add(id(item.status))
        for value in body.yields:
            self.use(value, "yield")
        self.visible = before

    def check_item(self, item: Any) -> None:
        self.require(id(item) not in self.visible, item, "stands in two places")
        match item:
            case Load(buffer=buffer, at=at, mask=mask):
                self.place(buffer, at, mask, item)
            case Store(buffer=buffer, at=at, value=value, mask=mask):
                self.place(buffer, at, mask, item)
                self.use(value, item, buffer.dtype, 1)
            case Update(buffer=buffer, at=at, value=value, mask=mask, op=op):
                self.place(buffer, at, mask, item)
                self.use(value, item, buffer.dtype, 1)
                self.require(op in REDUCTIONS, item, f"cannot update by {op!r}")
            case Apply():
                self.check_apply(item)
            case Select(condition=condition, on_true=on_true, on_false=on_false):
                self.use(on_true, item)
                self.use(on_false, item, on_true.dtype, on_true.lanes)
                self.use(condition, item, "bool", on_true.lanes)
            case Broadcast(operand=operand):
                self.use(operand, item, lanes=1)
            case Shuffle(x=x, y=y, order=order):
                self.use(x, item)
                self.use(y, item, x.dtype, x.lanes)
                self.require(all(0 <= i < 2 * x.lanes for i in order), item, "lane out of range")
            case Reduce(op=op, operand=operand):
                self.use(operand, item)
                self.require(op in REDUCTIONS, item, f"cannot reduce by {op!r}")
                count = operand.lanes
                self.require(count & (count - 1) == 0, item, f"{count} lanes: no power of two")
            case For():
                self.check_for(item)
            case While():
                self.check_carries(item, item.initial, item.carries)
                self.check_body(item.condition, item.carries)
                self.check_yields(item, item.condition, None)
                self.check_body(item.body, item.carries)
                self.check_yields(item, item.body, item.carries)
            case If():
                self.use(item.condition, item, "bool", 1)
                for side in (item.then, item.otherwise):
                    self.check_body(side, ())
                    self.check_yields(item, side, item.results)
            case Call(arguments=arguments):
                self.check_call(item, arguments)
            case _:
                self.require(False, item, "does not stand in a body")

    def check_call(self, item: Any, arguments: Any) -> None:
        for position, argument in enumerate(arguments):
            if isinstance(argument, tuple):
                self.place(argument[0], argument[1], None, item)
                self.require(position in item.effect, item, f"no effect for view {position}")
            else:
                self.use(argument, item, lanes=1)

    def check_apply(self, item: Any) -> None:
        mixed = item.op in MIXED_DTYPES or item.op in ("clamp", "select_n", "reduce_precision")
        for operand in item.operands:
            self.use(operand, item, None if mixed else item.operands[0].dtype, item.lanes)
            self.require(
                operand.dtype != "bool" or item.op in LOGIC or mixed, item, "arithmetic on bool"
            )
        expected = result_dtype(item.op, item.operands, item.params)
        if item.op not in COMPARISONS and item.op not in ("select_n", "clamp"):
            self.require(item.dtype == expected, item, f"result is {expected}, not {item.dtype}")

    def check_for(self, item: Any) -> None:
        self.require(item.kind in KINDS, item, f"unknown kind {item.kind!r}")
        if isinstance(item.extent, int):
            self.require(item.extent >= 0, item, f"negative extent {item.extent}")
        else:
            self.use(item.extent, item, INDEX_DTYPE, 1)
        if item.kind == "parallel":
            self.require(not item.carries, item, "a parallel loop has no carries")
        if item.kind == "unrolled":
            self.require(isinstance(item.extent, int), item, "an unrolled extent is known")
        lane = item.kind == "vector"
        if lane and item.carries:
            self.require(item.width > 0, item, "carries of a vector loop need a width")
        self.check_carries(item, item.initial, item.carries, item.width if lane else None)
        self.check_body(item.body, (item.index, *item.carries))
        self.check_yields(item, item.body, item.carries)

    def check_carries(
        self, item: Any, initial: Any, carries: Any, width: int | None = None
    ) -> None:
        self.require(len(initial) == len(carries) == len(item.results), item, "carries differ")
        for first, carry, result in zip(initial, carries, item.results, strict=True):
            self.use(first, item, carry.dtype, carry.lanes if width is None else width)
            self.require(result.dtype == carry.dtype, item, "result dtype differs")
            self.require(result.lanes == first.lanes, item, "result lanes differ")

    def check_yields(self, item: Any, body: Body, carries: Any) -> None:
        if carries is None:
            wanted = [("bool", 1)]
        else:
            wanted = [(carry.dtype, carry.lanes) for carry in carries]
        found = [(value.dtype, value.lanes) for value in body.yields]
        self.require(found == wanted, item, f"yields {found}, expected {wanted}")


def _name(value: Any) -> Any:
    return getattr(value, "name", None) or type(value).__name__


def _describe(item: Any) -> Any:
    if isinstance(item, str):
        return item
    detail = getattr(item, "op", None) or getattr(getattr(item, "buffer", None), "name", "")
    return f"{type(item).__name__} {detail}".strip()


# ------------------------------------------------------------------------------------ printer


def print_function(function: Function) -> Any:
    """Stable text of a function: one item a line, values numbered in order of appearance."""
    return _Printer().function(function)


class _Printer:
    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.lines: list[str] = []

    def function(self, function: Function) -> Any:
        buffers = [
            f"{buffer.name}: {buffer.dtype}[{','.join(map(self.show, buffer.shape))}]"
            + ("" if buffer.space == "argument" else f" {buffer.space}")
            for buffer in function.buffers
        ]
        extents = [extent.name for extent in function.extents]
        self.lines.append(f"kernel {function.name}({', '.join(buffers + extents)})")
        self.body(function.body, 1)
        return "\n".join(self.lines)

    def bind(self, value: Any) -> Any:
        self.names[id(value)] = f"%{len(self.names)}"
        return self.names[id(value)] + f": {_type(value)}"

    def show(self, value: Any) -> Any:
        match value:
            case int():
                return str(value)
            case Const():
                return f"{value.value}"
            case Index() | Extent():
                return value.name
            case At():
                return self.show_at(value)
        return self.names.get(id(value), "%?")

    def show_at(self, at: Any) -> Any:
        parts = [
            self.show(value) if factor == 1 else f"{factor}*{self.show(value)}"
            for factor, value in at.terms
        ]
        if at.constant or not parts:
            parts.append(str(at.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def line(self, depth: int, text: Any) -> None:
        self.lines.append("  " * depth + text)

    def body(self, body: Body, depth: int) -> None:
        for item in body.items:
            self.item(item, depth)
        if body.yields:
            self.line(depth, f"yield {', '.join(map(self.show, body.yields))}")

    def results(self, item: Any) -> Any:
        return f"{', '.join(map(self.bind, item.results))} = " if item.results else ""

    def carried(self, item: Any) -> Any:
        first = list(map(self.show, item.initial))
        pairs = [f"{self.bind(c)} = {x}" for c, x in zip(item.carries, first, strict=True)]
        return f" carry {', '.join(pairs)}" if pairs else ""

    def item(self, item: Any, depth: int) -> None:
        match item:
            case For():
                kind = item.kind + (f"({item.width})" if item.width else "")
                head = (
                    f"for {item.index.name} < {self.show(item.extent)} {kind}{self.carried(item)}"
                )
                self.line(depth, self.results(item) + head)
                self.body(item.body, depth + 1)
            case While():
                self.line(depth, self.results(item) + f"while{self.carried(item)}")
                self.body(item.condition, depth + 2)
                self.line(depth, "do")
                self.body(item.body, depth + 1)
            case If():
                self.line(depth, self.results(item) + f"if {self.show(item.condition)}")
                self.body(item.then, depth + 1)
                if item.otherwise.items or item.otherwise.yields:
                    self.line(depth, "else")
                    self.body(item.otherwise, depth + 1)
            case _:
                self.line(depth, self.simple(item))

    def simple(self, item: Any) -> Any:
        match item:
            case Load(buffer=buffer, at=at):
                text = f"{buffer.name}[{self.show(at)}]{self.masked(item)}"
            case Apply(op=op, operands=operands, params=params):
                extra = [f"{key}={value}" for key, value in params.items()]
                text = f"{op} {', '.join([*map(self.show, operands), *extra])}"
            case Select():
                parts = (item.condition, item.on_true, item.on_false)
                text = f"select {', '.join(map(self.show, parts))}"
            case Broadcast(operand=operand):
                text = f"broadcast {self.show(operand)}"
            case Shuffle(x=x, y=y, order=order):
                text = f"shuffle {self.show(x)}, {self.show(y)}, {list(order)}"
            case Reduce(op=op, operand=operand):
                text = f"reduce {op} {self.show(operand)}"
            case Store(buffer=buffer, at=at, value=value):
                return f"{buffer.name}[{self.show(at)}] = {self.show(value)}{self.masked(item)}"
            case Update(buffer=buffer, at=at, value=value, op=op):
                unique = " unique" if item.unique else ""
                place = f"{buffer.name}[{self.show(at)}]"
                return f"{place} {op}= {self.show(value)}{unique}{self.masked(item)}"
            case Call(symbol=symbol, arguments=arguments):
                shown = [
                    f"&{a[0].name}[{self.show(a[1])}]" if isinstance(a, tuple) else self.show(a)
                    for a in arguments
                ]
                return f"{self.bind(item.status)} = call {symbol}({', '.join(shown)})"
        return f"{self.bind(item)} = {text}"

    def masked(self, item: Any) -> Any:
        return f" if {self.show(item.mask)}" if item.mask is not None else ""


def _type(value: Any) -> Any:
    return value.dtype if value.lanes == 1 else f"{value.dtype}x{value.lanes}"
