"""Types for annotations: what functions of frit take where they say "an array"."""

from typing import Any

import numpy as np

from frit.runtime.array import Array

ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = Any

__all__ = ["ArrayLike", "DTypeLike"]
