"""log(gamma) of complex numbers, by shifting to the right half-plane.

    log gamma(z) = stirling(z + n) - sum(log(z + k) for k < n),   Re(z + n) >= SHIFT

Source: Hare 1997, "Computing the principal branch of log-Gamma".
"""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.numpy.jitted import jitted

SHIFT = 9
# B(2k) / (2k (2k - 1)), highest k first: Stirling's series in 1 / z**2.
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)


def _stirling(z: Any) -> Any:
    """log(gamma(z)) for Re(z) >= SHIFT."""
    series = jnp.polyval(np.array(_STIRLING, z.dtype), 1 / (z * z)) / z
    return (z - 0.5) * jnp.log(z) - z + z.dtype.type(0.5 * np.log(2 * np.pi)) + series


def _shifted(z: Any) -> Any:
    """log(gamma(z)) for Re(z) > -SHIFT, where the logarithms of the shift add to its branch."""
    total = jnp.zeros_like(z)
    for k in range(2 * SHIFT):
        wanted = z.real < SHIFT - k
        total = total + jnp.where(wanted, jnp.log(jnp.where(wanted, z + k, 1)), 0)
    steps = jnp.clip(jnp.ceil(SHIFT - z.real), 0, 2 * SHIFT)
    return _stirling(z + steps.astype(z.dtype)) - total


def _reflected(z: Any) -> Any:
    """log(gamma(z)) for Re(z) < 0: log(pi / sin(pi z)) - log(gamma(1 - z)), on the branch of z.

    The sine winds as z moves left; 2 pi i floor((Re z + 1/2) / 2) undoes it.
    """
    sine = jnp.sin(np.pi * (z - (2 * jnp.round(z.real / 2)).astype(z.dtype)))
    turns = jnp.floor((z.real + 0.5) / 2)
    winding = lax.complex(
        jnp.zeros_like(turns), 2 * np.pi * turns * jnp.where(jnp.signbit(z.imag), -1, 1)
    )
    return jnp.log(np.pi / sine) + winding - _shifted(1 - z)


@jitted
def complex_loggamma(z: Any) -> Any:
    """The branch of log(gamma(z)) that is real for z > 0, cut along z <= 0; nan at the poles."""
    pole = (z.imag == 0) & (z.real <= 0) & (z.real == jnp.floor(z.real))
    safe = jnp.where(pole, 1, z)
    left = safe.real < 0.5 - SHIFT
    result = jnp.where(
        left, _reflected(jnp.where(left, safe, -SHIFT - 0.5)), _shifted(jnp.where(left, 1, safe))
    )
    return jnp.where(pole | jnp.isnan(z), z.dtype.type(complex(np.nan, np.nan)), result)


def complex_gamma(z: Any) -> Any:
    """gamma(z); nan at the poles."""
    return jnp.exp(complex_loggamma(z))
