"""Writes tests/data/required_names.json: the names of jax.numpy that frit.numpy must have.

    python tools/names.py KIT

KIT is the folder of the conformance kit, whose api_surface.json counts the references to each
public name of jax. Required is what any of the thirteen libraries uses, and every name with
MANY references or more in jax's own tests.
"""

import json
import pathlib
import sys

MODULES = ("jax.numpy", "jax.numpy.linalg", "jax.numpy.fft")
MANY = 5


def required(names):
    """The names, sorted, of one module's table that are required."""

    def is_required(fact):
        uses = dict(fact.get("use", {}))
        return uses.pop("jax_tests", 0) >= MANY or bool(uses)

    return sorted(name for name, fact in names.items() if is_required(fact))


def main():
    surface = json.loads((pathlib.Path(sys.argv[1]) / "api_surface.json").read_text())
    names = {module: required(surface["modules"][module]) for module in MODULES}
    path = pathlib.Path(__file__).parent.parent / "tests" / "data" / "required_names.json"
    path.write_text(json.dumps({"jax": surface["version"], "names": names}, indent=1) + "\n")


if __name__ == "__main__":
    main()
