"""Writes tests/data/nn/values.npz: what jax gives for the programs of tests/nn/programs.py.

Run it in an environment with jax: `python tools/golden_nn.py`, from the repository's root.
"""

import pathlib
import sys

import jax
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.nn.programs import programs  # noqa: E402 - found by the path above

if __name__ == "__main__":
    found = {}
    for name, results in programs(jax).items():
        for i, leaf in enumerate(jax.tree.leaves(results)):
            found[f"{name}/{i}"] = np.asarray(leaf)
    folder = ROOT / "tests" / "data" / "nn"
    folder.mkdir(exist_ok=True)
    np.savez_compressed(folder / "values.npz", **found)
