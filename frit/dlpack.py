"""Exchange of arrays with other libraries through DLPack, without a copy if they are read-only."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.runtime.array import Array, array_of

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """The array that an object with `__dlpack__` exports.

    A buffer that its owner can still write is copied: arrays are immutable.
    """
    if not hasattr(external_array, "__dlpack__"):
        raise TypeError(
            "from_dlpack expects an object with a __dlpack__ method (an array of NumPy, PyTorch, "
            f"CuPy …), got {type(external_array).__name__}. Raw capsules are not accepted."
        )
    return array_of(np.from_dlpack(external_array))


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of `dtype` can be exchanged."""
    return np.dtype(dtype).kind in "biufc"
