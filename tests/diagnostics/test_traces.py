"""f.explain(): every trace and its cause, in words."""

import functools
import io
import json
import logging

import numpy as np
import pytest
import rich.console

import frit
import frit.numpy as jnp
from frit.config import explain_cache_misses

RATE = 0.1


class Config:
    lr = 2.0


@pytest.fixture
def step():
    @functools.partial(frit.jit, static_argnames=("train",))
    def step(params, x, train=True, n=2.0):
        y = jnp.tanh(x @ params["w"]) * RATE * n
        return y if train else y * 2

    frit.clear_caches()
    return step


def weights(n, **more):
    return {"w": jnp.ones((3, n)), **more}


X = jnp.ones((4, 3))


W = weights(4)
NUMBER = "f32[] (weak, a Python number)"
CAUSES = [
    ((W, X), (weights(5), X), "argument `params['w']`: f32[3,4] → f32[3,5]"),
    ((W, X), (W, X, False), "argument `train` is static: True → False"),
    (
        (W, X),
        (weights(4, b=1.0), X),
        "structure of `params`: dict with 1 child → dict with 2 children",
    ),
    ((W, X), (W, X, True, 3.0), "number of positional arguments: 2 → 3"),
    (
        (W, X, True, 3.0),
        (W, X, True, jnp.float32(3.0)),
        f"argument `n`: {NUMBER} → f32[] (not weak)",
    ),
]


@pytest.mark.parametrize(("first", "second", "cause"), CAUSES)
def test_a_retrace_has_its_cause(step, first, second, cause):
    step(*first)
    step(*second)
    report = step.explain()
    assert report.traces[0].causes == ("first call",)
    assert report.traces[1].causes == (cause,)


def test_a_changed_capture_is_named_with_its_line(step, monkeypatch):
    step(weights(4), X)
    monkeypatch.setitem(globals(), "RATE", 0.01)
    step(weights(4), X)
    (cause,) = step.explain().traces[1].causes
    assert cause.startswith("global `RATE` (test_traces.py:")
    assert cause.endswith("): 0.1 → 0.01")


def test_a_changed_setting_is_named(step):
    step(weights(4), X)
    with frit.enable_x64(True):
        step(weights(4), X)
    assert "setting `enable_x64`: False → True" in step.explain().traces[1].causes


def test_axes_are_named():
    f = frit.jit(lambda x: frit.lax.psum(x, "i"))
    frit.vmap(f, axis_name="i")(jnp.ones(2))
    frit.vmap(f, axis_name="i")(jnp.ones(3))
    assert f.explain().traces[1].causes == ("mapped axes: {'i': 2} → {'i': 3}",)


def test_the_report_as_text_dict_and_table(step):
    for n in (4, 4, 5):
        step(weights(n), X)
    report = step.explain()
    text = str(report)
    assert text.splitlines()[0].endswith("2 traces, 1 hits")
    assert "#2  argument `params['w']`: f32[3,4] → f32[3,5]" in text
    assert "of code, 0 hits since, 2 guards" in text
    facts = json.loads(json.dumps(report.to_dict()))
    assert facts["retraces"] == 1
    assert facts["traces"][0]["hits"] == 1
    assert facts["traces"][0]["guards"] == [
        "global `RATE`", "default of `n`",
    ]  # fmt: skip
    assert set(facts["traces"][0]["stage_seconds"]) >= {"optimized", "loops", "asm"}
    console = rich.console.Console(width=100, record=True, file=io.StringIO())
    console.print(report)
    assert "f32[3,4] → f32[3,5]" in console.export_text()
    assert "f32[3,5]" in report._repr_html_()


def test_what_is_not_guarded_is_listed():
    handler = logging.NullHandler()
    f = frit.jit(lambda x: x * len(str(handler)))
    f(1.0)
    (unguarded,) = f.explain().traces[0].unguarded
    assert unguarded.startswith("closure variable `handler` (NullHandler), read at test_traces.py:")
    assert "unguarded read of closure variable `handler`" in str(f.explain())


@pytest.mark.parametrize("module", [jnp, np])
def test_large_captured_arrays_are_mentioned(module):
    """Those within the trace, and those of NumPy, which are read at each call."""
    table = module.ones(3_000_000, "float32")
    f = frit.jit(lambda i: jnp.asarray(table)[i])
    f(1)
    assert "12 MB of arrays are captured" in str(f.explain())


def test_an_inner_function_has_no_program_of_its_own(step):
    frit.jit(lambda p, x: step(p, x))(weights(4), X)
    (trace,) = step.explain().traces
    assert trace.code_bytes is None
    assert trace.stage_seconds == {}


def test_the_log_of_misses_has_the_same_line(step, caplog):
    step(weights(4), X)
    with explain_cache_misses(True):
        step(weights(5), X)
    assert "cause: argument `params['w']`: f32[3,4] → f32[3,5]" in caplog.text


def test_the_cause_of_an_outer_retrace_is_what_an_inner_function_read(monkeypatch):
    inner = frit.jit(lambda x: x * RATE)
    outer = frit.jit(lambda x: inner(x) + 1.0)
    outer(1.0)
    monkeypatch.setitem(globals(), "RATE", 0.5)
    assert outer(1.0) == 1.5
    assert "global `RATE`" in outer.explain().traces[1].causes[0]
