"""Extension points, under the names of jax.extend."""

from frit.extend import backend, core, linear_util

__all__ = ["backend", "core", "linear_util"]
