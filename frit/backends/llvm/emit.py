"""Loops to LLVM functions: where lanes become vectors.

Everything outside of a vector loop is scalar, or has lanes of its own. Inside one, a value is
either *uniform* (one LLVM scalar for all lanes) or *varying* (one LLVM vector of the loop's width):

    index              base + lane number
    load               of stride 1: one vector · stride 0: uniform · -1, 2: loads and a shuffle ·
                       else a gather
    arithmetic         uniform if its operands are, else each is splat where it is needed
    if, while          of a varying condition: both sides, or until no lane is left, under a mask
    update             lane by lane, unless its places are promised to be distinct

A value with lanes of its own is a list of machine vectors (`Parts`). A vector loop with carries of
64 lanes runs on machine vectors of fewer lanes in turn, each with its part of the carry, so results
do not depend on the machine. What is left of a loop runs once more under a mask.
"""

from __future__ import annotations

from contextlib import contextmanager

from frit.backends.llvm.accesses import Accesses
from frit.backends.llvm.builder import Builder
from frit.backends.llvm.control import Control
from frit.backends.llvm.held import as_constant, scalar
from frit.backends.llvm.operations import Operations
from frit.backends.llvm.parts import Lane, Parts, regroup
from frit.backends.llvm.values import (
    I32,
    I64,
    PTR,
    VOID,
    constant,
    constant_lanes,
    poison,
)
from frit.codegen.loops import (
    Apply,
    At,
    Broadcast,
    Call,
    Const,
    For,
    If,
    Load,
    Reduce,
    Select,
    Shuffle,
    Store,
    Update,
    While,
)


def emit_function(module, function, target, *, linkage="internal"):
    """Adds the LLVM function of a loop function to `module` and returns its symbol.

    Signature: `i32 name(ptr buffer..., i64 extent...)`, void unless it holds a Call.
    """
    parameters = [PTR] * len(function.parameters) + [I64] * len(function.extents)
    result = I32 if function.fallible else VOID
    made = module.function(function.name, result, parameters, linkage=linkage)
    _Emitter(made, function, target).run()
    return function.name


class _Emitter:
    def __init__(self, made, function, target):
        self.b = Builder(made)
        self.made = made
        self.function = function
        self.target = target
        self.operations = Operations(self.b, target)
        self.values = {}
        self.pointers = {}
        self.offsets = {}
        self.splats = {}
        self.width = 1
        self.mask = None
        self.some_lane = True  # whether some lane of the mask is known to be on
        self.accesses = Accesses(self)
        self.control = Control(self)

    def run(self):
        function = self.function
        for buffer, value in zip(function.parameters, self.made.parameters, strict=False):
            self.pointers[id(buffer)] = value
        for extent, value in zip(
            function.extents, self.made.parameters[len(function.parameters) :], strict=True
        ):
            self.values[id(extent)] = value
        for buffer in function.buffers:
            if buffer.space == "stack":
                count = 1
                for extent in buffer.shape:
                    count *= extent
                memory = scalar(buffer.dtype).memory
                self.pointers[id(buffer)] = self.b.alloca(memory, max(count, 1), align=64)
        self.body(function.body)
        self.b.ret(constant(I32, 0) if function.fallible else None)

    # ------------------------------------------------------------------------------- values

    def get(self, value):
        """The register of a value: scalar, vector of the loop's lanes, or Parts."""
        found = self.values.get(id(value))
        if found is not None:
            return self.lanes_from(found.base, 1) if isinstance(found, Lane) else found
        if isinstance(value, Const):
            kind = scalar(value.dtype)
            if value.lanes == 1:
                return as_constant(kind, value.value, 1)
            lanes = min(value.lanes, self.target.lanes(max(kind.register.bits, 32)))
            return Parts([as_constant(kind, value.value, lanes)] * (value.lanes // lanes))
        return self.index_value(value)

    def lane(self, value):
        """The register of a value with as many lanes as the loop."""
        if isinstance(value, Const):
            return as_constant(scalar(value.dtype), value.value, self.width)
        return self.widened(self.get(value), value)

    def widened(self, register, value=None):
        if self.width == 1 or register.type.lanes == self.width:
            return register
        if value is None:
            return self.b.splat(register, self.width)
        key = (id(value), self.width)
        made = self.splats.get(key)
        if made is None:
            made = self.splats[key] = self.b.splat(register, self.width)
        return made

    def lanes_from(self, base, step):
        """base, base + step, ... in the loop's lanes."""
        if self.width == 1:
            return base
        numbers = constant_lanes(I64, range(0, step * self.width, step))
        return self.b.add(self.b.splat(base, self.width), numbers)

    def split_offset(self, at):
        """An `At` as (uniform part, step from lane to lane, varying part or None)."""
        key = at.key()
        known = self.offsets.get(key)
        if known is not None:
            return known
        b = self.b
        uniform, step, varying = None, 0, None
        for factor, value in at.terms:
            register = self.values[id(value)]
            if isinstance(register, Lane):
                step += factor
                register = register.base
            if register.type.lanes > 1:
                term = b.mul(register, factor) if factor != 1 else register
                varying = term if varying is None else b.add(varying, term)
            else:
                term = b.mul(register, factor) if factor != 1 else register
                uniform = term if uniform is None else b.add(uniform, term)
        if uniform is None:
            uniform = constant(I64, at.constant)
        elif at.constant:
            uniform = b.add(uniform, at.constant)
        known = self.offsets[key] = (uniform, step if self.width > 1 else 0, varying)
        return known

    def index_value(self, at):
        uniform, step, varying = self.split_offset(at)
        if varying is None and step == 0:
            return uniform
        lanes = self.lanes_from(uniform, step) if step else self.b.splat(uniform, self.width)
        return lanes if varying is None else self.b.add(lanes, varying)

    def put(self, value, register):
        self.values[id(value)] = register

    # ------------------------------------------------------------------------------- bodies

    def body(self, body):
        """Emits a body and returns the registers of what it yields."""
        offsets, splats = self.offsets, self.splats
        self.offsets, self.splats = dict(offsets), dict(splats)
        items, position = body.items, 0
        while position < len(items):
            item = items[position]
            if self.width > 1 and self.accesses.is_pair(item, items, position):
                self.accesses.store_pair(item, items[position + 1])
                position += 2
                continue
            self.item(item)
            position += 1
        yielded = [self.get(value) for value in body.yields]
        self.offsets, self.splats = offsets, splats
        return yielded

    def item(self, item):
        match item:
            case Apply():
                self.put(item, self.apply(item))
            case Load():
                self.put(item, self.accesses.load(item))
            case Store():
                self.accesses.store(item)
            case Select():
                self.put(item, self.select(item))
            case For():
                self.control.loop(item)
            case If():
                self.control.branch(item)
            case While():
                self.control.repeat(item)
            case Update():
                self.accesses.update(item)
            case Broadcast(operand=operand, lanes=lanes):
                width = min(lanes, self.target.lanes(max(scalar(item.dtype).register.bits, 32)))
                splat = self.b.splat(self.get(operand), width)
                self.put(item, Parts([splat] * (lanes // width)))
            case Reduce():
                self.put(item, self.reduce(item))
            case Shuffle():
                self.put(item, self.shuffle(item))
            case Call():
                self.call(item)
            case _:
                raise TypeError(f"{type(item).__name__} does not stand in a body")

    def scalars(self, values):
        """Registers of values that have no lanes of their own, all of as many lanes."""
        registers = [self.get(value) for value in values]
        if self.width > 1 and len(registers) > 1:
            for register in registers:
                if register.type.lanes > 1:
                    return [self.widened(r, v) for r, v in zip(registers, values, strict=True)]
        return registers

    def operands(self, values):
        """Registers of equal shape: all scalars, all of the loop's lanes, or lists of parts."""
        registers = [self.get(value) for value in values]
        if any(isinstance(register, Parts) for register in registers):
            return self.aligned_parts(registers)
        if self.width > 1 and any(register.type.lanes > 1 for register in registers):
            return [self.widened(r, v) for r, v in zip(registers, values, strict=True)]
        return registers

    def aligned_parts(self, registers):
        widths = [r[0].type.lanes for r in registers if isinstance(r, Parts)]
        width = min(widths)
        total = next(len(r) * r[0].type.lanes for r in registers if isinstance(r, Parts))
        return [
            regroup(self.b, r, width)
            if isinstance(r, Parts)
            else Parts([self.b.splat(r, width)] * (total // width))
            for r in registers
        ]

    def each(self, function, registers):
        """`function(*registers)`, part by part where they have parts."""
        if isinstance(registers[0], Parts):
            return Parts(function(*part) for part in zip(*registers, strict=True))
        return function(*registers)

    def narrow_index(self, item):
        """An index converted to 32 bits, its lanes counted in 32 bits from the start; or None."""
        (at,) = item.operands
        if not isinstance(at, At) or item.dtype not in ("int32", "uint32"):
            return None
        uniform, step, varying = self.split_offset(at)
        if varying is not None or not step:
            return None
        numbers = constant_lanes(I32, range(0, step * self.width, step))
        return self.b.add(self.b.splat(self.b.trunc(uniform, I32), self.width), numbers)

    def apply(self, item):
        if item.op == "convert_element_type":
            narrow = self.narrow_index(item)
            if narrow is not None:
                return narrow
        dtypes = [value.dtype for value in item.operands]
        if item.lanes == 1:
            registers = self.scalars(item.operands)
            return self.operations.apply(item.op, item.dtype, registers, dtypes, item.params)

        def one(*registers):
            return self.operations.apply(item.op, item.dtype, registers, dtypes, item.params)

        return self.each(one, self.operands(item.operands))

    def select(self, item):
        return self.each(
            self.b.select, self.operands((item.condition, item.on_true, item.on_false))
        )

    def combine(self, op, dtype, x, y):
        return self.operations.apply(op, dtype, (x, y), (dtype, dtype), {})

    def reduce(self, item):
        parts = self.get(item.operand)
        parts = list(parts) if isinstance(parts, Parts) else [parts]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [
                self.combine(item.op, item.dtype, x, y)
                for x, y in zip(parts[:half], parts[half:], strict=True)
            ]
        (vector,) = parts
        while vector.type.lanes > 1:
            half = vector.type.lanes // 2
            low = self.half_of(vector, 0)
            high = self.half_of(vector, half)
            vector = self.combine(item.op, item.dtype, low, high)
        return vector

    def half_of(self, vector, first):
        half = vector.type.lanes // 2
        if half == 1:
            return self.b.extract_element(vector, first)
        return self.b.shuffle(vector, poison(vector.type), range(first, first + half))

    def shuffle(self, item):
        piece = self.neighbours(item)
        if piece is not None:
            return piece
        whole = self.joined(item.x), self.joined(item.y)
        if whole[0].type.lanes == 1:
            pair = self.b.concatenate(*whole)
            picked = self.b.shuffle(pair, poison(pair.type), item.order)
        else:
            picked = self.b.shuffle(*whole, item.order)
        if picked.type.lanes == 1:
            return self.b.extract_element(picked, 0)
        width = min(picked.type.lanes, self.target.lanes(max(picked.type.bits, 32)))
        return regroup(self.b, Parts([picked]), width)

    def neighbours(self, item):
        """The lanes of a shuffle that picks neighbours out of whole machine vectors, or of one."""
        parts, order = self.get(item.x), item.order
        first, count = order[0], len(order)
        if not isinstance(parts, Parts) or order != tuple(range(first, first + count)):
            return None
        width = parts[0].type.lanes
        position, within = divmod(first, width)
        if within == 0 and count % width == 0 and position + count // width <= len(parts):
            return Parts(parts[position : position + count // width])
        if within + count > width or position >= len(parts):
            return None
        part = parts[position]
        if count == 1:
            return self.b.extract_element(part, within)
        return Parts([self.b.shuffle(part, poison(part.type), range(within, within + count))])

    def joined(self, value):
        register = self.get(value)
        if not isinstance(register, Parts):
            return register
        return regroup(self.b, register, value.lanes)[0]

    # -------------------------------------------------------------------------------- calls

    def call(self, item):
        if self.width > 1:
            raise TypeError(f"call of {item.symbol} inside a vector loop")
        b = self.b
        arguments = []
        for argument in item.arguments:
            if isinstance(argument, tuple):
                buffer, at = argument
                place = b.gep(
                    self.pointers[id(buffer)], self.index_value(at), scalar(buffer.dtype).memory
                )
                arguments.append(place)
            else:
                arguments.append(self.get(argument))
        symbol = b.module.declare(item.symbol, I32, [value.type for value in arguments])
        status = b.call(symbol, I32, arguments)
        self.put(item.status, status)
        failed, following = b.new_block("failed"), b.new_block("called")
        b.cond_br(b.icmp("ne", status, 0), failed, following)
        b.position_at_end(failed)
        b.ret(status)
        b.position_at_end(following)

    @contextmanager
    def under(self, lanes, *, some_lane=False):
        """Accesses happen only in `lanes` (of those that are on) until the end of the `with`."""
        outer = self.mask, self.some_lane
        self.mask = lanes if self.mask is None else self.b.and_(self.mask, lanes)
        self.some_lane = some_lane
        yield
        self.mask, self.some_lane = outer
