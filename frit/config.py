"""Every setting of frit: name, type, default, meaning.  The only module that reads the environment.

A setting has a global value (`config.update(name, value)`, or the environment variable `FRIT_NAME`
or `JAX_NAME` at import) and, within a `with setting(value):` block, a value of the current thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


class _Unset:
    def __repr__(self) -> str:
        return "<unset>"


_UNSET = _Unset()


class _Local(threading.local):
    """The settings of this thread's `with` blocks, by name."""

    values: dict[str, Any]

    def __init__(self) -> None:
        self.values = {}


_local = _Local()


def _boolean(text: str) -> bool:
    value = text.strip().lower()
    if value in ("1", "true", "yes", "on", "y", "t"):
        return True
    if value in ("0", "false", "no", "off", "n", "f", ""):
        return False
    raise ValueError(f"expected a boolean such as 0 or 1, got {text!r}")


_READERS: dict[type, Callable[[str], Any]] = {bool: _boolean, int: int, str: str, float: float}


@dataclass(eq=False)
class Setting:
    """One named setting; calling it gives a context manager that sets it in this thread."""

    name: str
    kind: type
    default: Any
    meaning: str
    choices: tuple[Any, ...] = ()
    affects_tracing: bool = False
    optional: bool = False
    on_change: list[Callable[[Any], None]] = field(default_factory=list)
    global_value: Any = _UNSET

    @property
    def value(self) -> Any:
        within = _local.values
        if within and self.name in within:
            return within[self.name]
        return self.global_value

    def check(self, value: Any) -> Any:
        if value is None and (self.optional or self.default is None):
            return value
        if self.kind is bool and not isinstance(value, bool):
            if value in (0, 1):
                return bool(value)
            raise TypeError(f"setting {self.name!r} takes a boolean, got {value!r}")
        if self.choices and value not in self.choices:
            raise ValueError(
                f"setting {self.name!r} takes one of {', '.join(map(repr, self.choices))}; "
                f"got {value!r}"
            )
        return value

    def set_global(self, value: Any) -> None:
        self.global_value = self.check(value)
        _Global.trace_settings = tuple(s.global_value for s in _TRACING)
        for callback in self.on_change:
            callback(self.global_value)

    @contextmanager
    def _within(self, value: Any) -> Iterator[None]:
        before = _local.values
        _local.values = {**before, self.name: self.check(value)}
        try:
            yield
        finally:
            _local.values = before

    def __call__(self, value: Any = True) -> Any:
        return self._within(value)

    def get_global(self) -> Any:
        """The value outside of all `with` blocks."""
        return self.global_value

    def __bool__(self) -> bool:
        return bool(self.value)


_TABLE: dict[str, Setting] = {}


def _setting(name: str, kind: type, default: Any, meaning: str, **more: Any) -> Setting:
    setting = Setting(name, kind, default, meaning, **more)
    text = os.environ.get(f"FRIT_{name.upper()}", os.environ.get(f"JAX_{name.upper()}"))
    try:
        setting.global_value = default if text is None else setting.check(_READERS[kind](text))
    except ValueError as error:
        raise ValueError(f"environment variable FRIT_{name.upper()}: {error}") from None
    _TABLE[name] = setting
    return setting


enable_x64 = _setting(
    "enable_x64", bool, False, "64-bit types are kept; otherwise narrowed to 32 bits",
    affects_tracing=True,
)  # fmt: skip
numpy_rank_promotion = _setting(
    "numpy_rank_promotion", str, "allow", "what happens when operands of differing rank meet",
    choices=("allow", "warn", "raise"), affects_tracing=True,
)  # fmt: skip
numpy_dtype_promotion = _setting(
    "numpy_dtype_promotion", str, "standard", "whether operands of differing dtype are promoted",
    choices=("standard", "strict"), affects_tracing=True,
)  # fmt: skip
default_matmul_precision = _setting(
    "default_matmul_precision", str, None, "precision named on contractions without their own",
    affects_tracing=True,
)  # fmt: skip
default_prng_impl = _setting(
    "default_prng_impl", str, "threefry2x32", "generator of keys made without naming one",
    affects_tracing=True,
)  # fmt: skip
threefry_partitionable = _setting(
    "threefry_partitionable", bool, True, "the layout of random bits; frit knows only True",
    affects_tracing=True,
)  # fmt: skip
default_dtype_bits = _setting(
    "default_dtype_bits", str, "64", "bits of default dtypes when 64-bit types are enabled",
    choices=("32", "64"), affects_tracing=True,
)  # fmt: skip
disable_jit = _setting(
    "disable_jit", bool, False, "jit, scan, while and cond run as Python on concrete values",
    affects_tracing=True,
)  # fmt: skip
debug_nans = _setting(
    "debug_nans", bool, False, "raise FloatingPointError where a NaN is made", affects_tracing=True
)
debug_infs = _setting(
    "debug_infs", bool, False, "raise FloatingPointError where an inf is made", affects_tracing=True
)
check_tracer_leaks = _setting("check_tracer_leaks", bool, False, "look for leaked tracers")
captures = _setting(
    "captures", str, "retrace",
    "what a call does when a value that its trace read from outside has changed",
    choices=("retrace", "warn", "error", "freeze"),
)  # fmt: skip
bounds = _setting(
    "bounds", str, "clamp",
    "what an index out of bounds does: reads are moved inside and writes dropped, or IndexError",
    choices=("clamp", "raise"), affects_tracing=True,
)  # fmt: skip
trace_side_effects = _setting(
    "trace_side_effects", str, "warn",
    "what is done about a traced function's print, stored tracer, clock or random draw",
    choices=("warn", "error", "ignore"),
)  # fmt: skip
explain_cache_misses = _setting("explain_cache_misses", bool, False, "log why a call retraces")
log_compiles = _setting("log_compiles", bool, False, "log each trace and compilation")
enable_checks = _setting("enable_checks", bool, False, "verify every jaxpr that is made")
enable_custom_prng = _setting("enable_custom_prng", bool, False, "PRNGKey makes typed keys")
legacy_prng_key = _setting(
    "legacy_prng_key", str, "allow", "what using a raw uint32 key does",
    choices=("allow", "warn", "error"),
)  # fmt: skip
random_seed_offset = _setting(
    "random_seed_offset", int, 0, "added to the seed of each key that is made", affects_tracing=True
)
debug_key_reuse = _setting(
    "debug_key_reuse", bool, False, "raise where a key is used twice; not here, so only False",
    choices=(False,),
)  # fmt: skip
traceback_filtering = _setting(
    "traceback_filtering", str, "auto", "how frames of frit are hidden from tracebacks",
    choices=("off", "tracebackhide", "remove_frames", "quiet_stack_frames", "auto"),
)  # fmt: skip
no_tracing = _setting("no_tracing", bool, False, "raise RuntimeError where a function is traced")
no_execution = _setting(
    "no_execution", bool, False, "raise RuntimeError where a program runs", affects_tracing=True
)
_GUARDS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
transfer_guard = _setting(
    "transfer_guard", str, None, "what copies between host and device do; here there are none",
    choices=_GUARDS,
)  # fmt: skip
transfer_guard_host_to_device = _setting(
    "transfer_guard_host_to_device", str, None, "as transfer_guard, in one direction",
    choices=_GUARDS,
)  # fmt: skip
transfer_guard_device_to_host = _setting(
    "transfer_guard_device_to_host", str, None, "as transfer_guard, in one direction",
    choices=_GUARDS,
)  # fmt: skip
transfer_guard_device_to_device = _setting(
    "transfer_guard_device_to_device", str, None, "as transfer_guard, in one direction",
    choices=_GUARDS,
)  # fmt: skip
platforms = _setting("platforms", str, None, "platforms asked for; frit has `cpu`")
platform_name = _setting("platform_name", str, "", "older spelling of `platforms`")
default_device = _setting("default_device", object, None, "device of new arrays")
custom_vjp_disable_shape_check = _setting(
    "custom_vjp_disable_shape_check", bool, False, "skip comparing cotangents with primals",
    affects_tracing=True,
)  # fmt: skip
softmax_custom_jvp = _setting(
    "softmax_custom_jvp", bool, False, "softmax differentiates by its own rule",
    affects_tracing=True,
)  # fmt: skip
dynamic_shapes = _setting("dynamic_shapes", bool, False, "accepted for compatibility; no effect")
numpy_repr_limit = _setting("numpy_repr_limit", int, 1000, "elements printed before abbreviation")
fast_math = _setting(
    "fast_math", bool, False, "allow rewrites that change rounding", affects_tracing=True
)
check = _setting("check", bool, False, "verify after every stage of the compiler")
show = _setting("show", str, "", "stages to print, by name, separated by commas")
time = _setting("time", bool, False, "print how long each stage took")
backend = _setting(
    "backend", str, "llvm", "engine that runs programs", choices=("llvm", "reference")
)
num_threads = _setting(
    "num_threads", int, 1, "threads that a product or factorization may use; 0: BLAS decides"
)
tape_bytes = _setting(
    "tape_bytes", int, 0,
    "bytes that the tapes of differentiated while loops may take; 0: nine tenths of what is free",
)  # fmt: skip
target = _setting("target", str, "", "CPU to compile for, as LLVM names it; empty: this one")


def trace_settings() -> tuple[Any, ...]:
    """The values of all settings that change what tracing produces: a part of every cache key."""
    if _local.values:
        return tuple(setting.value for setting in _TRACING)
    return _Global.trace_settings


def names_of_trace_settings() -> tuple[str, ...]:
    """The names of those settings, in the same order."""
    return tuple(setting.name for setting in _TRACING)


_TRACING = tuple(setting for setting in _TABLE.values() if setting.affects_tracing)


class _Global:
    """The global values of the settings that affect tracing, kept ready for cache keys."""

    trace_settings = tuple(setting.global_value for setting in _TRACING)


def make_user_context(default_value: Any = None) -> Setting:
    """A setting of the user's own; what is traced depends on its value, which must be hashable.

    precision = make_user_context("low")
    with precision("high"):
        f(x)                          # traced for "high"; precision.value reads it
    """
    global _TRACING
    setting = Setting(
        f"user_context_{len(_TRACING)}", object, default_value, "a setting of the user's",
        affects_tracing=True, global_value=default_value,
    )  # fmt: skip
    _TRACING = (*_TRACING, setting)
    _Global.trace_settings = tuple(s.global_value for s in _TRACING)
    return setting


class Config:
    """What users see as `frit.config`: settings by name, with or without JAX's `jax_` prefix."""

    def update(self, name: str, value: Any) -> None:
        """Sets a setting for all threads.  AttributeError for a name that does not exist."""
        self._find(name).set_global(value)

    def read(self, name: str) -> Any:
        return self._find(name).value

    def _find(self, name: str) -> Setting:
        key = name.removeprefix("jax_")
        if key not in _TABLE:
            raise AttributeError(
                f"Unrecognized config option: {name}. Known: {', '.join(sorted(_TABLE))}"
            )
        return _TABLE[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._find(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    @property
    def values(self) -> dict[str, Any]:
        return {f"jax_{name}": setting.value for name, setting in _TABLE.items()}

    def parse_flags_with_absl(self) -> None:
        """Accepted for compatibility: settings are read from the environment at import."""

    def config_with_absl(self) -> None:
        """Accepted for compatibility: settings are read from the environment at import."""


config = Config()
