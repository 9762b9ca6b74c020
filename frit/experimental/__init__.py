"""What jax.experimental has and other code relies on: x64 blocks and io_callback."""

from frit.api.callbacks import io_callback
from frit.config import enable_x64 as _enable_x64

__all__ = ["disable_x64", "enable_x64", "io_callback"]


def enable_x64(new_val: bool = True) -> object:
    """Within the block, 64-bit types are kept."""
    return _enable_x64(new_val)


def disable_x64() -> object:
    """Within the block, 64-bit types are narrowed."""
    return _enable_x64(False)
