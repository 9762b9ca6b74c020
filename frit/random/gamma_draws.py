"""random_gamma: one gamma draw per element, as a primitive, so that it has a derivative in `a`.

    random_gamma[log_space] key:key<fry>[*s] a:f[*s, *t]  ->  f[*s, *t]

Each element has a key of its own, split from the key of its leading axes. How a draw is made is in
gamma.py's docstring; the derivative is implicit: dx/da = -(dF/da) / (dF/dx), F the cumulative
distribution (Figurnov, Mohamed & Mnih 2018).
"""

import functools
import math
from functools import partial

import numpy as np

from frit import lax
from frit.api.mapping import vmap
from frit.ir.jaxpr import ClosedJaxpr, evaluate_closed
from frit.ir.primitive import Primitive, absent, ulps
from frit.ir.types import ShapedArray
from frit.primitives.random_bits import THREEFRY, KeyTy
from frit.random.inverse import exponential
from frit.random.keys import split_typed
from frit.random.normal import normal
from frit.random.uniform import uniform
from frit.transforms.linear import axis_to_front, is_zero
from frit.transforms.rules import zero_tangent
from frit.transforms.trace import trace_to_jaxpr


def draw_gamma(key, a, *, log_space):
    """Gamma draws of shape parameters `a`, or their logarithms: what the primitive means."""
    per_key = math.prod(a.shape[key.ndim :])
    keys = vmap(lambda one: split_typed(one, per_key))(key.reshape(-1)).reshape(-1)
    draws = vmap(partial(_draw_one, log_space=log_space))(keys, a.reshape(-1))
    return draws.reshape(a.shape)


def _draw_one(key, a, log_space):
    dtype = a.dtype
    zero, one = np.array(0, dtype), np.array(1, dtype)
    third = np.array(1 / 3, dtype)
    at_least_one = lax.ge(a, one)
    d = lax.sub(lax.select(at_least_one, a, lax.add(a, one)), third)
    c = lax.div(third, lax.sqrt(d))
    key, boost_key = split_typed(key)
    v = _accepted_cube(key, c, d)
    if log_space:
        log_u = lax.neg(exponential(boost_key, (), dtype))
        # u = 1 would make 0 * inf of an `a` of 0.
        no_boost = at_least_one | (log_u == 0)
        boost = lax.select(no_boost, zero, lax.mul(log_u, lax.div(one, a)))
        return lax.add(lax.add(lax.log(d), lax.log(v)), boost)
    u = 1 - uniform(boost_key, (), dtype)
    boost = lax.select(at_least_one, one, lax.pow(u, lax.div(one, a)))
    return lax.mul(lax.mul(d, v), boost)


def _accepted_cube(key, c, d):
    """v = (1 + c x)^3 of the first normal x that is accepted (see gamma.py)."""
    dtype = d.dtype
    zero, one = np.array(0, dtype), np.array(1, dtype)

    def rejected(state):
        _, x_squared, v, u = state
        squeeze = lax.mul(np.array(0.0331, dtype), lax.mul(x_squared, x_squared))
        outside = lax.ge(u, lax.sub(one, squeeze))
        bound = lax.add(
            lax.mul(x_squared, np.array(0.5, dtype)),
            lax.mul(d, lax.add(lax.sub(one, v), lax.log(v))),
        )
        return lax.bitwise_and(outside, lax.ge(lax.log(u), bound))

    def propose(state):
        key, x_key, u_key = split_typed(state[0], 3)
        start = x_key, zero, np.array(-1, dtype)
        _, x, root = lax.while_loop(lambda s: lax.le(s[2], zero), next_root, start)
        cube = lax.mul(lax.mul(root, root), root)
        return key, lax.mul(x, x), cube, uniform(u_key, (), dtype)

    def next_root(state):
        key, subkey = split_typed(state[0])
        x = normal(subkey, (), dtype)
        return key, x, lax.add(one, lax.mul(x, c))

    return lax.while_loop(rejected, propose, (key, zero, one, np.array(2, dtype)))[2]


# ---- the primitive ------------------------------------------------------------------------------


def _result_type(key, a, *, log_space):
    if a.shape[: key.ndim] != key.shape:
        raise TypeError(
            f"random_gamma needs a key for each leading index of `a`, got keys of shape "
            f"{key.shape} and `a` of shape {a.shape}."
        )
    return a.strip_weak_type()


def _evaluate(keys, a, *, log_space):
    return evaluate_closed(_meaning(keys.shape, a.shape, a.dtype, log_space), keys, a)[0]


@functools.lru_cache(64)
def _meaning(key_shape, shape, dtype, log_space):
    """`draw_gamma` as a jaxpr, for operands of these types."""
    types = [ShapedArray(key_shape, KeyTy(THREEFRY)), ShapedArray(shape, dtype)]
    draw = lambda key, a: [draw_gamma(key, a, log_space=log_space)]
    return ClosedJaxpr(*trace_to_jaxpr(draw, types))


def _jvp(primals, tangents, *, log_space):
    draws = random_gamma(*primals, log_space=log_space)
    da = tangents[1]
    if is_zero(da):
        return draws, zero_tangent(draws)
    return draws, lax.mul(da, _slope(draws, primals[1], log_space))


def _slope(draws, a, log_space):
    """The derivative of draws in `a`; of their logarithms, that over the draw."""
    if not log_space:
        return lax.random_gamma_grad(a, draws)
    draws = lax.exp(draws)
    smallest = lax.full_like(draws, np.finfo(draws.dtype).tiny)
    draws = lax.select(lax.eq(draws, lax.full_like(draws, 0)), smallest, draws)
    return lax.div(lax.random_gamma_grad(a, draws), draws)


def _batch(axis, operands, mapped, *, log_space):
    key, a = (axis_to_front(x, d, axis.size) for x, d in zip(operands, mapped, strict=True))
    return random_gamma(key, a, log_space=log_space), 0


random_gamma = Primitive(
    "random_gamma",
    result_types=_result_type,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=absent("gamma draws are not linear in anything"),
    batch=_batch,
    decompose=draw_gamma,
    compiled=True,
    accuracy=ulps(64),
)
