"""Placement of arrays, under the names of jax.sharding: light records, for there is one device.

    Mesh(devices, ("x",))                 named axes over devices; every axis has size 1 here
    NamedSharding(mesh, P("x", None))     which axis of the mesh divides which axis of an array

With one device, every sharding means the whole array on that device.
"""

from __future__ import annotations

import abc
import enum
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit.runtime.device import Device, SingleDeviceSharding, cpu_device

__all__ = [
    "AxisType", "ManualAxisType", "Mesh", "NamedSharding", "PartitionSpec", "Shard", "Sharding",
    "SingleDeviceSharding", "make_mesh", "make_single_device_sharding", "set_mesh",
]  # fmt: skip


class AxisType(enum.Enum):
    """Who decides how arrays are divided over an axis of a mesh: with one device, nobody."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class ManualAxisType:
    """How a value varies over mesh axes under shard_map; equal ones are one object."""

    __slots__ = ("reduced", "unreduced", "varying")
    varying: frozenset[Any]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    _interned: dict[Any, ManualAxisType] = {}

    def __new__(
        cls, varying: Any = frozenset(), unreduced: Any = frozenset(), reduced: Any = frozenset()
    ) -> ManualAxisType:
        key = (frozenset(varying), frozenset(unreduced), frozenset(reduced))
        known = cls._interned.get(key)
        if known is None:
            known = cls._interned[key] = super().__new__(cls)
            for name, value in zip(("varying", "unreduced", "reduced"), key, strict=True):
                object.__setattr__(known, name, value)
        return known

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ManualAxisType is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"ManualAxisType is immutable: {name} cannot be deleted")

    def __deepcopy__(self, memo: Any) -> ManualAxisType:
        return self

    def __reduce__(self) -> Any:
        return ManualAxisType, (self.varying, self.unreduced, self.reduced)


class PartitionSpec(tuple):
    """For each axis of an array, the mesh axis (or axes) that divides it, or None."""

    def __new__(cls, *partitions: Any) -> PartitionSpec:
        return super().__new__(cls, partitions)

    def __reduce__(self) -> Any:
        return PartitionSpec, tuple(self)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self))})"


@dataclass(frozen=True)
class Mesh:
    """Devices in an array with named axes.  ValueError where names and axes differ in number."""

    devices: Any
    axis_names: tuple[str, ...]
    axis_types: tuple[AxisType, ...]

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        array = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if array.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == {array.ndim} and "
                f"len(axis_names) == {len(names)}."
            )
        types = (AxisType.Auto,) * len(names) if axis_types is None else tuple(axis_types)
        object.__setattr__(self, "devices", array)
        object.__setattr__(self, "axis_names", names)
        object.__setattr__(self, "axis_types", types)

    def _identity(self) -> tuple[Any, ...]:
        return self.axis_sizes, tuple(self.devices.flat), self.axis_names, self.axis_types

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Mesh) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        return tuple(self.devices.shape)

    @property
    def shape(self) -> OrderedDict[str, int]:
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        return int(self.devices.size)

    @property
    def empty(self) -> bool:
        return self.devices.size == 0

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def __repr__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items())
        return f"Mesh({axes}, axis_types={self.axis_types})"


class Sharding(abc.ABC):  # noqa: B024
    """What all placements answer; isinstance holds for `SingleDeviceSharding` too."""

    memory_kind: str | None = None

    @property
    def device_set(self) -> set[Device]:
        return {cpu_device()}

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def is_fully_addressable(self) -> bool:
        return True

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the part on one device: the whole."""
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Any]:
        """For each device, the index of its part: the whole."""
        return {cpu_device(): (slice(None),) * len(global_shape)}

    addressable_devices_indices_map = devices_indices_map

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        return (cpu_device(),)

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether both mean the same placement: with one device, always."""
        return isinstance(other, (Sharding, SingleDeviceSharding))


Sharding.register(SingleDeviceSharding)


@dataclass(frozen=True)
class NamedSharding(Sharding):
    """A mesh, and which of its axes divides which axis of an array."""

    mesh: Mesh
    spec: PartitionSpec
    memory_kind: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.spec, PartitionSpec):
            raise TypeError(
                f"Unexpected type {type(self.spec)} for the spec of a NamedSharding: expected a "
                "PartitionSpec, e.g. PartitionSpec('x')."
            )
        for entry in self.spec:
            for name in entry if isinstance(entry, tuple) else (entry,):
                if name is not None and name not in self.mesh.axis_names:
                    raise ValueError(
                        f"Resource axis: {name} of {self.spec} is not found in mesh: "
                        f"{self.mesh.axis_names}."
                    )


@dataclass(frozen=True)
class Shard:
    """The part of an array on one device: here, all of it."""

    device: Device
    index: Any
    replica_id: int
    data: Any


def make_single_device_sharding(device: Device, *, memory_kind: str | None = None) -> Any:
    """The placement of a whole array on `device`."""
    return SingleDeviceSharding(device, memory_kind or "device")


def make_mesh(
    axis_shapes: Sequence[int], axis_names: Sequence[str], axis_types: Any = None, *,
    devices: Sequence[Device] | None = None,
) -> Mesh:  # fmt: skip
    """A mesh of the given axes.  ValueError if it needs more devices than there are."""
    given = list(devices) if devices is not None else [cpu_device()]
    needed = int(np.prod(axis_shapes))
    if len(axis_shapes) != len(axis_names):
        raise ValueError(
            f"make_mesh: {len(axis_shapes)} axis shapes {tuple(axis_shapes)} for "
            f"{len(axis_names)} axis names {tuple(axis_names)}: give one size for each name."
        )
    if needed > len(given):
        raise ValueError(
            f"Number of devices {len(given)} must be >= the product of mesh_shape "
            f"{tuple(axis_shapes)}: frit runs on one device, so every axis has size 1."
        )
    types = (AxisType.Explicit,) * len(axis_names) if axis_types is None else axis_types
    array = np.empty(needed, object)
    array[:] = given[:needed]
    return Mesh(array.reshape(tuple(axis_shapes)), tuple(axis_names), types)


@contextmanager
def set_mesh(mesh: Mesh) -> Iterator[Mesh]:
    """Within the block, `mesh` is the mesh in force; with one device, nothing depends on it."""
    yield mesh
