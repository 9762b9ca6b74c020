"""Backends by name: there is one, this machine's CPU."""

from __future__ import annotations

from typing import Any

from frit.api import devices as _devices
from frit.api.devices import clear_caches as clear_backends
from frit.runtime.device import Device, cpu_device

__all__ = ["backends", "clear_backends", "get_backend", "get_default_device"]


class Backend:
    """What a client of a platform tells about itself: a CPU."""

    platform = "cpu"
    platform_version = "frit"
    runtime_type = "frit"

    def devices(self) -> list[Device]:
        return [cpu_device()]

    local_devices = devices

    def device_count(self) -> int:
        return 1

    local_device_count = device_count

    def process_index(self) -> int:
        return 0

    def live_executables(self) -> list[Any]:
        return []


_cpu = Backend()


def get_backend(platform: Any = None) -> Backend:
    """The backend of a platform.  RuntimeError where it is not here."""
    _devices.devices(None if platform in (None, "") else getattr(platform, "platform", platform))
    return _cpu


def backends() -> dict[str, Backend]:
    return {"cpu": _cpu}


def get_default_device() -> Device:
    return cpu_device()
