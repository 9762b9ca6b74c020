"""Rewrites of loop functions that keep their meaning and order of sums.

So far: `prune`, which drops what nothing reads. Tiling, interchange and parallel loops have their
place here.
"""

from __future__ import annotations

from typing import Any

from frit.codegen.loops import (
    Apply,
    At,
    Body,
    Broadcast,
    Call,
    For,
    Function,
    If,
    Load,
    Reduce,
    Select,
    Shuffle,
    Store,
    Update,
    While,
    bodies_of,
)

PURE = (Apply, Broadcast, Load, Reduce, Select, Shuffle)


def prune(function: Function) -> Any:
    """`function` without the values that nothing reads and the loops that then do nothing."""
    _prune(function.body, set())
    return function


def _prune(body: Body, used: Any) -> None:
    """Drops the dead items of a body, last to first; adds to `used` the ids of what it reads."""
    for value in body.yields:
        _use(value, used)
    kept = []
    for item in reversed(body.items):
        if isinstance(item, PURE):
            if id(item) not in used:
                continue
        elif isinstance(item, (For, While, If)):
            for inner in bodies_of(item):
                _prune(inner, used)
            unread = not any(id(result) in used for result in item.results)
            if not isinstance(item, While) and unread and not any(i.items for i in bodies_of(item)):
                continue
        for value in _operands(item):
            _use(value, used)
        kept.append(item)
    kept.reverse()
    body.items = kept


def _use(value: Any, used: Any) -> None:
    if isinstance(value, At):
        used.update(id(term) for _, term in value.terms)
    elif value is not None:
        used.add(id(value))


def _operands(item: Any) -> Any:
    match item:
        case Load(at=at, mask=mask):
            return (at, mask)
        case Apply(operands=operands):
            return operands
        case Select(condition=condition, on_true=x, on_false=y):
            return (condition, x, y)
        case Broadcast(operand=operand) | Reduce(operand=operand):
            return (operand,)
        case Shuffle(x=x, y=y):
            return (x, y)
        case Store(at=at, value=value, mask=mask) | Update(at=at, value=value, mask=mask):
            return (at, value, mask)
        case For(extent=extent, initial=initial):
            return initial if isinstance(extent, int) else (extent, *initial)
        case While(initial=initial):
            return initial
        case If(condition=condition):
            return (condition,)
        case Call(arguments=arguments):
            return [a[1] if isinstance(a, tuple) else a for a in arguments]
    return ()
