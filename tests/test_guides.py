"""The code in README.md, ARCHITECTURE.md and the guides runs, and prints what stands below it.

Python blocks of one page share their names, in order. A `text` block right after one is what that
block prints. Relative links lead to something.
"""

import contextlib
import io
import linecache
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
GUIDES = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs" / "guides").glob("*.md"))
PAGES = ["README.md", "ARCHITECTURE.md", *GUIDES]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")


@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_page_runs(page):
    names = {}
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks
    for number, (code, expected) in enumerate(blocks):
        # Python finds the source of the page's functions as it finds a notebook cell's.
        file = f"<{page} {number}>"
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            exec(compile(code, file, "exec"), names)
        if expected:
            assert printed.getvalue() == expected


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_links_of_the_page_lead_somewhere(page):
    targets = LINK.findall((ROOT / page).read_text())
    missing = [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()]
    assert not missing
