"""Vector loops write no element beyond their last, whatever the length and the width of elements.

A row written too far changes the row after it, which is older where rows go backward.
"""

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax

FUNCTIONS = {
    "rows backward": lambda x: lax.cummin(x, axis=0, reverse=True),
    "rows forward": lambda x: lax.cummax(x, axis=0),
    "reversed": lambda x: (x + x)[::-1, ::-1],
    "columns": lambda x: x.max(0),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int16", "uint8", "int8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tails_of_rows(name, dtype):
    function = FUNCTIONS[name]
    for length in (1, 2, 3, 5, 9, 15, 16, 17, 31, 33, 49, 65):
        x = jnp.asarray(np.arange(3 * length).reshape(3, length) % 13).astype(dtype)
        found, wanted = jax.jit(function)(x), function(x)
        np.testing.assert_array_equal(
            np.asarray(found, np.float32), np.asarray(wanted, np.float32), err_msg=str(length)
        )


@pytest.mark.parametrize("target", ["bfloat16", "float16", "int8", "int16", "uint8", "bool"])
def test_tails_of_conversions(target):
    for length in (1, 9, 17, 33, 65):
        x = jnp.asarray(np.arange(3 * length, dtype=np.float32).reshape(3, length) % 7)
        function = lambda v: lax.cummax(v, axis=0, reverse=True).astype(target)
        found = jax.jit(function)(x)
        np.testing.assert_array_equal(
            np.asarray(found, np.float32), np.asarray(function(x), np.float32), err_msg=str(length)
        )


def test_a_place_that_all_lanes_read_under_one_mask_is_one_value():
    """Padding reads under a mask; reduced and repeated, neither place nor mask differs by lane."""

    def f(x):
        padded = lax.pad(x, jnp.float32(1), [(2, 1, 1)])
        return lax.broadcast_in_dim(padded, (12, 4), (0,)).prod(0)

    x = jnp.arange(1.0, 6.0)
    np.testing.assert_allclose(jax.jit(f)(x), f(x), rtol=1e-6)
