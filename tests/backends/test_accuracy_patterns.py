"""Accuracy by bit pattern: which numbers are tried, what is recorded, and what the page says."""

import math

import numpy as np
import pytest

from tools import accuracy_patterns
from tools.accuracy_patterns import (
    NAMES,
    measure_patterns,
    measure_piece,
    newton_inverse_erf,
    operands_of,
    read_pieces,
    tasks_of,
    write_page,
)
from tools.exact_functions import REFERENCES, mpmath


def test_every_float32_is_tried_once():
    tasks = tasks_of(["exp"], ["float32"], 0)
    assert tasks[0][3] == 0 and tasks[-1][4] == 1 << 32
    assert all(before[4] == after[3] for before, after in zip(tasks, tasks[1:], strict=False))
    (x,) = operands_of("exp", "float32", 0x3F800000, 0x3F800003, 1 << 32)
    assert x.view(np.uint32).tolist() == [0x3F800000, 0x3F800001, 0x3F800002]


def test_float64_patterns_are_one_of_each_stratum():
    total = 2000
    (x,) = operands_of("sin", "float64", 0, total, total)
    strata = x[::2].view(np.uint64) // np.uint64((1 << 64) // 1000)
    assert strata.tolist() == list(range(1000))
    usual = np.abs(x[1::2])
    assert usual.min() >= 2.0**-40 and usual.max() <= 2.0**10 and (x[1::2] < 0).any()
    again = [operands_of("sin", "float64", s, s + 500, total)[0] for s in range(0, total, 500)]
    assert np.concatenate(again).tobytes() == x.tobytes()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pieces_are_within_what_is_stated(name, dtype):
    start, count = (0x3F7FF000, 1 << 13) if dtype == "float32" else (600, 60)
    total = 1 << 32 if dtype == "float32" else 1000
    piece = measure_piece((name, dtype, total, start, start + count))
    assert 0.5 <= piece["worst"] <= accuracy_patterns.stated(name), piece


def test_a_wrong_result_is_found(monkeypatch):
    wrong = lambda x: np.where(x == 1, np.float32(3), np.exp(x.astype(np.float64)))
    monkeypatch.setattr(accuracy_patterns, "compiled", lambda name, dtype: wrong)
    piece = measure_piece(("exp", "float32", 1 << 32, 0x3F800000, 0x3F800010))
    assert piece["worst"] > 1e6 and piece["at"] == [1.0]


def test_finished_pieces_are_not_measured_again(tmp_path, monkeypatch):
    file = tmp_path / "pieces"
    assert measure_patterns(["exp"], ["float64"], 100, 1, file) == 0
    file.write_text(file.read_text() + '{"name": "ex')  # a run that was stopped while it wrote
    assert measure_patterns(["exp", "log"], ["float64"], 100, 1, file) == 0
    assert [key[0] for key in read_pieces(file)] == ["exp", "log"]
    monkeypatch.setattr(accuracy_patterns, "PAGE", tmp_path / "page.md")
    write_page([file])
    assert "| exp | float64 | 100 | 0." in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize("x", [1e-9, 0.3, -0.999, 1 - 2.0**-53])
def test_one_step_gives_the_inverse_of_erf(x):
    with mpmath.workdps(40):
        exact = REFERENCES["erf_inv"](x)
        found = newton_inverse_erf(mpmath.mpf(x), mpmath.mpf(float(exact)))
        assert math.isclose(float((found - exact) / exact), 0, abs_tol=1e-25)
