"""Stand-ins of frit for the private names of jax that its tests and other libraries touch.

STAND_INS maps a dotted path in `jax._src` to an object of ours. Each entry is one of:

    a setting        of frit.config, or an `Option` that remembers a value only (options)
    a constant fact  about this machine or version: "no CUDA", "not a sanitizer build" (facts)
    a `Quiet`        for caches of jax that code clears, and that frit does not have (facts)
    a twin           frit's own object that plays the same part, or a small function here

Names that are public elsewhere are in `redirects.json`.

PRIVATE is the same table for who runs jax's own suites: they assert jax's behaviour also where
frit's differs on purpose (a changed closure variable must *not* retrace, says `_CompileAndCheck`),
so asking for it makes the process behave as jax does there.
"""

from __future__ import annotations

import enum
import functools
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import frit
import frit.numpy as jnp
from frit import tree_util, trees
from frit.api import signatures
from frit.api.autodiff import NotNeeded
from frit.config import captures
from frit.ir import check, dims, dtypes, primitive, types
from frit.jax_alias.facts import JAXLIB, VERSION, VERSION_INFO, machine_modules
from frit.jax_alias.options import config_module, under
from frit.lax import linalg, reductions
from frit.numpy import promotion
from frit.numpy.index_update import IndexUpdateHelper
from frit.numpy.indexing import take_index
from frit.primitives import callbacks, random_bits
from frit.random import generators, keys
from frit.runtime import events
from frit.runtime.array import Array

__all__ = ["JAXLIB", "STAND_INS", "VERSION", "VERSION_INFO"]


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


def to_complex_dtype(dtype: Any) -> Any:
    """The complex dtype that holds the numbers of `dtype`."""
    return promotion.to_complex(np.dtype(dtype))


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
    return under(
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
        to_complex_dtype=to_complex_dtype,
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


_EVENT_NAMES = {
    "trace": ("trace_to_jaxpr",),
    "miss": ("jit_cpp_cache_miss",),
    "compile": ("lower_jaxpr_to_module", "pxla_cached_compilation"),
    "aot_call": ("stages_compiled_call",),
}


def _tell_tests(event: str, facts: dict[str, Any]) -> None:
    """Passes events on to `jax._src.util.test_event_listener`, under the names of jax."""
    util = sys.modules.get("jax._src.util")
    listener = None if util is None else vars(util).get("test_event_listener")
    if listener is not None:
        for name in _EVENT_NAMES.get(event, ()):
            listener(name)


events.listen(_tell_tests)


def _util_module() -> dict[str, Any]:
    return under(
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
    return under(
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


# ---- twins --------------------------------------------------------------------------------------


class IndexingStrategy(enum.Enum):
    """How an index is carried out. frit chooses by itself: any strategy gives the same result."""

    AUTO = "auto"
    GATHER = "gather"
    SCATTER = "scatter"
    STATIC_SLICE = "static_slice"
    DYNAMIC_SLICE = "dynamic_slice"


def rewriting_take(arr: Any, idx: Any, *, strategy: Any = None, **options: Any) -> Any:
    """arr[idx], in whatever way frit takes it: the strategy is advice."""
    known = {"indices_are_sorted", "unique_indices", "mode", "fill_value"}
    chosen = {name: value for name, value in options.items() if name in known}
    wraps = options.get("normalize_indices", True)
    return take_index(jnp.asarray(arr), idx, wrap_negative_indices=wraps, **chosen)


@dataclass(frozen=True)
class Slice:
    """A slice with a start that may be traced, and a known size and stride."""

    start: Any
    size: Any
    stride: int = 1


def infer_argnums_and_argnames(signature: Any, argnums: Any, argnames: Any) -> tuple[Any, Any]:
    """Marked arguments by number and by name, each inferred from the other where it is None."""
    if argnums is None and argnames is None:
        return (), ()
    marked = signatures.resolve_marked(None, signature, argnums, argnames, "static")
    return marked.numbers, marked.names


def broadcast_flattened_prefix_with_treedef(
    prefix_leaves: Sequence[Any], prefix_tree: Any, full_tree: Any
) -> list[Any]:
    """For each leaf of the full tree, the leaf of the prefix above it."""
    marks = prefix_tree.unflatten(range(len(prefix_leaves)))
    example = full_tree.unflatten([0] * full_tree.num_leaves)
    return [prefix_leaves[at] for at in trees.broadcast_prefix(marks, example)]


def convert_element_type(x: Any, new_dtype: Any = None, weak_type: bool = False, **_: Any) -> Any:
    """x as `new_dtype` (its own for None), weakly typed or not."""
    held: Any = types.typeof(x)
    dtype = held.dtype if new_dtype is None else dtypes.canonicalize(new_dtype)
    return promotion.convert(x, dtype, weak_type)


def _key_modules() -> dict[str, Any]:
    return {
        **under(
            "random.prng",
            KeyTy=random_bits.KeyTy,
            PRNGImpl=random_bits.PRNGImpl,
            PRNGKeyArray=KeyArray,
            prngs=random_bits.IMPLEMENTATIONS,
            random_bits=generators.random_bits,
            random_fold_in=generators.random_fold_in,
            random_seed=lambda seeds, impl: keys.key(seeds, impl=impl),
            random_split=generators.random_split,
            random_unwrap=generators.random_unwrap,
            random_wrap=generators.random_wrap,
            seed_with_impl=lambda impl, seed: keys.key(seed, impl=impl),
        ),
        **under("random", default_prng_impl=random_bits.default_implementation),
        **under(
            "random.threefry2x32",
            threefry_2x32=generators.threefry_2x32,
            threefry_fold_in=generators.threefry_fold_in,
            threefry_prng_impl=random_bits.THREEFRY,
            threefry_random_bits=generators.threefry_random_bits,
            threefry_seed=generators.threefry_seed,
            threefry_split=generators.threefry_split,
        ),
    }


class _KeyArrayMeta(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, frit.Array) and isinstance(x.dtype, random_bits.KeyTy)


class KeyArray(metaclass=_KeyArrayMeta):
    """The class of arrays of random keys, for isinstance; arrays of keys are plain arrays here."""


def _array_modules() -> dict[str, Any]:
    return {
        **under("array", ArrayImpl=Array, at=IndexUpdateHelper),
        **under("indexing", Slice=Slice),
        **under("numpy.indexing", IndexingStrategy=IndexingStrategy, rewriting_take=rewriting_take),
        **under(
            "numpy.util",
            check_arraylike=promotion.check_arraylike,
            promote_dtypes=promotion.promote_dtypes,
            promote_dtypes_complex=promotion.promote_dtypes_complex,
            promote_dtypes_inexact=promotion.promote_dtypes_inexact,
        ),
        **under(
            "lax.lax",
            _const=promotion.constant_like,
            _convert_element_type=convert_element_type,
            asarray=jnp.asarray,
        ),
    }


def _call_modules() -> dict[str, Any]:
    broadcast = broadcast_flattened_prefix_with_treedef
    return {
        **under(
            "tree_util",
            broadcast_flattened_prefix_with_treedef=broadcast,
            dispatch_registry=tree_util.default_registry,
            equality_errors=trees.equality_errors,
            prefix_errors=trees.prefix_errors,
        ),
        **under("api", GradRef=frit.ad.GradRef, NotNeeded=NotNeeded),
        **under(
            "debugging",
            debug_callback_p=callbacks.debug_callback,
            debug_print_p=callbacks.debug_print,
        ),
        **under("api_util", infer_argnums_and_argnames=infer_argnums_and_argnames),
    }


def _lax_modules() -> dict[str, Any]:
    return {
        **under(
            "lax.windowed_reductions",
            _select_and_gather_add=reductions.select_and_gather_add,
            _select_and_scatter_add=reductions.select_and_scatter_add,
        ),
        **under(
            "lax.linalg",
            geqp3=linalg.geqp3,
            geqrf=linalg.geqrf,
            lu_solve=linalg.lu_solve,
        ),
    }


STAND_INS: dict[str, Any] = {
    **config_module(),
    **_dtypes_module(),
    **_util_module(),
    **machine_modules(),
    **_key_modules(),
    **_array_modules(),
    **_core_module(),
    **_call_modules(),
    **_lax_modules(),
}


def __getattr__(name: str) -> Any:
    if name != "PRIVATE":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    captures.set_global("freeze")
    return STAND_INS
