"""Vector math against mpmath within its stated ulps, at the edges, and the same at every width."""

import re

import llvmlite.binding as binding
import numpy as np
import pytest

from frit.backends.llvm import vector_math
from frit.backends.llvm.builder import Module
from tools.accuracy import (
    Compiled,
    least_magnitude,
    measure,
    operands_of,
    sample,
    special_values,
)

DTYPES = ("float32", "float64")
INF, NAN = np.inf, np.nan
SLOW_REFERENCE = {"igamma_grad_a", "random_gamma_grad", "regularized_incomplete_beta"}


def operands(name, dtype, count, seed=1):
    with np.errstate(all="ignore"):
        return operands_of(name, dtype, count, seed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", vector_math.NAMES)
def test_error_is_within_stated_ulps(name, dtype):
    count = 15 if name in SLOW_REFERENCE else 150
    worst, where = measure(name, dtype, operands(name, dtype, count))
    assert worst <= vector_math.ACCURACY[name], where


# Where terms cancel, or n in 2**n + 2**-n is such that the sum is rounded by half an ulp.
CANCELLING = {"sinh": [0.41652512219644944], "cosh": [8.014359], "erf_inv": [0.7402437084361532]}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CANCELLING)
def test_error_is_small_where_terms_cancel(name, dtype):
    at = np.array(CANCELLING[name], dtype)
    near = at + np.arange(-500, 500).astype(dtype) * np.spacing(at)
    worst, where = measure(name, dtype, (near,))
    assert worst <= 1.3, where


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", vector_math.NAMES)
def test_every_width_gives_the_same_bits(name, dtype):
    x = operands(name, dtype, 60)
    scalar = Compiled(name, dtype, 1)(*x)
    for width in (4, 16):
        wide = Compiled(name, dtype, width)(*x)
        same = (scalar == wide) | (np.isnan(scalar) & np.isnan(wide))
        assert same.all(), [tuple(o[~same][:3] for o in x), scalar[~same][:3], wide[~same][:3]]


ODD = "sin tan asin atan asinh atanh sinh tanh erf erf_inv expm1 log1p cbrt bessel_i1e".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ODD)
def test_zeros_keep_their_sign(name, dtype):
    found = Compiled(name, dtype, 4)([0.0, -0.0])
    assert found.tolist() == [0.0, 0.0] and np.signbit(found).tolist() == [False, True]


@pytest.mark.parametrize("dtype", DTYPES)
def test_power_of_special_values_is_that_of_c99(dtype):
    special = special_values(dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        # NumPy's own f32 pow may be off by ulps; its zeros, infinities, nan and signs are C99's.
        expected = np.power(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    found = Compiled("pow", dtype, 8)(x, y)
    kinds = [np.isnan, np.isinf, lambda v: v == 0, lambda v: np.signbit(v) & ~np.isnan(v)]
    for kind in kinds:
        np.testing.assert_array_equal(kind(found), kind(expected))


@pytest.mark.parametrize("dtype", DTYPES)
def test_atan2_of_special_values_is_that_of_c99(dtype):
    special = special_values(dtype)
    y, x = (grid.ravel() for grid in np.meshgrid(special, special))
    found, expected = Compiled("atan2", dtype, 8)(y, x), np.arctan2(y, x)
    ok = np.isfinite(found)
    np.testing.assert_array_equal(ok, np.isfinite(expected))
    np.testing.assert_array_equal(np.signbit(found[ok]), np.signbit(expected[ok]))
    info = np.finfo(dtype)
    np.testing.assert_allclose(
        found[ok], expected[ok], rtol=4 * info.eps, atol=info.smallest_subnormal
    )


EDGES = {
    "exp": ([INF, -INF, 0, NAN, 1e4, -1e4], [INF, 0, 1, NAN, INF, 0]),
    "log": ([INF, -INF, 0, -0.0, -1, NAN, 1], [INF, NAN, -INF, -INF, NAN, NAN, 0]),
    "log1p": ([INF, -1, -2, NAN], [INF, -INF, NAN, NAN]),
    "sin": ([INF, -INF, NAN], [NAN, NAN, NAN]),
    "acos": ([1, -1, 2, NAN], [0, np.pi, NAN, NAN]),
    "acosh": ([1, 0.5, INF, -INF, -5], [0, NAN, INF, NAN, NAN]),
    "atanh": ([1, -1, 2, NAN], [INF, -INF, NAN, NAN]),
    "rsqrt": ([0, -0.0, INF, -1], [INF, -INF, 0, NAN]),
    "erf_inv": ([1, -1, 1.5, NAN], [INF, -INF, NAN, NAN]),
    "lgamma": ([0, -0.0, -1, -INF, INF, 1, 2], [INF, INF, INF, INF, INF, 0, 0]),
    "digamma": ([0, -0.0, -1, -INF, INF], [NAN, NAN, NAN, NAN, INF]),
    "bessel_i0e": ([0, INF, -INF, NAN], [1, 0, 0, NAN]),
}
EDGES_OF_PAIRS = {
    "igamma": [(1, 0, 0), (1, INF, 1), (0, 1, 1), (0, 0, NAN), (-1, 1, NAN), (1, -1, NAN)],
    "igammac": [(1, 0, 1), (1, INF, 0), (0, 1, 0), (INF, 1, 1), (1, NAN, NAN)],
    "igamma_grad_a": [(1, 0, 0), (0, 1, NAN), (1, INF, NAN)],
    "random_gamma_grad": [(1, 0, 0), (-1, 1, NAN)],
    "zeta": [(1, 2, INF), (0.5, 2, NAN), (2, -1, INF), (3, -1, NAN), (2.5, -1.5, NAN), (2, INF, 0)],
    "polygamma": [(1.5, 2, NAN), (-1, 2, NAN), (1, 0, INF), (0, 0, NAN)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, dtype):
    x, expected = EDGES[name]
    np.testing.assert_array_equal(Compiled(name, dtype, 4)(x), np.array(expected, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EDGES_OF_PAIRS)
def test_edges_of_functions_of_two(name, dtype):
    a, b, expected = np.array(EDGES_OF_PAIRS[name], dtype).T
    np.testing.assert_array_equal(Compiled(name, dtype, 4)(a, b), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_incomplete_beta_edges(dtype):
    rows = [(0, 1, 0, 0), (0, 1, 0.3, 1), (1, 0, 0.3, 0), (0, 0, 0.3, NAN), (2, 2, 1, 1)]
    rows += [(2, 2, -1, NAN), (2, 2, 1.5, NAN), (INF, 1, 0.3, 0), (1, INF, 0.3, 1), (2, 1, 0, 0)]
    a, b, x, expected = np.array(rows, dtype).T
    found = Compiled("regularized_incomplete_beta", dtype, 4)(a, b, x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", vector_math.NAMES)
def test_hosts_without_fma(name):
    """The same functions for plain x86-64 or whatever the host's baseline is."""
    if not binding.get_default_triple().startswith("x86_64"):
        pytest.skip("the baseline of other hosts has FMA")
    for dtype in DTYPES:
        x = operands(name, dtype, 100)
        compiled = Compiled(name, dtype, 4, has_fma=False, features="-fma,-avx")
        assert "@llvm.fma" not in compiled.text
        allowed = 2 * vector_math.ACCURACY[name]
        with_fma = Compiled(name, dtype, 4)(*x)
        found = compiled(*x)
        finite = np.isfinite(found) & np.isfinite(with_fma)
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(with_fma))
        least = [least_magnitude(name, [float(o[i]) for o in x]) for i in range(len(found))]
        size = np.maximum(np.abs(with_fma[finite]).astype(float), np.array(least)[finite])
        size = size.clip(0, 1e300)
        spacing = np.maximum(size * np.finfo(dtype).eps / 2, np.finfo(dtype).smallest_subnormal)
        apart = np.abs(found[finite].astype(float) - with_fma[finite]) / spacing
        assert apart.max() <= 2 * allowed


def test_modules_define_a_function_once_and_refuse_others():
    module = Module()
    first = vector_math.function(module, "exp", np.float32, 8)
    assert vector_math.function(module, "exp", "float32", 8) == first == "frit.exp.v8f32"
    assert module.render().count("define") == 1
    assert "fast" not in module.render()
    with pytest.raises(KeyError, match="no vector function 'exq'"):
        vector_math.function(module, "exq", np.float32, 8)
    with pytest.raises(TypeError, match="convert float16"):
        vector_math.function(module, "exp", np.float16, 8)


MACHINES = {
    "x86_64-unknown-linux-gnu": (("x86-64", "", False), ("haswell", "", True)),
    "aarch64-unknown-linux-gnu": (("generic", "+neon", True),),
}


@pytest.mark.parametrize("triple", MACHINES)
@pytest.mark.parametrize("name", vector_math.NAMES)
def test_no_library_is_called(name, triple):
    """Objects for other machines, baseline ones included, refer to no symbol outside."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    for cpu, features, has_fma in MACHINES[triple]:
        module = Module(has_fma=has_fma)
        for dtype, width in (("float32", 4), ("float64", 2), ("float64", 1)):
            vector_math.function(module, name, dtype, width)
        parsed = binding.parse_assembly(module.render().replace("define internal", "define"))
        machine = binding.Target.from_triple(triple).create_target_machine(
            cpu=cpu, features=features, opt=1, reloc="pic", codemodel="small"
        )
        assembly = machine.emit_assembly(parsed)
        called = re.findall(r"^\s(?:callq?|bl|b|jmp)\s+([^\s.*%]\S*)", assembly, re.M)
        outside = {symbol.removesuffix("@PLT").strip('"') for symbol in called}
        assert {symbol for symbol in outside if not symbol.startswith("frit.")} == set()


def test_huge_arguments_of_circular_functions():
    x = np.array([1e22, -1e300, 2.0**1023, 6381956970095103 * 2.0**797, 1e5, 2.0**29])
    for name in ("sin", "cos", "tan"):
        worst, where = measure(name, "float64", (x,))
        assert worst <= 1, where


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf", "logistic"])
def test_f32_against_f64_on_many_bit_patterns(name):
    x = sample("float32", 200_000, seed=3)
    with np.errstate(all="ignore"):
        wide = Compiled(name, "float64", 8)(x.astype(np.float64))
        found = Compiled(name, "float32", 16)(x)
        rounded = wide.astype(np.float32)
        finite = np.isfinite(rounded) & np.isfinite(found)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
        spacing = np.spacing(np.abs(rounded[finite])).astype(np.float64)
        apart = np.abs(found[finite].astype(np.float64) - wide[finite]) / spacing
    assert apart.max() <= vector_math.ACCURACY[name]


def test_inline_cost_counts_instructions():
    assert vector_math.inline_cost("sqrt") == 1
    assert 20 < vector_math.inline_cost("exp") < vector_math.inline_cost("pow")
