"""Products and sums of logarithms that are finite where their limits are, and sigmoids."""

from __future__ import annotations

from typing import Any

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.custom import custom_jvp
from frit.numpy.operands import as_array
from frit.numpy.promotion import promote_args_inexact
from frit.numpy.reductions import Axis
from frit.numpy.softmax import log_softmax as _log_softmax
from frit.numpy.softmax import softmax as _softmax
from frit.scipy.special.arguments import real_arguments, set_slopes


@custom_jvp
def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of `expit`."""
    (x,) = promote_args_inexact("logit", x)
    x = as_array(x)
    return lax.log(x / (1 - x))


set_slopes(logit, lambda result, x: 1 / (x * (1 - x)))


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    (x,) = promote_args_inexact("expit", x)
    return lax.logistic(as_array(x))


@custom_jvp
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), which is 0 where x is 0, unless y is nan."""
    x, y = promote_args_inexact("xlogy", x, y)
    return jnp.where((x != 0.0) | jnp.isnan(y), x * lax.log(as_array(y)), jnp.zeros_like(x))


@xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = map(as_array, primals), tangents
    result = xlogy(x, y)
    return result, (tx * jnp.log(y) + ty * x / y).astype(result.dtype)


@custom_jvp
def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), which is 0 where x is 0, unless y is nan."""
    x, y = promote_args_inexact("xlog1py", x, y)
    return jnp.where((x != 0.0) | jnp.isnan(y), x * lax.log1p(as_array(y)), jnp.zeros_like(x))


@xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = map(as_array, primals), tangents
    result = xlog1py(x, y)
    return result, (tx * jnp.log1p(y) + ty * x / (1 + y)).astype(result.dtype)


@custom_jvp
def _xlogx(x: Any) -> Any:
    return xlogy(x, x)


set_slopes(_xlogx, lambda result, x: jnp.log(x) + 1)


def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf below."""
    (x,) = real_arguments("entr", x)
    return jnp.where(x < 0, -np.inf, -_xlogx(x))


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q) for p, q > 0; 0 where p = 0 <= q; inf elsewhere."""
    p, q = jnp.broadcast_arrays(*real_arguments("rel_entr", p, q))
    positive = (p > 0) & (q > 0)
    safe_p, safe_q = jnp.where(positive, p, 1), jnp.where(positive, q, 1)
    inside = _xlogx(safe_p) - xlogy(safe_p, safe_q)
    outside = jnp.where((p == 0) & (q >= 0), p.dtype.type(0), p.dtype.type(np.inf))
    return jnp.where(positive, inside, outside)


def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q, extended as `rel_entr` is."""
    p, q = real_arguments("kl_div", p, q)
    return rel_entr(p, q) - p + q


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x ** lmbda - 1) / lmbda; log(x) where lmbda is 0."""
    x, lmbda = promote_args_inexact("boxcox", x, lmbda)
    return _box_cox(jnp.log(x), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """((1 + x) ** lmbda - 1) / lmbda; log(1 + x) where lmbda is 0."""
    x, lmbda = promote_args_inexact("boxcox1p", x, lmbda)
    return _box_cox(jnp.log1p(x), lmbda)


def _box_cox(logarithm: Any, lmbda: Any) -> Any:
    is_zero = lmbda == 0
    safe = jnp.where(is_zero, 1, lmbda)
    return jnp.where(is_zero, logarithm, jnp.expm1(safe * logarithm) / safe)


def softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """exp(x) / sum(exp(x)) over `axis`, by default all."""
    return _softmax(x, axis=axis)


def log_softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """log(softmax(x)) over `axis`, by default all."""
    return _log_softmax(x, axis=axis)
