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

from frit.backends.llvm.builder import Builder
from frit.backends.llvm.operations import Operations, as_constant, scalar
from frit.backends.llvm.values import (
    I1,
    I32,
    I64,
    PTR,
    VOID,
    Value,
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
    bodies_of,
    walk,
)

SMALL_BODY = 10  # items; a body of at most so many is written once for each part of its carries


class Parts(list):
    """The machine vectors of a value with lanes of its own, lowest lanes first."""


class Lane:
    """The index of a vector loop: `base` in the first lane, one more in each further lane."""

    __slots__ = ("base",)

    def __init__(self, base):
        self.base = base


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
        self.spare = None

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
        if isinstance(value, Const):
            kind = scalar(value.dtype)
            if value.lanes == 1:
                return as_constant(kind, value.value, 1)
            lanes = min(value.lanes, self.target.lanes(max(kind.register.bits, 32)))
            return Parts([as_constant(kind, value.value, lanes)] * (value.lanes // lanes))
        if isinstance(value, At):
            return self.index_value(value)
        found = self.values[id(value)]
        return self.lanes_from(found.base, 1) if isinstance(found, Lane) else found

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
            if self.width > 1 and self.is_pair(item, items, position):
                self.store_pair(item, items[position + 1])
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
                self.put(item, self.load(item))
            case Store():
                self.store(item)
            case Select():
                self.put(item, self.select(item))
            case For():
                self.loop(item)
            case If():
                self.branch(item)
            case While():
                self.repeat(item)
            case Update():
                self.update(item)
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

    def apply(self, item):
        dtypes = [value.dtype for value in item.operands]

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

    # ------------------------------------------------------------------------------- memory

    def enabled(self, mask):
        """The mask of an access: None for all, else i1 or one i1 a lane."""
        if mask is None:
            return self.mask
        if self.width == 1:
            return self.get(mask)
        own = self.lane(mask)
        return own if self.mask is None else self.b.and_(own, self.mask)

    def place(self, item):
        """(kind, pointer, uniform offset, step, varying offset) of an access."""
        uniform, step, varying = self.split_offset(item.at)
        return scalar(item.buffer.dtype), self.pointers[id(item.buffer)], uniform, step, varying

    def spare_memory(self):
        """A place for accesses that are switched off."""
        if self.spare is None:
            self.spare = self.b.alloca(I64, 8, align=64)
        return self.spare

    def load(self, item):
        kind, pointer, uniform, step, varying = self.place(item)
        b, mask = self.b, self.enabled(item.mask)
        if varying is None and step == 0:
            only_tail = item.mask is None and self.some_lane
            return self.load_uniform(kind, pointer, uniform, None if only_tail else mask)
        memory = kind.memory.with_lanes(self.width)
        if varying is None and step == 1:
            place = b.gep(pointer, uniform, kind.memory)
            loaded = b.load(memory, place) if mask is None else b.masked_load(memory, place, mask)
        elif varying is None and step == -1:
            place = b.gep(pointer, b.sub(uniform, self.width - 1), kind.memory)
            if mask is None:
                loaded = b.load(memory, place)
            else:
                loaded = b.masked_load(memory, place, self.reversed(mask))
            loaded = self.reversed(loaded)
        elif varying is None and step == 2 and mask is None:
            loaded = self.load_every_other(kind, pointer, uniform)
        else:
            places = b.gep(pointer, self.index_value(item.at), kind.memory)
            loaded = b.gather(memory, places, mask)
        return self.operations.from_memory(kind, loaded)

    def load_uniform(self, kind, pointer, offset, mask):
        """One element for all lanes; if no lane is on, nothing is read, and it is 0."""
        b = self.b
        place = b.gep(pointer, offset, kind.memory)
        if mask is None:
            return self.operations.from_memory(kind, b.load(kind.memory, place))
        some = b.any(mask) if mask.type.lanes > 1 else mask
        place = b.select(some, place, self.spare_memory())
        loaded = b.load(kind.memory, place)
        loaded = b.select(mask, self.widened(loaded), constant(self.like_mask(kind, mask), 0))
        return self.operations.from_memory(kind, loaded)

    def like_mask(self, kind, mask):
        return kind.memory.with_lanes(mask.type.lanes)

    def load_every_other(self, kind, pointer, offset):
        """Elements 0, 2, 4, ...: two loads that end at the last of them, never beyond."""
        b, width = self.b, self.width
        memory = kind.memory.with_lanes(width)
        place = b.gep(pointer, offset, kind.memory)
        low = b.load(memory, place)
        high = b.load(memory, b.gep(place, width - 1, kind.memory))
        order = [2 * k if 2 * k < width else width + 2 * k - (width - 1) for k in range(width)]
        return b.shuffle(low, high, order)

    def reversed(self, vector):
        order = range(vector.type.lanes - 1, -1, -1)
        return self.b.shuffle(vector, poison(vector.type), order)

    def store(self, item):
        kind, pointer, uniform, step, varying = self.place(item)
        b, mask = self.b, self.enabled(item.mask)
        if self.width == 1:
            place = b.gep(pointer, uniform, kind.memory)
            if mask is not None:
                place = b.select(mask, place, self.spare_memory())
            b.store(self.operations.to_memory(kind, self.get(item.value)), place)
            return
        value = self.operations.to_memory(kind, self.lane(item.value))
        if varying is None and step in (1, -1):
            if step == -1:
                value = self.reversed(value)
                uniform = b.sub(uniform, self.width - 1)
                mask = None if mask is None else self.reversed(mask)
            place = b.gep(pointer, uniform, kind.memory)
            if mask is None:
                b.store(value, place)
            else:
                b.masked_store(value, place, mask)
        else:
            b.scatter(
                value, b.gep(pointer, self.widened(self.index_value(item.at)), kind.memory), mask
            )

    def is_pair(self, item, items, position):
        """Whether two stores fill a complex element: neighbours, two apart from lane to lane."""
        if not isinstance(item, Store) or position + 1 == len(items):
            return False
        other = items[position + 1]
        if not isinstance(other, Store) or other.buffer is not item.buffer:
            return False
        if other.mask is not item.mask or (other.at - item.at).key() != (1,):
            return False
        _, step, varying = self.split_offset(item.at)
        return step == 2 and varying is None

    def store_pair(self, first, second):
        kind, pointer, uniform, _, _ = self.place(first)
        b, mask, width = self.b, self.enabled(first.mask), self.width
        values = [self.operations.to_memory(kind, self.lane(s.value)) for s in (first, second)]
        for part in range(2):
            lanes = range(part * width // 2, (part + 1) * width // 2)
            order = [lane for k in lanes for lane in (k, k + width)]
            mixed = b.shuffle(*values, order)
            place = b.gep(pointer, b.add(uniform, part * width), kind.memory)
            if mask is None:
                b.store(mixed, place)
            else:
                twice = b.shuffle(mask, mask, [k for k in lanes for _ in range(2)])
                b.masked_store(mixed, place, twice)

    def update(self, item):
        kind, pointer, _, step, varying = self.place(item)
        b, mask, width = self.b, self.enabled(item.mask), self.width
        dtype = item.buffer.dtype
        if width > 1 and item.unique and varying is None and step == 1:
            self.update_run(item, kind, mask)
            return
        places = b.gep(pointer, self.index_value(item.at), kind.memory)
        if width > 1 and item.unique and (step or varying is not None):
            memory = kind.memory.with_lanes(width)
            old = self.operations.from_memory(kind, b.gather(memory, places, mask))
            new = self.combine(item.op, dtype, old, self.lane(item.value))
            b.scatter(self.operations.to_memory(kind, new), places, mask)
            return
        values = self.get(item.value) if width == 1 else self.lane(item.value)
        for lane in range(width):
            place = b.extract_element(places, lane)
            if mask is not None:
                place = b.select(b.extract_element(mask, lane), place, self.spare_memory())
            old = self.operations.from_memory(kind, b.load(kind.memory, place))
            new = self.combine(item.op, dtype, old, b.extract_element(values, lane))
            b.store(self.operations.to_memory(kind, new), place)

    def update_run(self, item, kind, mask):
        """An update of neighbours in memory."""
        b = self.b
        memory = kind.memory.with_lanes(self.width)
        uniform, _, _ = self.split_offset(item.at)
        place = b.gep(self.pointers[id(item.buffer)], uniform, kind.memory)
        old = b.load(memory, place) if mask is None else b.masked_load(memory, place, mask)
        old = self.operations.from_memory(kind, old)
        new = self.combine(item.op, item.buffer.dtype, old, self.lane(item.value))
        new = self.operations.to_memory(kind, new)
        if mask is None:
            b.store(new, place)
        else:
            b.masked_store(new, place, mask)

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

    # ------------------------------------------------------------------------------ control

    def branch(self, item):
        condition = self.get(item.condition)
        if condition.type.lanes > 1:
            self.predicate(item, condition)
            return
        b = self.b
        sides = (item.then, item.otherwise)
        then, otherwise = b.new_block("then"), b.new_block("else")
        after = b.new_block("join")
        b.cond_br(condition, then, otherwise)
        ends = []
        varying = [False] * len(item.results)
        if self.width > 1:
            varying = self.varying_yields(sides)
        for side, block in zip(sides, (then, otherwise), strict=True):
            b.position_at_end(block)
            yielded = self.body(side)
            yielded = [
                self.widened(register) if wide else register
                for register, wide in zip(yielded, varying, strict=True)
            ]
            ends.append(([flat for r in yielded for flat in flattened(r)], yielded, b.block))
            b.br(after)
        b.position_at_end(after)
        (flat, shapes, end), (other, _, other_end) = ends
        phis = [b.phi(x.type, [(x, end), (y, other_end)]) for x, y in zip(flat, other, strict=True)]
        self.put_all(item.results, shapes, phis)

    def varying_yields(self, sides):
        known = self.varying_values()
        flags = [_yields_varying(side, known) for side in sides]
        return [any(pair) for pair in zip(*flags, strict=True)]

    def varying_values(self):
        """Ids of the values that are not one scalar for all lanes."""
        return {
            key
            for key, register in self.values.items()
            if isinstance(register, Lane)
            or (isinstance(register, Value) and register.type.lanes > 1)
        }

    def predicate(self, item, condition):
        """Both sides, each under the lanes that take it."""
        b = self.b
        yielded = []
        for side, lanes in ((item.then, condition), (item.otherwise, None)):
            if lanes is None:
                lanes = b.not_(condition)
            with self.under(lanes):
                yielded.append([self.widened(register) for register in self.body(side)])
        for result, x, y in zip(item.results, *yielded, strict=True):
            self.put(result, b.select(condition, x, y))

    @contextmanager
    def under(self, lanes, *, some_lane=False):
        """Accesses happen only in `lanes` (of those that are on) until the end of the `with`."""
        outer = self.mask, self.some_lane
        self.mask = lanes if self.mask is None else self.b.and_(self.mask, lanes)
        self.some_lane = some_lane
        yield
        self.mask, self.some_lane = outer

    def put_all(self, results, shapes, registers):
        """Binds results to flat registers, grouped as `shapes` are."""
        position = 0
        for result, shape in zip(results, shapes, strict=True):
            if isinstance(shape, Parts):
                self.put(result, Parts(registers[position : position + len(shape)]))
                position += len(shape)
            else:
                self.put(result, registers[position])
                position += 1

    def initial(self, item, bodies):
        """Registers of a loop's first carries, wide where any turn makes them vary."""
        registers = [self.get(value) for value in item.initial]
        if self.width == 1 or not registers:
            return registers
        varying = _varying_carries(item, bodies, self.varying_values())
        return [
            self.widened(register) if wide else register
            for register, wide in zip(registers, varying, strict=True)
        ]

    def like(self, registers, shapes):
        """Registers in the widths of `shapes`."""
        made = []
        for register, shape in zip(registers, shapes, strict=True):
            if isinstance(shape, Parts):
                made.append(regroup(self.b, register, shape[0].type.lanes))
            elif shape.type.lanes > 1:
                made.append(self.widened(register))
            else:
                made.append(register)
        return made

    def repeat(self, item):
        """A while loop; with a varying condition lanes drop out one by one."""
        b = self.b
        first = self.initial(item, (item.condition, item.body))
        head, body, after = b.new_block("while"), b.new_block("do"), b.new_block("done")
        before = b.block
        b.br(head)
        b.position_at_end(head)
        phis = [b.phi(x.type, [(x, before)]) for r in first for x in flattened(r)]
        self.put_all(item.carries, first, phis)
        (condition,) = self.body(item.condition)
        masked = condition.type.lanes > 1
        if masked and self.mask is not None:
            condition = b.and_(condition, self.mask)
        b.cond_br(b.any(condition) if masked else condition, body, after)
        b.position_at_end(body)
        if masked:
            with self.under(condition, some_lane=True):
                yielded = self.like(self.body(item.body), first)
            old = [self.get(carry) for carry in item.carries]
            yielded = [b.select(condition, x, y) for x, y in zip(yielded, old, strict=True)]
        else:
            yielded = self.like(self.body(item.body), first)
        flat = [x for register in yielded for x in flattened(register)]
        for phi, value in zip(phis, flat, strict=True):
            phi.add_incoming(value, b.block)
        b.loop_br(head)
        b.position_at_end(after)
        self.put_all(item.results, first, phis)

    def loop(self, item):
        if item.kind == "vector" and self.width == 1:
            _VectorLoop(self, item).emit()
        elif item.kind == "vector" and item.carries:
            raise TypeError("a vector loop with carries inside a vector loop")
        elif item.kind == "unrolled" or (isinstance(item.extent, int) and item.extent <= 1):
            self.unrolled(item)
        else:
            self.counted(item)

    def unrolled(self, item):
        state = self.initial(item, (item.body,))
        for turn in range(item.extent):
            self.put(item.index, constant(I64, turn))
            for carry, register in zip(item.carries, state, strict=True):
                self.put(carry, register)
            state = self.like(self.body(item.body), state)
        for result, register in zip(item.results, state, strict=True):
            self.put(result, register)

    def extent_of(self, item):
        if isinstance(item.extent, int):
            return constant(I64, item.extent)
        extent = self.get(item.extent)
        if extent.type.lanes > 1:
            raise TypeError("a loop whose extent differs from lane to lane; write a While")
        return extent

    def counted(self, item):
        first = self.initial(item, (item.body,))
        flat = [x for register in first for x in flattened(register)]
        with self.b.loop(0, self.extent_of(item), carries=flat) as made:
            self.put(item.index, made.index)
            self.put_all(item.carries, first, made.carries)
            yielded = self.like(self.body(item.body), first)
            made.results = [x for register in yielded for x in flattened(register)]
        self.put_all(item.results, first, made.carries)


class _VectorLoop:
    """The emission of one vector loop: whole blocks of lanes, then the rest under a mask."""

    def __init__(self, emitter, item):
        self.e = emitter
        self.b = emitter.b
        self.item = item
        known = item.extent if isinstance(item.extent, int) else None
        lanes = emitter.target.lanes(_widest_bits(item))
        if item.carries:
            lanes = min(lanes, item.width)
        elif item.width:
            lanes = min(lanes, item.width)
        if known is not None and not item.carries:
            while lanes > 1 and known <= lanes // 2:
                lanes //= 2
        self.known = known
        self.width = lanes
        self.groups = item.width // lanes if item.carries else 1

    def emit(self):
        if self.known == 0:
            state = [self.e.get(value) for value in self.item.initial]
        elif self.item.carries:
            state = self.reduction()
        else:
            self.map()
            return
        for result, register in zip(self.item.results, state, strict=True):
            self.e.put(result, register)

    @contextmanager
    def lanes(self, width, mask=None, *, some_lane=True):
        """Emission inside the loop: `width` lanes, under `mask`."""
        e = self.e
        outer = e.width, e.mask, e.some_lane, e.offsets, e.splats
        e.width, e.mask, e.some_lane = width, mask, some_lane
        e.offsets, e.splats = dict(e.offsets), {}
        yield
        e.width, e.mask, e.some_lane, e.offsets, e.splats = outer

    def block(self, base, carries=(), mask=None, *, width=None, some_lane=True):
        """The body once for `width` lanes from `base`; returns its yields, one register each."""
        width = self.width if width is None else width
        with self.lanes(width, mask if width > 1 else None, some_lane=some_lane):
            self.e.put(self.item.index, Lane(base) if width > 1 else base)
            for carry, register in zip(self.item.carries, carries, strict=True):
                self.e.put(carry, register)
            yielded = [self.e.widened(register) for register in self.e.body(self.item.body)]
        if mask is not None and width > 1:
            yielded = [
                self.b.select(mask, new, old) for new, old in zip(yielded, carries, strict=True)
            ]
        return yielded

    def below(self, base, stop):
        """The mask of the lanes from `base` that are below `stop` (or a known count of lanes)."""
        if isinstance(stop, int):
            if stop >= self.width:
                return None
            return constant_lanes(I1, [lane < stop for lane in range(self.width)])
        b = self.b
        left = b.smin(b.sub(stop, base), constant(I64, self.width))
        left = b.trunc(b.smax(left, constant(I64, 0)), I32)
        return b.icmp("ult", b.lane_numbers(I32, self.width), b.splat(left, self.width))

    # without carries

    def map(self):
        b, width = self.b, self.width
        if self.known is not None:
            whole = self.known - self.known % width
            if whole == width:
                self.block(constant(I64, 0))
            elif whole:
                self.blocks(constant(I64, 0), constant(I64, whole), width)
            self.rest(whole, self.known)
            return
        stop = self.e.extent_of(self.item)
        whole = b.and_(stop, -width) if width > 1 else stop
        self.blocks(constant(I64, 0), whole, width)
        if width == 1:
            return
        if not self.e.target.has_masks:
            self.blocks(whole, stop, 1)
            return
        tail, after = b.new_block("tail"), b.new_block("after")
        b.cond_br(b.icmp("slt", whole, stop), tail, after)
        b.position_at_end(tail)
        self.block(whole, mask=self.below(whole, stop))
        b.br(after)
        b.position_at_end(after)

    def rest(self, start, stop):
        if start == stop:
            return
        if not self.e.target.has_masks:
            self.blocks(constant(I64, start), constant(I64, stop), 1)
        else:
            self.block(constant(I64, start), mask=self.below(None, stop - start))

    def blocks(self, start, stop, width):
        with self.b.loop(start, stop, width) as made:
            self.block(made.index, width=width)

    # with carries

    def reduction(self):
        """Final carries, as Parts: whole turns of `item.width` iterations, then what is left."""
        e, b, item = self.e, self.b, self.item
        state = [regroup(b, _as_parts(e.get(v)), self.width) for v in item.initial]
        turn = item.width
        if self.known is not None:
            whole = self.known - self.known % turn
            if whole:
                state = self.turns(constant(I64, whole), state)
            return self.known_rest(state, whole, self.known - whole)
        stop = e.extent_of(item)
        whole = b.sub(stop, b.srem(stop, constant(I64, turn)))
        state = self.turns(whole, state)
        return self.rotate(whole, b.add(whole, turn), state, stop)

    def turns(self, stop, state):
        """All iterations below `stop`, a multiple of the carries' width."""
        small = sum(1 for _ in walk(self.item.body)) <= SMALL_BODY
        if self.groups > 1 and not small:
            return self.rotate(constant(I64, 0), stop, state, None)
        flat = [x for parts in state for x in parts]
        with self.b.loop(0, stop, self.item.width, carries=flat) as made:
            parts = self.grouped(made.carries)
            for group in range(self.groups):
                base = self.b.add(made.index, group * self.width) if group else made.index
                yielded = self.block(base, [p[group] for p in parts])
                for part, register in zip(parts, yielded, strict=True):
                    part[group] = register
            made.results = [x for part in parts for x in part]
        return self.grouped(made.carries)

    def grouped(self, flat):
        count = self.groups
        return [Parts(flat[k : k + count]) for k in range(0, len(flat), count)]

    def rotate(self, start, stop, state, limit):
        """Iterations from start to stop, one machine vector at a time, parts of carries in turn.

        stop - start is a multiple of the carries' width, so each part ends at its own place. Lanes
        from `limit` on are off.
        """
        flat = [x for parts in state for x in parts]
        with self.b.loop(start, stop, self.width, carries=flat) as made:
            parts = self.grouped(made.carries)
            mask = None if limit is None else self.below(made.index, limit)
            yielded = self.block(made.index, [p[0] for p in parts], mask, some_lane=limit is None)
            made.results = [x for p, new in zip(parts, yielded, strict=True) for x in (*p[1:], new)]
        return self.grouped(made.carries)

    def known_rest(self, state, start, count):
        """The last `count` iterations, fewer than the carries' width, from `start`."""
        blocks = -(-count // self.width)
        if blocks > 2 and sum(1 for _ in walk(self.item.body)) > SMALL_BODY:
            first = constant(I64, start)
            limit = constant(I64, start + count)
            return self.rotate(first, constant(I64, start + self.item.width), state, limit)
        for group in range(blocks):
            left = count - group * self.width
            carries = [parts[group] for parts in state]
            base = constant(I64, start + group * self.width)
            yielded = self.block(base, carries, self.below(None, left))
            for parts, register in zip(state, yielded, strict=True):
                parts[group] = register
        return state


# ----------------------------------------------------------------------------------- registers


def flattened(register):
    """The LLVM values that a register consists of."""
    return register if isinstance(register, Parts) else (register,)


def _as_parts(register):
    return register if isinstance(register, Parts) else Parts([register])


def regroup(b, parts, width):
    """The same lanes in machine vectors of `width` lanes."""
    have = parts[0].type.lanes
    if have == width:
        return Parts(parts)
    if have > width:
        made = Parts()
        for part in parts:
            for first in range(0, have, width):
                if width == 1:
                    made.append(b.extract_element(part, first))
                else:
                    made.append(b.shuffle(part, poison(part.type), range(first, first + width)))
        return made
    pairs = Parts(b.concatenate(parts[k], parts[k + 1]) for k in range(0, len(parts), 2))
    return regroup(b, pairs, width)


def _widest_bits(item):
    """Bits of the widest element that a loop touches, carries, or computes as a float."""
    bits = 8
    for carry in item.carries:
        bits = max(bits, scalar(carry.dtype).register.bits)
    for inner in walk(item.body):
        if isinstance(inner, (Load, Store, Update)):
            kind = scalar(inner.buffer.dtype)
            bits = max(bits, kind.register.bits if kind.is_float else kind.bits)
        elif isinstance(inner, Apply) and scalar(inner.dtype).is_float:
            bits = max(bits, scalar(inner.dtype).register.bits)
    return bits


# ----------------------------------------------------------------- which values vary by lane


def _mark_varying(body, varying):
    """Adds to `varying` the ids of a body's items that depend on a lane."""

    def varies(value):
        if isinstance(value, At):
            return any(id(term) in varying for _, term in value.terms)
        return value is not None and id(value) in varying

    for item in body.items:
        match item:
            case Load(at=at, mask=mask):
                wide = varies(at) or varies(mask)
            case Apply(operands=operands):
                wide = any(map(varies, operands))
            case Select(condition=condition, on_true=x, on_false=y):
                wide = varies(condition) or varies(x) or varies(y)
            case For() | While():
                flags = _varying_carries(item, bodies_of(item), varying)
                _add(varying, item.results, flags)
                continue
            case If(condition=condition, then=then, otherwise=otherwise):
                flags = [
                    varies(condition) or x or y
                    for x, y in zip(
                        _yields_varying(then, varying),
                        _yields_varying(otherwise, varying),
                        strict=True,
                    )
                ]
                _add(varying, item.results, flags)
                continue
            case _:
                continue
        if wide:
            varying.add(id(item))
    return varying


def _add(varying, values, flags):
    varying.update(id(value) for value, flag in zip(values, flags, strict=True) if flag)


def _yields_varying(body, varying):
    inside = _mark_varying(body, set(varying))
    return [_is_varying(value, inside) for value in body.yields]


def _is_varying(value, varying):
    if isinstance(value, At):
        return any(id(term) in varying for _, term in value.terms)
    return id(value) in varying


def _varying_carries(item, bodies, varying):
    """For each carry of a loop whether it differs from lane to lane: a least fixed point."""
    flags = [_is_varying(value, varying) for value in item.initial]
    while True:
        known = set(varying)
        _add(known, item.carries, flags)
        found = _yields_varying(bodies[-1], known)
        if isinstance(item, While) and _yields_varying(bodies[0], known)[0]:
            found = [True] * len(flags)
        merged = [x or y for x, y in zip(flags, found, strict=True)]
        if merged == flags:
            return flags
        flags = merged
