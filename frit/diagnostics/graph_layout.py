"""Where to draw the nodes of an acyclic graph: in layers from top to bottom, by Sugiyama's method.

    1. layer = the longest path from a source; a source stands just above its first reader
    2. an edge over several layers goes through a point in each layer between
    3. in each layer nodes are ordered by the mean place of their neighbours, down and up again
    4. layers are centred

Source: Sugiyama, Tagawa and Toda 1981, with the barycentre heuristic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SWEEPS = 4
MAX_POINTS = 4000  # beyond it long edges are drawn straight


@dataclass(frozen=True)
class Layout:
    """Places: (x of the centre, y of the top) of each node, points of each edge, and the size."""

    nodes: list[tuple[float, float]]
    edges: list[list[tuple[float, float]]]
    width: float
    height: float


def layered(
    count: int, edges: Sequence[tuple[int, int]], *, width: float, height: float, gap: float
) -> Layout:
    """The layout of nodes 0 … count-1, of one size; edges lead from lower to higher numbers.

    gap: between layers; half of it between neighbours.
    """
    layer = [0] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        layer[target] = max(layer[target], layer[source] + 1)
    for source in set(range(count)) - {target for _, target in edges}:
        readers = [layer[target] for s, target in edges if s == source]
        layer[source] = min(readers) - 1 if readers else 0
    chains = _chains(count, edges, layer)
    total = count + sum(len(chain) - 2 for chain in chains)
    level = layer + [0] * (total - count)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=0) + 1)]
    for chain in chains:
        for step, point in enumerate(chain[1:-1], 1):
            level[point] = layer[chain[0]] + step
    for point in range(total):
        rows[level[point]].append(point)
    _order(rows, chains, total)
    widths = [width] * count + [gap / 3] * (total - count)
    spans = [sum(widths[p] + gap / 2 for p in row) for row in rows]
    whole = max(spans, default=0.0)
    x, y = [0.0] * total, [0.0] * total
    for number, (row, span) in enumerate(zip(rows, spans, strict=True)):
        at = (whole - span) / 2 + gap / 4
        for point in row:
            x[point], y[point] = at + widths[point] / 2, gap / 2 + number * (height + gap)
            at += widths[point] + gap / 2
    return Layout(
        [(x[p], y[p]) for p in range(count)],
        [_points(chain, x, y, height) for chain in chains],
        whole,
        len(rows) * (height + gap),
    )


def _chains(count: int, edges: Sequence[tuple[int, int]], layer: Sequence[int]) -> list[list[int]]:
    """Each edge as its ends and a new point in every layer between."""
    between = sum(layer[target] - layer[source] - 1 for source, target in edges)
    chains, free = [], count
    for source, target in edges:
        extra = layer[target] - layer[source] - 1 if between <= MAX_POINTS else 0
        chains.append([source, *range(free, free + extra), target])
        free += extra
    return chains


def _order(rows: list[list[int]], chains: Sequence[Sequence[int]], total: int) -> None:
    above: list[list[int]] = [[] for _ in range(total)]
    below: list[list[int]] = [[] for _ in range(total)]
    for chain in chains:
        for upper, lower in zip(chain, chain[1:], strict=False):
            above[lower].append(upper)
            below[upper].append(lower)
    place = [0.0] * total

    def number(row: list[int]) -> None:
        for k, point in enumerate(row):
            place[point] = k - (len(row) - 1) / 2

    for row in rows:
        number(row)
    for sweep in range(SWEEPS):
        near, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for row in order:
            means = {
                p: sum(place[q] for q in near[p]) / len(near[p]) if near[p] else place[p]
                for p in row
            }
            row.sort(key=means.__getitem__)
            number(row)


def _points(
    chain: Sequence[int], x: Sequence[float], y: Sequence[float], height: float
) -> list[tuple[float, float]]:
    """From the bottom of the first node, straight through each layer between, to the last's top."""
    points = [(x[chain[0]], y[chain[0]] + height)]
    for point in chain[1:-1]:
        points += [(x[point], y[point]), (x[point], y[point] + height)]
    return [*points, (x[chain[-1]], y[chain[-1]])]
