"""Branches and loops: real ones for conditions that all lanes share, masks for the others.

A branch on a varying condition runs both sides, each in its lanes; a while loop on one runs until
no lane is left, and keeps the carries of the lanes that have finished.
"""

from frit.backends.llvm.parts import Lane, Parts, flattened, regroup
from frit.backends.llvm.values import I64, Value, constant
from frit.backends.llvm.variance import varying_carries, yields_varying
from frit.backends.llvm.vector_loops import VectorLoop


class Control:
    """The control flow of one emitter."""

    def __init__(self, emitter):
        self.e = emitter
        self.b = emitter.b

    def branch(self, item):
        condition = self.e.get(item.condition)
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
        if self.e.width > 1:
            varying = self.varying_yields(sides)
        for side, block in zip(sides, (then, otherwise), strict=True):
            b.position_at_end(block)
            yielded = self.e.body(side)
            yielded = [
                self.e.widened(register) if wide else register
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
        flags = [yields_varying(side, known) for side in sides]
        return [any(pair) for pair in zip(*flags, strict=True)]

    def varying_values(self):
        """Ids of the values that are not one scalar for all lanes."""
        return {
            key
            for key, register in self.e.values.items()
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
            with self.e.under(lanes):
                yielded.append([self.e.widened(register) for register in self.e.body(side)])
        for result, x, y in zip(item.results, *yielded, strict=True):
            self.e.put(result, b.select(condition, x, y))

    def put_all(self, results, shapes, registers):
        """Binds results to flat registers, grouped as `shapes` are."""
        position = 0
        for result, shape in zip(results, shapes, strict=True):
            if isinstance(shape, Parts):
                self.e.put(result, Parts(registers[position : position + len(shape)]))
                position += len(shape)
            else:
                self.e.put(result, registers[position])
                position += 1

    def initial(self, item, bodies):
        """Registers of a loop's first carries, wide where any turn makes them vary."""
        registers = [self.e.get(value) for value in item.initial]
        if self.e.width == 1 or not registers:
            return registers
        varying = varying_carries(item, bodies, self.varying_values())
        return [
            self.e.widened(register) if wide else register
            for register, wide in zip(registers, varying, strict=True)
        ]

    def like(self, registers, shapes):
        """Registers in the widths of `shapes`."""
        made = []
        for register, shape in zip(registers, shapes, strict=True):
            if isinstance(shape, Parts):
                made.append(regroup(self.b, register, shape[0].type.lanes))
            elif shape.type.lanes > 1:
                made.append(self.e.widened(register))
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
        (condition,) = self.e.body(item.condition)
        masked = condition.type.lanes > 1
        if masked and self.e.mask is not None:
            condition = b.and_(condition, self.e.mask)
        b.cond_br(b.any(condition) if masked else condition, body, after)
        b.position_at_end(body)
        if masked:
            with self.e.under(condition, some_lane=True):
                yielded = self.like(self.e.body(item.body), first)
            old = [self.e.get(carry) for carry in item.carries]
            yielded = [b.select(condition, x, y) for x, y in zip(yielded, old, strict=True)]
        else:
            yielded = self.like(self.e.body(item.body), first)
        flat = [x for register in yielded for x in flattened(register)]
        for phi, value in zip(phis, flat, strict=True):
            phi.add_incoming(value, b.block)
        b.loop_br(head)
        b.position_at_end(after)
        self.put_all(item.results, first, phis)

    def loop(self, item):
        if item.kind == "vector" and self.e.width == 1:
            VectorLoop(self.e, item).emit()
        elif item.kind == "vector" and item.carries:
            raise TypeError("a vector loop with carries inside a vector loop")
        elif item.kind == "unrolled" or (isinstance(item.extent, int) and item.extent <= 1):
            self.unrolled(item)
        else:
            self.counted(item)

    def unrolled(self, item):
        state = self.initial(item, (item.body,))
        for turn in range(item.extent):
            self.e.put(item.index, constant(I64, turn))
            for carry, register in zip(item.carries, state, strict=True):
                self.e.put(carry, register)
            state = self.like(self.e.body(item.body), state)
        for result, register in zip(item.results, state, strict=True):
            self.e.put(result, register)

    def extent_of(self, item):
        if isinstance(item.extent, int):
            return constant(I64, item.extent)
        extent = self.e.get(item.extent)
        if extent.type.lanes > 1:
            raise TypeError("a loop whose extent differs from lane to lane; write a While")
        return extent

    def counted(self, item):
        first = self.initial(item, (item.body,))
        flat = [x for register in first for x in flattened(register)]
        with self.b.loop(0, self.extent_of(item), carries=flat) as made:
            self.e.put(item.index, made.index)
            self.put_all(item.carries, first, made.carries)
            yielded = self.like(self.e.body(item.body), first)
            made.results = [x for register in yielded for x in flattened(register)]
        self.put_all(item.results, first, made.carries)
