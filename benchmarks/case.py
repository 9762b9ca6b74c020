"""What a row prepares, and the arrays that rows share, without any engine.

ROWS, row = table()
@row("gelu, 1e7")
def gelu(): return Case(call)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """What is timed, and what is compared first (by default the timed call's own result)."""

    call: Callable[[], Any]
    check: Callable[[], Any] | None = None

    def result(self) -> Any:
        return (self.check or self.call)()


def table() -> tuple[dict[str, Callable[[], Case]], Callable[[str], Callable[..., Any]]]:
    """(name -> function that prepares the row, the decorator that fills it)."""
    rows: dict[str, Callable[[], Case]] = {}

    def row(name: str) -> Callable[..., Any]:
        def register(prepare: Callable[[], Case]) -> Callable[[], Case]:
            rows[name] = prepare
            return prepare

        return register

    return rows, row


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def mlp_params(*sizes: int) -> list[Any]:
    """(weights, bias) of each layer."""
    pairs = list(zip(sizes[:-1], sizes[1:], strict=True))
    return [(draw(n, m, seed=n) / np.sqrt(n), np.zeros(m, np.float32)) for n, m in pairs]
