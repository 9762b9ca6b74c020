"""Arrays as functions of an index, and the loop nests that write them to memory.

    node = Node(shape, dtype, parts, element)         element(index) -> one value, or one a part

Lowering gives each variable of a kernel a node. A node costs nothing until an element is asked for:
then its equation asks its operands for theirs, so a chain of pointwise operations and views becomes
one expression inside the nest that stores the result. A view is only a change of index.

An element is computed in the outermost open loop that its index allows, and found again there: what
does not depend on the inner loop is not in it, and a row's maximum is computed once for the row.

A complex number has two parts, real and imaginary, and so has a key: two words. In memory the parts
are a last axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from frit.codegen.elements import storage
from frit.codegen.indices import Indices, row_major
from frit.codegen.kernels import Kernel
from frit.codegen.loop_builder import Builder
from frit.codegen.loops import At, Buffer, Const, Load, Value, as_at, bodies_of, walk
from frit.codegen.scalars import element_type
from frit.ir.dtypes import float0
from frit.ir.jaxpr import ClosedJaxpr, Var
from frit.ir.types import Shape

WIDE = 64  # lanes of loops whose bodies are sums: several registers hide the latency of adding
BLOCK = 32  # lanes of a block of a transposition
STACK_BYTES = 2048  # memory of the kernel's own up to this size lives on the stack
RULES: dict[str, Callable[..., None]] = {}


class Unfused(Exception):
    """A variable that must be in memory before the nest that asks for it; lowering starts again."""

    def __init__(self, node: Node) -> None:
        super().__init__("the kernel's nests need this value in memory")
        self.node = node


def rule(*names: Any) -> Any:
    """Registers `build(lowering, equation)`, which gives the equation's results their nodes."""

    def register(build: Callable[..., Any]) -> Any:
        for name in names:
            RULES[name] = build
        return build

    return register


class Node:
    """An array by its elements.

    dtype: name of the dtype of each part. flat: an element at a row-major position needs no
    division. scalar_axes: axes whose index must not differ from lane to lane. buffer: the memory
    that holds exactly this array, if one does. masked(index, inside): the element where `inside`
    holds, and anything elsewhere, for an index that may leave the array there. kept_in_row: an
    element is worth keeping while its row is worked on. pieces: nodes that fill this one, each with
    the index of its first element.

    traits: "turned" if neighbours along the last axis are not neighbours in memory, "columns" if an
    element is a sum down a column, "kept" if it is made of elements kept in their row.
    """

    __slots__ = (
        "buffer", "dtype", "element", "flat", "kept_in_row", "masked", "name", "parts", "pieces",
        "rank", "scalar_axes", "shape", "size", "traits",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        dtype: str,
        element: Callable[..., Any],
        *,
        parts: int = 1,
        flat: bool = False,
        scalar_axes: frozenset[int] = frozenset(),
        traits: frozenset[str] = frozenset(),
        masked: Callable[..., Any] | None = None,
    ) -> None:
        self.shape = shape
        self.rank = len(shape)
        self.size = math.prod(shape)
        self.dtype = dtype
        self.element = element
        self.parts = parts
        self.flat = flat or len(shape) <= 1
        self.scalar_axes = scalar_axes
        self.traits = traits
        self.masked = masked
        self.name: Any = None
        self.buffer: Buffer | None = None
        self.kept_in_row = False
        self.pieces: Sequence[tuple[Node, Sequence[int]]] = ()


def closed(jaxpr: Any, consts: Sequence[Any] = ()) -> Any:
    """A closed jaxpr, of a closed one or an open one with its constants."""
    return jaxpr if hasattr(jaxpr, "consts") else ClosedJaxpr(jaxpr, list(consts))


class Lowering(Indices):
    """One kernel on its way to loops: nodes of its variables, buffers, and index arithmetic."""

    def __init__(
        self, kernel: Kernel, in_memory: Any = frozenset(), kept_in_rows: Any = frozenset()
    ) -> None:
        super().__init__(Builder(kernel.name))
        self.kept_in_rows = kept_in_rows
        self.kernel = kernel
        self.in_memory = in_memory
        self.nodes: dict[int, Node] = {}
        self.targets: dict[int, Buffer] = {}
        self.scratch = 0

    # ---------------------------------------------------------------------------- variables

    def node(self, atom: Any) -> Any:
        """The node of a variable or literal."""
        found = self.nodes.get(id(atom))
        if found is None:
            found = self.nodes[id(atom)] = self.literal(atom)
        return found

    def literal(self, atom: Any) -> Any:
        shape, dtype, parts = storage(atom.aval)
        number = np.asarray(atom.val).reshape(-1)[0] if np.size(atom.val) else 0
        value: Any
        if parts == 2:
            value = tuple(Const(float(part), dtype) for part in (number.real, number.imag))
        else:
            value = Const(number.item() if hasattr(number, "item") else number, dtype)
            if not isinstance(value.value, (bool, int, float)):
                value.value = float(number)
        return Node(shape, dtype, lambda index: value, parts=parts, flat=True)

    def define(self, var: Var, element: Any, **facts: Any) -> Any:
        """Gives `var` the node with this element function; stores it at once if it must be."""
        shape, dtype, parts = storage(var.aval)
        return self.bind(var, Node(shape, dtype, element, parts=parts, **facts))

    def bind(self, var: Var, node: Node) -> Any:
        node.name = var
        if id(var) in self.kept_in_rows and node.parts == 1:
            node.kept_in_row = True
            node.traits = node.traits | {"kept"}
        self.nodes[id(var)] = node
        if id(var) in self.in_memory:
            self.materialize(var)
        return node

    def memory_shape(self, aval: Any) -> Any:
        """The shape of the buffer that holds an array; float0 has no bytes."""
        shape, _, parts = storage(aval)
        if aval.dtype == float0:
            return (0,)
        return (*shape, parts) if parts > 1 else shape

    def stored(self, buffer: Buffer, shape: Shape, parts: int) -> Any:
        """The node of an array in memory."""
        if math.prod(buffer.shape) == 0:
            nothing = self.b.const(0, buffer.dtype)
            value = (nothing,) * parts if parts > 1 else nothing
            node = Node(shape, buffer.dtype, lambda _: value, parts=parts, flat=True)
            node.buffer = buffer
            return node
        strides = row_major(shape)

        def element(index: Sequence[Any]) -> Any:
            at = self.offset(strides, index)
            if parts == 1:
                return self.b.load(buffer, at)
            return tuple(self.b.load(buffer, at * parts + part) for part in range(parts))

        def masked(index: Sequence[Any], inside: Any) -> Any:
            at = self.offset(strides, index)
            if parts == 1:
                return self.b.load(buffer, at, inside)
            return tuple(self.b.load(buffer, at * parts + part, inside) for part in range(parts))

        node = Node(shape, buffer.dtype, element, parts=parts, flat=True, masked=masked)
        node.buffer = buffer
        return node

    def target(self, var: Var) -> Any:
        """The buffer that `var` is written to: its output, or memory of the kernel's own."""
        found = self.targets.get(id(var))
        if found is None:
            shape, dtype, parts = storage(var.aval)
            found = self.targets[id(var)] = self.new_buffer(shape, dtype, parts)
        return found

    def new_buffer(self, shape: Shape, dtype: str, parts: int = 1) -> Any:
        size = math.prod(shape) * parts * element_type(dtype).itemsize
        space = "stack" if size <= STACK_BYTES else "arena"
        self.scratch += 1
        full = (*shape, parts) if parts > 1 else shape
        return self.b.buffer(f"t{self.scratch}", dtype, full, space)

    def now_stored(self, var: Var) -> Any:
        """Says that `var` has been written to its target."""
        shape, _, parts = storage(var.aval)
        node = self.stored(self.target(var), shape, parts)
        node.name = var
        self.nodes[id(var)] = node
        return node

    def materialize(self, var: Var) -> Any:
        """Writes `var` to its target now; its node becomes the memory."""
        self.write_all([var])
        return self.now_stored(var)

    def in_buffer(self, atom: Any) -> Any:
        """The memory of an atom's array, written now if it is not there yet."""
        node = self.node(atom)
        if node.buffer is None:
            self.write_nodes([(node, self.target(atom))])
            node = self.now_stored(atom)
        return node.buffer

    # ------------------------------------------------------------------------------ elements

    def element(self, node: Node, index: Sequence[Any]) -> Any:
        """The element of a node, from where it was computed before if that is visible."""
        b = self.b
        if node.size == 0:  # never run: the loop around has no iterations
            zero = b.const(0, node.dtype)
            return zero if node.parts == 1 else (zero,) * node.parts
        index = tuple(as_at(i) for i in index)
        depth = self.depth_of(index)
        key = (id(node), *(i.key() for i in index))
        for scope in range(depth, -1, -1):
            found = b.open[scope].memo.get(key)
            if found is not None:
                return found[0]
        if node.kept_in_row:
            kept = self.kept_element(node, index)
            if kept is not None:
                return kept
        with b.outside(depth):
            value = node.element(index)
            b.open[-1].memo[key] = (value, node, index)
        return value

    def element_where(self, node: Node, index: Sequence[Any], inside: Any) -> Any:
        """The element where the bool `inside` holds; anything where it does not.

        There the index may be out of bounds: nothing is read. None: it always holds.
        """
        if inside is None:
            return self.element(node, index)
        if node.masked is not None:
            return node.masked(tuple(as_at(i) for i in index), inside)
        bounded = [self.clamp(i, extent) for i, extent in zip(index, node.shape, strict=True)]
        return self.element(node, bounded)

    def element_or_zero(self, node: Node, index: Sequence[Any], inside: Any) -> Any:
        """The element where `inside` holds, 0 where it does not and the index may be outside."""
        value = self.element_where(node, index, inside)
        if inside is None or node.buffer is not None:
            return value
        b = self.b
        if isinstance(value, tuple):
            return tuple(b.select(inside, x, b.const(0, x.dtype)) for x in value)
        return b.select(inside, value, b.const(0, value.dtype))

    def keep_row(self, node: Node, index: Sequence[Any], length: Any) -> Any:
        """A buffer for the elements of the row at `index`, found again until its loop ends."""
        buffer = self.new_buffer((length,), node.dtype)
        key = ("row", id(node), *(as_at(i).key() for i in index))
        self.b.open[-1].memo[key] = (buffer, index)
        return buffer

    def kept_element(self, node: Node, index: Sequence[Any]) -> Any:
        """The element from its row's buffer, if the row is kept."""
        key = ("row", id(node), *(i.key() for i in index[:-1]))
        for scope in reversed(self.b.open):
            found = scope.memo.get(key)
            if found is not None:
                return self.b.load(found[0], index[-1])
        return None

    def refuse_repetition(self, var: Var, index: Sequence[Any], *, lanes: bool = False) -> None:
        """Raises Unfused where the loops around would compute `var` again and again.

        It may stand in a loop only if its index follows that loop, and, with lanes of its own, in
        no loop of lanes.
        """
        terms = {id(value) for i in index for _, value in as_at(i).terms}
        for scope in self.b.open[1:]:
            repeats = scope.index is not None and id(scope.index) not in terms
            if repeats or (lanes and scope.kind == "vector"):
                raise Unfused(self.nodes[id(var)])

    def inline(self, jaxpr: Any, values: Any) -> Any:
        """The scalar results of a closed jaxpr of scalars, computed here."""
        outer, self.barrier = self.barrier, len(self.b.open) - 1
        inner = jaxpr.jaxpr
        for var, value in zip(
            [*inner.constvars, *inner.invars], [*jaxpr.consts, *values], strict=True
        ):
            shape, dtype, parts = storage(var.aval)
            if not isinstance(value, (Value, tuple)):
                value = Const(np.asarray(value).item(), dtype)
            self.nodes[id(var)] = Node(shape, dtype, lambda index, v=value: v, parts=parts)
        for equation in inner.eqns:
            RULES[equation.primitive.name](self, equation)
        results = [self.element(self.node(var), ()) for var in inner.outvars]
        self.barrier = outer
        return results

    def writes_alone(
        self, buffer: Buffer, build: Callable[..., Any], nodes: Sequence[Node]
    ) -> None:
        """Runs `build`, which writes to a buffer and must not read it through `nodes`.

        build() returns the loads of the buffer that it means to make. If there are others, raises
        Unfused for one of `nodes` that is no plain memory, so that it is computed before.
        """
        items = self.b.body.items
        first = len(items)
        meant = set(map(id, build() or ()))
        for item in items[first:]:
            for inner in [item, *(i for body in bodies_of(item) for i in walk(body))]:
                if isinstance(inner, Load) and inner.buffer is buffer and id(inner) not in meant:
                    for node in nodes:
                        if node.name is not None and node.buffer is None:
                            if id(node.name) not in self.in_memory:
                                raise Unfused(node)

    # --------------------------------------------------------------------------------- nests

    @contextmanager
    def nest(self, shape: Sequence[int], *, vector: bool = True, width: int = 0) -> Iterator[Any]:
        """Loops over an index of `shape`; the last long axis by lanes if `vector`. Yields it."""
        with ExitStack() as loops:
            index = [At(0)] * len(shape)
            axes = [axis for axis, extent in enumerate(shape) if extent != 1]
            for axis in axes:
                lanes = vector and axis == axes[-1]
                scope = loops.enter_context(self.lanes(shape[axis], width, vector=lanes))
                index[axis] = as_at(scope.index)
            yield tuple(index)

    def lanes(self, extent: int, width: int = 0, *, vector: bool = True) -> Any:
        """A loop by lanes, `width` of them if it is that long; or one after the other."""
        if not vector:
            return self.b.loop(extent)
        return self.b.loop(extent, kind="vector", width=width if extent >= width else 0)

    def put(self, buffer: Buffer, at: Any, value: Any) -> None:
        """Stores an element, each of its parts."""
        if not isinstance(value, tuple):
            self.b.store(buffer, at, value)
            return
        for part, number in enumerate(value):
            self.b.store(buffer, at * len(value) + part, number)

    def write_all(self, variables: Any) -> None:
        """Nests that store variables to their targets; those of one shape share a nest."""
        self.write_nodes([(self.node(var), self.target(var)) for var in variables])

    def write_nodes(self, pairs: Any) -> None:
        groups: dict[Shape, list[Any]] = {}
        for node, buffer in pairs:
            if len(node.pieces) > 1 and node.size and math.prod(buffer.shape):
                self.write_pieces(node, buffer)
            elif node.size and math.prod(buffer.shape):
                groups.setdefault(node.shape, []).append((node, buffer))
        shapes = sorted(groups, key=lambda shape: (-len(shape), -math.prod(shape)))
        taken = set()
        for shape in shapes:
            if shape in taken:
                continue
            prefixes = {}
            for depth in range(1, len(shape)):
                prefix = shape[:depth]
                whole = shape[depth] != 1 and prefix in groups and prefix not in taken
                if whole and all(node.scalar_axes for node, _ in groups[prefix]):
                    prefixes[depth] = groups[prefix]
                    taken.add(prefix)
            taken.add(shape)
            self.write_group(shape, groups[shape], prefixes)

    def write_pieces(self, node: Node, buffer: Buffer) -> None:
        """A nest for each piece of a node."""
        strides = row_major(node.shape)
        for piece, first in node.pieces:
            if not piece.size:
                continue
            axes = [axis for axis, extent in enumerate(piece.shape) if extent != 1]
            lanes = not axes or axes[-1] not in piece.scalar_axes
            with self.nest(piece.shape, vector=lanes) as index:
                at = self.offset(
                    strides, [i + start for i, start in zip(index, first, strict=True)]
                )
                self.put(buffer, at, self.element(piece, index))

    def overwritten(self, node: Node) -> None:
        """Says that the memory of a node has changed: nothing may read the node any more."""

        def element(*_: Any) -> None:
            raise AssertionError(
                f"kernel {self.kernel.name} reads an input after changing it in place; its "
                "grouping must put the reader into an earlier kernel"
            )

        node.element = node.masked = element

    def write_group(self, shape: Shape, pairs: Any, prefixes: Any) -> None:
        """One nest for the arrays of a shape, and in its outer loops those of its prefixes."""
        nodes = [node for node, _ in pairs]
        scalar = frozenset().union(*(node.scalar_axes for node in nodes))
        if not prefixes and len(shape) > 1 and not scalar and all(node.flat for node in nodes):
            size = math.prod(shape)
            with self.nest((size,)) as (position,):
                index = self.delinearize(position, shape)
                self.store_all(pairs, index)
            return
        axes = [axis for axis, extent in enumerate(shape) if extent != 1]
        traits = frozenset().union(*(node.traits for node in nodes))
        lanes = bool(axes) and axes[-1] not in scalar
        if lanes and len(axes) > 1 and "turned" in traits and not prefixes:
            self.write_blocks(shape, pairs, axes)
            return
        width = WIDE if "columns" in traits else 0
        with ExitStack() as loops:
            index = [At(0)] * len(shape)
            for axis in axes:
                if axis in prefixes:
                    self.store_all(prefixes[axis], tuple(index[:axis]))
                vector = lanes and axis == axes[-1]
                scope = loops.enter_context(self.lanes(shape[axis], width, vector=vector))
                index[axis] = as_at(scope.index)
            self.store_all(pairs, tuple(index))

    def write_blocks(self, shape: Shape, pairs: Any, axes: Sequence[int]) -> None:
        """Blocks of the last axis outside of all others: reads that leap from lane to lane then
        fall on lines that the next iterations of the other axes use too."""
        last, extent = axes[-1], shape[axes[-1]]
        whole = extent - extent % BLOCK
        for first, count, block in ((0, whole, BLOCK), (whole, extent - whole, extent - whole)):
            if not count:
                continue
            with ExitStack() as loops:
                index = [At(0)] * len(shape)
                number = loops.enter_context(self.b.loop(count // block))
                start = number.index * block + first
                if count == block:
                    start = At(first)
                for axis in axes[:-1]:
                    index[axis] = as_at(loops.enter_context(self.b.loop(shape[axis])).index)
                lane = loops.enter_context(self.lanes(block))
                index[last] = start + lane.index
                self.assume_below(index[last], extent)
                self.store_all(pairs, tuple(index))

    def store_all(self, pairs: Any, index: Sequence[Any]) -> None:
        for node, buffer in pairs:
            at = self.offset(row_major(node.shape), index)
            self.put(buffer, at, self.element(node, index))
