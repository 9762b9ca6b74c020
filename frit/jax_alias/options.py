"""Stand-ins for `jax._src.config`: frit's settings, and options of jax that frit ignores."""

from __future__ import annotations

import enum
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from frit.config import Setting, config


def under(module: str, **objects: Any) -> dict[str, Any]:
    """Entries for names of one private module."""
    return {f"jax._src.{module}.{name}": value for name, value in objects.items()}


class Option:
    """A setting of jax that frit does not have: it remembers its value, which has no effect."""

    def __init__(self, name: str, default: Any = None) -> None:
        self.name, self.default, self.value = name, default, default

    def __bool__(self) -> bool:
        return bool(self.value)

    @contextmanager
    def __call__(self, value: Any = True) -> Iterator[None]:
        before, self.value = self.value, value
        try:
            yield
        finally:
            self.value = before


class ExplicitX64Mode(enum.IntEnum):
    """What asking for a 64-bit type does while those are off."""

    WARN = 1
    ERROR = 2
    ALLOW = 3


class EffortLevel(enum.Enum):
    """How hard a compiler tries; frit has one level."""

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


_IGNORED_OPTIONS = {
    "compilation_cache_dir": None,
    "custom_vjp3": False,
    "debug_key_reuse": False,
    "embedded_constants_max_bytes": -1,
    "enable_compilation_cache": False,
    "explicit_x64_dtypes": ExplicitX64Mode.WARN,
    "jax_ragged_dot_use_ragged_dot_instruction": False,
    "numpy_array_api": True,
    "persistent_cache_min_compile_time_secs": 1.0,
    "persistent_cache_min_entry_size_bytes": 0,
    "pmap_shmap_merge": True,
    "raise_persistent_cache_errors": False,
    "random_seed_offset": 0,
    "remat3": False,
    "threefry_gpu_kernel_lowering": False,
    "transfer_guard": None,
    "use_direct_linearize": True,
    "use_shardy_partitioner": True,
    "use_simplified_jaxpr_constants": False,
}


class _States(dict):
    """Settings under their public names, `jax_enable_x64`; unknown ones are remembered."""

    def __missing__(self, name: str) -> Option:
        self[name] = Option(name)
        return self[name]


def _from_environment(convert: Callable[[str], Any]) -> Callable[[str, Any], Any]:
    def read(name: str, default: Any) -> Any:
        text = os.environ.get(name)
        return default if text is None else convert(text)

    return read


def _flag(name: str, default: Any = None, *_: Any, **__: Any) -> Option:
    return Option(name, default)


def _settings() -> dict[str, Any]:
    """frit's own settings by name, and the ignored ones."""
    module = importlib.import_module("frit.config")
    ours = {name: value for name, value in vars(module).items() if isinstance(value, Setting)}
    return {name: Option(name, value) for name, value in _IGNORED_OPTIONS.items()} | ours


def config_module() -> dict[str, Any]:
    settings = _settings()
    states = _States({f"jax_{name}": setting for name, setting in settings.items()})

    def read(name: str) -> Any:
        return states[name].value

    def update(name: str, value: Any) -> None:
        setting = states[name]
        if isinstance(setting, Option):
            setting.value = value
        else:
            config.update(name, value)

    as_bool = lambda text: text.strip().lower() in ("1", "true", "yes", "on", "y", "t")
    flags = ("bool_flag", "int_flag", "string_flag", "enum_flag", "float_flag")
    return under(
        "config",
        **settings,
        **dict.fromkeys(flags, _flag),
        bool_env=_from_environment(as_bool),
        int_env=_from_environment(int),
        config=config,
        config_states=states,
        update=update,
        _read=read,
        disable_bwd_checks=settings["custom_vjp_disable_shape_check"],
        parse_flags_with_absl=lambda: None,
        ExplicitX64Mode=ExplicitX64Mode,
        EffortLevel=EffortLevel,
    )
