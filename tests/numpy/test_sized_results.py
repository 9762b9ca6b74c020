"""Functions whose results have a size that depends on values: with `size` they can be traced."""

import numpy as np
import pytest

import frit
import frit.numpy as jnp
from frit.errors import ConcretizationTypeError

A, B = jnp.array([3, 1, 2, 3, 1, 7]), jnp.array([1, 2, 9])


def same(found, wanted):
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_unique():
    wanted = np.unique(np.asarray(A), return_index=True, return_inverse=True, return_counts=True)
    same(jnp.unique(A, return_index=True, return_inverse=True, return_counts=True), wanted)
    traced = frit.jit(lambda a: jnp.unique(a, size=6, fill_value=-1, return_counts=True))
    same(traced(A), ([1, 2, 3, 7, -1, -1], [2, 1, 2, 1, 0, 0]))
    assert jnp.unique(A, size=2).tolist() == [1, 2]
    assert jnp.unique(jnp.array([np.nan, 1, np.nan])).shape == (2,)
    assert jnp.unique(jnp.array([np.nan, 1, np.nan]), equal_nan=False).shape == (3,)
    rows = np.array([[1, 2], [0, 1], [1, 2]])
    same(jnp.unique(jnp.asarray(rows), axis=0), np.unique(rows, axis=0))
    with pytest.raises(ConcretizationTypeError, match="size argument"):
        frit.jit(jnp.unique)(A)


def test_operations_on_sets():
    a, b = np.asarray(A), np.asarray(B)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        np.testing.assert_array_equal(getattr(jnp, name)(A, B), getattr(np, name)(a, b), name)
        wanted = getattr(np, name)(a, b)
        traced = frit.jit(lambda a, b: getattr(jnp, name)(a, b, size=8, fill_value=-1))(A, B)
        padded = np.concatenate([wanted, np.full(8 - len(wanted), -1)])
        np.testing.assert_array_equal(traced, padded, name)
    same(jnp.intersect1d(A, B, return_indices=True), np.intersect1d(a, b, return_indices=True))
    for method in ("compare_all", "binary_search", "sort"):
        np.testing.assert_array_equal(jnp.isin(A, B, method=method), np.isin(a, b))


def test_nonzero():
    m = jnp.array([[1, 0], [0, 2]])
    same(jnp.nonzero(m), np.nonzero(np.asarray(m)))
    same(jnp.nonzero(m, size=3, fill_value=9), ([0, 1, 9], [0, 1, 9]))
    same(frit.jit(lambda m: jnp.nonzero(m, size=1))(m), ([0], [0]))
    assert jnp.argwhere(m).tolist() == [[0, 0], [1, 1]]
    with pytest.raises(ConcretizationTypeError, match="size argument of jnp.nonzero"):
        frit.jit(jnp.nonzero)(m)


def test_counts():
    assert jnp.bincount(A).tolist() == np.bincount(np.asarray(A)).tolist()
    assert frit.jit(lambda a: jnp.bincount(a, length=3))(A).tolist() == [0, 2, 1]
    counts, edges = jnp.histogram(jnp.asarray(A), 3)
    wanted = np.histogram(np.asarray(A), 3)
    same((counts,), (wanted[0],))
    np.testing.assert_allclose(edges, wanted[1])


def test_repeat():
    x = jnp.array([1, 2, 3])
    n = jnp.array([2, 0, 1])
    assert jnp.repeat(x, n).tolist() == [1, 1, 3]
    assert frit.jit(lambda x, n: jnp.repeat(x, n, total_repeat_length=5))(x, n).tolist() == [
        1,
        1,
        3,
        3,
        3,
    ]
    with pytest.raises(ConcretizationTypeError, match="total_repeat_length"):
        frit.jit(jnp.repeat)(x, n)
