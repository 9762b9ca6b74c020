"""Which code is the user's, and which belongs to frit, Python or an installed package."""

from __future__ import annotations

import functools
import os
import sysconfig
from types import FunctionType
from typing import Any

from frit.errors import is_own_file

_INSTALLED = tuple(
    {path + os.sep for name, path in sysconfig.get_paths().items() if name.endswith("lib")}
)


@functools.lru_cache(maxsize=8192)
def is_library_file(name: str) -> bool:
    """Whether a source file belongs to frit, Python or an installed package."""
    parts = ("site-packages" + os.sep, "dist-packages" + os.sep)
    return (
        is_own_file(name)
        or name.startswith((*_INSTALLED, "<frozen"))
        or any(part in name for part in parts)
    )


def is_users(function: Any) -> bool:
    """Whether a Python function is of the user's own code."""
    return type(function) is FunctionType and not is_library_file(function.__code__.co_filename)
