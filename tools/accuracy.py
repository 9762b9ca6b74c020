"""Measures the error of vector math, in units in the last place (ulps).

    python tools/accuracy.py                      a sample of every function, f32 and f64
    python tools/accuracy.py sin exp --exhaustive every f32 bit pattern (a minute each)
    python tools/accuracy.py pow --count 20000    so many f64 patterns against mpmath

References: mpmath with 50 digits; for f32 bit by bit, the f64 function.
Exits with 1 if a function is worse than `vector_math.ACCURACY` says.
"""

import argparse
import ctypes
import math
import pathlib
import sys

import llvmlite.binding as binding
import mpmath
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from frit.backends.llvm import vector_math
from frit.backends.llvm.builder import (
    F32,
    F64,
    I64,
    PTR,
    VOID,
    Builder,
    Module,
)
from frit.backends.llvm.vector_math.definitions import FUNCTIONS

ELEMENTS = {"float32": F32, "float64": F64}
KINDS = {"float32": (np.float32, np.uint32), "float64": (np.float64, np.uint64)}


class Compiled:
    """A vector function in machine code; call it with arrays of equal length."""

    def __init__(self, name, dtype, width, *, has_fma=True, features=None):
        self.dtype, self.width = np.dtype(dtype), width
        module = Module(has_fma=has_fma)
        element = ELEMENTS[self.dtype.name]
        type = element.with_lanes(width)
        operands = vector_math.OPERANDS[name]
        symbol = vector_math.function(module, name, dtype, width)
        outer = module.function("run", VOID, [PTR] * (operands + 1) + [I64])
        *sources, target, count = outer.parameters
        builder = Builder(outer)
        with builder.loop(0, count, width) as loop:
            x = [builder.load(type, builder.gep(p, loop.index, element)) for p in sources]
            result = builder.call(symbol, type, x)
            builder.store(result, builder.gep(target, loop.index, element))
        builder.ret()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self.text = module.render()
        parsed = binding.parse_assembly(self.text)
        parsed.verify()
        if features is None:
            features = binding.get_host_cpu_features().flatten()
        target = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name() if has_fma else "", features=features, opt=1, jit=True
        )
        self.engine = binding.create_mcjit_compiler(parsed, target)
        self.engine.finalize_object()
        kinds = [ctypes.c_void_p] * (operands + 1) + [ctypes.c_int64]
        self.run = ctypes.CFUNCTYPE(None, *kinds)(self.engine.get_function_address("run"))

    def __call__(self, *arrays):
        arrays = np.broadcast_arrays(*(np.asarray(x, self.dtype) for x in arrays))
        count = arrays[0].size
        padded = -(-count // self.width) * self.width
        arrays = [np.ascontiguousarray(np.resize(x, padded)) for x in arrays]
        result = np.empty(padded, self.dtype)
        self.run(*(x.ctypes.data for x in (*arrays, result)), padded)
        return result[:count]


def special_values(dtype):
    """Values at which formulas break: zeros, infinities, nan, extremes, subnormals."""
    info = np.finfo(dtype)
    magnitudes = [0, 1, 2, 3, 4, 5, 0.5, 0.25, 1.5, 2.5, np.inf, info.max, info.tiny]
    magnitudes += [info.smallest_subnormal, info.tiny / 2, info.eps, 1 + info.eps, 1 - info.epsneg]
    magnitudes += [np.pi, np.pi / 2, np.pi / 4, np.e, np.log(2), 10, 100, 1e4, 1e6, 1e9, 1e20]
    values = np.array(magnitudes, dtype)
    neighbours = np.nextafter(values[np.isfinite(values)], np.asarray(0, dtype))
    positive = np.concatenate([values, neighbours])
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def sample(dtype, count, seed=0, low=None, high=None):
    """Bit patterns spread over all exponents, and as many over ordinary magnitudes."""
    kind, bits = KINDS[np.dtype(dtype).name]
    random = np.random.default_rng(seed)
    if low is not None:
        values = random.uniform(low, high, count).astype(kind)
    else:
        patterns = random.integers(0, np.iinfo(bits).max, count // 2, bits, endpoint=True)
        ordinary = np.exp(random.uniform(-8, 6, count - count // 2)) * random.choice([-1, 1],
                          count - count // 2)  # fmt: skip
        values = np.concatenate([patterns.view(kind), ordinary.astype(kind)])
    return np.concatenate([special_values(kind), values])


def ulp_of(exact, dtype):
    """The spacing of `dtype` at an mpmath number."""
    info = np.finfo(dtype)
    if exact == 0 or not mpmath.isfinite(exact):
        exponent = info.minexp
    else:
        exponent = max(int(mpmath.floor(mpmath.log(abs(exact), 2))), info.minexp)
    return mpmath.mpf(2) ** (exponent - info.nmant)


def error_in_ulps(got, exact, dtype, least=0):
    """|got - exact| in ulps of exact, or of `least` if that is greater.

    Infinite where one is nan or the infinities differ.
    """
    if mpmath.isnan(exact) or np.isnan(got):
        return 0.0 if mpmath.isnan(exact) and np.isnan(got) else np.inf
    info = np.finfo(dtype)
    largest = mpmath.mpf(float(info.max)) + mpmath.mpf(2) ** (info.maxexp - info.nmant - 2)
    if np.isinf(got) or mpmath.isinf(exact):
        limit = mpmath.mpf(float(info.max)) * (1 - mpmath.mpf(2) ** -info.nmant)
        agree = np.isinf(got) and abs(exact) >= min(limit, largest) and (got > 0) == (exact > 0)
        return 0.0 if agree else np.inf
    return float(abs(mpmath.mpf(float(got)) - exact) / ulp_of(max(abs(exact), least), dtype))


def _real(function):
    """An mpmath function as one of floats that gives nan for complex results and poles."""

    def called(*operands):
        if any(map(math.isnan, operands)):
            return mpmath.nan
        try:
            result = function(*map(mpmath.mpf, operands))
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence):
            return mpmath.nan
        return mpmath.nan if isinstance(result, mpmath.mpc) else result

    return called


def _at_infinity(function, plus, minus):
    """The function, with its limits at the infinities, where mpmath has none."""

    def called(x):
        if mpmath.isinf(x):
            return mpmath.mpf(plus if x > 0 else minus)
        return function(x)

    return called


def _power(x, y):
    """C99's pow of two floats; mpmath has complex results and no signed zeros."""
    with np.errstate(all="ignore"):
        plain = float(np.float64(x) ** np.float64(y))
    if x == 0 or y == 0 or x == 1 or math.isnan(plain) or math.isinf(x) or math.isinf(y):
        return mpmath.mpf(plain)
    logarithm = y * mpmath.log(abs(mpmath.mpf(x)))
    if abs(logarithm) > 2000:
        return mpmath.mpf(plain)
    result = mpmath.exp(logarithm)
    return -result if x < 0 and y % 2 else result


def _atan2(y, x):
    if math.isfinite(x) and math.isfinite(y) and x and y:
        return mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))
    quarters = np.arctan2(y, x) / (np.pi / 4)
    return mpmath.pi / 4 * round(float(quarters)) if quarters == quarters else mpmath.nan


def _reciprocal_root(x):
    if x == 0:
        return mpmath.inf * math.copysign(1, x)
    return 1 / mpmath.sqrt(mpmath.mpf(x)) if x > 0 else mpmath.nan


def _bounded(function, limit, beyond):
    """The function up to |x| = limit, `beyond(x)` past it, where mpmath is slow or overflows."""
    return lambda x: function(x) if mpmath.isnan(x) or abs(x) <= limit else beyond(x)


def _inverse_erf(x):
    if abs(x) == 1:
        return x * mpmath.inf
    return mpmath.erfinv(x) if abs(x) < 1 else mpmath.nan


def _lgamma(x):
    if mpmath.isinf(x) or (x <= 0 and x == mpmath.floor(x)):
        return mpmath.inf
    return mpmath.loggamma(x).real


def _digamma(x):
    if mpmath.isinf(x) or (x <= 0 and x == mpmath.floor(x)):
        return mpmath.mpf("inf" if x > 0 else "nan")
    return mpmath.digamma(x)


def _igamma_slope(a, x):
    return mpmath.diff(lambda a: mpmath.gammainc(a, 0, x, regularized=True), a)


def _zeta(s, q):
    # mpmath bounds the absolute error.
    with mpmath.workdps(150):
        return mpmath.zeta(s, q)


def _bessel(order, x):
    if mpmath.isinf(x):
        return mpmath.mpf(0)
    if abs(x) < 1e5:
        return mpmath.exp(-abs(x)) * mpmath.besseli(order, x)
    # Hankel's expansion, DLMF 10.40.1
    a, mu, total, term = abs(x), 4 * order * order, mpmath.mpf(1), mpmath.mpf(1)
    for k in range(1, 12):
        term *= -(mu - (2 * k - 1) ** 2) / (k * 8 * a)
        total += term
    return total / mpmath.sqrt(2 * mpmath.pi * a) * (mpmath.sign(x) if order else 1)


_SATURATED = {
    "exp": _bounded(mpmath.exp, 2000, lambda x: mpmath.inf if x > 0 else mpmath.mpf(0)),
    "exp2": _bounded(
        lambda x: mpmath.mpf(2) ** x, 3000, lambda x: mpmath.inf if x > 0 else mpmath.mpf(0)
    ),
    "expm1": _bounded(mpmath.expm1, 2000, lambda x: mpmath.inf if x > 0 else mpmath.mpf(-1)),
    "logistic": _bounded(
        lambda x: 1 / (1 + mpmath.exp(-x)), 2000, lambda x: mpmath.mpf(int(x > 0))
    ),
    "tanh": _bounded(mpmath.tanh, 200, mpmath.sign),
    "sinh": _bounded(mpmath.sinh, 2000, lambda x: x * mpmath.inf),
    "cosh": _bounded(mpmath.cosh, 2000, lambda x: mpmath.inf),
    "erf": _bounded(mpmath.erf, 40, mpmath.sign),
    "erfc": _bounded(mpmath.erfc, 40, lambda x: mpmath.mpf(2 if x < 0 else 0)),
}

REFERENCES = {
    **{name: _real(function) for name, function in _SATURATED.items()},
    "log": _real(lambda x: mpmath.log(x) if x else -mpmath.inf),
    "log2": _real(lambda x: mpmath.log(x, 2) if x else -mpmath.inf),
    "log1p": _real(lambda x: mpmath.log1p(x) if x != -1 else -mpmath.inf),
    "sin": _real(_at_infinity(mpmath.sin, "nan", "nan")),
    "cos": _real(_at_infinity(mpmath.cos, "nan", "nan")),
    "tan": _real(_at_infinity(mpmath.tan, "nan", "nan")),
    "asin": _real(lambda x: mpmath.asin(x) if abs(x) <= 1 else mpmath.nan),
    "acos": _real(lambda x: mpmath.acos(x) if abs(x) <= 1 else mpmath.nan),
    "atan": _real(mpmath.atan),
    "asinh": _real(_at_infinity(mpmath.asinh, "inf", "-inf")),
    "acosh": _real(lambda x: mpmath.acosh(x) if x >= 1 else mpmath.nan),
    "atanh": _real(
        lambda x: mpmath.nan if abs(x) > 1 else x * mpmath.inf if abs(x) == 1 else mpmath.atanh(x)
    ),
    "atan2": _atan2,
    "pow": _power,
    "sqrt": _real(lambda x: mpmath.sqrt(x) if x >= 0 else mpmath.nan),
    "rsqrt": _reciprocal_root,
    "cbrt": _real(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)) if mpmath.isfinite(x) else x),
    "erf_inv": _real(_inverse_erf),
    "lgamma": _real(_lgamma),
    "digamma": _real(_digamma),
    "bessel_i0e": _real(lambda x: _bessel(0, x)),
    "bessel_i1e": _real(lambda x: _bessel(1, x)),
    "igamma": _real(lambda a, x: mpmath.gammainc(a, 0, x, regularized=True)),
    "igammac": _real(lambda a, x: mpmath.gammainc(a, x, regularized=True)),
    "igamma_grad_a": _real(_igamma_slope),
    "random_gamma_grad": _real(
        lambda a, x: -_igamma_slope(a, x) * mpmath.gamma(a) * mpmath.exp(x) / x ** (a - 1)
    ),
    "regularized_incomplete_beta": _real(
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True)
    ),
    "zeta": _real(_zeta),
    "polygamma": _real(lambda n, x: mpmath.polygamma(int(n), x)),
}  # fmt: skip


def least_magnitude(name, point):
    """The least size of a result that counts; below, the function is ill conditioned.

    lgamma and digamma cross zero between all their poles on the negative axis, where they are a
    difference of terms of this size.
    """
    if name not in ("lgamma", "digamma") or not -math.inf < point[0] < 0:
        return 0
    size = abs(point[0])
    logarithm = abs(math.log(size))
    return 1 + (min(size, 1e300) * logarithm if name == "lgamma" else logarithm)


def measure(name, dtype, operands, width=None):
    """(worst error in ulps, the operands there) against mpmath."""
    width = width or (16 if np.dtype(dtype) == np.float32 else 8)
    got = Compiled(name, dtype, width)(*operands)
    worst, where = -1.0, None
    with mpmath.workdps(50):
        for position, result in enumerate(got):
            point = tuple(float(x[position]) for x in operands)
            exact = REFERENCES[name](*point)
            error = error_in_ulps(result, exact, dtype, least_magnitude(name, point))
            if error > worst:
                worst, where = error, (*point, float(result), float(exact))
    return worst, where


def measure_patterns(name, stride=1, chunk=1 << 21):
    """(worst error of f32 over every stride-th bit pattern, the operand there).

    Against the f64 function, which is itself measured against mpmath.
    """
    narrow, wide = Compiled(name, "float32", 16), Compiled(name, "float64", 8)
    worst, where = 0.0, None
    tiniest = float(np.finfo(np.float32).smallest_subnormal)
    largest = float(np.finfo(np.float32).max) * (1 + 2.0**-25)
    for start in range(0, 1 << 32, chunk * stride):
        patterns = np.arange(start, min(start + chunk * stride, 1 << 32), stride, dtype=np.uint32)
        x = patterns.view(np.float32)
        with np.errstate(all="ignore"):
            exact, found = wide(x.astype(np.float64)), narrow(x).astype(np.float64)
            _, exponent = np.frexp(exact)
            spacing = np.maximum(np.ldexp(1.0, exponent - 24), tiniest)
            error = np.abs(found - exact) / spacing
        error[(found == exact) | (np.isinf(found) & (np.abs(exact) >= largest))] = 0
        error[np.isnan(found) != np.isnan(exact)] = np.inf
        error[np.isnan(error)] = 0
        place = int(np.argmax(error))
        if error[place] > worst:
            worst, where = float(error[place]), (float(x[place]), found[place], exact[place])
    return worst, where


def _spread(low, high):
    return lambda random, count: np.exp(random.uniform(np.log(low), np.log(high), count))


def _fraction(random, count):
    return random.uniform(0, 1, count)


# Functions of several parameters are tried where mpmath answers quickly; their edges have tests.
MODERATE = {
    "igamma": (_spread(0.01, 50), _spread(0.01, 80)),
    "igammac": (_spread(0.01, 50), _spread(0.01, 80)),
    "igamma_grad_a": (_spread(0.05, 30), _spread(0.05, 40)),
    "random_gamma_grad": (_spread(0.05, 30), _spread(0.05, 40)),
    "regularized_incomplete_beta": (_spread(0.1, 50), _spread(0.1, 50), _fraction),
    "zeta": (_spread(1.05, 30), _spread(0.05, 60)),
    "polygamma": (lambda random, count: random.integers(1, 12, count), _spread(0.05, 60)),
}


def operands_of(name, dtype, count, seed=0):
    """Sampled operands for the function: all pairs of special values first, if it takes two."""
    arity = vector_math.OPERANDS[name]
    if arity == 1:
        return (sample(dtype, count, seed),)
    if name in MODERATE:
        random = np.random.default_rng(seed)
        return tuple(np.asarray(draw(random, count)).astype(dtype) for draw in MODERATE[name])
    special = special_values(dtype)
    grid = [x.ravel() for x in np.meshgrid(*[special] * arity)]
    random = [sample(dtype, count, seed + i) for i in range(arity)]
    random = [np.random.default_rng(i).permutation(x) for i, x in enumerate(random)]
    return tuple(np.concatenate(pair) for pair in zip(grid, random, strict=True))


def exhaustive(options):
    """Checks functions of one operand that are computed in f32; 1 if one is worse than stated."""
    failed = False
    for name in options.names or vector_math.NAMES:
        definition = FUNCTIONS[name]
        if definition.operands == 1 and not definition.f32_by_f64:
            worst, where = measure_patterns(name, options.stride)
            bad = worst > definition.ulps
            failed |= bad
            print(f"{name:10} {worst:8.3f} {'WORSE ' if bad else ''}{where}", flush=True)
    return int(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=tuple(ELEMENTS))
    parser.add_argument("--exhaustive", action="store_true", help="f32 by bit pattern")
    parser.add_argument("--stride", type=int, default=1, help="take every so many-th pattern")
    options = parser.parse_args()
    failed = False
    if options.exhaustive:
        return exhaustive(options)
    for name in options.names or vector_math.NAMES:
        for dtype in [options.dtype] if options.dtype else ELEMENTS:
            with np.errstate(all="ignore"):
                operands = operands_of(name, dtype, options.count, options.seed)
                worst, where = measure(name, dtype, operands)
            bad = worst > vector_math.ACCURACY[name]
            failed |= bad
            print(f"{name:10} {dtype:8} {worst:8.3f} {'WORSE ' if bad else ''}{where}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
