"""Lowered equations against the meaning of their primitives, by interpreter and machine code."""

import numpy as np
import pytest

from tests.codegen.equations import Program, check_equation, primitives, run_kernel

RNG = np.random.default_rng(1)


def floats(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def find(name):
    return primitives()[name]


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (37,), (5, 7), (3, 1, 20)])
def test_pointwise(shape):
    check_equation(find("add"), floats(*shape), floats(*shape))


def test_views():
    x = floats(4, 6, 5)
    check_equation(
        find("slice"), x, start_indices=(1, 0, 2), limit_indices=(4, 6, 5), strides=(2, 3, 1)
    )
    check_equation(find("transpose"), x, permutation=(2, 0, 1))
    check_equation(find("rev"), x, dimensions=(0, 2))
    for shape in ((24, 5), (4, 30), (120,), (2, 2, 3, 2, 5), (8, 15), (1, 120, 1), (10, 12)):
        check_equation(find("reshape"), x, new_sizes=shape, dimensions=None, sharding=None)
    check_equation(
        find("broadcast_in_dim"),
        floats(4, 1),
        shape=(3, 4, 5),
        broadcast_dimensions=(1, 2),
        sharding=None,
    )
    check_equation(find("squeeze"), floats(1, 4, 1), dimensions=(0, 2))
    check_equation(find("concatenate"), floats(3, 4), floats(3, 0), floats(3, 21), dimension=1)
    check_equation(find("concatenate"), floats(3, 4), floats(1, 4), dimension=0)


@pytest.mark.parametrize("config", [(2, 3, 0), (-1, 2, 0), (1, 1, 2), (0, -2, 1), (-3, -3, 0)])
def test_pad(config):
    check_equation(find("pad"), floats(9, 5), np.float32(7), padding_config=(config, (0, 1, 0)))


SUMS = ("reduce_sum", "reduce_prod")


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((37,), (0,)),
        ((5, 40), (1,)),
        ((5, 40), (0,)),
        ((5, 40), (0, 1)),
        ((3, 4, 5), (1,)),
        ((3, 4, 5), (1, 2)),
        ((3, 4, 50), (0, 2)),
        ((20, 3), (1,)),
        ((0, 3), (0,)),
        ((6, 1), (1,)),
        ((2, 3), ()),
    ],
)
def test_reductions(name, shape, axes):
    kwargs = {"out_sharding": None} if name == "reduce_sum" else {}
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if name in SUMS else {}
    if name in ("reduce_max", "reduce_min") and 0 in shape:
        return
    check_equation(find(name), floats(*shape), axes=axes, **kwargs, **tolerance)


def test_fused_softmax_is_one_nest_over_rows():
    p = Program()
    x = p.input(floats(6, 40))
    top = p.apply(find("reduce_max"), x, axes=(1,))
    wide = {"shape": (6, 40), "broadcast_dimensions": (0,), "sharding": None}
    shifted = p.apply(find("sub"), x, p.apply(find("broadcast_in_dim"), top, **wide))
    powers = p.apply(find("exp"), shifted, accuracy=None)
    total = p.apply(find("reduce_sum"), powers, axes=(1,), out_sharding=None)
    result = p.apply(find("div"), powers, p.apply(find("broadcast_in_dim"), total, **wide))
    (found,) = run_kernel(p.kernel(result), p.arrays, slow=False)
    x = p.arrays[0].astype(np.float64)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-5)


SORTED = [
    np.array([3, -0.0, np.nan, 0.0, -1, np.inf, 0.0, -np.inf, np.nan, 2], np.float32),
    RNG.integers(-5, 5, 40).astype(np.int8),
    RNG.integers(0, 2, 33).astype(bool),
    RNG.standard_normal(700).astype(np.float64),
    RNG.integers(0, 50, 600).astype(np.uint16),
]


@pytest.mark.parametrize("x", SORTED, ids=lambda x: f"{x.dtype}-{x.size}")
def test_sort(x):
    slow = x.size < 100
    params = {"dimension": 0, "is_stable": True, "num_keys": 1}
    check_equation(find("sort"), x, slow=slow, **params)
    places = np.arange(x.size, dtype=np.int32)
    check_equation(find("sort"), x, places, slow=slow, **params)


def test_sort_by_two_keys_along_the_first_axis():
    x, y = RNG.integers(0, 3, (50, 3)), RNG.integers(0, 3, (50, 3)).astype(np.float32)
    z = np.arange(150, dtype=np.int32).reshape(50, 3)
    check_equation(find("sort"), x, y, z, dimension=0, is_stable=True, num_keys=2)


def test_top_k():
    x = RNG.integers(0, 9, (4, 30)).astype(np.float32)
    for k in (0, 1, 5, 30):
        check_equation(find("top_k"), x, k=k, axis=1)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative(axis, reverse):
    x = floats(7, 19)
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        check_equation(find(name), x, axis=axis, reverse=reverse, rtol=1e-5, atol=1e-6)
    check_equation(
        find("cumlogsumexp"), x, axis=axis, reverse=reverse, rtol=1e-5, atol=1e-6, slow=False
    )


@pytest.mark.parametrize("axes", [(0,), (1,)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_best(name, axes):
    x = RNG.integers(0, 9, (20, 33)).astype(np.float32)
    x[3, 4] = x[5, 2] = x[5, 30] = np.nan
    check_equation(find(name), x, axes=axes, index_dtype=np.dtype(np.int32))


DOTS = [
    ((5, 7), (7, 20), (((1,), (0,)), ((), ()))),
    ((5, 7), (20, 7), (((1,), (1,)), ((), ()))),
    ((2, 5, 7), (2, 7, 3), (((2,), (1,)), ((0,), (0,)))),
    ((7,), (7,), (((0,), (0,)), ((), ()))),
    ((3, 4, 5), (5, 4, 6), (((1, 2), (1, 0)), ((), ()))),
    ((0, 3), (3, 2), (((1,), (0,)), ((), ()))),
    ((2, 0), (0, 2), (((1,), (0,)), ((), ()))),
]


@pytest.mark.parametrize(("lhs", "rhs", "numbers"), DOTS)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
def test_dot_general(lhs, rhs, numbers, dtype):
    x, y = (3 * floats(*lhs)).astype(dtype), (3 * floats(*rhs)).astype(dtype)
    check_equation(
        find("dot_general"), x, y, dimension_numbers=numbers, precision=None,
        preferred_element_type=np.dtype(dtype), out_sharding=None, rtol=1e-4, atol=1e-4,
    )  # fmt: skip


def test_dynamic_slices_clamp():
    x = floats(6, 30)
    for start in (-3, 0, 2, 100):
        i, j = np.int32(start), np.int32(5)
        check_equation(find("dynamic_slice"), x, i, j, slice_sizes=(3, 20))
        check_equation(find("dynamic_update_slice"), x, floats(3, 20), i, j)


def test_update_in_place_reads_before_it_writes():
    p = Program()
    x, i = p.input(floats(40)), p.input(np.int32(3))
    window = p.apply(find("dynamic_slice"), x, np.int32(0), slice_sizes=(20,))
    doubled = p.apply(find("add"), window, window)
    result = p.apply(find("dynamic_update_slice"), x, doubled, i)
    (found,) = run_kernel(p.kernel(result, updates={0: 0}), p.arrays)
    expected = p.arrays[0].copy()
    expected[3:23] = 2 * p.arrays[0][:20]
    assert np.array_equal(found, expected)


def test_long_chains_do_not_exhaust_the_stack():
    p = Program()
    x = y = p.input(floats(20))
    for _ in range(900):
        y = p.apply(find("sub"), x, y)
    run_kernel(p.kernel(y), p.arrays, slow=False)
