"""Kinds of memory, under the names of jax.memory: there is one, so all mean the same."""

from __future__ import annotations

import enum

__all__ = ["Space"]


class Space(enum.Enum):
    """Where an array lies: in the memory of the device, or of the host; here these are one."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"
