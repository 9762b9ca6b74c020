"""Makes tests/data/random/*.json: what jax.random draws in the cases of tests/random/draws.py.

Run in an environment that has jax==0.10.2:

    python tools/golden_random.py
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.random import draws  # noqa: E402

DATA = ROOT / "tests" / "data" / "random"
SEEDS = (0, 1, 42, -1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40 + 12345, -(2**63), 2**63 - 1)


def write(name, table):
    DATA.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]
    (DATA / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def recorded(cases):
    found = {}
    for name, (closeness, draw) in cases.items():
        key = jax.random.key(draws.SEED)
        found[name] = draws.record(np.asarray(draw(jax.random, jnp, key)), closeness)
    return found


def seeds():
    return {str(seed): np.asarray(jax.random.PRNGKey(seed)).tolist() for seed in SEEDS}


def main():
    write("narrow", recorded(draws.NARROW))
    write("seeds_narrow", seeds())
    jax.config.update("jax_enable_x64", True)
    write("wide", recorded(draws.WIDE))
    write("seeds_wide", seeds())


if __name__ == "__main__":
    main()
