"""Reductions: wrong operands, general combinations, derivatives of windows."""

import ml_dtypes
import numpy as np
import pytest

from frit import grad, jvp, lax, make_jaxpr, vmap

x = np.arange(12, dtype="f4").reshape(3, 4) / 3 - 1
i = np.arange(12, dtype="i4").reshape(3, 4)

WRONG = {
    "axis": (lambda: lax.reduce_sum(x, (2,)), ValueError, "out-of-bounds indices"),
    "twice": (lambda: lax.reduce_max(x, (0, 0)), ValueError, "duplicate value in 'axes'"),
    "prod of bool": (
        lambda: lax.reduce_prod(i > 3, (0,)),
        TypeError,
        "reduce_prod does not accept dtype bool. Accepted dtypes are subtypes of number",
    ),
    "logical": (
        lambda: lax.reduce_or(x, (0,)),
        TypeError,
        "logical reduction requires operand dtype bool or int, got float32",
    ),
    "argmax axis": (lambda: lax.argmax(x, 3, "int32"), ValueError, "Invalid axis 3"),
    "argmax of nothing": (lambda: lax.argmax(x[:0], 0, "int32"), ValueError, "non-empty"),
    "argmax dtype": (lambda: lax.argmax(x, 0, "float32"), TypeError, "must be an integer type"),
    "running axis": (lambda: lax.cumsum(x, 2), ValueError, "axis 2 is out of bounds"),
    "running from the end": (lambda: lax.cumsum(x, -1), ValueError, "negative axes"),
    "window rank": (
        lambda: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "SAME"),
        TypeError,
        "got operand shape (3, 4) with window_dimensions (2,)",
    ),
    "window strides": (
        lambda: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1,), "SAME"),
        TypeError,
        "got window_strides (1,) and window_dimensions (2, 2)",
    ),
    "window of nothing": (
        lambda: lax.reduce_window(x, 0.0, lax.add, (0, 1), (1, 1), "VALID"),
        TypeError,
        "must have every element be >= 1",
    ),
    "padding": (
        lambda: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "FULL"),
        RuntimeError,
        "expected 'VALID', 'SAME', or 'SAME_LOWER', got FULL",
    ),
    "reduce dtypes": (
        lambda: lax.reduce(x, 0, lambda a, b: lax.add(a, b), (0,)),
        TypeError,
        "reduce operand dtypes should match corresponding initial value dtypes",
    ),
    "reduce tree": (
        lambda: lax.reduce((x, x), 0.0, lax.add, (0,)),
        ValueError,
        "same tree structure as init_values",
    ),
    "reduce shape": (
        lambda: lax.reduce(x, 0.0, lambda a, b: lax.full((2,), a), (0,)),
        TypeError,
        "combine scalars of one type into a scalar of that type",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_operands_are_told_what_is_wrong(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("combine", "start", "primitive"),
    [
        (lax.add, 0.0, "reduce_sum"),
        (lax.mul, 1.0, "reduce_prod"),
        (lax.max, -np.inf, "reduce_max"),
        (lax.min, np.inf, "reduce_min"),
        (lax.add, 1.0, "reduce"),
        (lambda a, b: lax.add(a, b), 0.0, "reduce"),
    ],
)
def test_reduce_by_a_known_monoid_is_its_primitive(combine, start, primitive):
    (eqn,) = make_jaxpr(lambda v: lax.reduce(v, start, combine, (0,)))(x).eqns
    assert eqn.primitive.name == primitive


def test_reduce_of_several_operands():
    def combine(a, b):
        return lax.add(a[0], b[0]), lax.max(a[1], b[1])

    total, top = lax.reduce((x, i), (0.0, 0), combine, (1,))
    np.testing.assert_allclose(total, x.sum(1), rtol=1e-6)
    np.testing.assert_array_equal(top, i.max(1))


def test_reduce_of_captured_tracers_is_refused():
    def f(factor):
        return lax.reduce(x, 0.0, lambda a, b: lax.add(a, lax.mul(b, factor)), (0,))

    with pytest.raises(NotImplementedError, match="can't close over Tracers"):
        make_jaxpr(f)(np.float32(2))


def test_derivative_of_a_general_reduction():
    def product(v):
        return lax.reduce(v, 1.0, lambda a, b: lax.mul(a, b), (1,))

    v = np.array([[1.0, 2.0, 3.0], [0.0, 5.0, 6.0]], "f4")
    _, moved = jvp(product, (v,), (np.ones_like(v),))
    np.testing.assert_allclose(moved, [11, 30])


def test_derivative_of_a_general_window_reduction():
    def product(v):
        return lax.reduce_window(v, 1.0, lambda a, b: lax.mul(a, b), (2,), (1,), "VALID")

    _, moved = jvp(product, (np.array([1, 2, 0, 4], "f4"),), (np.ones(4, "f4"),))
    np.testing.assert_allclose(moved, [3, 2, 4])


def test_vmap_over_initial_values():
    starts = np.array([1, 10], "f4")
    found = vmap(lambda s: lax.reduce(x[0], s, lambda a, b: lax.mul(a, b), (0,)))(starts)
    np.testing.assert_allclose(found, starts * x[0].prod(), rtol=1e-6)


def test_equal_maxima_share_the_cotangent():
    v = np.array([1, 3, 3, 2], "f4")
    np.testing.assert_allclose(grad(lambda v: lax.reduce_max(v, (0,)))(v), [0, 0.5, 0.5, 0])


def test_product_with_zeros_has_a_derivative():
    v = np.array([2, 0, 5], "f4")
    np.testing.assert_allclose(grad(lambda v: lax.reduce_prod(v, (0,)))(v), [0, 10, 0])
    np.testing.assert_allclose(grad(lambda v: lax.cumprod(v)[2])(v), [0, 10, 0])


def test_log_sums_of_infinities():
    v = np.array([-np.inf, -np.inf, 1.0], "f4")
    value, moved = jvp(lax.cumlogsumexp, (v,), (np.ones(3, "f4"),))
    np.testing.assert_allclose(value, [-np.inf, -np.inf, 1])
    assert np.isfinite(np.asarray(moved)).all()


def test_max_pooling_sends_the_cotangent_to_the_winner():
    def pooled(v):
        windows = lax.reduce_window(v, -np.inf, lax.max, (2,), (2,), "VALID")
        return lax.reduce_sum(windows, (0,))

    v = np.array([1, 3, 2, 2, 5, 4], "f4")
    np.testing.assert_array_equal(grad(pooled)(v), [0, 1, 1, 0, 1, 0])


def test_narrow_sums_are_rounded_once():
    v = np.full(4096, 0.1, ml_dtypes.bfloat16)
    exact = v.astype("f8").sum()
    assert abs(float(lax.reduce_sum(v, (0,))) - exact) / exact < 2**-8
    assert abs(float(lax.cumsum(v)[-1]) - exact) / exact < 2**-8


def test_zeros_have_signs_in_maxima():
    v = np.array([-0.0, 0.0], "f4")
    assert not np.signbit(np.asarray(lax.reduce_max(v, (0,))))
    assert np.signbit(np.asarray(lax.reduce_min(v, (0,))))


def test_weak_types():
    weak = lax.full((2,), 1.0)
    assert lax.reduce_sum(weak, (0,)).weak_type
    assert lax.reduce(weak, 0.0, lax.add, (0,)).weak_type
    assert not lax.reduce(weak, np.float32(0), lax.add, (0,)).weak_type
    assert not lax.argmax(weak, 0, "int32").weak_type
