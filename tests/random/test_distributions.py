"""Draws follow their distributions: Kolmogorov-Smirnov and moments, on edges too."""

import numpy as np
import pytest
from scipy import stats

import frit.numpy as jnp
from frit import random

N = (4000,)

CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, N, minval=-1.0, maxval=3.0), stats.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, N), stats.norm()),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -1.0, 2.0, N),
        stats.truncnorm(-1, 2),
    ),
    "lognormal": (lambda k: random.lognormal(k, 0.5, N), stats.lognorm(0.5)),
    "maxwell": (lambda k: random.maxwell(k, N), stats.maxwell()),
    "rayleigh": (lambda k: random.rayleigh(k, jnp.float32(2), N), stats.rayleigh(scale=2)),
    "wald": (lambda k: random.wald(k, jnp.float32(1.5), N), stats.invgauss(1.5)),
    "exponential": (lambda k: random.exponential(k, N), stats.expon()),
    "gumbel": (lambda k: random.gumbel(k, N), stats.gumbel_r()),
    "laplace": (lambda k: random.laplace(k, N), stats.laplace()),
    "logistic": (lambda k: random.logistic(k, N), stats.logistic()),
    "cauchy": (lambda k: random.cauchy(k, N), stats.cauchy()),
    "pareto": (lambda k: random.pareto(k, 3.0, N), stats.pareto(3)),
    "weibull_min": (
        lambda k: random.weibull_min(k, 2.0, 1.5, N),
        stats.weibull_min(1.5, scale=2),
    ),
    "triangular": (
        lambda k: random.triangular(k, 0.0, 0.5, 2.0, N),
        stats.triang(0.25, scale=2),
    ),
    "gamma": (lambda k: random.gamma(k, 0.4, N), stats.gamma(0.4)),
    "beta": (lambda k: random.beta(k, 0.5, 2.0, N), stats.beta(0.5, 2)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, N), stats.chi2(3)),
    "f": (lambda k: random.f(k, 3.0, 5.0, N), stats.f(3, 5)),
    "t": (lambda k: random.t(k, 3.0, N), stats.t(3)),
    "generalized_normal": (
        lambda k: random.generalized_normal(k, 1.5, N),
        stats.gennorm(1.5),
    ),
}

DISCRETE = {
    "poisson, few": (lambda k: random.poisson(k, 3.0, N), stats.poisson(3)),
    "poisson, many": (lambda k: random.poisson(k, 40.0, N), stats.poisson(40)),
    "binomial, few": (lambda k: random.binomial(k, 10, 0.3, N), stats.binom(10, 0.3)),
    "binomial, many": (lambda k: random.binomial(k, 200, 0.7, N), stats.binom(200, 0.7)),
    "geometric": (lambda k: random.geometric(k, 0.3, N), stats.geom(0.3)),
    "randint": (lambda k: random.randint(k, N, -2, 5), stats.randint(-2, 5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    draw, distribution = CONTINUOUS[name]
    values = np.asarray(draw(random.key(1)), np.float64)
    assert stats.kstest(values, distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    draw, distribution = DISCRETE[name]
    values = np.asarray(draw(random.key(1)), np.float64)
    error = 4.5 * distribution.std() / np.sqrt(values.size)
    assert abs(values.mean() - distribution.mean()) < error
    assert abs(values.var() / distribution.var() - 1) < 0.15


def test_uniform_is_below_its_bound_and_truncated_normal_within_both():
    values = random.uniform(random.key(0), (100_000,))
    assert float(values.min()) >= 0.0
    assert float(values.max()) < 1.0
    values = random.truncated_normal(random.key(0), 1.0, 1.0001, (10_000,))
    assert float(values.min()) > 1.0
    assert float(values.max()) < 1.0001


def test_orthogonal_and_ball():
    q = random.orthogonal(random.key(0), 4, (5,))
    np.testing.assert_allclose(q @ q.mT, np.broadcast_to(np.eye(4), (5, 4, 4)), atol=1e-5)
    assert random.orthogonal(random.key(0), 3, m=5).shape == (3, 5)
    radius = jnp.linalg.norm(random.ball(random.key(0), 3, shape=(2000,)), axis=-1)
    assert stats.kstest(np.asarray(radius) ** 3, stats.uniform().cdf).pvalue > 1e-3


def test_multivariate_normal_has_its_covariance():
    cov = jnp.array([[2.0, 0.5], [0.5, 1.0]])
    for method in ("cholesky", "eigh", "svd"):
        values = random.multivariate_normal(
            random.key(3), jnp.array([1.0, -1.0]), cov, (5000,), method=method
        )
        np.testing.assert_allclose(values.mean(0), [1.0, -1.0], atol=0.1)
        np.testing.assert_allclose(np.cov(np.asarray(values).T), cov, atol=0.15)


def test_dirichlet_and_multinomial_sum_to_their_total():
    simplex = random.dirichlet(random.key(0), jnp.array([0.5, 1.0, 3.0]), (1000,))
    np.testing.assert_allclose(simplex.sum(-1), np.ones(1000), rtol=1e-5)
    np.testing.assert_allclose(simplex.mean(0), np.array([0.5, 1.0, 3.0]) / 4.5, atol=0.03)
    counts = random.multinomial(random.key(0), 50.0, jnp.array([0.2, 0.3, 0.5]), shape=(200, 3))
    np.testing.assert_array_equal(counts.sum(-1), 50 * np.ones(200))


def test_permutations_keep_what_they_permute():
    rows = jnp.arange(12).reshape(4, 3)
    shuffled = random.permutation(random.key(0), rows)
    np.testing.assert_array_equal(np.sort(np.asarray(shuffled), 0), rows)
    np.testing.assert_array_equal(np.sort(random.permutation(random.key(0), 100)), np.arange(100))
    chosen = random.choice(random.key(0), jnp.arange(20), (20,), replace=False)
    assert set(np.asarray(chosen).tolist()) == set(range(20))


def test_edges_of_counts():
    key = random.key(0)
    np.testing.assert_array_equal(random.poisson(key, jnp.array([0.0, jnp.nan])), [0, -1])
    edges = random.binomial(
        key, jnp.array([10.0, 10.0, -1.0, jnp.inf]), jnp.array([0.0, 1.0, 0.5, 0.5])
    )
    np.testing.assert_array_equal(edges, [0.0, 10.0, np.nan, np.inf])


def test_empty_and_scalar_draws():
    key = random.key(0)
    assert random.normal(key, (0, 3)).shape == (0, 3)
    assert random.normal(key).shape == ()
    assert random.uniform(key, 4).shape == (4,)
    assert random.permutation(key, 0).shape == (0,)
    assert random.choice(key, 5, (0,)).shape == (0,)


def test_loggamma_reaches_where_gamma_is_zero():
    logs = random.loggamma(random.key(0), jnp.float32(1e-3), (1000,))
    assert bool(jnp.isfinite(logs).all())
    assert float(logs.min()) < -100
