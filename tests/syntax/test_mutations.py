"""Changes that a block makes to what it can reach are seen, named and put back."""

from __future__ import annotations

import pytest

from frit.syntax import Watch


class Thing:
    def __init__(self):
        self.n = 0


counter = 0
known = {"a": [1, 2]}


def bump():
    global counter
    counter += 1


def cases():
    rows, table, members, thing = [1], {"k": 1}, {1}, Thing()
    nested = {"deep": [Thing()]}
    n = 0

    def step():
        nonlocal n
        n += 1

    return {
        "rows": lambda: rows.append(2),
        "table['k']": lambda: table.update(k=2),
        "members": lambda: members.add(2),
        "thing.n": lambda: setattr(thing, "n", 5),
        "nested['deep'][0].n": lambda: setattr(nested["deep"][0], "n", 5),
        "n": lambda: step(),
        "counter": lambda: bump(),
        "known['a']": lambda: known["a"].pop(),
        "thing.m": lambda: setattr(thing, "m", 1),
    }


@pytest.mark.parametrize("path", list(cases()))
def test_changes_are_named_and_put_back(path):
    block = cases()[path]
    watch = Watch([block])
    assert watch.changed() == []
    block()
    assert watch.changed() == [path]
    watch.restore()
    assert watch.changed() == []
