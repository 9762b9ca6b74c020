"""Samples of loops and branches: equations that tracing a small function makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import lax
from tests.samples import equation_of, integers, numbers


def _scan_step(carry: Any, x: Any) -> Any:
    total = lax.add(lax.mul(carry, lax.sin(x)), x)
    return total, lax.mul(total, total)


def _scan(carry: Any, xs: Any, **options: Any) -> Any:
    return lax.scan(_scan_step, carry, xs, **options)


def _matrix_step(carry: Any, x: Any) -> Any:
    return lax.tanh(lax.add(lax.dot(x, carry), carry)), carry


def _with_constant(constant: Any, carry: Any, xs: Any) -> Any:
    return lax.scan(lambda c, x: (lax.mul(c, lax.add(x, constant)), c), carry, xs)


def _counting(count: Any, carry: Any) -> Any:
    """A loop of `count` turns."""
    return lax.while_loop(
        lambda state: lax.lt(state[0], count),
        lambda state: (lax.add(state[0], np.int32(1)), lax.mul(state[1], lax.cos(state[1]))),
        (np.int32(0), carry),
    )


def _until_small(x: Any) -> Any:
    """A loop whose number of turns depends on its value."""
    return lax.while_loop(
        lambda v: lax.gt(v, lax.full_like(v, 0.2)), lambda v: lax.mul(v, lax.full_like(v, 0.7)), x
    )


def _switch(index: Any, x: Any, y: Any) -> Any:
    branches = (
        lambda x, y: lax.mul(x, y),
        lambda x, y: lax.sin(x),
        lambda x, y: lax.add(y, lax.full_like(y, 1)),
    )
    return lax.switch(index, branches, x, y)


def _cond(predicate: Any, x: Any) -> Any:
    return lax.cond(predicate, lambda x: (lax.exp(x), x), lambda x: (x, lax.mul(x, x)), x)


_count = np.int32(3)

SAMPLES = [
    equation_of(_scan, (numbers(), numbers(4)), "scan"),
    equation_of(_scan, (numbers(2), numbers(3, 2)), "scan"),
    equation_of(_scan, (numbers(), numbers(0)), "scan", note="empty"),
    equation_of(
        lambda c, x: _scan(c, x, reverse=True), (numbers(), numbers(4)), "scan", note="back"
    ),
    equation_of(lambda c, x: _scan(c, x, unroll=2), (numbers(), numbers(4)), "scan", note="unroll"),
    equation_of(_with_constant, (numbers(seed=3), numbers(), numbers(4)), "scan", note="constant"),
    equation_of(
        lambda c, x: lax.scan(_matrix_step, c, x), (numbers(2, 2), numbers(3, 2, 2)), "scan"
    ),
    equation_of(
        lambda c, x: lax.scan(lambda c, x: (lax.add(c, x), c), c, x),
        (np.int32(1), integers(4)),
        "scan",
    ),
    equation_of(_counting, (_count, numbers()), "while"),
    equation_of(_counting, (_count, numbers(3)), "while"),
    equation_of(_until_small, (numbers(),), "while", note="data"),
    *(
        equation_of(_switch, (np.int32(i), numbers(3), numbers(3, seed=1)), "cond", note=f"{i}")
        for i in range(3)
    ),
    equation_of(_cond, (np.True_, numbers(2)), "cond", note="both"),
]
