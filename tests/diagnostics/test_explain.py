"""frit.explain(f)(*args): what the report holds, by content."""

import json
import pathlib

import numpy as np
import pytest
import rich.console

import frit
import frit.numpy as jnp
from frit import lax
from frit.diagnostics.quantities import size_text, time_text

HERE = pathlib.Path(__file__).name
X = jnp.ones((64, 32))
W = jnp.ones((32, 48))


def network(x, w):
    hidden = jnp.tanh(x @ w)
    shifted = hidden - hidden.max(axis=1, keepdims=True)
    return jnp.sort(jnp.exp(shifted), axis=1)


@pytest.fixture(scope="module")
def report():
    return frit.explain(network)(X, W)


def step(report, word):
    (found,) = [s for s in report.facts.steps if word in s.title]
    return found


# ------------------------------------------------------------------------------------ content


def test_the_call_is_named_and_its_result_is_given(report):
    facts = report.facts
    assert facts.function == "network"
    assert facts.place.partition(":")[0].endswith(HERE)
    assert facts.arguments == ["x: f32[64,32]", "w: f32[32,48]"]
    assert np.array_equal(report.result, frit.jit(network)(X, W))
    assert isinstance(report.result, frit.Array)


def test_every_stage_has_a_time_and_a_size(report):
    sizes = {s.name: s.size for s in report.facts.stages}
    assert list(sizes) == ["jaxpr", "optimized", "kernels", "loops", "buffers", "llvm", "asm"]
    assert all(s.seconds > 0 for s in report.facts.stages)
    assert sizes["jaxpr"].endswith("equations")
    assert sizes["kernels"].endswith("steps")
    assert sizes["buffers"] == f"arena of {size_text(report.facts.arena_bytes)}"
    assert report.facts.arena_bytes >= 64 * 48 * 4


def test_steps_are_the_kernels_and_library_calls_in_order(report):
    kinds = [s.kind for s in report.facts.steps]
    assert kinds[0] == "library" and set(kinds[1:]) == {"kernel"}
    assert all(s.runs == 1 and s.seconds > 0 for s in report.facts.steps)
    assert step(report, "sgemm").reads == ["f32[64,32]", "f32[32,48]"]
    assert step(report, "sort").writes == ["f32[64,48]"]


def test_work_of_a_product_is_two_flops_a_multiplication(report):
    product = step(report, "sgemm")
    assert product.flops == 2 * 64 * 32 * 48
    assert product.moved == 4 * (64 * 32 + 32 * 48 + 64 * 48)
    assert product.dtype == "float32" and product.exact


def test_edges_say_why_steps_are_not_one(report):
    product, ordered = step(report, "sgemm"), step(report, "sort")
    first = next(e for e in report.facts.edges if e.source == product.id)
    assert first.reason == "whole"
    assert first.why == "all of it is made at once, before any of it can be read"
    last = next(e for e in report.facts.edges if e.target == ordered.id)
    assert last.reason == "needed"
    assert last.why == "an operation on whole arrays (sort, cumsum, ...) reads it, from memory"
    assert first.bytes == last.bytes == 4 * 64 * 48


def test_sources_are_the_users_lines(report):
    code = [s.code for s in step(report, "sgemm").sources]
    assert code == ["hidden = jnp.tanh(x @ w)"]
    exp = next(s for s in report.facts.steps if "exp" in s.title)
    lines = {s.code: s.operations for s in exp.sources}
    assert "return jnp.sort(jnp.exp(shifted), axis=1)" in lines
    assert any(o.startswith("sub") for o in lines[
        "shifted = hidden - hidden.max(axis=1, keepdims=True)"
    ])  # fmt: skip
    assert all(s.file.endswith(HERE) and s.function == "network" for s in exp.sources)


def test_each_kernel_is_shown_in_three_languages(report):
    for s in report.facts.steps:
        if s.kernel is None:
            continue
        texts = report.facts.kernels[s.kernel]
        assert texts.loops.startswith(f"kernel {s.kernel}(")
        assert f"@{s.kernel}(" in texts.llvm and texts.llvm.rstrip().endswith("}")
        assert "ret" in texts.assembly
        assert texts.equations > 0


def test_the_roofline_is_measured_and_bounds_are_named(report):
    machine = report.facts.machine
    assert machine["bandwidth"][0]["bytes"] == 1 << 14
    assert all(m["bytes_per_second"] > 1e6 for m in machine["bandwidth"])
    assert machine["flops_per_second"]["float32"]["arithmetic"] > 1e6
    for s in report.facts.steps:
        assert s.bound in ("memory", "arithmetic")
        assert s.attainable > 0
        if s.share is not None:
            assert s.share == pytest.approx(s.attainable / s.seconds)


def test_rewrites_are_told():
    report = frit.explain(lambda x: (x - -x) * 1.0)(X)
    assert [(r.rule, r.count) for r in report.facts.rewrites] == [
        ("sub(x, neg(y)) -> add(x, y)", 1),
        ("mul(x, 1.0) -> x", 1),
    ]
    assert "add" in report.facts.optimized and "sub" not in report.facts.optimized
    assert "sub" in report.facts.jaxpr
    assert ("drop dead equations", 2, 1) in report.facts.passes


def test_work_of_loops_is_counted_from_loops():
    report = frit.explain(lambda x, y: x + y)(jnp.ones(1000), jnp.ones(1000))
    (only,) = report.facts.steps
    assert (only.bytes_read, only.bytes_written, only.flops) == (8000, 4000, 1000)
    report = frit.explain(lambda x: jnp.tanh(x))(jnp.ones(1000))
    assert report.facts.steps[0].flops > 20_000  # the polynomial's own
    report = frit.explain(lambda x: x.sum())(jnp.ones((64, 64)))
    assert report.facts.steps[0].flops >= 64 * 64 - 1
    assert report.facts.steps[0].bytes_read == 4 * 64 * 64


def test_bodies_of_loops_are_steps_below_the_loop():
    def function(x):
        return lax.scan(lambda c, r: (jnp.sort(c + r), c.sum()), x[0], x)

    report = frit.explain(function)(jnp.ones((7, 100)))
    (loop,) = [s for s in report.facts.steps if s.kind == "loop"]
    inside = [s for s in report.facts.steps if s.parent == loop.id]
    assert loop.title == "repeat 7"
    assert {s.runs for s in inside} == {7}
    assert loop.seconds >= sum(s.seconds for s in inside) > 0
    ordered = next(s for s in inside if "sort" in s.title)
    assert ordered.sources[0].code.startswith("return lax.scan(lambda c, r:")
    made = next(e for e in report.facts.edges if e.target == ordered.id)
    assert made.source in {s.id for s in inside}


def test_a_derivative_is_told_by_the_lines_of_the_function():
    def function(x):
        def turn(carry, row):
            return jnp.sort(carry * row), None

        return lax.scan(turn, x[0], x)[0].sum()

    report = frit.explain(frit.grad(function))(jnp.ones((7, 100)))
    code = {s.code for step in report.facts.steps if step.parent is not None for s in step.sources}
    assert code == {"return jnp.sort(carry * row), None"}


def test_loops_of_unknown_length_are_not_exact():
    def function(x):
        return lax.while_loop(lambda c: c < 1e3, lambda c: c * 1.5 + 1, x)

    report = frit.explain(function)(1.0)
    assert not report.facts.steps[0].exact
    assert "~" in str(report)


def test_branches_show_the_steps_that_did_not_run():
    report = frit.explain(
        lambda x: lax.cond(x.sum() > 0, jnp.sort, lambda y: jnp.cumsum(y), x)
    )(jnp.ones(100))  # fmt: skip
    (branch,) = [s for s in report.facts.steps if s.kind == "branch"]
    runs = {s.title: s.runs for s in report.facts.steps if s.parent == branch.id}
    assert runs["sort"] == 1 and runs["cumsum"] == 0


# -------------------------------------------------------------------------------- how it is called


def test_jitted_functions_keep_their_static_arguments():
    function = frit.jit(lambda x, n: x * n, static_argnames="n")
    report = frit.explain(function)(jnp.ones(3), n=3)
    assert list(report.result) == [3, 3, 3]
    assert report.facts.arguments == ["x: f32[3]"]


def test_keywords_and_trees():
    report = frit.explain(lambda d, *, e: {"sum": d["w"] + e})({"w": jnp.ones(3)}, e=2.0)
    assert list(report.result["sum"]) == [3, 3, 3]
    assert report.facts.arguments == ["d['w']: f32[3]", "e: f32[]"]


def test_donated_arguments_are_not_given_up():
    x = jnp.ones(3)
    report = frit.explain(frit.jit(lambda x: x + 1, donate_argnums=0))(x)
    assert list(report.result) == [2, 2, 2] and list(x) == [1, 1, 1]


def test_captured_arrays_are_named():
    table = np.arange(5000, dtype=np.float32)
    report = frit.explain(lambda x: x + table)(1.0)
    assert report.result.shape == (5000,)
    assert "captured 0: f32[5000]" in report.facts.arguments or report.facts.constant_bytes == 20000


def test_derivatives_and_batches_are_explained():
    report = frit.explain(frit.vmap(frit.grad(lambda x: jnp.tanh(x).sum())))(X)
    assert report.result.shape == X.shape


def test_python_callbacks_run_once():
    calls = []

    def note(x):
        calls.append(1)
        return x

    def function(x):
        return frit.pure_callback(note, frit.ShapeDtypeStruct((3,), np.float32), x) * 2

    report = frit.explain(function)(jnp.ones(3))
    assert len(calls) == report.facts.measured_runs == 1
    assert "measured once" in str(report)
    assert report.facts.steps[0].kind == "callback"
    assert report.facts.steps[0].title == "pure_callback"


def test_nothing_to_do_is_explained_as_well():
    assert frit.explain(lambda: 3.0)().result == 3.0
    assert list(frit.explain(lambda x: x)(jnp.ones(2)).result) == [1, 1]


def test_traced_values_are_refused():
    with pytest.raises(TypeError, match=r"explain\(double\) measures a call, so its arguments"):

        def double(x):
            return x * 2

        frit.jit(lambda x: frit.explain(double)(x))(1.0)
    with pytest.raises(TypeError, match="callable"):
        frit.explain(3)


def test_repeated_layers_share_kernels():
    def function(x):
        for _ in range(5):
            x = jnp.sort(x * 2)
        return x

    report = frit.explain(function)(jnp.ones(1000))
    assert len(report.facts.steps) == 10 and len(report.facts.kernels) == 2


# ------------------------------------------------------------------------------------- formats


def test_the_text_has_every_part(report):
    text = report.text()
    assert text == str(report)
    assert text.startswith("network at ")
    for title in ("Stages", "Rewrites", "Steps", "Not fused", "Lines", "Machine, as measured"):
        assert f"\n{title}\n" in text
    assert "sgemm (library)" in text
    assert max(map(len, text.splitlines())) <= 110


def test_details_are_the_programs(report):
    text = report.text(detail=True)
    assert text.startswith(report.text())
    assert "{ lambda ;" in text and "kernel k" in text


def test_the_dict_is_data_for_json(report):
    data = json.loads(json.dumps(report.to_dict()))
    assert data["function"] == "network"
    assert len(data["steps"]) == len(report.facts.steps)
    assert data["steps"][0]["sources"][0]["code"] == "hidden = jnp.tanh(x @ w)"
    assert set(data["edges"][0]) == {"source", "target", "type", "bytes", "reason", "why"}
    assert data["machine"]["flops_per_second"]["float32"]["product"] > 0


def test_files_are_written_by_their_ending(report, tmp_path):
    for ending, start in ((".html", "<!doctype html>"), (".json", "{"), (".txt", "network at")):
        path = tmp_path / f"report{ending}"
        report.save(path)
        assert path.read_text().startswith(start)
    report.save(str(tmp_path / "by_name.html"))
    with pytest.raises(OSError):
        report.save(tmp_path / "no" / "such" / "folder.html")


def test_rich_prints_it(report):
    console = rich.console.Console(width=120, record=True, file=open("/dev/null", "w"))
    with console.file:
        console.print(report)
    assert "Not fused" in console.export_text()


def test_times_and_sizes_for_people():
    assert [time_text(s) for s in (2.5, 0.0123, 4.5e-6, 7.1e-8, 0)] == [
        "2.5 s", "12.3 ms", "4.5 µs", "71 ns", "0 ns",
    ]  # fmt: skip
    assert [size_text(n) for n in (12, 2048, 3 << 20)] == ["12 B", "2.0 KiB", "3.0 MiB"]
