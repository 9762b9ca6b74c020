"""Placement on the one device, and what is told about the machine."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax
from frit.sharding import ManualAxisType, Sharding


def test_meshes_and_shardings_are_records():
    mesh = jax.make_mesh((1,), ("x",))
    assert mesh == jax.sharding.Mesh(jax.devices(), ("x",), mesh.axis_types)
    assert hash(mesh) == hash(jax.make_mesh((1,), ("x",))) and mesh.shape == {"x": 1}
    sharding = jax.NamedSharding(mesh, jax.P("x", None))
    assert sharding.shard_shape((4, 2)) == (4, 2) and isinstance(sharding, Sharding)
    assert isinstance(jnp.ones(1).sharding, Sharding)
    assert pickle.loads(pickle.dumps(jax.P("x", ("y", "z")))) == jax.P("x", ("y", "z"))
    with pytest.raises(ValueError, match="Resource axis: y .* is not found in mesh"):
        jax.NamedSharding(mesh, jax.P("y"))
    with pytest.raises(TypeError, match="expected a PartitionSpec"):
        jax.NamedSharding(mesh, ("x",))


def test_equal_axis_types_are_one_object():
    kind = ManualAxisType(varying={"x"})
    assert ManualAxisType(varying=["x"]) is kind is copy.deepcopy(kind)
    assert pickle.loads(pickle.dumps(kind)) is kind
    with pytest.raises(AttributeError, match="immutable"):
        kind.varying = frozenset()


def test_constraints_change_no_value():
    sharding = jax.NamedSharding(jax.make_mesh((1,), ("x",)), jax.P("x"))
    f = lambda x: lax.with_sharding_constraint(x, sharding) * 2
    assert jax.jit(f)(3.0) == 6.0 and jax.grad(f)(3.0) == 2.0
    np.testing.assert_array_equal(jax.vmap(f)(jnp.ones(2)), [2, 2])
    with pytest.raises(TypeError, match="takes a Sharding, a PartitionSpec"):
        lax.with_sharding_constraint(1.0, "x")


def test_composites_mean_what_they_compute():
    square = lax.composite(lambda x, *, power: x**power, name="my.power")
    assert square(3.0, power=2) == 9.0 and jax.jit(lambda x: square(x, power=3))(2.0) == 8.0
    np.testing.assert_array_equal(
        jax.vmap(lambda x: square(x, power=2))(jnp.arange(3.0)), [0, 1, 4]
    )
    with pytest.raises(ValueError, match="JVP rule for composite not implemented"):
        jax.grad(lambda x: square(x, power=2))(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError, match="Tracer as an attribute"):
        jax.jit(lambda p: square(2.0, power=p))(2)


def test_sinks_are_kept():
    f = lambda x: (lax.dce_sink(x * 2), x)[1]
    assert "dce_sink" in str(jax.make_jaxpr(f)(1.0)) and jax.jit(f)(1.0) == 1.0
    np.testing.assert_array_equal(jax.vmap(f)(jnp.arange(3.0)), [0, 1, 2])


def test_profiles_hold_annotations_and_compilations(tmp_path):
    with jax.profiler.trace(tmp_path), jax.profiler.TraceAnnotation("step"):
        jax.jit(lambda x: x * 4.5)(jnp.arange(5.0))
    (path,) = tmp_path.rglob("*.json")
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    assert "step" in names and any(name.startswith("compile") for name in names)
    with pytest.raises(RuntimeError, match="No profile started"):
        jax.profiler.stop_trace()


def test_durations_are_told_to_listeners():
    seen = []
    jax.monitoring.register_event_duration_secs_listener(lambda name, s, **_: seen.append(name))
    jax.jit(lambda x: x * 5.5)(jnp.arange(5.0))
    jax.monitoring.clear_event_listeners()
    assert "/jax/core/compile/backend_compile_duration" in seen


def test_environment_info():
    assert "numpy:" in jax.print_environment_info(return_string=True)


def test_pmap_over_one_device():
    np.testing.assert_array_equal(jax.pmap(lambda x: x * 2)(jnp.ones((1, 2))), [[2, 2]])
    with pytest.raises(ValueError, match="requires 2 logical devices"):
        jax.pmap(jnp.sin)(jnp.ones(2))
    with pytest.raises(ValueError, match="requires at least one argument with a mapped axis"):
        jax.pmap(lambda: 1)()
