"""The von Mises distribution of angles: density in proportion to exp(kappa cos(x))."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.scipy.stats.arguments import arguments


def logpdf(x: Any, kappa: Any) -> Any:
    """The log of the density; nan where kappa is not positive."""
    x, kappa = arguments("vonmises.logpdf", x, kappa)
    value = kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * lax.bessel_i0e(kappa))
    return jnp.where(kappa > 0, value, np.nan)


def pdf(x: Any, kappa: Any) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, kappa))
