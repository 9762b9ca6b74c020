"""The loop language: what the builder makes, prints, and what the verifier refuses."""

import pytest

from frit.codegen.loop_builder import Builder
from frit.codegen.loops import Apply, as_at
from frit.codegen.loops_check import LoopError, check_function, print_function


def scaled_sum():
    """y[i] = sum over j of 2 * x[i, j]."""
    b = Builder("scaled_sum")
    x, y = b.buffer("x", "float32", (3, 100)), b.buffer("y", "float32", (3,))
    with b.loop(3) as row:
        with b.loop(100, [b.const(0.0, "float32", 64)], kind="vector", width=64) as column:
            value = b.load(x, row.index * 100 + column.index)
            doubled = b.apply("mul", value, 2.0)
            column.yields(b.apply("add", column.carries[0], doubled))
        b.store(y, row.index, b.reduce("add", column.results[0]))
    return b.finish()


def test_prints_one_item_a_line():
    function = check_function(scaled_sum())
    assert (
        print_function(function)
        == """\
kernel scaled_sum(x: float32[3,100], y: float32[3])
  for i1 < 3 sequential
    %1: float32x64 = for i2 < 100 vector(64) carry %0: float32 = 0.0
      %2: float32 = x[100*i1 + i2]
      %3: float32 = mul %2, 2.0
      %4: float32 = add %0, %3
      yield %4
    %5: float32 = reduce add %1
    y[i1] = %5"""
    )


def test_offsets_merge_equal_terms():
    b = Builder("offsets")
    with b.loop(4) as loop:
        i = loop.index
        assert (i * 3 + 2 - i).key() == (2 * i + 2).key()
        assert (i - i).terms == ()
        assert as_at(7).constant == 7


def test_a_value_must_be_visible():
    b = Builder("scope")
    x = b.buffer("x", "float32", (4,))
    with b.loop(4) as loop:
        value = b.load(x, loop.index)
    b.store(x, 0, value)
    with pytest.raises(LoopError, match="kernel scope: Store x: Load is not visible here"):
        check_function(b.finish())


def test_dtypes_must_agree():
    b = Builder("types")
    x = b.buffer("x", "float32", (4,))
    value = b.load(x, 0)
    b.add_item(Apply("add", (value, b.const(1, "int32")), "float32", 1))
    with pytest.raises(LoopError, match="Apply add: expected float32, got int32"):
        check_function(b.finish())


def test_a_loop_must_yield_its_carries():
    b = Builder("yields")
    with pytest.raises(ValueError, match="1 carries must yield as many, got 0"):
        with b.loop(4, [b.const(0, "int32")]):
            pass
