"""Rules of primitives by transformation, for libraries that bring primitives of their own."""

from frit.interpreters import ad, batching, partial_eval

__all__ = ["ad", "batching", "partial_eval"]
