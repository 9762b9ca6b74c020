"""States are pytrees of NamedTuples, found and changed by name; wrappers act when they should."""

import numpy as np
import pytest

import frit.numpy as jnp
from frit import optim, random

PARAMS = {"a": jnp.ones((2, 3)), "b": jnp.zeros(3)}
GRADS = {"a": jnp.full((2, 3), 0.5), "b": jnp.ones(3)}


def test_states_are_named_tuples():
    adam_state, scale_state = optim.adam(0.1).init(PARAMS)
    assert type(adam_state).__name__ == "ScaleByAdamState"
    assert adam_state._fields == ("count", "mu", "nu")
    assert adam_state.count.dtype == jnp.int32
    assert scale_state == optim.EmptyState()
    assert isinstance(optim.adam(0.1), optim.GradientTransformationExtraArgs)


def test_values_by_name():
    optimizer = optim.chain(optim.clip(1.0), optim.adam(0.1))
    _, state = optimizer.update(GRADS, optimizer.init(PARAMS), PARAMS)
    assert int(optim.tree.get(state, "count")) == 1
    np.testing.assert_allclose(optim.tree.get(state, "mu")["b"], 0.1 * np.ones(3), rtol=1e-6)
    assert optim.tree.get(state, "nothing", default=7) == 7
    changed = optim.tree.set(state, count=jnp.int32(5))
    assert int(optim.tree.get(changed, "count")) == 5
    assert int(optim.tree.get(state, "count")) == 1


def test_a_value_named_twice_or_never():
    state = optim.chain(optim.adam(0.1), optim.adam(0.1)).init(PARAMS)
    assert len(optim.tree.get_all_with_path(state, "mu")) == 2
    with pytest.raises(KeyError, match=r"Found multiple values for 'mu'.*filtering"):
        optim.tree.get(state, "mu")
    with pytest.raises(KeyError, match="Found no values matching 'nothing'"):
        optim.tree.set(state, nothing=0)


def test_map_params_touches_what_mirrors_them():
    optimizer = optim.adam(0.1)
    doubled = optim.tree.map_params(optimizer, lambda m: m + 2, optimizer.init(PARAMS))
    np.testing.assert_array_equal(doubled[0].mu["b"], 2 * np.ones(3))
    assert int(doubled[0].count) == 0


def test_hyperparameters_can_be_read_and_set():
    optimizer = optim.inject_hyperparams(optim.sgd)(learning_rate=0.5)
    state = optimizer.init(PARAMS)
    assert float(state.hyperparams["learning_rate"]) == 0.5
    state.hyperparams["learning_rate"] = jnp.float32(0.25)
    updates, _ = optimizer.update(GRADS, state, PARAMS)
    np.testing.assert_array_equal(updates["b"], -0.25 * np.ones(3))


def test_multi_steps_moves_at_every_kth_gradient():
    optimizer = optim.MultiSteps(optim.sgd(1.0), every_k_schedule=2)
    state = optimizer.init(PARAMS)
    updates, state = optimizer.update(GRADS, state, PARAMS)
    np.testing.assert_array_equal(updates["b"], np.zeros(3))
    assert not optimizer.has_updated(state)
    updates, state = optimizer.update(optim.tree.scale(3.0, GRADS), state, PARAMS)
    np.testing.assert_allclose(updates["b"], -2 * np.ones(3))
    assert optimizer.has_updated(state)


def test_multi_steps_skips_what_it_is_told_to():
    optimizer = optim.MultiSteps(optim.sgd(1.0), 1, should_skip_update_fn=optim.skip_not_finite)
    bad = {"a": GRADS["a"], "b": jnp.full(3, jnp.nan)}
    updates, state = optimizer.update(bad, optimizer.init(PARAMS), PARAMS)
    np.testing.assert_array_equal(updates["a"], np.zeros((2, 3)))
    assert bool(state.skip_state["should_skip"])


def test_apply_if_finite_keeps_the_state():
    optimizer = optim.apply_if_finite(optim.adam(0.1), max_consecutive_errors=2)
    bad = {"a": GRADS["a"], "b": jnp.full(3, jnp.inf)}
    updates, state = optimizer.update(bad, optimizer.init(PARAMS), PARAMS)
    np.testing.assert_array_equal(updates["a"], np.zeros((2, 3)))
    assert int(state.inner_state[0].count) == 0
    assert int(state.total_notfinite) == 1
    _, state = optimizer.update(GRADS, state, PARAMS)
    assert (int(state.inner_state[0].count), int(state.notfinite_count)) == (1, 0)


def test_monitor_measures_without_changing():
    optimizer = optim.monitor({"norm": optim.global_norm})
    updates, state = optimizer.update(GRADS, optimizer.init(PARAMS), PARAMS)
    assert updates is GRADS
    np.testing.assert_allclose(state.measurements["norm"], np.sqrt(6 * 0.25 + 3), rtol=1e-6)


def test_zero_nans_and_set_to_zero():
    updates, state = optim.zero_nans().update({"x": jnp.array([1.0, jnp.nan])}, None)
    np.testing.assert_array_equal(updates["x"], [1.0, 0.0])
    assert bool(state.found_nan["x"])
    updates, _ = optim.set_to_zero().update(GRADS, optim.EmptyState())
    np.testing.assert_array_equal(updates["b"], np.zeros(3))


def test_none_marks_what_is_not_there():
    params = {"a": jnp.ones(2), "b": None}
    grads = {"a": jnp.ones(2), "b": None}
    optimizer = optim.adam(0.1)
    updates, _ = optimizer.update(grads, optimizer.init(params), params)
    assert optim.apply_updates(params, updates)["b"] is None


def test_updates_keep_the_dtype_of_parameters():
    params = {"x": jnp.ones(3, jnp.float16)}
    updates = {"x": jnp.full(3, 0.5, jnp.float32)}
    assert optim.apply_updates(params, updates)["x"].dtype == jnp.float16


def test_incremental_and_periodic_update():
    old, new = {"x": jnp.zeros(2)}, {"x": jnp.ones(2)}
    average = optim.incremental_update(new, old, 0.25)
    np.testing.assert_array_equal(average["x"], [0.25, 0.25])
    assert float(optim.periodic_update(new, old, 4, 2)["x"][0]) == 1.0
    assert float(optim.periodic_update(new, old, 3, 2)["x"][0]) == 0.0


def test_noise_depends_on_the_key():
    def first(key):
        optimizer = optim.add_noise(0.1, 0.5, key)
        return optimizer.update(GRADS, optimizer.init(PARAMS))[0]["b"]

    np.testing.assert_array_equal(first(3), first(random.key(3)))
    assert not np.array_equal(first(3), first(4))


def test_per_example_clipping():
    grads = [jnp.array([[3.0, 4.0], [0.3, 0.4]])]
    clipped, count = optim.per_example_global_norm_clip(grads, 1.0)
    np.testing.assert_allclose(clipped[0], [0.9, 1.2], rtol=1e-6)
    assert int(count) == 1


def test_tree_arithmetic():
    tree = {"x": jnp.array([3.0, 4.0]), "y": jnp.array(12.0)}
    assert float(optim.tree.norm(tree)) == 13.0
    assert float(optim.tree.norm(tree, squared=True)) == 169.0
    assert float(optim.tree.norm(tree, ord=1)) == 19.0
    assert float(optim.tree.norm(tree, ord=jnp.inf)) == 12.0
    assert float(optim.tree.vdot(tree, tree)) == 169.0
    assert optim.tree.size(tree) == 3
    assert float(optim.tree.sum(optim.tree.add(tree, tree, tree))) == 57.0
    assert bool(optim.tree.allclose(optim.tree.sub(tree, tree), optim.tree.zeros_like(tree)))


def test_dtype_of_a_mixed_tree():
    tree = [jnp.ones(2, jnp.float16), jnp.ones(2, jnp.float32)]
    assert optim.tree.dtype(tree, "highest") == jnp.float32
    assert optim.tree.dtype(tree, "lowest") == jnp.float16
    with pytest.raises(ValueError, match=r"Expected dtype=float16.*\n.*promote"):
        optim.tree.dtype(tree)
