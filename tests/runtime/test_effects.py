"""Side effects of traced functions: told once, with the line and what to write; no false alarms."""

from __future__ import annotations

import dataclasses
import datetime
import logging
import pathlib
import random
import time
import warnings

import numpy as np
import pytest
from absl import logging as absl_logging

import frit as jax
import frit.numpy as jnp
from frit import lax
from frit.errors import TraceSideEffectError, TraceSideEffectWarning, UnexpectedTracerError
from frit.runtime import effects

LOG: list = []
SETTINGS = {"history": {}}
LEAKED = None


@pytest.fixture(autouse=True)
def told_anew():
    effects.forget()
    LOG.clear()
    SETTINGS["history"].clear()


@dataclasses.dataclass
class Pair:
    a: object
    b: object


class Model:
    def __init__(self):
        self.hidden = None
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        self.hidden = jnp.sin(x)
        return self.hidden * 2


def prints(x):
    print("x is", x)
    return x


def logs(x):
    logging.getLogger("a").warning("x is %s", x)
    return x


def logs_by_absl(x):
    absl_logging.warning("x is %s", x)
    return x


def prints_record(x):
    print(Pair(x, 1))
    return x


def formats(x):
    text = f"{x} is here"
    return x if text else 0.0


def formats_with_width(x):
    text = f"{x:>20}"
    return x if text else 0.0


def makes_text(x):
    text = str([x, {"a": x}])
    return x if text else 0.0


def reads_clock(x):
    return x * time.perf_counter()


def reads_date(x):
    return x * datetime.datetime.now().hour


def draws(x):
    return x * random.random()


def draws_by_numpy(x):
    return x + np.random.normal(size=3)


GENERATOR = np.random.default_rng(0)


def draws_by_generator(x):
    return x + GENERATOR.normal()


def writes(x):
    with open("/dev/null", mode="w") as file:
        file.write("done")
    return x


OUTPUT = pathlib.Path("/dev/null")


def writes_by_path(x):
    OUTPUT.write_text("done")
    return x


def stores_global(x):
    global LEAKED
    LEAKED = x * 2
    return x


def appends(x):
    LOG.append((x, 1))
    return x


def stores_entry(x):
    SETTINGS["history"]["last"] = x + 1
    return x


def stores_variable_entry(x):
    for name in ("a", "b"):
        SETTINGS["history"][name] = x + 1
    return x


LOST = [
    (prints, "float32[], is made text here", 'frit.debug.print("{}", x)'),
    (logs, "float32[], is made text here", "ordered=True in program order"),
    (logs_by_absl, "float32[], is made text here", "frit.debug.print"),
    (prints_record, "float32[], is made text here", "frit.debug.print"),
    (formats, "float32[], is made text here", "frit.debug.print"),
    (formats_with_width, "float32[], is made text here", "frit.debug.print"),
    (makes_text, "float32[], is made text here", "frit.debug.print"),
    (reads_clock, "time.perf_counter() reads the clock", "block_until_ready"),
    (reads_date, ".now() reads the clock", "pass the time as an argument"),
    (draws, "random.random() draws while the function is traced", "draw with frit.random"),
    (draws_by_numpy, "numpy.random.normal() draws", "draw with frit.random"),
    (draws_by_generator, "global GENERATOR.normal() draws", "draw with frit.random"),
    (writes, "open() writes while the function is traced", "frit.experimental.io_callback"),
    (writes_by_path, ".write_text() writes", "io_callback"),
    (stores_global, "global LEAKED keeps a traced value, float32[], made at", "Return the value"),
    (appends, "global LOG[0][0] keeps a traced value", "once for each trace, not at each call"),
    (stores_entry, "global SETTINGS['history']['last'] keeps a traced value", "debug.callback"),
    (stores_variable_entry, "global SETTINGS['history']['b'] keeps", "debug.callback"),
]


def warnings_of(function, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*args)
    return [w for w in found if issubclass(w.category, TraceSideEffectWarning)]


@pytest.mark.parametrize("function, what, instead", LOST, ids=lambda v: getattr(v, "__name__", ""))
def test_lost_side_effect_is_told(function, what, instead, capsys):
    found = warnings_of(jax.jit(function), jnp.float32(1.0))
    assert len(found) == 1, [str(w.message) for w in found]
    text = str(found[0].message)
    assert what in text and instead in text
    code = function.__code__
    assert found[0].filename == code.co_filename == __file__
    assert code.co_firstlineno < found[0].lineno <= code.co_firstlineno + 4
    assert f"{__file__}:{found[0].lineno} ({function.__name__})" in text
    assert f"while {function.__name__} at {__file__}:{code.co_firstlineno} is traced" in text


def test_input_is_told(monkeypatch):
    monkeypatch.setattr("sys.stdin", __import__("io").StringIO("3\n"))

    def asks(x):
        return x * float(input())

    (found,) = warnings_of(jax.jit(asks), 1.0)
    assert "input() asks while the function is traced" in str(found.message)


def test_each_line_is_told_once():
    f = jax.jit(prints)
    assert len(warnings_of(f, 1.0)) == 1
    assert not warnings_of(f, jnp.ones(3))  # traced again
    assert not warnings_of(jax.jit(lambda x: prints(x) + 1), 1.0)
    jax.clear_caches()
    assert len(warnings_of(f, 1.0)) == 1


def test_attribute_of_an_object_that_is_called():
    model = Model()
    (found,) = warnings_of(jax.jit(lambda x: model(x)), 1.0)
    assert "closure variable model.hidden keeps a traced value" in str(found.message)
    (found,) = warnings_of(jax.jit(Model()), 1.0)[:1] or [None]
    assert found is None  # the same line, told before


def test_nonlocal_variable():
    kept = None

    def f(x):
        nonlocal kept
        kept = x
        return x

    (found,) = warnings_of(jax.jit(f), 1.0)
    assert "closure variable kept keeps a traced value" in str(found.message)
    assert kept is not None


def test_body_of_a_scan_and_functions_that_are_called():
    sums = []

    def body(carry, x):
        sums.append(carry + x)
        print(x)
        return carry + x, x

    found = warnings_of(lambda: lax.scan(body, 0.0, jnp.arange(3.0)))
    assert ["is made text here" in str(w.message) for w in found] == [True, False]
    assert "closure variable sums[0] keeps a traced value" in str(found[1].message)
    assert "while body at" in str(found[1].message)


def test_settings_and_blocks():
    with jax.trace_side_effects("ignore"):
        assert not warnings_of(jax.jit(prints), 1.0)
    with jax.trace_side_effects("error"):
        with pytest.raises(
            TraceSideEffectError, match=r"test_effects.py:\d+ \(draws\), while draws"
        ):
            jax.jit(draws)(1.0)
        with pytest.raises(TraceSideEffectError, match="frit.debug.print"):
            jax.jit(lambda x: prints(x))(1.0)
    with pytest.raises(ValueError, match="'warn', 'error', 'ignore'; got 'loud'"):
        jax.config.update("jax_trace_side_effects", "loud")

    @jax.jit
    def on_purpose(x):
        with jax.trace_side_effects("ignore"):
            print("traced with", x)
            start = time.time()
        return x + 0 * start

    assert not warnings_of(on_purpose, 1.0)


# ------------------------------------------------------------------------------- no false alarms


def counts(x):
    SETTINGS["history"]["calls"] = SETTINGS["history"].get("calls", 0) + 1
    LOG.append("called")
    return x


def prints_shape(x):
    print("traced for", x.shape, x.dtype)
    return x


def shows_representation(x):
    LOG.append(repr(x))
    return x


def checks(x, limit=3):
    if x.ndim > limit:
        raise ValueError(f"too many dimensions: {x}")
    assert x.ndim <= limit, f"too many dimensions: {x}"
    return x


def clock_behind_a_flag(x, verbose=False):
    start = time.time() if verbose else 0.0
    return x + start


def host_callback(x):
    def on_host(v):
        LOG.append(v)
        print(v, time.time(), random.random())

    jax.debug.callback(on_host, x)
    jax.debug.print("x is {}", x)
    return x


def pushes_and_pops(x):
    LOG.append(x)
    y = LOG.pop() * 2
    return y


def own_containers(x):
    log, seen = [], {}
    log.append(x)
    seen["x"] = Pair(x, log)
    helper = lambda v: log.append(v) or v
    return helper(x) + len(log)


def reads_file(x):
    with open("/dev/null") as file:
        return x + len(file.read())


def makes_constant(x):
    return x + np.random.RandomState(0).normal()


def seeds(x):
    random.seed(0)
    return x


SILENT = [
    counts, prints_shape, shows_representation, checks, clock_behind_a_flag, host_callback,
    pushes_and_pops, own_containers, reads_file, makes_constant, seeds,
]  # fmt: skip


@pytest.mark.parametrize("function", SILENT)
def test_nothing_is_told_where_nothing_is_lost(function, capsys):
    assert not warnings_of(jax.jit(function), jnp.float32(1.0))


def test_a_trace_that_fails_tells_nothing():
    def f(x):
        print("before the error:", x)
        raise ValueError(f"cannot take {x}")

    def run():
        with pytest.raises(ValueError, match="cannot take"):
            jax.jit(f)(1.0)

    assert not warnings_of(run)


def test_eager_code_and_concrete_derivatives_tell_nothing():
    assert not warnings_of(prints, jnp.float32(1.0))
    assert not warnings_of(jax.grad(prints), 1.0)
    assert not warnings_of(jax.vmap(prints), jnp.ones(3))
    assert not warnings_of(jax.make_jaxpr(prints), 1.0)


def test_errors_of_ours_format_tracers():
    def f(x):
        try:
            bool(x > 0)
        except jax.errors.TracerBoolConversionError:
            pass
        return x

    assert not warnings_of(jax.jit(f), 1.0)


# -------------------------------------------------------------------------- tracers that are used


def test_error_says_where_a_tracer_was_stored():
    f = jax.jit(appends)
    with pytest.warns(TraceSideEffectWarning):
        f(1.0)
    with pytest.raises(UnexpectedTracerError) as error:
        LOG[0][0] + 1
    text = str(error.value)
    line = appends.__code__.co_firstlineno
    assert f"it was used after the trace of appends at {__file__}:{line} for jit had ended" in text
    assert f"created on line {__file__}:{line} (appends)" in text
    assert f"It was stored in global LOG[0][0], by {__file__}:{line + 1} (appends)." in text


def test_store_by_setattr():
    model = Model()

    def f(x):
        setattr(model, "hidden", [x * 2])  # noqa: B010
        return x

    (found,) = warnings_of(jax.jit(f), 1.0)
    assert "closure variable model.hidden[0] keeps a traced value" in str(found.message)
    assert found.lineno == f.__code__.co_firstlineno + 1


KEEPER = type("Keeper", (), {})()


@pytest.mark.parametrize("transform", [jax.vmap, jax.grad, jax.jit])
def test_error_finds_who_keeps_a_tracer_that_no_assignment_shows(transform):
    inner = Model()
    KEEPER.inner = [inner]

    def f(x):
        vars(inner).update(hidden=(x * 2,))
        return x

    with jax.trace_side_effects("ignore"):
        transform(f)(jnp.ones(3) if transform is jax.vmap else 1.0)
    with pytest.raises(UnexpectedTracerError) as error:
        jnp.sin(inner.hidden[0])
    text = str(error.value)
    assert f"created on line {__file__}:{f.__code__.co_firstlineno + 1} (f)" in text
    assert any(
        where in text
        for where in (
            "It was stored in global KEEPER.inner[0].hidden[0] of the module",
            "It was stored in closure variable inner.hidden[0] of test_error_finds_who",
        )
    ), text


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad, jax.linearize])
def test_every_tracer_knows_where_it_was_made(transform):
    kept = []

    def f(x):
        setattr(kept, "append", None) if False else kept.extend([x, jnp.sin(x)])
        return x

    with jax.trace_side_effects("ignore"):
        if transform is jax.linearize:
            jax.linearize(f, 1.0)
        else:
            transform(f)(jnp.ones(3) if transform is jax.vmap else 1.0)
    for tracer in kept:
        with pytest.raises(UnexpectedTracerError, match=r"created on line .*test_effects.py:\d+ "):
            tracer + 1
