"""Functions with transformations around them, under the names of jax.extend.linear_util."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from frit.ir.jaxpr import DebugInfo

__all__ = ["StoreException", "WrappedFun", "cache", "wrap_init"]


class StoreException(Exception):
    """A result's tree was asked for before the function had run."""


class WrappedFun:
    """A function of flat values; `call_wrapped` runs it."""

    def __init__(
        self, f: Callable[..., Any], params: dict[str, Any], debug_info: DebugInfo
    ) -> None:
        self.f, self.params, self.debug_info = f, params, debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **{**self.params, **kwargs})

    __call__ = call_wrapped


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """`f` as a WrappedFun."""
    return WrappedFun(f, params or {}, debug_info or DebugInfo())


def cache(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call`, remembering its results."""
    return functools.lru_cache(1024)(call)
