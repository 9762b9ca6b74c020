"""The older name of jit with shardings; with one device, shardings change nothing."""

from frit.api.jitting import jit

pjit = jit

__all__ = ["pjit"]
