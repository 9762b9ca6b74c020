"""Writes tests/data/fit_curve.json: the losses of tests/fit_program.py on jax and optax.

Run it in an environment that has both: `python tools/golden_fit.py`, from the repository's root.
"""

import json
import pathlib
import sys

import jax
import optax

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.fit_program import run  # noqa: E402 - the path above makes it importable

losses = [round(loss, 8) for loss in run(jax, optax)]
versions = {"jax": jax.__version__, "optax": optax.__version__}
path = ROOT / "tests" / "data" / "fit_curve.json"
path.write_text(json.dumps({"versions": versions, "losses": losses}) + "\n")
