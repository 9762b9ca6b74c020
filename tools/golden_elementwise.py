"""Writes tests/data/elementwise/: what jax gives for scalar edge cases, and its derivative jaxprs.

Run it in an environment with jax: `python tools/golden_elementwise.py`, from the repository's root.
"""

import json
import pathlib
import sys
import warnings

import jax
import numpy as np
from jax import lax

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.derivative_cases import derivative_cases, text_of  # noqa: E402 - found by the path above
from tests.scalar_cases import bits, cases  # noqa: E402

FOLDER = ROOT / "tests" / "data" / "elementwise"


def write_scalars():
    found = {}
    for key, (name, operands, given) in cases().items():
        if "rounding_method" in given:
            given = {"rounding_method": lax.RoundingMethod(given["rounding_method"])}
        found[key] = bits(np.asarray(getattr(lax, name)(*operands, **given)))
    np.savez_compressed(FOLDER / "scalars.npz", **found)


def write_jaxprs():
    shaped = jax.ShapeDtypeStruct
    texts = {
        key: text_of(jax, function, [shaped(*form) for form in forms])
        for key, function, forms in derivative_cases(lax)
    }
    path = FOLDER / "derivatives.json"
    path.write_text(json.dumps({"jax": jax.__version__, "jaxprs": texts}, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    write_jaxprs()
    jax.config.update("jax_enable_x64", True)
    write_scalars()
