"""Tapes that outlive the program that made them: the residuals of an eager vjp, or of linearize.

A program that returns handles hands over the list of its tapes, a `Region`. Arrays of handles
keep alive the regions that their handles point into; when the last one goes, the memory does.
A handle whose region is gone is an error before anything is read.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import config
from frit.backends.llvm.tapes import ALLOCATE, BIG, FREE, GIVE_BACK, TAKE
from frit.primitives.tapes import forget, is_tape
from frit.runtime import memory

_free_small = ctypes.pythonapi.PyMem_RawFree
_free_small.argtypes, _free_small.restype = (ctypes.c_void_p,), None
_blocks: dict[int, Any] = {}  # address -> a block of the pool


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
def _take(old: int | None, capacity: int, size: int) -> int | None:
    """A block of `size` bytes that begins with those of an old one; None if there is none."""
    try:
        buffer = memory.pool.take(size)
    except (OSError, MemoryError):
        return None
    address = ctypes.addressof(buffer)
    _blocks[address] = buffer
    if old:
        ctypes.memmove(address, old, capacity)
        _free_rows(old, capacity)
    return address


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _give_back(address: int) -> None:
    _blocks.pop(address, None)


def _free_rows(address: int | None, capacity: int) -> None:
    if capacity < BIG:
        _free_small(address)
    else:
        _give_back(address)


def allocator() -> dict[str, int]:
    """The addresses behind the symbols that the code of tapes imports."""
    python = ctypes.pythonapi
    functions: dict[str, Any] = {
        ALLOCATE: python.PyMem_RawRealloc,
        FREE: python.PyMem_RawFree,
        TAKE: _take,
        GIVE_BACK: _give_back,
    }
    return {k: ctypes.cast(f, ctypes.c_void_p).value or 0 for k, f in functions.items()}


class _Header(ctypes.Structure):
    """A tape, as `backends/llvm/tapes.py` writes it."""

    _fields_ = (
        ("next", ctypes.c_void_p), ("bytes", ctypes.c_void_p),
        ("rows", ctypes.c_int64), ("capacity", ctypes.c_int64),
    )  # fmt: skip


def free(tapes: int | None) -> None:
    """Frees a list of tapes."""
    while tapes:
        header = _Header.from_address(tapes)
        following = header.next
        _free_rows(header.bytes, header.capacity)
        _free_small(tapes)
        tapes = following


def held_bytes() -> int:
    """Bytes of tapes that outlive the calls that made them."""
    return _held.bytes


class Region:
    """The tapes that one call returned; `others`: regions that their rows may point into."""

    __slots__ = ("__weakref__", "others", "size")

    def __init__(
        self, tapes: int | None, numbers: Sequence[int], size: int, others: Sequence[Region]
    ) -> None:
        """tapes: a list in memory. numbers: handles of the reference backend."""
        self.others = tuple(others)
        self.size = size
        _held.bytes += size
        weakref.finalize(self, _end, tapes, tuple(numbers), size).atexit = False


class _Held:
    """Bytes of all regions that are alive."""

    bytes = 0


_held = _Held()
_regions: weakref.WeakValueDictionary[int, Region] = weakref.WeakValueDictionary()


def _end(tapes: int | None, numbers: Sequence[int], size: int) -> None:
    _held.bytes -= size
    free(tapes)
    forget(numbers)


def handles_of(data: np.ndarray) -> list[int]:
    """The distinct handles in an array of them, but for those without rows."""
    numbers = np.ascontiguousarray(data).reshape(-1).view(np.uint64)
    return [int(n) for n in np.unique(numbers) if n]


def regions_of(data: np.ndarray) -> tuple[Region, ...]:
    """The regions that an array of handles needs.  RuntimeError if one is gone."""
    found: dict[Region, None] = {}
    for handle in handles_of(data):
        region = _regions.get(handle)
        if region is None:
            raise RuntimeError(
                "A residual of a differentiated while loop is used after the array that owned it "
                "was freed. Keep the function that vjp or linearize returned, or the array, as it "
                "is; copies of its bytes do not hold its memory."
            )
        found[region] = None
    return tuple(found)


def adopt(array: Any, data: np.ndarray) -> None:
    """Keeps the tapes that an Array of handles points to for as long as it lives."""
    weakref.finalize(array, _let_go, regions_of(data)).atexit = False


def _let_go(regions: tuple[Region, ...]) -> None:
    """The regions go with their last holder."""


def hand_over(
    tapes: int | None, numbers: Sequence[int], size: int, operands: Sequence[Region],
    results: Sequence[np.ndarray],
) -> Region:  # fmt: skip
    """The region of what a call made, whose results `results` are arrays of handles."""
    region = _latest.region = Region(tapes, numbers, size, operands)
    for data in results:
        for handle in handles_of(data):
            if handle not in _regions:
                _regions[handle] = region
    return region


def settle() -> None:
    """Says that the arrays that hold what was handed over last are made."""
    _latest.region = None


class _Latest(threading.local):
    """What a call of this thread has just handed over, until arrays hold it."""

    region: Region | None = None


_latest = _Latest()


def room() -> int:
    """Bytes that a call may add to tapes."""
    limit = config.tape_bytes.value
    if limit:
        return limit - _held.bytes
    now = time.monotonic()
    if now > _Free.until:
        _Free.bytes, _Free.until = int(0.9 * _free_bytes()), now + _LASTS
    return _Free.bytes


_LASTS = 0.25  # seconds for which a look at the free memory is good


class _Free:
    """What was free when it was last looked at."""

    bytes, until = 0, 0.0


def _free_bytes() -> int:
    """Memory that programs can still have: of the machine, or of its share of it."""
    free = _available()
    for group, used in _GROUPS:
        try:
            with open(group) as whole, open(used) as now:
                free = min(free, int(whole.read()) - int(now.read()))
        except (OSError, ValueError):
            continue
    return max(free, 0)


_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def _available() -> int:
    try:
        with open("/proc/meminfo") as table:
            for line in table:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 1 << 62


__all__ = ["adopt", "free", "hand_over", "is_tape", "regions_of", "room"]
