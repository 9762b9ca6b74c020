"""frit.numpy has every name that libraries and jax's own tests use; `tools/names.py` lists them."""

import importlib
import json
import pathlib

import pytest

REQUIRED = json.loads((pathlib.Path(__file__).parent / "data" / "required_names.json").read_text())


@pytest.mark.parametrize("module", REQUIRED["names"])
def test_every_required_name_is_there(module):
    ours = importlib.import_module(module.replace("jax", "frit"))
    missing = [name for name in REQUIRED["names"][module] if not hasattr(ours, name)]
    assert not missing, f"{ours.__name__} lacks {', '.join(missing)}"
