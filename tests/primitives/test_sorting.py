"""Sorting: the order of special values, several operands, wrong operands."""

import ml_dtypes
import numpy as np
import pytest

from frit import grad, lax, make_jaxpr, random, vmap

x = np.array([[3, 1, 2], [9, 7, 8]], "f4")

WRONG = {
    "nothing": (lambda: lax.sort(()), TypeError, "Sort requires at least one operand"),
    "keys": (lambda: lax.sort((x, x), num_keys=3), ValueError, "between 1 and len(operand)=2"),
    "one operand": (lambda: lax.sort(x, num_keys=2), ValueError, "must equal 1"),
    "axis": (lambda: lax.sort(x, 2), ValueError, "axis 2 is out of bounds"),
    "shapes": (lambda: lax.sort((x, x[0])), TypeError, "equal shapes, got: (2, 3) (3,)"),
    "k": (lambda: lax.top_k(x, 4), ValueError, "no larger than size along axis; got k=4"),
    "negative k": (lambda: lax.top_k(x, -1), ValueError, "must be nonnegative, got -1"),
    "complex": (lambda: lax.top_k(x * 1j, 1), ValueError, "not compatible with complex"),
    "scalar": (lambda: lax.top_k(1.0, 1), ValueError, "out of bounds for array of dimension 0"),
    "approx k": (lambda: lax.approx_max_k(x, 0), ValueError, "k must be positive"),
    "approx type": (
        lambda: lax.approx_max_k(x.astype("i4"), 1),
        ValueError,
        "must be a floating type, got int32",
    ),
    "random keys": (
        lambda: lax.sort(random.split(random.key(0), 3)),
        TypeError,
        "its elements have no order",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_operands_are_told_what_is_wrong(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16])
def test_order_of_special_floats(dtype):
    v = np.array([np.nan, 0.0, -0.0, np.inf, -1, -np.nan, -np.inf, 0.0], dtype)
    ordered, places = lax.sort((v, np.arange(8)))
    np.testing.assert_array_equal(places, [6, 4, 1, 2, 7, 3, 0, 5])
    assert np.isnan(np.asarray(ordered).astype("f4")[-2:]).all()


def test_later_keys_decide_ties_and_the_rest_keep_their_order():
    first = np.array([1, 0, 1, 0, 1, 0])
    second = np.array([5, 5, 4, 5, 5, 4])
    _, _, places = lax.sort((first, second, np.arange(6)), num_keys=2)
    np.testing.assert_array_equal(places, [5, 1, 3, 2, 0, 4])


def test_complex_numbers_are_ordered_by_their_parts():
    v = np.array([1 + 1j, 1 - 1j, 0 + 9j, complex(np.nan, 0)], "c8")
    np.testing.assert_array_equal(np.asarray(lax.sort(v))[:3], [9j, 1 - 1j, 1 + 1j])


def test_greatest_elements():
    values, places = lax.top_k(np.array([1, np.nan, 3, 3, -0.0, 0.0], "f4"), 5)
    np.testing.assert_array_equal(places, [1, 2, 3, 0, 5])
    values, places = lax.top_k(x, 2, axis=0)
    np.testing.assert_array_equal(values, x[::-1])
    values, places = lax.approx_min_k(x, 1)
    np.testing.assert_array_equal(values, [[1], [7]])


def test_derivative_follows_the_elements():
    weights = np.array([1, 10, 100], "f4")
    found = grad(lambda v: lax.reduce_sum(lax.mul(lax.sort(v), weights), (0,)))(x[0])
    np.testing.assert_array_equal(found, [100, 1, 10])
    found = grad(lambda v: lax.top_k(v, 2)[0][1])(x[0])
    np.testing.assert_array_equal(found, [0, 0, 1])


def test_unmapped_operands_are_repeated():
    keys, values = vmap(lambda a, b: lax.sort_key_val(a, b), (0, None))(x, np.arange(3))
    np.testing.assert_array_equal(values, [[1, 2, 0], [1, 2, 0]])
    np.testing.assert_array_equal(keys, np.sort(x, 1))


def test_text():
    assert str(make_jaxpr(lambda a: lax.top_k(a, 2))(x)) == (
        "{ lambda ; a:f32[2,3]. let\n    b:f32[2,2] c:i32[2,2] = top_k[axis=1 k=2] a\n  in (b, c) }"
    )
