"""Spherical harmonics, from normalized associated Legendre functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.numpy.operands import as_array, concrete
from frit.numpy.promotion import promote_args_inexact


def _legendre(n: Any, m: Any, x: Any, n_max: int) -> Any:
    """The normalized P_n^m(x) of each element, 0 <= m <= n <= n_max.

    P_m^m = (-1)**m sqrt((2m+1)!! / (2m)!! / 4pi) (1 - x**2)**(m/2), then upward in n by
    P_n^m = a (x P_(n-1)^m - b P_(n-2)^m), a**2 = (4n**2 - 1) / (n**2 - m**2),
    b**2 = ((n-1)**2 - m**2) / (4(n-1)**2 - 1).
    """
    root = jnp.sqrt(1 - x * x)
    diagonal = jnp.full_like(x, 0.5 / math.sqrt(math.pi))
    for k in range(1, n_max + 1):
        factor = -math.sqrt((2 * k + 1) / (2 * k))
        diagonal = jnp.where(k <= m, diagonal * factor * root, diagonal)
    result, last, beyond = diagonal, diagonal, jnp.zeros_like(x)
    order = m.astype(x.dtype)
    for k in range(1, n_max + 1):
        active = k > m
        gap = jnp.where(active, k * k - order * order, 1)
        a = jnp.sqrt((4 * k * k - 1) / gap)
        b = jnp.sqrt(jnp.maximum((k - 1) ** 2 - order * order, 0) / max(4 * (k - 1) ** 2 - 1, 1))
        value = a * (x * last - b * beyond)
        beyond, last = jnp.where(active, last, beyond), jnp.where(active, value, last)
        result = jnp.where(n == k, last, result)
    return result


def sph_harm_y(
    n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None
) -> Any:
    """The spherical harmonic Y_n^m(theta, phi), complex.

    n, m: integers with |m| <= n; theta: polar angle in [0, pi], phi: azimuth, in radians; all
    broadcast.  `n_max`: the largest n, to be given where n is traced.
    """
    if diff_n is not None:
        raise NotImplementedError(
            "The 'diff_n' argument to jax.scipy.special.sph_harm_y is not supported: "
            "differentiate with jax.jvp."
        )
    if n_max is None:
        context = (
            "The `n_max` argument of `jnp.scipy.special.sph_harm` must be statically specified to "
            "use `sph_harm` within JAX transformations."
        )
        n_max = int(np.max(np.asarray(concrete(n, context))))
    n, m = as_array(n), as_array(m)
    theta, phi = promote_args_inexact("sph_harm_y", theta, phi)
    theta, phi = jnp.atleast_1d(theta), as_array(phi)
    n, m, theta, phi = jnp.broadcast_arrays(n, m, theta, phi)
    size = jnp.abs(m)
    legendre = _legendre(n, size, jnp.cos(theta), n_max)
    angle = size * phi
    harmonic = lax.complex(legendre * jnp.cos(angle), legendre * jnp.sin(angle))
    sign = jnp.where(size % 2 == 0, 1.0, -1.0)
    return jnp.where(m < 0, sign * jnp.conjugate(harmonic), harmonic)
