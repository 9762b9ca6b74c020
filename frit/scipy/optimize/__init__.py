"""jax.scipy.optimize: minimization."""

from frit.scipy.optimize.minimization import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]
