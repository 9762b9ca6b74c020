"""Numbers handled with care at their edges: norms at zero, counters at their end."""

import numpy as np

import frit.numpy as jnp
from frit.ir import dtypes


def abs_sq(x):
    """|x|^2, real also where x is complex. ValueError for what is no array."""
    if not isinstance(x, np.ndarray | jnp.ndarray):
        raise ValueError(
            f"`abs_sq` accepts only NDarrays, got: {x}. Make an array of it: jnp.asarray(x)."
        )
    return (x.conj() * x).real


def safe_norm(x, min_norm, ord=None, axis=None, keepdims=False):
    """max(norm of x, min_norm), whose gradient at x = 0 is 0, where that of the norm is nan."""
    norm = jnp.linalg.norm(x, ord=ord, axis=axis, keepdims=True)
    x = jnp.where(norm <= min_norm, jnp.ones_like(x), x)
    if not keepdims:
        norm = jnp.squeeze(norm, axis=axis)
    masked = jnp.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)
    return jnp.where(norm <= min_norm, min_norm, masked)


def safe_root_mean_squares(x, min_rms):
    """max(root mean square of x, min_rms), whose gradient at x = 0 is 0."""
    rms = jnp.sqrt(jnp.mean(abs_sq(x)))
    x = jnp.where(rms <= min_rms, jnp.ones_like(x), x)
    return jnp.where(rms <= min_rms, min_rms, jnp.sqrt(jnp.mean(abs_sq(x))))


def safe_increment(count):
    """count + 1, or `count` where it is the largest number of its dtype: a counter never wraps."""
    dtype = jnp.asarray(count).dtype
    if dtypes.issubdtype(dtype, np.integer):
        largest = jnp.iinfo(dtype).max
    elif dtypes.issubdtype(dtype, np.floating):
        largest = jnp.finfo(dtype).max
    else:
        raise ValueError(
            f"Cannot safely increment count with dtype {dtype}, valid dtypes are subdtypes of "
            '"jnp.integer" or "jnp.floating".'
        )
    largest = jnp.array(largest, dtype)
    return jnp.where(count < largest, count + jnp.array(1, dtype), largest)


safe_int32_increment = safe_increment


def zero_count():
    """A step counter at its start."""
    return jnp.zeros([], jnp.int32)


def canonicalize_dtype(dtype):
    """`dtype` as arrays have it; None, which means: as the parameters, stays None."""
    return None if dtype is None else dtypes.canonicalize(dtype)


def check_floating(**arrays):
    """Raises TypeError where one of the named arrays is not of a float dtype."""
    _check_subdtype(np.floating, "a float", "convert it with .astype(jnp.float32)", arrays)


def check_integer(**arrays):
    """Raises TypeError where one of the named arrays is not of an integer dtype."""
    _check_subdtype(np.integer, "an integer", "convert it with .astype(jnp.int32)", arrays)


def _check_subdtype(kind, wanted, remedy, arrays):
    for name, array in arrays.items():
        dtype = jnp.result_type(array)
        if not dtypes.issubdtype(dtype, kind):
            raise TypeError(
                f"Expected the input to have a dtype that is a subdtype of {kind}, got {dtype} "
                f"instead: `{name}` must be {wanted} array, {remedy}."
            )


def check_same_shape(**arrays):
    """Raises ValueError where two named arrays differ in shape."""
    (a_name, a), (b_name, b) = arrays.items()
    if jnp.shape(a) != jnp.shape(b):
        raise ValueError(
            f"Shape mismatch: got {jnp.shape(a)} and {jnp.shape(b)}, but `{a_name}` and `{b_name}` "
            "must have one shape; broadcasting here would hide a forgotten axis."
        )
