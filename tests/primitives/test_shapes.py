"""Shapes: what wrong operands are told, and the jaxprs of transforms."""

import numpy as np
import pytest

from frit import ShapeDtypeStruct, lax, make_jaxpr, vjp, vmap
from frit.ir.dims import Dim

x = np.arange(12, dtype="f4").reshape(3, 4)

WRONG = {
    "reshape": (lambda: lax.reshape(x, (5,)), TypeError, "shape (3, 4) (size 12) into shape (5,)"),
    "reshape to -1": (lambda: lax.reshape(x, (-1,)), TypeError, "must all be positive, got (-1,)"),
    "reshape order": (
        lambda: lax.reshape(x, (12,), (0, 0)),
        TypeError,
        "must be a permutation of operand dimensions, got dimensions (0, 0)",
    ),
    "transpose": (lambda: lax.transpose(x, (0, 0)), TypeError, "isn't a permutation"),
    "squeeze": (
        lambda: lax.squeeze(x, (0,)),
        ValueError,
        "size not equal to one, got shape=(3, 4)",
    ),
    "expand_dims": (lambda: lax.expand_dims(x, (0, -4)), ValueError, "repeated axis"),
    "axis": (lambda: lax.split(x, (1, 2), axis=7), ValueError, "axis 7 is out of bounds for array"),
    "broadcast": (
        lambda: lax.broadcast_in_dim(x, (3, 5), (0, 1)),
        TypeError,
        "operand of shape (3, 4), target broadcast shape (3, 5)",
    ),
    "broadcast_shapes": (
        lambda: lax.broadcast_shapes((2,), (3,)),
        ValueError,
        "Incompatible shapes for broadcasting: shapes=[(2,), (3,)]",
    ),
    "no operands": (lambda: lax.concatenate([], 0), ValueError, "non-empty sequences"),
    "concatenate ranks": (
        lambda: lax.concatenate([x, x[0]], 0),
        TypeError,
        "different numbers of dimensions: got (3, 4), (4,)",
    ),
    "concatenate sizes": (
        lambda: lax.concatenate([x, x[:, :1]], 0),
        TypeError,
        "concatenating along dimension 0 for shapes (3, 4), (3, 1)",
    ),
    "concatenate dtypes": (
        lambda: lax.concatenate([x, x.astype("i4")], 0),
        TypeError,
        "jnp.concatenate is a similar function that does automatic type promotion",
    ),
    "stack": (lambda: lax.stack([x, x[0]]), ValueError, "different numbers of dimensions"),
    "split": (
        lambda: lax.split(x, (1, 1)),
        ValueError,
        "Sum of sizes 2 must be equal to dimension 0",
    ),
    "unstack": (lambda: lax.unstack(2.0), ValueError, "rank > 0"),
    "tile": (lambda: lax.tile(x, (2,)), TypeError, "got len(reps)=1 and x.ndim=2"),
    "rev": (lambda: lax.rev(x, (0, 0)), TypeError, "rev dimensions must be unique, got (0, 0)"),
    "pad dtype": (lambda: lax.pad(x, 0, [(0, 0, 0)] * 2), TypeError, "got float32 and int32"),
    "pad config": (lambda: lax.pad(x, 0.0, [(0, 0, 0)]), ValueError, "equal the number of axes"),
    "pad interior": (
        lambda: lax.pad(x, 0.0, [(0, 0, -1), (0, 0, 0)]),
        ValueError,
        "interior padding in padding_config must be nonnegative",
    ),
    "pad too far": (
        lambda: lax.pad(x, 0.0, [(-2, -2, 0), (0, 0, 0)]),
        ValueError,
        "got result shape (-1, 4)",
    ),
    "iota dtype": (lambda: lax.iota(bool, 3), TypeError, "iota does not accept dtype bool"),
    "iota axis": (lambda: lax.broadcasted_iota("i4", (2,), 1), ValueError, "got dimension=1"),
    "full": (lambda: lax.full((2,), x), TypeError, "got fill_value.shape (3, 4)"),
    "slice limit": (
        lambda: lax.slice(x, (0, 0), (4, 4)),
        TypeError,
        "got limit_indices (4, 4) for operand shape (3, 4)",
    ),
    "slice rank": (lambda: lax.slice(x, (0,), (1,)), TypeError, "got indices (0,)"),
    "slice stride": (lambda: lax.slice(x, (0, 0), (1, 1), (0, 1)), TypeError, "must be positive"),
    "index": (
        lambda: lax.index_in_dim(x, 9, 1),
        IndexError,
        "index 9 is out of bounds for axis 1 with size 4",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_operands_are_told_what_is_wrong(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_pad_of_lanes_with_a_value_each():
    lanes = vmap(lambda a, v: lax.pad(a, v, [(1, 0, 1)]))(x, np.array([7, 8, 9], "f4"))
    np.testing.assert_array_equal(lanes[1], [8, 4, 8, 5, 8, 6, 8, 7])


def test_transpose_of_a_slice_alone_is_a_pad():
    text = str(
        make_jaxpr(lambda v, c: vjp(lambda v: lax.slice(v, (1,), (6,), (2,)), v)[1](c))(
            np.ones(7, "f4"), np.ones(3, "f4")
        )
    )
    assert "pad[padding_config=((1, 1, 1),)] b 0.0:f32[]" in text


def test_slices_of_one_value_are_added_in_place():
    def parts(v):
        return lax.slice(v, (0,), (3,)), lax.slice(v, (2,), (6,))

    backward = vjp(parts, np.ones(7, "f4"))[1]
    cts = (np.ones(3, "f4"), np.full(4, 2, "f4"))
    text = str(make_jaxpr(lambda *cts: backward(cts))(*cts))
    assert text.count("pad[") == 1
    assert text.count("add_at[") == 1
    np.testing.assert_array_equal(backward(cts)[0], [1, 1, 3, 2, 2, 2, 0])


def test_symbolic_sizes():
    n, m = Dim("n"), Dim("m")

    def shapes(a, b):
        joined = lax.concatenate([a, b], 0)
        return (
            joined,
            lax.reshape(a, (3 * n,)),
            lax.slice_in_dim(a, 1, None),
            lax.pad(a, 0.0, [(1, 2, 1), (0, 0, 0)]),
            lax.split(a, (1, n - 1))[1],
            lax.tile(a, (2, 1)),
            lax.iota("float32", n),
        )

    operands = ShapeDtypeStruct((n, 3), "float32"), ShapeDtypeStruct((m, 3), "float32")
    found = [aval.shape for aval in make_jaxpr(shapes)(*operands).out_avals]
    assert found == [
        (m + n, 3), (3 * n,), (n - 1, 3), (2 * n + 2, 3), (n - 1, 3), (2 * n, 3), (n,)
    ]  # fmt: skip
    with pytest.raises(ValueError, match="must be known while tracing"):
        make_jaxpr(lambda a, _: lax.unstack(a))(*operands)


def test_reshape_to_the_same_shape_is_no_equation():
    assert not make_jaxpr(lambda a: lax.reshape(a, (3, 4)))(x).eqns
    assert not make_jaxpr(lambda a: lax.transpose(a, (0, 1)))(x).eqns
    assert not make_jaxpr(lambda a: lax.broadcast(a, ()))(x).eqns
