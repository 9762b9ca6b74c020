"""random_gamma: one gamma draw per element, as a primitive, so that it has a derivative in `a`.

    random_gamma[log_space] key:key<fry>[*s] a:f[*s, *t]  ->  f[*s, *t]

Each element has a key of its own, split from the key of its leading axes. How a draw is made is in
gamma.py's docstring; the derivative is implicit: dx/da = -(dF/da) / (dF/dx), F the cumulative
distribution (Figurnov, Mohamed & Mnih 2018).
"""

import math
from functools import partial

import numpy as np

from frit import lax
from frit.api import vmap
from frit.random.inverse import exponential
from frit.random.keys import split_typed
from frit.random.normal import normal
from frit.random.uniform import uniform


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


random_gamma = draw_gamma
