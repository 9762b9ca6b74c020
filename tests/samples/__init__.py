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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from frit.ir.jaxpr import Literal
from frit.ir.primitive import Primitive
from frit.ir.types import typeof
from frit.transforms.trace import trace_to_jaxpr


@dataclass(frozen=True, eq=False)
class Sample:
    """One use of a primitive: NumPy operands (or Python scalars) and all its parameters.

    smooth: derivatives exist at the operands and finite differences find them.
    fixed: positions of operands that have no derivative (orders, indices in float).
    tolerance: of derivatives against finite differences in float64.
    without: laws that do not hold here, by the names in laws.LAWS: `{"batch": "the reason"}`.
    prepare: applied to the operands first, inside the function that laws look at; leaves these
        operands as they are (a primitive of symmetric matrices: makes any matrix symmetric).
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
    prepare: Callable[..., Sequence[Any]] | None = None
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


def equation_of(
    function: Callable[..., Any], operands: Sequence[Any], name: str, **more: Any
) -> Sample:
    """The sample that is the equation of primitive `name` in the trace of `function`."""

    def flat(*values: Any) -> list[Any]:
        result = function(*values)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def made(values: Sequence[Any], **rest: Any) -> Sample:
        jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in values])
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *values], strict=True))
        for equation in jaxpr.eqns:
            given = [a.val if isinstance(a, Literal) else known[a] for a in equation.invars]
            if equation.primitive.name == name:
                return Sample(equation.primitive, tuple(given), equation.params, **rest)
            found = equation.primitive.bind(*given, **equation.params)
            found = found if equation.primitive.multiple_results else [found]
            known.update(zip(equation.outvars, map(np.asarray, found), strict=True))
        raise AssertionError(f"no equation of {name} in {jaxpr}")

    def wide() -> Sample:
        doubled = {np.dtype("f4"): np.dtype("f8")}
        return made([np.asarray(x).astype(doubled.get(x.dtype, x.dtype)) for x in operands], **more)

    return made(operands, wide=wide, **more)


def all_samples() -> list[Sample]:
    """The samples of every module of this folder."""
    found: list[Sample] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").SAMPLES
    return found
