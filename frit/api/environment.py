"""What a bug report should say about the machine and the versions."""

from __future__ import annotations

import platform
import sys

import llvmlite
import numpy as np

from frit.api.devices import devices

VERSION = "0.10.2"


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints versions of frit and what it stands on, and the machine; or returns that text."""
    lines = [
        f"jax:    {VERSION} (as frit speaks it)",
        f"jaxlib: {VERSION}",
        f"numpy:  {np.__version__}",
        f"llvmlite: {llvmlite.__version__}",
        f"python: {sys.version}",
        f"device info: {devices()[0].device_kind}, {len(devices())} local device",
        f"platform: {platform.uname()}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None
