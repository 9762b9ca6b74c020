"""Memory for results: aligned, recycled when the array that owns it dies.

Fresh pages cost more than most work on them, so blocks of 2 MiB and more are kept for reuse, and
asked for in huge pages. Smaller ones come from NumPy, which is fast at them.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

ALIGNMENT = 64
SMALL = 1 << 15  # bytes below which an array is made as NumPy makes it: quickly
BIG = 1 << 21
KEPT_BYTES = 4 << 30  # of dead blocks; beyond it they go back to the system


class _Block:
    """A mapped range of `size` bytes at a multiple of 2 MiB."""

    __slots__ = ("address", "mapped", "size")

    def __init__(self, size: int) -> None:
        self.mapped = mmap.mmap(-1, size + BIG)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.mapped))
        self.address = -(-start // BIG) * BIG
        self.size = size
        advice = getattr(mmap, "MADV_HUGEPAGE", None)
        if advice is not None:
            try:
                self.mapped.madvise(advice, self.address - start, size)
            except OSError:  # the kernel has no huge pages: slower, not wrong
                pass


class Pool:
    """Blocks by size, free ones waiting for the next array of their size. Thread-safe."""

    def __init__(self) -> None:
        self._free: dict[int, list[_Block]] = {}
        self._lock = threading.RLock()  # a finalizer may run while the lock is held
        self.kept_bytes = 0

    def take(self, nbytes: int) -> Any:
        """A ctypes buffer of at least `nbytes`; its block returns here when it dies."""
        size = _rounded(nbytes)
        with self._lock:
            waiting = self._free.get(size)
            block = waiting.pop() if waiting else None
            if block is not None:
                self.kept_bytes -= size
        if block is None:
            block = _Block(size)
        buffer = (ctypes.c_ubyte * nbytes).from_address(block.address)
        weakref.finalize(buffer, self._give_back, block).atexit = False
        return buffer

    def _give_back(self, block: _Block) -> None:
        with self._lock:
            if self.kept_bytes + block.size <= KEPT_BYTES:
                self._free.setdefault(block.size, []).append(block)
                self.kept_bytes += block.size

    def clear(self) -> None:
        """Returns all dead blocks to the system."""
        with self._lock:
            self._free.clear()
            self.kept_bytes = 0


def _rounded(nbytes: int) -> int:
    """A size class: a multiple of an eighth of the power of two below, and of 2 MiB."""
    step = max(BIG, 1 << max(0, nbytes.bit_length() - 4))
    return -(-nbytes // step) * step


pool = Pool()


def scratch(nbytes: int) -> np.ndarray:
    """Memory for the time of one call, from the pool where asking the system would cost more."""
    if nbytes < SMALL:
        return np.empty(nbytes, np.uint8)
    return np.frombuffer(pool.take(nbytes), np.uint8)


def empty(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """A new array whose bytes are arbitrary, aligned to 64 bytes where that can matter."""
    nbytes = dtype.itemsize
    for extent in shape:
        nbytes *= extent
    if nbytes < SMALL:
        return np.empty(shape, dtype)
    if nbytes < BIG:
        raw = np.empty(nbytes + ALIGNMENT, np.uint8)
        skip = -raw.__array_interface__["data"][0] % ALIGNMENT
        return raw[skip : skip + nbytes].view(dtype).reshape(shape)
    return np.frombuffer(pool.take(nbytes), np.uint8).view(dtype).reshape(shape)
