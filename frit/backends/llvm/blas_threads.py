"""How many threads BLAS uses, set by generated code before each call.

Starting threads costs more than a small product, and far more when cores are busy, so calls below
`SMALL_WORK` multiplications run on one. The setter is OpenBLAS's own, which scipy brings; where
scipy was built with another BLAS there is none, and nothing is set.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

SYMBOL = "openblas_set_num_threads"
SMALL_WORK = 1 << 24
_PREFIXES = ("scipy_", "")
_SUFFIXES = ("", "64_")


@cache
def _library() -> tuple[Any, str, str] | None:
    """scipy's OpenBLAS and how it decorates its names."""
    import scipy.linalg.cython_blas  # noqa: F401, PLC0415 - slow, and it loads the library

    folder = Path(scipy.__file__).parent
    places = [*folder.parent.glob("scipy.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")]
    for place in places:
        try:
            library = ctypes.CDLL(str(place))
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                if hasattr(library, f"{prefix}{SYMBOL}{suffix}"):
                    return library, prefix, suffix
    return None


def setter_address() -> int | None:
    """The address of `void openblas_set_num_threads(int)`, or None."""
    found = _library()
    if found is None:
        return None
    library, prefix, suffix = found
    function = getattr(library, f"{prefix}{SYMBOL}{suffix}")
    return ctypes.cast(function, ctypes.c_void_p).value


@cache
def default_count() -> int:
    """The number of threads that BLAS would use by itself."""
    found = _library()
    if found is None:
        return 1
    library, prefix, suffix = found
    return max(1, int(getattr(library, f"{prefix}openblas_get_num_threads{suffix}")()))
