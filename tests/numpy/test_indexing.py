"""Indexing and .at[]: NumPy's results for every form of index, JAX's errors."""

import numpy as np
import pytest

import frit
import frit.numpy as jnp
from frit.errors import NonConcreteBooleanIndexError

ARRAY = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
ROWS, COLUMNS = np.array([2, 0, -1]), np.array([1, 3, 0])
MASK = ARRAY[..., 0] > 20

INDICES = [
    0, -1, (1, 2), (1, 2, 3), slice(1, 3), slice(None, None, -1), slice(5, 0, -2), slice(2, 1), ...,
    None, (None, 0), (..., 1), (0, ..., None), (slice(None), 1),
    (slice(0, 2), None, ..., slice(1, 4, 2)),
    ROWS, (ROWS, COLUMNS), (slice(None), ROWS), (ROWS, slice(1, 3), COLUMNS),
    (0, slice(None), COLUMNS),
    (slice(None), ROWS[:, None], COLUMNS), (ROWS, None, COLUMNS), (..., ROWS), (ROWS, ..., 1),
    (slice(None), slice(None, None, -2), ROWS), MASK, (MASK, 1), (0, MASK[0]),
    (slice(None), np.array([True] * 4)),
    True, (False, 0),
    np.array([], int), np.int64(2), np.uint8(1),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reads_as_numpy(index):
    x = jnp.asarray(ARRAY)
    np.testing.assert_array_equal(x[index], ARRAY[index])
    np.testing.assert_array_equal(frit.jit(lambda x: x[index])(x), ARRAY[index])


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_sets_as_numpy(index):
    wanted = ARRAY.copy()
    wanted[index] = 7
    np.testing.assert_array_equal(jnp.asarray(ARRAY).at[index].set(7), wanted)


def test_updates():
    x = jnp.array([1.0, 2.0, 4.0])
    i = jnp.array([0, 0, 2])
    assert x.at[i].add(1).tolist() == [3, 2, 5]
    assert x.at[1].subtract(0.5).tolist() == [1, 1.5, 4]
    assert x.at[1:].multiply(2).tolist() == x.at[1:].mul(2).tolist() == [1, 4, 8]
    assert x.at[i].divide(2).tolist() == [0.25, 2, 2]
    assert x.at[2].power(0.5).tolist() == [1, 2, 2]
    assert x.at[:].min(2).tolist() == [1, 2, 2]
    assert x.at[:].max(2).tolist() == [2, 2, 4]
    assert x.at[1].apply(jnp.square).tolist() == [1, 4, 4]


def test_out_of_bounds():
    x = jnp.array([1.0, 2.0, 4.0])
    assert x[10] == 4 and x[-10] == 1  # clamped
    assert x.at[10].set(0).tolist() == [1, 2, 4]  # dropped
    assert x.at[10].set(0, mode="clip").tolist() == [1, 2, 0]
    assert np.isnan(x.at[10].get(mode="fill"))
    assert x.at[jnp.array([2, 9])].get(fill_value=-1).tolist() == [4, -1]
    assert x.at[-1].get(mode="fill", fill_value=5, wrap_negative_indices=False) == 5
    assert jnp.arange(3).at[9].get(mode="fill") == np.iinfo(np.int32).min


@pytest.mark.parametrize(
    "index, kind, message",
    [
        (1.0, TypeError, "integer or boolean type, got indexer with type float64"),
        ("a", TypeError, "does not support string indexing"),
        ([0, 1], TypeError, r"use `arr\[array\(seq\)\]` instead of `arr\[seq\]`"),
        ([0, None], TypeError, r"use `arr\[tuple\(seq\)\]`"),
        ((0, 0), IndexError, "Too many indices: array is 1-dimensional, but 2 were indexed"),
        ((..., ...), IndexError, "single ellipsis"),
        (object(), IndexError, "only integers, slices"),
        (np.array([True, False]), IndexError, "boolean index did not match shape"),
    ],
)
def test_rejected(index, kind, message):
    with pytest.raises(kind, match=message):
        jnp.arange(3)[index]


def test_traced_indices():
    with pytest.raises(NonConcreteBooleanIndexError, match="jnp.where"):
        frit.jit(lambda x: x[x > 0])(jnp.arange(3))
    with pytest.raises(IndexError, match="static start/stop/step"):
        frit.jit(lambda x, n: x[:n])(jnp.arange(3), 2)
    with pytest.raises(TypeError, match=r"x.at\[idx\].set"):
        jnp.arange(3)[0] = 1


def test_static_index_is_slices():
    text = str(frit.make_jaxpr(lambda x: (x[1:4:2], x[0], x[-1]))(jnp.ones(5)))
    assert text.count("slice[") == 3 and text.count("squeeze[") == 2 and "gather" not in text


def test_traced_scalar_is_a_dynamic_slice():
    text = str(frit.make_jaxpr(lambda x, i: x[i])(jnp.ones(5), 2))
    assert "dynamic_slice[slice_sizes=(1,)] a f" in text and "gather" not in text


def test_gradient_of_an_index_counts_repeats():
    i = jnp.array([0, 0, 2])
    assert frit.grad(lambda x: x[i].sum())(jnp.ones(3)).tolist() == [2, 0, 1]
