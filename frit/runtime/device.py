"""The device that programs run on: this machine's CPU, as one device."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Device:
    """One device; `platform` is "cpu"."""

    id: int = 0
    platform: str = "cpu"
    device_kind: str = "cpu"
    process_index: int = 0

    @property
    def sharding(self) -> SingleDeviceSharding:
        return SingleDeviceSharding(self)

    @property
    def host_id(self) -> int:
        return 0

    @property
    def client(self) -> Any:
        return self

    @property
    def local_hardware_id(self) -> int:
        return 0

    def memory_stats(self) -> None:
        return None

    def __str__(self) -> str:
        return f"CpuDevice(id={self.id})"

    __repr__ = __str__


@dataclass(frozen=True)
class SingleDeviceSharding:
    """The placement of an array on one device."""

    device: Device
    memory_kind: str = "device"

    @property
    def device_set(self) -> set[Device]:
        return {self.device}

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def is_fully_addressable(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device}, memory_kind=unpinned_host)"


@functools.cache
def cpu_device() -> Device:
    return Device()
