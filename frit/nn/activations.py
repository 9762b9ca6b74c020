"""Activation functions: elementwise, of any shape, and differentiable where it matters.

Piecewise functions choose with `where` between pieces that are finite on either side, so that
their derivatives are too.  At a corner the derivative is that of the flat side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.custom import custom_jvp
from frit.numpy import tanh as tanh
from frit.numpy.jitted import jitted
from frit.numpy.operands import ensure_array, ensure_arrays
from frit.numpy.promotion import promote_args_inexact


@jitted
def identity(x: Any) -> Any:
    """x itself, as an array."""
    return ensure_array("identity", x)


# ---- made of straight lines ---------------------------------------------------------------------


@custom_jvp
@jitted
def relu(x: Any) -> Any:
    """max(x, 0); its derivative is 1 above 0, and 0 at 0 and below."""
    return jnp.maximum(x, 0)


relu.defjvps(lambda t, result, x: lax.select(x > 0, t, lax.full_like(t, 0)))


@custom_jvp
@jitted
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6); its derivative is 1 strictly between 0 and 6, else 0."""
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.defjvps(lambda t, result, x: lax.select((x > 0) & (x < 6), t, lax.full_like(t, 0)))


@jitted
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x where x >= 0, else negative_slope * x."""
    x = ensure_array("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@jitted
def hard_tanh(x: Any) -> Any:
    """x cut to [-1, 1]."""
    x = ensure_array("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@jitted
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6: straight from 0 at -3 to 1 at 3."""
    return relu6(x + 3.0) / 6.0


@jitted
def hard_silu(x: Any) -> Any:
    """x * hard_sigmoid(x)."""
    x = ensure_array("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@jitted
def sparse_plus(x: Any) -> Any:
    """0 below -1, x above 1, and (x + 1)**2 / 4 between: the integral of sparse_sigmoid."""
    x = ensure_array("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@jitted
def sparse_sigmoid(x: Any) -> Any:
    """(x + 1) / 2, cut to [0, 1]."""
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


# ---- sigmoids and their kin ---------------------------------------------------------------------


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)).  TypeError for integers."""
    return lax.logistic(ensure_array("sigmoid", x))


@jitted
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)) = -softplus(-x)."""
    x = ensure_array("log_sigmoid", x)
    return -softplus(-x)


@jitted
def silu(x: Any) -> Any:
    """x * sigmoid(x), also known as swish.  Source: Ramachandran, Zoph & Le 2017."""
    x = ensure_array("silu", x)
    return x * sigmoid(x)


swish = silu


@jitted
def softplus(x: Any) -> Any:
    """log(1 + exp(x)), a smooth max(x, 0)."""
    return jnp.logaddexp(x, 0)


@jitted
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x**2 + b)) / 2, a smooth max(x, 0).  Source: Barron 2021."""
    x, b = ensure_arrays("squareplus", x, b)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


@jitted
def mish(x: Any) -> Any:
    """x * tanh(softplus(x)).  Source: Misra 2019."""
    x = ensure_array("mish", x)
    return x * jnp.tanh(softplus(x))


@jitted
def soft_sign(x: Any) -> Any:
    """x / (|x| + 1)."""
    x = ensure_array("soft_sign", x)
    return x / (jnp.abs(x) + 1)


def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the normal distribution's cdf at x; by a tanh within 5e-4 if `approximate`.

    Source: Hendrycks & Gimpel 2016.
    """
    (x,) = promote_args_inexact("gelu", x)
    x = ensure_array("gelu", x)
    if approximate:
        factor = np.sqrt(2 / np.pi).astype(x.dtype)
        cdf = 0.5 * (1.0 + jnp.tanh(factor * (x + 0.044715 * (x**3))))
        return x * cdf
    sqrt_half = np.sqrt(0.5).astype(x.dtype)
    return jnp.array(0.5 * x * lax.erfc(-x * sqrt_half), dtype=x.dtype)


@jitted(static_argnames=("axis",))
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along `axis` times the sigmoid of the second half.

    ValueError where the axis has an odd size.  Source: Dauphin, Fan, Auli & Grangier 2016.
    """
    x = ensure_array("glu", x)
    if x.shape[axis] % 2 != 0:
        raise ValueError(
            f"axis size must be divisible by 2: glu halves axis {axis} of shape {x.shape}. Give "
            "that axis an even size, one half for values and one for gates."
        )
    value, gate = jnp.split(x, 2, axis)
    return value * sigmoid(gate)


# ---- exponential to the left --------------------------------------------------------------------


@jitted
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where x > 0, else alpha * (exp(x) - 1).  Source: Clevert, Unterthiner & Hochreiter 2015."""
    x = ensure_array("elu", x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


@jitted
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1).  Source: Barron 2017."""
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@jitted
def selu(x: Any) -> Any:
    """elu scaled so that mean 0 and variance 1 persist.  Source: Klambauer et al. 2017."""
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


@custom_jvp
@jitted
def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x > 0, accurate for small and for large x.  Source: Mächler 2012."""
    x = ensure_array("log1mexp", x)
    small = x < jnp.log(2.0)
    return jnp.where(small, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp.defjvps(lambda t, result, x: t / jnp.expm1(x))
