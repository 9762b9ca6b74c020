"""frit.scipy.special beside scipy.special: values in ulps, special values, derivatives, errors."""

import numpy as np
import pytest
import scipy.special as reference

import frit
import frit.numpy as jnp
from frit.scipy import special

COUNT = 200


def uniform(low, high):
    return lambda r: r.uniform(low, high, COUNT)


def spread(low, high):
    """Uniform in the logarithm."""
    return lambda r: np.exp(r.uniform(np.log(low), np.log(high), COUNT))


def orders(most):
    return lambda r: r.integers(0, most, COUNT).astype(np.int32)


# name, arguments, ulps in float32, ulps in float64
CASES = [
    ("gamma", (uniform(-6, 20),), 40, 150),
    ("gammaln", (spread(1e-3, 1e4),), 4, 20),
    ("gammasgn", (uniform(-6, 6),), 0, 0),
    ("loggamma", (spread(1e-3, 1e4),), 4, 20),
    ("digamma", (uniform(-6, 20),), 8, 200),
    ("polygamma", (orders(4), uniform(0.1, 20)), 8, 30),
    ("gammainc", (spread(0.01, 100), spread(0.01, 100)), 8, 300),
    ("gammaincc", (spread(0.01, 100), spread(0.01, 100)), 8, 300),
    ("factorial", (uniform(-1, 20),), 60, 150),
    ("comb", (uniform(0, 20), uniform(0, 20)), 60, 150),
    ("betaln", (spread(0.5, 1e3), spread(0.5, 1e3)), 300, 1e5),
    ("betainc", (spread(0.01, 100), spread(0.01, 100), uniform(0, 1)), 8, 400),
    ("zeta", (uniform(1.1, 20), uniform(0.1, 20)), 4, 20),
    ("poch", (uniform(0.1, 10), uniform(0.1, 10)), 60, 150),
    ("erf", (uniform(-3, 3),), 4, 8),
    ("erfc", (uniform(-3, 9),), 4, 20),
    ("erfinv", (uniform(-1, 1),), 4, 20),
    ("erfcx", (uniform(-3, 100),), 8, 16),
    ("dawsn", (uniform(-20, 20),), 4, 80),
    ("dawsn", (spread(1e-6, 1e6),), 4, 80),
    ("ndtr", (uniform(-8, 8),), 60, 150),
    ("ndtri", (uniform(0, 1),), 8, 30),
    ("ndtri", (spread(1e-30, 1),), 8, 30),
    ("log_ndtr", (uniform(-100, 10),), 60, 60),
    ("owens_t", (uniform(-5, 5), uniform(-5, 5)), 100, 400),
    ("logit", (uniform(0, 1),), 200, 200),
    ("xlogy", (uniform(0, 1), uniform(0, 2)), 4, 4),
    ("xlog1py", (uniform(0, 1), uniform(-0.9, 2)), 4, 4),
    ("entr", (uniform(-1, 2),), 4, 4),
    ("rel_entr", (uniform(-0.3, 2), uniform(-0.3, 2)), 500, 2000),
    ("boxcox", (uniform(0, 3), uniform(-2, 2)), 8, 8),
    ("boxcox1p", (uniform(0, 3), uniform(-2, 2)), 8, 8),
    ("i0", (uniform(-30, 30),), 4, 8),
    ("i1", (uniform(-30, 30),), 4, 8),
    ("i0e", (uniform(-30, 30),), 4, 8),
    ("i1e", (uniform(-30, 30),), 4, 8),
    ("expi", (uniform(-30, -1e-3),), 8, 8),
    ("expi", (uniform(0.6, 40),), 8, 30),
    ("exp1", (spread(1e-4, 80),), 8, 8),
    ("expn", (orders(20), spread(1e-3, 60)), 30, 200),
    ("fresnel", (uniform(-40, 40),), 8, 60),
    ("spence", (spread(1e-6, 1e6),), 8, 16),
    ("hyp1f1", (uniform(0.5, 5), uniform(5, 20), uniform(-20, 20)), 100, 300),
    ("hyp2f1", (uniform(0.1, 0.9), uniform(0.1, 0.9), uniform(0.1, 0.9), uniform(0, 0.9)), 40, 60),
]


@pytest.fixture(params=[np.float32, np.float64], ids=["single", "double"])
def dtype(request):
    with frit.enable_x64(request.param is np.float64):
        yield np.dtype(request.param)


def each(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("index", range(len(CASES)), ids=[c[0] for c in CASES])
def test_values(index, dtype):
    name, makers, single, double = CASES[index]
    r = np.random.default_rng(index)
    drawn = [make(r) for make in makers]
    args = [x if x.dtype.kind == "i" else x.astype(dtype) for x in drawn]
    wide = [x if x.dtype.kind == "i" else x.astype(np.float64) for x in args]
    found = each(getattr(special, name)(*args))
    with np.errstate(all="ignore"):
        expected = each(getattr(reference, name)(*wide))
    limit = single if dtype.itemsize == 4 else double
    for value, wanted in zip(found, expected, strict=True):
        assert value.dtype == dtype
        assert_within(np.asarray(value), wanted, limit)


def assert_within(value, wanted, ulps):
    """Each value is the reference's, rounded, or differs by so many units in the last place."""
    with np.errstate(over="ignore"):
        rounded = wanted.astype(value.dtype)
    same = (value == rounded) | (np.isnan(value) & np.isnan(rounded))
    unit = np.spacing(np.abs(rounded))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0, np.abs(value.astype(float) - wanted) / unit)
    assert not np.isnan(error).any() and error.max() <= ulps, (error.max(), np.argmax(error))


EDGES = {
    "gamma": [-1.0, -0.0, 0.0, np.inf, np.nan],
    "loggamma": [np.inf, np.nan],
    "erfcx": [-np.inf, np.inf, np.nan],
    "dawsn": [-np.inf, -0.0, 0.0, np.inf, np.nan],
    "ndtri": [0.0, 0.5, 1.0, -1.0, 2.0, np.nan],
    "log_ndtr": [-np.inf, np.inf, np.nan],
    "expi": [0.0, -np.inf, np.inf, np.nan],
    "exp1": [0.0, np.inf, -1.0, np.nan],
    "sici": [0.0, np.inf, -np.inf, np.nan],
    "fresnel": [0.0, np.inf, -np.inf, np.nan],
    "spence": [0.0, 1.0, -1.0, np.nan],
    "entr": [0.0, -1.0, np.nan],
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    x = np.array(EDGES[name], np.float32)
    for run in (getattr(special, name), frit.jit(getattr(special, name))):
        expected = each(getattr(reference, name)(x.astype(float)))
        for value, wanted in zip(each(run(x)), expected, strict=True):
            np.testing.assert_allclose(np.asarray(value), wanted, rtol=1e-6)


# Derivatives beside differences of SciPy's values: name, the arguments, which are differentiated.
SLOPES = [
    ("zeta", (3.3, 1.7), (0, 1)),
    ("polygamma", (2, 1.7), (1,)),
    ("loggamma", (2.3,), (0,)),
    ("erfcx", (0.7,), (0,)),
    ("dawsn", (1.3,), (0,)),
    ("log_ndtr", (-3.0,), (0,)),
    ("ndtri", (0.2,), (0,)),
    ("owens_t", (0.4, 1.7), (0, 1)),
    ("logit", (0.3,), (0,)),
    ("xlogy", (0.3, 1.3), (0, 1)),
    ("xlog1py", (0.3, 1.3), (0, 1)),
    ("rel_entr", (0.3, 1.3), (0, 1)),
    ("expi", (1.3,), (0,)),
    ("exp1", (1.3,), (0,)),
    ("expn", (3, 1.3), (1,)),
    ("spence", (0.3,), (0,)),
    ("poch", (1.3, 0.7), (0,)),
    ("hyp1f1", (1.3, 0.7, 0.9), (0, 1, 2)),
    ("hyp2f1", (1.3, 0.7, 1.9, 0.4), (0, 1, 2, 3)),
    ("gammainc", (1.3, 0.7), (0, 1)),
    ("i1", (0.7,), (0,)),
]


@pytest.mark.parametrize("index", range(len(SLOPES)), ids=[c[0] for c in SLOPES])
def test_slopes(index):
    name, args, positions = SLOPES[index]
    with frit.enable_x64(True):
        for i in positions:
            slope = frit.grad(getattr(special, name), argnums=i)(*args)
            step = 1e-5
            moved = [[*args[:i], args[i] + d, *args[i + 1 :]] for d in (step, -step)]
            above, below = (getattr(reference, name)(*a) for a in moved)
            np.testing.assert_allclose(float(slope), (above - below) / (2 * step), rtol=2e-6)


def complex_points():
    r = np.random.default_rng(0)
    return (r.normal(size=COUNT) * 2 + 1j * r.normal(size=COUNT) * 2).astype(np.complex64)


@pytest.mark.parametrize("name", ["gamma", "loggamma", "wofz", "erfcx"])
def test_complex(name):
    z = complex_points()
    expected = getattr(reference, name)(z.astype(complex))
    np.testing.assert_allclose(np.asarray(getattr(special, name)(z)), expected, rtol=5e-5)


def test_hyp2f1_near_one():
    parameters = [
        (1, 1, 1, 0.0), (5, 1, 3, 0.5), (5, 1, 3, 1), (2, 1, 5, 1), (0.4, 0.7, 0.3, 0.4),
        (0.32, 0.76, 0.11, 0.95), (4, 2, 7, 0.95), (4, 3, 7, 0.95), (3, 4, 5, 0.97),
        (0.3, 0.4, 1.2, 0.999), (1.5, 0.5, 2, -30), (0.45, 0.7, 0.45, 1.5),
    ]  # fmt: skip
    columns = np.array(parameters).T
    with frit.enable_x64(True):
        found = np.asarray(special.hyp2f1(*columns))
    np.testing.assert_allclose(found, reference.hyp2f1(*columns), rtol=1e-10)


def test_bessel_jn_with_zero():
    z = np.array([0.0, 0.01, 1.0, 5.5, 20.0], np.float32)
    found = np.asarray(special.bessel_jn(z, v=4, n_iter=60))
    np.testing.assert_allclose(
        found, np.stack([reference.jv(k, z.astype(float)) for k in range(5)]), atol=1e-6
    )


def test_sph_harm_y():
    n, m = np.array([0, 1, 3, 7, 7]), np.array([0, -1, 2, 7, -3])
    theta, phi = np.linspace(0.1, 3, 5), np.linspace(0, 6, 5)
    found = np.asarray(special.sph_harm_y(n, m, theta, phi))
    np.testing.assert_allclose(found, reference.sph_harm_y(n, m, theta, phi), atol=3e-6)


def test_bernoulli_and_multigammaln():
    np.testing.assert_allclose(
        np.asarray(special.bernoulli(20)), reference.bernoulli(20), rtol=1e-6
    )
    found = special.multigammaln(jnp.array([3.0, 4.5]), 3)
    np.testing.assert_allclose(
        np.asarray(found), [reference.multigammaln(a, 3) for a in (3.0, 4.5)], rtol=1e-5
    )


ERRORS = {
    "polygamma": (lambda: special.polygamma(1.5, 2.0), ValueError, "must be of integer type"),
    "zeta": (lambda: special.zeta(2.0), NotImplementedError, r"Riemann's is zeta\(x, 1\)"),
    "ndtr": (lambda: special.ndtr(1), TypeError, "x.dtype=int32 is not supported"),
    "log_ndtr": (lambda: special.log_ndtr(1.0, 31), ValueError, "series_order must be <= 30"),
    "factorial": (lambda: special.factorial(3, exact=True), NotImplementedError, "math.factorial"),
    "sici": (lambda: special.sici(1j), ValueError, "must be real-valued. Got dtype complex64"),
    "beta": (lambda: special.beta(1j, 1), ValueError, "does not support complex-valued inputs"),
    "bernoulli": (lambda: special.bernoulli(-1), ValueError, "n must be a non-negative integer"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    call, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        call()
