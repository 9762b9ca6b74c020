"""Places of a graph's nodes: edges lead down, nodes do not overlap."""

import random

from frit.diagnostics.graph_layout import layered

BOX = {"width": 100.0, "height": 40.0, "gap": 30.0}


def check(count, edges):
    layout = layered(count, edges, **BOX)
    assert len(layout.nodes) == count and len(layout.edges) == len(edges)
    for (source, target), points in zip(edges, layout.edges, strict=True):
        assert points[0] == (layout.nodes[source][0], layout.nodes[source][1] + BOX["height"])
        assert points[-1] == layout.nodes[target]
        assert all(a[1] < b[1] for a, b in zip(points, points[1:], strict=False))
    for k, (x, y) in enumerate(layout.nodes):
        assert BOX["width"] / 2 <= x <= layout.width - BOX["width"] / 2
        assert 0 <= y <= layout.height - BOX["height"]
        for u, v in layout.nodes[:k]:
            assert v != y or abs(u - x) >= BOX["width"]
    return layout


def test_a_chain_is_a_column():
    layout = check(4, [(0, 1), (1, 2), (2, 3)])
    assert len({x for x, _ in layout.nodes}) == 1


def test_nothing_and_single_nodes():
    check(0, [])
    check(1, [])
    assert len({y for _, y in check(3, []).nodes}) == 1


def test_a_source_stands_above_its_reader():
    layout = check(4, [(0, 1), (1, 2), (2, 3)])
    late = check(5, [(0, 1), (1, 2), (2, 4), (3, 4)])
    assert late.nodes[3][1] == layout.nodes[2][1]


def test_long_edges_go_round_what_is_between():
    layout = check(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    through = layout.edges[3]
    assert len(through) == 6
    for k in (1, 2):
        assert all(abs(x - layout.nodes[k][0]) > BOX["width"] / 2 for x, _ in through[1:-1])


def test_random_graphs():
    made = random.Random(1)
    for _ in range(20):
        count = made.randrange(2, 40)
        edges = {tuple(sorted(made.sample(range(count), 2))) for _ in range(2 * count)}
        check(count, sorted(edges))


def test_very_long_edges_are_straight():
    count = 300
    chain = [(k, k + 1) for k in range(count - 1)]
    layout = layered(count, [*chain, *((k, count - 1) for k in range(0, 200, 2))], **BOX)
    assert max(map(len, layout.edges)) == 2
