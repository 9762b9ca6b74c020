"""Writes frit/jax_alias/redirects.json: private names of jax that are public elsewhere.

    python tools/private_names.py KIT

KIT is the folder of the conformance kit. Of its facts (private name -> public name of the same
object in jax 0.10.2) those are taken that a library or one of jax's own tests uses.
"""

import json
import pathlib
import sys


def redirects(kit):
    """private name -> public name, sorted, for the names that anyone uses."""
    ranked = json.loads((kit / "private_names.json").read_text())
    facts = json.loads((kit / "private_redirects.json").read_text())["redirects"]
    used = {row["name"] for row in ranked}
    return {name: facts[name] for name in sorted(used & facts.keys())}


def main():
    path = pathlib.Path(__file__).parent.parent / "frit" / "jax_alias" / "redirects.json"
    path.write_text(json.dumps(redirects(pathlib.Path(sys.argv[1])), indent=1) + "\n")


if __name__ == "__main__":
    main()
