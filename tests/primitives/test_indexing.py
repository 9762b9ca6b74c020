"""Dynamic windows, gather and scatter: modes, wrong numbers, transposition in place."""

import numpy as np
import pytest

from frit import ShapeDtypeStruct, grad, jvp, lax, make_jaxpr, vjp, vmap
from frit.ir.dims import Dim

x = np.arange(12, dtype="f4").reshape(4, 3)
rows = np.array([[1], [9], [-1], [1]], "i4")
ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))
INTO_ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))
updates = np.arange(12, dtype="f4").reshape(4, 3) + 100


def _gather(numbers, sizes=(1, 3), indices=rows, **more):
    return lax.gather(x, indices, lax.GatherDimensionNumbers(*numbers), sizes, **more)


def _scatter(numbers, indices=rows, new=updates, **more):
    return lax.scatter(x, indices, new, lax.ScatterDimensionNumbers(*numbers), **more)


WRONG = {
    "starts": (
        lambda: lax.dynamic_slice(x, (0,), (1, 1)),
        ValueError,
        "must match number of operand dimensions (1 vs (4, 3))",
    ),
    "float starts": (
        lambda: lax.dynamic_slice(x, (0.0, 0.0), (1, 1)),
        TypeError,
        "must be integers of the same type, got: float32, float32",
    ),
    "mixed starts": (
        lambda: lax.dynamic_slice(x, (np.uint8(1), np.int32(1)), (1, 1)),
        TypeError,
        "got: uint8, int32",
    ),
    "large window": (
        lambda: lax.dynamic_slice(x, (0, 0), (5, 1)),
        TypeError,
        "got slice_sizes (5, 1) for operand shape (4, 3)",
    ),
    "negative start": (
        lambda: lax.dynamic_slice(x, (-1, 0), (1, 1), allow_negative_indices=False),
        ValueError,
        "Index -1 is out of bounds for dimension 4",
    ),
    "update rank": (
        lambda: lax.dynamic_update_slice(x, x[0], (0, 0)),
        TypeError,
        "must have the same rank as operand, got update shape (3,)",
    ),
    "update size": (
        lambda: lax.dynamic_update_slice(x, np.zeros((9, 1), "f4"), (0, 0)),
        TypeError,
        "update shape must be smaller than operand shape",
    ),
    "update type": (
        lambda: lax.dynamic_update_slice(x, x.astype("i4"), (0, 0)),
        TypeError,
        "same dtypes, got float32, int32",
    ),
    "mode": (lambda: _gather(ROWS, mode="wrap"), ValueError, 'Unknown gather mode "wrap"'),
    "float indices": (
        lambda: _gather(ROWS, indices=rows.astype("f4")),
        ValueError,
        "indices must have an integer type",
    ),
    "offset": (lambda: _gather(((7,), (0,), (0,))), TypeError, "should have been in [0, 2)"),
    "offset order": (
        lambda: _gather(((1, 0), (), (0,))),
        TypeError,
        "offset_dims in gather op must be sorted; got (1, 0)",
    ),
    "index map": (
        lambda: _gather(((1,), (0,), (0, 1))),
        TypeError,
        "Gather op has 2 elements in start_index_map",
    ),
    "index map range": (lambda: _gather(((1,), (0,), (4,))), TypeError, "got: 0->4"),
    "sizes": (lambda: _gather(ROWS, (1,)), TypeError, "one slice size for every input dimension"),
    "size": (lambda: _gather(ROWS, (1, 4)), TypeError, "Slice size at index 1"),
    "collapsed": (
        lambda: _gather(ROWS, (2, 3)),
        TypeError,
        "only collapse slice dims with bound 1",
    ),
    "updates rank": (lambda: _scatter(INTO_ROWS, new=x[0]), TypeError, "must be of rank 2; got 1"),
    "updates type": (
        lambda: _scatter(INTO_ROWS, new=x.astype("i4")),
        TypeError,
        "same dtypes, got float32, int32",
    ),
    "updates count": (
        lambda: _scatter(INTO_ROWS, new=updates[:3]),
        TypeError,
        "updates bound is 3, indices bound is 4",
    ),
    "updates width": (
        lambda: _scatter(INTO_ROWS, new=np.zeros((4, 5), "f4")),
        TypeError,
        "updates bound is 5, operand bound is 3",
    ),
    "window": (lambda: _scatter(((1,), (), (0,))), TypeError, "has window of size 1"),
    "scatter map": (lambda: _scatter(((1,), (0,), (7,))), TypeError, "got: 0->7"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_operands_are_told_what_is_wrong(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_dynamic_windows_are_moved_inside():
    np.testing.assert_array_equal(lax.dynamic_slice(x, (9, -1), (2, 2)), x[2:4, 1:3])
    found = lax.dynamic_update_slice(x, np.zeros((2, 2), "f4"), (np.int32(9), np.int32(0)))
    expected = x.copy()
    expected[2:, :2] = 0
    np.testing.assert_array_equal(found, expected)


def test_modes_of_gather():
    np.testing.assert_array_equal(_gather(ROWS, mode="clip"), x[[1, 3, 0, 1]])
    filled = np.asarray(_gather(ROWS, mode="fill"))
    assert np.isnan(filled[1:3]).all()
    np.testing.assert_array_equal(filled[[0, 3]], x[[1, 1]])
    np.testing.assert_array_equal(_gather(ROWS, mode="fill", fill_value=5)[1], [5, 5, 5])
    integers = lax.gather(x.astype("u1"), rows, ROWS, (1, 3), mode="fill")
    np.testing.assert_array_equal(integers[1], [255, 255, 255])


def test_modes_of_scatter():
    dropped = np.asarray(_scatter(INTO_ROWS))
    expected = x.copy()
    expected[1] = updates[3]
    np.testing.assert_array_equal(dropped, expected)
    clipped = np.asarray(_scatter(INTO_ROWS, mode="clip"))
    expected[3], expected[0] = updates[1], updates[2]
    np.testing.assert_array_equal(clipped, expected)


def test_scatter_combines_in_order():
    np.testing.assert_array_equal(
        lax.scatter_add(x, rows, updates, INTO_ROWS)[1], x[1] + updates[0] + updates[3]
    )
    np.testing.assert_array_equal(
        lax.scatter_sub(x, rows, updates, INTO_ROWS)[1], x[1] - updates[0] - updates[3]
    )
    np.testing.assert_array_equal(lax.scatter_max(x, rows, updates, INTO_ROWS)[1], updates[3])
    np.testing.assert_array_equal(lax.scatter_min(x, rows, updates, INTO_ROWS)[1], x[1])
    twice = lax.scatter_apply(x, rows, lambda v: lax.add(v, v), INTO_ROWS, update_shape=(4, 3))
    np.testing.assert_array_equal(twice[1], 4 * x[1])


def test_only_the_last_of_repeated_updates_has_a_derivative():
    found = grad(lambda u: lax.reduce_sum(lax.scatter(x, rows, u, INTO_ROWS), (0, 1)))(updates)
    np.testing.assert_array_equal(found[:, 0], [0, 0, 0, 1])
    found = grad(lambda v: lax.reduce_sum(lax.scatter(v, rows, updates, INTO_ROWS), (0, 1)))(x)
    np.testing.assert_array_equal(np.asarray(found)[:, 0], [1, 0, 1, 1])


def test_products_of_repeated_updates_are_refused():
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        jvp(lambda u: lax.scatter_mul(x, rows, u, INTO_ROWS), (updates,), (updates,))


def test_derivative_of_scatter_apply_is_refused():
    def applied(v):
        return lax.scatter_apply(v, rows, lax.sin, INTO_ROWS, update_shape=(4, 3))

    with pytest.raises(NotImplementedError, match="scatter_apply JVP not implemented"):
        jvp(applied, (x,), (x,))


def test_gathers_of_one_value_are_added_in_place():
    def parts(v):
        return lax.gather(v, rows, ROWS, (1, 3), mode="clip"), lax.dynamic_slice(v, (2, 0), (2, 1))

    backward = vjp(parts, x)[1]
    cts = (np.ones((4, 3), "f4"), np.full((2, 1), 10, "f4"))
    text = str(make_jaxpr(lambda *cts: backward(cts))(*cts))
    assert text.count("broadcast_in_dim") == 1
    assert text.count("add_any") == 0
    expected = np.array([[1, 1, 1], [2, 2, 2], [10, 0, 0], [11, 1, 1]], "f4")
    np.testing.assert_array_equal(backward(cts)[0], expected)


def test_unmapped_starts_stay_a_dynamic_slice():
    (eqn,) = make_jaxpr(vmap(lambda v: lax.dynamic_slice(v, (np.int32(1),), (2,)), in_axes=1))(
        x
    ).eqns[:1]
    assert eqn.primitive.name == "dynamic_slice"
    assert eqn.params["slice_sizes"] == (2, 3)


def test_mapped_starts_become_a_gather():
    starts = np.array([0, 5, 1, 2], "i4")
    found = vmap(lambda v, s: lax.dynamic_slice(v, (s,), (2,)))(x, starts)
    np.testing.assert_array_equal(found, [x[0, :2], x[1, 1:], x[2, 1:], x[3, 1:]])
    found = vmap(lambda v, s: lax.dynamic_update_slice(v, np.zeros(2, "f4"), (s,)))(x, starts)
    np.testing.assert_array_equal(np.asarray(found)[1], [x[1, 0], 0, 0])


def test_index_take_wraps_around():
    found = lax.index_take(x, (np.array([0, -1, 5]),), (0,))
    np.testing.assert_array_equal(found, x[[0, -1, 1]])


def test_symbolic_sizes():
    n = Dim("n")
    operands = (
        ShapeDtypeStruct((n, 3), "float32"),
        ShapeDtypeStruct((Dim("m"), 1), "int32"),
        ShapeDtypeStruct((), "int32"),
    )

    def windows(v, i, s):
        return lax.gather(v, i, ROWS, (1, 3)), lax.dynamic_index_in_dim(v, s, 0, keepdims=False)

    closed = make_jaxpr(windows)(*operands)
    assert [aval.shape for aval in closed.out_avals] == [(Dim("m"), 3), (3,)]
    assert "dim_as_value[dim=n]" in str(closed)
