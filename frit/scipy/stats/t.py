"""Student's t distribution of `df` degrees of freedom."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.scipy.stats.arguments import standardized


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The log of the density, which is in proportion to (1 + y**2 / df) ** (-(df + 1) / 2)."""
    y, scale, df = standardized("t.logpdf", x, loc, scale, df)
    normalizer = lax.lgamma(df / 2) - lax.lgamma(df / 2 + 0.5)
    normalizer = normalizer + jnp.log(np.pi * jnp.square(scale) * df) / 2
    return -(normalizer + (df / 2 + 0.5) * jnp.log1p(jnp.square(y) / df))


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, df, loc, scale))
