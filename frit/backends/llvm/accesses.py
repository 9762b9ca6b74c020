"""Loads, stores and updates: how the step of an offset from lane to lane reaches memory.

    step 1     one vector            step 0     one element for all lanes
    step -1    one vector, reversed  step 2     two vectors and a shuffle (complex numbers)
    others     gather and scatter; updates lane by lane unless their places are distinct

Masked-off lanes touch nothing: masked vectors, or for single elements a spare place on the stack.
"""

from frit.backends.llvm.held import scalar
from frit.backends.llvm.values import I64, constant, poison
from frit.codegen.loops import Store


class Accesses:
    """The memory accesses of one emitter, which knows the width and mask of the moment."""

    def __init__(self, emitter):
        self.e = emitter
        self.b = emitter.b
        self.spare = None

    def enabled(self, mask):
        """The mask of an access: None for all, else i1 or one i1 a lane."""
        if mask is None:
            return self.e.mask
        if self.e.width == 1:
            return self.e.get(mask)
        own = self.e.lane(mask)
        return own if self.e.mask is None else self.b.and_(own, self.e.mask)

    def place(self, item):
        """(kind, pointer, uniform offset, step, varying offset) of an access."""
        uniform, step, varying = self.e.split_offset(item.at)
        return scalar(item.buffer.dtype), self.e.pointers[id(item.buffer)], uniform, step, varying

    def spare_memory(self):
        """A place for accesses that are switched off."""
        if self.spare is None:
            self.spare = self.b.alloca(I64, 8, align=64)
        return self.spare

    def load(self, item):
        kind, pointer, uniform, step, varying = self.place(item)
        b, mask = self.b, self.enabled(item.mask)
        if varying is None and step == 0:
            return self.load_uniform(kind, pointer, uniform, self.uniform_mask(item, mask))
        memory = kind.memory.with_lanes(self.e.width)
        if varying is None and step == 1:
            place = b.gep(pointer, uniform, kind.memory)
            loaded = b.load(memory, place) if mask is None else b.masked_load(memory, place, mask)
        elif varying is None and step == -1:
            place = b.gep(pointer, b.sub(uniform, self.e.width - 1), kind.memory)
            if mask is None:
                loaded = b.load(memory, place)
            else:
                loaded = b.masked_load(memory, place, self.reversed(mask))
            loaded = self.reversed(loaded)
        elif varying is None and step == 2 and mask is None:
            loaded = self.load_every_other(kind, pointer, uniform)
        else:
            places = b.gep(pointer, self.e.index_value(item.at), kind.memory)
            loaded = b.gather(memory, places, mask)
        return self.e.operations.from_memory(kind, loaded)

    def uniform_mask(self, item, mask):
        """The mask of an access to one place: i1 where the access's own does not differ by lane."""
        if item.mask is None:
            return None if self.e.some_lane else mask
        own = self.e.get(item.mask)
        if self.e.width == 1 or own.type.lanes > 1:
            return mask
        if self.e.mask is None or self.e.some_lane:
            return own
        return self.b.and_(own, self.b.any(self.e.mask))

    def load_uniform(self, kind, pointer, offset, mask):
        """One element for all lanes; if no lane is on, nothing is read, and it is 0."""
        b = self.b
        place = b.gep(pointer, offset, kind.memory)
        if mask is None:
            return self.e.operations.from_memory(kind, b.load(kind.memory, place))
        some = b.any(mask) if mask.type.lanes > 1 else mask
        place = b.select(some, place, self.spare_memory())
        loaded = b.load(kind.memory, place)
        loaded = loaded if mask.type.lanes == 1 else self.e.widened(loaded)
        loaded = b.select(mask, loaded, constant(self.like_mask(kind, mask), 0))
        return self.e.operations.from_memory(kind, loaded)

    def like_mask(self, kind, mask):
        return kind.memory.with_lanes(mask.type.lanes)

    def load_every_other(self, kind, pointer, offset):
        """Elements 0, 2, 4, ...: two loads that end at the last of them, never beyond."""
        b, width = self.b, self.e.width
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
        if self.e.width == 1:
            place = b.gep(pointer, uniform, kind.memory)
            if mask is not None:
                place = b.select(mask, place, self.spare_memory())
            b.store(self.e.operations.to_memory(kind, self.e.get(item.value)), place)
            return
        value = self.e.operations.to_memory(kind, self.e.lane(item.value))
        if varying is None and step in (1, -1):
            if step == -1:
                value = self.reversed(value)
                uniform = b.sub(uniform, self.e.width - 1)
                mask = None if mask is None else self.reversed(mask)
            place = b.gep(pointer, uniform, kind.memory)
            if mask is None:
                b.store(value, place)
            else:
                b.masked_store(value, place, mask)
        else:
            b.scatter(
                value,
                b.gep(pointer, self.e.widened(self.e.index_value(item.at)), kind.memory),
                mask,
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
        _, step, varying = self.e.split_offset(item.at)
        return step == 2 and varying is None

    def store_pair(self, first, second):
        kind, pointer, uniform, _, _ = self.place(first)
        b, mask, width = self.b, self.enabled(first.mask), self.e.width
        values = [self.e.operations.to_memory(kind, self.e.lane(s.value)) for s in (first, second)]
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
        b, mask, width = self.b, self.enabled(item.mask), self.e.width
        dtype = item.buffer.dtype
        if width > 1 and item.unique and varying is None and step == 1:
            self.update_run(item, kind, mask)
            return
        places = b.gep(pointer, self.e.index_value(item.at), kind.memory)
        if width > 1 and item.unique and (step or varying is not None):
            memory = kind.memory.with_lanes(width)
            old = self.e.operations.from_memory(kind, b.gather(memory, places, mask))
            new = self.e.combine(item.op, dtype, old, self.e.lane(item.value))
            b.scatter(self.e.operations.to_memory(kind, new), places, mask)
            return
        values = self.e.get(item.value) if width == 1 else self.e.lane(item.value)
        for lane in range(width):
            place = b.extract_element(places, lane)
            if mask is not None:
                place = b.select(b.extract_element(mask, lane), place, self.spare_memory())
            old = self.e.operations.from_memory(kind, b.load(kind.memory, place))
            new = self.e.combine(item.op, dtype, old, b.extract_element(values, lane))
            b.store(self.e.operations.to_memory(kind, new), place)

    def update_run(self, item, kind, mask):
        """An update of neighbours in memory."""
        b = self.b
        memory = kind.memory.with_lanes(self.e.width)
        uniform, _, _ = self.e.split_offset(item.at)
        place = b.gep(self.e.pointers[id(item.buffer)], uniform, kind.memory)
        old = b.load(memory, place) if mask is None else b.masked_load(memory, place, mask)
        old = self.e.operations.from_memory(kind, old)
        new = self.e.combine(item.op, item.buffer.dtype, old, self.e.lane(item.value))
        new = self.e.operations.to_memory(kind, new)
        if mask is None:
            b.store(new, place)
        else:
            b.masked_store(new, place, mask)
