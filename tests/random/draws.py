"""What is drawn to compare frit with real jax: one set of lines makes and tests the values.

A case is a function of `(random, jnp, key)` and how close its draws must be:

    EXACT        bit for bit: bits, integers, uniform floats, choices among them
    within(n)    relatively to n epsilons of the dtype; within(n, m), or absolutely to m
    COUNTS       integers through logarithms: one in a hundred may differ, as a boundary may

XLA's own log1p and erf_inv err by up to 100 units in the last place, so draws through them cannot
be closer than that; how exact ours are is tested against their formulas in test_accuracy.py.
"""

import base64
import hashlib

import numpy as np

DRAWS = 10_000
KEPT = 256
SEED = 20_240_611

EXACT, COUNTS = "exact", "counts"


def within(relative, absolute=0):
    """Closeness in epsilons of the dtype."""
    return relative, absolute


NEAR = within(256)
NEAR_OR_SMALL = within(256, 16)
LOOSE = within(2000)


N = (DRAWS,)
INT_DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
PROBABILITIES = np.array([0.1, 0.2, 0.3, 0.25, 0.15], np.float32)


def floating(dtype):
    """The cases of one float dtype, by name."""
    d = np.dtype(dtype)
    one = lambda x: np.asarray(x, d)
    return {
        "uniform": (EXACT, lambda r, jnp, k: r.uniform(k, N, d)),
        "uniform, 2 axes": (EXACT, lambda r, jnp, k: r.uniform(k, (100, 100), d)),
        "uniform, bounds": (EXACT, lambda r, jnp, k: r.uniform(k, N, d, -3.0, 5.0)),
        "normal": (NEAR_OR_SMALL, lambda r, jnp, k: r.normal(k, N, d)),
        "truncated_normal": (
            NEAR_OR_SMALL,
            lambda r, jnp, k: r.truncated_normal(k, -1.5, 2.0, N, d),
        ),
        "lognormal": (NEAR, lambda r, jnp, k: r.lognormal(k, one(0.5), N, d)),
        "maxwell": (NEAR, lambda r, jnp, k: r.maxwell(k, N, d)),
        "double_sided_maxwell": (
            NEAR_OR_SMALL,
            lambda r, jnp, k: r.double_sided_maxwell(k, 0.0, 2.0, N, d),
        ),
        "rayleigh": (NEAR, lambda r, jnp, k: r.rayleigh(k, one(2.0), N, d)),
        "wald": (LOOSE, lambda r, jnp, k: r.wald(k, one(1.5), N, d)),
        "exponential": (NEAR, lambda r, jnp, k: r.exponential(k, N, d)),
        "gumbel": (NEAR_OR_SMALL, lambda r, jnp, k: r.gumbel(k, N, d)),
        "gumbel, high": (NEAR_OR_SMALL, lambda r, jnp, k: r.gumbel(k, N, d, mode="high")),
        "laplace": (NEAR_OR_SMALL, lambda r, jnp, k: r.laplace(k, N, d)),
        "logistic": (within(2000, 100), lambda r, jnp, k: r.logistic(k, N, d)),
        "cauchy": (within(2000, 100), lambda r, jnp, k: r.cauchy(k, N, d)),
        "pareto": (NEAR, lambda r, jnp, k: r.pareto(k, one(3.0), N, d)),
        "weibull_min": (NEAR, lambda r, jnp, k: r.weibull_min(k, 2.0, 1.5, N, d)),
        "triangular": (
            NEAR,
            lambda r, jnp, k: r.triangular(k, one(0.0), one(0.5), one(2.0), N, d),
        ),
        "gamma, 0.3": (LOOSE, lambda r, jnp, k: r.gamma(k, one(0.3), N, d)),
        "gamma, 4.5": (LOOSE, lambda r, jnp, k: r.gamma(k, one(4.5), N, d)),
        "gamma, several": (
            LOOSE,
            lambda r, jnp, k: r.gamma(k, np.array([0.5, 1.0, 8.0], d), (1000, 3), d),
        ),
        "loggamma": (within(2000, 100), lambda r, jnp, k: r.loggamma(k, one(0.01), N, d)),
        "beta": (LOOSE, lambda r, jnp, k: r.beta(k, one(0.5), one(2.0), N, d)),
        "dirichlet": (
            LOOSE,
            lambda r, jnp, k: r.dirichlet(k, np.array([0.5, 1.0, 3.0], d), (1000,), d),
        ),
        "chisquare": (LOOSE, lambda r, jnp, k: r.chisquare(k, one(3.0), N, d)),
        "f": (LOOSE, lambda r, jnp, k: r.f(k, one(3.0), one(4.0), N, d)),
        "t": (within(2000, 100), lambda r, jnp, k: r.t(k, one(3.0), N, d)),
        "generalized_normal": (
            within(2000, 100),
            lambda r, jnp, k: r.generalized_normal(k, 1.5, N, d),
        ),
        "ball": (within(2000, 100), lambda r, jnp, k: r.ball(k, 3, 1.5, (1000,), d)),
        "orthogonal": (within(2000, 100), lambda r, jnp, k: r.orthogonal(k, 4, (50,), d)),
        "multivariate_normal": (
            within(2000, 100),
            lambda r, jnp, k: r.multivariate_normal(
                k, np.array([1.0, -2.0], d), np.array([[2.0, 0.5], [0.5, 1.0]], d), (1000,), d
            ),
        ),
        "bernoulli": (EXACT, lambda r, jnp, k: r.bernoulli(k, one(0.3), N)),
        "bernoulli, high": (EXACT, lambda r, jnp, k: r.bernoulli(k, one(0.3), N, mode="high")),
        "binomial, few": (COUNTS, lambda r, jnp, k: r.binomial(k, 10, 0.3, N, d)),
        "binomial, many": (COUNTS, lambda r, jnp, k: r.binomial(k, 1000, 0.6, N, d)),
        "multinomial": (
            COUNTS,
            lambda r, jnp, k: r.multinomial(
                k, one(20), np.array([0.2, 0.5, 0.3], d), shape=(500, 3)
            ),
        ),
    }


def integer(dtype):
    """The cases of one integer dtype, by name."""
    d = np.dtype(dtype)
    limits = np.iinfo(d)
    low = max(int(limits.min), -(2**31))
    high = min(int(limits.max), 2**31 - 1)
    return {
        "randint": (EXACT, lambda r, jnp, k: r.randint(k, N, 0, 100, d)),
        "randint, whole range": (EXACT, lambda r, jnp, k: r.randint(k, N, low, high, d)),
        "randint, empty range": (EXACT, lambda r, jnp, k: r.randint(k, N, 5, 5, d)),
        "rademacher": (EXACT, lambda r, jnp, k: r.rademacher(k, N, d)),
        "poisson, few": (COUNTS, lambda r, jnp, k: r.poisson(k, 4.0, N, d)),
        "poisson, many": (COUNTS, lambda r, jnp, k: r.poisson(k, 50.0, N, d)),
        "geometric": (COUNTS, lambda r, jnp, k: r.geometric(k, 0.25, N, d)),
    } | ({} if limits.min else {"bits": (EXACT, lambda r, jnp, k: r.bits(k, N, d))})


GENERAL = {
    "split": (EXACT, lambda r, jnp, k: r.key_data(r.split(k, (50, 100)))),
    "fold_in": (EXACT, lambda r, jnp, k: r.key_data(r.fold_in(k, 2**32 - 1))),
    "permutation of a range": (EXACT, lambda r, jnp, k: r.permutation(k, DRAWS)),
    "permutation of rows": (
        EXACT,
        lambda r, jnp, k: r.permutation(k, np.arange(3000.0, dtype="f4").reshape(1000, 3)),
    ),
    "permutation, independent": (
        EXACT,
        lambda r, jnp, k: r.permutation(
            k, np.arange(3000, dtype="i4").reshape(3, 1000), 1, independent=True
        ),
    ),
    "choice": (EXACT, lambda r, jnp, k: r.choice(k, 1000, N)),
    "choice without replacement": (EXACT, lambda r, jnp, k: r.choice(k, DRAWS, (1000,), False)),
    "choice along an axis": (
        EXACT,
        lambda r, jnp, k: r.choice(
            k, np.arange(3000, dtype="i4").reshape(3, 1000), (50,), False, axis=1
        ),
    ),
    "choice, weighted": (COUNTS, lambda r, jnp, k: r.choice(k, 5, N, True, PROBABILITIES)),
    "choice, weighted, without replacement": (
        EXACT,
        lambda r, jnp, k: r.choice(k, 5, (3,), False, PROBABILITIES),
    ),
    "categorical": (
        COUNTS,
        lambda r, jnp, k: r.categorical(k, np.log(PROBABILITIES), shape=N),
    ),
    "categorical without replacement": (
        EXACT,
        lambda r, jnp, k: r.categorical(k, np.log(PROBABILITIES), shape=(3,), replace=False),
    ),
    "gumbel, highest": (NEAR_OR_SMALL, lambda r, jnp, k: r.gumbel(k, N, "float32", mode="highest")),
    "normal, complex": (NEAR_OR_SMALL, lambda r, jnp, k: r.normal(k, N, "complex64")),
    "bits, bare": (EXACT, lambda r, jnp, k: r.bits(k, N)),
}

GENERATORS = ("philox2x32", "philox4x32", "threefry4x32", "rbg", "unsafe_rbg")
WIDTHS = ("uint8", "uint16", "uint32")


def of_generator(name, widths):
    """Bits, new keys and folded keys of another generator, from its own key of the SEED."""
    make = lambda r: r.key(SEED, impl=name)
    bits = {
        f"{name}, {dtype}": (EXACT, lambda r, jnp, k, dtype=dtype: r.bits(make(r), (7, 9), dtype))
        for dtype in widths
    }
    return bits | {
        f"{name}, split": (EXACT, lambda r, jnp, k: r.key_data(r.split(make(r), (3, 2)))),
        f"{name}, fold_in": (EXACT, lambda r, jnp, k: r.key_data(r.fold_in(make(r), 12345))),
    }


NARROW = {
    **{f"{name}, float32": case for name, case in floating("float32").items()},
    **{
        f"{name}, {dtype}": floating(np.float16 if dtype == "float16" else dtype)[name]
        for dtype in ("float16",)
        for name in ("uniform", "uniform, 2 axes")
    },
    **{f"{name}, {d}": case for d in INT_DTYPES for name, case in integer(d).items()},
    **GENERAL,
    **{k: case for name in GENERATORS for k, case in of_generator(name, WIDTHS).items()},
}
WIDE = {
    **{f"{name}, float64": case for name, case in floating("float64").items()},
    **{f"{name}, {d}": case for d in ("int64", "uint64") for name, case in integer(d).items()},
    **{k: case for name in GENERATORS for k, case in of_generator(name, ("uint64",)).items()},
    "split, wide": GENERAL["split"],
    "permutation of a range, wide": GENERAL["permutation of a range"],
}


def record(values, closeness):
    """What is kept of draws: dtype, shape, and a digest, or a sample where rounding matters."""
    values = np.ascontiguousarray(values)
    kept = {"dtype": str(values.dtype), "shape": list(values.shape)}
    if closeness == EXACT:
        kept["sha256"] = hashlib.sha256(values.tobytes()).hexdigest()
    else:
        kept["sample"] = base64.b64encode(sample(values).tobytes()).decode()
    return kept


def sample(values):
    """Up to KEPT of the values, evenly spread."""
    flat = np.ravel(values)
    return flat[:: max(1, flat.size // KEPT)][:KEPT]


def samples_of(kept):
    return np.frombuffer(base64.b64decode(kept["sample"]), kept["dtype"])
