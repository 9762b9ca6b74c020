"""Facts of a call as a page: figures, timeline, graph, roofline, lines, a panel for each step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from frit.diagnostics import report_text
from frit.diagnostics.facts import COMPOSITE, Edge, Facts, Source, Step
from frit.diagnostics.graph_layout import layered
from frit.diagnostics.page import (
    Markup,
    Panel,
    Section,
    bar,
    code,
    element,
    joined,
    link,
    page,
    table,
    tabs,
    tiles,
)
from frit.diagnostics.page import (
    facts as fact_list,
)
from frit.diagnostics.quantities import count_text, size_text, time_text
from frit.diagnostics.report_text import depth_of, share_text

BOX = (168.0, 44.0)
GAP = 34.0
MOST_NODES = 400  # more than a drawing can show


def page_of(facts: Facts) -> str:
    """The page of a report."""
    lead = joined(
        (
            element("p", facts.place, class_="note") if facts.place else "",
            element("code", ", ".join(facts.arguments)) if facts.arguments else "",
        )
    )
    sections = [
        Section("Summary", joined((_summary(facts), _stages(facts)))),
        Section(
            "Timeline",
            _timeline(facts),
            "Each step in the order in which it runs. The bar is its measured time, the dark part "
            "the least time that this machine would need for its bytes and flops. Choose a step to "
            "see its lines and its code.",
        ),
        *_graph_section(facts),
        Section(
            "Roofline",
            _chart(facts),
            "Flops a second over flops a byte. Upper line: data in the nearest cache, dashed: in "
            "memory; both as measured here, by generated code.",
        ),
        *_tables(facts),
        Section("Jaxpr", code(facts.jaxpr), "As traced.", closed=True),
        Section("Optimized jaxpr", code(facts.optimized), "What is compiled.", closed=True),
    ]
    data = {
        name: {"loops": k.loops, "llvm": k.llvm, "assembly": k.assembly}
        for name, k in facts.kernels.items()
    }
    panels = [_panel(facts, step) for step in facts.steps]
    return page(f"{facts.function}: one call", sections, lead=lead, panels=panels, data=data)


def _summary(facts: Facts) -> Markup:
    steps = facts.kernel_steps
    compile_seconds = sum(s.seconds for s in facts.stages)
    equations = facts.stages[0].size
    final = facts.passes[-1][2] if facts.passes else 0
    runs = "measured once" if facts.measured_runs == 1 else "fastest of many"
    moved, flops = sum(s.moved for s in steps), sum(s.flops for s in steps)
    seconds = max(facts.seconds, 1e-9)
    return tiles(
        (
            ("one call", time_text(facts.seconds), runs),
            ("steps", str(len(steps)), f"of {len(facts.kernels)} kernels"),
            ("moved", size_text(moved), f"{count_text(moved / seconds)}B/s"),
            ("computed", f"{count_text(flops)}flop", f"{count_text(flops / seconds)}flop/s"),
            ("arena", size_text(facts.arena_bytes), "memory between steps"),
            ("compiled in", time_text(compile_seconds), f"{equations} -> {final}"),
        )
    )  # fmt: skip


def _stages(facts: Facts) -> Markup:
    most = max((s.seconds for s in facts.stages), default=0.0) or 1.0
    rows = [
        (s.name, bar(s.seconds / most, kind="other"), time_text(s.seconds), s.size)
        for s in facts.stages
    ]
    made = table(("stage", "", ">time", "result"), rows)
    return joined((element("h3", "Stages of the compiler"), made))


def _style_of(step: Step) -> str:
    if step.kind in COMPOSITE:
        return "loop"
    return step.kind if step.kind in ("kernel", "library") else "other"


def _timeline(facts: Facts) -> Markup:
    total = sum(s.seconds for s in facts.steps if s.parent is None) or 1.0
    most = max((s.seconds for s in facts.steps), default=0.0) or 1.0
    legend = element(
        "div",
        *(
            element("span", name, style=f"--swatch:var(--{colour})")
            for name, colour in (
                ("kernel", "kernel"), ("library", "library"), ("loop or branch", "loop"),
                ("other", "other"), ("needed at least", "kernel-part"),
            )
        ),
        class_="legend note",
    )  # fmt: skip
    rows = [
        link(
            f"step{s.id}",
            element("span", s.id, class_="index"),
            element(
                "span", s.title, class_="name", style=f"padding-left:{14 * depth_of(facts, s)}px"
            ),
            bar(s.seconds / most, s.share, _style_of(s)),
            element("span", time_text(s.seconds), class_="figure"),
            element("span", f"{100 * s.seconds / total:.0f} %", class_="figure note"),
            class_="row",
            title=f"{s.title}, {share_text(s.share)} of the roofline" if s.share else s.title,
        )
        for s in facts.steps
    ]  # fmt: skip
    return joined((legend, element("div", *rows, class_="rows")))


# -------------------------------------------------------------------------------------- graph


def _graph_section(facts: Facts) -> list[Section]:
    top = [s for s in facts.steps if s.parent is None]
    if not top:
        return []
    note = "An arrow is a value that goes through memory; point at it to see why."
    return [Section("Kernels", _graph(facts, top), note)]


def _graph(facts: Facts, steps: Sequence[Step]) -> Markup:
    """The steps of one body and the values between them, as a drawing."""
    if len(steps) > MOST_NODES:
        return element("p", f"{len(steps):,} steps: too many to draw. The timeline has them all.")
    number = {s.id: k for k, s in enumerate(steps)}
    between: dict[tuple[int, int], list[Edge]] = {}
    for e in facts.edges:
        if e.source in number and e.target in number:
            between.setdefault((number[e.source], number[e.target]), []).append(e)
    width, height = BOX
    layout = layered(len(steps), list(between), width=width, height=height, gap=GAP)
    most = max((s.seconds for s in steps), default=0.0) or 1.0
    paths = [
        element(
            "path",
            element("title", "\n".join(dict.fromkeys(f"{e.type}: {e.why}" for e in edges))),
            d=_path(points),
            data_ends=f"step{steps[source].id} step{steps[target].id}",
        )
        for ((source, target), edges), points in zip(between.items(), layout.edges, strict=True)
    ]
    boxes = [_box(s, x, y, s.seconds / most) for s, (x, y) in zip(steps, layout.nodes, strict=True)]
    size = f"{layout.width:.0f} {layout.height:.0f}"
    drawing = element(
        "svg", *paths, *boxes, viewBox=f"0 0 {size}", width=f"{layout.width:.0f}",
        height=f"{layout.height:.0f}", role="group", aria_label="graph of kernels",
    )  # fmt: skip
    return element("div", drawing, class_="graph", tabindex="0")


def _path(points: Sequence[tuple[float, float]]) -> str:
    """A curve that leaves and enters nodes from above; straight in between."""
    (x, y), *rest = points
    parts = [f"M{x:.1f} {y:.1f}"]
    for k, (u, v) in enumerate(rest):
        middle = (y + v) / 2
        straight = k % 2 == 1 or x == u
        parts.append(
            f"L{u:.1f} {v:.1f}" if straight
            else f"C{x:.1f} {middle:.1f} {u:.1f} {middle:.1f} {u:.1f} {v:.1f}"
        )  # fmt: skip
        x, y = u, v
    return "".join(parts)


def _box(step: Step, x: float, y: float, heat: float) -> Markup:
    width, height = BOX
    left = x - width / 2
    name = step.title if len(step.title) <= 22 else step.title[:21] + "…"
    inside = width - 8
    return element(
        "g",
        element("title", step.title),
        element(
            "rect", x=f"{left:.1f}", y=f"{y:.1f}", width=width, height=height, rx=6, class_="box"
        ),
        element("text", name, x=f"{x:.1f}", y=f"{y + 18:.1f}", text_anchor="middle"),
        element(
            "text", f"{step.id} · {time_text(step.seconds)}", x=f"{x:.1f}", y=f"{y + 33:.1f}",
            text_anchor="middle", class_="small",
        ),
        element(
            "rect", x=f"{left + 4:.1f}", y=f"{y + height - 6:.1f}", width=f"{inside * heat:.1f}",
            height=3, rx=1.5, class_="heat",
        ),
        class_=_style_of(step), data_open=f"step{step.id}", tabindex="0", role="button",
        aria_label=f"step {step.id}: {step.title}",
    )  # fmt: skip


# ----------------------------------------------------------------------------------- roofline


def _chart(facts: Facts) -> Markup:
    """Kernels in the plane of intensity and speed, under what the machine can do."""
    points = [
        (s, s.flops / s.moved, s.flops / s.seconds)
        for s in facts.kernel_steps
        if s.flops and s.moved and s.share is not None
    ]
    if not points:
        return element("p", "No step was long enough to measure, or none computes with floats.")
    speeds = [m["bytes_per_second"] for m in facts.machine["bandwidth"]]
    peaks = facts.machine["flops_per_second"]
    peak = max(v for kinds in peaks.values() for v in kinds.values())
    low_x = min(0.05, *(i for _, i, _ in points)) / 1.5
    high_x = max(peak / speeds[-1] * 4, *(i for _, i, _ in points)) * 1.2
    low_y, high_y = min(v for *_, v in points) / 3, peak * 2
    width, height, left, bottom = 720.0, 330.0, 58.0, 34.0

    def at(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / low_x) / math.log(high_x / low_x)
        up = math.log(max(y, low_y) / low_y) / math.log(high_y / low_y)
        return left + across * (width - left - 10), (height - bottom) * (1 - up)

    grid: list[Markup] = []
    for power in range(math.ceil(math.log10(low_x)), math.floor(math.log10(high_x)) + 1):
        x, _ = at(10.0**power, low_y)
        grid.append(element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=0, y2=height - bottom))
        grid.append(_label(f"{10.0**power:g}", x, height - bottom + 16, "middle"))
    for power in range(math.ceil(math.log10(low_y)), math.floor(math.log10(high_y)) + 1):
        _, y = at(low_x, 10.0**power)
        grid.append(element("line", x1=left, x2=width - 10, y1=f"{y:.1f}", y2=f"{y:.1f}"))
        grid.append(_label(f"{count_text(10.0**power)}", left - 6, y + 4, "end"))
    grid.append(_label("flop a byte", width - 10, height - 2, "end"))
    grid.append(_label("flop/s", 4, 12, "start"))
    roofs = [
        _roof(at, speed, peak, low_x, high_x, far)
        for speed, far in ((speeds[0], ""), (speeds[-1], " far"))
    ]
    total = max((s.seconds for s, *_ in points), default=1.0)
    dots = [
        element(
            "circle", element("title", f"{s.id} {s.title}: {share_text(s.share)} of the roofline"),
            cx=f"{at(i, v)[0]:.1f}", cy=f"{at(i, v)[1]:.1f}",
            r=f"{4 + 9 * math.sqrt(s.seconds / total):.1f}", class_=_style_of(s),
            data_open=f"step{s.id}", tabindex="0", role="button",
            aria_label=f"step {s.id}: {s.title}",
        )
        for s, i, v in sorted(points, key=lambda p: -p[0].seconds)
    ]  # fmt: skip
    drawing = element(
        "svg", *grid, *roofs, *dots, viewBox=f"0 0 {width:.0f} {height:.0f}", role="group",
        aria_label="roofline",
    )  # fmt: skip
    return element("div", drawing, class_="chart")


def _roof(at: Any, speed: float, peak: float, low: float, high: float, far: str) -> Markup:
    ridge = min(max(peak / speed, low), high)
    points = [at(low, low * speed), at(ridge, min(peak, ridge * speed)), at(high, peak)]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return element("path", d=path, class_=f"roof{far}")


def _label(text: str, x: float, y: float, anchor: str) -> Markup:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


# ------------------------------------------------------------------------------------- tables


def _tables(facts: Facts) -> list[Section]:
    lines, *rest = (
        Section(t.title, table(t.columns, _marked(t), stack="code" in t.columns), t.note)
        for t in (
            report_text.source_table(facts),
            report_text.rewrite_table(facts),
            report_text.machine_table(facts),
        )
    )
    return [lines, Section("Not fused", _reasons(facts)), *rest]


def _reasons(facts: Facts) -> Markup:
    """Why values are in memory, and which: one item a reason, those of most bytes first."""
    found: dict[str, dict[tuple[int, int], Edge]] = {}
    for e in facts.edges:
        found.setdefault(e.why, {})[e.source, e.target] = e
    if not found:
        return element("p", "Nothing goes through memory between two steps.")
    order = sorted(found.items(), key=lambda item: -sum(e.bytes for e in item[1].values()))
    items = [
        element(
            "li",
            element("p", why[0].upper() + why[1:] + ":"),
            _chips(
                (
                    e.target,
                    f"{e.source} → {e.target}",
                    e.type,
                    f"{_title(facts, e.source)} → {_title(facts, e.target)}",
                )
                for e in edges.values()
            ),
        )
        for why, edges in order
    ]
    return element("ul", *items, class_="reasons")


def _chips(entries: Iterable[tuple[int, str, str, str]]) -> Markup:
    """Buttons that open steps: (step, text, type, more)."""
    return element(
        "div",
        *(
            link(f"step{step}", text + " ", element("code", type_), class_="chip", title=more)
            for step, text, type_, more in entries
        ),
        class_="chips",
    )


def _title(facts: Facts, step: int) -> str:
    return f"{step} {facts.steps[step].title}"


def _marked(made: report_text.Table) -> list[list[Any]]:
    """Rows whose columns of code are set as code."""
    program = {"code", "pass or rule"}
    return [
        [
            element("code", cell) if name in program and cell else cell
            for name, cell in zip(made.columns, row, strict=True)
        ]
        for row in made.rows
    ]


# ------------------------------------------------------------------------------------- panels


def _panel(facts: Facts, step: Step) -> Panel:
    inner = [s for s in facts.steps if s.parent == step.id]
    parts = [
        _figures(step),
        *_sources(step.sources),
        *([element("h3", "Its body"), _graph(facts, inner)] if inner else []),
        *_neighbours(facts, step),
    ]
    if step.kernel:
        texts = facts.kernels[step.kernel]
        keys = [("loops", "loops"), ("LLVM", "llvm"), ("assembly", "assembly")]
        parts.append(
            tabs([(name, f"{step.kernel}/{key}") for name, key in keys if getattr(texts, key)])
        )
    return Panel(f"step{step.id}", f"{step.id} · {step.title}", joined(parts))


def _figures(step: Step) -> Markup:
    """What a step took, did, reads and writes."""
    about = "" if step.exact else "about "
    each = f" ({time_text(step.seconds / step.runs)} each)" if step.runs > 1 else ""
    pairs: list[tuple[str, Any]] = [
        ("kind", step.kind if step.kernel is None else element("code", step.kernel)),
        ("time", f"{time_text(step.seconds)}{each}"),
        ("runs", f"{step.runs:,}"),
    ]
    if step.moved:
        sides = f"{size_text(step.bytes_read)} read, {size_text(step.bytes_written)} written"
        pairs.append(("bytes", about + sides))
    if step.flops:
        pairs.append(("flops", f"{about}{count_text(step.flops)} ({step.dtype})"))
    if step.bound:
        pairs.append(("bound by", f"{step.bound}; at least {time_text(step.attainable)}"))
    if step.share is not None:
        pairs.append(("of roofline", share_text(step.share)))
    for name, types in (("reads", step.reads), ("writes", step.writes)):
        if types:
            pairs.append((name, element("code", ", ".join(types))))
    return fact_list(pairs)


def _sources(sources: Sequence[Source]) -> list[Markup]:
    """The user's lines, each with the operations that come from it."""
    if not sources:
        return []
    made = [
        element(
            "div",
            element(
                "p", f"{s.file}:{s.line} in {s.function}" if s.file else "no line", class_="note"
            ),
            element("code", s.code) if s.code else "",
            element("p", ", ".join(s.operations), class_="note"),
            class_="source",
        )
        for s in sources
    ]  # fmt: skip
    return [element("h3", "Lines"), *made]


def _neighbours(facts: Facts, step: Step) -> list[Markup]:
    """Links to the steps that write what it reads, and read what it writes, with the reasons."""
    parts: list[Markup] = []
    for heading, mine, other in (
        ("Reads from", "target", "source"),
        ("Read by", "source", "target"),
    ):
        found: dict[str, dict[tuple[int, str], None]] = {}
        for e in facts.edges:
            if getattr(e, mine) == step.id:
                found.setdefault(e.why, {})[getattr(e, other), e.type] = None
        if found:
            items = [
                element(
                    "li",
                    element("p", f"not one kernel, since {why}", class_="note"),
                    _chips((n, _title(facts, n), type_, "") for n, type_ in near),
                )
                for why, near in found.items()
            ]
            parts += [element("h3", heading), element("ul", *items, class_="reasons")]
    return parts
