"""A driver with a clock: the same results, and a time for each statement."""

import numpy as np
import pytest

import frit
import frit.numpy as jnp
from frit import lax
from frit.codegen.buffers import Branch, Repeat, Run, While
from frit.errors import JaxRuntimeError
from frit.runtime.measuring import Measured
from frit.runtime.pipeline import compile_noted


def measured(function, *arguments):
    """The ordinary results, the measured ones, times, and the statements."""
    subject, program, _ = compile_noted(frit.make_jaxpr(function)(*arguments))
    arrays = [np.ascontiguousarray(x) for x in arguments]
    program_of_clocks = Measured(subject)
    results, times = program_of_clocks.run(program.constants, arrays)
    again, _ = program_of_clocks.run(program.constants, arrays, results)
    assert all(a is b for a, b in zip(results, again, strict=True))
    return program.run(arrays), results[:-1], times, program_of_clocks.statements


def runs_of(kind, times, statements):
    return [times.runs[id(s)] for s in statements if isinstance(s, kind)]


def test_results_are_the_same_and_each_statement_ran_once():
    expected, found, times, statements = measured(
        lambda x: jnp.sort(jnp.tanh(x @ x)) * 2, np.random.rand(64, 64).astype(np.float32)
    )
    assert np.array_equal(expected[0], found[0])
    assert set(times.runs.values()) == {1}
    assert all(0 <= s < 10 for s in times.seconds.values())
    assert 0 <= times.overhead < 1e-3
    assert len(statements) == len(times.seconds)


def test_statements_of_a_loop_run_once_a_turn():
    def function(x):
        return lax.scan(lambda c, r: (jnp.sort(c + r), c.sum()), x[0], x)

    expected, found, times, statements = measured(function, np.ones((7, 5), np.float32))
    assert np.array_equal(expected[0], found[0])
    assert runs_of(Repeat, times, statements) == [1]
    assert 7 in runs_of(Run, times, statements)
    (loop,) = [s for s in statements if isinstance(s, Repeat)]
    inner = [s for s in loop.body.statements if isinstance(s, Run)]
    assert times.seconds[id(loop)] >= sum(times.seconds[id(s)] for s in inner)


def test_branches_that_are_not_taken_do_not_run():
    def function(x):
        return lax.cond(x.sum() > 0, jnp.sort, lambda y: jnp.cumsum(y), x)

    _, _, times, statements = measured(function, np.ones(100, np.float32))
    (branch,) = [s for s in statements if isinstance(s, Branch)]
    counts = [times.runs[id(s)] for case in branch.cases for s in case.statements]
    assert sorted(set(counts)) == [0, 1]


def test_a_while_loop_counts_its_turns():
    def function(x):
        return lax.while_loop(lambda c: c[0] < 10, lambda c: jnp.sort(c + 1), x)

    _, found, times, statements = measured(function, np.zeros(100, np.float32))
    assert found[0][0] == 10
    (loop,) = [s for s in statements if isinstance(s, While)]
    assert {times.runs[id(s)] for s in loop.body.statements if isinstance(s, Run)} == {10}


def test_long_programs_are_split_and_measured():
    def function(x):
        for k in range(100):
            x = jnp.sort(x) + k
        return x

    expected, found, times, _ = measured(function, np.arange(20.0, dtype=np.float32))
    assert np.array_equal(expected[0], found[0])
    assert len(times.runs) > 150 and set(times.runs.values()) == {1}


def test_what_python_raises_comes_through():
    def fail(x):
        raise ValueError("from Python")

    def function(x):
        return frit.pure_callback(fail, frit.ShapeDtypeStruct((3,), np.float32), x)

    with pytest.raises(JaxRuntimeError, match="from Python"):
        measured(function, np.ones(3, np.float32))
