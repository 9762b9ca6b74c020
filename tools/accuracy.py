"""Measures the error of vector math, in units in the last place (ulps).

    python tools/accuracy.py                      a sample of every function, f32 and f64
    python tools/accuracy.py sin exp --exhaustive every f32, and a million f64 (minutes each)
    python tools/accuracy.py --page FILE          docs/accuracy.md from what such runs recorded

The exhaustive form (tools/accuracy_patterns.py) runs in pieces: `--output FILE` records them, and
the same command carries on where it was stopped; `--jobs N` takes N processes. References: mpmath
with 50 digits; for f32 bit by bit, NumPy's f64. Exits with 1 if a function is worse than stated.
"""

import argparse
import pathlib
import sys

import mpmath
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from frit.backends.llvm import vector_math
from tools.accuracy_patterns import measure_patterns, write_page
from tools.compiled_functions import ELEMENTS, Compiled
from tools.exact_functions import REFERENCES, error_in_ulps, least_magnitude

KINDS = {"float32": (np.float32, np.uint32), "float64": (np.float64, np.uint64)}


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


def measure_samples(options):
    """Measures a sample of each function against mpmath; 1 if one is worse than stated."""
    failed = False
    for name in options.names or vector_math.NAMES:
        for dtype in [options.dtype] if options.dtype else ELEMENTS:
            with np.errstate(all="ignore"):
                operands = operands_of(name, dtype, options.count or 2000, options.seed)
                worst, where = measure(name, dtype, operands)
            bad = worst > vector_math.ACCURACY[name]
            failed |= bad
            print(f"{name:10} {dtype:8} {worst:8.3f} {'WORSE ' if bad else ''}{where}", flush=True)
    return int(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--count", type=int, help="f64 patterns (1000000) or samples (2000)")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    parser.add_argument("--dtype", choices=tuple(ELEMENTS))
    parser.add_argument("--exhaustive", action="store_true", help="by bit pattern")
    parser.add_argument("--jobs", type=int, default=1, help="processes of the exhaustive form")
    parser.add_argument("--output", help="file of finished pieces, which are not measured again")
    parser.add_argument("--page", nargs="+", help="write docs/accuracy.md from such files")
    options = parser.parse_args()
    if options.page:
        return write_page(options.page)
    if options.exhaustive:
        dtypes = [options.dtype] if options.dtype else list(ELEMENTS)
        return measure_patterns(
            options.names, dtypes, options.count or 10**6, options.jobs, options.output
        )
    return measure_samples(options)


if __name__ == "__main__":
    sys.exit(main())
