"""frit: NumPy-style functions traced into jaxprs, transformed, and compiled to native code.

The public names of `jax`, re-exported; three hooks are installed here: the interpreter that
computes, the operators on arrays and tracers, and (in frit.ir.types) the types of values.
`frit.scipy` and `frit.image` are loaded when they are first asked for.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

from frit.ir.primitive import Tracer as _Tracer
from frit.runtime import eager as _eager
from frit.runtime.array import Array

_eager.install()

from frit import (  # noqa: E402
    ad_checkpoint,
    api_util,
    core,
    custom_batching,
    custom_derivatives,
    debug,
    dlpack,
    dtypes,
    errors,
    experimental,
    extend,
    flatten_util,
    interpreters,
    lax,
    memory,
    monitoring,
    nn,
    numpy,
    ops,
    profiler,
    random,
    ref,
    sharding,
    stages,
    tree,
    tree_util,
    typing,
)
from frit.numpy.array_methods import install_operators as _install_operators  # noqa: E402

_install_operators(Array)
_install_operators(_Tracer)

from frit.ad_checkpoint import checkpoint_policies  # noqa: E402
from frit.api.accumulation import ad  # noqa: E402
from frit.api.autodiff import jvp, linear_transpose, linearize, vjp  # noqa: E402
from frit.api.callbacks import pure_callback  # noqa: E402
from frit.api.checkpointing import checkpoint, remat  # noqa: E402
from frit.api.control_flow import convert  # noqa: E402
from frit.api.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp  # noqa: E402
from frit.api.devices import (  # noqa: E402
    block_until_ready,
    clear_caches,
    copy_to_host_async,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    effects_barrier,
    host_count,
    host_id,
    live_arrays,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    typeof,
)
from frit.api.environment import print_environment_info  # noqa: E402
from frit.api.explaining import explain  # noqa: E402
from frit.api.gradients import fwd_and_bwd, grad, value_and_grad  # noqa: E402
from frit.api.jacobians import hessian, jacfwd, jacobian, jacrev  # noqa: E402
from frit.api.jitting import jit  # noqa: E402
from frit.api.mapping import pmap, vmap  # noqa: E402
from frit.api.tracing import (  # noqa: E402
    disable_jit,
    ensure_compile_time_eval,
    eval_shape,
    make_jaxpr,
    named_call,
    named_scope,
)
from frit.config import (  # noqa: E402
    bounds,
    check_tracer_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    make_user_context,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    softmax_custom_jvp,
    threefry_partitionable,
    trace_side_effects,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from frit.ir.dims import Dim  # noqa: E402
from frit.ir.dtypes import float0  # noqa: E402
from frit.ir.types import ShapeDtypeStruct  # noqa: E402
from frit.numpy.slices import ds  # noqa: E402
from frit.ref import Ref, freeze, new_ref  # noqa: E402
from frit.runtime.device import Device  # noqa: E402
from frit.sharding import NamedSharding, Shard, make_mesh, set_mesh  # noqa: E402
from frit.sharding import PartitionSpec as P  # noqa: E402

if _TYPE_CHECKING:
    from frit import image, scipy

_LATER = ("image", "scipy")


def __getattr__(name: str) -> object:
    if name in _LATER:
        return _importlib.import_module(f"frit.{name}")
    raise AttributeError(f"module 'frit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_LATER]


checking_leaks = check_tracer_leaks

__version__ = "0.1.0"
