"""frit.scipy.stats beside scipy.stats, in and outside the supports, eager and compiled."""

import numpy as np
import pytest
import scipy.stats as reference

import frit
from frit.scipy import stats

REAL = np.array([-np.inf, -7.3, -2.0, -0.5, 0.0, 0.3, 1.0, 1.7, 4.0, 9.5, np.inf], np.float32)
WHOLE = np.array([-1.0, 0.0, 1.0, 2.0, 5.0, 11.0], np.float32)
CHANCES = np.array([0.0, 0.01, 0.3, 0.5, 0.99, 1.0], np.float32)
PLACED = {"loc": 0.25, "scale": 1.75}  # exact in float32

# distribution: shape parameters, with or without location and scale
CONTINUOUS = {
    "norm": ((), PLACED), "uniform": ((), PLACED), "beta": ((0.6, 2.3), PLACED),
    "gamma": ((1.6,), PLACED), "chi2": ((3.3,), PLACED), "expon": ((), PLACED),
    "laplace": ((), PLACED), "logistic": ((), PLACED), "t": ((3.3,), PLACED),
    "cauchy": ((), PLACED), "pareto": ((1.3,), PLACED), "gennorm": ((1.3,), {}),
    "gumbel_l": ((), PLACED), "gumbel_r": ((), PLACED), "truncnorm": ((-1.2, 2.5), PLACED),
    "vonmises": ((1.3,), {}), "wrapcauchy": ((0.3,), {}),
}  # fmt: skip
DISCRETE = {
    "bernoulli": (0.3,), "binom": (7.0, 0.3), "betabinom": (7.0, 0.6, 2.3), "geom": (0.3,),
    "nbinom": (2.5, 0.3), "poisson": (2.7,),
}  # fmt: skip
OF_VALUES = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
OF_CHANCES = ("ppf", "isf")


def cases():
    for distribution, (shapes, placed) in CONTINUOUS.items():
        module = getattr(stats, distribution)
        for name in (*OF_VALUES, *OF_CHANCES):
            if hasattr(module, name):
                x = CHANCES if name in OF_CHANCES else REAL
                yield distribution, name, x, shapes, placed
    for distribution, shapes in DISCRETE.items():
        for name in ("pmf", "logpmf", "cdf"):
            if hasattr(getattr(stats, distribution), name):
                yield distribution, name, WHOLE, shapes, {}
    yield "bernoulli", "ppf", CHANCES[1:], (0.3,), {}


CASES = list(cases())


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{c[0]}.{c[1]}" for c in CASES])
def test_distribution(index):
    distribution, name, x, shapes, placed = CASES[index]
    if distribution in ("gumbel_l", "gumbel_r") and name == "ppf":
        x = x[1:-1]  # JAX has nan at 0 and 1
    if distribution == "cauchy" and name in OF_CHANCES:
        x = x[1:-1]  # there a tangent next to its pole
    if distribution in ("vonmises", "wrapcauchy"):
        x = x[(x >= -3) & (x <= 6)]
        if distribution == "wrapcauchy":
            x = x[x >= 0]
    with np.errstate(all="ignore"):
        frozen = getattr(reference, distribution)(*shapes, **placed)
        expected = getattr(frozen, name)(x.astype(float))
    function = getattr(getattr(stats, distribution), name)
    for run in (function, frit.jit(function)):
        found = np.asarray(run(x, *shapes, **placed))
        finite = ~(np.isnan(found) & np.isinf(x.astype(float)))  # densities at infinity
        np.testing.assert_allclose(found[finite], expected[finite], rtol=3e-5, atol=1e-6)


def test_gumbel_ppf_is_nan_at_the_ends():
    for module in (stats.gumbel_l, stats.gumbel_r):
        assert np.isnan(np.asarray(module.ppf(np.array([0.0, 1.0], np.float32)))).all()


def test_dirichlet():
    alpha = np.array([0.5, 1.0, 2.5], np.float32)
    x = np.array([[0.2, 0.1], [0.3, 0.3], [0.5, 0.6]], np.float32)
    expected = [reference.dirichlet.logpdf(column / column.sum(), alpha) for column in x.T]
    np.testing.assert_allclose(np.asarray(stats.dirichlet.logpdf(x, alpha)), expected, rtol=1e-5)
    np.testing.assert_allclose(
        np.asarray(stats.dirichlet.logpdf(x[:-1], alpha)), expected, rtol=1e-5
    )
    assert float(stats.dirichlet.pdf(x[:, 0] + 1, alpha)) == 0


def test_multinomial():
    p = np.array([0.2, 0.3, 0.5], np.float32)
    for x, n in (([1, 2, 3], 6), ([1, 2, 3], 5)):
        expected = reference.multinomial.logpmf(x, n, p.astype(float) / p.sum(dtype=float))
        found = stats.multinomial.logpmf(np.array(x), n, p)
        np.testing.assert_allclose(float(found), expected, rtol=1e-5)


def test_multivariate_normal():
    r = np.random.default_rng(0)
    root = r.normal(size=(3, 3))
    cov, mean, x = root @ root.T + np.eye(3), r.normal(size=3), r.normal(size=(5, 3))
    expected = reference.multivariate_normal.logpdf(x, mean, cov)
    found = stats.multivariate_normal.logpdf(x, mean, cov)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)
    scalar = stats.multivariate_normal.logpdf(x, mean, 2.5)
    np.testing.assert_allclose(
        np.asarray(scalar), reference.multivariate_normal.logpdf(x, mean, 2.5), rtol=1e-5
    )
    with pytest.raises(ValueError, match="incompatible shapes"):
        stats.multivariate_normal.logpdf(x, mean, np.eye(2))


def poisson_entropy(mu):
    k = np.arange(int(mu + 12 * np.sqrt(mu) + 60))
    chances = reference.poisson.pmf(k, mu)
    return -np.sum(chances * np.log(np.where(chances > 0, chances, 1)))


def test_poisson_entropy():
    mu = np.array([0.0, 0.1, 2.5, 40.0, 99.0, 101.0, 1e4], np.float32)
    expected = [poisson_entropy(float(m)) for m in mu]
    np.testing.assert_allclose(np.asarray(stats.poisson.entropy(mu)), expected, rtol=2e-5)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_mode(axis):
    x = np.random.default_rng(1).integers(0, 3, (6, 5))
    expected = reference.mode(x, axis=axis)
    for run in (stats.mode, frit.jit(stats.mode, static_argnames="axis")):
        found = run(x, axis=axis)
        np.testing.assert_array_equal(np.asarray(found.mode), expected.mode)
        np.testing.assert_array_equal(np.asarray(found.count), expected.count)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_rankdata(method):
    x = np.random.default_rng(2).integers(0, 4, (3, 7))
    for axis in (None, 1):
        found = stats.rankdata(x, method, axis=axis)
        np.testing.assert_array_equal(np.asarray(found), reference.rankdata(x, method, axis=axis))


def test_sem():
    x = np.random.default_rng(3).normal(size=(6, 5)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(stats.sem(x)), reference.sem(x), rtol=1e-5)
    x[2, 3] = np.nan
    found = stats.sem(x, nan_policy="omit")
    np.testing.assert_allclose(
        np.asarray(found), np.asarray(reference.sem(x, nan_policy="omit")), rtol=1e-5
    )


def test_gaussian_kde():
    r = np.random.default_rng(4)
    data, weights, points = r.normal(size=(2, 20)), r.random(20), r.normal(size=(2, 5))
    for method in ("scott", "silverman", 0.4):
        mine = stats.gaussian_kde(data, method, weights)
        theirs = reference.gaussian_kde(data, method, weights)
        np.testing.assert_allclose(np.asarray(mine(points)), theirs(points), rtol=1e-4)
        np.testing.assert_allclose(
            np.asarray(frit.jit(lambda k, x: k.logpdf(x))(mine, points)),
            theirs.logpdf(points),
            rtol=1e-4,
        )
        np.testing.assert_allclose(
            float(mine.integrate_gaussian(points[:, 0], np.eye(2))),
            theirs.integrate_gaussian(points[:, 0], np.eye(2)),
            rtol=1e-4,
        )
        np.testing.assert_allclose(
            float(mine.integrate_kde(mine)), theirs.integrate_kde(theirs), rtol=1e-4
        )
    line = stats.gaussian_kde(data[0])
    np.testing.assert_allclose(
        float(line.integrate_box_1d(-1.0, 0.5)),
        reference.gaussian_kde(data[0]).integrate_box_1d(-1.0, 0.5),
        rtol=1e-5,
    )
    drawn = np.asarray(mine.resample(frit.random.key(0), (4000,)))
    assert drawn.shape == (2, 4000)
    np.testing.assert_allclose(drawn.mean(axis=1), data @ (weights / weights.sum()), atol=0.08)
    with pytest.raises(ValueError, match="points have dimension 3, dataset has dimension 2"):
        mine(np.ones((3, 3)))
