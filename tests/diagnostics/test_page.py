"""Pages of reports: what they are made of, and how they behave in a browser, phone and desktop."""

import html.parser
import re

import pytest

import frit
import frit.numpy as jnp
from frit import lax
from frit.diagnostics.page import Markup, Panel, Section, element, link, page, table, tabs
from tests.diagnostics.browser import browser, need_chromium

PHONE, DESKTOP = (390, 844), (1280, 900)


def model(x, w):
    hidden = jnp.tanh(x @ w)
    weights = jnp.exp(hidden - hidden.max(axis=1, keepdims=True))
    ordered = jnp.sort(weights / weights.sum(axis=1, keepdims=True), axis=1)

    def turn(carry, row):
        return jnp.sort(carry * 0.5 + row), carry.sum()

    state, sums = lax.scan(turn, ordered[0], ordered)
    return state.sum() + sums.sum() - -hidden[0, 0]


@pytest.fixture(scope="module")
def report():
    return frit.explain(model)(jnp.ones((64, 32)), jnp.ones((32, 48)))


@pytest.fixture(scope="module")
def path(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.save(path)
    return path


def find(report, word):
    return next(s for s in report.facts.steps if word in s.title)


# ---------------------------------------------------------------------------------- skeleton


def test_text_is_escaped_and_markup_is_not():
    assert element("p", "a < b & c", title='"x"') == '<p title="&quot;x&quot;">a &lt; b &amp; c</p>'
    assert element("p", Markup("<b>x</b>"), "<i>") == "<p><b>x</b>&lt;i&gt;</p>"
    assert element("p", hidden=True, class_="a", data_open=None) == '<p hidden class="a"></p>'


def test_tables_align_numbers():
    made = table(("name", ">count"), [("a<b", "3")])
    assert "<th>name</th>" in made and '<td class="number">3</td>' in made
    assert "a&lt;b" in made


def test_data_cannot_end_the_script():
    made = page("t", [Section("A", Markup(""))], data={"k": {"loops": "</script><!-- i < 3"}})
    assert made.count("</script>") == 2
    assert "\\u003c/script>\\u003c!-- i \\u003c 3" in made


class _Checker(html.parser.HTMLParser):
    VOID = {"meta", "br", "hr", "img", "input", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.opens, self.loads = [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if "data-open" in attributes:
            self.opens.append(attributes["data-open"])
        self.loads += [attributes[k] for k in ("src", "href", "srcset") if k in attributes]
        assert tag not in ("link", "img", "iframe", "base"), tag

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(report):
    text = report.to_html()
    checker = _Checker()
    checker.feed(text)
    assert not checker.open and not checker.loads
    assert len(set(checker.ids)) == len(checker.ids)
    assert set(checker.opens) <= set(checker.ids)
    assert {f"step{s.id}" for s in report.facts.steps} <= set(checker.ids)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", text)


def test_a_large_program_is_not_drawn():
    def function(x):
        for k in range(210):
            x = jnp.sort(x) + k
        return x

    text = frit.explain(function)(jnp.ones(100)).to_html()
    assert "too many to draw" in text


# ----------------------------------------------------------------------------------- browser


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def opened(request, path):
    need_chromium()
    with browser(*request.param) as shown:
        shown.open(path)
        yield shown
        assert not shown.errors


def test_it_fits_the_screen(opened):
    width = opened.evaluate("innerWidth")
    assert width in (390, 1280)
    assert opened.evaluate("document.documentElement.scrollWidth") == width
    assert opened.text("h1") == "model: one call"
    # Sections do not cover each other, and text is large enough to read.
    tops = opened.evaluate(
        "[...document.querySelectorAll('section')].map(s => {"
        "const r = s.getBoundingClientRect(); return [r.top, r.bottom]})"
    )
    assert all(a[1] <= b[0] for a, b in zip(tops, tops[1:], strict=False))
    assert opened.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 14


def test_clicking_through_the_panels(opened, report):
    for step in report.facts.steps:
        own = f"#step{step.id}"
        opened.click(f"main button.row[data-open=step{step.id}]")
        assert opened.visible(own)
        assert opened.evaluate("document.querySelectorAll('.panel:not([hidden])').length") == 1
        text = opened.text(own)
        assert f"{step.id} · {step.title}" in text
        assert all(s.code in text for s in step.sources)
        if step.kernel:
            opened.click(f"{own} [role=tab]:nth-child(2)")
            assert f"@{step.kernel}(" in opened.text(f"{own} .tabbed pre")
            opened.click(f"{own} [role=tab]:nth-child(3)")
            assert "ret" in opened.text(f"{own} .tabbed pre")
            opened.click(f"{own} [role=tab]:nth-child(1)")
            assert opened.text(f"{own} .tabbed pre").startswith(f"kernel {step.kernel}(")
        opened.click(".close")
        assert not opened.visible(own)


def test_the_graph_opens_panels_and_shows_neighbours(opened, report):
    step = find(report, "sgemm")
    opened.click(f"main .graph g[data-open=step{step.id}] rect.box")
    assert opened.visible(f"#step{step.id}")
    edges = [e for e in report.facts.edges if step.id in (e.source, e.target)]
    assert opened.evaluate("document.querySelectorAll('main path.near').length") == len(
        {(e.source, e.target) for e in edges}
    )
    reader = next(e.target for e in edges if e.source == step.id)
    opened.click(f"#step{step.id} .chip[data-open=step{reader}]")
    assert opened.visible(f"#step{reader}") and not opened.visible(f"#step{step.id}")
    opened.press("Escape")
    assert not opened.visible(f"#step{reader}")


def test_the_body_of_a_loop_has_its_own_graph(opened, report):
    loop = find(report, "repeat 64")
    inner = next(s for s in report.facts.steps if s.parent == loop.id and "sort" in s.title)
    opened.click(f"main button.row[data-open=step{loop.id}]")
    opened.click(f"#step{loop.id} .graph g[data-open=step{inner.id}] rect.box")
    assert opened.visible(f"#step{inner.id}")
    assert inner.runs == 64 and "64" in opened.text(f"#step{inner.id} dl")


def test_keys_open_what_is_drawn(opened, report):
    step = find(report, "sgemm")
    opened.evaluate(f"document.querySelector('.graph g[data-open=step{step.id}]').focus()")
    opened.press("Enter")
    assert opened.visible(f"#step{step.id}")
    opened.press("Escape")
    assert not opened.visible(f"#step{step.id}")


def test_sections_name_reasons_rewrites_and_lines(opened):
    assert "sub(x, neg(y)) -> add(x, y)" in opened.text("#rewrites")
    assert "before any of it can be read" in opened.text("#not-fused")
    assert "hidden = jnp.tanh(x @ w)" in opened.text("#lines")
    assert opened.evaluate("document.querySelectorAll('#roofline circle').length") > 0
    opened.click("#optimized-jaxpr summary")
    assert "lambda" in opened.text("#optimized-jaxpr pre")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_in_light_and_dark(path, dark):
    need_chromium()
    with browser(*DESKTOP, dark=dark) as shown:
        shown.open(path)
        for selector in ("h1", ".note", "button.row .name", "th", ".graph text"):
            name = "fill" if "text" in selector else "color"
            ink = shown.evaluate(f"getComputedStyle(document.querySelector({selector!r})).{name}")
            ground = shown.evaluate("getComputedStyle(document.querySelector('section'))"
                                    ".backgroundColor")  # fmt: skip
            assert contrast(ink, ground) >= 4.5, (selector, ink, ground)
        assert (luminance(ground) < 0.2) is dark


def luminance(colour):
    """Relative luminance of `rgb(r, g, b)`. Source: WCAG 2."""
    parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_page_without_panels_has_no_side():
    made = page("t", [Section("A", Markup("x"), closed=True)])
    assert "<aside" not in made and "<details>" in made
    panel = Panel("p1", "One", tabs([("a", "k/a"), ("b", "k/b")]))
    made = page("t", [Section("A", link("p1", "go"))], panels=[panel], data={"k": {"a": "1"}})
    assert 'data-open="p1"' in made and '<article id="p1" class="panel" hidden>' in made
