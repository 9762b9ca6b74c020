"""Arrays: immutable, printable, exchanged without a copy, never an alias of what users write."""

import copy
import pickle

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp


def test_numpy_reads_an_array_without_a_copy_and_cannot_write_it():
    x = jnp.arange(4.0)
    view = np.asarray(x)
    assert np.asarray(x).__array_interface__["data"] == view.__array_interface__["data"]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    assert np.array(x).flags.writeable


def test_an_array_never_aliases_a_buffer_that_the_user_can_write():
    source = np.zeros(3, np.float32)
    made = [jnp.asarray(source), jnp.array(source), jax.device_put(source)]
    made.append(jax.jit(lambda v: v)(source))
    source[:] = 7.0
    for x in made:
        np.testing.assert_array_equal(x, [0.0, 0.0, 0.0])


def test_dlpack_both_ways():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(np.from_dlpack(x), x)
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(np.arange(3)), [0, 1, 2])
    with pytest.raises(TypeError, match="__dlpack__"):
        jax.dlpack.from_dlpack([1, 2])


def test_pickle_and_copy_keep_values_and_types():
    for x in (jnp.arange(3), jnp.float32(2), jnp.asarray(1.5), jnp.zeros((2, 0), jnp.bfloat16)):
        for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
            assert jax.typeof(y) == jax.typeof(x)
            np.testing.assert_array_equal(np.asarray(y, np.float32), np.asarray(x, np.float32))


def test_text():
    assert repr(jnp.arange(3.0)) == "Array([0., 1., 2.], dtype=float32)"
    assert repr(jnp.asarray(1.0)) == "Array(1., dtype=float32, weak_type=True)"
    assert repr(jnp.zeros((0, 2))) == "Array([], shape=(0, 2), dtype=float32)"
    assert str(jnp.arange(3)) == "[0 1 2]"
    assert f"{jnp.float32(2.5):.2f}" == "2.50"
    assert "key<fry>" in repr(jax.random.key(0))


def test_hash_is_refused_with_the_reason():
    with pytest.raises(TypeError, match="unhashable"):
        hash(jnp.arange(3))


def test_truth_of_several_elements_is_refused():
    with pytest.raises(ValueError, match="ambiguous"):
        bool(jnp.arange(3))
    with pytest.raises(TypeError, match="Only scalar arrays can be converted"):
        int(jnp.arange(3))
    with pytest.raises(TypeError, match="Only integer scalar arrays"):
        [1, 2, 3][jnp.asarray(1.0)]
    assert [1, 2, 3][jnp.asarray(1)] == 2


def test_assignment_is_refused_with_the_remedy():
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set"):
        jnp.arange(3)[0] = 1


def test_donated_arrays_are_given_up_and_say_so():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(3.0) * 1
    np.testing.assert_array_equal(f(x), [1.0, 2.0, 3.0])
    assert x.is_deleted()
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: f(x), lambda: float(x[0])):
        with pytest.raises(RuntimeError, match="Array has been deleted.*donated"):
            use()


def test_donation_does_not_change_what_others_see():
    base = jnp.arange(4.0) * 1
    view, seen = base.reshape(2, 2), np.asarray(base)
    jax.jit(lambda x: x * 0 - 1, donate_argnums=0)(base)
    np.testing.assert_array_equal(view, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(seen, [0, 1, 2, 3])


def test_quick_calls_see_every_change_of_type_and_setting():
    traced = []

    @jax.jit
    def f(x):
        traced.append(x.dtype)
        return x * 2

    for _ in range(3):
        assert f(jnp.ones(3)).dtype == jnp.float32
    f(jnp.ones(4))
    f(jnp.ones(3, jnp.int32))
    assert len(traced) == 3
    with jax.enable_x64(True):
        assert f(np.ones(3)).dtype == jnp.float64
    f.clear_cache()
    f(jnp.ones(3))
    assert len(traced) == 5


def test_strided_operands_are_read_right():
    x = jnp.arange(12.0).reshape(3, 4)
    f = jax.jit(lambda a: a + 1)
    for _ in range(2):
        np.testing.assert_array_equal(f(x.T), np.asarray(x).T + 1)
        np.testing.assert_array_equal(f(x[:, ::2]), np.asarray(x)[:, ::2] + 1)
        repeated = jnp.broadcast_to(x[0], (3, 4))
        np.testing.assert_array_equal(f(repeated), np.asarray(x)[:1] + [[1]] * 3)
