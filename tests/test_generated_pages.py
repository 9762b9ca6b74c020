"""The pages of docs/ that `make docs` writes are what it would write now."""

import importlib
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    sys.modules.pop("docs", None)
    return importlib.import_module("docs").pages()


@pytest.mark.parametrize("name", ["settings.md", "coverage.md", "semantics.md"])
def test_a_page_is_up_to_date(pages, name):
    assert (ROOT / "docs" / name).read_text() == pages[name], "run make docs"
