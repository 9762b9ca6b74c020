"""jax.scipy.integrate: quadrature of samples."""

from __future__ import annotations

from typing import Any

import frit.numpy as jnp
from frit.numpy.jitted import jitted

__all__ = ["trapezoid"]


@jitted(static_argnames=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along `axis` of straight lines between the samples y at x, or `dx` apart."""
    return jnp.trapezoid(y, x, dx, axis)
