"""Bessel functions: modified of orders 0 and 1, and of the first kind of whole orders."""

from __future__ import annotations

import operator
from typing import Any

import frit.numpy as jnp
from frit import lax
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array, concrete
from frit.numpy.promotion import promote_args_inexact
from frit.scipy.special.arguments import real_arguments


def i0e(x: Any) -> Any:
    """exp(-|x|) I0(x)."""
    (x,) = promote_args_inexact("i0e", x)
    return lax.bessel_i0e(as_array(x))


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0."""
    (x,) = promote_args_inexact("i0", x)
    return jnp.exp(jnp.abs(x)) * i0e(x)


def i1e(x: Any) -> Any:
    """exp(-|x|) I1(x)."""
    (x,) = promote_args_inexact("i1e", x)
    return lax.bessel_i1e(as_array(x))


def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 1."""
    (x,) = promote_args_inexact("i1", x)
    return jnp.exp(jnp.abs(x)) * i1e(x)


_LARGE = 2.0**60


@jitted(static_argnames=("v", "n_iter"))
def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """J_0(z) to J_v(z), of shape (v + 1, *z.shape).  z: real, else ValueError.

    By the recurrence J_(k-1) = 2 k / z J_k - J_(k+1), downward from order `n_iter`, which should
    well exceed v and |z|.  Source: Miller's algorithm (Abramowitz & Stegun, section 9.12).
    """
    (z,) = real_arguments("bessel_jn", z)
    v = operator.index(concrete(v, "Argument v of bessel_jn."))
    n_iter = int(concrete(n_iter, "Argument n_iter of bessel_jn."))
    is_zero = z == 0
    safe = jnp.where(is_zero, 1, z)

    def step(carry: Any, k: Any) -> Any:
        """From the values at k + 2 and k + 1 to k; all shrink together when they get large."""
        beyond, last, even_sum, shrinks = carry
        value = 2.0 * (k + 1.0) * last / safe - beyond
        even_sum = even_sum + jnp.where(jnp.mod(k, 2) == 0, 2.0 * value, 0.0)
        large = jnp.abs(value) > _LARGE
        factor = jnp.where(large, 1 / _LARGE, 1.0).astype(z.dtype)
        shrinks = shrinks + jnp.where(large, 1.0, 0.0).astype(z.dtype)
        carry = last * factor, value * factor, even_sum * factor, shrinks
        return carry, (value * factor, shrinks)

    zero = jnp.zeros_like(z)
    start = zero, jnp.full_like(z, 1e-16), zero, zero
    orders = jnp.arange(n_iter - 1, -1, -1, dtype=z.dtype)
    (_, first, even_sum, shrinks), (values, shrunk) = lax.scan(step, start, orders)
    rescaled = values[::-1][: v + 1] * _LARGE ** (shrunk[::-1][: v + 1] - shrinks[None])
    result = rescaled / (even_sum - first)[None]
    at_zero = (jnp.arange(v + 1) == 0).reshape((v + 1,) + (1,) * z.ndim)
    return jnp.where(is_zero[None], at_zero.astype(z.dtype), result)
