"""Common divisors, and integers as arrays of bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from frit.ir import dtypes
from frit.numpy.jitted import jitted
from frit.numpy.operands import canonical_axis, ensure_array, ensure_arrays
from frit.numpy.padding import pad
from frit.numpy.promotion import broadcast_arrays, constant_like, promote_dtypes
from frit.numpy.reductions import any as any_of
from frit.numpy.reductions import sum as sum_of
from frit.numpy.selection import to_bool, where
from frit.numpy.shapes import ravel, swapaxes
from frit.numpy.ufuncs import absolute, floor_divide


def _two_integers(name: str, x1: Any, x2: Any) -> list[Any]:
    x1, x2 = promote_dtypes(*ensure_arrays(name, x1, x2))
    if not dtypes.is_integer(x1.dtype):
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers.")
    return broadcast_arrays(absolute(x1), absolute(x2))


@jitted
def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor of x1 and x2, elementwise: Euclid's algorithm."""

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = pair
        done = lax.eq(b, constant_like(b, 0))
        rest = lax.rem(a, where(done, constant_like(b, 1), b))
        return where(done, a, b), where(done, constant_like(b, 0), rest)

    def unfinished(pair: tuple[Any, Any]) -> Any:
        return any_of(lax.ne(pair[1], constant_like(pair[1], 0)))

    return lax.while_loop(unfinished, step, tuple(_two_integers("gcd", x1, x2)))[0]


@jitted
def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple of x1 and x2, elementwise; 0 where one is 0."""
    x1, x2 = _two_integers("lcm", x1, x2)
    return lax.mul(x1, floor_divide(x2, gcd(x1, x2)))


def _bit_places(bitorder: str) -> np.ndarray:
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    places = np.arange(8, dtype=np.uint8)
    return places[::-1].copy() if bitorder == "big" else places


@jitted(static_argnames=("axis", "bitorder"))
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """The elements along `axis`, zero or not, as bits of uint8, eight to each; zeros fill up."""
    a = ensure_array("packbits", a)
    if not (dtypes.is_integer(a.dtype) or dtypes.is_bool(a.dtype)):
        raise TypeError("Expected an input array of integer or boolean data type")
    places = _bit_places(bitorder)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    bits = swapaxes(lax.convert_element_type(to_bool(a), np.uint8), axis, -1)
    missing = -bits.shape[-1] % 8
    if missing:
        bits = pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)])
    bits = lax.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    shifts = lax.expand_dims(places, range(bits.ndim - 1))
    packed = lax.convert_element_type(sum_of(bits << shifts, axis=-1), np.uint8)
    return swapaxes(packed, axis, -1)


@jitted(static_argnames=("axis", "count", "bitorder"))
def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """The bits of uint8 elements along `axis`, eight of each; `count` of them, filled up or cut."""
    a = ensure_array("unpackbits", a)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    places = _bit_places(bitorder)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    a = swapaxes(a, axis, -1)
    shifts = lax.expand_dims(places, range(a.ndim))
    bits = (lax.expand_dims(a, (a.ndim,)) >> shifts) & np.uint8(1)
    bits = lax.reshape(bits, (*bits.shape[:-2], bits.shape[-2] * 8))
    if count is not None:
        size = bits.shape[-1]
        keep = count if count >= 0 else size + count
        if keep > size:
            bits = pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, keep - size)])
        else:
            bits = bits[..., :keep]
    return swapaxes(bits, axis, -1)
