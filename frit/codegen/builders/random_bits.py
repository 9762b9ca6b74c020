"""Random bits: threefry2x32 on counters, pointwise uint32 work.

Element i (row-major, as a 64-bit number) of a split or of bits is the hash of i under the key.
Source: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3, section 5.1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from frit.codegen.elements import storage
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import as_at
from frit.codegen.nests import Lowering, Node, row_major, rule
from frit.ir.jaxpr import JaxprEqn
from frit.ir.types import Shape

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(b: Builder, key: Any, counter: Any) -> Any:
    """The two words that 20 rounds make of a counter under a key."""
    parity = b.apply("xor", b.apply("xor", key[0], key[1]), _PARITY)
    keys = (*key, parity)
    x, y = (b.apply("add", c, k) for c, k in zip(counter, key, strict=True))
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = b.apply("add", x, y)
            high = b.apply("shift_left", y, rotation)
            low = b.apply("shift_right_logical", y, 32 - rotation)
            y = b.apply("xor", b.apply("or", high, low), x)
        x = b.apply("add", x, keys[(group + 1) % 3])
        shifted = b.apply("add", keys[(group + 2) % 3], group + 1)
        y = b.apply("add", y, shifted)
    return x, y


def _broadcast_element(lowering: Lowering, node: Node, index: Sequence[Any]) -> Any:
    """The element at an index that the node's axes of extent 1 and missing axes ignore."""
    if node.rank == 0:
        return lowering.element(node, ())
    at = [as_at(0) if extent == 1 else i for extent, i in zip(node.shape, index, strict=True)]
    return lowering.element(node, at)


@rule("threefry2x32")
def _threefry(lowering: Lowering, equation: JaxprEqn) -> None:
    nodes = [lowering.node(atom) for atom in equation.invars]
    b = lowering.b

    def both(index: Sequence[Any]) -> Any:
        k0, k1, x0, x1 = (_broadcast_element(lowering, node, index) for node in nodes)
        return threefry(b, (k0, k1), (x0, x1))

    shape, dtype, _ = storage(equation.outvars[0].aval)
    flat = (
        all(node.flat for node in nodes if node.rank)
        and len({node.shape for node in nodes if node.rank}) <= 1
    )
    pair = type(nodes[0])(shape, dtype, both, parts=2, flat=flat)
    for part, var in enumerate(equation.outvars):
        lowering.define(
            var, lambda index, part=part: lowering.element(pair, index)[part], flat=flat
        )


def _word_places(impl: Any) -> Any:
    """The indices of a key's words, in the order of storage."""
    return list(itertools.product(*map(range, impl.key_shape)))


@rule("random_wrap")
def _wrap(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,), node = equation.outvars, lowering.node(equation.invars[0])
    places = _word_places(equation.params["impl"])

    def element(index: Sequence[Any]) -> Any:
        words = tuple(lowering.element(node, (*index, *place)) for place in places)
        return words if len(words) > 1 else words[0]

    lowering.define(var, element)


@rule("random_unwrap")
def _unwrap(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,), node = equation.outvars, lowering.node(equation.invars[0])
    keys: Any = equation.invars[0].aval
    b, impl = lowering.b, keys.dtype._impl

    def element(index: Sequence[Any]) -> Any:
        rank = len(index) - len(impl.key_shape)
        words = lowering.element(node, index[:rank])
        words = words if isinstance(words, tuple) else (words,)
        which = as_at(lowering.offset(row_major(impl.key_shape), index[rank:]))
        if not which.terms:
            return words[which.constant]
        chosen = words[-1]
        for number, word in enumerate(words[:-1]):
            chosen = b.select(b.apply("eq", which, number), word, chosen)
        return chosen

    lowering.define(var, element)


@rule("random_clone")
def _clone(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,), node = equation.outvars, lowering.node(equation.invars[0])
    lowering.define(var, lambda index: lowering.element(node, index), flat=node.flat)


@rule("random_seed")
def _seed(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,), node = equation.outvars, lowering.node(equation.invars[0])
    b = lowering.b

    def element(index: Sequence[Any]) -> Any:
        seed = lowering.element(node, index)
        low = b.convert(seed, "uint32")
        if node.dtype not in ("int64", "uint64"):
            return b.const(0, "uint32"), low
        return b.convert(b.apply("shift_right_logical", seed, 32), "uint32"), low

    lowering.define(var, element, flat=node.flat)


@rule("random_fold_in")
def _fold_in(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    keys, data = (lowering.node(atom) for atom in equation.invars)
    b = lowering.b

    def element(index: Sequence[Any]) -> Any:
        key = _broadcast_element(lowering, keys, index)
        low = b.convert(_broadcast_element(lowering, data, index), "uint32")
        return threefry(b, key, (b.const(0, "uint32"), low))

    lowering.define(var, element, flat=keys.flat and data.flat and keys.shape == data.shape)


def _hash_of_position(lowering: Lowering, keys: Any, shape: Shape, index: Sequence[Any]) -> Any:
    """The words of element `index[rank of keys:]` of `shape` under its key."""
    b = lowering.b
    key = lowering.element(keys, index[: keys.rank])
    position = lowering.offset(row_major(shape), index[keys.rank :])
    low = b.convert(position, "uint32")
    if math.prod(shape) <= 1 << 32:
        high = b.const(0, "uint32")
    else:
        high = b.convert(b.apply("shift_right_logical", position, 32), "uint32")
    return threefry(b, key, (high, low))


@rule("random_split")
def _split(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,), keys = equation.outvars, lowering.node(equation.invars[0])
    shape = equation.params["shape"]
    lowering.define(
        var,
        lambda index: _hash_of_position(lowering, keys, shape, index),
        flat=keys.rank == 0,
    )


@rule("random_bits")
def _bits(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,), keys = equation.outvars, lowering.node(equation.invars[0])
    shape, width = equation.params["shape"], equation.params["bit_width"]
    b = lowering.b

    def element(index: Sequence[Any]) -> Any:
        high, low = _hash_of_position(lowering, keys, shape, index)
        if width == 64:
            wide = b.apply("shift_left", b.convert(high, "uint64"), 32)
            return b.apply("or", wide, b.convert(low, "uint64"))
        return b.convert(b.apply("xor", high, low), f"uint{width}")

    lowering.define(var, element, flat=keys.rank == 0)
