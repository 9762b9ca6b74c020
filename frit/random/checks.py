"""What every sampler demands of its arguments, said once.

A public sampler is written as `@sampler def name(key, ..., shape, dtype)`. The decorator turns
`key` into one typed key (a raw `uint32[2]` key is wrapped), so the body sees a key of dtype
`key<fry>` and shape `()`. The other helpers make a user's `dtype` and `shape` canonical, or raise
JAX's exception with what was given and what to write instead.
"""

import functools
import inspect
import operator
import warnings

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.config import legacy_prng_key
from frit.ir import dtypes
from frit.ir.dims import Dim
from frit.primitives.random_bits import default_implementation
from frit.random.generators import random_wrap

_SHARDING = inspect.Parameter("out_sharding", inspect.Parameter.KEYWORD_ONLY, default=None)


def typed_keys(name, key):
    """`(keys, was_raw)`: `key` as an array of typed keys of any shape.

    Raises TypeError for anything that is neither typed keys nor raw `uint32[..., 2]` data.
    """
    dtype = getattr(key, "dtype", None)
    if dtype is not None and dtypes.issubdtype(dtype, dtypes.prng_key):
        return key, False
    if dtype is None or not hasattr(key, "shape"):
        raise TypeError(
            f"unexpected PRNG key type {type(key)}: `{name}` takes a key first. Make one from a "
            f"seed with random.key(seed), and split it with random.split(key) for each further use."
        )
    keys = random_wrap(key, impl=default_implementation())
    if legacy_prng_key.value != "allow":
        _object_to_raw_key(name)
    return keys, True


def _object_to_raw_key(name):
    message = (
        f"Legacy uint32 key array passed as key to jax.random function `{name}`. Please create "
        "keys using jax.random.key(). If use of a raw key array was intended, set "
        'jax_legacy_prng_key="allow".'
    )
    if legacy_prng_key.value == "error":
        raise ValueError(message)
    warnings.warn(message, stacklevel=5)


def single_key(name, key):
    """`(key, was_raw)` as `typed_keys`, for functions of one key; ValueError for more."""
    keys, was_raw = typed_keys(name, key)
    if keys.ndim:
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {np.shape(key)} != "
            f"(). Use jax.vmap for batching: vmap(lambda key: random.{name}(key, ...))(keys)."
        )
    return keys, was_raw


def sampler(draw):
    """The public form of `draw`: its key is checked, and `out_sharding` is accepted (None only)."""

    @functools.wraps(draw)
    def checked(key, *args, out_sharding=None, **options):
        if out_sharding is not None:
            raise NotImplementedError(
                f"`{draw.__name__}` got out_sharding={out_sharding}, but arrays live on one device "
                "here: leave it out."
            )
        return draw(single_key(draw.__name__, key)[0], *args, **options)

    signature = inspect.signature(draw)
    parameters = [*signature.parameters.values(), _SHARDING]
    checked.__signature__ = signature.replace(parameters=parameters)
    return checked


def as_shape(name, shape):
    """`shape` as a tuple of dimensions; an int is a shape of one axis.

    Raises TypeError where it is no sequence of integers, ValueError where one is negative.
    """
    try:
        dimensions = (operator.index(shape),)
    except TypeError:
        dimensions = shape
    try:
        result = tuple(d if isinstance(d, Dim) else operator.index(d) for d in dimensions)
    except TypeError:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape} as the "
            f"shape of `{name}`. Under `jit`, a shape must be known while tracing: take it from "
            "x.shape, or name its argument in static_argnums."
        ) from None
    if any(not isinstance(d, Dim) and d < 0 for d in result):
        raise ValueError(
            f"`{name}` got shape {result}: dimensions must be nonnegative. Write the sizes out; -1 "
            "has no meaning here, as nothing is known to infer it from."
        )
    return result


def optional_shape(name, shape):
    """`as_shape`, keeping None, which means: as the parameters broadcast."""
    return None if shape is None else as_shape(name, shape)


def shape_over(name, shape, *parameter_shapes):
    """The shape of the samples: `shape`, or where it is None what the parameters broadcast to.

    Raises ValueError where the parameters do not broadcast to `shape`.
    """
    if shape is None:
        return lax.broadcast_shapes(*parameter_shapes)
    if parameter_shapes and lax.broadcast_shapes(shape, *parameter_shapes) != shape:
        raise ValueError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the "
            "result of broadcasting the shapes must equal the shape argument, but got result "
            f"{lax.broadcast_shapes(shape, *parameter_shapes)} for shape argument {shape}. Give "
            "the full shape of the samples, parameters' axes included."
        )
    return shape


def float_dtype(name, dtype):
    """`dtype` (None: the default float) in canonical form; ValueError where it is no float."""
    canonical = canonical_dtype(float if dtype is None else dtype)
    if not dtypes.issubdtype(canonical, np.floating):
        raise _dtype_error(name, "a float", canonical, "jnp.float32")
    return canonical


def inexact_dtype(name, dtype):
    """As `float_dtype`, allowing complex dtypes."""
    canonical = canonical_dtype(float if dtype is None else dtype)
    if not dtypes.issubdtype(canonical, np.inexact):
        raise _dtype_error(name, "a float or complex", canonical, "jnp.float32")
    return canonical


def integer_dtype(name, dtype, error=ValueError):
    """`dtype` (None: the default int) in canonical form; `error` where it is no integer dtype."""
    canonical = canonical_dtype(int if dtype is None else dtype)
    if not dtypes.issubdtype(canonical, np.integer):
        raise _dtype_error(name, "an int", canonical, "jnp.int32", error)
    return canonical


def _dtype_error(name, wanted, found, example, error=ValueError):
    return error(
        f"dtype argument to `{name}` must be {wanted} dtype, got {found}. Write dtype={example}, "
        "or leave it out, and convert the samples afterwards with .astype(...)."
    )


def canonical_dtype(dtype):
    """`dtype` as arrays have it; a 64-bit one that is not enabled is narrowed, with a warning."""
    if isinstance(dtype, type) and dtype in dtypes.PYTHON_SCALARS:
        return dtypes.python_scalar_dtype(dtype)
    return dtypes.canonicalize_asked(dtype)


def check_safe_to_cast(name, dtype, *parameters):
    """Raises TypePromotionError where a parameter would lose its kind or width in `dtype`."""
    for parameter in parameters:
        if jnp.result_type(parameter, dtype) != dtype:
            raise dtypes.TypePromotionError(
                f"In arguments to {name}, cannot safely cast argument of type "
                f"{jnp.asarray(parameter).dtype} to {dtype}: ask for a wider dtype, or convert the "
                "argument yourself with .astype(...)."
            )


def as_inexact(*values):
    """`values` as arrays of their common dtype; integers become the default float."""
    dtype = jnp.result_type(*values)
    if not dtypes.issubdtype(dtype, np.inexact):
        dtype = jnp.result_type(*values, float)
    arrays = [jnp.asarray(value) for value in values]
    return [a if a.dtype == dtype else a.astype(dtype) for a in arrays]
