"""Devices and the movement of arrays: there is one device, this machine's CPU."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from frit import trees
from frit.ir.dtypes import ExtendedDType
from frit.ir.primitive import Tracer
from frit.ir.types import is_value
from frit.ir.types import typeof as type_of_value
from frit.runtime import cache, eager, pipeline
from frit.runtime.array import Array, array_of
from frit.runtime.device import Device, SingleDeviceSharding, cpu_device
from frit.sharding import Sharding

_PLACEMENTS = (Device, SingleDeviceSharding, Sharding)


def devices(backend: Any = None) -> list[Device]:
    """The devices: one CPU.  RuntimeError for a platform that is not here."""
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"Unknown backend: '{backend}' requested, but no platforms that are instances of "
            f"{backend} are present. Platforms present are: cpu"
        )
    return [cpu_device()]


local_devices = devices


def device_count(backend: Any = None) -> int:
    return len(devices(backend))


local_device_count = device_count


def default_backend() -> str:
    return "cpu"


def process_index(backend: Any = None) -> int:
    return 0


def process_count(backend: Any = None) -> int:
    return 1


host_id, host_count = process_index, process_count


def typeof(x: Any) -> Any:
    """The type of a value: shape, dtype and whether it is weak."""
    return type_of_value(x)


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: bool = False, may_alias: Any = None
) -> Any:
    """`x`, a pytree of arrays and numbers, as Arrays with buffers of their own."""

    _check_placement(x, device, "device_put device")

    def put(leaf: Any) -> Any:
        if isinstance(leaf, Tracer):
            return leaf
        if not is_value(leaf):
            raise TypeError(
                f"Argument '{leaf}' of type {type(leaf)} is not a valid JAX type: device_put takes "
                "arrays, NumPy arrays and numbers."
            )
        if hasattr(leaf, "__jax_array__"):
            leaf = leaf.__jax_array__()
        return leaf if type(leaf) is Array else array_of(leaf)

    return trees.map(put, x)


def _check_placement(x: Any, placement: Any, what: str) -> None:
    """ValueError unless `placement` is a prefix tree of `x` of devices, shardings and None."""
    if placement is None or isinstance(placement, _PLACEMENTS):
        return
    marked = trees.map(lambda p: (p,), placement, is_leaf=lambda p: p is None)
    places = trees.leaves(marked)
    for place in places:
        if not (place is None or isinstance(place, _PLACEMENTS)):
            raise ValueError(
                f"Received invalid value for {what}: {place!r} of type {type(place)}. Give a "
                "Device, a Sharding, or a tree of them; frit has one device, so None is enough."
            )
    found = trees.prefix_errors(placement, x, is_leaf=lambda p: p is None)
    if found:
        details = "\n".join(str(error(f"{what}")) for error in found).replace("\n", "\n  ")
        raise ValueError(
            f"{what} specification must be a tree prefix of the corresponding value.\n  Mismatch "
            f"details ({len(found)} found):\n  {details}"
        )


def device_get(x: Any) -> Any:
    """`x` with its Arrays as NumPy arrays."""

    def get(leaf: Any) -> Any:
        if isinstance(leaf, Array) and isinstance(leaf.dtype, ExtendedDType):
            return leaf
        return np.asarray(leaf) if isinstance(leaf, Array) else leaf

    return trees.map(get, x)


def block_until_ready(x: Any) -> Any:
    """`x`: calls are synchronous, so its arrays are ready."""
    for leaf in trees.leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """`x`: its arrays are in the host's memory; other objects are asked to copy themselves."""
    for leaf in trees.leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def effects_barrier() -> None:
    """Returns when all callbacks have run: calls are synchronous, so at once."""


def live_arrays(platform: Any = None) -> list[Array]:
    """The arrays that are alive in this process."""
    return [x for x in gc.get_objects() if type(x) is Array and not x.is_deleted()]


def clear_caches() -> None:
    """Forgets all traces and programs."""
    cache.clear()
    eager.clear_caches()
    pipeline.clear_cache()
