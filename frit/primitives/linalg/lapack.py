"""Routines of BLAS and LAPACK on single NumPy matrices: what the definitions of primitives call.

They are called as compiled code calls them, in the same memory order and with workspaces as large,
on which the blocks depend: so that eager and compiled results agree to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

BLOCK = 64  # columns that a routine may work on at once
_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}


def letter(dtype: np.dtype) -> str:
    """LAPACK's letter for an element type: s, d, c or z."""
    return _LETTERS[f"{dtype.kind}{dtype.itemsize}"]


@cache
def _routine(name: str) -> Callable[..., Any]:
    from scipy.linalg import blas, lapack  # slow to import, and few programs need it eagerly

    return getattr(lapack, name, None) or getattr(blas, name)


def routine(dtype: np.dtype, name: str, complex_name: str | None = None) -> Callable[..., Any]:
    """The routine `name` for elements of `dtype`; of complex ones, it may have another name."""
    chosen = complex_name if dtype.kind == "c" and complex_name else name
    return _routine(letter(dtype) + chosen)
