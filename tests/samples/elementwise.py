"""Samples of the elementwise primitives: ordinary numbers, broadcasting, and special values."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import ml_dtypes
import numpy as np

from frit.primitives import (
    arithmetic,
    comparison_and_bits,
    conversion,
    elementwise,
    special,
    transcendental,
)
from tests.samples import Sample, complex_numbers, integers, numbers

inf, nan = np.inf, np.nan
bfloat16 = ml_dtypes.bfloat16
SPECIAL_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-40, 1e20, -3e9, inf, -inf, nan]
SPECIAL_INTEGERS = [0, 1, -1, 2, -3, 5, 31, 32, 33, 2**31 - 1, -(2**31)]

PLAIN = {"accuracy": None}
FLAT = "the derivative is zero wherever there is one"


def grid(values: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of values, as two operands."""
    xs = np.array(values).astype(dtype)
    return np.repeat(xs, len(xs)), np.tile(xs, len(xs))


def triples(values: Any, dtype: Any) -> tuple[np.ndarray, ...]:
    """All triples of values, as three operands."""
    return tuple(np.array(list(itertools.product(values, repeat=3)), dtype=dtype).T.copy())


def shapes_of_one(primitive: Any, params: Any, **more: Any) -> list[Sample]:
    """One operand of ranks 0 to 2, and without elements."""
    return [
        Sample(primitive, (numbers(*shape, **more),), params) for shape in ((), (3,), (2, 3), (0,))
    ]


def unary(primitive: Any, params: Any = None, low: float = 0.3, high: float = 1.8) -> list[Sample]:
    """A float function on (low, high), on special values, and on half-width floats."""
    params = params or {}
    name = primitive.name
    values = np.array(SPECIAL_FLOATS, np.float32)
    more = [Sample(primitive, (values,), params, smooth=False, note="special")]
    for dtype in (np.float16, bfloat16):
        half = numbers(4, low=low, high=high, dtype=dtype)
        more.append(Sample(primitive, (half,), params, smooth=False, note=name))
    return [*shapes_of_one(primitive, params, low=low, high=high), *more]


def holomorphic(primitive: Any, params: Any = None) -> Sample:
    return Sample(primitive, (complex_numbers(3),), params or {})


def binary(
    primitive: Any, params: Any = None, *, low: float = 0.3, high: float = 1.8
) -> list[Sample]:
    """Two float operands: equal shapes, rank 0 beside rank 1, axes of size 1, special values."""
    params = params or {}
    x = lambda *shape, seed=0: numbers(*shape, seed=seed, low=low, high=high)
    shapes = [((), ()), ((3,), (3,)), ((3,), ()), ((), (2, 3)), ((2, 1), (1, 3)), ((2, 3), (1, 3))]
    ordinary = [Sample(primitive, (x(*a), x(*b, seed=1)), params) for a, b in shapes]
    pairs = grid(SPECIAL_FLOATS, np.float32)
    half = tuple(numbers(4, seed=i, dtype=bfloat16) for i in range(2))
    return [
        *ordinary,
        Sample(primitive, (x(3), 2.0), params, note="python"),
        Sample(primitive, pairs, params, smooth=False, note="special"),
        Sample(primitive, half, params, smooth=False),
    ]


def on_integers(
    primitive: Any, params: Any = None, dtypes: Any = ("i4", "u4", "i1", "i8")
) -> list[Sample]:
    """Two integer operands: every pair of special values, of several widths."""
    params = params or {}
    found = [Sample(primitive, (integers(3), np.int32(3)), params)]
    for dtype in dtypes:
        if dtype != "i8":  # without 64-bit types enabled, none exist
            found.append(Sample(primitive, grid(SPECIAL_INTEGERS, dtype), params, note=dtype))
    return found


def arithmetic_samples() -> list[Sample]:
    out_dtype = {"out_dtype": None}
    int4 = np.array([-8, -3, 0, 2, 7]).astype(ml_dtypes.int4)
    found = [
        *unary(elementwise.neg),
        holomorphic(elementwise.neg),
        Sample(elementwise.neg, (int4,)),
    ]
    for primitive, params in (
        (elementwise.add, {}),
        (elementwise.sub, {}),
        (elementwise.mul, out_dtype),
        (arithmetic.div, {}),
    ):
        found += binary(primitive, params)
        found += on_integers(primitive, params)
        pair = (complex_numbers(3), complex_numbers(3, seed=5))
        found.append(Sample(primitive, pair, params))
        found.append(Sample(primitive, (int4, int4[::-1].copy()), params, note="int4"))
    found += [
        Sample(
            elementwise.mul,
            (integers(3, high=2**20), integers(3, high=2**20)),
            {"out_dtype": np.dtype("f4")},
        ),
        *binary(arithmetic.rem, low=2.1, high=2.9),
        *on_integers(arithmetic.rem),
        *on_integers(arithmetic.mulhi),
        Sample(arithmetic.mulhi, grid([0, 1, 77, 2**31, 2**32 - 1], "u4"), note="high"),
        *unary(arithmetic.square),
        holomorphic(arithmetic.square),
        Sample(arithmetic.square, (integers(4),)),
        *(Sample(arithmetic.integer_pow, (numbers(3),), {"y": y}) for y in (-3, -1, 0, 1, 2, 3, 7)),
        Sample(arithmetic.integer_pow, (integers(4),), {"y": 3}),
        Sample(arithmetic.integer_pow, (complex_numbers(3),), {"y": -2}),
        *unary(arithmetic.sign),
        Sample(arithmetic.sign, (integers(4),)),
        holomorphic_sign(),
        *unary(arithmetic.abs_),
        Sample(arithmetic.abs_, (-numbers(3),)),
        holomorphic(arithmetic.abs_),
        Sample(arithmetic.abs_, (np.array(SPECIAL_INTEGERS, np.int32),)),
        *binary(arithmetic.max_),
        *binary(arithmetic.min_),
        *on_integers(arithmetic.max_),
        *on_integers(arithmetic.min_),
        Sample(arithmetic.max_, (np.array([True, False]), np.array([False, False]))),
        *unary(arithmetic.floor),
        *unary(arithmetic.ceil),
        *(
            sample
            for method in arithmetic.RoundingMethod
            for sample in unary(arithmetic.round_, {"rounding_method": method}, low=0.6, high=1.4)
        ),
        Sample(arithmetic.nextafter, grid(SPECIAL_FLOATS, np.float32), smooth=False),
    ]
    return found


def holomorphic_sign() -> Sample:
    reason = "JAX defines the derivative of sign as zero, also where x / |x| turns"
    without = {"derivative": reason, "second derivative": reason}
    return Sample(arithmetic.sign, (complex_numbers(3),), without=without)


def transcendental_samples() -> list[Sample]:
    t = transcendental
    with_accuracy = (
        t.sqrt, t.rsqrt, t.exp, t.exp2, t.expm1, t.log, t.log1p, t.tanh, t.logistic, t.sin, t.cos,
    )  # fmt: skip
    found = [s for p in with_accuracy for s in (*unary(p, PLAIN), holomorphic(p, PLAIN))]
    found += [*unary(t.cbrt, PLAIN), *unary(t.tan, PLAIN, high=1.2), holomorphic(t.tan, PLAIN)]
    for p in (t.asin, t.acos, t.atanh):
        found += [*unary(p, low=-0.8, high=0.8), holomorphic(p)]
    for p in (t.atan, t.sinh, t.cosh, t.asinh):
        found += [*unary(p), holomorphic(p)]
    found += [*unary(t.acosh, low=1.2, high=3.0), holomorphic(t.acosh)]
    highest = {"accuracy": t.AccuracyMode.HIGHEST}
    found += [
        Sample(p, (numbers(3),), highest, note="highest") for p in (t.tanh, t.logistic, t.expm1)
    ]
    found += [*binary(t.pow_), *binary(t.atan2)]
    found += [
        Sample(t.pow_, (complex_numbers(3), complex_numbers(3, seed=4))),
        Sample(t.pow_, (numbers(4), np.array([-2, 0, 1, 3], np.int32)), note="whole"),
        Sample(t.pow_, (numbers(3), np.int32(2)), note="whole"),
    ]
    return found


def special_samples() -> list[Sample]:
    s = special
    found = [sample for p in (s.erf, s.erfc, s.bessel_i0e, s.bessel_i1e) for sample in unary(p)]
    found += unary(s.erf_inv, low=-0.8, high=0.8)
    found += [*unary(s.lgamma), *unary(s.digamma)]
    x = lambda seed=0: numbers(3, seed=seed)
    no_second = dict.fromkeys(
        ("second derivative", "second transpose"),
        "the derivative in a has no derivative of its own",
    )
    found += [
        Sample(s.polygamma, (np.array([0, 1, 2], np.float32), x()), fixed=(0,)),
        Sample(s.zeta, (x() + 1.5, x(1))),
        Sample(s.igamma, (x(), x(1)), without=no_second),
        Sample(s.igammac, (x(), x(1)), without=no_second),
        Sample(s.igamma, (x(), x(1)), fixed=(0,), note="x"),
        Sample(s.igamma, grid([0.0, 0.3, 1.0, 20.0, inf, nan], np.float32), smooth=False),
        Sample(s.igamma_grad_a, (x(), x(1))),
        Sample(
            s.regularized_incomplete_beta,
            (x(), x(1), numbers(3, low=0.2, high=0.8)),
            fixed=(0, 1),
        ),
    ]
    return found


def comparison_samples() -> list[Sample]:
    c = comparison_and_bits
    found = []
    for p in (c.eq, c.ne, c.ge, c.gt, c.le, c.lt, c.eq_to, c.le_to, c.lt_to):
        found += binary(p)
        found += on_integers(p, dtypes=("i4", "u4"))
    found += [Sample(p, (complex_numbers(2), complex_numbers(2))) for p in (c.eq, c.ne)]
    found += [Sample(c.eq, (np.array([True, False]), np.True_))]
    return found + unary(c.is_finite)


def bit_samples() -> list[Sample]:
    c = comparison_and_bits
    bools = (np.array([True, True, False]), np.array([True, False, False]))
    found = [Sample(c.not_, bools[:1])]
    for p in (c.and_, c.or_, c.xor):
        found += [Sample(p, bools), *on_integers(p)]
    for p in (c.shift_left, c.shift_right_arithmetic, c.shift_right_logical):
        found += on_integers(p)
    for p in (c.not_, c.population_count, c.clz):
        found += [
            Sample(p, (np.array(SPECIAL_INTEGERS).astype(d),)) for d in ("i4", "u4", "i1", "u2")
        ]
    return found


def choice_samples() -> list[Sample]:
    c = comparison_and_bits
    x, y = numbers(2, 3), numbers(2, 3, seed=1)
    mask = x > y
    return [
        Sample(c.select_n, (mask, x, y)),
        Sample(c.select_n, (np.True_, x, y)),
        Sample(c.select_n, (np.False_, np.float32(1), np.float32(2))),
        Sample(c.select_n, (integers(2, 3, low=0, high=3), x, y, x - y)),
        Sample(c.select_n, (np.int32(2), x, y, x - y)),
        Sample(c.select_n, (mask, integers(2, 3), integers(2, 3, seed=1))),
        Sample(c.select_n, (mask, complex_numbers(2, 3), complex_numbers(2, 3, seed=3))),
        Sample(c.clamp, (np.float32(0.5), x, np.float32(1.2))),
        Sample(c.clamp, (y - 0.2, x, y + 0.2)),
        Sample(c.clamp, (np.int32(-2), integers(4), np.int32(3))),
        Sample(c.clamp, (0.5, numbers(), 1.2), note="python"),
        Sample(
            c.clamp,
            tuple(
                np.array(SPECIAL_FLOATS, np.float32)[[i, j, k]] for i, j, k in np.ndindex(3, 3, 3)
            )[:3],
            smooth=False,
            note="special",
        ),
    ]


def conversion_samples() -> list[Sample]:
    v = conversion
    kinds = [
        "f4",
        "f2",
        bfloat16,
        "i4",
        "i1",
        "u4",
        "?",
        "c8",
        ml_dtypes.int4,
        ml_dtypes.float8_e5m2,
    ]
    reason = "the result has too few digits for differences"
    coarse = dict.fromkeys(("derivative", "second derivative"), reason)
    found = []
    for old in kinds:
        for new in kinds:
            x = np.array([0, 1, 3, -2, 5]).astype(np.dtype(old))
            params = {"new_dtype": np.dtype(new), "weak_type": False, "sharding": None}
            lossy = np.dtype(new).itemsize < 4 or np.dtype(old) == np.dtype("c8")
            transposes = {"transpose": reason, "second transpose": reason} if lossy else {}
            without = {**coarse, **transposes} if lossy else {}
            found.append(
                Sample(
                    v.convert_element_type, (x,), params, without=without, note=np.dtype(new).name
                )
            )
    weak = {"new_dtype": np.dtype("f4"), "weak_type": True, "sharding": None}
    found.append(Sample(v.convert_element_type, (2,), weak, note="weak"))
    edges = np.array([nan, inf, -inf, 1e20, -1e20, -0.7, 127.9, 255.5, 3e9], np.float32)
    for new in ("i1", "u1", "i4", "u4"):
        params = {"new_dtype": np.dtype(new), "weak_type": False, "sharding": None}
        found.append(Sample(v.convert_element_type, (edges,), params, note=f"saturates-{new}"))
    for x, new in (
        (numbers(3), "i4"),
        (numbers(2, 3), "u1"),
        (numbers(), "i2"),
        (integers(4, dtype="i1"), "i4"),
        (integers(2, 4, dtype="i1"), "f4"),
        (integers(3, dtype="i1"), ml_dtypes.int4),
        (integers(3, 2).astype(ml_dtypes.int4), "i1"),
    ):
        found.append(Sample(v.bitcast_convert_type, (x,), {"new_dtype": np.dtype(new)}))
    rounding = "rounding is taken as the identity by derivatives"
    rounds = dict.fromkeys(
        ("derivative", "second derivative", "transpose", "second transpose"), rounding
    )
    for exponent, mantissa in ((5, 10), (8, 7), (4, 3)):
        params = {"exponent_bits": exponent, "mantissa_bits": mantissa}
        values = np.array(SPECIAL_FLOATS, np.float32)
        found.append(Sample(v.reduce_precision, (values,), params, smooth=False, note="special"))
        found.append(Sample(v.reduce_precision, (numbers(3),), params, without=rounds))
    z = complex_numbers(3)
    found += [
        Sample(v.real, (z,)),
        Sample(v.imag, (z,)),
        Sample(v.complex_, (numbers(3), numbers(3, seed=1))),
        Sample(v.complex_, (numbers(3), np.float32(2))),
        Sample(v.conj, (z,), {"input_dtype": np.dtype("c8")}),
        Sample(v.conj, (numbers(3),), {"input_dtype": np.dtype("f4")}),
    ]
    stopped = dict.fromkeys(
        ("derivative", "second derivative"), "its derivative is zero by definition"
    )
    found += [
        Sample(elementwise.copy, (numbers(3),)),
        Sample(elementwise.stop_gradient, (numbers(3),), without=stopped),
    ]
    return found


def with_known_gaps(sample: Sample) -> Sample:
    """The sample, excused from the laws of machine code where that has no such numbers."""
    involved = [np.asarray(x).dtype for x in sample.operands]
    involved += [x for x in sample.params.values() if isinstance(x, np.dtype)]
    if not any(dtype in MISSING for dtype in involved):
        return sample
    reason = "no machine code for integers of 2 and 4 bits and floats of 8"
    without = {**sample.without, "compiled": reason, "eager": reason}
    return dataclasses.replace(sample, without=without)


MISSING = (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.float8_e5m2))

FAMILIES = (
    arithmetic_samples,
    transcendental_samples,
    special_samples,
    comparison_samples,
    bit_samples,
    choice_samples,
    conversion_samples,
)

SAMPLES = [with_known_gaps(sample) for family in FAMILIES for sample in family()]
