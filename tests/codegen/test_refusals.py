"""Why equations do not share a kernel, as data: each reason by a program that shows it."""

import numpy as np
import pytest

import frit
import frit.numpy as jnp
from frit import lax
from frit.codegen.grouping import MAX_SITES, MAX_VIEW_SITES, ROW
from frit.codegen.refusals import REASONS, Refusal
from frit.diagnostics.facts import REASONS as TEXTS
from frit.diagnostics.facts import reason_text
from frit.runtime.pipeline import compile_noted

SQUARE = jnp.ones((32, 32))


def refusals(function, *arguments):
    """primitive of the last equation -> the refusal of what it makes, for all values in memory."""
    _, _, notes = compile_noted(frit.make_jaxpr(function)(*arguments))
    decisions = notes.decisions
    found = {}
    for var, refusal in decisions.refusals.items():
        maker = next(e for e in decisions.equations[var] if var in e.outvars)
        found[maker.primitive.name] = refusal
    return found


def test_a_chain_of_pointwise_operations_is_one_kernel():
    assert refusals(lambda x: jnp.tanh(x * 2) + 1, SQUARE) == {"add": Refusal("needed", "output")}


def test_needed_says_who_reads_memory():
    found = refusals(lambda x: jnp.sort(x * 2), SQUARE)
    assert found["mul"] == Refusal("needed", "opaque")
    found = refusals(lambda x: jnp.tanh(x) @ jnp.cos(x), SQUARE)
    assert found["tanh"] == Refusal("needed", "library")
    found = refusals(
        lambda x: lax.scan(lambda c, r: (jnp.sort(c + r), None), x[0], x * 2)[0], SQUARE
    )
    assert found["mul"] == Refusal("needed", "loop")


def test_a_whole_operation_is_never_fused():
    assert refusals(lambda x: jnp.sort(x) * 2, SQUARE)["sort"].reason == "whole"


def test_a_value_beside_one_that_is_needed():
    def function(x):
        y = jnp.tanh(x)
        z = y * 2
        return z, y.sum(axis=0) + 1, jnp.sort(y)

    found = refusals(function, SQUARE)
    assert found["tanh"] == Refusal("needed", "opaque")
    assert found["mul"] == Refusal("needed", "output")


def test_a_sum_that_is_read_in_several_places():
    def function(x):
        s = x.sum(axis=1)[:, None]
        return jnp.sort(x / s) * s

    found = refusals(function, jnp.ones((100, 32)))["reduce_sum"]
    assert found == Refusal("places", "", 2, 1)
    assert reason_text(found) == (
        "it is read in 2 places, and computing it again pays in at most 1"
    )


def test_a_sum_of_few_terms():
    found = refusals(lambda x: x + x.sum(axis=1, keepdims=True), jnp.ones((64, ROW - 1)))
    assert found["reduce_sum"] == Refusal("short", "", ROW - 1, ROW)


def test_a_sum_that_would_be_computed_again_for_every_row():
    found = refusals(lambda x: x + x.sum(axis=0), SQUARE)["reduce_sum"]
    assert found == Refusal("again", "", 32 * 32, 32)
    assert "1,024 times for 32 elements" in reason_text(found)


def test_a_sum_whose_reader_has_no_rows():
    assert refusals(lambda x: x.sum() + x[0, 0], SQUARE)["reduce_sum"].reason == "row"


def test_slow_functions_are_not_computed_again():
    found = refusals(lambda x, v: jnp.tanh(v) + x, SQUARE, jnp.ones(32))["tanh"]
    assert found.reason in ("outside", "again")
    assert found.found == 32 * 32 and found.allowed == 32


def test_a_view_read_in_many_places():
    def function(x):
        padded = jnp.pad(jnp.sort(x), 1)
        return [jnp.sort(padded[k : k + 20] * (k + 2)) for k in range(MAX_SITES + 1)]

    found = refusals(function, SQUARE)["pad"]
    assert found == Refusal("places", "", MAX_SITES + 1, MAX_SITES)
    assert MAX_VIEW_SITES > MAX_SITES


def test_a_kernel_has_a_bound_of_equations():
    def function(x):
        for k in range(400):
            x = x.T * (1 + k)
        return x

    reasons = {r.reason for r in refusals(function, SQUARE).values()}
    assert "length" in reasons


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_words(reason):
    text = reason_text(Refusal(reason, "output", 2000, 16))
    assert text and "{" not in text
    assert reason == "needed" or reason in TEXTS


def test_decisions_change_nothing():
    closed = frit.make_jaxpr(lambda x: jnp.tanh(x @ x).sum(0))(SQUARE)
    subject, program, _ = compile_noted(closed)
    array = np.ascontiguousarray(SQUARE)
    expected = frit.jit(lambda x: jnp.tanh(x @ x).sum(0))(SQUARE)
    assert np.array_equal(program.run([array])[0], expected)
    assert subject.notes is not None
