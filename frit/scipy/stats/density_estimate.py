"""gaussian_kde: a density estimated from points, as a sum of normal densities around them.

density(x) = sum(weights[i] normal(x; dataset[:, i], covariance))
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import random, tree_util
from frit.numpy.operands import check_arraylike
from frit.numpy.promotion import promote_dtypes_inexact
from frit.scipy import linalg, special


@tree_util.register_pytree_node_class
class gaussian_kde:
    """The estimate from a dataset of shape (d, n) or (n,), with optional weights (n,).

    `bw_method` gives the factor by which the data's deviation is scaled: "scott" (by default)
    neff ** (-1 / (d + 4)), "silverman" (neff (d + 2) / 4) ** (-1 / (d + 4)), a number, or a
    function of the estimate.  Immutable, and a pytree.
    """

    __slots__ = ("neff", "dataset", "weights", "covariance", "inv_cov")

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        check_arraylike("gaussian_kde", dataset)
        dataset = jnp.atleast_2d(dataset)
        if jnp.issubdtype(dataset.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex data")
        if not dataset.size > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        dataset, weights = _weighted(dataset, weights)
        self._set(dataset=dataset, weights=weights, neff=1 / jnp.sum(weights**2))
        factor = self._bandwidth(bw_method)
        covariance = jnp.atleast_2d(jnp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        inverse = jnp.linalg.inv(covariance)
        self._set(covariance=covariance * factor**2, inv_cov=inverse / factor**2)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}: a gaussian_kde is immutable")

    def _bandwidth(self, method: Any) -> Any:
        d = self.d
        if method is None or (isinstance(method, str) and method == "scott"):
            return jnp.power(self.neff, -1.0 / (d + 4))
        if isinstance(method, str) and method == "silverman":
            return jnp.power(self.neff * (d + 2) / 4.0, -1.0 / (d + 4))
        if callable(method):
            return method(self)
        if not isinstance(method, str) and np.ndim(method) == 0:
            return method
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")

    def tree_flatten(self) -> tuple[Any, None]:
        return tuple(getattr(self, name) for name in self.__slots__), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Any) -> gaussian_kde:
        kde = cls.__new__(cls)
        kde._set(**dict(zip(cls.__slots__, children, strict=True)))
        return kde

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def evaluate(self, points: Any) -> Any:
        """The density at the columns of `points`, (d, m) or (m,): an array (m,)."""
        check_arraylike("evaluate", points)
        return jnp.exp(self._log_terms(points)) @ self.weights

    __call__ = evaluate
    pdf = evaluate

    def logpdf(self, x: Any) -> Any:
        """The log of the density at the columns of x."""
        check_arraylike("logpdf", x)
        return special.logsumexp(self._log_terms(x), axis=1, b=self.weights[None])

    def _log_terms(self, points: Any) -> Any:
        """(m, n): the log of the normal density of each point around each datum."""
        points = self._columns(points)
        dataset, points, precision = promote_dtypes_inexact(self.dataset, points, self.inv_cov)
        whitening = linalg.cholesky(precision, lower=True)
        difference = (points.T @ whitening)[:, None, :] - (dataset.T @ whitening)[None, :, :]
        log_norm = jnp.sum(jnp.log(jnp.diag(whitening))) - 0.5 * self.d * math.log(2 * math.pi)
        return log_norm - 0.5 * jnp.sum(jnp.square(difference), axis=-1)

    def _columns(self, points: Any) -> Any:
        points = jnp.atleast_2d(points)
        if jnp.issubdtype(points.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex coordinates")
        d, m = points.shape
        if d == self.d:
            return points
        if d == 1 and m == self.d:
            return jnp.reshape(points, (self.d, 1))
        raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times a normal one."""
        mean = jnp.atleast_1d(jnp.squeeze(mean))
        cov = jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return jnp.sum(self._overlaps(mean[:, None], cov)[0] * self.weights)

    def _overlaps(self, means: Any, cov: Any) -> Any:
        """(m, n): normal densities of covariance `cov` + ours of each mean around each datum."""
        factor = linalg.cholesky(self.covariance + cov, lower=True)
        difference = (means[:, :, None] - self.dataset[:, None, :]).reshape(self.d, -1)
        whitened = linalg.solve_triangular(factor, difference, lower=True)
        log_norm = jnp.sum(jnp.log(jnp.diag(factor))) + 0.5 * self.d * math.log(2 * math.pi)
        terms = jnp.exp(-0.5 * jnp.sum(jnp.square(whitened), axis=0) - log_norm)
        return terms.reshape(means.shape[1], self.n)

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The integral of a density of one dimension between two scalars."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if np.ndim(low) != 0 or np.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        sigma = jnp.sqrt(self.covariance[0, 0])
        below = special.ndtr((low - self.dataset[0]) / sigma)
        return jnp.sum(self.weights * (special.ndtr((high - self.dataset[0]) / sigma) - below))

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product with another estimate."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        return other.weights @ (self._overlaps(other.dataset, other.covariance) @ self.weights)

    def resample(self, key: Any, shape: Any = ()) -> Any:
        """Draws from the estimate, of shape (d, *shape)."""
        index_key, noise_key = random.split(key)
        index = random.choice(index_key, self.n, shape=shape, p=self.weights)
        zero = jnp.zeros(self.d, self.covariance.dtype)
        noise = random.multivariate_normal(
            noise_key, zero, self.covariance, shape=shape, dtype=self.dataset.dtype
        )
        return self.dataset[:, index] + noise.T

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        raise NotImplementedError(
            "dynamically changing the bandwidth method is not supported: make a new gaussian_kde."
        )


def _weighted(dataset: Any, weights: Any) -> tuple[Any, Any]:
    """The dataset as floats, and weights that sum to 1."""
    n = dataset.shape[1]
    if weights is None:
        (dataset,) = promote_dtypes_inexact(dataset)
        return dataset, jnp.full(n, 1.0 / n, dtype=dataset.dtype)
    check_arraylike("gaussian_kde", weights)
    dataset, weights = promote_dtypes_inexact(dataset, jnp.atleast_1d(weights))
    if weights.ndim != 1:
        raise ValueError("`weights` input should be one-dimensional.")
    if len(weights) != n:
        raise ValueError("`weights` input should be of length n")
    return dataset, weights / jnp.sum(weights)
