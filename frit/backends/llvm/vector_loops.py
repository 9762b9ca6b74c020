"""Vector loops: whole blocks of lanes, then the rest under a mask.

A loop with carries of 64 lanes runs on machine vectors of fewer lanes in turn, each with its part
of the carry. Short bodies are written once for each part; of long ones there is one copy, and the
parts of the carries rotate: after as many turns as there are parts, each is back at its place.
"""

from contextlib import contextmanager

from frit.backends.llvm.held import scalar
from frit.backends.llvm.parts import Lane, Parts, as_parts, regroup
from frit.backends.llvm.values import I1, I32, I64, constant, constant_lanes
from frit.codegen.loops import Apply, Load, Store, Update, walk

SMALL_BODY = 10  # items; a body of at most so many is written once for each part of its carries
LARGE_BODY = 48  # items; a body of more is written once, with every block under a mask


class VectorLoop:
    """The emission of one vector loop: whole blocks of lanes, then the rest under a mask."""

    def __init__(self, emitter, item):
        self.e = emitter
        self.b = emitter.b
        self.item = item
        known = item.extent if isinstance(item.extent, int) else None
        self.natural = lanes = emitter.target.lanes(widest_bits(item))
        if item.carries:
            lanes = min(lanes, item.width)
        elif item.width:
            lanes = min(4 * lanes, item.width)
        if known is not None and not item.carries:
            while lanes > 1 and known <= lanes // 2:
                lanes //= 2
        self.known = known
        self.items = sum(1 for _ in walk(item.body))
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

    def is_large(self):
        """Whether a second copy of the body would cost more than masks do."""
        return self.e.target.has_masks and self.items > LARGE_BODY

    def masked_blocks(self):
        """All blocks in one loop, each under the mask of the lanes below the extent."""
        stop = self.e.control.extent_of(self.item)
        with self.b.loop(constant(I64, 0), stop, self.width) as made:
            self.block(made.index, mask=self.below(made.index, stop))

    def map(self):
        b, width = self.b, self.width
        if width > 1 and self.is_large() and (self.known is None or self.known % width):
            if self.known is None or self.known > width:
                self.masked_blocks()
                return
        if self.known is not None:
            whole = self.known - self.known % width
            if whole == width:
                self.block(constant(I64, 0))
            elif whole:
                self.blocks(constant(I64, 0), constant(I64, whole), width)
            if self.known - whole > self.natural < width:
                first, self.width = whole, self.natural
                whole = self.known - self.known % self.natural
                self.blocks(constant(I64, first), constant(I64, whole), self.natural)
            self.rest(whole, self.known)
            return
        stop = self.e.control.extent_of(self.item)
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
        state = [regroup(b, as_parts(e.get(v)), self.width) for v in item.initial]
        turn = item.width
        if self.known is not None:
            whole = self.known - self.known % turn
            if whole and whole < self.known and self.is_large() and self.groups > 1:
                stop = constant(I64, self.known)
                return self.rotate(constant(I64, 0), constant(I64, whole + turn), state, stop)
            if whole:
                state = self.turns(constant(I64, whole), state)
            return self.known_rest(state, whole, self.known - whole)
        stop = e.control.extent_of(item)
        if self.is_large():
            turns = b.sdiv(b.add(stop, turn - 1), constant(I64, turn))
            return self.rotate(constant(I64, 0), b.mul(turns, turn), state, stop)
        whole = b.sub(stop, b.srem(stop, constant(I64, turn)))
        state = self.turns(whole, state)
        return self.rotate(whole, b.add(whole, turn), state, stop)

    def turns(self, stop, state):
        """All iterations below `stop`, a multiple of the carries' width."""
        if self.groups > 1 and self.items > SMALL_BODY:
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
        if blocks > 2 and self.items > SMALL_BODY:
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


def widest_bits(item):
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
