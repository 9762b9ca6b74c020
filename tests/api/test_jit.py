"""jit: what is traced again and why, donation, and the steps ahead of time."""

from __future__ import annotations

import functools
import logging
import warnings

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit.runtime import events


def miss_of(caplog, call):
    """The text that is logged of the one miss that `call` causes."""
    caplog.clear()
    with caplog.at_level(logging.WARNING), jax.explain_cache_misses(True):
        call()
    (record,) = caplog.records
    return record.getMessage()


def test_misses_are_explained(caplog):
    f = jax.jit(lambda x, y=0: x)
    assert "never seen function" in miss_of(caplog, lambda: f(1.0))
    assert "at x, now i32[] and before f32[]" in miss_of(caplog, lambda: f(1))
    assert "different input pytree" in miss_of(caplog, lambda: f((1, 2)))
    assert "at x, now f32[3] and before" in miss_of(caplog, lambda: f(jnp.ones(3)))
    with jax.numpy_rank_promotion("warn"):
        text = miss_of(caplog, lambda: f(jnp.ones(3)))
    assert "jax_numpy_rank_promotion differs: now warn and before allow" in text


def test_misses_of_weak_types_and_static_values_are_explained(caplog):
    f = jax.jit(lambda x: x)
    f(jnp.float32(1))
    text = miss_of(caplog, lambda: f(1.0))
    assert "now f32[]{weak_type=True} and before f32[]{weak_type=False}" in text
    g = jax.jit(lambda x, s: x, static_argnums=1)
    g(1.0, "a")
    assert "now 'b' and before 'a'" in miss_of(caplog, lambda: g(1.0, "b"))


def test_functions_that_are_made_anew_are_noticed(caplog):
    texts = [miss_of(caplog, lambda: jax.jit(lambda x: 2 * x)(3)) for _ in range(2)]
    assert "another function defined on the same line" in texts[1]


def test_traces_and_compilations_are_logged(caplog):
    with caplog.at_level(logging.DEBUG), jax.log_compiles():
        jax.jit(lambda x: x * 2.5)(jnp.arange(7.0))
    text = "\n".join(r.getMessage() for r in caplog.records)
    for part in ("Finished tracing", "Compiling jit(", "Finished XLA compilation of jit("):
        assert part in text


def test_events_are_told():
    seen = []
    events.listen(lambda event, facts: seen.append(event))
    jax.jit(lambda x: x * 3.5)(jnp.arange(6.0))
    assert seen == ["miss", "trace", "compile"]


def test_donated_arrays_are_gone_and_cannot_be_given_twice():
    f = jax.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = jnp.ones(3), jnp.ones(3)
    np.testing.assert_array_equal(f(x, y), [2, 2, 2])
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]"):
        f(x, y)
    with pytest.raises(RuntimeError, match="previously donated in the same call"):
        f(y, y)


def test_donation_that_cannot_be_used_warns_once():
    f = jax.jit(lambda x: x.sum(), donate_argnums=0)
    with pytest.warns(UserWarning, match=r"donated buffers were not usable: float32\[3\]"):
        f(jnp.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(jnp.ones(3))


def test_marks_that_differ_by_number_and_name_are_taken_as_they_are():
    kinds = []

    def f(x, y):
        kinds.append((isinstance(x, jax.core.Tracer), isinstance(y, jax.core.Tracer)))
        return 1

    by_number = jax.jit(f, static_argnums=1, static_argnames=())
    by_number(2, "text"), by_number(1, y=2)
    assert kinds == [(True, False), (True, True)]


def test_attributes_of_a_function_do_not_hide_those_of_its_jitted_form():
    class Function:
        def __init__(self):
            self._call, self.note = None, "kept"

        def __call__(self, x):
            return x + 1

    f = jax.jit(Function())
    assert f(1) == 2 and f.note == "kept"


def test_text_of_a_jitted_function():
    assert repr(jax.jit(len)) == f"<PjitFunction of {len!r}>"

    class Nameless:
        def __call__(self):
            return 1

        def __repr__(self):
            raise ValueError

    assert repr(jax.jit(Nameless())) == "<PjitFunction>"


def test_steps_ahead_of_time_tell_about_the_function():
    lowered = jax.jit(lambda x, *, y: x + y, donate_argnums=0).lower(1.0, y=2.0)
    compiled = lowered.compile()
    assert lowered.in_avals == compiled.in_avals and lowered.donate_argnums == (0,)
    (x,), keywords = compiled.args_info
    assert x.donated and not keywords["y"].donated
    assert compiled(1.0, y=2.0) == 3.0


def test_float0_results_are_numpy_arrays():
    f = jax.jit(jax.grad(lambda x, i: x[i], argnums=(0, 1), allow_int=True))
    for _ in range(3):
        _, of_index = f(jnp.ones(2), jnp.int32(1))
        assert isinstance(of_index, np.ndarray) and of_index.dtype == jax.float0


def test_settings_that_forbid():
    f = jax.jit(lambda x: x)
    f(1.0)
    with jax.no_tracing():
        f(1.0)
        with pytest.raises(RuntimeError, match="'no_tracing' is set"):
            f(1)
    with jax.no_execution(), pytest.raises(RuntimeError, match="no_execution"):
        f(1.0)


def test_user_contexts_are_part_of_the_key():
    context, seen = jax.make_user_context("low"), []

    @jax.jit
    def f(x):
        seen.append(context.value)
        return x

    f(1.0)
    with context("high"):
        f(1.0)
    f(1.0)
    assert seen == ["low", "high"] and context.get_global() == "low"


def test_docstrings_say_what_a_transformed_function_is():
    def area(x):
        """The area."""
        return x * x

    assert jax.grad(area).__doc__.startswith("Gradient of area with respect to positional argument")
    assert jax.vmap(area).__doc__.endswith("Original documentation:\n\nThe area.")
    assert jax.vmap(functools.partial(area)).__doc__.startswith("Vectorized version of area")


def test_bound_methods_and_partials_share_a_trace():
    traced = []

    class Model:
        @jax.jit
        def double(self_or_x, x=None):
            traced.append(1)
            return 2 * (self_or_x if x is None else x)

    assert Model.double(3.0) == 6.0


def test_clearing_caches_reaches_the_quick_way():
    traced = []

    @jax.jit
    def f(x):
        traced.append(1)
        return x * 2

    x = jnp.arange(3.0)
    f(x), f(x)
    jax.clear_caches()
    f(x)
    assert len(traced) == 2


def test_a_pullback_of_a_checkpoint_is_compiled_once():
    inner = jax.checkpoint(lambda x: jax.jit(lambda x: 2.5 * jnp.sin(x))(x))
    _, pullback = jax.vjp(inner, jnp.float32(1.0))
    seen = []
    events.listen(lambda event, facts: seen.append(event))
    for _ in range(5):
        pullback(jnp.float32(1.0))
    assert seen.count("compile") <= 2


def test_traced_values_have_no_sharding():
    with pytest.raises(AttributeError, match="typeof"):
        jax.jit(lambda x: x.sharding)(1.0)
