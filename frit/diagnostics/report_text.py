"""Facts of a call as tables, and tables as plain text or for rich.

table = title, columns, rows of text, a note
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from frit.diagnostics.facts import COMPOSITE, Facts, Step
from frit.diagnostics.quantities import count_text, size_text, time_text

WIDTH = 100


@dataclass(frozen=True)
class Table:
    """Rows of text; columns whose name begins with `>` are numbers, at the right."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""


def share_text(share: float | None) -> str:
    """A share of the roofline; small data that is still in a nearer cache may pass it."""
    return "" if share is None else f"{100 * share:.0f} %"


def depth_of(facts: Facts, step: Step) -> int:
    """In how many bodies a step is."""
    depth = 0
    while step.parent is not None:
        step, depth = facts.steps[step.parent], depth + 1
    return depth


def headline(facts: Facts) -> list[str]:
    """What the call was and what it cost, in a few lines."""
    steps = facts.kernel_steps
    inside = sum(s.seconds for s in facts.steps if s.parent is None)
    lines = [f"{facts.function} at {facts.place}" if facts.place else facts.function]
    if facts.arguments:
        lines.append(", ".join(facts.arguments))
    runs = "measured once" if facts.measured_runs == 1 else "the fastest of many calls"
    moved, flops = sum(s.moved for s in steps), sum(s.flops for s in steps)
    lines.append(
        f"One call takes {time_text(facts.seconds)} ({runs}), {time_text(inside)} of it in "
        f"{len(steps)} steps; it moves {size_text(moved)}, computes {count_text(flops)}flop, and "
        f"has an arena of {size_text(facts.arena_bytes)}."
    )
    return lines


def stage_table(facts: Facts) -> Table:
    rows = [(s.name, time_text(s.seconds), s.size) for s in facts.stages]
    return Table("Stages", ("stage", ">time", "result"), rows)


def rewrite_table(facts: Facts) -> Table:
    """Passes that changed the program, and rules with their counts."""
    rows = [
        (name, f"{before:,} -> {after:,} equations", "")
        for name, before, after in facts.passes
        if before != after
    ]
    rows += [
        (r.rule if r.exact else f"{r.rule} (fast_math)", "", f"{r.count:,}") for r in facts.rewrites
    ]
    return Table("Rewrites", ("pass or rule", "equations", ">applied"), rows)


def step_table(facts: Facts) -> Table:
    """Every step, in order; those of a loop's body below it."""
    total = sum(s.seconds for s in facts.steps if s.parent is None) or 1.0
    rows = [
        (
            str(s.id),
            "  " * depth_of(facts, s)
            + (s.title if s.kind != "library" else f"{s.title} (library)"),
            f"{s.runs:,}",
            time_text(s.seconds),
            f"{100 * s.seconds / total:.0f} %",
            size_text(s.moved) if s.moved else "",
            ("" if s.exact else "~") + count_text(s.flops) if s.flops else "",
            s.bound,
            share_text(s.share),
        )
        for s in facts.steps
    ]
    return Table(
        "Steps",
        (">#", "step", ">runs", ">time", ">of all", ">moved", ">flop", "bound by", ">of roofline"),
        rows,
    )


def edge_table(facts: Facts) -> Table:
    """Values that went through memory between two steps, and why; one row a value."""
    readers: dict[tuple[int, str, str], list[int]] = {}
    for e in facts.edges:
        readers.setdefault((e.source, e.type, e.why), []).append(e.target)
    rows = [
        (f"{source} -> {', '.join(map(str, sorted(set(targets))))}", type_, why)
        for (source, type_, why), targets in readers.items()
    ]
    return Table("Not fused", ("steps", "value", "in memory because"), rows)


def source_table(facts: Facts) -> Table:
    """Time by line of the user's code; a step of several lines counts for each."""
    spent: dict[tuple[str, int, str], float] = {}
    for s in facts.steps:
        if s.kind in COMPOSITE:
            continue
        for source in s.sources:
            if source.file:
                key = (source.file, source.line, source.code)
                spent[key] = spent.get(key, 0.0) + s.seconds
    rows = [
        (f"{file.rsplit('/', 1)[-1]}:{line}", code, time_text(seconds))
        for (file, line, code), seconds in sorted(spent.items(), key=lambda item: -item[1])
    ]
    note = "A step that several lines share counts for each of them." if rows else ""
    return Table("Lines", ("line", "code", ">time of its steps"), rows, note)


def machine_table(facts: Facts) -> Table:
    """What the machine was measured to do."""
    machine = facts.machine
    rows = [
        ("processor", f"{machine['cpu']}, {machine['cores']} cores, {machine['vector_bits']} bits"),
        *(
            (f"bandwidth, {size_text(m['bytes'])}", f"{count_text(m['bytes_per_second'])}B/s")
            for m in machine["bandwidth"]
        ),
        *(
            (f"{dtype}, {kind}", f"{count_text(speed)}flop/s")
            for dtype, peaks in machine["flops_per_second"].items()
            for kind, speed in peaks.items()
        ),
    ]
    return Table("Machine, as measured", ("what", ">found"), rows)


def tables(facts: Facts) -> list[Table]:
    """All tables of a report that have rows."""
    made = [
        stage_table(facts), rewrite_table(facts), step_table(facts), edge_table(facts),
        source_table(facts), machine_table(facts),
    ]  # fmt: skip
    return [t for t in made if t.rows]


def details(facts: Facts) -> list[tuple[str, str]]:
    """The texts of the program: jaxpr, optimized jaxpr, the loops of each kernel."""
    return [
        ("jaxpr", facts.jaxpr),
        ("optimized jaxpr", facts.optimized),
        *((f"loops of {name}", k.loops) for name, k in facts.kernels.items()),
    ]


# -------------------------------------------------------------------------------------- plain


def plain_text(facts: Facts, *, detail: bool = False) -> str:
    """The report in plain text, at most `WIDTH` wide but for long names."""
    parts = ["\n".join(textwrap.fill(line, WIDTH) for line in headline(facts))]
    parts += map(plain_table, tables(facts))
    if detail:
        parts += [f"{title}\n{textwrap.indent(text, '  ')}" for title, text in details(facts)]
    return "\n\n".join(parts)


def plain_table(table: Table) -> str:
    """A table in columns; the widest column that is no number is wrapped."""
    columns = [name.removeprefix(">") for name in table.columns]
    right = [name.startswith(">") for name in table.columns]
    widths = [
        max(len(row[k]) for row in [tuple(columns), *table.rows]) for k in range(len(columns))
    ]
    flexible = max(range(len(columns)), key=lambda k: 0 if right[k] else widths[k])
    room = WIDTH - 2 * len(columns) - sum(w for k, w in enumerate(widths) if k != flexible)
    widths[flexible] = min(widths[flexible], max(24, room))
    lines = [table.title]
    for row in [tuple(columns), *table.rows]:
        indent = " " * (len(row[flexible]) - len(row[flexible].lstrip()))
        wrapped = textwrap.wrap(row[flexible], widths[flexible], subsequent_indent=indent) or [""]
        for number, piece in enumerate(wrapped):
            cells = [c if not number else "" for c in row]
            cells[flexible] = piece
            padded = [
                c.rjust(w) if r else c.ljust(w)
                for c, w, r in zip(cells, widths, right, strict=True)
            ]
            lines.append(("  " + "  ".join(padded)).rstrip())
    if table.note:
        lines.append("  " + table.note)
    return "\n".join(lines)


# --------------------------------------------------------------------------------------- rich


def rich_report(facts: Facts) -> Any:
    """The report for `rich.print`."""
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    first, *rest = headline(facts)
    parts: list[Any] = [Text(first, style="bold"), *map(Text, rest)]
    for table in tables(facts):
        made = RichTable(title=table.title, title_justify="left", caption=table.note or None)
        for name in table.columns:
            number = name.startswith(">")
            made.add_column(name.removeprefix(">"), justify="right" if number else "left")
        for row in table.rows:
            made.add_row(*map(Text, row))
        parts += [Text(""), made]
    return Group(*parts)
