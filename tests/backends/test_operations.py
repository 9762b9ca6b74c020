"""Machine code of each operation on each dtype, against its meaning on special values."""

import numpy as np
import pytest

from frit.backends.llvm import vector_math
from frit.codegen.loop_builder import Builder
from frit.codegen.scalars import element_type, evaluate, is_float
from tests.codegen.running import machine, same_bits

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
EVERY = ("bool", *NUMBERS)


def specials(dtype):
    """Values where an operation may go wrong."""
    kind = element_type(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if not is_float(np.empty(0, kind)):
        info = np.iinfo(kind)
        bits = info.bits
        values = [0, 1, 2, 3, 5, 7, 31, bits - 1, bits, bits + 1, info.max, info.max - 1, info.min]
        if info.min < 0:
            values += [-1, -2, -7, -bits, info.min + 1]
        return np.array([v for v in values if info.min <= v <= info.max], dtype=kind)
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 0.3, -0.7, 1e-3, 100.0, -250.5]
    numbers += [np.inf, -np.inf, np.nan, 1e20, -1e20, 65519.0, 65520.0, 6e-8, 2.9802322e-8, 1e-40]
    with np.errstate(all="ignore"):
        return np.array(numbers, np.float64).astype(kind)


def applied(op, arrays, dtype, params):
    """`op` on flat arrays by machine code."""
    b = Builder("applied")
    n = arrays[0].size
    inputs = [b.buffer(f"x{k}", str(a.dtype), (n,)) for k, a in enumerate(arrays)]
    y = b.buffer("y", dtype, (n,))
    with b.loop(n, kind="vector") as loop:
        values = [b.load(x, loop.index) for x in inputs]
        b.store(y, loop.index, b.apply(op, *values, dtype=dtype, **params))
    return machine(b.finish(), [*arrays, None])[-1]


def check(op, operand_dtypes, dtype, **params):
    grids = np.meshgrid(*[np.arange(specials(d).size) for d in operand_dtypes], indexing="ij")
    arrays = [specials(d)[g.reshape(-1)] for d, g in zip(operand_dtypes, grids, strict=True)]
    with np.errstate(all="ignore"):
        expected = evaluate(op, arrays, dtype, params)
    found = applied(op, arrays, dtype, params)
    if not same_bits(found, expected):
        wrong = [
            (*(a[k] for a in arrays), found[k], expected[k])
            for k in range(found.size)
            if not same_bits(found[k : k + 1], np.asarray(expected)[k : k + 1])
        ]
        raise AssertionError(f"{op}: operands, found, expected: {wrong[:8]}")


UNARY = {
    "abs": NUMBERS,
    "ceil": FLOATS,
    "clz": INTEGERS,
    "floor": FLOATS,
    "neg": NUMBERS,
    "not": ("bool", *INTEGERS),
    "population_count": INTEGERS,
    "sign": NUMBERS,
    "sqrt": FLOATS,
    "square": NUMBERS,
}
BINARY = {
    "add": NUMBERS,
    "and": ("bool", *INTEGERS),
    "div": NUMBERS,
    "max": EVERY,
    "min": EVERY,
    "mul": NUMBERS,
    "nextafter": FLOATS,
    "or": ("bool", *INTEGERS),
    "rem": NUMBERS,
    "shift_left": INTEGERS,
    "shift_right_arithmetic": INTEGERS,
    "shift_right_logical": INTEGERS,
    "sub": NUMBERS,
    "xor": ("bool", *INTEGERS),
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
TOTAL = ("eq_to", "le_to", "lt_to")


@pytest.mark.parametrize(("op", "dtype"), [(op, d) for op, ds in UNARY.items() for d in ds])
def test_unary(op, dtype):
    check(op, [dtype], dtype)


@pytest.mark.parametrize(("op", "dtype"), [(op, d) for op, ds in BINARY.items() for d in ds])
def test_binary(op, dtype):
    check(op, [dtype, dtype], dtype)


@pytest.mark.parametrize("dtype", EVERY)
def test_comparisons(dtype):
    for op in COMPARISONS:
        check(op, [dtype, dtype], "bool")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_total_order(dtype):
    for op in TOTAL:
        check(op, [dtype, dtype], "bool")


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_operations_with_parameters(dtype):
    check("is_finite", [dtype], "bool")
    for method in (0, 1):
        check("round", [dtype], dtype, rounding_method=method)
    for power in (-2, 0, 1, 3, 10):
        check("integer_pow", [dtype], dtype, y=power)
    check("clamp", [dtype] * 3, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reduce_precision(dtype):
    for exponent, mantissa in ((5, 10), (8, 7), (4, 3), (8, 23)):
        check("reduce_precision", [dtype], dtype, exponent_bits=exponent, mantissa_bits=mantissa)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integer_powers(dtype):
    for power in (0, 1, 2, 5, 13):
        check("integer_pow", [dtype], dtype, y=power)


@pytest.mark.parametrize("source", EVERY)
@pytest.mark.parametrize("target", EVERY)
def test_conversions(source, target):
    check("convert_element_type", [source], target, new_dtype=target)


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int32"), ("uint32", "float32"), ("float64", "uint64"), ("bfloat16", "int16")],
)
def test_bitcasts(source, target):
    check("bitcast_convert_type", [source], target, new_dtype=target)


def test_select_n_clamps_its_index():
    check("select_n", ["int8", "float32", "float32"], "float32")
    check("select_n", ["bool", "int64", "int64"], "int64")


SMALL_FLOATS = [
    f"float8_{form}" for form in "e3m4 e4m3 e5m2 e4m3fn e4m3fnuz e5m2fnuz e4m3b11fnuz".split()
]
SMALL_INTEGERS = ["int2", "int4", "uint2", "uint4"]


def every_byte(dtype):
    """All values of a dtype of at most 8 bits."""
    kind = element_type(dtype)
    if dtype in SMALL_INTEGERS:
        bits = int(dtype[-1])
        low = 0 if dtype.startswith("u") else -(1 << (bits - 1))
        return np.arange(low, low + (1 << bits)).astype(kind)
    return np.arange(256, dtype=np.uint8).view(kind)


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_small_floats(dtype):
    numbers = every_byte(dtype).astype(np.float32)
    between = np.concatenate([numbers, numbers * 1.03125, specials("float32")])
    with np.errstate(all="ignore"):
        narrow = applied("convert_element_type", [between], dtype, {"new_dtype": dtype})
        expected = between.astype(element_type(dtype))
        nan = np.isnan(expected.astype(np.float32))
        assert np.isnan(narrow.astype(np.float32)[nan]).all()
        assert np.array_equal(narrow.view(np.uint8)[~nan], expected.view(np.uint8)[~nan])
        wide = applied(
            "convert_element_type", [every_byte(dtype)], "float32", {"new_dtype": "float32"}
        )
        assert same_bits(wide, numbers)
        x, y = np.meshgrid(every_byte(dtype), every_byte(dtype)[::7])
        product = applied("mul", [x.reshape(-1), y.reshape(-1)], dtype, {})
        exact = (x.astype(np.float32) * y.astype(np.float32)).reshape(-1)
        rounded = exact.astype(element_type(dtype)).astype(np.float32)
        assert same_bits(product.astype(np.float32), rounded)


@pytest.mark.parametrize("dtype", SMALL_INTEGERS)
def test_small_integers(dtype):
    values = every_byte(dtype)
    x, y = (grid.reshape(-1) for grid in np.meshgrid(values, values))
    binary = "add sub mul div rem max min and or xor shift_left shift_right_arithmetic"
    for op in [*binary.split(), "shift_right_logical"]:
        assert np.array_equal(applied(op, [x, y], dtype, {}), evaluate(op, [x, y], dtype, {})), op
    for op in ("neg", "abs", "not", "population_count", "clz"):
        found, expected = applied(op, [values], dtype, {}), evaluate(op, [values], dtype, {})
        assert np.array_equal(found, expected), op
    for source in ("float32", "int32", "bool"):
        given = specials(source)
        with np.errstate(all="ignore"):
            expected = evaluate("convert_element_type", [given], dtype, {"new_dtype": dtype})
        found = applied("convert_element_type", [given], dtype, {"new_dtype": dtype})
        assert np.array_equal(found, expected), source


NARROW = "sin cos exp log tanh logistic log1p expm1 erf atan2 pow rsqrt cbrt lgamma digamma".split()


@pytest.mark.parametrize("op", NARROW)
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_are_near(op, dtype):
    if op != "rsqrt" and op not in vector_math.NAMES:
        pytest.skip(f"no vector function {op}")
    operands = 2 if op in ("atan2", "pow") else 1
    arrays = [specials(dtype)] * operands
    if operands == 2:
        arrays = [np.repeat(arrays[0], arrays[0].size), np.tile(arrays[0], arrays[0].size)]
    with np.errstate(all="ignore"):
        expected = np.asarray(evaluate(op, arrays, dtype, {}), np.float64)
        found = applied(op, arrays, dtype, {}).astype(np.float64)
        step = float(np.finfo(dtype).eps if dtype != "bfloat16" else 2.0**-7)
        tiny = {"float16": 6e-8, "bfloat16": 1e-40, "float32": 1.5e-45, "float64": 5e-324}[dtype]
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        if op in ("lgamma", "digamma"):  # ill-conditioned at their zeros
            tiny = 8 * step
        near = np.abs(found - expected) <= 4 * step * np.abs(expected) + 2 * tiny
    wrong = ~(same | near)
    assert not wrong.any(), [(*(a[wrong] for a in arrays), found[wrong], expected[wrong])]
