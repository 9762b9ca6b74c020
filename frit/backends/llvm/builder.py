"""Writing instructions of LLVM IR, one method an instruction, as fast as text can be formatted.

    builder = Builder(function)          positioned at a new entry block
    total = builder.fadd(x, 2.0)         a Python number takes the type (and lanes) of its partner
    builder.ret(total)

No instruction carries fast-math flags, nsw or nuw: user arithmetic is IEEE and wraps. Every
arithmetic method works for scalars and vectors alike.
"""

from contextlib import contextmanager

from frit.backends.llvm.module import Block, Function, Module
from frit.backends.llvm.values import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    I128,
    PTR,
    VOID,
    Type,
    Value,
    constant,
    constant_lanes,
    integer,
    integer_like,
    mask_like,
    poison,
    zero,
)

__all__ = [
    "BF16", "F16", "F32", "F64", "I1", "I8", "I16", "I32", "I64", "I128", "PTR", "VOID",
    "Block", "Builder", "Function", "Module", "Phi", "Type", "Value", "constant", "constant_lanes",
    "integer", "integer_like", "mask_like", "poison", "zero",
]  # fmt: skip


class Phi(Value):
    """The value of a phi whose incoming pairs may be added after it is used."""

    __slots__ = ("incoming",)

    def __init__(self, text, type):
        super().__init__(text, type)
        self.incoming = []

    def add_incoming(self, value, block):
        """Says that control from `block` brings `value` (a Value or a number)."""
        if not isinstance(value, Value):
            value = constant(self.type, value)
        self.incoming.append((value, block))

    def __str__(self):
        pairs = ", ".join(f"[ {value.text}, %{block.label} ]" for value, block in self.incoming)
        return f"  {self.text} = phi {self.type.text} {pairs}"


def _binary(opcode):
    """A method for an instruction of two operands of one type; either may be a number."""

    def method(self, x, y):
        if not isinstance(y, Value):
            y = constant(x.type, y)
        elif not isinstance(x, Value):
            x = constant(y.type, x)
        return self._emit(y.type, f"{opcode} {y.type.text} {x.text}, {y.text}")

    method.__doc__ = f"`{opcode}` of two values of one type."
    return method


def _cast(opcode):
    """A method for a conversion; `type` may be a scalar type, which then takes x's lanes."""

    def method(self, x, type):
        if type.lanes != x.type.lanes:
            type = type.with_lanes(x.type.lanes)
        if type is x.type:
            return x
        return self._emit(type, f"{opcode} {x.type.text} {x.text} to {type.text}")

    method.__doc__ = f"`{opcode}` of x to `type`, lane by lane; x itself when that is its type."
    return method


def _intrinsic(name, *trailing):
    """A method for `llvm.name` of operands of one type; `trailing` are constant arguments."""

    def method(self, *operands):
        type = next(x.type for x in operands if isinstance(x, Value))
        operands = [x if isinstance(x, Value) else constant(type, x) for x in operands]
        return self.intrinsic(f"{name}.{type.code}", type, *operands, *trailing)

    method.__doc__ = f"`llvm.{name}` of operands of one type."
    return method


_FALSE = constant(I1, 0)


class Builder:
    """Appends instructions to blocks of one function; every method returns a Value."""

    __slots__ = ("_lines", "block", "function", "module")

    def __init__(self, function, block=None):
        self.function = function
        self.module = function.module
        self.position_at_end(block or function.block("entry"))

    # Where instructions go.

    def new_block(self, hint="b"):
        """A new block of the function; instructions still go to the current one."""
        return self.function.block(hint)

    def position_at_end(self, block):
        """Appends what follows to `block`."""
        self.block = block
        self._lines = block.lines

    def comment(self, text):
        """A comment line in the LLVM text."""
        self._lines.append(f"  ; {text}")

    def _emit(self, type, text):
        function = self.function
        function._counter = counter = function._counter + 1
        name = f"%v{counter}"
        self._lines.append(f"  {name} = {text}")
        return Value(name, type)

    def emit(self, type, text):
        """An instruction given as text, without its name; None when `type` is VOID."""
        if type is VOID:
            self._lines.append(f"  {text}")
            return None
        return self._emit(type, text)

    # Control.

    def _terminate(self, text):
        if self.block.terminated:
            raise ValueError(f"block {self.block.label} already has a terminator")
        self._lines.append(text)
        self.block.terminated = True

    def br(self, block):
        """Goes to `block`."""
        self._terminate(f"  br label %{block.label}")

    def loop_br(self, block, metadata=""):
        """Goes back to the head of a loop; metadata: of `Module.loop_metadata`."""
        self._terminate(f"  br label %{block.label}{', ' if metadata else ''}{metadata}")

    def cond_br(self, condition, yes, no, metadata=""):
        """Goes to `yes` if the i1 holds, else to `no`."""
        tail = f", {metadata}" if metadata else ""
        self._terminate(f"  br i1 {condition.text}, label %{yes.label}, label %{no.label}{tail}")

    def switch(self, value, default, cases):
        """Goes to the block of the case that equals the integer; cases: (number, block) pairs."""
        type = value.type.text
        inside = " ".join(f"{type} {number}, label %{block.label}" for number, block in cases)
        self._terminate(f"  switch {type} {value.text}, label %{default.label} [ {inside} ]")

    def ret(self, value=None):
        """Returns a value, or nothing."""
        self._terminate("  ret void" if value is None else f"  ret {value.type.text} {value.text}")

    def unreachable(self):
        """Says that control never comes here."""
        self._terminate("  unreachable")

    def phi(self, type, incoming=()):
        """A phi at this place; incoming: (value, block) pairs, more by `Phi.add_incoming`."""
        made = Phi(self.function.fresh(), type)
        for value, block in incoming:
            made.add_incoming(value, block)
        self._lines.append(made)
        return made

    @contextmanager
    def loop(self, start, stop, step=1, carries=(), metadata=None):
        """A counted loop `for index in range(start, stop, step)`, step > 0, stop a Value.

        Yields a `Loop` with `.index` and `.carries` (phis); set `.results` to the next carries in
        the body. After the with-block, `.carries` hold the final values and the builder stands
        behind the loop. Tested at the top: no turn when start >= stop (signed).
        """
        type = stop.type
        start = start if isinstance(start, Value) else constant(type, start)
        before, head = self.block, self.new_block("head")
        body, after = self.new_block("body"), self.new_block("after")
        self.br(head)
        self.position_at_end(head)
        index = self.phi(type, [(start, before)])
        phis = [self.phi(value.type, [(value, before)]) for value in carries]
        self.cond_br(self.icmp("slt", index, stop), body, after)
        self.position_at_end(body)
        made = Loop(index, phis)
        yield made
        if len(made.results) != len(phis):
            raise ValueError(f"a loop of {len(phis)} carries was given {len(made.results)} results")
        index.add_incoming(self.add(index, step), self.block)
        for phi, value in zip(phis, made.results, strict=True):
            phi.add_incoming(value, self.block)
        self.loop_br(head, self.module.loop_metadata() if metadata is None else metadata)
        self.position_at_end(after)

    def call(self, name, result, arguments, attributes=""):
        """Calls the function with this symbol (a str) or address (a ptr Value)."""
        target = name.text if isinstance(name, Value) else f"@{name}"
        inside = ", ".join([f"{x.type.text} {x.text}" for x in arguments])
        tail = f" {attributes}" if attributes else ""
        return self.emit(result, f"call {result.text} {target}({inside}){tail}")

    def intrinsic(self, name, result, *arguments):
        """Calls `llvm.name`, declaring it; `name` includes its type mangling."""
        name = f"llvm.{name}"
        if not self.module.has_declared(name):
            self.module.declare(name, result, [x.type for x in arguments])
        return self.call(name, result, arguments)

    # Arithmetic. Comparisons and selection.

    fadd, fsub, fmul = _binary("fadd"), _binary("fsub"), _binary("fmul")
    fdiv, frem = _binary("fdiv"), _binary("frem")
    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    udiv, sdiv, urem, srem = _binary("udiv"), _binary("sdiv"), _binary("urem"), _binary("srem")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")

    fabs, sqrt, copysign = _intrinsic("fabs"), _intrinsic("sqrt"), _intrinsic("copysign")
    floor, ceil, trunc_float = _intrinsic("floor"), _intrinsic("ceil"), _intrinsic("trunc")
    round_even, round_away = _intrinsic("roundeven"), _intrinsic("round")
    minimum, maximum = _intrinsic("minimum"), _intrinsic("maximum")
    minnum, maxnum = _intrinsic("minnum"), _intrinsic("maxnum")
    smin, smax, umin, umax = (_intrinsic(name) for name in ("smin", "smax", "umin", "umax"))
    sadd_sat, uadd_sat = _intrinsic("sadd.sat"), _intrinsic("uadd.sat")
    ssub_sat, usub_sat = _intrinsic("ssub.sat"), _intrinsic("usub.sat")
    ctpop, bswap, bitreverse = _intrinsic("ctpop"), _intrinsic("bswap"), _intrinsic("bitreverse")
    ctlz, cttz = _intrinsic("ctlz", _FALSE), _intrinsic("cttz", _FALSE)
    abs = _intrinsic("abs", _FALSE)
    fshl, fshr = _intrinsic("fshl"), _intrinsic("fshr")

    def fneg(self, x):
        """x with its sign flipped."""
        return self._emit(x.type, f"fneg {x.type.text} {x.text}")

    def neg(self, x):
        """0 - x, wrapping."""
        return self.sub(zero(x.type), x)

    def not_(self, x):
        """The bits of x inverted."""
        return self.xor(x, -1)

    def fma(self, x, y, z):
        """x * y + z: rounded once where the target has FMA, else contracted to mul + add.

        For polynomials; where the exactness of the product matters use `exact_fma` or
        `product_error`.
        """
        if self.module.has_fma:
            return self.exact_fma(x, y, z)
        return self.fadd(self.fmul(x, y), z)

    exact_fma = _intrinsic("fma")

    def product_error(self, x, y, product):
        """x * y - product exactly, product being fmul(x, y), if nothing over- or underflows.

        By FMA, else by Dekker's splitting.
        """
        if self.module.has_fma:
            return self.exact_fma(x, y, self.fneg(product))
        high_x, low_x = self._split(x)
        high_y, low_y = self._split(y)
        error = self.fsub(self.fmul(high_x, high_y), product)
        error = self.fadd(error, self.fmul(high_x, low_y))
        error = self.fadd(error, self.fmul(low_x, high_y))
        return self.fadd(error, self.fmul(low_x, low_y))

    def _split(self, x):
        """x as a sum of two halves whose products are exact: Veltkamp, by clearing low bits."""
        kind = integer_like(x.type)
        kept = -(1 << (12 if x.type.bits == 32 else 27))
        high = self.bitcast(self.and_(self.bitcast(x, kind), kept), x.type)
        return high, self.fsub(x, high)

    def icmp(self, predicate, x, y):
        """Comparison of integers or pointers: eq ne slt sle sgt sge ult ule ugt uge."""
        return self._compare("icmp", predicate, x, y)

    def fcmp(self, predicate, x, y):
        """Comparison of floats: ordered o{eq,ne,lt,le,gt,ge,rd}, unordered u{eq,ne,lt,...,no}."""
        return self._compare("fcmp", predicate, x, y)

    def _compare(self, opcode, predicate, x, y):
        if not isinstance(y, Value):
            y = constant(x.type, y)
        elif not isinstance(x, Value):
            x = constant(y.type, x)
        type = x.type
        return self._emit(mask_like(type), f"{opcode} {predicate} {type.text} {x.text}, {y.text}")

    def is_nan(self, x):
        """Where x is nan."""
        return self._compare("fcmp", "uno", x, x)

    def select(self, condition, yes, no):
        """`yes` where the condition holds, else `no`; the condition may be one i1 for all lanes."""
        if not isinstance(no, Value):
            no = constant(yes.type, no)
        elif not isinstance(yes, Value):
            yes = constant(no.type, yes)
        type = no.type.text
        return self._emit(
            no.type,
            f"select {condition.type.text} {condition.text}, {type} {yes.text}, {type} {no.text}",
        )

    # Conversions.

    trunc, zext, sext = _cast("trunc"), _cast("zext"), _cast("sext")
    fptrunc, fpext = _cast("fptrunc"), _cast("fpext")
    sitofp, uitofp = _cast("sitofp"), _cast("uitofp")
    fptosi, fptoui = _cast("fptosi"), _cast("fptoui")
    ptrtoint, inttoptr = _cast("ptrtoint"), _cast("inttoptr")

    def bitcast(self, x, type):
        """The same bits as another type of the same size (lanes may differ)."""
        if type is x.type:
            return x
        return self._emit(type, f"bitcast {x.type.text} {x.text} to {type.text}")

    def saturating_fptosi(self, x, type):
        """Float to signed integer: nan gives 0, what is out of range the nearest bound."""
        type = type.with_lanes(x.type.lanes)
        return self.intrinsic(f"fptosi.sat.{type.code}.{x.type.code}", type, x)

    def saturating_fptoui(self, x, type):
        """Float to unsigned integer: nan gives 0, what is out of range the nearest bound."""
        type = type.with_lanes(x.type.lanes)
        return self.intrinsic(f"fptoui.sat.{type.code}.{x.type.code}", type, x)

    # Vectors.

    def splat(self, x, lanes):
        """The scalar x in each of `lanes` lanes."""
        if lanes == 1:
            return x
        type = x.type.with_lanes(lanes)
        first = self.insert_element(poison(type), x, 0)
        return self.shuffle(first, poison(type), [0] * lanes)

    def extract_element(self, vector, position):
        """One lane as a scalar; position: an int or an integer Value. A scalar is its only lane."""
        if vector.type.lanes == 1:
            return vector
        where = position if isinstance(position, Value) else constant(I32, position)
        return self._emit(
            vector.type.element,
            f"extractelement {vector.type.text} {vector.text}, {where.type.text} {where.text}",
        )

    def insert_element(self, vector, x, position):
        """The vector with the lane at `position` replaced by x."""
        if vector.type.lanes == 1:
            return x
        if not isinstance(x, Value):
            x = constant(vector.type.element, x)
        where = position if isinstance(position, Value) else constant(I32, position)
        return self._emit(
            vector.type,
            f"insertelement {vector.type.text} {vector.text}, {x.type.text} {x.text}, "
            f"{where.type.text} {where.text}",
        )

    def shuffle(self, x, y, lanes):
        """Lanes of x and y by number (y's after x's; -1 for any), in the order of `lanes`."""
        inside = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes)
        type = x.type.text
        return self._emit(
            x.type.element.with_lanes(len(lanes)),
            f"shufflevector {type} {x.text}, {type} {y.text}, <{len(lanes)} x i32> <{inside}>",
        )

    def concatenate(self, x, y):
        """The lanes of x followed by those of y, two vectors of one type."""
        if x.type.lanes == 1:
            pair = self.insert_element(poison(x.type.with_lanes(2)), x, 0)
            return self.insert_element(pair, y, 1)
        return self.shuffle(x, y, range(2 * x.type.lanes))

    def lane_numbers(self, element, lanes):
        """The constant 0, 1, ... of `lanes` lanes; the scalar 0 for one lane."""
        return constant_lanes(element, range(lanes))

    def mask_below(self, start, stop, lanes):
        """Which of start, start + 1, ... (`lanes` of them) are below stop: the mask of a tail."""
        if lanes == 1:
            return self.icmp("ult", start, stop)
        type = start.type
        return self.intrinsic(
            f"get.active.lane.mask.v{lanes}i1.{type.code}", I1.with_lanes(lanes), start, stop
        )

    def reduce(self, operation, vector, start=None):
        """One scalar from all lanes by `llvm.vector.reduce.<operation>`.

        operation: add mul and or xor smin smax umin umax (integers), fmin fmax fminimum fmaximum,
        and fadd fmul, which take `start` and go from the first lane to the last, in order.
        """
        element = vector.type.element
        if vector.type.lanes == 1:
            return vector if start is None else getattr(self, operation)(start, vector)
        name = f"vector.reduce.{operation}.{vector.type.code}"
        if operation in ("fadd", "fmul"):
            if start is None:
                start = constant(element, -0.0 if operation == "fadd" else 1.0)
            return self.intrinsic(name, element, start, vector)
        return self.intrinsic(name, element, vector)

    def any(self, mask):
        """Whether some lane of the mask holds, as i1."""
        return self.reduce("or", mask)

    def all(self, mask):
        """Whether every lane of the mask holds, as i1."""
        return self.reduce("and", mask)

    # Memory. Alignments are in bytes; the default is that of one element.

    def alloca(self, type, count=1, align=None):
        """Stack storage for `count` values, placed in the entry block; returns its address."""
        name = self.function.fresh()
        where = f", align {align}" if align else ""
        line = f"  {name} = alloca {type.text}, i64 {count}{where}"
        self.function.blocks[0].lines.insert(0, line)
        return Value(name, PTR)

    def gep(self, base, index, element):
        """The address of element number `index` (an integer Value or int) from `base`.

        Either may be a vector; the result then has its lanes.
        """
        if not isinstance(index, Value):
            index = constant(I64, index)
        return self._emit(
            PTR.with_lanes(max(base.type.lanes, index.type.lanes)),
            f"getelementptr {element.text}, {base.type.text} {base.text}, "
            f"{index.type.text} {index.text}",
        )

    def load(self, type, pointer, align=None, metadata="", volatile=False):
        """The value of `type` at the address."""
        tail = f", {metadata}" if metadata else ""
        kind = "load volatile" if volatile else "load"
        return self._emit(
            type,
            f"{kind} {type.text}, ptr {pointer.text}, align {align or type.bytes}{tail}",
        )

    def store(self, value, pointer, align=None, metadata="", volatile=False):
        """Writes the value at the address."""
        tail = f", {metadata}" if metadata else ""
        kind = "store volatile" if volatile else "store"
        type = value.type
        self._lines.append(
            f"  {kind} {type.text} {value.text}, ptr {pointer.text}, "
            f"align {align or type.bytes}{tail}"
        )

    def masked_load(self, type, pointer, mask, otherwise=None, align=None, metadata=""):
        """Lanes from consecutive memory where the mask holds, of `otherwise` (zeros) elsewhere.

        type: a vector type; masks of one lane belong to `cond_br`.
        """
        otherwise = zero(type) if otherwise is None else otherwise
        arguments = (pointer, constant(I32, align or type.bytes), mask, otherwise)
        return self._memory(f"masked.load.{type.code}.p0", type, arguments, metadata)

    def masked_store(self, value, pointer, mask, align=None, metadata=""):
        """Writes the lanes where the mask holds to consecutive memory.

        A constant mask of one lane becomes a scalar store: LLVM (20) makes one of it as well, but
        of the untruncated width where the value is a truncation, and writes beyond the lane.
        """
        lane = _only_lane(mask)
        if lane is not None:
            scalar = self.extract_element(value, lane)
            self.store(scalar, self.gep(pointer, lane, value.type.element), align)
            return
        arguments = (value, pointer, constant(I32, align or value.type.bytes), mask)
        self._memory(f"masked.store.{value.type.code}.p0", VOID, arguments, metadata)

    def gather(self, type, pointers, mask=None, otherwise=None, align=None, metadata=""):
        """Lanes each from its own address where the mask holds (everywhere by default)."""
        mask = constant(mask_like(type), 1) if mask is None else mask
        otherwise = zero(type) if otherwise is None else otherwise
        arguments = (pointers, constant(I32, align or type.bytes), mask, otherwise)
        name = f"masked.gather.{type.code}.{pointers.type.code}"
        return self._memory(name, type, arguments, metadata)

    def scatter(self, value, pointers, mask=None, align=None, metadata=""):
        """Writes each lane to its own address where the mask holds, from the first lane on."""
        mask = constant(mask_like(value.type), 1) if mask is None else mask
        arguments = (value, pointers, constant(I32, align or value.type.bytes), mask)
        name = f"masked.scatter.{value.type.code}.{pointers.type.code}"
        self._memory(name, VOID, arguments, metadata)

    def _memory(self, name, result, arguments, metadata):
        self.module.declare(f"llvm.{name}", result, [x.type for x in arguments])
        return self.call(f"llvm.{name}", result, arguments, f", {metadata}" if metadata else "")

    def atomicrmw(self, operation, pointer, value, ordering="monotonic"):
        """The old value, updated by xchg add sub and or xor max min umax umin fadd fmax fmin."""
        return self._emit(
            value.type,
            f"atomicrmw {operation} ptr {pointer.text}, {value.type.text} {value.text} {ordering}",
        )

    def atomic_load(self, type, pointer, ordering="acquire"):
        """An atomic load."""
        return self._emit(
            type, f"load atomic {type.text}, ptr {pointer.text} {ordering}, align {type.bytes}"
        )

    def atomic_store(self, value, pointer, ordering="release"):
        """An atomic store."""
        type = value.type
        self._lines.append(
            f"  store atomic {type.text} {value.text}, ptr {pointer.text} {ordering}, "
            f"align {type.bytes}"
        )

    def memcpy(self, target, source, size):
        """Copies `size` (i64) bytes between places that do not overlap."""
        name = "memcpy.p0.p0.i64"
        size = size if isinstance(size, Value) else constant(I64, size)
        self.intrinsic(name, VOID, target, source, size, _FALSE)

    def memmove(self, target, source, size):
        """Copies `size` (i64) bytes between places that may overlap."""
        size = size if isinstance(size, Value) else constant(I64, size)
        self.intrinsic("memmove.p0.p0.i64", VOID, target, source, size, _FALSE)

    def memset(self, target, byte, size):
        """Fills `size` (i64) bytes with `byte` (i8)."""
        byte = byte if isinstance(byte, Value) else constant(I8, byte)
        size = size if isinstance(size, Value) else constant(I64, size)
        self.intrinsic("memset.p0.i64", VOID, target, byte, size, _FALSE)


class Loop:
    """A loop being written: its index and carries, and the carries of the next turn (results)."""

    __slots__ = ("carries", "index", "results")

    def __init__(self, index, carries):
        self.index = index
        self.carries = carries
        self.results = ()


def _only_lane(mask):
    """The lane of a constant mask that holds in one lane only, else None."""
    if not mask.text.startswith("<") or mask.text.count("true") != 1:
        return None
    return next(i for i, lane in enumerate(mask.text.split(",")) if "true" in lane)
