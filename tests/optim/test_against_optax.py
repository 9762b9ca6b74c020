"""Trajectories, schedules and losses equal those of optax on real jax (tools/golden_optim.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import frit.numpy as jnp
from frit import grad, jit, optim
from tests.optim import problems

DATA = Path(__file__).resolve().parent.parent / "data" / "optim"


def expected(name):
    return json.loads((DATA / f"{name}.json").read_text())


TRAJECTORIES, SCHEDULES, LOSSES = map(expected, ("trajectories", "schedules", "losses"))


@pytest.mark.parametrize("name", problems.OPTIMIZERS)
def test_a_hundred_steps(name):
    got = problems.trajectory(optim, jit, problems.OPTIMIZERS[name])
    for step, values in TRAJECTORIES[name].items():
        np.testing.assert_allclose(got[step], values, rtol=1e-5, atol=1e-5, err_msg=step)


@pytest.mark.parametrize("name", ["sgd, nesterov", "adam", "inject_hyperparams"])
def test_without_jit(name):
    got = problems.trajectory(optim, lambda f: f, problems.OPTIMIZERS[name])
    np.testing.assert_allclose(got["100"], TRAJECTORIES[name]["100"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", problems.SCHEDULES)
def test_schedule(name):
    got = problems.schedule_values(optim, jnp, problems.SCHEDULES[name])
    np.testing.assert_allclose(got, SCHEDULES[name], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", problems.LOSSES)
def test_loss_and_its_gradient(name):
    got = problems.loss_and_gradient(optim.losses, jnp, grad, name)
    for mine, theirs in zip(got, LOSSES[name], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_tables_are_complete():
    assert list(TRAJECTORIES) == list(problems.OPTIMIZERS)
    assert list(SCHEDULES) == list(problems.SCHEDULES)
    assert list(LOSSES) == list(problems.LOSSES)
