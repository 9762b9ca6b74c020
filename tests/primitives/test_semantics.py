"""The table of scalar semantics: its cases hold, it is complete, and its page is up to date."""

import pathlib

import numpy as np
import pytest

from frit.ir.primitive import Primitive
from frit.primitives import (
    arithmetic,
    comparison_and_bits,
    conversion,
    elementwise,
    special,
    transcendental,
)
from frit.primitives.semantics import covered, rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = (
    elementwise, arithmetic, comparison_and_bits, conversion, transcendental, special,
)  # fmt: skip
CASES = [(row, *case) for row in rows() for case in row.cases]


def same(found, expected):
    """Equal in value, in the sign of zero, and in being nan."""
    if np.isnan(expected):
        return bool(np.isnan(found))
    return found == expected and np.signbit(np.real(found)) == np.signbit(np.real(expected))


@pytest.mark.parametrize(("row", "operands", "expected"), CASES)
def test_case(row, operands, expected):
    found = row.evaluate(operands)
    assert same(complex(found), complex(expected)), f"{row.primitive}{operands} gives {found}"


def test_every_elementwise_primitive_has_a_row():
    records = [p for module in FAMILIES for p in vars(module).values() if type(p) is Primitive]
    assert {p.name for p in records if p.pointwise} == covered()
