"""Resampling of images: each spatial axis is multiplied by a matrix of weights.

    out[o] = sum(w[i, o] * in[i]),   w[i, o] in proportion to kernel(|position(o) - i| / width)
    position(o) = (o + 1/2 - translation) / scale - 1/2

The width is 1, or 1 / scale where an antialiased image shrinks.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_shape, canonical_axis
from frit.numpy.promotion import promote_dtypes_inexact

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How values between pixels are found; `from_string` reads the names that `resize` takes."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        if s not in _NAMES:
            raise ValueError(f'Unknown resize method "{s}"; known are {", ".join(sorted(_NAMES))}')
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}


# ---- kernels: weights by distance in pixels -----------------------------------------------------


def _triangle(x: Any) -> Any:
    return jnp.maximum(0, 1 - x)


def _lanczos(radius: float) -> Callable[[Any], Any]:
    """sinc(x) sinc(x / radius), cut at the radius."""

    def kernel(x: Any) -> Any:
        angle = np.pi * x
        near = x > 1e-3
        safe = jnp.where(near, angle, 1)
        value = radius * jnp.sin(safe) * jnp.sin(safe / radius) / (safe * safe)
        return jnp.where(x > radius, 0, jnp.where(near, value, 1))

    return kernel


def _cubic(a: float) -> Callable[[Any], Any]:
    """The cubic convolution kernel of slope `a` at 1.  Source: Keys 1981."""

    def kernel(x: Any) -> Any:
        inner = ((a + 2) * x - (a + 3)) * x * x + 1
        outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return jnp.where(x >= 2, 0, jnp.where(x >= 1, outer, inner))

    return kernel


_KERNELS: dict[ResizeMethod, tuple[int, Callable[[Any], Any]]] = {
    ResizeMethod.LINEAR: (1, _triangle),
    ResizeMethod.LANCZOS3: (3, _lanczos(3.0)),
    ResizeMethod.LANCZOS5: (5, _lanczos(5.0)),
    ResizeMethod.CUBIC: (2, _cubic(-0.5)),
    ResizeMethod.CUBIC_PYTORCH: (2, _cubic(-0.75)),
}


# ---- matrices of weights ------------------------------------------------------------------------


def _normalized(weights: Any) -> Any:
    """Columns that sum to 1; those that sum to almost nothing vanish."""
    total = jnp.sum(weights, axis=0, keepdims=True)
    significant = jnp.abs(total) > 1000 * float(np.finfo(np.float32).eps)
    return jnp.where(significant, weights / jnp.where(total != 0, total, 1), 0)


def _overlaps(size: Any, new_size: Any, scale: Any, translation: Any) -> Any:
    """How much of each new pixel each old one covers."""
    dtype = jnp.result_type(scale, translation)
    start = (jnp.arange(new_size, dtype=dtype)[None, :] - translation) / scale
    old = jnp.arange(size, dtype=dtype)[:, None]
    overlap = jnp.minimum(start + 1 / scale, old + 1) - jnp.maximum(start, old)
    return jnp.maximum(0, overlap)


def _weights(
    size: Any, new_size: Any, scale: Any, translation: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """The matrix (size, new_size) that resamples an axis."""
    dtype = jnp.result_type(scale, translation)
    inverse = 1.0 / scale
    position = (jnp.arange(new_size, dtype=dtype) + 0.5) * inverse - translation * inverse - 0.5
    if method == ResizeMethod.AREA:
        weights = _normalized(_overlaps(size, new_size, scale, translation))
    elif method == ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _weights_of_repeated_edges(size, position, method)
    else:
        _, kernel = _KERNELS[ResizeMethod.CUBIC if method == ResizeMethod.CUBIC_PYTORCH else method]
        width = jnp.maximum(inverse, 1.0) if antialias else 1.0
        distance = jnp.abs(position[None, :] - jnp.arange(size, dtype=dtype)[:, None]) / width
        weights = _normalized(kernel(distance))
    inside = (position >= -0.5) & (position <= _size_value(size) - 0.5)
    return jnp.where(inside[None, :], weights, 0)


def _size_value(size: Any) -> Any:
    """A size as a number: itself, or when it is symbolic a value of the running program."""
    return size if isinstance(size, int) else lax.dimension_as_value(size)


def _weights_of_repeated_edges(size: int, position: Any, method: ResizeMethod) -> Any:
    """Pixels beyond the edge count as copies of the edge."""
    radius, kernel = _KERNELS[method]
    around = jnp.arange(-radius, size + radius)
    weights = kernel(jnp.abs(position[None, :] - around.astype(position.dtype)[:, None]))
    rows = jnp.clip(around, 0, size - 1)
    gathered = jnp.zeros((size, position.shape[0]), position.dtype).at[rows].add(weights)
    return _normalized(gathered)


def _resample(
    image: Any, shape: Any, axes: Sequence[int], scale: Any, translation: Any,
    method: ResizeMethod, antialias: bool, precision: Any,
) -> Any:  # fmt: skip
    for i, axis in enumerate(axes):
        axis = canonical_axis(axis, image.ndim)
        weights = _weights(
            image.shape[axis], shape[axis], scale[i], translation[i], method, antialias
        ).astype(image.dtype)
        product = jnp.tensordot(image, weights, axes=((axis,), (0,)), precision=precision)
        image = jnp.moveaxis(product, -1, axis)
    return image


def _check_rank(image: Any, shape: Any) -> None:
    if len(shape) != image.ndim:
        raise ValueError(
            "shape must have length equal to the number of dimensions of x;  "
            f"{shape} vs {image.shape}"
        )


def _as_method(method: Any) -> ResizeMethod:
    return ResizeMethod.from_string(method) if isinstance(method, str) else method


def scale_and_translate(
    image: Any,
    shape: Any,
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """`image` resampled to `shape`: x goes to scale[i] x + translation[i] along spatial_dims[i].

    Pixels that come from outside the image are 0.  Differentiable, also in scale and translation.
    ValueError for the method "nearest" and for a shape of another rank.
    """
    shape = as_shape(shape)
    image = jnp.asarray(image)
    _check_rank(image, shape)
    method = _as_method(method)
    if method == ResizeMethod.NEAREST:
        raise ValueError(
            "Nearest neighbor resampling is not currently supported for scale_and_translate."
        )
    (image,) = promote_dtypes_inexact(image)
    scale, translation = promote_dtypes_inexact(jnp.asarray(scale), jnp.asarray(translation))
    return _resample(image, shape, spatial_dims, scale, translation, method, antialias, precision)


def _nearest(image: Any, shape: Any) -> Any:
    for axis, (size, new_size) in enumerate(zip(image.shape, shape, strict=True)):
        if size != new_size:
            ratio = _size_value(size) / _size_value(new_size)
            position = (jnp.arange(new_size, dtype=np.float32) + 0.5) * ratio
            image = jnp.take(image, jnp.floor(position).astype(np.int32), axis=axis)
    return image


@jitted(static_argnames=("shape", "method", "antialias", "precision"))
def _resize(image: Any, shape: Any, method: Any, antialias: bool, precision: Any) -> Any:
    image = jnp.asarray(image)
    _check_rank(image, shape)
    method = _as_method(method)
    if method == ResizeMethod.NEAREST:
        return _nearest(image, shape)
    (image,) = promote_dtypes_inexact(image)
    axes = [i for i, (n, m) in enumerate(zip(image.shape, shape, strict=True)) if n != m]
    scale = [_ratio(shape[i], image.shape[i]) for i in axes]
    return _resample(image, shape, axes, scale, [0.0] * len(axes), method, antialias, precision)


def _ratio(new_size: Any, size: Any) -> Any:
    return 1.0 if new_size == 0 else _size_value(new_size) / _size_value(size)


def resize(
    image: Any,
    shape: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """`image` resampled to `shape`, of the same rank; axes of equal size stay as they are.

    method: "nearest", "linear", "cubic" (Keys, -1/2), "cubic-pytorch" (-3/4), "lanczos3",
    "lanczos5" or "area", or a ResizeMethod.  `antialias` widens the kernel where an axis shrinks.
    """
    return _resize(image, as_shape(shape), method, antialias, precision)
