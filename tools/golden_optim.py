"""Makes tests/data/optim/*.json: what optax on real jax does on the problems of the tests.

Run in an environment that has jax==0.10.2 and optax==0.2.8:

    python tools/golden_optim.py
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import optax

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.optim import problems  # noqa: E402

DATA = ROOT / "tests" / "data" / "optim"


def rounded(value):
    """Floats to nine digits, which tell all float32 apart."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value]


def write(name, table):
    DATA.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(rounded(value))}" for key, value in table.items()]
    (DATA / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    write(
        "trajectories",
        {
            name: problems.trajectory(optax, jax.jit, make)
            for name, make in problems.OPTIMIZERS.items()
        },
    )
    write(
        "schedules",
        {
            name: problems.schedule_values(optax, jnp, make)
            for name, make in problems.SCHEDULES.items()
        },
    )
    write(
        "losses",
        {
            name: problems.loss_and_gradient(optax.losses, jnp, jax.grad, name)
            for name in problems.LOSSES
        },
    )


if __name__ == "__main__":
    main()
