"""dot_general: wrong operands, element types, and the axes of its batch rule."""

import ml_dtypes
import numpy as np
import pytest

from frit import lax, make_jaxpr, vjp, vmap

a = np.arange(24, dtype="f4").reshape(2, 3, 4)
b = np.arange(40, dtype="f4").reshape(2, 4, 5)
NUMBERS = (((2,), (1,)), ((0,), (0,)))


def _dot(x, y, summed, matched=((), ()), **more):
    return lax.dot_general(x, y, (summed, matched), **more)


WRONG = {
    "range": (lambda: _dot(a, b, ((5,), (1,))), "less than the number of axes of the lhs value"),
    "batch count": (lambda: _dot(a, b, ((2,), (1,)), ((0,), ())), "equal numbers of lhs_batch"),
    "repeated": (lambda: _dot(a, b, ((2, 2), (1, 1))), "contracting dimensions to be distinct"),
    "both": (lambda: _dot(a, b, ((2,), (1,)), ((2,), (1,))), "disjoint from contracting"),
    "batch sizes": (lambda: _dot(a, b, ((2,), (1,)), ((1,), (0,))), "got (3,) and (2,)"),
    "sizes": (lambda: _dot(a, b, ((2,), (2,))), "same shape, got (4,) and (5,)"),
    "narrower": (
        lambda: lax.dot(a[0].astype("i4"), b[0].astype("i4"), preferred_element_type="int8"),
        "must not be narrower than the original type",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_operands_are_told_what_is_wrong(name):
    call, message = WRONG[name]
    with pytest.raises(TypeError) as caught:
        call()
    assert message in str(caught.value)


def test_plain_products_need_plain_shapes():
    with pytest.raises(ValueError, match="got lhs_shape=\\(3, 4\\) rhs_shape=\\(3, 4\\)"):
        lax.dot(a[0], a[0])
    with pytest.raises(ValueError, match="at least 2D, got 1, 2"):
        lax.batch_matmul(a[0, 0], b[0])
    with pytest.raises(ValueError, match="Precision argument must be one of"):
        lax.dot(a[0], b[0], precision="finest")


@pytest.mark.parametrize(
    ("left", "right", "preferred", "result"),
    [
        ("f4", "f4", None, "f4"),
        ("f4", "i4", None, "f4"),
        (ml_dtypes.bfloat16, "f4", None, "f4"),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16, None, ml_dtypes.bfloat16),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16, "f4", "f4"),
        ("i1", "i1", "i4", "i4"),
        ("i4", "i4", "f4", "f4"),
        ("c8", "f4", None, "c8"),
        (bool, bool, None, bool),
    ],
)
def test_element_types(left, right, preferred, result):
    x, y = a[0].astype(left), b[0].astype(right)
    found = lax.dot(x, y, preferred_element_type=preferred)
    assert found.dtype == np.dtype(result)
    wide = complex if found.dtype.kind == "c" else float
    expected = x.astype(wide) @ y.astype(wide)
    if found.dtype != bool:
        tolerance = 1e-2 if found.dtype == ml_dtypes.bfloat16 else 1e-6
        modulo = 2**32 if found.dtype.kind == "i" else None
        assert modulo is None or np.abs(expected).max() < modulo
        np.testing.assert_allclose(np.asarray(found).astype(wide), expected, rtol=tolerance)


@pytest.mark.parametrize(
    ("axes", "numbers", "shape"),
    [
        ((0, None), (([3], [1]), ([1], [0])), (2, 7, 3, 5)),
        ((3, None), (([2], [1]), ([0], [0])), (2, 3, 7, 5)),
        ((None, 0), (([2], [2]), ([0], [1])), (2, 3, 7, 5)),
        ((None, 3), (([2], [1]), ([0], [0])), (2, 3, 5, 7)),
        ((0, 0), (([3], [2]), ([0, 1], [0, 1])), (7, 2, 3, 5)),
        ((1, 2), (([3], [1]), ([1, 0], [2, 0])), (7, 2, 3, 5)),
    ],
)
def test_a_mapped_axis_is_free_or_matched(axes, numbers, shape):
    operands = [
        x if d is None else np.repeat(np.expand_dims(x, d), 7, d)
        for x, d in zip((a, b), axes, strict=True)
    ]
    closed = make_jaxpr(vmap(lambda x, y: lax.dot_general(x, y, NUMBERS), axes))(*operands)
    eqn = closed.eqns[0]
    assert str(numbers) in str(eqn)
    assert eqn.outvars[0].aval.shape == shape


def test_text_of_the_transpose():
    def cotangents(x, y, ct):
        return vjp(lambda x, y: lax.dot_general(x, y, NUMBERS), x, y)[1](ct)

    assert str(make_jaxpr(cotangents)(a, b, np.ones((2, 3, 5), "f4"))) == (
        "{ lambda ; a:f32[2,3,4] b:f32[2,4,5] c:f32[2,3,5]. let\n"
        "    _:f32[2,3,5] = dot_general[dimension_numbers=(([2], [1]), ([0], [0]))] a b\n"
        "    d:f32[2,5,4] = dot_general[dimension_numbers=(([1], [1]), ([0], [0]))] c a\n"
        "    e:f32[2,4,5] = transpose[permutation=(0, 2, 1)] d\n"
        "    f:f32[2,3,4] = dot_general[dimension_numbers=(([2], [2]), ([0], [0]))] c b\n"
        "  in (f, e) }"
    )


def test_precision_is_stored_and_shown():
    text = str(make_jaxpr(lambda x, y: lax.dot(x, y, precision="highest"))(a[0], b[0]))
    assert "precision=(Precision.HIGHEST, Precision.HIGHEST)" in text
    text = str(make_jaxpr(lambda x, y: lax.dot(x, y, precision="F32_F32_F32"))(a[0], b[0]))
    assert "precision=F32_F32_F32" in text


def test_ragged_products_are_those_of_the_groups():
    rows, matrices = a.reshape(6, 4), np.stack([b[0], b[1], b[0] - 1])
    sizes = np.array([2, 0, 3], "i4")
    found = np.asarray(lax.ragged_dot(rows, matrices, sizes))
    expected = [rows[:2] @ matrices[0], rows[2:5] @ matrices[2], np.zeros((1, 5))]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-6)
    with pytest.raises(TypeError, match="expected rhs group dimension size to be 3, got 2"):
        lax.ragged_dot(rows, b, sizes)


def test_scaled_products_scale_blocks():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 4)).astype("f4"), rng.normal(size=(2, 4, 5)).astype("f4")
    of_x, of_y = np.full((2, 3, 2), 2, "f4"), np.full((2, 1, 5), 4, "f4")
    of_x[..., 1] = 8
    found = lax.scaled_dot(x, y, lhs_scale=of_x, rhs_scale=of_y, preferred_element_type="float32")
    expected = (x * np.repeat(of_x, 2, -1)) @ (y * 4)
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=1)
    assert lax.scaled_dot(x, y).dtype == ml_dtypes.bfloat16
    with pytest.raises(TypeError, match="LHS contracting dim 2 of size 4 must be divisible"):
        lax.scaled_dot(x, y, lhs_scale=np.ones((2, 3, 3), "f4"))
    with pytest.raises(TypeError, match="must be at least 2"):
        lax.scaled_dot(x, y, lhs_scale=x)
