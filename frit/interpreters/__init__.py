"""Rules of primitives by transformation, for libraries that bring primitives of their own."""

from frit.interpreters import ad, batching

__all__ = ["ad", "batching"]
