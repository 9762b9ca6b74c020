"""Draws equal those of jax.random 0.10.2, whatever the form of the key (tools/golden_random.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import frit.numpy as jnp
from frit import enable_x64, jit, random
from tests.random import draws

DATA = Path(__file__).resolve().parent.parent / "data" / "random"


def expected(name):
    return json.loads((DATA / f"{name}.json").read_text())


NARROW, WIDE = expected("narrow"), expected("wide")


def check(values, kept, closeness):
    """Asserts that draws are what was kept of JAX's, as closely as the case asks."""
    values = np.asarray(values)
    assert (str(values.dtype), list(values.shape)) == (kept["dtype"], kept["shape"])
    if closeness == draws.EXACT:
        assert draws.record(values, closeness)["sha256"] == kept["sha256"]
        return
    mine, theirs = draws.sample(values), draws.samples_of(kept)
    if closeness == draws.COUNTS:
        assert np.mean(mine != theirs) <= 0.01, (mine[mine != theirs], theirs[mine != theirs])
    else:
        relative, absolute = (n * np.finfo(mine.dtype).eps for n in closeness)
        np.testing.assert_allclose(mine, theirs, rtol=relative, atol=absolute)


@pytest.mark.parametrize("name", draws.NARROW)
def test_narrow(name):
    closeness, draw = draws.NARROW[name]
    check(draw(random, jnp, random.key(draws.SEED)), NARROW[name], closeness)


@pytest.mark.parametrize("name", draws.WIDE)
def test_wide(name):
    closeness, draw = draws.WIDE[name]
    with enable_x64(True):
        check(draw(random, jnp, random.key(draws.SEED)), WIDE[name], closeness)


@pytest.mark.parametrize("name", ["uniform, float32", "normal, float32", "randint, int32", "split"])
def test_raw_keys_draw_the_same(name):
    closeness, draw = draws.NARROW[name]
    check(draw(random, jnp, random.PRNGKey(draws.SEED)), NARROW[name], closeness)


@pytest.mark.parametrize("name", ["uniform, float32", "gamma, 4.5, float32", "choice"])
def test_under_jit_the_same(name):
    closeness, draw = draws.NARROW[name]
    jitted = jit(lambda key: draw(random, jnp, key))
    check(jitted(random.key(draws.SEED)), NARROW[name], closeness)


@pytest.mark.parametrize("seed", expected("seeds_narrow"))
def test_seeds(seed):
    assert np.asarray(random.PRNGKey(int(seed))).tolist() == expected("seeds_narrow")[seed]
    with enable_x64(True):
        assert np.asarray(random.PRNGKey(int(seed))).tolist() == expected("seeds_wide")[seed]


def test_tables_are_complete():
    assert list(NARROW) == list(draws.NARROW)
    assert list(WIDE) == list(draws.WIDE)
