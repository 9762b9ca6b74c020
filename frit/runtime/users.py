"""Which code is the user's, and which belongs to frit, Python or an installed package."""

from __future__ import annotations

import functools
import os
import sysconfig
from types import FunctionType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSTALLED = tuple(
    {path + os.sep for name, path in sysconfig.get_paths().items() if name.endswith("lib")}
)


@functools.lru_cache(maxsize=8192)
def is_library_file(name: str) -> bool:
    """Whether a source file belongs to frit, Python or an installed package."""
    parts = ("site-packages" + os.sep, "dist-packages" + os.sep)
    return name.startswith((_PACKAGE, *_INSTALLED, "<frozen")) or any(p in name for p in parts)


def is_users(function: Any) -> bool:
    """Whether a Python function is of the user's own code."""
    return type(function) is FunctionType and not is_library_file(function.__code__.co_filename)
