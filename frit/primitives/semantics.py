"""Scalar semantics: what each elementwise operation gives at its edges, as a table.

A row says, for some primitives on one kind of numbers, the result (JAX's), the LLVM form that gives
it, and cases: operands -> result.  `evaluate` of the record is the definition; the cases test it,
the documentation (docs/semantics.md) shows them, and the machine code is held to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from frit.ir.primitive import Primitive
from frit.primitives import arithmetic as a
from frit.primitives import comparison_and_bits as c
from frit.primitives import conversion as v
from frit.primitives import elementwise as e
from frit.primitives import special as s
from frit.primitives import transcendental as t

inf, nan = float("inf"), float("nan")
LOWEST, HIGHEST = -(2**31), 2**31 - 1

Case = tuple[tuple[Any, ...], Any]


@dataclass(frozen=True)
class Row:
    """What `primitives` give on numbers of one `kind`.

    result: a sentence.  llvm: the instructions, with their guards.
    cases: (operands, result) of the first primitive, on `dtype`, with `params`.
    """

    primitives: tuple[Primitive, ...]
    kind: str
    result: str
    llvm: str
    cases: Sequence[Case] = ()
    dtype: Any = np.float32
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def primitive(self) -> Primitive:
        return self.primitives[0]

    def evaluate(self, operands: Sequence[Any]) -> Any:
        """The definition's result on one case; bool and integer operands keep their own type."""
        given = [np.asarray(x).astype(self.dtype) if type(x) is not bool else x for x in operands]
        return np.asarray(self.primitive.evaluate(*map(np.asarray, given), **self.params))[()]


def _convert_to(dtype: Any) -> dict[str, Any]:
    return {"new_dtype": np.dtype(dtype), "weak_type": False, "sharding": None}


_PLAIN = {"accuracy": None}
_ROUND_AWAY = {"rounding_method": a.RoundingMethod.AWAY_FROM_ZERO}
_ROUND_EVEN = {"rounding_method": a.RoundingMethod.TO_NEAREST_EVEN}

ARITHMETIC = (
    Row(
        (e.add, e.sub, e.mul, e.neg),
        "float",
        "IEEE 754, rounded to nearest even once; nothing is contracted, flushed or reassociated. "
        "float16, bfloat16 and 8-bit floats compute in float32 and round after each operation.",
        "fadd, fsub, fmul, fneg without fast-math flags; fpext and fptrunc around them",
        [((3e38, 3e38), inf), ((inf, -inf), nan), ((-0.0, 0.0), 0.0)],
    ),
    Row(
        (e.add, e.sub, e.mul, e.neg),
        "integer",
        "wraps modulo 2**bits, also for 2 and 4 bits; neg of the lowest is itself.",
        "add, sub, mul without nsw or nuw",
        [((HIGHEST, 1), LOWEST)],
        np.int32,
    ),
    Row(
        (e.add, e.sub, e.mul, e.neg),
        "complex",
        "componentwise; products are (ac - bd) + (ad + bc)i with each product and sum rounded.",
        "the same on a trailing axis of 2",
        [((1 + 2j, 3 - 1j), 4 + 1j)],
        np.complex64,
    ),
    Row(
        (a.div,),
        "float",
        "IEEE 754: x/0 is infinite, 0/0 is nan.",
        "fdiv",
        [((1.0, -0.0), -inf), ((0.0, 0.0), nan)],
    ),
    Row(
        (a.div,),
        "integer",
        "truncated towards zero; x div 0 is -1 (all bits set); the lowest div -1 is itself.",
        "sdiv, udiv with the divisor replaced by 1 at the edges, then select",
        [((7, -2), -3), ((5, 0), -1), ((0, 0), -1), ((LOWEST, -1), LOWEST)],
        np.int32,
    ),
    Row(
        (a.div,),
        "unsigned",
        "truncated; x div 0 is the highest number.",
        "udiv, guarded likewise",
        [((7, 2), 3), ((5, 0), 2**32 - 1)],
        np.uint32,
    ),
    Row(
        (a.div,),
        "complex",
        "computed in double precision and rounded; by 0, infinities with the signs of the dividend "
        "times that of the zero's real part.",
        "on a trailing axis of 2",
        [((4 + 2j, 2j), 1 - 2j), ((1 + 1j, complex(-0.0, 0)), complex(-inf, -inf))],
        np.complex64,
    ),
    Row(
        (a.rem,),
        "float",
        "x - y trunc(x/y), exact, with x's sign; nan for y = 0 or infinite x; x for infinite y.",
        "frem",
        [((-7.0, 2.0), -1.0), ((1.0, 0.0), nan), ((1.0, inf), 1.0), ((-0.0, 1.0), -0.0)],
    ),
    Row(
        (a.rem,),
        "integer",
        "x's sign; x rem 0 is x; the lowest rem -1 is 0.",
        "srem, urem with the divisor replaced by 1 at the edges, then select",
        [((-7, 2), -1), ((5, 0), 5), ((LOWEST, -1), 0)],
        np.int32,
    ),
    Row(
        (a.mulhi,),
        "integer",
        "the upper half of the product of twice the width.",
        "sext or zext, mul, lshr, trunc",
        [((HIGHEST, 2), 0), ((-1, 1), -1)],
        np.int32,
    ),
    Row(
        (a.integer_pow, a.square),
        "all",
        "repeated squaring from the lowest bit of the exponent, each product rounded or wrapped; "
        "a negative exponent takes 1 / that; exponent 0 gives 1, also of nan.",
        "mul or fmul; fdiv",
        [((3.0,), 27.0), ((-2.0,), -8.0)],
        np.float32,
        {"y": 3},
    ),
    Row(
        (a.abs_,),
        "integer",
        "the lowest is its own abs.",
        "llvm.abs with is_int_min_poison = false",
        [((LOWEST,), LOWEST), ((-3,), 3)],
        np.int32,
    ),
    Row(
        (a.abs_,),
        "float, complex",
        "clears the sign, of nan too; of complex the hypotenuse, which does not overflow.",
        "llvm.fabs; own hypot",
        [((-0.0,), 0.0), ((-inf,), inf)],
    ),
    Row(
        (a.sign,),
        "float",
        "-1 or 1; zeros and nan are themselves.",
        "select, llvm.copysign",
        [((-0.0,), -0.0), ((nan,), nan), ((-inf,), -1.0)],
    ),
    Row(
        (a.sign,),
        "integer, complex",
        "-1, 0, 1, of unsigned 0, 1; of complex x / |x|, and 0 at 0.",
        "smax, smin; zext of a comparison",
        [((-5,), -1), ((0,), 0)],
        np.int32,
    ),
    Row(
        (a.max_,),
        "float",
        "nan where either is nan; the larger of -0 and +0 is +0.",
        "llvm.maximum",
        [((-0.0, 0.0), 0.0), ((0.0, -0.0), 0.0), ((nan, 1.0), nan), ((1.0, nan), nan)],
    ),
    Row(
        (a.min_,),
        "float",
        "nan where either is nan; the smaller of -0 and +0 is -0.",
        "llvm.minimum",
        [((-0.0, 0.0), -0.0), ((0.0, -0.0), -0.0), ((nan, 1.0), nan)],
    ),
    Row(
        (a.max_, a.min_),
        "integer, bool, complex",
        "by sign or unsigned; of bool or, and; of complex by real part, then imaginary part.",
        "smax, umax, or; smin, umin, and; select",
        [((-1, 1), 1)],
        np.int32,
    ),
    Row(
        (a.floor, a.ceil),
        "float",
        "whole numbers of the same type; infinities, nan and the sign of zero stay.",
        "llvm.floor, llvm.ceil",
        [((-0.5,), -1.0), ((-0.0,), -0.0), ((inf,), inf)],
    ),
    Row(
        (a.round_,),
        "float, AWAY_FROM_ZERO",
        "halves away from zero, exactly: the largest number below 0.5 gives 0.",
        "llvm.round",
        [((0.5,), 1.0), ((-2.5,), -3.0), ((0.49999997,), 0.0), ((-0.2,), -0.0)],
        np.float32,
        _ROUND_AWAY,
    ),
    Row(
        (a.round_,),
        "float, TO_NEAREST_EVEN",
        "halves to the even neighbour.",
        "llvm.roundeven",
        [((0.5,), 0.0), ((1.5,), 2.0), ((-0.5,), -0.0)],
        np.float32,
        _ROUND_EVEN,
    ),
    Row(
        (a.nextafter,),
        "float",
        "the neighbour of x in the direction of y; y where x = y; from zero the least subnormal.",
        "integer add on the bits, with select at zero and nan",
        [((0.0, -1.0), np.float32(-1e-45)), ((1.0, 1.0), 1.0), ((nan, 1.0), nan)],
    ),
)

BITS = (
    Row(
        (c.eq, c.ge, c.gt, c.le, c.lt),
        "float",
        "False where either is nan; -0 equals +0.",
        "fcmp oeq, oge, ogt, ole, olt",
        [((nan, nan), False), ((-0.0, 0.0), True)],
    ),
    Row((c.ne,), "float", "True where either is nan.", "fcmp une", [((nan, nan), True)]),
    Row(
        (c.eq, c.ne, c.ge, c.gt, c.le, c.lt),
        "integer, bool, key",
        "by sign or unsigned; False < True; keys have only eq and ne, of all their bits.",
        "icmp",
        [((-1, 1), False)],
        np.int32,
    ),
    Row(
        (c.lt_to, c.le_to, c.eq_to),
        "float",
        "the total order: -nan < -inf < … < -0 < +0 < … < inf < nan.",
        "bits with all but the sign flipped where negative, then icmp slt, sle, eq",
        [((-0.0, 0.0), True), ((inf, nan), True), ((0.0, -0.0), False)],
    ),
    Row(
        (c.is_finite,),
        "float",
        "False for infinities and nan.",
        "fcmp olt of llvm.fabs with inf",
        [((inf,), False), ((nan,), False), ((1.0,), True)],
    ),
    Row(
        (c.and_, c.or_, c.xor, c.not_),
        "integer, bool",
        "of all bits; bool is a byte that holds 0 or 1, and not True is False.",
        "and, or, xor; bool as i1 in registers",
        [((True, False), False)],
        np.bool_,
    ),
    Row(
        (c.shift_left, c.shift_right_logical),
        "integer",
        "0 for amounts, read as unsigned, of the width or more.",
        "shl, lshr of an amount below the width, then select",
        [((1, 31), LOWEST), ((1, 32), 0), ((1, -1), 0)],
        np.int32,
    ),
    Row(
        (c.shift_right_arithmetic,),
        "integer",
        "the sign, 0 or -1, for amounts of the width or more; unsigned numbers have a sign too.",
        "ashr by the amount, or by the width - 1",
        [((-8, 1), -4), ((-8, 32), -1), ((8, 99), 0), ((-8, -1), -1)],
        np.int32,
    ),
    Row(
        (c.population_count,),
        "integer",
        "of the bits as they are, sign included.",
        "llvm.ctpop",
        [((-1,), 32), ((0,), 0)],
        np.int32,
    ),
    Row(
        (c.clz,),
        "integer",
        "the width for 0.",
        "llvm.ctlz with is_zero_poison = false",
        [((0,), 32), ((1,), 31), ((-1,), 0)],
        np.int32,
    ),
    Row(
        (c.select_n,),
        "all",
        "cases[which]; a number below 0 takes the first case, one beyond the end the last.",
        "select, over icmp of which",
        [((-1, 10, 20, 30), 10), ((1, 10, 20, 30), 20), ((9, 10, 20, 30), 30)],
        np.int32,
    ),
    Row(
        (c.clamp,),
        "all",
        "min(max(x, low), high): high where the bounds cross; nan where any is nan.",
        "llvm.maximum, llvm.minimum; smax, smin, umax, umin",
        [((0.0, 5.0, 1.0), 1.0), ((2.0, 0.0, 1.0), 1.0), ((nan, 0.0, 1.0), nan)],
    ),
)

CONVERSION = (
    Row(
        (v.convert_element_type,),
        "float to signed",
        "towards zero; beyond the range its end; nan gives 0.",
        "llvm.fptosi.sat",
        [((nan,), 0), ((1e20,), HIGHEST), ((-inf,), LOWEST), ((-0.9,), 0)],
        np.float32,
        _convert_to(np.int32),
    ),
    Row(
        (v.convert_element_type,),
        "float to unsigned",
        "towards zero; negative numbers give 0.",
        "llvm.fptoui.sat",
        [((-5.0,), 0), ((300.0,), 255), ((nan,), 0)],
        np.float32,
        _convert_to(np.uint8),
    ),
    Row(
        (v.convert_element_type,),
        "to bool",
        "x != 0, so nan is True.",
        "fcmp une, icmp ne",
        [((nan,), True), ((-0.0,), False), ((0.1,), True)],
        np.float32,
        _convert_to(np.bool_),
    ),
    Row(
        (v.convert_element_type,),
        "integer to integer",
        "keeps the low bits; wider signed numbers repeat the sign.",
        "trunc, sext, zext",
        [((300,), 44), ((-1,), 255)],
        np.int32,
        _convert_to(np.uint8),
    ),
    Row(
        (v.convert_element_type,),
        "to a narrower float",
        "rounded to nearest even once, from any width; too large gives inf, or nan in float8 "
        "formats without infinities.",
        "fptrunc; bfloat16 by integer arithmetic, from float64 by rounding to odd first",
        [((1.0 + 2**-8,), 1.0), ((1.0 + 2**-8 + 2**-40,), 1.0 + 2**-7), ((1e39,), inf)],
        np.float64,
        _convert_to(ml_dtypes.bfloat16),
    ),
    Row(
        (v.convert_element_type, v.real, v.imag, v.complex_, v.conj),
        "complex",
        "to real drops the imaginary part; from real adds one of +0; conj flips the sign of imag.",
        "loads and stores of a trailing axis of 2",
        [((3 + 4j,), 3.0)],
        np.complex64,
        _convert_to(np.float32),
    ),
    Row(
        (v.bitcast_convert_type,),
        "all",
        "the same bits; narrower elements come lowest first, on a new last axis.",
        "bitcast",
        [((1.0,), 0x3F800000)],
        np.float32,
        {"new_dtype": np.dtype(np.int32)},
    ),
    Row(
        (v.reduce_precision,),
        "float",
        "rounded to nearest even in so many bits; too large gives inf, too small 0; nan stays.",
        "integer arithmetic on the bits",
        [((65520.0,), inf), ((1e-8,), 0.0), ((1.0 + 2**-11,), 1.0), ((nan,), nan)],
        np.float32,
        {"exponent_bits": 5, "mantissa_bits": 10},
    ),
    Row(
        (e.copy, e.stage, e.stop_gradient),
        "all",
        "the operand, every bit.",
        "none",
        [((-0.0,), -0.0)],
    ),
)

FUNCTIONS = (
    Row(
        (t.sqrt,),
        "float",
        "correctly rounded; nan below 0; -0 at -0.",
        "llvm.sqrt",
        [((-1.0,), nan), ((-0.0,), -0.0), ((4.0,), 2.0)],
        np.float32,
        _PLAIN,
    ),
    Row(
        (t.rsqrt, t.cbrt),
        "float",
        "rsqrt is infinite at zero with its sign, 0 at inf.",
        "1 / llvm.sqrt in double precision; own polynomial",
        [((0.0,), inf), ((-0.0,), -inf), ((inf,), 0.0), ((-1.0,), nan)],
        np.float32,
        _PLAIN,
    ),
    Row(
        (t.exp, t.exp2, t.expm1),
        "float",
        "inf where too large, 0 (expm1: -1) at -inf.",
        "own polynomials over the full range, subnormal results included",
        [((100.0,), inf), ((-inf,), 0.0), ((nan,), nan)],
        np.float32,
        _PLAIN,
    ),
    Row(
        (t.log, t.log1p),
        "float",
        "-inf at the lower end of the domain, nan below.",
        "own polynomials",
        [((0.0,), -inf), ((-0.0,), -inf), ((-1.0,), nan), ((inf,), inf)],
        np.float32,
        _PLAIN,
    ),
    Row(
        (t.tanh, t.logistic),
        "float",
        "1 at inf; -1 and 0 at -inf; tanh keeps the sign of zero.",
        "own polynomials",
        [((inf,), 1.0), ((-inf,), -1.0), ((-0.0,), -0.0)],
        np.float32,
        _PLAIN,
    ),
    Row(
        (t.sin, t.cos, t.tan),
        "float",
        "nan at infinities; accurate for all arguments.",
        "own polynomials, with argument reduction to the full range",
        [((inf,), nan), ((-0.0,), -0.0)],
        np.float32,
        _PLAIN,
    ),
    Row(
        (t.exp, t.exp2, t.expm1, t.log, t.log1p, t.sqrt, t.tanh, t.sin, t.cos, t.tan),
        "complex",
        "of the principal branch, computed in double precision; where both parts are infinite, nan "
        "for exp, sin, cos, sinh and cosh.",
        "the formulas of the real parts, on a trailing axis of 2",
        [((0j,), 1 + 0j), ((complex(-inf, 0),), 0j), ((1000j,), np.complex64(np.exp(1000j)))],
        np.complex64,
        _PLAIN,
    ),
    Row(
        (t.asin, t.acos, t.atan, t.sinh, t.cosh, t.asinh, t.acosh, t.atanh),
        "float",
        "nan outside of the domain.",
        "own polynomials",
        [((2.0,), nan), ((-0.0,), -0.0)],
    ),
    Row(
        (t.atan2,),
        "float",
        "C's atan2: the signs of zeros choose the quadrant.",
        "own polynomial",
        [((0.0, -0.0), np.float32(np.pi)), ((-0.0, 0.0), -0.0), ((0.0, 0.0), 0.0)],
    ),
    Row(
        (t.pow_,),
        "float",
        "C's pow: x ** 0 = 1 and 1 ** y = 1 also of nan; nan for negative x and fractional y. An "
        "integer y is converted to x's type first.",
        "own exp2 of y log2 x, with extra digits",
        [
            ((nan, 0.0), 1.0),
            ((1.0, nan), 1.0),
            ((-2.0, 3.0), -8.0),
            ((-2.0, 0.5), nan),
            ((0.0, -1.0), inf),
        ],
    ),
    Row(
        (s.erf, s.erfc, s.erf_inv),
        "float",
        "1, 0 at inf; erf_inv is infinite at -1 and 1, nan beyond.",
        "own polynomials",
        [((inf,), 1.0), ((-0.0,), -0.0)],
    ),
    Row(
        (s.lgamma, s.digamma, s.polygamma, s.zeta),
        "float",
        "lgamma is inf at its poles and at both infinities; digamma is nan at its poles; polygamma "
        "of an order that is no whole number is nan.",
        "own functions",
        [((0.0,), inf), ((-inf,), inf), ((1.0,), 0.0)],
    ),
    Row(
        (s.igamma, s.igammac, s.igamma_grad_a, s.regularized_incomplete_beta),
        "float",
        "nan outside of the domain; 0 at the lower end, 1 at the upper (igammac the reverse).",
        "own functions; loops of series and continued fractions",
        [((1.0, 0.0), 0.0), ((1.0, inf), 1.0), ((-1.0, 1.0), nan)],
    ),
    Row(
        (s.bessel_i0e, s.bessel_i1e),
        "float",
        "scaled by exp(-|x|), so that nothing overflows.",
        "own polynomials",
        [((0.0,), 1.0)],
    ),
)

TABLE: dict[str, tuple[Row, ...]] = {
    "Arithmetic": ARITHMETIC,
    "Comparison, bits and choice": BITS,
    "Conversion": CONVERSION,
    "Functions": FUNCTIONS,
}


def rows() -> list[Row]:
    """All rows of the table."""
    return [row for group in TABLE.values() for row in group]


def covered() -> set[str]:
    """The names of the primitives that have a row."""
    return {primitive.name for row in rows() for primitive in row.primitives}
