"""One self-contained HTML page: a skeleton for every report.

    page(title, sections, lead=..., panels=..., data=...) -> text of the page
    section = title, body, a note          body = Markup, made by `table`, `tiles`, `bars`, ...
    panel   = what a click on [data-open="id"] shows, beside the page or over it on a small screen

Nothing is loaded from elsewhere: style, script and drawings are in the page. Colours follow the
reader's light or dark setting. What is not Markup is escaped.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from frit.diagnostics.page_style import SCRIPT, STYLE


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(value: Any) -> Markup:
    """A value as HTML: Markup as it is, all else escaped."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def joined(parts: Iterable[Any], between: str = "") -> Markup:
    """Parts one after another."""
    return Markup(between.join(map(escaped, parts)))


def element(tag: str, *content: Any, **attributes: Any) -> Markup:
    """An element; `class_` is class, an underscore in other names is a hyphen, None leaves out."""
    texts = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        texts.append(f" {name}" if value is True else f' {name}="{html.escape(str(value))}"')
    return Markup(f"<{tag}{''.join(texts)}>{joined(content)}</{tag}>")


@dataclass(frozen=True)
class Section:
    """A part of a page, with a heading; closed: folded until it is clicked."""

    title: str
    body: Markup
    note: str = ""
    closed: bool = False

    def render(self) -> Markup:
        note = element("p", self.note, class_="note") if self.note else ""
        name = "-".join("".join(c if c.isalnum() else " " for c in self.title.lower()).split())
        if self.closed:
            head = element("summary", element("h2", self.title))
            return element("section", element("details", head, note, self.body), id=name)
        return element("section", element("h2", self.title), note, self.body, id=name)


@dataclass(frozen=True)
class Panel:
    """What a click on something with `data-open` of this id shows."""

    id: str
    title: str
    body: Markup

    def render(self) -> Markup:
        return element(
            "article", element("h2", self.title), self.body, id=self.id, class_="panel", hidden=True
        )


def page(
    title: str,
    sections: Sequence[Section],
    *,
    lead: Any = "",
    panels: Sequence[Panel] = (),
    data: Any = None,
) -> str:
    """The text of a page.

    lead: below the title. data: for `[data-text="a/b"]`, which shows data["a"]["b"] when its panel
    opens; texts that many panels share are in the page once.
    """
    main = element("main", *(s.render() for s in sections))
    close = element("button", "×", class_="close", type="button", aria_label="Close")
    aside = element(
        "aside", close, *(p.render() for p in panels), class_="panels", aria_live="polite"
    )
    head = element("header", element("h1", title), lead)
    # In a script element only the closing tag and a comment would end the text.
    inert = json.dumps(data or {}).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{head}\n"
        f'<div class="columns">\n{main}\n{aside if panels else ""}\n</div>\n'
        f'<script type="application/json" id="data">{inert}</script>\n'
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


# ------------------------------------------------------------------------------------- pieces


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, stack: bool = False) -> Markup:
    """A table; columns whose name begins with `>` are numbers. Wide ones scroll by themselves.

    stack: on a small screen the cells of a row stand below each other, for columns of sentences.
    """
    right = [name.startswith(">") for name in columns]

    def row(tag: str, cells: Sequence[Any]) -> Markup:
        return element(
            "tr",
            *(
                element(tag, cell, class_="number" if r else None)
                for cell, r in zip(cells, right, strict=True)
            ),
        )

    head = element("thead", row("th", [name.removeprefix(">") for name in columns]))
    body = element("tbody", *(row("td", cells) for cells in rows))
    return element("div", element("table", head, body), class_="wide stack" if stack else "wide")


def tiles(facts: Iterable[tuple[str, str, str]]) -> Markup:
    """Figures in boxes: (what, figure, more)."""
    return element(
        "div",
        *(
            element(
                "div",
                element("span", what, class_="what"),
                element("strong", figure),
                element("span", more, class_="more"),
                class_="tile",
            )
            for what, figure, more in facts
        ),
        class_="tiles",
    )


def bar(fraction: float, part: float | None = None, kind: str = "") -> Markup:
    """A bar that fills a fraction of its place; `part` of it (0 to 1) is darker."""
    width = f"width:{100 * min(1.0, max(0.0, fraction)):.2f}%"
    inner = ""
    if part is not None:
        inner = element("i", style=f"width:{100 * min(1.0, max(0.0, part)):.1f}%")
    return element("span", element("b", inner, style=width, class_=kind or None), class_="bar")


def link(panel: str, *content: Any, **attributes: Any) -> Markup:
    """A button that opens a panel."""
    more = attributes.pop("class_", "")
    return element(
        "button", *content, type="button", data_open=panel, class_=f"link {more}".strip(),
        **attributes,
    )  # fmt: skip


def facts(pairs: Iterable[tuple[str, Any]]) -> Markup:
    """Names and values, in two columns."""
    return element(
        "dl", *(joined((element("dt", name), element("dd", value))) for name, value in pairs)
    )


def code(text: str, caption: str = "") -> Markup:
    """Program text as it is, which scrolls by itself."""
    head = element("p", caption, class_="note") if caption else ""
    return joined((head, element("pre", text)))


def tabs(entries: Sequence[tuple[str, str]]) -> Markup:
    """Buttons, each of which shows one text of the page's data: (name, "key/of/text")."""
    buttons = [
        element(
            "button", name, type="button", role="tab", data_show=key,
            aria_selected="true" if not number else "false",
        )
        for number, (name, key) in enumerate(entries)
    ]  # fmt: skip
    first = element("pre", data_text=entries[0][1], tabindex="0")
    return element(
        "div", element("div", *buttons, role="tablist", class_="tabs"), first, class_="tabbed"
    )
