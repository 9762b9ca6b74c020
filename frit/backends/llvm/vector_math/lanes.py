"""Formulas over lanes: values with operators, and the arithmetic that polynomials are made of.

    kit.polynomial(x * x, COEFFICIENTS) * x + x      writes LLVM IR of any width, f32 or f64

A *pair* (high, low) is an unevaluated sum with |low| at most half an ulp of high: twice the
precision (Dekker 1971; Knuth's two-sum). Everything here is exact or rounds once, as its docstring
says, with FMA or without.
"""

from frit.backends.llvm.builder import (
    F64,
    I32,
    Value,
    constant,
    integer,
    integer_like,
    mask_like,
)
from frit.backends.llvm.vector_math.coefficients import POLYNOMIALS


class Lanes:
    """A value with operators; floats compare ordered, integers signed, shifts are logical."""

    __slots__ = ("builder", "value")

    def __init__(self, builder, value):
        self.builder = builder
        self.value = value

    @property
    def type(self):
        return self.value.type

    def _other(self, other):
        if isinstance(other, Lanes):
            return other.value
        return other if isinstance(other, Value) else constant(self.value.type, other)

    def _apply(self, method, *operands):
        return Lanes(self.builder, method(self.value, *map(self._other, operands)))

    def _pick(self, for_float, for_integer):
        return for_float if self.value.type.is_float else for_integer

    def __add__(self, other):
        return self._apply(self._pick(self.builder.fadd, self.builder.add), other)

    __radd__ = __add__

    def __sub__(self, other):
        return self._apply(self._pick(self.builder.fsub, self.builder.sub), other)

    def __rsub__(self, other):
        return Lanes(self.builder, self._other(other)) - self

    def __mul__(self, other):
        return self._apply(self._pick(self.builder.fmul, self.builder.mul), other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._apply(self.builder.fdiv, other)

    def __rtruediv__(self, other):
        return Lanes(self.builder, self._other(other)) / self

    def __neg__(self):
        return self._apply(self._pick(self.builder.fneg, self.builder.neg))

    def __abs__(self):
        return self._apply(self._pick(self.builder.fabs, self.builder.abs))

    def __and__(self, other):
        return self._apply(self.builder.and_, other)

    def __or__(self, other):
        return self._apply(self.builder.or_, other)

    def __xor__(self, other):
        return self._apply(self.builder.xor, other)

    def __invert__(self):
        return self._apply(self.builder.not_)

    def __lshift__(self, other):
        return self._apply(self.builder.shl, other)

    def __rshift__(self, other):
        return self._apply(self.builder.lshr, other)

    def shift_right_signed(self, other):
        return self._apply(self.builder.ashr, other)

    def _compare(self, predicate, other):
        compare = self._pick(self.builder.fcmp, self.builder.icmp)
        prefix = self._pick("o", "" if predicate in ("eq", "ne") else "s")
        return Lanes(self.builder, compare(prefix + predicate, self.value, self._other(other)))

    def __lt__(self, other):
        return self._compare("lt", other)

    def __le__(self, other):
        return self._compare("le", other)

    def __gt__(self, other):
        return self._compare("gt", other)

    def __ge__(self, other):
        return self._compare("ge", other)

    def equals(self, other):
        """Where both are equal (nan is equal to nothing)."""
        return self._compare("eq", other)

    def is_nan(self):
        """Where the lane is nan."""
        return self._apply(self.builder.is_nan)

    def fma(self, y, z):
        """self * y + z, rounded once where the target has FMA."""
        y, z = self._other(y), self._other(z)
        return Lanes(self.builder, self.builder.fma(self.value, y, z))

    def sqrt(self):
        """Correctly rounded square root."""
        return self._apply(self.builder.sqrt)

    def copysign(self, sign):
        """The magnitude of self with the sign of `sign`."""
        return self._apply(self.builder.copysign, sign)

    def smaller(self, bound):
        """min(self, bound), nan staying nan."""
        bound = Lanes(self.builder, self._other(bound))
        return (self > bound).where(bound, self)

    def larger(self, bound):
        """max(self, bound), nan staying nan."""
        bound = Lanes(self.builder, self._other(bound))
        return (self < bound).where(bound, self)

    def where(self, yes, no):
        """For a mask: `yes` where it holds, else `no`; one of them may be a number."""
        like = yes if isinstance(yes, Lanes) else no
        yes, no = like._other(yes), like._other(no)
        return Lanes(self.builder, self.builder.select(self.value, yes, no))

    def bits(self):
        """The bits of floats as integers of the same size."""
        return self._apply(lambda x: self.builder.bitcast(x, integer_like(x.type)))

    def as_float(self, type):
        """The bits of integers as floats of `type`."""
        return self._apply(lambda x: self.builder.bitcast(x, type))

    def to(self, element):
        """Converted to another float type (rounding once, or exactly)."""
        wider = element.bits > self.value.type.bits
        method = self.builder.fpext if wider else self.builder.fptrunc
        return self._apply(lambda x: method(x, element))


class Kit:
    """What a formula needs to know and make: builder, float type, width, constants.

    digits: significant bits that the result needs, 24 or 53; a formula for f32 that computes in
    f64 chooses shorter polynomials by it.
    """

    def __init__(self, builder, element, width, call):
        self.builder = builder
        self.element = element
        self.width = width
        self.type = element.with_lanes(width)
        self.integer_type = integer(element.bits).with_lanes(width)
        self.double = element is F64
        self.mantissa = 52 if self.double else 23
        self.bias = 1023 if self.double else 127
        self.digits = self.mantissa + 1
        self._call = call

    def wrap(self, value):
        return Lanes(self.builder, value)

    def number(self, value):
        """The float constant in every lane."""
        return self.wrap(constant(self.type, value))

    def integer(self, value):
        """The integer constant, as wide as the floats, in every lane."""
        return self.wrap(constant(self.integer_type, value))

    def float_of(self, bits):
        """Integers of the floats' size, read as floats."""
        return bits.as_float(self.type)

    def call(self, name, *operands):
        """The vector function `name` of the same type and width, called."""
        return self._call(self, name, operands)

    def coefficients(self, name):
        """The polynomial `name` for this kit's type and digits."""
        variant = "f32" if not self.double else "f64" if self.digits == 53 else "f64_short"
        return POLYNOMIALS[name][variant]

    def in_double(self):
        """A kit for the same lanes in f64, that still needs only this kit's digits."""
        kit = Kit(self.builder, F64, self.width, self._call)
        kit.digits = self.digits
        return kit

    # Polynomials.

    def polynomial(self, x, coefficients):
        """c[0] + c[1] x + ... in two interleaved Horner chains (even and odd powers)."""
        coefficients = [c if isinstance(c, Lanes) else self.number(c) for c in coefficients]
        if len(coefficients) <= 5:
            return self._horner(x, coefficients)
        square = x * x
        even = self._horner(square, coefficients[0::2])
        odd = self._horner(square, coefficients[1::2])
        return odd.fma(x, even)

    def _horner(self, x, coefficients):
        *rest, result = coefficients
        for coefficient in reversed(rest):
            result = result.fma(x, coefficient)
        return result

    def table_polynomial(self, name, table, row, x):
        """Per lane, the polynomial whose coefficients are the row of `table` with that number.

        table: rows of equal length, lowest power first. row: integers, in range even in lanes
        whose result is not used.
        """
        columns = len(table[0])
        flat = [number for line in table for number in line]
        base = self.builder.module.constant_array(f"frit.{name}", self.element, flat)
        first = row * columns
        coefficients = [self._gather(base, first + column) for column in range(columns)]
        constant_term, *others = coefficients
        if not others:
            return constant_term
        # One rounding at the end, of the large term.
        return self.polynomial(x, others).fma(x, constant_term)

    def _gather(self, base, index):
        pointers = self.builder.gep(base, index.value, self.element)
        if self.width == 1:
            return self.wrap(self.builder.load(self.element, pointers))
        return self.wrap(self.builder.gather(self.type, pointers))

    # Pairs.

    def two_sum(self, x, y):
        """x + y as a pair, exactly, whatever their magnitudes."""
        total = x + y
        part = total - x
        return total, (x - (total - part)) + (y - part)

    def fast_two_sum(self, x, y):
        """x + y as a pair, exactly, if |x| >= |y| or x is 0."""
        total = x + y
        return total, y - (total - x)

    def product_error(self, x, y, product):
        """x * y - product, exactly."""
        x, y, product = (
            p.value if isinstance(p, Lanes) else constant(self.type, p) for p in (x, y, product)
        )
        return self.wrap(self.builder.product_error(x, y, product))

    def two_product(self, x, y):
        """x * y as a pair, exactly."""
        product = x * y
        return product, self.product_error(x, y, product)

    def residual(self, x, y, z):
        """z - x * y, exactly, where that fits one float."""
        if self.builder.module.has_fma:
            return (-x).fma(y, z)
        product, error = self.two_product(x, y)
        return (z - product) - error

    def pair_product(self, x, y):
        """The product of two pairs, as a pair."""
        high, low = self.two_product(x[0], y[0])
        low = low + (x[0] * y[1] + x[1] * y[0])
        return self.fast_two_sum(high, low)

    def pair_sum(self, x, y):
        """The sum of two pairs, as a pair; x may also be the smaller one."""
        high, low = self.two_sum(x[0], y[0])
        return self.fast_two_sum(high, low + (x[1] + y[1]))

    def pair_constant(self, pair):
        """A pair of Python floats as a pair of constants."""
        return self.number(pair[0]), self.number(pair[1])

    def quotient(self, numerator, denominator):
        """The quotient of two pairs, as a pair, by one division."""
        inverse = 1.0 / denominator[0]
        first = numerator[0] * inverse
        rest = self.residual(first, denominator[0], numerator[0])
        rest = rest + (numerator[1] - first * denominator[1])
        return self.fast_two_sum(first, rest * inverse)

    # Powers of two and whole numbers.

    def nearest_whole(self, x):
        """(whole, bits): x rounded to the nearest integer, as floats and as integers.

        |x| < 2**(mantissa - 2). By adding 1.5 * 2**mantissa, so nan gives some integer and never
        poison.
        """
        magic = 1.5 * 2.0**self.mantissa
        shifted = x + magic
        return shifted - magic, shifted.bits() - self.number(magic).bits()

    def is_whole(self, x):
        """Where x is an integer or infinite; not by `floor`, which some targets lack."""
        a = abs(x)
        large = 2.0**self.mantissa
        return (a >= large) | ((a + large) - large).equals(a)

    def power_of_two(self, exponent):
        """2**exponent for integers in the range of normal floats."""
        return self.float_of((exponent + self.bias) << self.mantissa)

    def scale(self, x, exponent):
        """x * 2**exponent with one rounding or nearly, over- and underflowing as it should.

        |exponent| up to twice the bias.
        """
        half = exponent.shift_right_signed(1)
        return (x * self.power_of_two(half)) * self.power_of_two(exponent - half)

    def normalized(self, x):
        """(exponent as integers, m): x = m * 2**exponent, m in [sqrt(1/2), sqrt(2)), for x > 0.

        Subnormal x included; other lanes give some finite numbers.
        """
        tiny = x < 2.0 ** (1 - self.bias)
        lifted = tiny.where(x * 2.0 ** (self.mantissa + 1), x)
        below = self.number(0.7071067811865476).bits()
        offset = lifted.bits() - below
        exponent = offset.shift_right_signed(self.mantissa)
        m = self.float_of(lifted.bits() - (exponent << self.mantissa))
        return exponent - tiny.where(self.integer(self.mantissa + 1), 0), m

    def to_float(self, integers):
        """Small integers as floats, exactly; by magic number, as vector units lack i64 to f64."""
        magic = 1.5 * 2.0**self.mantissa
        return self.float_of(integers + self.number(magic).bits()) - magic

    def bounded_below(self, integers, bound):
        """max(integers, bound), signed."""
        return self.wrap(self.builder.smax(integers.value, bound))

    def bounded_above(self, integers, bound):
        """min(integers, bound), signed."""
        return self.wrap(self.builder.smin(integers.value, bound))

    # Control.

    def any(self, mask):
        return self.builder.any(mask.value)

    def where_rare(self, mask, result, replace):
        """`result`, with the lanes of the mask replaced by `replace()` if there are any.

        replace: a function of nothing returning all lanes, run in a branch of its own.
        """
        builder = self.builder
        before, slow, after = builder.block, builder.new_block("slow"), builder.new_block("join")
        builder.cond_br(self.any(mask), slow, after)
        builder.position_at_end(slow)
        replaced = mask.where(replace(), result)
        last = builder.block
        builder.br(after)
        builder.position_at_end(after)
        return self.wrap(builder.phi(self.type, [(result.value, before), (replaced.value, last)]))

    def each_lane(self, symbol, *operands):
        """Calls a scalar function (a symbol name) lane by lane, in a loop."""
        builder = self.builder
        if self.width == 1:
            return self.wrap(builder.call(symbol, self.element, [x.value for x in operands]))
        start = constant(self.type, 0)
        with builder.loop(0, constant(I32, self.width), 1, [start], metadata="") as loop:
            scalars = [builder.extract_element(x.value, loop.index) for x in operands]
            result = builder.call(symbol, self.element, scalars)
            loop.results = [builder.insert_element(loop.carries[0], result, loop.index)]
        return self.wrap(loop.carries[0])

    def repeat_while(self, start, carries, body, limit):
        """Repeats `body` until no lane wants more, at most `limit` times; returns the carries.

        start: the mask of lanes that take part.
        body: (turn number as floats, *carries) -> (mask of lanes that go on, *next carries). A lane
        that is done keeps its carries.
        """
        builder = self.builder
        before = builder.block
        head, after = builder.new_block("head"), builder.new_block("after")
        builder.br(head)
        builder.position_at_end(head)
        turn = builder.phi(self.type, [(constant(self.type, 1), before)])
        active = builder.phi(mask_like(self.type), [(start.value, before)])
        phis = [builder.phi(x.type, [(x.value, before)]) for x in carries]
        mask, *found = body(self.wrap(turn), *map(self.wrap, phis))
        going = self.wrap(active)
        kept = [going.where(new, self.wrap(old)) for new, old in zip(found, phis, strict=True)]
        further = going & mask & (self.wrap(turn) < float(limit))
        turn.add_incoming((self.wrap(turn) + 1.0).value, builder.block)
        active.add_incoming(further.value, builder.block)
        for phi, value in zip(phis, kept, strict=True):
            phi.add_incoming(value.value, builder.block)
        builder.cond_br(self.any(further), head, after)
        builder.position_at_end(after)
        return kept
