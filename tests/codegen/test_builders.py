"""Whole functions lowered as one kernel, against NumPy's evaluation of their equations.

Small shapes, so that the interpreter, which checks bounds, races and initialisation, runs too.
"""

import numpy as np
import pytest

import frit
import frit.numpy as jnp
from frit import lax
from frit.codegen.loops import walk
from frit.codegen.lower import lower_kernel
from tests.codegen.equations import Program, check_function, primitives

RNG = np.random.default_rng(2)


def floats(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def complexes(*shape):
    return (floats(*shape) + 1j * floats(*shape)).astype(np.complex64)


X = floats(6, 40)
FAR = RNG.integers(-50, 90, 13).astype(np.int32)
MODES = ("clip", "fill", "promise_in_bounds")


@pytest.mark.parametrize("mode", MODES)
def test_gather_never_leaves_its_operand(mode):
    def get(x, i):
        return x.at[:, i].get(mode=mode), x.at[i, i].get(mode=mode), x.at[i].get(mode=mode)

    check_function(get, X, FAR)


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("method", ["set", "add", "multiply", "min", "max"])
def test_scatter_never_leaves_its_operand(method, mode):
    def put(x, i, v):
        return getattr(x.at[:, i], method)(v, mode=mode), getattr(x.at[i], method)(v.T[:, :1])

    check_function(put, X, FAR, floats(6, 13))


def test_scatter_of_complex_numbers_and_half_floats():
    i = np.array([2, 2, 70, 5], np.int32)

    def put(x, v):
        return x.at[i].add(v), x.at[i].multiply(v), x.at[i].set(v)

    check_function(put, complexes(20), complexes(4), rtol=1e-5)
    check_function(put, floats(20, dtype=np.float16), floats(4, dtype=np.float16))


def test_batched_indexing():
    i = RNG.integers(-50, 60, (6, 5)).astype(np.int32)
    check_function(frit.vmap(lambda row, i: row[i]), X, i)
    check_function(frit.vmap(lambda row, i, v: row.at[i].add(v)), X, i, floats(6, 5))
    check_function(frit.vmap(lambda row, i: lax.dynamic_slice(row, (i,), (7,))), X, i[:, 0])
    check_function(
        frit.vmap(lambda row, i, v: lax.dynamic_update_slice(row, v, (i,))),
        X,
        i[:, 0],
        floats(6, 5),
    )


def test_rows_fuse():
    def layer_norm(x, scale, shift):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift, mean

    check_function(layer_norm, X, floats(40), floats(40), rtol=1e-4, atol=1e-5)


def test_a_sum_read_across_rows_and_columns_is_stored_first():
    def outer(x):
        mean = x.mean(1)
        return mean[None, :] + mean[:, None], (x - x.mean(1, keepdims=True)).T, x.sum(0)

    check_function(outer, X, rtol=1e-5, atol=1e-5)


def test_long_sums_go_in_pieces():
    check_function(lambda x: (x.sum(), x.max()), 1 + floats(70000) / 1e5, rtol=1e-4, slow=False)
    check_function(lambda x: x.sum((0, 2)), floats(2, 3, 33000), rtol=1e-3, atol=1e-3, slow=False)


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16])
def test_half_floats_sum_in_float32(dtype):
    x = np.ones((3, 5000), dtype)
    (found,) = check_function(lambda x: lax.reduce_sum(x, axes=(1,)), x, rtol=1e-2, slow=False)
    assert float(found[0]) == float(np.asarray(5000, dtype))


WINDOWS = [
    {"window_dimensions": (2, 2), "window_strides": (1, 1), "padding": "SAME"},
    {"window_dimensions": (3, 1), "window_strides": (2, 2), "padding": "VALID"},
    {"window_dimensions": (2, 3), "window_strides": (1, 2), "padding": ((1, 2), (0, 1))},
]


@pytest.mark.parametrize("window", WINDOWS)
def test_windows(window):
    x = floats(9, 12)

    def pools(x):
        return (
            lax.reduce_window(x, -jnp.inf, lax.max, **window),
            lax.reduce_window(x, jnp.inf, lax.min, **window),
            lax.reduce_window(x, 0.0, lax.add, **window),
        )

    check_function(pools, x, rtol=1e-5, atol=1e-6)
    check_function(frit.grad(lambda x: (pools(x)[0] ** 2).sum()), x, rtol=1e-5, atol=1e-6)


def test_dilated_windows():
    def pool(x):
        return lax.reduce_window(
            x, 0.0, lax.add, (2, 3), (1, 2), ((1, 2), (0, 1)),
            base_dilation=(2, 1), window_dilation=(1, 2),
        )  # fmt: skip

    check_function(pool, floats(9, 12), rtol=1e-5, atol=1e-6)


CONVOLUTIONS = [
    {"window_strides": (1, 1), "padding": "SAME"},
    {"window_strides": (2, 2), "padding": "VALID"},
    {"window_strides": (1, 1), "padding": ((1, 2), (0, 1)), "lhs_dilation": (2, 1)},
    {"window_strides": (1, 1), "padding": "SAME", "rhs_dilation": (1, 2)},
    {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 2},
    {"window_strides": (1, 1), "padding": "SAME", "batch_group_count": 2},
]


@pytest.mark.parametrize("params", CONVOLUTIONS)
def test_convolutions(params):
    channels = 4 // params.get("feature_group_count", 1)
    image, weights = floats(2, 4, 6, 7), floats(6, channels, 3, 2)

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, **params)

    check_function(convolve, image, weights, rtol=1e-4, atol=1e-5)


def test_channels_last_and_complex_convolutions():
    def convolve(x, w):
        layout = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout)

    check_function(convolve, floats(2, 6, 7, 4), floats(3, 2, 4, 20), rtol=1e-4, atol=1e-5)
    check_function(convolve, complexes(1, 3, 4, 2), complexes(2, 2, 2, 3), rtol=1e-4, atol=1e-5)


def test_random_bits_are_the_bits_of_the_keys():
    def draw(words):
        key = frit.random.wrap_key_data(words)
        one, two = frit.random.split(key)
        bits = [frit.random.bits(one, (7, 9), dtype) for dtype in (np.uint8, np.uint16, np.uint32)]
        return (
            *bits,
            frit.random.key_data(frit.random.fold_in(two, 7)),
            frit.random.uniform(two, (40,)),
        )

    check_function(draw, np.array([3, 5], np.uint32))


COMPLEX_FUNCTIONS = """
    exp expm1 log log1p sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh
    abs sign conj square exp2
""".split()


@pytest.mark.parametrize("name", COMPLEX_FUNCTIONS)
def test_complex_functions(name):
    z = 2 * complexes(60)
    check_function(getattr(jnp, name), z, rtol=5e-5, atol=5e-5, slow=False)


def test_complex_arithmetic():
    def arithmetic(x, y):
        sums = x + y, x - y, x * y, x / y, -x, x == y, x != y
        return *sums, x**3, x**-2, x**y, jnp.where(x.real > 0, x, y), x.sum(), x.prod()

    check_function(arithmetic, complexes(30), complexes(30), rtol=2e-4, atol=1e-5, slow=False)


def test_views_compose():
    def views(x):
        turned = x.reshape(4, 60).T.reshape(-1), x.reshape(2, 3, 8, 5).transpose(2, 0, 3, 1)
        padded = lax.pad(x, np.float32(7), ((-1, 2, 1), (2, -3, 0)))
        return *turned, padded, x[::-2, 3:30:4], jnp.roll(x, 3, 1), jnp.stack([x, -x], 1)

    check_function(views, X)


def test_bits_change_width():
    def cast(x):
        return lax.bitcast_convert_type(x, np.uint8), lax.bitcast_convert_type(x, np.int32)

    check_function(cast, X)
    check_function(
        lambda x: lax.bitcast_convert_type(x, np.uint32),
        RNG.integers(0, 99, (5, 4)).astype(np.uint8),
    )


def test_generic_folds():
    def fold(x):
        return lax.reduce(x, np.float32(0), lambda a, b: jnp.maximum(a, 2 * b), (1,))

    check_function(fold, X)


def test_an_equation_without_machine_code_is_named():
    p = Program()
    x = p.input(floats(3, 3))
    result = p.apply(primitives()["cholesky"], x)
    with pytest.raises(NotImplementedError, match="no lowering of cholesky to machine code"):
        lower_kernel(p.kernel(result))


def test_empty_arrays_and_float0_are_never_read():
    nothing = np.zeros((0, 4), np.complex64)
    check_function(lambda x: (x.sum(0), jnp.concatenate([x, 1 + x]), x.reshape(2, 0)), nothing)
    p = Program()
    x, y = p.input(floats(3)), p.input(np.zeros(3, frit.dtypes.float0))
    total = p.apply(primitives()["add"], x, x)
    function = lower_kernel(p.kernel(total, y))
    assert function.parameters[1].shape == (0,)
    assert all(
        item.buffer.name in ("x0", "y0") for item in walk(function.body) if hasattr(item, "at")
    )


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float8_e4m3fn", "float8_e5m2"])
def test_small_dtypes(dtype):
    x = RNG.integers(0, 7, 30).astype(dtype)
    check_function(lambda x: (x + x, x.max(), jnp.sort(x), x.astype(np.float32)), x)
