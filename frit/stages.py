"""The steps from a function to machine code, under the names of jax.stages."""

from frit.api.aot import ArgInfo, Compiled, Lowered, Traced
from frit.api.jitting import JitFunction as Wrapped
from frit.runtime.device import Device

__all__ = ["ArgInfo", "Compiled", "Device", "Lowered", "Traced", "Wrapped"]
