"""Stand-ins that state facts about this machine and version: a CPU, no CUDA, no jaxlib build."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import frit
from frit.extend.backend import get_backend
from frit.jax_alias.options import Option, under

VERSION = "0.10.2"
VERSION_INFO = (0, 10, 2)


class Quiet:
    """Answers every attribute and call with itself: for caches that code clears or counts."""

    misses = hits = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self


class _Build:
    """Facts about jaxlib's build, which has no counterpart here."""

    is_asan = is_msan = is_tsan = is_sanitized = staticmethod(lambda: False)
    is_optimized_build = staticmethod(lambda: True)
    get_internal_device_put_info = staticmethod(dict)


def machine_modules() -> dict[str, Any]:
    no_cuda = None
    return {
        **under(
            "xla_bridge",
            backend_pjrt_c_api_version=lambda *_, **__: (0, 0),
            backend_stablehlo_version=lambda *_, **__: (0, 0, 0),
            devices=lambda backend=None: frit.devices(backend),
            get_backend=functools.cache(get_backend),
            local_devices=lambda *_, **options: frit.devices(options.get("backend")),
            num_cpu_devices=Option("num_cpu_devices", -1),
        ),
        **under("cloud_tpu_init", running_in_cloud_tpu_vm=False),
        **under(
            "lib",
            _jax=_Build,
            cuda_versions=no_cuda,
            jaxlib_extension_version=10**6,
            version=VERSION_INFO,
            version_str=VERSION,
        ),
        **under("compilation_cache", _cache=None, reset_cache=lambda: None),
        **under("compilation_cache", is_persistent_cache_enabled=lambda: False),
        **under("deprecations", is_accelerated=lambda name: False, warn=lambda *_, **__: None),
        **under("dispatch", runtime_tokens=Quiet(), xla_primitive_callable=Quiet()),
        **under("lax.control_flow", common=Quiet()),
        **under(
            "interpreters.mlir",
            _platforms_with_donation=("cpu", "cuda", "rocm", "tpu"),
            ir=ModuleType("ir"),
        ),
    }


def _jaxlib_modules() -> dict[str, ModuleType]:
    """jaxlib as a package with a version, which is all that programs ask of it."""
    modules = {name: ModuleType(name) for name in ("jaxlib", "jaxlib.version")}
    for module in modules.values():
        module.__dict__.update(__version__=VERSION, __path__=[])
    modules["jaxlib"].__dict__["version"] = modules["jaxlib.version"]
    return modules


JAXLIB = _jaxlib_modules()
