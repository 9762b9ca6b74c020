"""Initial values of parameters: functions `init(key, shape, dtype)` that give an array.

Those named after people scale the variance by the number of inputs and outputs of a layer (its
*fans*), so that activations or gradients keep their size from layer to layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

import frit.numpy as jnp
from frit import random
from frit.ir import dtypes
from frit.numpy.operands import as_shape
from frit.numpy.promotion import default_float, real_part_dtype, to_complex


@runtime_checkable
class Initializer(Protocol):
    """What an initializer is: it gives an array of `shape` and `dtype`, random by `key`."""

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        raise NotImplementedError


def _check_no_sharding(out_sharding: Any) -> None:
    if out_sharding is not None:
        raise NotImplementedError(
            f"An initializer got out_sharding={out_sharding}, but arrays live on one device here: "
            "leave it out."
        )


def _or_default(dtype: Any) -> Any:
    return default_float() if dtype is None else dtypes.canonicalize(dtype)


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros, whatever the key."""
    _check_no_sharding(out_sharding)
    return jnp.zeros(shape, _or_default(dtype))


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones, whatever the key."""
    _check_no_sharding(out_sharding)
    return jnp.ones(shape, _or_default(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer of copies of `value`, broadcast to the shape asked for."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _check_no_sharding(out_sharding)
        return jnp.full(shape, value, dtype=_or_default(dtype))

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer of numbers uniform in [0, scale)."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _check_no_sharding(out_sharding)
        dtype = _or_default(dtype)
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer of normal numbers of mean 0 and standard deviation `stddev`."""

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _check_no_sharding(out_sharding)
        dtype = _or_default(dtype)
        return random.normal(key, shape, dtype) * jnp.array(stddev, dtype)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer of normal numbers between `lower` and `upper`, then times `stddev`.

    Because of the bounds the deviation of the result is less than `stddev`: 0.88 of it by default.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _check_no_sharding(out_sharding)
        dtype = _or_default(dtype)
        drawn = random.truncated_normal(key, lower, upper, shape, dtype)
        return drawn * jnp.array(stddev, dtype)

    return init


# ---- scaled by the fans -------------------------------------------------------------------------

Axes = int | Sequence[int]

# Deviations of the standard normal cut at 2, real and complex: dividing by them restores 1.
_REAL_TRUNCATED_DEVIATION = 0.87962566103423978
_COMPLEX_TRUNCATED_DEVIATION = 0.95311164380491208


def _compute_fans(
    shape: Sequence[int], in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = ()
) -> tuple[float, float]:
    """Inputs and outputs of a layer with weights of `shape`; further axes count to both.

    ValueError where the default axes do not exist.
    """
    if in_axis == -2 and isinstance(in_axis, int) and len(shape) <= 1:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor "
            "with default in_axis. Must be at least 2D or specify in_axis explicitly."
        )
    in_size, out_size, batch_size = (
        math.prod(shape[i] for i in ((axes,) if isinstance(axes, int) else axes))
        for axes in (in_axis, out_axis, batch_axis)
    )
    receptive_field = math.prod(shape) / in_size / out_size / batch_size
    return in_size * receptive_field, out_size * receptive_field


_DENOMINATORS = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: (fan_in * fan_out) ** 0.5,
}


def _turned(key: Any, radius: Any, shape: Any) -> Any:
    """Complex numbers of the given radii and uniform angles."""
    dtype = to_complex(radius.dtype)
    angle = 2 * np.pi * random.uniform(key, shape, radius.real.dtype).astype(dtype)
    return radius.astype(dtype) * jnp.exp(1j * angle)


def _complex_uniform(key: Any, shape: Any, dtype: Any) -> Any:
    """Uniform in the disk of radius sqrt(2): each part has variance 1/2."""
    radius_key, angle_key = random.split(key)
    radius = jnp.sqrt(2 * random.uniform(radius_key, shape, real_part_dtype(dtype)))
    return _turned(angle_key, radius, shape)


def _complex_truncated_normal(key: Any, upper: Any, shape: Any, dtype: Any) -> Any:
    """Normal in the complex plane, with absolute values up to `upper`."""
    radius_key, angle_key = random.split(key)
    uniform = random.uniform(radius_key, shape, real_part_dtype(dtype)).astype(dtype)
    mass = (1 - jnp.exp(jnp.array(-(upper**2), dtype))) * uniform
    return _turned(angle_key, jnp.sqrt(-jnp.log(1 - mass)), shape)


def _truncated_normal(key: Any, shape: Any, dtype: Any, variance: Any) -> Any:
    deviation = jnp.sqrt(variance)
    if jnp.issubdtype(dtype, jnp.floating):
        factor = deviation / jnp.array(_REAL_TRUNCATED_DEVIATION, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * factor
    factor = deviation / jnp.array(_COMPLEX_TRUNCATED_DEVIATION, dtype)
    return _complex_truncated_normal(key, 2, shape, dtype) * factor


def _uniform(key: Any, shape: Any, dtype: Any, variance: Any) -> Any:
    if jnp.issubdtype(dtype, jnp.floating):
        return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
    return _complex_uniform(key, shape, dtype) * jnp.sqrt(variance)


_DISTRIBUTIONS = {
    "truncated_normal": _truncated_normal,
    "normal": lambda key, shape, dtype, variance: (
        random.normal(key, shape, dtype) * jnp.sqrt(variance)
    ),
    "uniform": _uniform,
}


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """An initializer of numbers of mean 0 and variance scale / n.

    n by `mode`: the inputs of a layer ("fan_in"), its outputs ("fan_out"), or their arithmetic
    ("fan_avg") or geometric ("fan_geo_avg") mean.  `distribution`: "truncated_normal" (at two
    deviations), "normal" or "uniform".  ValueError for any other mode or distribution.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _check_no_sharding(out_sharding)
        shape, dtype = as_shape(shape), _or_default(dtype)
        fans = _compute_fans(shape, in_axis, out_axis, batch_axis)
        if mode not in _DENOMINATORS:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        variance = jnp.array(scale / _DENOMINATORS[mode](*fans), dtype=dtype)
        if distribution not in _DISTRIBUTIONS:
            raise ValueError(
                f"invalid distribution for variance scaling initializer: {distribution}"
            )
        return _DISTRIBUTIONS[distribution](key, shape, dtype, variance)

    return init


def glorot_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """Uniform, variance 1 / mean of the fans.  Source: Glorot & Bengio 2010."""
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """Truncated normal, variance 1 / mean of the fans.  Source: Glorot & Bengio 2010."""
    return variance_scaling(
        1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype
    )


def lecun_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """Uniform, variance 1 / inputs.  Source: LeCun et al. 1998."""
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """Truncated normal, variance 1 / inputs.  Source: LeCun et al. 1998."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """Uniform, variance 2 / inputs, for layers before a relu.  Source: He et al. 2015."""
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """Truncated normal, variance 2 / inputs, for layers before a relu.  Source: He et al. 2015."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform = glorot_uniform
xavier_normal = glorot_normal
kaiming_uniform = he_uniform
kaiming_normal = he_normal


# ---- orthogonal ---------------------------------------------------------------------------------


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of uniform orthogonal matrices times `scale`.

    `column_axis` holds the columns and all other axes together the rows; the fewer of the two are
    orthonormal.  ValueError for shapes of less than two axes.  Source: Saxe et al. 2013.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _check_no_sharding(out_sharding)
        dtype = _or_default(dtype)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        if any(n == 0 for n in shape):
            return jnp.zeros(shape, dtype=dtype)
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        matrix = random.orthogonal(key, rows, (), dtype, columns)
        others = [n for i, n in enumerate(shape) if i != column_axis % len(shape)]
        matrix = jnp.moveaxis(jnp.reshape(matrix, (*others, columns)), -1, column_axis)
        return jnp.array(scale, dtype) * matrix

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of convolution kernels: an orthogonal matrix in the centre, zeros around it.

    Shapes: (*window, inputs, outputs) with one to three window axes and inputs <= outputs, else
    ValueError.  Source: Xiao et al. 2018.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        _check_no_sharding(out_sharding)
        dtype = _or_default(dtype)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        centre = tuple((n - 1) // 2 for n in shape[:-2])
        return jnp.zeros(shape, dtype=dtype).at[centre].set(matrix)

    return init
