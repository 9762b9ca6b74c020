"""sort and top_k: stable, by the total order of keys in which ±0 are equal and nan is last.

    key     each element as an unsigned integer that compares as the element does
    radix   digits of 8 or 11 bits from the lowest up, last key first; each pass counts digits, sums
            the counts, and moves elements to their places
    merge   short rows of wide keys: runs of 1, 2, 4, ... are merged pairwise

Each pass moves all operands together from one memory to the other; the first reads the operands
where they are computed, the last writes the results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from frit.codegen.elements import bits_of
from frit.codegen.indices import clamp_index
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, Node, row_major, rule
from frit.ir.jaxpr import JaxprEqn

LONG_ROW = 8192  # elements; longer rows are worth the larger table of 11-bit digits


def key_of(b: Builder, value: Any, *, descending: bool = False) -> Any:
    """A value as an unsigned integer that orders as sort orders values."""
    bits = bits_of(value.dtype)
    whole = f"uint{bits}"
    top = 1 << (bits - 1)
    if value.dtype == "bool":
        key = b.convert(value, whole)
    elif value.dtype.startswith("uint"):
        key = value
    elif value.dtype.startswith("int"):
        key = b.apply("xor", b.apply("bitcast_convert_type", value, new_dtype=whole), top)
    else:
        plain = b.apply("add", value, 0.0)  # -0 becomes +0
        raw = b.apply("bitcast_convert_type", plain, new_dtype=whole)
        negative = b.apply("ge", raw, top)
        flipped = b.select(negative, b.apply("not", raw), b.apply("xor", raw, top))
        key = b.select(b.apply("ne", value, value), b.const((1 << bits) - 1, whole), flipped)
    return b.apply("not", key) if descending else key


class Rows:
    """The rows of a sort: operands as nodes, results and two scratch memories for a row of each."""

    def __init__(
        self, lowering: Lowering, variables: Any, nodes: Sequence[Node], axis: int
    ) -> None:
        self.lowering = lowering
        self.b = lowering.b
        self.nodes = nodes
        self.axis = axis
        self.shape = nodes[0].shape
        self.length = self.shape[axis]
        self.targets = [lowering.target(var) for var in variables]
        self.strides = row_major(self.shape)
        self.outer: Any = None  # the index of the row, within its loops

    def scratch(self) -> Any:
        lowering = self.lowering
        return [lowering.new_buffer((self.length,), node.dtype, node.parts) for node in self.nodes]

    def full(self, i: Any) -> Any:
        return (*self.outer[: self.axis], as_at(i), *self.outer[self.axis :])

    def read(self, source: Any, i: Any, which: Any = None) -> Any:
        """The elements of row position i: of the operands (None), results (True) or scratch."""
        which = range(len(self.nodes)) if which is None else which
        if source is None:
            return [self.lowering.element(self.nodes[k], self.full(i)) for k in which]
        values = []
        for k in which:
            node, at = self.nodes[k], as_at(i)
            buffer = self.targets[k] if source is True else source[k]
            if source is True:
                at = self.lowering.offset(self.strides, self.full(i))
            if node.parts == 1:
                values.append(self.b.load(buffer, at))
            else:
                values.append(tuple(self.b.load(buffer, at * 2 + part) for part in range(2)))
        return values

    def write(self, target: Any, i: Any, values: Any) -> None:
        for k, value in enumerate(values):
            if target is True:
                at = self.lowering.offset(self.strides, self.full(i))
                self.lowering.put(self.targets[k], at, value)
            else:
                self.lowering.put(target[k], as_at(i), value)


def keys_of(b: Builder, values: Any) -> Any:
    """Keys of key operands, most significant first; a complex one gives two."""
    keys = []
    for value in values:
        keys += [key_of(b, part) for part in (value if isinstance(value, tuple) else (value,))]
    return keys


def ordered_before(b: Builder, x: Any, y: Any) -> Any:
    """Whether keys x come strictly before keys y."""
    less = b.apply("lt", x[-1], y[-1])
    for p, q in zip(reversed(x[:-1]), reversed(y[:-1]), strict=True):
        tie = b.apply("and", b.apply("eq", p, q), less)
        less = b.apply("or", b.apply("lt", p, q), tie)
    return less


@rule("sort")
def _sort(lowering: Lowering, equation: JaxprEqn) -> None:
    nodes = [lowering.node(atom) for atom in equation.invars]
    axis, num_keys = equation.params["dimension"], equation.params["num_keys"]
    rows = Rows(lowering, equation.outvars, nodes, axis)
    others = [extent for a, extent in enumerate(rows.shape) if a != axis]
    if math.prod(rows.shape):
        scratch = [rows.scratch(), rows.scratch()] if rows.length > 1 else None
        passes = _passes(rows, num_keys)
        counts = None
        if _radix_is_faster(rows.length, len(passes)):
            size = 1 << _digit_bits(rows.length)
            counts = lowering.new_buffer((size,), "int64")
        with lowering.nest(others, vector=False) as outer:
            rows.outer = outer
            if rows.length == 1:
                rows.write(True, 0, rows.read(None, 0))
            elif counts is not None:
                _radix(rows, scratch, counts, passes)
            else:
                _merge(rows, scratch, num_keys)
    for var in equation.outvars:
        lowering.now_stored(var)


def _digit_bits(length: Any) -> Any:
    return 11 if length > LONG_ROW else 8


def _radix_is_faster(length: Any, passes: Any) -> bool:
    """Estimated in steps: a merge of a row takes log2(length) passes of slower steps."""
    if length < 2:
        return False
    table = 1 << _digit_bits(length)
    return passes * (table + 3 * length) < 15 * length * math.ceil(math.log2(length))


def _passes(rows: Any, num_keys: Any) -> Any:
    """(key, part, shift) of each radix pass, the least significant digit first."""
    return [
        (k, part, shift)
        for k in reversed(range(num_keys))
        for part in reversed(range(rows.nodes[k].parts))
        for shift in range(0, bits_of(rows.nodes[k].dtype), _digit_bits(rows.length))
    ]


def _radix(rows: Any, scratch: Any, counts: Any, passes: Any) -> None:
    b = rows.b
    digit_bits = _digit_bits(rows.length)
    source = None
    for number, (k, part, shift) in enumerate(passes):
        last = number == len(passes) - 1
        target = True if last else scratch[number % 2]

        def digit(value: Any, part: Any = part, shift: Any = shift) -> Any:
            key = key_of(b, value[part] if isinstance(value, tuple) else value)
            if shift:
                key = b.apply("shift_right_logical", key, shift)
            if bits_of(key.dtype) > digit_bits:
                key = b.apply("and", key, (1 << digit_bits) - 1)
            return as_at(b.convert(key, "int64"))

        _radix_pass(rows, source, target, counts, k, digit)
        source = target


def _radix_pass(rows: Any, source: Any, target: Any, counts: Any, k: Any, digit: Any) -> None:
    b = rows.b
    (size,) = counts.shape
    with b.loop(size, kind="vector") as loop:
        b.store(counts, loop.index, b.const(0, "int64"))
    with b.loop(rows.length) as loop:
        (value,) = rows.read(source, loop.index, [k])
        b.update(counts, digit(value), b.const(1, "int64"), "add")
    with b.loop(size, [b.const(0, "int64")]) as loop:
        count = b.load(counts, loop.index)
        b.store(counts, loop.index, loop.carries[0])
        loop.yields(b.apply("add", loop.carries[0], count))
    with b.loop(rows.length) as loop:
        values = rows.read(source, loop.index)
        at = digit(values[k])
        place = b.load(counts, at)
        b.store(counts, at, b.apply("add", place, 1))
        rows.write(target, place, values)


def _merge(rows: Any, scratch: Any, num_keys: Any) -> None:
    length = rows.length
    width, source, number = 1, None, 0
    while width < length:
        last = 2 * width >= length
        target = True if last else scratch[number % 2]
        _merge_pass(rows, source, target, width, num_keys)
        source, width, number = target, 2 * width, number + 1


def _merge_pass(rows: Any, source: Any, target: Any, width: int, num_keys: Any) -> None:
    """Merges runs of `width` pairwise; each step takes the head that comes first, left on ties."""
    b, length = rows.b, rows.length
    with b.loop(-(-length // (2 * width))) as run:
        first = run.index * (2 * width)
        middle = b.apply("min", first + width, length)
        end = b.apply("min", first + 2 * width, length)
        with b.loop(as_at(end) - first, [as_at(first), as_at(middle)]) as step:
            left, right = step.carries
            at = [clamp_index(b, as_at(i), length) for i in (left, right)]
            x, y = rows.read(source, at[0]), rows.read(source, at[1])
            right_first = ordered_before(b, keys_of(b, y[:num_keys]), keys_of(b, x[:num_keys]))
            left_done = b.apply("ge", left, middle)
            right_left = b.apply("lt", right, end)
            take_right = b.apply("or", left_done, b.apply("and", right_left, right_first))
            values = [_either(b, take_right, q, p) for p, q in zip(x, y, strict=True)]
            rows.write(target, first + step.index, values)
            moved = b.convert(take_right, "int64")
            step.yields(as_at(left) + 1 - moved, as_at(right) + moved)


def _either(b: Builder, condition: Any, x: Any, y: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(b.select(condition, p, q) for p, q in zip(x, y, strict=True))
    return b.select(condition, x, y)


@rule("top_k")
def _top_k(lowering: Lowering, equation: JaxprEqn) -> None:
    """The k greatest, greatest first, the earlier of equals first; nan counts as greatest.

    One pass over a row with the best so far in order: an element better than the last of them
    moves up to its place.
    """
    values_var, places_var = equation.outvars
    node = lowering.node(equation.invars[0])
    k = equation.params["k"]
    axis = equation.params.get("axis", node.rank - 1) % node.rank
    b = lowering.b
    values, places = lowering.target(values_var), lowering.target(places_var)
    best = lowering.new_buffer((k + 1,), node.dtype)
    where = lowering.new_buffer((k + 1,), places.dtype)
    others = [extent for a, extent in enumerate(node.shape) if a != axis]
    result_shape = [k if a == axis else extent for a, extent in enumerate(node.shape)]
    strides = row_major(result_shape)

    def full(outer: Sequence[Any], i: Any) -> Any:
        return (*outer[:axis], as_at(i), *outer[axis:])

    if k and math.prod(others):
        with lowering.nest(others, vector=False) as outer:
            with b.loop(node.shape[axis]) as loop:
                value = lowering.element(node, full(outer, loop.index))
                _insert(b, best, where, value, loop.index, k, places.dtype)
            with b.loop(k) as loop:
                at = lowering.offset(strides, full(outer, loop.index))
                b.store(values, at, b.load(best, loop.index))
                b.store(places, at, b.load(where, loop.index))
    for var in equation.outvars:
        lowering.now_stored(var)


def _insert(
    b: Builder, best: Any, where: Any, value: Any, i: Any, k: Any, index_dtype: Any
) -> None:
    """Puts element i among the best, of which there are min(i, k)."""
    key = key_of(b, value)
    count = b.apply("min", as_at(i), k)
    last = clamp_index(b, as_at(count) - 1, k)
    some = b.apply("gt", count, 0)
    full = b.apply("eq", count, k)
    worst = b.load(best, last, some)
    better = b.apply("or", b.apply("not", full), b.apply("gt", key, key_of(b, worst)))

    def put() -> None:
        start = b.select(full, b.const(k - 1, "int64"), count)

        def goes_on(place: Any) -> Any:
            before = clamp_index(b, as_at(place) - 1, k)
            inside = b.apply("gt", place, 0)
            other = key_of(b, b.load(best, before, inside))
            return b.apply("and", inside, b.apply("gt", key, other))

        with b.repeat([start], goes_on) as loop:
            (place,) = loop.carries
            before = as_at(place) - 1
            b.store(best, place, b.load(best, before))
            b.store(where, place, b.load(where, before))
            loop.yields(before)
        (place,) = loop.results
        b.store(best, place, value)
        b.store(where, place, b.convert(as_at(i), index_dtype))

    b.branch(better, put)
