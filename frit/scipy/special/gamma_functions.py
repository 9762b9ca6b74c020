"""The gamma function and what is made of it; `gamma` and `loggamma` also of complex numbers."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.autodiff import jvp
from frit.api.custom import custom_jvp
from frit.ir import dtypes
from frit.numpy.jitted import jitted
from frit.numpy.operands import as_array, concrete, dtype_of
from frit.numpy.promotion import promote_args_inexact
from frit.scipy.special.arguments import real_arguments, set_slopes
from frit.scipy.special.complex_gamma import complex_gamma, complex_loggamma


def gammaln(x: Any) -> Any:
    """log |gamma(x)|; inf at the poles."""
    (x,) = promote_args_inexact("gammaln", x)
    return lax.lgamma(as_array(x))


@jitted
def gammasgn(x: Any) -> Any:
    """The sign of gamma(x): 1 or -1; nan at the negative poles, and the sign of a zero."""
    (x,) = real_arguments("gammasgn", x)
    whole = lax.floor(x)
    below = x < 0
    pole = (below & (x == whole)) | jnp.isnan(x)
    negative = (below & (whole % 2 != 0)) | ((x == 0) & jnp.signbit(x))
    one = x.dtype.type(1)
    return jnp.select([pole, negative], [x.dtype.type(np.nan), -one], one)


def gamma(x: Any) -> Any:
    """gamma(x); nan at the negative poles, inf with the sign of the zero at 0."""
    (x,) = promote_args_inexact("gamma", x)
    x = as_array(x)
    if dtypes.is_complex(x.dtype):
        return complex_gamma(x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


def loggamma(x: Any) -> Any:
    """The principal branch of log(gamma(x)); nan for real x <= 0."""
    (x,) = promote_args_inexact("loggamma", x)
    x = as_array(x)
    if dtypes.is_complex(x.dtype):
        return complex_loggamma(x)
    return jnp.where(x > 0, lax.lgamma(x), np.nan)


def digamma(x: Any) -> Any:
    """The derivative of log(gamma(x)); nan at the poles."""
    (x,) = promote_args_inexact("digamma", x)
    return lax.digamma(as_array(x))


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma(x); n: integers, else ValueError."""
    if not jnp.issubdtype(dtype_of(as_array(n)), jnp.integer):
        raise ValueError(
            f"Argument `n` to polygamma must be of integer type. Got dtype {dtype_of(as_array(n))}."
        )
    return lax.polygamma(*jnp.broadcast_arrays(*real_arguments("polygamma", n, x)))


def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function P(a, x)."""
    return lax.igamma(*jnp.broadcast_arrays(*promote_args_inexact("gammainc", a, x)))


def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return lax.igammac(*jnp.broadcast_arrays(*promote_args_inexact("gammaincc", a, x)))


def multigammaln(a: Any, d: Any) -> Any:
    """log of the multivariate gamma function of dimension d, a known integer.

    d (d - 1) / 4 log(pi) + sum(gammaln(a - j / 2) for j < d)
    """
    d = int(concrete(d, "d argument of multigammaln"))
    (a,) = real_arguments("multigammaln", a)
    halves = np.arange(d) / 2
    shifts = halves.astype(a.dtype).reshape((1,) * a.ndim + (d,))
    terms = gammaln(jnp.expand_dims(a, -1) - shifts)
    return jnp.sum(terms, axis=-1) + a.dtype.type(0.25 * d * (d - 1) * np.log(np.pi))


def factorial(n: Any, exact: bool = False) -> Any:
    """n! = gamma(n + 1) as a float; 0 for negative n."""
    if exact:
        raise NotImplementedError(
            "factorial with exact=True needs integers of any length: use math.factorial."
        )
    (n,) = promote_args_inexact("factorial", n)
    n = as_array(n)
    return jnp.where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """How many ways there are to choose k of N, as a float; 0 where there are none."""
    N, k = real_arguments("comb", N, k)
    if repetition:
        return jnp.where((k == 0) & (N >= 0), 1.0, comb(N + k - 1, k))
    possible = (k <= N) & (N >= 0) & (k >= 0)
    n, k = jnp.where(possible, N, 0.0), jnp.where(possible, k, 0.0)
    ways = lax.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n + 1 - k))
    return jnp.where(possible, ways, 0.0)


# ---- the beta function --------------------------------------------------------------------------


def _stirling_rest(x: Any) -> Any:
    """lgamma(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2) for x >= 10."""
    coefficients = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
    reciprocal = 1 / x
    return jnp.polyval(np.array(coefficients, x.dtype), reciprocal * reciprocal) * reciprocal


def _betaln_large(a: Any, b: Any) -> Any:
    """log(beta(a, b)) for b >= max(a, 10), where lgamma(b) - lgamma(a + b) would cancel.

    Source: DiDonato & Morris 1992, algorithm 708.
    """
    ratio = a / b
    safe = jnp.where(a < 10, 10, a)
    both = (
        0.5 * math.log(2 * math.pi) - 0.5 * jnp.log(b) + _stirling_rest(safe) + _stirling_rest(b)
        - _stirling_rest(safe + b) + (safe - 0.5) * jnp.log(safe / (safe + b))
        - b * jnp.log1p(safe / b)
    )  # fmt: skip
    difference = (
        _stirling_rest(b) - _stirling_rest(a + b) - (a + b - 0.5) * jnp.log1p(ratio) + a
        - a * jnp.log(b)
    )  # fmt: skip
    return jnp.where(a < 10, lax.lgamma(a) + difference, both)


def betaln(a: Any, b: Any) -> Any:
    """log |beta(a, b)|, without cancellation where a or b is large."""
    a, b = real_arguments("betaln", a, b)
    small, large = lax.min(*jnp.broadcast_arrays(a, b)), lax.max(*jnp.broadcast_arrays(a, b))
    is_large = (large >= 10) & (small > 0)
    plain_small, plain_large = jnp.where(is_large, 1, small), jnp.where(is_large, 1, large)
    plain = (
        lax.lgamma(plain_small) + lax.lgamma(plain_large) - lax.lgamma(plain_small + plain_large)
    )
    with_rest = _betaln_large(jnp.where(is_large, small, 1), jnp.where(is_large, large, 10))
    return jnp.where(is_large, with_rest, plain)


def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b)."""
    a, b = real_arguments("beta", a, b)
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    return sign * lax.exp(betaln(a, b))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function: the beta distribution's cdf at x."""
    return lax.betainc(*jnp.broadcast_arrays(*real_arguments("betainc", a, b, x)))


# ---- sums and products --------------------------------------------------------------------------


@custom_jvp
def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz' zeta function, the sum of (q + k) ** -x over k = 0, 1, …

    Its derivatives come from the Euler-Maclaurin sum.
    """
    return lax.zeta(*_zeta_operands(x, q))


def _zeta_operands(x: Any, q: Any) -> list[Any]:
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta "
            "function. (Riemann's is zeta(x, 1).)"
        )
    return jnp.broadcast_arrays(*real_arguments("zeta", x, q))


# B(2k) / (2k)! for k = 1, 2, …: the weights of Euler-Maclaurin's corrections.
_EULER_MACLAURIN = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000,
)  # fmt: skip


def _zeta_sum(x: Any, q: Any) -> Any:
    """zeta(x, q) by 9 terms, the integral of the rest, and corrections: differentiable."""
    x, q = _zeta_operands(x, q)
    count = len(_EULER_MACLAURIN)
    total = sum((q + k) ** -x for k in range(count))
    base = q + count
    power = base**-x
    total = total + base * power / (x - 1) + power / 2
    factor, power = x, power / base
    for k, weight in enumerate(_EULER_MACLAURIN):
        total = total + weight * factor * power
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2)
        power = power / (base * base)
    return total


@zeta.defjvp
def _zeta_jvp(primals: Any, tangents: Any) -> Any:
    _, tangent = jvp(_zeta_sum, tuple(map(as_array, primals)), tuple(map(as_array, tangents)))
    return zeta(*primals), tangent


@custom_jvp
def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol gamma(z + m) / gamma(z)."""
    z, m = real_arguments("poch", z, m)
    return jnp.where(m == 0.0, jnp.array(1, dtype=z.dtype), gamma(z + m) / gamma(z))


set_slopes(
    poch,
    lambda result, z, m: (digamma(z + m) - digamma(z)) * result,
    lambda result, z, m: digamma(z + m) * result,
)


def bernoulli(n: Any) -> Any:
    """The Bernoulli numbers B(0) to B(n), of shape (n + 1,); B(1) = -1/2."""
    n = operator.index(concrete(n, "Argument n of bernoulli"))
    if n < 0:
        raise ValueError("n must be a non-negative integer.")
    found = np.zeros(max(n + 1, 3))
    found[:3] = 1, -1 / 2, 1 / 6
    # B(2k) = (-1)**(k + 1) 2 (2k)! zeta(2k) / (2 pi)**(2k), the factorial step by step
    size = 1 / np.pi**2  # -2 (2k)! / (-4 pi**2)**k at k = 1
    for m in range(4, n + 1, 2):
        size = size * -(m * (m - 1) / (4 * np.pi**2))
        zeta_of_m = np.sum(np.arange(1.0, 50) ** -m) + 49.5 ** (1 - m) / (m - 1)
        found[m] = size * zeta_of_m
    return jnp.array(found[: n + 1], dtype=dtypes.python_scalar_dtype(float))
