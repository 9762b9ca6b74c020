"""What the Python array API asks of a namespace: its version, devices, capabilities and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import config
from frit.ir import dtypes
from frit.runtime.device import cpu_device

__array_api_version__ = "2024.12"

_NARROW = "bool int8 int16 int32 uint8 uint16 uint32 float32 complex64".split()
_WIDE = "int64 uint64 float64 complex128".split()
_KINDS = {
    "bool": ("b",), "signed integer": ("i",), "unsigned integer": ("u",), "integral": ("i", "u"),
    "real floating": ("f",), "complex floating": ("c",), "numeric": ("i", "u", "f", "c"),
}  # fmt: skip


def check_api_version(api_version: str | None) -> None:
    """ValueError if the namespace does not follow that version of the array API."""
    if api_version not in (None, __array_api_version__):
        raise ValueError(
            f"api_version={api_version!r} is not available; available versions are: "
            f"{[__array_api_version__]}"
        )


class ArrayNamespaceInfo:
    """Answers about the namespace, in the words of the array API."""

    def default_device(self) -> None:
        """None: arrays are not bound to a device."""
        return None

    def devices(self) -> list[Any]:
        """None, for arrays not bound to a device, and the device."""
        return [None, cpu_device()]

    def capabilities(self) -> dict[str, Any]:
        """False for what has no meaning while tracing."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The element types of results that nothing else determines."""
        integer = dtypes.python_scalar_dtype(int)
        return {
            "real floating": dtypes.python_scalar_dtype(float),
            "complex floating": dtypes.python_scalar_dtype(complex),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The element types by name, of a kind or of several."""
        kinds = ("numeric", "bool") if kind is None else kind
        letters = {c for k in (kinds if isinstance(kinds, tuple) else (kinds,)) for c in _KINDS[k]}
        names = _NARROW + (_WIDE if config.enable_x64.value else [])
        return {n: np.dtype(n) for n in names if np.dtype(n).kind in letters}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What the namespace is capable of."""
    return ArrayNamespaceInfo()
