"""Stand-ins of frit for the private names of jax that its tests and other libraries touch.

PRIVATE maps a dotted path in `jax._src` to an object of ours. Each entry is one of:

    a setting        of frit.config, or an `Option` that remembers a value and does nothing
    a twin           frit's own object that plays the same part (`trace_state_clean`, `subjaxprs`)
    a constant fact  about this machine or version ("no CUDA", "not a sanitizer build")
    a `Quiet`        for caches of jax that code clears, and that frit does not have

Names that are public elsewhere are in `redirects.json`.
"""

from __future__ import annotations

import enum
import functools
import importlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

import frit
import frit.numpy as jnp
from frit.config import Setting, config
from frit.ir import check, dims, dtypes, primitive, types

VERSION = "0.10.2"
VERSION_INFO = (0, 10, 2)


def _under(prefix: str, **objects: Any) -> dict[str, Any]:
    """Entries for names of one private module."""
    return {f"jax._src.{prefix}.{name}": value for name, value in objects.items()}


# ---- settings -----------------------------------------------------------------------------------


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
    "disable_bwd_checks": False,
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


def _config_module() -> dict[str, Any]:
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
    return _under(
        "config",
        **settings,
        **dict.fromkeys(flags, _flag),
        bool_env=_from_environment(as_bool),
        int_env=_from_environment(int),
        config=config,
        config_states=states,
        update=update,
        _read=read,
        parse_flags_with_absl=lambda: None,
        ExplicitX64Mode=ExplicitX64Mode,
        EffortLevel=EffortLevel,
    )


# ---- dtypes -------------------------------------------------------------------------------------

_DEFAULT_NAMES = {"b": "bool", "i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}


def _default(kind: str) -> Callable[[], np.dtype]:
    return lambda: dtypes.canonicalize(np.dtype(_DEFAULT_NAMES[kind]))


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """`dtype` as arrays have it: narrowed to 32 bits unless 64-bit types are enabled."""
    return dtypes.canonicalize(dtypes.as_dtype(dtype), allow_extended=allow_extended_dtype)


def to_numeric_dtype(dtype: Any) -> Any:
    """int32 (the default integer) for bool, any other dtype as it is."""
    dtype = np.dtype(dtype)
    return _default("i")() if dtype == np.bool_ else dtype


def to_inexact_dtype(dtype: Any) -> Any:
    """The floating dtype that functions such as `sin` compute an integer of `dtype` in."""
    dtype = np.dtype(dtype)
    if dtypes.is_inexact(dtype):
        return dtype
    return dtypes.canonicalize(np.dtype("float64" if dtype.itemsize == 8 else "float32"))


def is_weakly_typed(x: Any) -> bool:
    """Whether x, a Python scalar, an array or a type, takes the dtype of what it meets."""
    if type(x) in dtypes.PYTHON_SCALARS:
        return True
    return bool(getattr(getattr(x, "aval", x), "weak_type", False))


def _itemsize_bits(dtype: Any) -> int:
    name = np.dtype(dtype).name
    small = {f"{kind}int{bits}": bits for kind in ("", "u") for bits in (1, 2, 4)}
    small |= {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}
    return small.get(name, np.dtype(dtype).itemsize * 8)


def _float8() -> list[np.dtype]:
    names = "e3m4 e4m3 e8m0fnu e4m3b11fnuz e4m3fn e4m3fnuz e5m2 e5m2fnuz"
    return [np.dtype(getattr(ml_dtypes, f"float8_{name}")) for name in names.split()]


def _dtypes_module() -> dict[str, Any]:
    small_floats = "bfloat16 float4_e2m1fn float6_e2m3fn float6_e3m2fn".split()
    names = [*small_floats, *(dtype.name for dtype in _float8())]
    names += [
        name for name in "int1 uint1 int2 uint2 int4 uint4".split() if hasattr(ml_dtypes, name)
    ]
    scalars = {kind: np.dtype(name) for kind, name in dtypes.PYTHON_SCALARS.items()}
    small_integers = "int2 uint2 int4 uint4".split()
    return _under(
        "dtypes",
        **{name: getattr(ml_dtypes, name) for name in names},
        _float8_dtypes=_float8(),
        _intn_dtypes=[np.dtype(getattr(ml_dtypes, name)) for name in small_integers],
        canonicalize_dtype=canonicalize_dtype,
        canonicalize_value=jnp.asarray,
        default_complex_dtype=_default("c"),
        default_float_dtype=_default("f"),
        default_int_dtype=_default("i"),
        default_types={kind: _default(kind) for kind in _DEFAULT_NAMES},
        default_uint_dtype=_default("u"),
        finfo=ml_dtypes.finfo,
        float0=np.dtype([("float0", np.void, 0)]),
        iinfo=ml_dtypes.iinfo,
        is_weakly_typed=is_weakly_typed,
        itemsize_bits=_itemsize_bits,
        python_scalar_dtypes=scalars,
        python_scalar_types_to_dtypes=scalars,
        to_inexact_dtype=to_inexact_dtype,
        to_numeric_dtype=to_numeric_dtype,
    )


# ---- small helpers ------------------------------------------------------------------------------


def safe_zip(*sequences: Iterable[Any]) -> list[tuple[Any, ...]]:
    """`zip` as a list; AssertionError where the lengths differ."""
    lists = [list(sequence) for sequence in sequences]
    assert len({len(each) for each in lists}) <= 1, [len(each) for each in lists]
    return list(zip(*lists, strict=True))


def safe_map(function: Callable[..., Any], *sequences: Iterable[Any]) -> list[Any]:
    """`map` as a list; AssertionError where the lengths differ."""
    return [function(*values) for values in safe_zip(*sequences)]


def foreach(function: Callable[..., Any], *sequences: Iterable[Any]) -> None:
    """Calls `function` on each row of the sequences; AssertionError where the lengths differ."""
    safe_map(function, *sequences)


def split_list(values: Iterable[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """`values` cut after each of `lengths`, and the rest."""
    rest, parts = list(values), []
    for length in lengths:
        parts.append(rest[:length])
        rest = rest[length:]
    return [*parts, rest]


def subvals(values: Iterable[Any], replace: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """`values` with (position, value) pairs put in."""
    result = list(values)
    for position, value in replace:
        result[position] = value
    return tuple(result)


def _unzip(width: int) -> Callable[[Iterable[Any]], tuple[tuple[Any, ...], ...]]:
    def unzip(rows: Iterable[Any]) -> tuple[tuple[Any, ...], ...]:
        rows = list(rows)
        return tuple(map(tuple, zip(*rows, strict=True))) if rows else ((),) * width

    return unzip


def _util_module() -> dict[str, Any]:
    return _under(
        "util",
        Mutex=threading.Lock,
        clear_all_caches=lambda: frit.clear_caches(),
        curry=lambda function: functools.partial(functools.partial, function),
        foreach=foreach,
        install_failure_signal_handler=lambda *_, **__: None,
        safe_map=safe_map,
        safe_zip=safe_zip,
        split_list=split_list,
        subvals=subvals,
        test_event_listener=None,
        unzip2=_unzip(2),
        unzip3=_unzip(3),
    )


# ---- the core -----------------------------------------------------------------------------------


def _core_module() -> dict[str, Any]:
    """Types, tracers and the state of tracing."""
    return _under(
        "core",
        JaxprTypeError=check.JaxprTypeError,
        Trace=primitive.Interpreter,
        Tracer=primitive.Tracer,
        check_eqn=lambda *_, **__: None,
        check_jaxpr=check.check_jaxpr,
        cur_qdd=lambda _: None,
        dedup_referents=lambda values: list({id(v): v for v in values}.values()),
        definitely_equal=dims.same,
        eval_context=lambda: primitive.interpreting(primitive.bottom_interpreter()),
        is_concrete=lambda x: not isinstance(x, primitive.Tracer) or x.concrete() is not None,
        is_constant_dim=lambda d: isinstance(d, int),
        is_symbolic_dim=lambda d: isinstance(d, dims.Dim),
        is_valid_jaxtype=types.is_value,
        reset_trace_state=lambda: True,
        shaped_abstractify=types.shaped_type,
        trace_state_clean=lambda: not primitive.under_trace(),
        typeof=types.typeof,
        valid_jaxtype=types.is_value,
    )


# ---- machine and build --------------------------------------------------------------------------


class Quiet:
    """Answers every attribute and call with itself: for caches that code clears or counts."""

    misses = hits = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self


class Backend:
    """What a client of a platform tells about itself: a CPU."""

    platform = "cpu"
    platform_version = "frit"
    runtime_type = "frit"

    def devices(self) -> list[Any]:
        return frit.devices()

    local_devices = devices

    def device_count(self) -> int:
        return len(self.devices())

    def process_index(self) -> int:
        return 0


@functools.cache
def get_backend(platform: str | None = None) -> Backend:
    """The CPU backend; RuntimeError for another platform."""
    if platform not in (None, "", "cpu"):
        raise RuntimeError(f"Unknown backend: {platform!r} requested, but frit has only 'cpu'")
    return Backend()


class _Build:
    """Facts about jaxlib's build, which has no counterpart here."""

    is_asan = is_msan = is_tsan = is_sanitized = staticmethod(lambda: False)
    is_optimized_build = staticmethod(lambda: True)
    get_internal_device_put_info = staticmethod(dict)


def _machine_modules() -> dict[str, Any]:
    no_cuda = None
    return {
        **_under(
            "xla_bridge",
            backend_pjrt_c_api_version=lambda *_, **__: (0, 0),
            backend_stablehlo_version=lambda *_, **__: (0, 0, 0),
            devices=lambda backend=None: frit.devices(backend),
            get_backend=get_backend,
            local_devices=lambda *_, **options: frit.devices(options.get("backend")),
            num_cpu_devices=Option("num_cpu_devices", -1),
        ),
        **_under("cloud_tpu_init", running_in_cloud_tpu_vm=False),
        **_under(
            "lib",
            _jax=_Build,
            cuda_versions=no_cuda,
            jaxlib_extension_version=10**6,
            version=VERSION_INFO,
            version_str=VERSION,
        ),
        **_under("compilation_cache", _cache=None, reset_cache=lambda: None),
        **_under("compilation_cache", is_persistent_cache_enabled=lambda: False),
        **_under("deprecations", is_accelerated=lambda name: False, warn=lambda *_, **__: None),
        **_under("dispatch", runtime_tokens=Quiet(), xla_primitive_callable=Quiet()),
        **_under("lax.control_flow", common=Quiet()),
        **_under("interpreters.mlir", _platforms_with_donation=(), ir=ModuleType("ir")),
    }


PRIVATE: dict[str, Any] = {
    **_config_module(),
    **_core_module(),
    **_dtypes_module(),
    **_util_module(),
    **_machine_modules(),
}


def _jaxlib_modules() -> dict[str, ModuleType]:
    """jaxlib as a package with a version, which is all that programs ask of it."""
    modules = {name: ModuleType(name) for name in ("jaxlib", "jaxlib.version")}
    for module in modules.values():
        module.__dict__.update(__version__=VERSION, __path__=[])
    modules["jaxlib"].__dict__["version"] = modules["jaxlib.version"]
    return modules


JAXLIB = _jaxlib_modules()
