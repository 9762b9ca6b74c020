"""The OpenBLAS that scipy brings: its routines by name, and how many threads they use.

The library is opened directly, since importing scipy.linalg takes longer than compiling a program.
Where scipy was built with another BLAS nothing is found here, and routines come from scipy's Cython
interface instead.

Starting threads costs more than a small product, and far more when cores are busy, so calls below
`SMALL_WORK` multiplications run on one.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SET_THREADS = "openblas_set_num_threads"
SMALL_WORK = 1 << 24


@cache
def _library() -> Any:
    """scipy's OpenBLAS with 32-bit integers, or None."""
    found = find_spec("scipy")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(next(iter(found.submodule_search_locations)))
    for place in (*folder.parent.glob("scipy.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")):
        try:
            library = ctypes.CDLL(str(place))
        except OSError:
            continue
        if hasattr(library, "scipy_dgemm_") and hasattr(library, f"scipy_{SET_THREADS}"):
            return library
    return None


def address(symbol: str) -> int | None:
    """The address of `blas_<routine>`, `lapack_<routine>` or SET_THREADS, or None."""
    library = _library()
    if library is None:
        return None
    kind, _, routine = symbol.partition("_")
    name = f"scipy_{routine}_" if kind in ("blas", "lapack") else f"scipy_{symbol}"
    function = getattr(library, name, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


@cache
def default_threads() -> int:
    """The number of threads that BLAS would use by itself."""
    library = _library()
    return 1 if library is None else max(1, int(library.scipy_openblas_get_num_threads()))
