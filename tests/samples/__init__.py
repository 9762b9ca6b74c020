"""Samples: for each primitive, the operands and parameters worth trying.

A module of this folder has a list `SAMPLES` of `Sample` records; `tests/laws.py` says what holds of
each, and `tests/test_laws.py` runs every law on every sample.  To add a family, add a module:

    from tests.samples import Sample, numbers

    SAMPLES = [
        Sample(sin, (numbers(3),)),
        Sample(reduce_sum, (numbers(2, 3),), {"axes": (0,), "out_sharding": None}),
        Sample(div, (values, values), smooth=False),
    ]
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from frit.ir.primitive import Primitive


@dataclass(frozen=True, eq=False)
class Sample:
    """One use of a primitive: NumPy operands (or Python scalars) and all its parameters.

    smooth: derivatives exist at the operands and finite differences find them.
    fixed: positions of operands that have no derivative (orders, indices in float).
    tolerance: of derivatives against finite differences in float64.
    without: laws that do not hold here, by the names in laws.LAWS: `{"batch": "the reason"}`.
    wide: makes the sample in double precision, where widening operands and types is not enough.
    note: a word that tells samples of one primitive apart.
    """

    primitive: Primitive
    operands: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    smooth: bool = True
    fixed: tuple[int, ...] = ()
    tolerance: float = 1e-5
    without: dict[str, str] = field(default_factory=dict)
    wide: Callable[[], Sample] | None = None
    note: str = ""

    def __str__(self) -> str:
        shapes = ",".join(_text(x) for x in self.operands)
        note = f"-{self.note}" if self.note else ""
        return f"{self.primitive.name}({shapes}){note}"


def _text(x: Any) -> str:
    if not hasattr(x, "dtype"):
        return type(x).__name__
    return f"{x.dtype.name}{list(np.shape(x))}".replace(" ", "")


def numbers(
    *shape: int, seed: int = 0, low: float = 0.3, high: float = 1.8, dtype: Any = "f4"
) -> Any:
    """Reproducible numbers between low and high, away from where functions bend."""
    drawn = np.random.default_rng(seed).uniform(low, high, shape)
    return np.asarray(drawn).astype(dtype)


def integers(*shape: int, seed: int = 0, low: int = -9, high: int = 10, dtype: Any = "i4") -> Any:
    """Reproducible integers from low to high - 1."""
    return np.asarray(np.random.default_rng(seed).integers(low, high, shape)).astype(dtype)


def complex_numbers(*shape: int, seed: int = 0, dtype: Any = "c8") -> Any:
    """Reproducible complex numbers off the axes."""
    real, imag = numbers(*shape, seed=seed), numbers(*shape, seed=seed + 1)
    return np.asarray(real + 1j * imag).astype(dtype)


def all_samples() -> list[Sample]:
    """The samples of every module of this folder."""
    found: list[Sample] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").SAMPLES
    return found
